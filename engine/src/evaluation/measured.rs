//! Measured pKa values from a table, as people and the PKAD compilation write them.
//!
//! CSV with a head. Columns are told by their names, in any order and either case: residue name (`Res Name`), number (`Res ID`), pKa (`Expt. pKa`), and
//! where they are there chain, error (`Expt. Uncertainty`) and entry (`PDB ID`). Ends of chains are `N-term` and `C-term` in place of the name of a
//! residue. A pKa is a number; a bound, `<2.2` or `>11`; or the steps of sites that titrate together, `2.21,6.54`. Other columns are not looked at.
//!
//! Cells are separated by commas, semicolons or tabs, as the head has them. A table with semicolons is one of a program whose decimals have a comma: `4,2` is a
//! number there, unless some number of the table has a point. Rows without any content are left out, and cells at the end of a row may be missing.
//!
//! Names of residues are those of any form and force field: GLU, GLH, GL3 and ZGL3 are one residue ([`Group`]).

mod group;
mod value;

pub use group::Group;
pub use value::Constant;

use crate::error::{Error, InputError, Result};
use csv::StringRecord;
use lambda::site::residue_number;
use std::fmt;
use std::path::Path;

/// Names of the columns, of each the ones that are understood.
const COLUMNS: [(&str, &[&str]); 6] = [
    ("entry", &["pdb id", "pdb", "entry"]),
    ("residue", &["res name", "residue name", "resname", "residue", "name"]),
    ("chain", &["chain", "chain id"]),
    ("number", &["res id", "residue number", "resid", "number"]),
    ("pKa", &["expt. pka", "expt pka", "measured pka", "pka"]),
    ("error", &["expt. uncertainty", "expt uncertainty", "uncertainty", "error", "pka error"]),
];

/// What is read, or what is wrong with it.
type Parsed<T> = std::result::Result<T, Box<InputError>>;

/// A group as a table of measured values names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// What titrates.
    pub group: Group,
    /// Chain, if there is one.
    pub chain: Option<String>,
    /// Number of the residue.
    pub number: i32,
    /// Letter behind the number, as the A of 27A.
    pub insertion: Option<char>,
}

/// A measured pKa.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Line of the file, the head being 1.
    pub line: u64,
    /// Where.
    pub place: Place,
    /// What.
    pub constant: Constant,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.group, self.number)?;
        self.insertion.map_or(Ok(()), |letter| write!(f, "{letter}"))?;
        self.chain.as_ref().map_or(Ok(()), |chain| write!(f, " of chain {chain}"))
    }
}

/// Reads a table; `entry` chooses rows by their column `PDB ID`.
///
/// # Errors
/// [`Error::File`] if the file cannot be read; [`Error::Input`] with the line for cells that are not understood, without the columns that are needed, for rows of
/// several entries of which none is chosen, and if no row is left.
pub fn read(path: &Path, entry: Option<&str>) -> Result<Vec<Measured>> {
    let bytes = std::fs::read(path).map_err(|e| Error::file(path, "read", e))?;
    parse(&bytes, entry).map_err(|error| (*error).in_file(path).into())
}

