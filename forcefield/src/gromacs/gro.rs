//! A [`Structure`] in a `.gro` file: names, positions (nm), velocities (nm/ps), box (nm).
//!
//! Columns: residue number 1–5, residue name 6–10, atom name 11–15, atom number 16–20, then x y z and optionally
//! vx vy vz. The distance between decimal points gives the width of all six fields, so that any number of decimals can
//! be read; with n decimals of a position a field is n + 5 wide and a velocity has n + 1 decimals.
//! The last line holds the edges of the box, three numbers, or nine for a triclinic one: aₓ b_y c_z a_y a_z bₓ b_z cₓ c_y, of which a_y, a_z and b_z
//! are zero. Of all boxes of that lattice the reduced one is taken ([`PeriodicBox::reduced`]).

use std::io::Write;
use std::path::{Path, PathBuf};

use nalgebra::Vector3;
use thiserror::Error;

use crate::cell::{Cell, PeriodicBox};
use crate::structure::Structure;

/// A problem with a `.gro` file.
#[derive(Debug, Error)]
pub enum StructureError {
    /// The file cannot be read or written.
    #[error("{}: cannot {action} the structure: {reason}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// "read" or "write".
        action: &'static str,
        /// What the operating system says.
        reason: std::io::Error,
    },
    /// A line that cannot be understood.
    #[error("{}, line {line}: {message}", file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What was found and what is valid.
        message: String,
    },
    /// The header and the file disagree on the number of atoms.
    #[error("{}: line 2 announces {announced} atoms, but the file holds {found} atom lines and a box line{}", file.display(), frames(*announced, *found))]
    Count {
        /// The file.
        file: PathBuf,
        /// Number on line 2.
        announced: usize,
        /// Lines between line 2 and the last.
        found: usize,
    },
    /// A value that the format cannot hold.
    #[error("{}: {quantity} of atom {atom} is {value}, which does not fit the columns of a .gro file", file.display())]
    Unwritable {
        /// The file.
        file: PathBuf,
        /// "position" or "velocity".
        quantity: &'static str,
        /// Atom, from 1; 0 for the box.
        atom: usize,
        /// Value.
        value: f64,
    },
}

/// What to do with a file of several frames: each has a title, a number, its atoms and a box.
fn frames(announced: usize, found: usize) -> &'static str {
    let lines = announced.saturating_add(3);
    if found > announced && (found + 3).is_multiple_of(lines) {
        "; it has several frames: keep the lines of one, or write one by gmx trjconv -dump"
    } else {
        ""
    }
}

/// Read a `.gro` file with one frame.
///
/// # Errors
/// [`StructureError`] with file and line: unreadable number, NaN or infinite coordinate, wrong number of atoms,
/// a box that is negative or not turned as GROMACS wants it.
pub fn read_gro(path: &Path) -> Result<Structure, StructureError> {
    let io = |reason| StructureError::Io { file: path.into(), action: "read", reason };
    let bytes = std::fs::read(path).map_err(io)?;
    parse_gro(&String::from_utf8_lossy(&bytes), path)
}

/// Read a structure from text; `path` only names it in errors.
///
/// # Errors
/// [`StructureError::Line`] or [`StructureError::Count`], as [`read_gro`].
pub fn parse_gro(text: &str, path: &Path) -> Result<Structure, StructureError> {
    let text = text.trim_start_matches('\u{feff}');
    let lines: Vec<&str> = text.trim_end().lines().map(|l| l.trim_end()).collect();
    let error = |line: usize, message: String| StructureError::Line { file: path.into(), line, message };
    let [title, count, ref rest @ ..] = lines[..] else {
        return Err(error(
            1,
            "the file ends too early; expected a title, the number of atoms, atoms, and a box".into(),
        ));
    };
    let announced: usize = count.trim().parse().map_err(|_| {
        error(2, format!("expected the number of atoms, found '{}'{}", shortened(count.trim()), other_format(text)))
    })?;
    let Some((box_line, atoms)) = rest.split_last().filter(|(_, atoms)| atoms.len() == announced) else {
        return Err(StructureError::Count { file: path.into(), announced, found: rest.len().saturating_sub(1) });
    };
    let mut s = Structure { title: title.trim().to_string(), ..Default::default() };
    let mut velocities = Vec::new();
    let width = atoms.first().map_or(Ok(8), |line| field_width(line).map_err(|m| error(3, m)))?;
    for (i, line) in atoms.iter().enumerate() {
        let at = |message| error(i + 3, message);
        let atom = parse_atom(line, width).map_err(at)?;
        s.residue_numbers.push(atom.residue_number);
        s.names.push(atom.names);
        s.positions.push(atom.position);
        velocities.extend(atom.velocity);
        if !velocities.is_empty() && velocities.len() != i + 1 {
            return Err(at("some atoms have velocities and some do not".into()));
        }
    }
    s.velocities = (!velocities.is_empty()).then_some(velocities);
    s.cell = parse_box(box_line).map_err(|m| error(lines.len(), m))?;
    Ok(s)
}

