//! `trajectory.xtc` through chemfiles: positions of all atoms, or of some, as precise as wanted.
//!
//! chemfiles writes through a mapping of the file into memory. On a full disk the system then kills the program, without a word, and until it is closed the file
//! ends with bytes of no frame. So chemfiles writes each frame into a file in memory, and its bytes are appended to the trajectory as those of any other
//! file: whole frames, and errors where there is no room.

use super::tables::open_at;
use crate::error::{Error, InputError, Result};
use crate::frame::Frame;
use crate::record::counted;
use crate::trajectory::{Scan, xtc};
use chemfiles::{Trajectory, UnitCell};
use forcefield::cell::PeriodicBox;
use forcefield::fnv::Fnv1a;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// What frames hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Contents {
    /// The atoms (0-based, rising); `None`: all.
    pub atoms: Option<Vec<u32>>,
    /// Precision of positions, nm.
    pub precision: f64,
}

impl Contents {
    /// A number that tells selections apart; the same for the same atoms (FNV-1a).
    pub fn fingerprint(&self) -> Option<u64> {
        let mut hash = Fnv1a::default();
        self.atoms.as_ref()?.iter().for_each(|atom| hash.index(*atom));
        Some(hash.value())
    }
}

/// The cell of chemfiles (Å).
fn unit_cell(periodic: &PeriodicBox) -> UnitCell {
    let rows = periodic.rows();
    if periodic.is_rectangular() {
        return UnitCell::new([0, 1, 2].map(|axis| rows[axis][axis] * 10.0));
    }
    // Its matrix has the edges in columns.
    UnitCell::from_matrix([0, 1, 2].map(|component| [0, 1, 2].map(|edge| rows[edge][component] * 10.0)))
}

/// A growing XTC file.
pub struct Xtc {
    path: PathBuf,
    contents: Contents,
    file: File,
    /// Bytes of whole frames.
    length: u64,
    frame: chemfiles::Frame,
}

impl Xtc {
    /// Opens the trajectory of a run: new and empty, or cut to `length` bytes to be continued. `before` is the fingerprint of the atoms that
    /// its frames hold so far.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be opened, [`Error::Input`] if it is shorter than the checkpoint says, or holds other atoms.
    pub fn open(path: &Path, contents: Contents, length: Option<u64>, before: Option<u64>) -> Result<Xtc> {
        // chemfiles prints warnings by itself; what matters comes back as an error.
        chemfiles::set_warning_callback(|_| {});
        if length.is_some_and(|length| length > 0) && before != contents.fingerprint() {
            let there = scan(path)?.entries.first().map_or(0, |entry| entry.atoms);
            let now = contents.atoms.as_ref().map_or("all".to_string(), |atoms| format!("{}", atoms.len()));
            let message = format!(
                "its frames hold {}, and output.trajectory_atoms now selects others ({now})",
                counted(there, "atom")
            );
            let help =
                "one file holds one selection: put output.trajectory_atoms back, or start again in another folder";
            return Err(InputError::new(message, help).in_file(path).into());
        }
        let file = open_at(path, length)?;
        let (path, frame) = (path.to_path_buf(), chemfiles::Frame::new());
        Ok(Xtc { path, contents, file, length: length.unwrap_or(0), frame })
    }

    /// Adds a frame.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be written; the file ends with the frame before then.
    pub fn write(&mut self, frame: &Frame) -> Result<()> {
        self.take(frame);
        let written = encoded(&self.frame).and_then(|bytes| self.file.write_all(&bytes).map(|()| bytes.len()));
        match written {
            Ok(bytes) => {
                self.length += bytes as u64;
                Ok(())
            }
            Err(error) => {
                // A part of a frame is of no use; where this fails too, the next start cuts the file.
                let _ = self.file.set_len(self.length).and_then(|()| self.file.seek(SeekFrom::Start(self.length)));
                Err(Error::file(&self.path, "write the trajectory", error))
            }
        }
    }

    /// The frame as chemfiles has it.
    fn take(&mut self, frame: &Frame) {
        let all = frame.positions;
        let chosen = self.contents.atoms.as_ref().map_or(all.len(), Vec::len);
        self.frame.resize(chosen);
        for (index, to) in self.frame.positions_mut().iter_mut().enumerate() {
            let from = all[self.contents.atoms.as_ref().map_or(index, |atoms| atoms[index] as usize)];
            *to = [from.x * 10.0, from.y * 10.0, from.z * 10.0];
        }
        self.frame.set("xtc_precision", 1.0 / self.contents.precision);
        if let Some(periodic) = frame.cell.periodic() {
            self.frame.set_cell(&unit_cell(periodic));
        }
        self.frame.set_step(frame.step as usize);
        self.frame.set("time", frame.time);
    }

    /// Brings all frames to the disk, and gives the length of the file (bytes).
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be written, or has another length than the frames that were written.
    pub fn sync(&mut self) -> Result<u64> {
        let synced = self.file.sync_all().and_then(|()| self.file.metadata());
        let present = synced.map_err(|e| Error::file(&self.path, "write", e))?.len();
        if present != self.length {
            let message =
                format!("it has {present} bytes, and {} were written; something else has changed it", self.length);
            return Err(failed(&self.path, &message));
        }
        Ok(self.length)
    }
}