fn parse(bytes: &[u8], entry: Option<&str>) -> Parsed<Vec<Measured>> {
    let damaged = |e: csv::Error| InputError::new(format!("it is no table: {e}"), "valid is a CSV file with a head");
    // Programs for tables put a mark in front of their files.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count() + 1;
        let help = "save it as \"CSV UTF-8\", as programs for tables call that";
        InputError::new(format!("line {line}: the file is not UTF-8"), help)
    })?;
    let separator = separator(bytes);
    // With an end of its last line, and one character for each, the lines can be counted. Excel's `sep=;` is no head.
    let mut bytes = (text.replace("\r\n", "\n").replace('\r', "\n") + "\n").into_bytes();
    if bytes.starts_with(b"sep=") {
        bytes[0] = b'#';
    }
    let mut builder = csv::ReaderBuilder::new();
    builder.trim(csv::Trim::All).comment(Some(b'#')).delimiter(separator).flexible(true);
    let mut reader = builder.from_reader(&bytes[..]);
    let head = reader.headers().map_err(damaged)?.clone();
    let [of_entry, residue, chain, number, pka, error] = columns(&head)?;
    let entry = chosen(entry, of_entry)?;
    let mut rows: Vec<(u64, StringRecord)> = Vec::new();
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(damaged)? {
        // The reader stands behind the record, in whose quoted cells there may be lines, too.
        let inside: usize = record.iter().map(|cell| cell.matches('\n').count()).sum();
        let line = reader.position().line().saturating_sub(1 + inside as u64);
        if record.iter().skip(head.len()).any(|cell| !cell.is_empty()) {
            let message = format!("line {line}: it has {} cells, and the head {}", record.len(), head.len());
            let help =
                "put a cell that holds commas in quotes; decimals have a point, unless semicolons separate the cells";
            return Err(InputError::new(message, help).into());
        }
        if record.iter().any(|cell| !cell.is_empty()) {
            rows.push((line, record.clone()));
        }
    }
    fn cell(record: &StringRecord, column: Option<usize>) -> &str {
        column.and_then(|column| record.get(column)).unwrap_or_default()
    }
    // A point in a number says that commas are none.
    let has_point =
        |text: &str| text.split_once('.').is_some_and(|(_, rest)| rest.starts_with(|c: char| c.is_ascii_digit()));
    let points = rows.iter().any(|(_, row)| has_point(cell(row, pka)) || has_point(cell(row, error)));
    let decimal = |text: &str| if separator == b';' && !points { text.replace(',', ".") } else { text.to_string() };
    let (mut found, mut entries) = (Vec::new(), Vec::<String>::new());
    for (line, record) in &rows {
        let (line, cell) = (*line, |column| cell(record, column));
        let own = cell(of_entry).to_ascii_uppercase();
        if entry.as_ref().is_some_and(|wanted| *wanted != own) {
            continue;
        }
        if !entries.contains(&own) {
            entries.push(own);
        }
        let wrong = |message: String, help: &str| InputError::new(format!("line {line}: {message}"), help);
        // A column of numbers with a gap in it comes out of pandas with decimals.
        let (number, insertion) = residue_number(cell(number).strip_suffix(".0").unwrap_or(cell(number)))
            .ok_or_else(|| wrong(format!("the number of the residue is {:?}", cell(number)), "valid is 27, or 27A"))?;
        let group = Group::named(cell(residue)).ok_or_else(|| wrong("there is no name of a residue".into(), ""))?;
        let constant = Constant::parse(&decimal(cell(pka)), &decimal(cell(error))).map_err(|message| {
            wrong(message, "valid are a number from -10 to 30, a bound (<2.2 or >11), the steps of sites that titrate together (\"2.21,6.54\", whole ones as \"1.0,4.0\"), N/A; an error is a number or N/A; decimals have a point")
        })?;
        let chain = Some(cell(chain)).filter(|chain| !chain.is_empty()).map(str::to_string);
        // A row without a value says nothing.
        if let Some(constant) = constant {
            found.push(Measured { line, place: Place { group, chain, number, insertion }, constant });
        }
    }
    match (&entries[..], found.is_empty()) {
        ([_, _, ..], _) => {
            let help = "choose one with --entry, for example --entry 1PGB";
            Err(InputError::new(format!("it has rows of several entries: {}", entries.join(", ")), help).into())
        }
        (_, true) => {
            let which = entry.map_or(String::new(), |entry| format!(" of {entry}"));
            Err(InputError::new(format!("it holds no measured pKa{which}"), "").into())
        }
        _ => Ok(found),
    }
}

