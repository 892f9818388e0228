//! The preprocessor: from files with #include, #define and #ifdef to plain lines with their origin.
//!
//! - included files are looked for in the directory of the including file, then in the given directories, then in the
//!   directories of GMXLIB, $GMXDATA/top, and the usual place of an installed GROMACS;
//! - a macro replaces whole blank-separated words; its value may hold several words and other macros;
//! - a backslash at the end of a line joins the next one; a semicolon starts a comment.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{TopologyError, TopologyProblem};

/// Where installed GROMACS packages keep their force fields.
const INSTALLED: [&str; 2] = ["/usr/share/gromacs/top", "/usr/local/gromacs/share/gromacs/top"];

/// Far beyond any line, a CMAP of 360 × 360 included; macros of macros double with each level.
const LONGEST: usize = 10_000_000;

/// Far beyond any force field: macros in macros, and files in files.
const DEEPEST: usize = 200;

/// Place of a line in a file.
#[derive(Clone, Debug)]
pub(super) struct Location {
    pub file: Arc<PathBuf>,
    /// From 1; 0 for the file as a whole.
    pub line: usize,
}

impl Location {
    pub fn error(&self, problem: impl Into<TopologyProblem>) -> TopologyError {
        TopologyError { file: self.file.to_path_buf(), line: self.line, problem: Box::new(problem.into()) }
    }
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, line {}", self.file.display(), self.line)
    }
}

/// One logical line: no comment, macros replaced, not empty.
#[derive(Debug)]
pub(super) struct SourceLine {
    pub at: Location,
    pub text: String,
}

/// Directories to search for included files after that of the including file.
pub(super) fn search_path(include_dirs: &[PathBuf]) -> Vec<PathBuf> {
    let mut dirs = include_dirs.to_vec();
    if let Some(list) = std::env::var_os("GMXLIB") {
        dirs.extend(std::env::split_paths(&list));
    }
    if let Some(data) = std::env::var_os("GMXDATA") {
        dirs.push(Path::new(&data).join("top"));
    }
    dirs.extend(INSTALLED.iter().map(PathBuf::from));
    dirs.retain(|d| !d.as_os_str().is_empty());
    dirs
}

/// What a topology did with the names that were given from outside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symbols {
    /// Names given that no #ifdef, no #ifndef and no line asked for: they change nothing.
    pub unused: Vec<String>,
    /// Names that an #ifdef or #ifndef asks for and that the topology does not define itself, in the order of the alphabet.
    pub asked: Vec<String>,
}

/// All lines of `path` and of what it includes, and what became of the names in `defines`.
pub(super) fn read(
    path: &Path,
    search: Vec<PathBuf>,
    defines: &[(String, Option<String>)],
) -> Result<(Vec<SourceLine>, Symbols), TopologyError> {
    let macros = defines.iter().map(|(k, v)| (k.clone(), v.clone().unwrap_or_default())).collect();
    let mut reader = Reader { search, macros, ..Reader::default() };
    reader.file(path, None)?;
    let used = reader.used.into_inner();
    let unused = defines.iter().map(|(name, _)| name.clone());
    let unused = unused.filter(|name| !reader.asked.contains(name) && !used.contains(name)).collect();
    let asked = reader.asked.into_iter().filter(|name| !reader.defined.contains(name)).collect();
    Ok((reader.lines, Symbols { unused, asked }))
}

#[derive(Default)]
struct Reader {
    search: Vec<PathBuf>,
    macros: HashMap<String, String>,
    /// Names that an #ifdef or #ifndef asked for.
    asked: BTreeSet<String>,
    /// Names that were replaced by their values.
    used: RefCell<HashSet<String>>,
    /// Names that the files define.
    defined: HashSet<String>,
    /// Canonical paths of the files being read.
    open: Vec<PathBuf>,
    lines: Vec<SourceLine>,
}

/// State of one #ifdef … #endif.
struct Branch {
    /// Lines of this branch are read.
    active: bool,
    /// The surrounding lines are read.
    outer: bool,
    seen_else: bool,
    opened: usize,
}

