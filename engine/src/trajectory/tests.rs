//! Frames that are written are read back; files that are damaged, or lack what is asked for, are refused with their place.

use super::trr::{Parts, Real, encode};
use super::*;

fn vectors(count: usize, seed: f64) -> Vec<Vector3<f64>> {
    (0..count).map(|k| Vector3::new(seed + 0.1 * k as f64, -1.0 / (k as f64 + 3.0), seed.sin())).collect()
}

fn parts<'a>(step: u64, positions: &'a [Vector3<f64>], others: &'a [Vector3<f64>]) -> Parts<'a> {
    let cell = Cell::Periodic(PeriodicBox::triclinic([[3.0, 0.0, 0.0], [0.25, 3.5, 0.0], [-1.5, 1.0, 4.25]]).unwrap());
    Parts { step, time: step as f64 * 0.1, cell, atoms: 12, positions, velocities: others, forces: &[] }
}

/// The bytes of a frame are those of the XDR layout, written out by hand.
#[test]
fn a_frame_has_the_layout_of_the_format() {
    let x = [Vector3::new(1.0, 2.0, -0.5)];
    let frame = Parts { atoms: 1, cell: Cell::Open, ..parts(7, &x, &[]) };
    let bytes = encode(&frame, Real::Single);
    assert_eq!(&bytes[..24], b"\0\0\x07\xc9\0\0\0\x0d\0\0\0\x0cGMX_trn_file");
    let words: Vec<u32> = bytes[24..76].chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect();
    assert_eq!(words, [0, 0, 36, 0, 0, 0, 0, 12, 0, 0, 1, 7, 0]);
    let reals: Vec<f32> = bytes[76..].chunks(4).map(|word| f32::from_be_bytes(word.try_into().unwrap())).collect();
    assert_eq!(reals, [0.7, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, -0.5]);
}

#[test]
fn frames_with_any_parts_are_read_back() {
    let folder = temp_dir::TempDir::new().unwrap();
    let path = folder.path().join("all.trr");
    let (x, v) = (vectors(12, 1.5), vectors(12, -0.3));
    let whole = Parts { forces: &v, ..parts(3, &x, &v) };
    let mut bytes = encode(&whole, Real::Double);
    bytes.extend(encode(&parts(4, &[], &v), Real::Double));
    bytes.extend(encode(&Parts { cell: Cell::Open, ..parts(6, &x, &[]) }, Real::Single));
    std::fs::write(&path, &bytes).unwrap();
    let mut frames = Frames::open(&path).unwrap();
    let has: Vec<(bool, u64)> = frames.entries().iter().map(|entry| (entry.positions, entry.atoms)).collect();
    assert_eq!(has, [(true, 12), (false, 12), (true, 12)]);
    let first = frames.read(0).unwrap();
    // Double precision keeps every bit.
    assert_eq!((&first.positions, &first.velocities, &first.forces), (&x, &v, &v));
    assert_eq!((first.step, first.cell), (3, whole.cell));
    assert!(frames.read(1).unwrap().positions.is_empty());
    let last = frames.find(None).unwrap();
    assert_eq!((last.step, last.cell), (6, Cell::Open));
    for (read, wrote) in last.positions.iter().zip(&x) {
        // Half a unit of the last of 24 bits.
        assert!((read - wrote).amax() <= wrote.amax() * 0.5 * f64::from(f32::EPSILON));
    }
    assert_eq!(frames.find(Some(0.3)).unwrap().step, 3);
    // Times of single precision are found by the number that a person writes.
    assert_eq!(frames.find(Some(0.6)).unwrap().step, 6);
    let refused = |time| frames.find(Some(time)).unwrap_err().to_string();
    let message = [refused].map(|mut refused| [0.4, 0.5].map(&mut refused)).concat();
    assert!(message[0].contains("the frame at this time has no positions, 0.4 ps"), "{message:?}");
    assert!(
        message[1].contains("no frame at this time") && message[1].contains("2 frames with positions"),
        "{message:?}"
    );
}

