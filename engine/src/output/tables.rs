//! `energy.csv`, `lambda.csv` and `exchange.csv`: one line per output step, units in the header.
//!
//! A table knows its length in bytes. A checkpoint records it, and a continued run cuts the table back to it.

use crate::error::{Error, InputError, Result};
use crate::frame::{Frame, Quantity};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Name of the column of a replica exchange that says whose coordinates they are.
pub const WALKER: &str = "walker";

/// A text as one cell of a CSV file: in quotes if it holds a comma, a quote or the end of a line. Without them pandas takes the cells too many for an index and moves
/// all columns, without a word.
pub fn cell(text: &str) -> Cow<'_, str> {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\"")).into()
    } else {
        text.into()
    }
}

/// A growing CSV file.
#[derive(Debug)]
pub struct Table {
    path: PathBuf,
    file: BufWriter<File>,
    length: u64,
    line: String,
}

impl Table {
    /// Opens the table of a run: new and empty, or cut to `length` bytes to be continued.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be opened, [`Error::Input`] if it is shorter than the checkpoint says.
    pub fn open(path: &Path, length: Option<u64>) -> Result<Table> {
        let file = open_at(path, length)?;
        Ok(Table {
            path: path.to_path_buf(),
            file: BufWriter::new(file),
            length: length.unwrap_or(0),
            line: String::new(),
        })
    }

    /// Adds a line `time,energies…`; before the first, the header.
    ///
    /// # Errors
    /// [`Error::File`] if the table cannot be written.
    pub fn energies(&mut self, frame: &Frame) -> Result<()> {
        if self.length == 0 {
            self.header(frame.energies.iter().map(Quantity::title))?;
        }
        let _ = write!(self.line, "{}", Clean(frame.time));
        for quantity in &frame.energies {
            let _ = write!(self.line, ",{:.6}", quantity.value);
        }
        self.end_line()
    }

    /// Adds a line `time,λ,∂V/∂λ,…` with two columns for each of `names`: one λ for a site of two forms, `SITE`, the weight of every
    /// form for others, `SITE:FORM`. A run of a replica exchange has its `walker` before them. Before the first line, the header.
    ///
    /// # Errors
    /// [`Error::File`] if the table cannot be written.
    pub fn lambdas(&mut self, frame: &Frame, names: &[String]) -> Result<()> {
        if self.length == 0 {
            let walker = frame.walker.map(|_| WALKER.to_string());
            let lambdas =
                names.iter().flat_map(|name| [format!("lambda {name}"), format!("dV/dlambda {name} (kJ/mol)")]);
            self.header(walker.into_iter().chain(lambdas))?;
        }
        let _ = write!(self.line, "{}", Clean(frame.time));
        if let Some(walker) = frame.walker {
            let _ = write!(self.line, ",{walker}");
        }
        for (lambda, dvdl) in frame.lambda.iter().zip(&frame.dvdl) {
            let _ = write!(self.line, ",{lambda:.6},{dvdl:.4}");
        }
        self.end_line()
    }

    /// Adds a line `time,…` with the walker at each of `names`; before the first, the header.
    ///
    /// # Errors
    /// [`Error::File`] if the table cannot be written.
    pub fn walkers(&mut self, time: f64, names: &[String], walkers: &[u32]) -> Result<()> {
        if self.length == 0 {
            self.header(names.iter().cloned())?;
        }
        let _ = write!(self.line, "{}", Clean(time));
        for walker in walkers {
            let _ = write!(self.line, ",{walker}");
        }
        self.end_line()
    }

    fn header(&mut self, names: impl Iterator<Item = String>) -> Result<()> {
        self.line.push_str("time (ps)");
        for name in names {
            let _ = write!(self.line, ",{}", cell(&name));
        }
        self.end_line()
    }

    fn end_line(&mut self) -> Result<()> {
        self.line.push('\n');
        let written = self.file.write_all(self.line.as_bytes());
        written.map_err(|e| Error::file(&self.path, "write", e))?;
        self.length += self.line.len() as u64;
        self.line.clear();
        Ok(())
    }

    /// Hands all lines to the system, so that others can read them.
    ///
    /// # Errors
    /// [`Error::File`] if the table cannot be written.
    pub fn flush(&mut self) -> Result<()> {
        self.file.flush().map_err(|e| Error::file(&self.path, "write", e))
    }

    /// Brings all lines to the disk, and gives the length of the file (bytes).
    ///
    /// # Errors
    /// [`Error::File`] if the table cannot be written.
    pub fn sync(&mut self) -> Result<u64> {
        self.flush()?;
        self.file.get_ref().sync_data().map_err(|e| Error::file(&self.path, "write", e))?;
        Ok(self.length)
    }
}