/// What a file is that is no .gro, if that is plain.
fn other_format(text: &str) -> &'static str {
    const PDB: [&str; 8] = ["ATOM  ", "HETATM", "CRYST1", "HEADER", "REMARK", "MODEL ", "TITLE ", "COMPND"];
    if text.contains('\0') {
        "; the file is binary, a .gro file is a text"
    } else if text.lines().take(50).filter(|line| PDB.iter().any(|record| line.starts_with(record))).count() > 1 {
        "; this is a PDB file: convert it, gmx editconf -f FILE.pdb -o FILE.gro"
    } else if text.starts_with("data_") {
        "; this is an mmCIF file: convert it to PDB, and that with gmx editconf"
    } else if text.lines().any(|line| line.trim_start().starts_with("[ ")) {
        "; this is a topology"
    } else {
        ""
    }
}

/// The first characters of a text, so that a message stays readable.
fn shortened(text: &str) -> String {
    const LENGTH: usize = 60;
    let short: String = text.chars().take(LENGTH).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}

struct AtomLine {
    residue_number: i32,
    names: (String, String),
    position: Vector3<f64>,
    velocity: Option<Vector3<f64>>,
}

/// Width of a number field: the distance between the first two decimal points after column 20.
fn field_width(line: &str) -> Result<usize, String> {
    let dots = line.match_indices('.').map(|(i, _)| i).filter(|&i| i >= 20).collect::<Vec<_>>();
    match dots[..] {
        [first, second, third, ..] if second - first == third - second => Ok(second - first),
        _ => Err(format!("expected three coordinates with decimal points from column 21 on, found '{line}'")),
    }
}

fn parse_atom(line: &str, width: usize) -> Result<AtomLine, String> {
    if !line.is_ascii() {
        return Err(format!("'{line}' has other characters than ASCII, so that its columns cannot be counted"));
    }
    let column = |from: usize, to: usize| {
        let to = to.min(line.len());
        if from >= to {
            return Ok("");
        }
        line.get(from..to).map(str::trim).ok_or_else(|| format!("columns {}–{to} are not plain text", from + 1))
    };
    let number = column(0, 5)?;
    let residue_number =
        number.parse().map_err(|_| format!("columns 1–5: expected a residue number, found '{number}'"))?;
    let names = (column(5, 10)?.to_string(), column(10, 15)?.to_string());
    let real = |k: usize, what: &str| {
        let (from, to) = (20 + k * width, 20 + (k + 1) * width);
        let text = column(from, to)?;
        match text.parse::<f64>() {
            Ok(v) if v.is_finite() => Ok(v),
            _ => {
                let atom = format!("{} {residue_number} {}", names.0, names.1);
                Err(format!("columns {}–{to}: expected {what} of {atom}, a finite number, found '{text}'", from + 1))
            }
        }
    };
    let vector =
        |k: usize, what: &str| Ok::<_, String>(Vector3::new(real(k, what)?, real(k + 1, what)?, real(k + 2, what)?));
    let position = vector(0, "a coordinate")?;
    let velocity = if line.len() > 20 + 3 * width { Some(vector(3, "a velocity")?) } else { None };
    Ok(AtomLine { residue_number, names, position, velocity })
}

