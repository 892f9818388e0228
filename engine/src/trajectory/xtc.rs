//! XTC: compressed positions. chemfiles reads and writes the frames; here they are found and counted by their headers.
//!
//! A frame is, in big-endian 4-byte words: magic 1995, atoms, step, time, 9 of the box, atoms; then for more than
//! 9 atoms precision, 3 + 3 bounds, 1 small index, the number of bytes and the bytes padded to 4; else 3 words per atom.

use super::{Entry, Scan, StoredFrame, cell_of, time_of};
use nalgebra::Vector3;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};

/// Finds the whole frames of a file.
///
/// # Errors
/// What the system says.
pub fn scan(file: &mut File) -> std::io::Result<Scan> {
    let mut scan = Scan { size: file.metadata()?.len(), ..Scan::default() };
    let mut reader = BufReader::new(file);
    loop {
        let (entry, length) = match frame(&mut reader, scan.end) {
            Ok(Some((entry, length))) if scan.end + length <= scan.size => (entry, length),
            Ok(None) => return Ok(scan),
            Err(e) if e.kind() != std::io::ErrorKind::UnexpectedEof => return Err(e),
            // The header, or the frame that it tells of, goes on beyond the end.
            Ok(Some(_)) | Err(_) => return Ok(Scan { cut: scan.end < scan.size, ..scan }),
        };
        scan.entries.push(entry);
        scan.end += length;
    }
}

/// The frame that starts at `at` by its header, and its number of bytes; `None` if there is something else.
fn frame(reader: &mut (impl Read + Seek), at: u64) -> std::io::Result<Option<(Entry, u64)>> {
    const SMALL: u64 = 56;
    const HEADER: u64 = 92;
    let mut word = |offset: u64| -> std::io::Result<u32> {
        let mut bytes = [0; 4];
        reader.seek(SeekFrom::Start(at + offset))?;
        reader.read_exact(&mut bytes)?;
        Ok(u32::from_be_bytes(bytes))
    };
    if word(0)? != 1995 {
        return Ok(None);
    }
    let atoms = u64::from(word(4)?);
    let time = time_of(f32::from_bits(word(12)?));
    let length = match atoms {
        0..=9 => SMALL + 12 * atoms,
        _ => HEADER + u64::from(word(HEADER - 4)?).next_multiple_of(4),
    };
    Ok(Some((Entry { at, time, atoms, positions: true }, length)))
}

/// A frame of chemfiles, whose lengths are in Å.
pub(super) fn converted(frame: &chemfiles::Frame, time: f64) -> Result<StoredFrame, String> {
    let matrix = frame.cell().matrix();
    let row = |k: usize| Vector3::new(matrix[0][k], matrix[1][k], matrix[2][k]) / 10.0;
    let positions = frame.positions().iter().map(|x| Vector3::from(*x) / 10.0).collect::<Vec<_>>();
    if let Some(atom) = positions.iter().position(|x| !x.iter().all(|x| x.is_finite())) {
        return Err(format!("the position of atom {} is not finite", atom + 1));
    }
    let cell = cell_of([row(0), row(1), row(2)])?;
    Ok(StoredFrame { step: frame.step() as u64, time, cell, positions, ..StoredFrame::default() })
}