/// Opens a result file new, or cut to `length` with the cursor at its end.
pub(super) fn open_at(path: &Path, length: Option<u64>) -> Result<File> {
    let Some(length) = length else {
        return File::create(path).map_err(|e| Error::file(path, "create", e));
    };
    let reopen = || -> std::io::Result<(File, u64)> {
        let file = File::options().read(true).write(true).open(path)?;
        let present = file.metadata()?.len();
        Ok((file, present))
    };
    let (mut file, present) = reopen().map_err(|e| Error::file(path, "continue", e))?;
    if present < length {
        let message = format!("the file has {present} bytes, but the checkpoint was made when it had {length}");
        return Err(InputError::new(message, "put the file back, or remove the folder to start again")
            .in_file(path)
            .into());
    }
    let cut = file.set_len(length).and_then(|()| file.seek(SeekFrom::Start(length)));
    cut.map_err(|e| Error::file(path, "continue", e))?;
    Ok(file)
}

/// A time without the noise of binary fractions: 0.30000000000000004 is written 0.3.
pub(crate) struct Clean(pub f64);

impl std::fmt::Display for Clean {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", (self.0 * 1e6).round() / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::series::LambdaSeries;

    fn frame(time: f64) -> Frame<'static> {
        Frame {
            step: 0,
            time,
            energies: vec![crate::frame::Quantity { name: "potential", unit: "kJ/mol", value: -1.5 }],
            lambda: vec![0.25],
            dvdl: vec![-3.0],
            walker: None,
            positions: &[],
            velocities: &[],
            forces: &[],
            cell: forcefield::Cell::Open,
        }
    }

    #[test]
    fn lambda_table_is_read_back_and_cut() {
        let folder = temp_dir::TempDir::new().unwrap();
        let path = folder.path().join("lambda.csv");
        let sites = ["GLU 2".to_string()];
        let mut table = Table::open(&path, None).unwrap();
        table.lambdas(&frame(0.0), &sites).unwrap();
        let length = table.sync().unwrap();
        table.lambdas(&frame(0.1 + 0.2), &sites).unwrap();
        table.sync().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            text,
            "time (ps),lambda GLU 2,dV/dlambda GLU 2 (kJ/mol)\n0,0.250000,-3.0000\n0.3,0.250000,-3.0000\n"
        );
        let series = LambdaSeries::read(&path).unwrap();
        assert_eq!((series.time.clone(), series.sites.clone()), (vec![0.0, 0.3], sites.to_vec()));
        assert_eq!(series.after(0.0).time, [0.3]);

        let mut table = Table::open(&path, Some(length)).unwrap();
        table.lambdas(&frame(0.5), &sites).unwrap();
        table.sync().unwrap();
        assert_eq!(LambdaSeries::read(&path).unwrap().time, [0.0, 0.5]);
    }

    #[test]
    fn a_text_with_a_comma_is_one_cell() {
        for text in ["GLU 2", "at pH 4, 5", "of \"A\"", "two\nlines", "", "a\rb, \"c\""] {
            let line = format!("1,{},2\n", cell(text));
            let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
            let cells: Vec<csv::StringRecord> = reader.records().map(|record| record.unwrap()).collect();
            assert_eq!(cells, [vec!["1", text, "2"]], "{line}");
        }
        assert_eq!(cell("GLU 2"), "GLU 2");
    }

    #[test]
    fn a_walker_has_its_column() {
        let folder = temp_dir::TempDir::new().unwrap();
        let path = folder.path().join("lambda.csv");
        let names = ["HIS 5:HSP", "HIS 5:HSD", "HIS 5:HSE"].map(str::to_string);
        let mut table = Table::open(&path, None).unwrap();
        for (time, walker) in [(0.0, 3), (1.0, 1)] {
            let frame =
                Frame { walker: Some(walker), lambda: vec![0.25; 3], dvdl: vec![1.0, -2.0, 3.5], ..frame(time) };
            table.lambdas(&frame, &names).unwrap();
        }
        table.sync().unwrap();
        let series = LambdaSeries::read(&path).unwrap();
        assert_eq!((series.walker.clone(), series.sites.clone()), (vec![3, 1], names.to_vec()));
        assert_eq!((&series.dvdl[2], &series.lambda[1]), (&vec![3.5; 2], &vec![0.25; 2]));
        assert_eq!(series.after(0.0).walker, [1]);
    }

    #[test]
    fn a_file_shorter_than_the_checkpoint_is_refused() {
        let folder = temp_dir::TempDir::new().unwrap();
        let path = folder.path().join("energy.csv");
        std::fs::write(&path, "time").unwrap();
        let message = Table::open(&path, Some(100)).unwrap_err().to_string();
        assert!(message.contains("the file has 4 bytes, but the checkpoint was made when it had 100"), "{message}");
    }

    #[test]
    fn a_full_disk_is_one_message() {
        let mut table = Table::open(Path::new("/dev/full"), None).unwrap();
        let sites = ["GLU 2".to_string()];
        let message = table.lambdas(&frame(0.0), &sites).and_then(|()| table.sync()).unwrap_err().to_string();
        assert_eq!(message, "/dev/full: cannot write: the disk is full");
    }
}
