//! TRR, the GROMACS format of full precision: positions, velocities, forces, box; any of them may be missing in a frame.
//!
//! A frame is, in big-endian XDR (32-bit integers, IEEE reals of 4 or 8 bytes, strings padded to 4 bytes):
//!
//! ```text
//! 1993, 13, "GMX_trn_file" with its length 12
//! bytes of:  ir, e, box, vir, pres, top, sym, x, v, f      (box, vir, pres: 0 or 9 reals; x, v, f: 0 or 3 N reals)
//! atoms N, step, nre;  time (ps), λ
//! box (nm), vir, pres, x (nm), v (nm/ps), f (kJ/mol/nm)
//! ```
//!
//! The size of a real follows from the size of the box, or of an array. Layout: `gmx_trn` of GROMACS 2 to 2025, manual.gromacs.org, and the
//! XDR standard, RFC 4506. A step above 2³¹ − 1 is written as that number, since the format has no room for more; times are right.

use super::{Entry, Scan, StoredFrame, cell_of, time_of};
use forcefield::Cell;
use forcefield::cell::PeriodicBox;
use nalgebra::Vector3;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use thiserror::Error;

const MAGIC: u32 = 1993;
const NAME: &[u8; 12] = b"GMX_trn_file";
/// Bytes before the two reals of the header: magic, two lengths, name, ten sizes, atoms, step, nre.
const HEADER: u64 = 12 + 12 + 4 * 13;

/// Why a frame cannot be read.
#[derive(Debug, Error)]
pub enum TrrError {
    /// The system says why.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// What the frame holds cannot be used.
    #[error("{0}")]
    Content(String),
}

/// Size of the numbers in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Real {
    /// 4 bytes.
    Single,
    /// 8 bytes.
    Double,
}

impl Real {
    fn bytes(self) -> usize {
        match self {
            Real::Single => 4,
            Real::Double => 8,
        }
    }
}

/// What a frame is made of; empty parts are left out.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// Step.
    pub step: u64,
    /// Time, ps.
    pub time: f64,
    /// The box, or open space.
    pub cell: Cell,
    /// Number of atoms.
    pub atoms: usize,
    /// Positions, nm.
    pub positions: &'a [Vector3<f64>],
    /// Velocities, nm/ps.
    pub velocities: &'a [Vector3<f64>],
    /// Forces, kJ/mol/nm.
    pub forces: &'a [Vector3<f64>],
}

/// The bytes of a frame.
pub fn encode(parts: &Parts, real: Real) -> Vec<u8> {
    let arrays = [parts.positions, parts.velocities, parts.forces];
    let size = |reals: usize| (reals * real.bytes()) as u32;
    let [x, v, f] = arrays.map(|array| size(3 * array.len()));
    let mut bytes = Vec::with_capacity(HEADER as usize + real.bytes() * 11 + (x + v + f) as usize);
    let word = |bytes: &mut Vec<u8>, word: u32| bytes.extend_from_slice(&word.to_be_bytes());
    word(&mut bytes, MAGIC);
    word(&mut bytes, NAME.len() as u32 + 1);
    word(&mut bytes, NAME.len() as u32);
    bytes.extend_from_slice(NAME);
    let step = u32::try_from(parts.step.min(i32::MAX as u64)).unwrap_or(i32::MAX as u32);
    for number in [0, 0, size(9), 0, 0, 0, 0, x, v, f, parts.atoms as u32, step, 0] {
        word(&mut bytes, number);
    }
    let mut put = |value: f64| match real {
        Real::Single => bytes.extend_from_slice(&(value as f32).to_be_bytes()),
        Real::Double => bytes.extend_from_slice(&value.to_be_bytes()),
    };
    put(parts.time);
    put(0.0);
    let rows = parts.cell.periodic().map_or_else(Default::default, PeriodicBox::rows);
    rows.into_iter().flatten().for_each(&mut put);
    arrays.into_iter().flatten().flat_map(|vector| vector.iter()).for_each(|value| put(*value));
    bytes
}

/// The header of a frame.
#[derive(Debug)]
struct Header {
    real: Real,
    /// Bytes of box, vir, pres, x, v, f.
    sizes: [u64; 6],
    atoms: u64,
    step: u64,
    time: f64,
}

impl Header {
    /// Bytes of the whole header.
    fn length(&self) -> u64 {
        HEADER + 2 * self.real.bytes() as u64
    }

    /// Bytes of the whole frame.
    fn frame(&self) -> u64 {
        self.length() + self.sizes.iter().sum::<u64>()
    }
}

