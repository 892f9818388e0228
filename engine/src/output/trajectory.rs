//! `trajectory.xtc` through chemfiles, with positions to 0.001 nm.
//!
//! chemfiles writes through a buffer of its own and reports no failed write at the end, so that every time the file is
//! closed (at each checkpoint) its frames are counted by their headers: a trajectory that lost its tail to a full disk is
//! an error, not a shorter trajectory.
//!
//! A frame of XTC is, in big-endian 4-byte words: magic 1995, atoms, step, time, 9 of the box, atoms; then for more than
//! 9 atoms precision, 3 + 3 bounds, 1 small index, the number of bytes and the bytes padded to 4; else 3 words per atom.

use super::tables::open_at;
use crate::error::{Error, Result};
use crate::frame::Frame;
use chemfiles::{Trajectory, UnitCell};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// A growing XTC file.
pub struct Xtc {
    path: PathBuf,
    open: Option<Trajectory>,
    frame: chemfiles::Frame,
    frames: u64,
}

impl Xtc {
    /// Opens the trajectory of a run: new and empty, or cut to `length` bytes to be continued.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be opened, [`Error::Input`] if it is shorter than the checkpoint says.
    pub fn open(path: &Path, length: Option<u64>) -> Result<Xtc> {
        // chemfiles prints warnings by itself; what matters comes back as an error.
        chemfiles::set_warning_callback(|_| {});
        drop(open_at(path, length)?);
        let frames = count_frames(path)?;
        Ok(Xtc { path: path.to_path_buf(), open: None, frame: chemfiles::Frame::new(), frames })
    }

    /// Adds a frame.
    ///
    /// # Errors
    /// [`Error::File`] in the words of chemfiles if it cannot be written.
    pub fn write(&mut self, frame: &Frame) -> Result<()> {
        let path = self.path.clone();
        self.append(frame).map_err(|e| failed(&path, &e.message))
    }

    fn append(&mut self, frame: &Frame) -> std::result::Result<(), chemfiles::Error> {
        self.frame.resize(frame.positions.len());
        for (to, from) in self.frame.positions_mut().iter_mut().zip(frame.positions) {
            *to = [from.x * 10.0, from.y * 10.0, from.z * 10.0];
        }
        if let Some(edges) = frame.cell.edges() {
            self.frame.set_cell(&UnitCell::new([edges.x * 10.0, edges.y * 10.0, edges.z * 10.0]));
        }
        self.frame.set_step(frame.step as usize);
        self.frame.set("time", frame.time);
        let trajectory = match &mut self.open {
            Some(trajectory) => trajectory,
            None => self.open.insert(Trajectory::open(&self.path, 'a')?),
        };
        trajectory.write(&self.frame)?;
        self.frames += 1;
        Ok(())
    }

    /// Brings all frames to the disk, and gives the length of the file (bytes).
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be written, or holds fewer frames than were written.
    pub fn sync(&mut self) -> Result<u64> {
        drop(self.open.take());
        let present = count_frames(&self.path)?;
        if present != self.frames {
            let message = format!("{present} whole frames are on the disk, {} were written; is it full?", self.frames);
            return Err(failed(&self.path, &message));
        }
        let length = File::open(&self.path)
            .and_then(|file| file.sync_all().and_then(|()| file.metadata()))
            .map(|data| data.len());
        length.map_err(|e| Error::file(&self.path, "write", e))
    }
}

fn failed(path: &Path, message: &str) -> Error {
    Error::file(path, "write the trajectory", std::io::Error::other(message.trim().to_string()))
}

/// Number of whole frames in an XTC file; an incomplete one at the end is not counted.
fn count_frames(path: &Path) -> Result<u64> {
    let count = || -> std::io::Result<u64> {
        let file = File::open(path)?;
        let size = file.metadata()?.len();
        let mut reader = BufReader::new(file);
        let (mut at, mut frames) = (0, 0);
        while let Some(length) = frame_length(&mut reader, at, size)? {
            at += length;
            frames += 1;
        }
        Ok(frames)
    };
    count().map_err(|e| Error::file(path, "read", e))
}