fn parse_box(line: &str) -> Result<Cell, String> {
    let values = line
        .split_whitespace()
        .map(|w| match w.parse::<f64>() {
            Ok(v) if v.is_finite() => Ok(v),
            _ => Err(format!("box line: expected a finite number, found '{w}'")),
        })
        .collect::<Result<Vec<_>, _>>()?;
    let [ax, by, cz, ay, az, bx, bz, cx, cy] = match values[..] {
        [ax, by, cz] => [ax, by, cz, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [ax, by, cz, ay, az, bx, bz, cx, cy] => [ax, by, cz, ay, az, bx, bz, cx, cy],
        _ => return Err(format!("the last line must hold the box as 3 or 9 numbers, found '{line}'")),
    };
    if values.iter().all(|v| *v == 0.0) {
        return Ok(Cell::Open);
    }
    if [ay, az, bz].iter().any(|v| *v != 0.0) {
        return Err(format!(
            "the box vectors must be turned so that a lies along x and b in the plane of x and y, as GROMACS wants them: numbers 4, 5 and 7 \
             must be zero, found '{line}'"
        ));
    }
    if [ax, by, cz].iter().any(|edge| *edge <= 0.0) {
        return Err(format!("all edges of the box must be positive (or all zero for no box), found '{line}'"));
    }
    let found = PeriodicBox::reduced([[ax, 0.0, 0.0], [bx, by, 0.0], [cx, cy, cz]]);
    found.map(Cell::Periodic).map_err(|_| format!("the box is almost a plane, found '{line}'"))
}

/// Text of a `.gro` file with `decimals` digits for positions (3 is usual) and one more for velocities; `path` only
/// names it in errors. Residue and atom numbers are written modulo 100 000.
///
/// # Errors
/// [`StructureError::Unwritable`] for a value that is not finite or too wide for its columns.
pub fn format_gro(s: &Structure, decimals: usize, path: &Path) -> Result<String, StructureError> {
    use std::fmt::Write;
    let width = decimals + 5;
    let mut out = String::with_capacity(60 + s.positions.len() * (21 + 6 * width));
    let infallible = "invariant: writing to a String cannot fail";
    let push = |out: &mut String, v: f64, width: usize, decimals: usize, quantity, atom| {
        let start = out.len();
        write!(out, "{v:width$.decimals$}").expect(infallible);
        if out.len() - start > width || !v.is_finite() {
            return Err(StructureError::Unwritable { file: path.into(), quantity, atom, value: v });
        }
        Ok(())
    };
    writeln!(out, "{}\n{:5}", s.title.lines().next().unwrap_or(""), s.positions.len()).expect(infallible);
    for (i, x) in s.positions.iter().enumerate() {
        let (residue, atom) = &s.names[i];
        // Numbers below zero, as of tags for expression, stay what they are.
        let (number, serial) = (s.residue_numbers[i] % 100_000, (i + 1) % 100_000);
        write!(out, "{number:5}{residue:<5.5}{atom:>5.5}{serial:5}").expect(infallible);
        for v in x.iter() {
            push(&mut out, *v, width, decimals, "position", i + 1)?;
        }
        for v in s.velocities.iter().flat_map(|v| v[i].iter()) {
            push(&mut out, *v, width, decimals + 1, "velocity", i + 1)?;
        }
        out.push('\n');
    }
    let decimals = decimals.max(5);
    let [ax, by, cz, bx, cx, cy] = s.cell.packed();
    let numbers = [ax, by, cz, 0.0, 0.0, bx, 0.0, cx, cy];
    for v in &numbers[..if s.cell.is_triclinic() { 9 } else { 3 }] {
        push(&mut out, *v, decimals + 5, decimals, "box edge", 0)?;
    }
    out.push('\n');
    Ok(out)
}

/// Write a `.gro` file: all of it, or nothing (through a temporary file in the same directory, renamed when complete).
///
/// # Errors
/// [`StructureError::Unwritable`] as [`format_gro`]; [`StructureError::Io`] if the file cannot be written, in which case an old file of
/// that name is left as it was.
pub fn write_gro(path: &Path, structure: &Structure, decimals: usize) -> Result<(), StructureError> {
    let text = format_gro(structure, decimals, path)?;
    let io = |reason| StructureError::Io { file: path.into(), action: "write", reason };
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".part");
    let partial = path.with_file_name(name);
    let written = std::fs::File::create(&partial).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    if let Err(reason) = written.and_then(|()| std::fs::rename(&partial, path)) {
        let _ = std::fs::remove_file(&partial);
        return Err(io(reason));
    }
    Ok(())
}