/// Reads a header; `None` if there is none, or it contradicts itself.
fn header(reader: &mut impl Read) -> std::io::Result<Option<Header>> {
    let mut word = || -> std::io::Result<u32> {
        let mut bytes = [0; 4];
        reader.read_exact(&mut bytes)?;
        Ok(u32::from_be_bytes(bytes))
    };
    if [word()?, word()?, word()?] != [MAGIC, 13, 12] {
        return Ok(None);
    }
    for _ in 0..3 {
        word()?;
    }
    let mut numbers = [0_u32; 13];
    for number in &mut numbers {
        *number = word()?;
    }
    let [ir, e, cell, vir, pres, top, sym, x, v, f, atoms, step, _] = numbers.map(u64::from);
    let per_real = [(cell, 9), (x, 3 * atoms), (v, 3 * atoms), (f, 3 * atoms)];
    let bytes = per_real.iter().find(|(size, _)| *size > 0).map_or(4, |(size, reals)| size / (*reals).max(1));
    let real = match bytes {
        4 => Real::Single,
        8 => Real::Double,
        _ => return Ok(None),
    };
    let fits = |(size, reals): &(u64, u64)| *size == 0 || *size == reals * bytes;
    let whole = per_real.iter().chain(&[(vir, 9), (pres, 9)]).all(fits);
    if !whole || [ir, e, top, sym] != [0; 4] {
        return Ok(None);
    }
    let time = match real {
        Real::Single => time_of(self::real(reader, real)? as f32),
        Real::Double => self::real(reader, real)?,
    };
    self::real(reader, real)?;
    Ok(Some(Header { real, sizes: [cell, vir, pres, x, v, f], atoms, step, time }))
}

fn real(reader: &mut impl Read, real: Real) -> std::io::Result<f64> {
    let mut bytes = [0; 8];
    reader.read_exact(&mut bytes[..real.bytes()])?;
    Ok(match real {
        Real::Single => f64::from(f32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
        Real::Double => f64::from_be_bytes(bytes),
    })
}

/// Finds the frames of a file by their headers.
///
/// # Errors
/// What the system says.
pub fn scan(file: &mut File) -> std::io::Result<Scan> {
    let mut scan = Scan { size: file.metadata()?.len(), ..Scan::default() };
    let mut reader = BufReader::new(file);
    loop {
        reader.seek(SeekFrom::Start(scan.end))?;
        let header = match header(&mut reader) {
            Ok(Some(header)) if scan.end + header.frame() <= scan.size => header,
            Ok(None) => return Ok(scan),
            Err(e) if e.kind() != std::io::ErrorKind::UnexpectedEof => return Err(e),
            // The header, or the frame that it tells of, goes on beyond the end.
            Ok(Some(_)) | Err(_) => return Ok(Scan { cut: scan.end < scan.size, ..scan }),
        };
        let entry = Entry { at: scan.end, time: header.time, atoms: header.atoms, positions: header.sizes[3] > 0 };
        scan.entries.push(entry);
        scan.end += header.frame();
    }
}

/// Reads the frame that starts at byte `at`.
///
/// # Errors
/// [`TrrError`]: what the system says, no frame there, a number that is not finite, numbers that are no box.
pub fn read(file: &mut File, at: u64) -> Result<StoredFrame, TrrError> {
    let mut reader = BufReader::new(file);
    reader.seek(SeekFrom::Start(at))?;
    let Some(header) = header(&mut reader)? else {
        return Err(TrrError::Content("there is no header of a frame".into()));
    };
    let [cell, vir, pres, x, v, f] = header.sizes;
    let mut vectors = |bytes: u64| -> Result<Vec<Vector3<f64>>, TrrError> {
        let count = bytes as usize / (3 * header.real.bytes());
        let mut vectors = Vec::with_capacity(count);
        for _ in 0..count {
            let mut next = || real(&mut reader, header.real);
            vectors.push(Vector3::new(next()?, next()?, next()?));
        }
        match vectors.iter().position(|vector| !vector.iter().all(|x| x.is_finite())) {
            Some(index) => Err(TrrError::Content(format!("a number of vector {} is not finite", index + 1))),
            None => Ok(vectors),
        }
    };
    let cell = match vectors(cell)?[..] {
        [a, b, c] => cell_of([a, b, c]).map_err(TrrError::Content)?,
        _ => Cell::Open,
    };
    vectors(vir + pres)?;
    let (positions, velocities, forces) = (vectors(x)?, vectors(v)?, vectors(f)?);
    Ok(StoredFrame { step: header.step, time: header.time, cell, positions, velocities, forces })
}