/// Bytes of the frame that starts at `at`, if all of it is there.
fn frame_length(reader: &mut (impl Read + Seek), at: u64, size: u64) -> std::io::Result<Option<u64>> {
    const SMALL: u64 = 56;
    const HEADER: u64 = 92;
    let mut word = |offset: u64| -> std::io::Result<u64> {
        let mut bytes = [0; 4];
        reader.seek(SeekFrom::Start(at + offset))?;
        reader.read_exact(&mut bytes)?;
        Ok(u64::from(u32::from_be_bytes(bytes)))
    };
    if at + SMALL > size || word(0)? != 1995 {
        return Ok(None);
    }
    let atoms = word(4)?;
    let length = match atoms {
        0..=9 => SMALL + 12 * atoms,
        _ if at + HEADER > size => return Ok(None),
        _ => HEADER + word(HEADER - 4)?.next_multiple_of(4),
    };
    Ok((at + length <= size).then_some(length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::Vector3;

    fn positions(atoms: usize, shift: f64) -> Vec<Vector3<f64>> {
        (0..atoms).map(|i| Vector3::new(0.1 * i as f64 + shift, 0.05 * (i % 7) as f64, 0.3)).collect()
    }

    fn write(xtc: &mut Xtc, positions: &[Vector3<f64>], step: u64) {
        let frame = Frame {
            step,
            time: step as f64 * 0.002,
            energies: vec![],
            lambda: vec![],
            dvdl: vec![],
            walker: None,
            positions,
            velocities: &[],
            cell: forcefield::Cell::rectangular(Vector3::new(3.0, 3.0, 4.0)).unwrap(),
        };
        xtc.write(&frame).unwrap();
    }

    /// A run in two pieces leaves the bytes of a run in one, also when frames beyond the checkpoint were written.
    #[test]
    fn continuation_is_exact() {
        for atoms in [5, 40] {
            let folder = tempfile::tempdir().unwrap();
            let (whole, pieces) = (folder.path().join("whole.xtc"), folder.path().join("pieces.xtc"));
            let frames: Vec<_> = (0..6).map(|k| positions(atoms, 0.01 * k as f64)).collect();
            let mut xtc = Xtc::open(&whole, None).unwrap();
            frames.iter().zip(0..).for_each(|(frame, step)| write(&mut xtc, frame, step));
            xtc.sync().unwrap();

            let mut xtc = Xtc::open(&pieces, None).unwrap();
            (0..3).for_each(|k| write(&mut xtc, &frames[k], k as u64));
            let length = xtc.sync().unwrap();
            write(&mut xtc, &frames[5], 99);
            xtc.sync().unwrap();
            drop(xtc);
            let mut xtc = Xtc::open(&pieces, Some(length)).unwrap();
            (3..6).for_each(|k| write(&mut xtc, &frames[k], k as u64));
            xtc.sync().unwrap();
            assert_eq!(std::fs::read(&whole).unwrap(), std::fs::read(&pieces).unwrap(), "{atoms} atoms");
            assert_eq!(count_frames(&whole).unwrap(), 6);

            // Read back by chemfiles itself: positions to the 0.001 nm of the format, step, box.
            let mut frame = chemfiles::Frame::new();
            let mut trajectory = Trajectory::open(&whole, 'r').unwrap();
            trajectory.read_step(4, &mut frame).unwrap();
            assert_eq!((frame.step(), frame.size(), trajectory.nsteps()), (4, atoms, 6));
            for (read, wrote) in frame.positions().iter().zip(&frames[4]) {
                assert!((read[0] / 10.0 - wrote.x).abs() < 6e-4, "{read:?} {wrote:?}");
            }
            assert!((frame.cell().lengths()[2] - 40.0).abs() < 1e-4);
        }
    }

    #[test]
    fn a_lost_tail_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cut.xtc");
        let mut xtc = Xtc::open(&path, None).unwrap();
        (0..3).for_each(|k| write(&mut xtc, &positions(40, 0.0), k));
        let length = xtc.sync().unwrap();
        File::options().write(true).open(&path).unwrap().set_len(length - 5).unwrap();
        let message = xtc.sync().unwrap_err().to_string();
        assert!(message.contains("2 whole frames are on the disk, 3 were written"), "{message}");
    }
}