/// What separates the cells: a comma, a semicolon or a tab, the one that the head has most of.
fn separator(bytes: &[u8]) -> u8 {
    let mut lines = bytes.split(|&byte| byte == b'\n' || byte == b'\r');
    let head = lines.find(|line| !line.is_empty() && !line.starts_with(b"#") && !line.starts_with(b"sep="));
    let head = head.unwrap_or_default();
    let count = |separator: &u8| head.iter().filter(|byte| *byte == separator).count();
    // The last one of those that are equally frequent.
    b"\t;,".iter().copied().max_by_key(count).unwrap_or(b',')
}

/// The entry that is wanted, in capitals.
fn chosen(entry: Option<&str>, column: Option<usize>) -> Parsed<Option<String>> {
    if entry.is_some() && column.is_none() {
        return Err(
            InputError::new("it has no column \"PDB ID\", by which --entry chooses", "leave --entry out").into()
        );
    }
    Ok(entry.map(str::to_ascii_uppercase))
}

/// Where the columns are; those of residue, number and pKa must be there.
fn columns(head: &StringRecord) -> Parsed<[Option<usize>; 6]> {
    let mut places = [None; 6];
    for (place, (_, names)) in places.iter_mut().zip(COLUMNS) {
        // The first of the names counts that is there at all: `pKa` may be computed beside `Expt. pKa`.
        *place = names.iter().find_map(|name| head.iter().position(|cell| cell.eq_ignore_ascii_case(name)));
    }
    for index in [1, 3, 4] {
        if places[index].is_none() {
            let (what, names) = COLUMNS[index];
            let found: Vec<String> = head.iter().map(|cell| format!("{cell:?}")).collect();
            let message = format!("it has no column of the {what}; its columns are {}", found.join(", "));
            let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
            return Err(
                InputError::new(message, format!("name one {}; either case will do", names.join(" or "))).into()
            );
        }
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Measured {
        let found = parse(text.as_bytes(), None).unwrap();
        assert_eq!(found.len(), 1);
        found.into_iter().next().unwrap()
    }

    fn refused(text: &str, entry: Option<&str>) -> String {
        let error = parse(text.as_bytes(), entry).unwrap_err();
        format!("{} | {}", error.message, error.help)
    }

    #[test]
    fn tables_of_pkad_are_read() {
        let text = "PDB ID,Res Name,Chain,Res ID,Expt. pKa,Expt. Uncertainty,%SASA\n\
                    1PGB,LYS,A,13,>11,N/A,80.4\n1STN,ASP,A,19,\"2.21,6.54\",0.06-0.07,3.6\n1stn,C-term,B,149,<3.1,0.1,9\n1STN,ASP,A,95,N/A,N/A,9\n";
        let found = parse(text.as_bytes(), Some("1stn")).unwrap();
        assert_eq!(found.len(), 2, "a row without a value says nothing");
        assert_eq!((found[0].line, found[0].place.to_string()), (3, "ASP 19 of chain A".into()));
        assert_eq!(found[0].constant, Constant::Steps(vec![(2.21, Some(0.06)), (6.54, Some(0.07))]));
        assert_eq!(found[1].place.group, Group::Carboxyl);
        assert_eq!(found[1].constant, Constant::Below(3.1));
        assert!(refused(text, None).contains("several entries: 1PGB, 1STN | choose one with --entry"));
        assert!(refused(text, Some("2LZT")).contains("no measured pKa of 2LZT"));
    }

    #[test]
    fn plain_tables_need_three_columns() {
        let found = one("\u{feff}number, residue, pKa\n# by NMR\n 27A , Glh , 4.5\n");
        assert_eq!(found.place.to_string(), "GLU 27A");
        assert_eq!((found.line, found.constant), (3, Constant::Value { value: 4.5, error: None }));
        let message = refused("residue,pKa\nGLU,4.5\n", None);
        assert!(message.contains("no column of the number; its columns are \"residue\", \"pKa\""), "{message}");
        assert!(refused("residue,number,pKa\nGLU,1,4.5\n", Some("1PGB")).contains("no column \"PDB ID\""));
        assert!(
            refused("residue,number,pKa\nGLU,x,4.5\n", None).contains("line 2: the number of the residue is \"x\"")
        );
        assert!(refused("residue,number,pKa\nGLU,1,about 4\n", None).contains("line 2: the pKa is \"about 4\""));
        assert!(refused("residue,number,pKa\n,1,4\n", None).contains("line 2: there is no name"));
        let comma = refused("residue,number,pKa\nGLU,1,4.5\nGLU,2,4,5\n", None);
        assert!(comma.contains("line 3: it has 4 cells, and the head 3") && comma.contains("decimals have a point"));
        let comma = refused("residue,number,pKa\nGLU,1,\"4,1\"\n", None);
        assert!(
            comma.contains("line 2: \"4,1\" may be a number with a decimal comma") && comma.contains("\"1.0,4.0\"")
        );
        let of_error = refused("residue,number,pKa,error\nGLU,1,2.9,\"0,1\"\n", None);
        assert!(of_error.contains("\"0,1\" may be a number with a decimal comma"));
    }

    /// As programs for tables write them where decimals have a comma.
    #[test]
    fn semicolons_and_tabs_separate_cells_too() {
        let value = |value, error| Constant::Value { value, error };
        let head = "\u{feff}sep=;\r\nresidue;chain;number;pKa;error\r\n";
        let found = parse(
            format!("{head}GLU;A;2;4,25;0,1\r\nASP;A;3;<2,0;\r\n;;;;\r\nASP;A;19;\"2,21;6,54\"\r\n").as_bytes(),
            None,
        );
        let found = found.unwrap();
        assert_eq!(found.iter().map(|one| one.line).collect::<Vec<_>>(), [3, 4, 6]);
        assert_eq!(found[0].constant, value(4.25, Some(0.1)));
        assert_eq!(found[1].constant, Constant::Below(2.0));
        assert_eq!(found[2].constant, Constant::Steps(vec![(2.21, None), (6.54, None)]));
        assert_eq!(one("residue\tnumber\tpKa\nGLU\t2\t4.25\n").constant, value(4.25, None));
        assert_eq!(one("residue;number;pKa;source, year\nGLU;2;4,2;NMR\n").constant, value(4.2, None));
        // With points somewhere commas are what they are with commas between the cells.
        let both = refused("residue;number;pKa\nGLU;1;4.5\nASP;2;\"1,4\"\n", None);
        assert!(both.contains("line 3: \"1,4\" may be a number with a decimal comma"), "{both}");
        assert!(refused("residue\tnumber\tpKa\nGLU\t2\t4,2\n", None).contains("decimal comma"));
    }

    #[test]
    fn rows_without_content_are_left_out_and_cells_may_be_missing() {
        let found = one("residue,number,pKa,error\n,,,\nGLU,2.0,4.2\n,,\n");
        assert_eq!(
            (found.line, found.place.number, found.constant),
            (3, 2, Constant::Value { value: 4.2, error: None })
        );
        assert_eq!(one("residue,number,pKa,,\nGLU,2,4.2,,,\n").place.number, 2);
        assert!(refused("residue,number,pKa\nGLU,,4.2\n", None).contains("line 2: the number of the residue is \"\""));
    }

    #[test]
    fn other_encodings_are_named() {
        let text = [&b"residue,number,pKa,by\nGLU,2,4.2,J. P\xe9rez\n"[..], &b"\xff\xfer\0e\0s\0"[..]];
        let of = |bytes: &[u8]| parse(bytes, None).unwrap_err();
        assert_eq!(of(text[0]).message, "line 2: the file is not UTF-8");
        assert!(of(text[1]).message.starts_with("line 1: ") && of(text[1]).help.contains("CSV UTF-8"));
    }

    /// What is computed may stand beside what is measured.
    #[test]
    fn the_measured_column_is_taken_where_there_are_two() {
        let found = one("residue,number,pKa,Expt. pKa\nGLU,1,9.9,4.5\n");
        assert_eq!(found.constant, Constant::Value { value: 4.5, error: None });
    }
}