/// chemfiles has a reader of its own: it finds the same numbers, in Å.
#[test]
fn another_program_reads_our_trr() {
    let folder = temp_dir::TempDir::new().unwrap();
    let path = folder.path().join("ours.trr");
    let (x, v) = (vectors(12, 0.5), vectors(12, 0.1));
    let bytes: Vec<u8> =
        (0..3).flat_map(|step| encode(&Parts { forces: &v, ..parts(step, &x, &v) }, Real::Single)).collect();
    std::fs::write(&path, bytes).unwrap();
    let mut frame = chemfiles::Frame::new();
    let mut trajectory = chemfiles::Trajectory::open(&path, 'r').unwrap();
    trajectory.read_step(2, &mut frame).unwrap();
    assert_eq!((trajectory.nsteps(), frame.size(), frame.step()), (3, 12, 2));
    // Its matrix has the vectors in columns, in Å.
    let matrix = frame.cell().matrix();
    let expected = [[30.0, 2.5, -15.0], [0.0, 35.0, 10.0], [0.0, 0.0, 42.5]];
    assert!(matrix.as_flattened().iter().zip(expected.as_flattened()).all(|(a, b)| (a - b).abs() < 1e-4), "{matrix:?}");
    for (atom, (x, v)) in x.iter().zip(&v).enumerate() {
        // Single precision, and the factor ten.
        assert!((Vector3::from(frame.positions()[atom]) - 10.0 * x).amax() < 1e-5);
        assert!((Vector3::from(frame.velocities().unwrap()[atom]) - 10.0 * v).amax() < 1e-5);
    }
}

#[test]
fn damaged_and_foreign_files_are_refused() {
    let folder = temp_dir::TempDir::new().unwrap();
    let refused = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        Frames::open(&path).map(|_| ()).unwrap_err().to_string()
    };
    let x = vectors(12, 1.0);
    let one = encode(&parts(1, &x, &[]), Real::Single);
    let two = [one.clone(), one.clone()].concat();
    let message = refused("cut.trr", &two[..two.len() - 1]);
    assert!(message.contains("after 1 whole frames, at byte") && message.contains("no whole frame"), "{message}");
    let mut wrong = two.clone();
    wrong[one.len() + 3] += 1;
    assert!(refused("magic.trr", &wrong).contains("after 1 whole frames"));
    let mut sizes = two;
    sizes[one.len() + 24 + 28 + 3] ^= 4;
    assert!(refused("sizes.trr", &sizes).contains("after 1 whole frames"));
    assert!(refused("empty.trr", b"").contains("the file has no frames"));
    assert!(
        refused("text.xtc", b"title\n 3\n and some more words than a header has, so that it is long enough")
            .contains("damaged")
    );
    assert!(refused("frame.pdb", b"").contains(".trr and .xtc"));
    let nan = [Vector3::new(f64::NAN, 0.0, 0.0); 12];
    let path = folder.path().join("nan.trr");
    std::fs::write(&path, encode(&parts(1, &nan, &[]), Real::Single)).unwrap();
    let message = Frames::open(&path).unwrap().read(0).unwrap_err().to_string();
    assert!(message.contains("frame 1 at 0.1 ps: a number of vector 1 is not finite"), "{message}");
}

/// Of a file that is being written the frames before the last count; damage is refused there as well.
#[test]
fn the_beginning_of_a_frame_is_left_out_of_a_growing_file() {
    let folder = temp_dir::TempDir::new().unwrap();
    let path = folder.path().join("growing.trr");
    let x = vectors(12, 1.0);
    let one = encode(&parts(1, &x, &[]), Real::Single);
    let two = [one.clone(), one.clone()].concat();
    for (end, cut) in [(0, false), (1, true), (80, true), (one.len() - 1, true)] {
        std::fs::write(&path, &two[..one.len() + end]).unwrap();
        let frames = Frames::open_growing(&path).unwrap();
        assert_eq!((frames.entries().len(), frames.is_cut()), (1, cut), "{end} bytes");
    }
    let mut wrong = two;
    wrong[one.len() + 3] += 1;
    std::fs::write(&path, &wrong).unwrap();
    assert!(Frames::open_growing(&path).err().unwrap().to_string().contains("after 1 whole frames"));
}

#[test]
fn boxes_are_reduced_and_those_that_are_turned_are_refused() {
    let edges = [[3.0, 0.0, 0.0], [3.0, 3.0, 0.0], [-1.5, -3.0, 2.0]].map(Vector3::from);
    let reduced = PeriodicBox::triclinic([[3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [-1.5, 0.0, 2.0]]).unwrap();
    assert_eq!(cell_of(edges), Ok(Cell::Periodic(reduced)));
    let turned = [[3.0, 0.0, 0.5], [0.0, 3.0, 0.0], [0.0, 0.0, 3.0]].map(Vector3::from);
    assert!(cell_of(turned).unwrap_err().contains("the numbers above it zero"));
    assert_eq!(cell_of([Vector3::zeros(); 3]), Ok(Cell::Open));
}
