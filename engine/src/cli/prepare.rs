//! `prepare` and `site` hand their arguments to the Python package `octitrate`, which knows proteins, molecules and force fields; `calibrate` asks it for model
//! compounds.
//!
//! A Python is looked for where the package is likely to be: the one that OCTITRATE_PYTHON names, the one beside this program (a wheel was installed there),
//! the one that `make prepare-tools` made in the sources this program was built in, and `python3` of the path. The first one that has the package is taken.

use super::arguments::PythonArguments;
use octitrate::error::{Error, InputError, Result};
use std::env;
use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Names the Python that is taken, and no other.
const ASKED: &str = "OCTITRATE_PYTHON";
/// Names the program that the package starts.
const PROGRAM: &str = "OCTITRATE_BINARY";
/// Where `make prepare-tools` puts its Python, from the folder of the sources.
const TOOLS: &str = ".tools/prepare/bin/python3";
/// Succeeds where the package can be imported. The folder of the user is not searched: a folder of this name is not the package.
const PROBE: &str = "import sys, importlib.util as i; sys.path[:] = [p for p in sys.path if p]; sys.exit(not i.find_spec('octitrate.prepare'))";
const HELP: &str = "`make prepare-tools`, or pip install \"./python[prepare]\", in the sources of octitrate";

/// Becomes the Python program that prepares a protein.
///
/// # Errors
/// [`Error::Input`] if there is no Python with the package.
pub fn prepare(arguments: &PythonArguments) -> Result<ExitCode> {
    start("prepare", "octitrate.prepare.command", arguments)
}

/// Becomes the Python program that makes a site of a molecule.
///
/// # Errors
/// As [`prepare`].
pub fn site(arguments: &PythonArguments) -> Result<ExitCode> {
    start("site", "octitrate.ligand", arguments)
}

/// Becomes `main` of a module of the package.
fn start(command: &str, module: &str, arguments: &PythonArguments) -> Result<ExitCode> {
    let (python, mut main) = program(command, module)?;
    Err(Error::file(&python, "start", main.args(&arguments.arguments).exec()))
}

/// What `main` of a module of the package writes to standard output; or the status with which it ended after it has said why.
///
/// # Errors
/// [`Error::Input`] if there is no Python with the package; [`Error::File`] if it cannot be started.
pub fn ask(command: &str, module: &str, words: &[OsString]) -> Result<std::result::Result<String, ExitCode>> {
    let (python, mut main) = program(command, module)?;
    let answer = main.args(words).stderr(Stdio::inherit()).output().map_err(|e| Error::file(&python, "start", e))?;
    Ok(match answer.status.code() {
        Some(0) => Ok(String::from_utf8_lossy(&answer.stdout).into_owned()),
        // ended by a signal, which is told as shells do
        code => Err(ExitCode::from(code.or(answer.status.signal().map(|signal| 128 + signal)).unwrap_or(2) as u8)),
    })
}

/// The Python that has the package, and `main` of a module of it to be started there.
fn program(command: &str, module: &str) -> Result<(PathBuf, Command)> {
    let python = find(command, env::var_os(ASKED).map(PathBuf::from), env::current_exe().ok().as_deref())?;
    // `-P` would keep the working folder out of the path, but is not known before 3.11
    let code = format!(
        "import sys; sys.path[:] = [p for p in sys.path if p]; from {module} import main; sys.exit(main(sys.argv[1:]))"
    );
    let mut main = Command::new(&python);
    // OpenMM goes through sets of names: with another seed CHARMM's types would have other numbers each time.
    main.args(["-c", &code]).env("PYTHONHASHSEED", "0");
    // What the package asks of octitrate it asks of this program.
    if let (None, Ok(program)) = (env::var_os(PROGRAM), env::current_exe()) {
        main.env(PROGRAM, program);
    }
    Ok((python, main))
}

/// The first Python that has the package.
fn find(command: &str, asked: Option<PathBuf>, program: Option<&Path>) -> Result<PathBuf> {
    if let Some(python) = asked {
        if has_package(&python) {
            return Ok(python);
        }
        let problem = match quietly(&python).args(["-c", ""]).status() {
            Ok(_) => format!("{ASKED} is {}, which has no package octitrate", python.display()),
            Err(error) => format!("{ASKED}: {}", Error::file(&python, "start", error)),
        };
        return Err(InputError::new(problem, HELP).into());
    }
    let found = candidates(program).into_iter().find(|python| has_package(python));
    found.ok_or_else(|| {
        let places: Vec<String> = candidates(program).iter().map(|python| python.display().to_string()).collect();
        let message = format!(
            "octitrate {command} needs the Python package octitrate, and no Python has it that was looked at: {}",
            places.join(", ")
        );
        Error::input(message, format!("{HELP}; or {ASKED}=/path/to/python3 names the one that has it"))
    })
}

/// Where the package may be, in order.
fn candidates(program: Option<&Path>) -> Vec<PathBuf> {
    let folders: Vec<&Path> =
        program.and_then(Path::parent).map(|folder| folder.ancestors().collect()).unwrap_or_default();
    let beside = folders.first().map(|folder| folder.join("python3"));
    let tools = folders.iter().map(|folder| folder.join(TOOLS));
    beside.into_iter().chain(tools).filter(|python| python.exists()).chain([PathBuf::from("python3")]).collect()
}

fn has_package(python: &Path) -> bool {
    quietly(python).args(["-c", PROBE]).status().is_ok_and(|status| status.success())
}

/// A Python that asks nothing and says nothing.
fn quietly(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_python_beside_the_program_comes_before_the_tools_and_the_path() {
        let folder = std::env::temp_dir().join(format!("octitrate-prepare-{}", std::process::id()));
        let bin = folder.join("target/release");
        let tools = folder.join(TOOLS);
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::create_dir_all(tools.parent().unwrap()).unwrap();
        let program = bin.join("octitrate");
        assert_eq!(candidates(Some(&program)), [PathBuf::from("python3")]);
        std::fs::write(&tools, "").unwrap();
        assert_eq!(candidates(Some(&program)), [tools.clone(), PathBuf::from("python3")]);
        let beside = bin.join("python3");
        std::fs::write(&beside, "").unwrap();
        assert_eq!(candidates(Some(&program)), [beside, tools, PathBuf::from("python3")]);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_python_that_is_named_and_lacks_the_package_is_refused() {
        let error = find("prepare", Some(PathBuf::from("/bin/false")), None).unwrap_err().to_string();
        assert!(error.contains("OCTITRATE_PYTHON is /bin/false, which has no package octitrate"), "{error}");
        let error = find("prepare", Some(PathBuf::from("/nowhere/python3")), None).unwrap_err().to_string();
        assert!(error.contains("OCTITRATE_PYTHON: /nowhere/python3: cannot start: no such file"), "{error}");
    }
}