/// The bytes of a frame, by chemfiles and a file in memory. It is open for this frame alone: walkers of one process are many, and open files are counted.
fn encoded(frame: &chemfiles::Frame) -> std::io::Result<Vec<u8>> {
    let chemical = |e: chemfiles::Error| std::io::Error::other(e.message.trim().to_string());
    let mut memory = File::from(memfd_create("octitrate-frame", MemfdFlags::CLOEXEC)?);
    let path = format!("/proc/self/fd/{}", memory.as_raw_fd());
    // The file is whole once it is closed.
    let mut trajectory = Trajectory::open_with_format(path, 'w', "XTC").map_err(chemical)?;
    trajectory.write(frame).map_err(chemical)?;
    drop(trajectory);
    let mut bytes = Vec::new();
    memory.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn failed(path: &Path, message: &str) -> Error {
    Error::file(path, "write the trajectory", std::io::Error::other(message.trim().to_string()))
}

/// The whole frames of a file; an incomplete one at the end is not among them.
fn scan(path: &Path) -> Result<Scan> {
    let found = File::open(path).and_then(|mut file| xtc::scan(&mut file));
    found.map_err(|e| Error::file(path, "read", e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::Vector3;

    fn positions(atoms: usize, shift: f64) -> Vec<Vector3<f64>> {
        (0..atoms).map(|i| Vector3::new(0.1 * i as f64 + shift, 0.05 * (i % 7) as f64, 0.3)).collect()
    }

    const ALL: Contents = Contents { atoms: None, precision: 0.001 };

    fn write(xtc: &mut Xtc, positions: &[Vector3<f64>], step: u64) {
        write_in(forcefield::Cell::rectangular(Vector3::new(3.0, 3.0, 4.0)).unwrap(), xtc, positions, step);
    }

    fn write_in(cell: forcefield::Cell, xtc: &mut Xtc, positions: &[Vector3<f64>], step: u64) {
        let frame = Frame {
            step,
            time: step as f64 * 0.002,
            energies: vec![],
            lambda: vec![],
            dvdl: vec![],
            walker: None,
            positions,
            velocities: &[],
            forces: &[],
            cell,
        };
        xtc.write(&frame).unwrap();
    }

    /// A run in two pieces leaves the bytes of a run in one, also when frames beyond the checkpoint were written.
    #[test]
    fn continuation_is_exact() {
        for atoms in [5, 40] {
            let folder = temp_dir::TempDir::new().unwrap();
            let (whole, pieces) = (folder.path().join("whole.xtc"), folder.path().join("pieces.xtc"));
            let frames: Vec<_> = (0..6).map(|k| positions(atoms, 0.01 * k as f64)).collect();
            let mut xtc = Xtc::open(&whole, ALL, None, None).unwrap();
            frames.iter().zip(0..).for_each(|(frame, step)| write(&mut xtc, frame, step));
            xtc.sync().unwrap();

            let mut xtc = Xtc::open(&pieces, ALL, None, None).unwrap();
            (0..3).for_each(|k| write(&mut xtc, &frames[k], k as u64));
            let length = xtc.sync().unwrap();
            write(&mut xtc, &frames[5], 99);
            xtc.sync().unwrap();
            drop(xtc);
            let mut xtc = Xtc::open(&pieces, ALL, Some(length), None).unwrap();
            (3..6).for_each(|k| write(&mut xtc, &frames[k], k as u64));
            xtc.sync().unwrap();
            assert_eq!(std::fs::read(&whole).unwrap(), std::fs::read(&pieces).unwrap(), "{atoms} atoms");
            assert_eq!(scan(&whole).unwrap().entries.len(), 6);

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

    /// All numbers of a triclinic box are read back, with the 24 bits of the format and in the order that GROMACS gives them.
    #[test]
    fn boxes_without_right_angles_are_read_back() {
        let folder = temp_dir::TempDir::new().unwrap();
        let path = folder.path().join("triclinic.xtc");
        let half = 2.3456789;
        let rows = [[2.0 * half, 0.0, 0.0], [0.1, 4.5, 0.0], [half, -1.25, 3.3]];
        let cell = forcefield::Cell::Periodic(PeriodicBox::triclinic(rows).unwrap());
        let mut xtc = Xtc::open(&path, ALL, None, None).unwrap();
        write_in(cell, &mut xtc, &positions(40, 0.0), 0);
        xtc.sync().unwrap();
        let found = crate::trajectory::Frames::open(&path).unwrap().read(0).unwrap().cell;
        for (read, wrote) in found.packed().iter().zip(cell.packed()) {
            assert!((read - wrote).abs() <= 2.0 * f64::from(f32::EPSILON) * wrote.abs(), "{found:?}");
        }
        // The smallest angle that a box can have is one that chemfiles takes.
        let nearly = PeriodicBox::reduced([[3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 9.1e-5, 3.0]]).unwrap();
        assert!(!nearly.is_rectangular());
        write_in(forcefield::Cell::Periodic(nearly), &mut xtc, &positions(40, 0.0), 1);
        xtc.sync().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let real = |k: usize| f32::from_be_bytes(bytes[16 + 4 * k..20 + 4 * k].try_into().unwrap());
        let expected = rows.into_iter().flatten().map(|x| x as f32);
        assert!((0..9).map(real).zip(expected).all(|(a, b)| (a - b).abs() <= 1e-6), "box of the header");
    }

    /// Who looks at a run on its way finds whole frames and nothing behind them.
    #[test]
    fn frames_can_be_read_while_the_run_goes_on() {
        let folder = temp_dir::TempDir::new().unwrap();
        let path = folder.path().join("live.xtc");
        let mut xtc = Xtc::open(&path, ALL, None, None).unwrap();
        let mut whole = 0;
        for frames in 1..6 {
            write(&mut xtc, &positions(40, 0.0), frames);
            let length = std::fs::metadata(&path).unwrap().len();
            // Frames of equal positions have equal lengths.
            whole = if frames == 1 { length } else { whole };
            assert_eq!((scan(&path).unwrap().entries.len() as u64, length), (frames, whole * frames));
        }
    }

    /// The words of the system, where a mapped file would end the program with a signal.
    #[test]
    fn a_full_disk_is_an_error() {
        let mut xtc = Xtc::open(Path::new("/dev/full"), ALL, None, None).unwrap();
        let all = positions(40, 0.0);
        let cell = forcefield::Cell::Open;
        let (energies, lambda, dvdl, velocities, forces) = (vec![], vec![], vec![], &[][..], &[][..]);
        let frame = Frame {
            step: 0,
            time: 0.0,
            energies,
            lambda,
            dvdl,
            walker: None,
            positions: &all,
            velocities,
            forces,
            cell,
        };
        let message = xtc.write(&frame).unwrap_err().to_string();
        assert_eq!(message, "/dev/full: cannot write the trajectory: the disk is full");
    }

    #[test]
    fn a_lost_tail_is_an_error() {
        let folder = temp_dir::TempDir::new().unwrap();
        let path = folder.path().join("cut.xtc");
        let mut xtc = Xtc::open(&path, ALL, None, None).unwrap();
        (0..3).for_each(|k| write(&mut xtc, &positions(40, 0.0), k));
        let length = xtc.sync().unwrap();
        File::options().write(true).open(&path).unwrap().set_len(length - 5).unwrap();
        let message = xtc.sync().unwrap_err().to_string();
        assert!(message.contains(&format!("it has {} bytes, and {length} were written", length - 5)), "{message}");
    }

    /// Frames hold the chosen atoms alone, as precisely as wanted.
    #[test]
    fn chosen_atoms_are_written_with_the_precision_wanted() {
        let folder = temp_dir::TempDir::new().unwrap();
        let path = folder.path().join("some.xtc");
        let all: Vec<Vector3<f64>> = positions(40, 0.0).iter().map(|x| x + Vector3::repeat(0.000_123_4)).collect();
        let atoms: Vec<u32> = (0..40).filter(|atom| atom % 3 == 1).collect();
        for precision in [1e-2, 1e-3, 1e-5] {
            let contents = Contents { atoms: Some(atoms.clone()), precision };
            let mut xtc = Xtc::open(&path, contents, None, None).unwrap();
            write(&mut xtc, &all, 0);
            xtc.sync().unwrap();
            let frame = crate::trajectory::Frames::open(&path).unwrap().read(0).unwrap();
            assert_eq!(frame.positions.len(), atoms.len());
            let error = |(read, atom): (&Vector3<f64>, &u32)| (read - all[*atom as usize]).amax();
            let largest = frame.positions.iter().zip(&atoms).map(error).fold(0.0, f64::max);
            // Rounded to multiples of the precision, in numbers of 24 bits; a coarser grid would show.
            assert!(largest <= 0.5 * precision + 4.0 * f64::from(f32::EPSILON), "{precision}: {largest}");
            assert!(largest > 0.01 * precision, "{precision}: {largest}");
        }
    }

    /// A file never holds frames of different atoms.
    #[test]
    fn another_selection_is_not_continued() {
        let folder = temp_dir::TempDir::new().unwrap();
        let path = folder.path().join("some.xtc");
        let some = |atoms: &[u32]| Contents { atoms: Some(atoms.to_vec()), precision: 0.001 };
        let first = some(&[1, 2, 3]);
        let mut xtc = Xtc::open(&path, first.clone(), None, None).unwrap();
        write(&mut xtc, &positions(40, 0.0), 0);
        let length = Some(xtc.sync().unwrap());
        drop(xtc);
        let before = first.fingerprint();
        for other in [some(&[1, 2, 4]), some(&[1, 2]), ALL] {
            let message = Xtc::open(&path, other, length, before).map(|_| ()).unwrap_err().to_string();
            assert!(
                message.contains("its frames hold 3 atoms, and output.trajectory_atoms now selects others"),
                "{message}"
            );
        }
        // Frames are no finer than they were, but they may become so.
        assert!(Xtc::open(&path, Contents { precision: 1e-4, ..first }, length, before).is_ok());
    }
}