impl Reader {
    fn file(&mut self, path: &Path, from: Option<&Location>) -> Result<(), TopologyError> {
        let file = Arc::new(path.to_path_buf());
        let whole = Location { file: file.clone(), line: 0 };
        let canonical = path.canonicalize().map_err(|e| whole.error(e))?;
        if self.open.contains(&canonical) {
            let place = from.unwrap_or(&whole);
            return Err(place.error(TopologyProblem::IncludeCycle(path.display().to_string())));
        }
        if self.open.len() == DEEPEST {
            let name = path.display().to_string();
            return Err(from.unwrap_or(&whole).error(TopologyProblem::IncludeDepth { name, limit: DEEPEST }));
        }
        let bytes = std::fs::read(path).map_err(|e| whole.error(e))?;
        if bytes.contains(&0) {
            return Err(whole.error(TopologyProblem::Binary));
        }
        // Comments and titles may be in any encoding.
        let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes));
        self.open.push(canonical);
        let mut branches: Vec<Branch> = Vec::new();
        let mut physical = text.lines().enumerate();
        while let Some((number, first)) = physical.next() {
            let at = Location { file: file.clone(), line: number + 1 };
            let mut joined;
            let mut line = first.trim();
            if line.ends_with('\\') {
                joined = String::new();
                while let Some(part) = line.strip_suffix('\\') {
                    joined.push_str(part);
                    joined.push(' ');
                    line = physical.next().map_or("", |(_, next)| next.trim());
                }
                joined.push_str(line);
                line = joined.as_str();
            }
            let line = line.split(';').next().unwrap_or("").trim();
            if let Some(directive) = line.strip_prefix('#') {
                self.directive(line, directive, &at, &mut branches)?;
            } else if !line.is_empty() && branches.last().is_none_or(|b| b.active) {
                let text = self.expand(line, &at)?;
                self.lines.push(SourceLine { at, text });
            }
        }
        self.open.pop();
        match branches.last() {
            Some(branch) => Err(Location { file, line: branch.opened }.error(TopologyProblem::Preprocessor {
                found: "#ifdef".into(),
                reason: "has no #endif before the end of the file",
            })),
            None => Ok(()),
        }
    }

    fn directive(
        &mut self,
        line: &str,
        directive: &str,
        at: &Location,
        branches: &mut Vec<Branch>,
    ) -> Result<(), TopologyError> {
        let directive = directive.trim_start();
        let (word, rest) = directive.split_at(directive.find(char::is_whitespace).unwrap_or(directive.len()));
        let rest = rest.trim();
        let (name, value) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
        let active = branches.last().is_none_or(|b| b.active);
        let refuse = |reason| Err(at.error(TopologyProblem::Preprocessor { found: line.to_string(), reason }));
        match word {
            "ifdef" | "ifndef" => {
                if name.is_empty() {
                    return refuse("lacks a name");
                }
                if active {
                    self.asked.insert(name.to_string());
                }
                let holds = self.macros.contains_key(name) == (word == "ifdef");
                branches.push(Branch { active: active && holds, outer: active, seen_else: false, opened: at.line });
            }
            "else" => match branches.last_mut() {
                Some(b) if !b.seen_else => {
                    b.active = b.outer && !b.active;
                    b.seen_else = true;
                }
                _ => return refuse("has no open #ifdef or #ifndef in this file"),
            },
            "endif" => {
                if branches.pop().is_none() {
                    return refuse("has no open #ifdef or #ifndef in this file");
                }
            }
            "if" | "elif" => return refuse("is not supported"),
            _ if !active => {}
            "define" | "undef" if name.is_empty() => return refuse("lacks a name"),
            "define" => {
                self.defined.insert(name.to_string());
                self.macros.insert(name.to_string(), value.trim().to_string());
            }
            "undef" => {
                self.macros.remove(name);
            }
            "include" => self.include(rest, line, at)?,
            "error" => return Err(at.error(TopologyProblem::ErrorDirective(rest.to_string()))),
            _ => return refuse("is not supported"),
        }
        Ok(())
    }

    fn include(&mut self, rest: &str, line: &str, at: &Location) -> Result<(), TopologyError> {
        let quoted = |open: char, close: char| rest.strip_prefix(open)?.split(close).next();
        let name = match quoted('"', '"').or_else(|| quoted('<', '>')) {
            Some(name) if !name.is_empty() => name,
            _ => {
                let problem =
                    TopologyProblem::Preprocessor { found: line.into(), reason: "lacks a file name in quotes" };
                return Err(at.error(problem));
            }
        };
        let own = at.file.parent().unwrap_or(Path::new("")).to_path_buf();
        let found = std::iter::once(&own).chain(&self.search).map(|d| d.join(name)).find(|p| p.is_file());
        match found {
            Some(path) => self.file(&path, Some(at)),
            None => {
                let shown =
                    |d: &PathBuf| if d.as_os_str().is_empty() { ".".to_string() } else { d.display().to_string() };
                let searched: Vec<_> = std::iter::once(&own).chain(&self.search).map(shown).collect();
                let problem = TopologyProblem::IncludeNotFound { name: name.into(), searched: searched.join(", ") };
                Err(at.error(problem))
            }
        }
    }

    /// Replace macros with a value by it, word by word.
    fn expand(&self, line: &str, at: &Location) -> Result<String, TopologyError> {
        if !line.split_whitespace().any(|w| self.macros.get(w).is_some_and(|v| !v.is_empty())) {
            return Ok(line.to_string());
        }
        let mut out = String::with_capacity(2 * line.len());
        for word in line.split_whitespace() {
            self.expand_word(word, &mut out, &mut Vec::new(), at)?;
        }
        Ok(out)
    }

    fn expand_word<'a>(
        &'a self,
        word: &'a str,
        out: &mut String,
        inside: &mut Vec<&'a str>,
        at: &Location,
    ) -> Result<(), TopologyError> {
        match self.macros.get(word) {
            Some(value) if !value.is_empty() => {
                if inside.contains(&word) {
                    return Err(at.error(TopologyProblem::MacroCycle(word.to_string())));
                }
                if inside.len() == DEEPEST {
                    return Err(at.error(TopologyProblem::MacroDepth { name: word.to_string(), limit: DEEPEST }));
                }
                inside.push(word);
                self.used.borrow_mut().insert(word.to_string());
                for part in value.split_whitespace() {
                    self.expand_word(part, out, inside, at)?;
                }
                inside.pop();
            }
            _ if out.len() > LONGEST => return Err(at.error(TopologyProblem::MacroLength(LONGEST))),
            _ => {
                if !out.is_empty() {
                    out.push(' ');
                }
                out.push_str(word);
            }
        }
        Ok(())
    }
}
