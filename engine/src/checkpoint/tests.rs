use super::*;
use crate::random::{RandomStream, indexed_generator};
use crate::state::{BarostatState, BarrierState, BathState, GpuState, ListState, SitesState};
use forcefield::Structure;
use forcefield::topology::{Atom, Bond, Topology};
use forcefield::{Cell, cell::PeriodicBox};
use lambda::motion::LambdaState;
use nalgebra::Vector3;
use rand::distr::StandardUniform;
use rand_distr::{Distribution, StandardNormal};

impl Stored for Vec<State> {
    fn toggle_differences(&mut self) {
        self.iter_mut().for_each(State::toggle_differences);
    }
}

fn topology() -> Topology {
    let atom = |charge| Atom { name: "X".into(), type_index: 0, residue: 0, molecule: 0, charge, mass: 12.25 };
    Topology {
        atoms: vec![atom(0.1), atom(1.0 / 3.0)],
        bonds: vec![Bond { atoms: [0, 1], r0: 0.1, k: 5000.0 }],
        ..Topology::default()
    }
}

fn identity(settings: &str, topology: &Topology, structure: &Structure) -> Identity {
    Identity::new(settings.into(), topology, structure, &[], &[])
}

fn state(step: u64) -> State {
    let triclinic = PeriodicBox::triclinic([[3.0, 0.0, 0.0], [0.1, 3.0, 0.0], [0.2, 1.0 / 3.0, 4.0]]).unwrap();
    let positions = vec![Vector3::new(0.1, -0.0, 1.0 / 3.0), Vector3::new(f64::MIN_POSITIVE, 2.0, 3.0)];
    State {
        step,
        cell: Cell::Periodic(triclinic),
        velocities: vec![Vector3::new(1.0, 2.0, 3.0); 2],
        restraint_references: positions.clone(),
        restraint_work: -3.5,
        bath: BathState {
            thermostat_work: 1e-300,
            barostat: BarostatState { work: f64::MAX, pending_volume: -1e-5, pending_edges: [1e-9, 0.0, -0.3] },
        },
        sites: SitesState {
            lambda: LambdaState { coordinates: vec![0.25], velocities: vec![-1.5], heat: 2.5, held: 4 },
            ph: Some(4.25),
            barriers: vec![BarrierState { height: 5.0, form: Some(1), transitions: 17 }],
            barrier_work: 0.125,
        },
        lists: ListState { positions: positions.iter().map(|x| x.add_scalar(0.01)).collect(), cell: Cell::Open },
        gpu: Some(GpuState {
            geometry: vec![0.5; 3],
            prepared: Some([1.0; 5]),
            boxes: ListState { positions: positions.iter().map(|x| -x).collect(), cell: Cell::Periodic(triclinic) },
            planned: Some(Cell::Periodic(triclinic)),
            shape: Some(Cell::rectangular(Vector3::new(1.0, 2.0, 0.3)).unwrap()),
        }),
        positions,
    }
}

fn example(step: u64) -> Checkpoint {
    let identity = identity("[dynamics]\ntime_step = \"2 fs\"\n", &topology(), &Structure::default());
    Checkpoint {
        state: state(step),
        identity,
        written: BTreeMap::from([("energy.csv".to_string(), Written::from(123))]),
    }
}

#[test]
fn every_bit_comes_back() {
    let checkpoint = example(17);
    let back = Checkpoint::decode(&checkpoint.clone().encode()).unwrap();
    assert_eq!(back, checkpoint);
    // −0 compares equal to 0: its sign must survive as well.
    assert!(back.state.positions[0].y.is_sign_negative());
    // Open space, no GPU, no sites.
    let empty = Checkpoint { state: State::default(), ..checkpoint };
    assert_eq!(Checkpoint::decode(&empty.clone().encode()).unwrap(), empty);
}

/// The file is what [`example`] was when 4 was the version.
#[test]
fn the_version_before_is_read() {
    let bytes = include_bytes!("tests/version-4");
    assert!(bytes.starts_with(b"octitrate checkpoint 4\n"));
    assert_eq!(Checkpoint::decode(bytes).unwrap(), example(17));
    assert!(<Checkpoint>::decode(&bytes[..bytes.len() - 1]).unwrap_err().contains("damaged"));
}

/// Of positions and velocities the 52 binary digits are noise, 39 bytes for an atom, and three bits and a half more are known of each sign and exponent: 42. What is beyond that
/// is here that a byte is the least that a plane can be cut to. Lists of the present positions take nothing, others that are a few steps old 20 bytes, charges and
/// masses of water nothing, and so do references where nothing is held.
#[test]
fn an_atom_takes_little_more_than_its_digits() {
    let n: u64 = 9000;
    let mut rng = indexed_generator(1, RandomStream::Thermostat, 0, 0);
    let mut vectors = |scale: f64, thermal: bool| -> Vec<Vector3<f64>> {
        let mut number =
            || -> f64 { if thermal { StandardNormal.sample(&mut rng) } else { StandardUniform.sample(&mut rng) } };
        (0..n).map(|_| Vector3::from_fn(|_, _| scale * number())).collect()
    };
    let (positions, velocities, moves) = (vectors(4.5, false), vectors(1.5, true), vectors(0.03, true));
    let mut topology = topology();
    topology.atoms = (0..n as usize).map(|i| topology.atoms[usize::from(i % 3 > 0)].clone()).collect();
    let identity = identity("", &topology, &Structure::default());
    let bytes = |lists: &[Vector3<f64>]| {
        let lists = ListState { positions: lists.to_vec(), cell: Cell::Open };
        let state = State {
            positions: positions.clone(),
            velocities: velocities.clone(),
            restraint_references: vec![Vector3::zeros(); n as usize],
            gpu: Some(GpuState { boxes: lists.clone(), ..GpuState::default() }),
            lists,
            ..State::default()
        };
        let checkpoint = Checkpoint { state, identity: identity.clone(), written: BTreeMap::new() };
        assert_eq!(Checkpoint::decode(&checkpoint.clone().encode()).unwrap(), checkpoint);
        checkpoint.encode().len() as f64 / n as f64
    };
    let fresh = bytes(&positions);
    assert!(fresh > 42.0 && fresh < 44.0, "{fresh} bytes");
    let before: Vec<_> = positions.iter().zip(&moves).map(|(x, d)| x - d).collect();
    let old = bytes(&before);
    assert!(old < fresh + 2.0 * 20.0, "{old} bytes");
}

#[test]
fn any_cut_and_any_flipped_bit_is_noticed() {
    let bytes = example(17).encode();
    for length in 0..bytes.len() {
        assert!(<Checkpoint>::decode(&bytes[..length]).is_err(), "cut to {length} of {}", bytes.len());
    }
    for bit in 0..8 * bytes.len() {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(<Checkpoint>::decode(&flipped).is_err(), "bit {bit}");
    }
}

#[test]
fn a_damaged_checkpoint_falls_back_on_the_one_before() {
    let folder = temp_dir::TempDir::new().unwrap();
    let load = || <Checkpoint>::load(folder.path());
    assert!(load().unwrap().is_none());
    example(1).save(folder.path()).unwrap();
    example(2).save(folder.path()).unwrap();
    let newest = load().unwrap().unwrap();
    assert_eq!((newest.checkpoint.state.step, newest.note), (2, None));

    let path = folder.path().join(FILE);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let before = load().unwrap().unwrap();
    assert_eq!(before.checkpoint.state.step, 1);
    assert!(before.note.unwrap().contains("damaged"));

    std::fs::write(folder.path().join(PREVIOUS), "rubbish").unwrap();
    let message = load().unwrap_err().to_string();
    assert!(message.contains("no checkpoint is usable") && message.contains("damaged"), "{message}");
    // Each of them with its reason.
    assert!(message.contains("checkpoint.previous was not used: it is not a checkpoint"), "{message}");
}

#[test]
fn another_version_and_another_kind_are_named() {
    for version in [b'3', b'6'] {
        let mut bytes = example(1).encode();
        bytes[KIND.len()] = version;
        let message = <Checkpoint>::decode(&bytes).unwrap_err();
        let expected = format!("its format is {}, of another version of octitrate", char::from(version));
        assert!(
            message.contains(&expected) && message.contains("continue with the version that wrote it"),
            "{message}"
        );
    }
    let walkers = Checkpoint { state: vec![state(1)], identity: Identity::default(), written: BTreeMap::new() };
    let message = <Checkpoint>::decode(&walkers.encode()).unwrap_err();
    assert!(message.contains("another kind of run"), "{message}");
}

#[test]
fn a_checkpoint_of_another_run_is_refused_with_the_difference() {
    let checkpoint = example(1);
    let folder = Path::new("run");
    assert!(checkpoint.check_identity(&checkpoint.identity, folder).is_ok());
    type Change<'a> = &'a dyn Fn(&mut Identity, &mut Topology);
    let refused = |change: Change| {
        let (mut topology, mut settings) = (topology(), checkpoint.identity.clone());
        change(&mut settings, &mut topology);
        let now = Identity { settings: settings.settings, ..identity("", &topology, &Structure::default()) };
        checkpoint.check_identity(&now, folder).unwrap_err().to_string()
    };
    let cases: [(Change, &str); 5] = [
        (
            &|identity, _| identity.settings = "[dynamics]\ntime_step = \"1 fs\"\n".into(),
            "dynamics.time_step was \"2 fs\" and is now \"1 fs\"",
        ),
        (&|_, topology| drop(topology.atoms.pop()), "it has 2 atoms, the job has 1"),
        (
            &|_, topology| topology.atoms[1].charge = -0.5,
            "the charge of atom 2 is -0.5 e, the checkpoint has 0.3333333333333333 e",
        ),
        (&|_, topology| topology.atoms[0].mass = 3.0, "the mass of atom 1 is 3 u, the checkpoint has 12.25 u"),
        (&|_, topology| topology.bonds[0].k = 4999.0, "among the 1 bonds are others than in the checkpoint"),
    ];
    for (change, expected) in cases {
        let message = refused(change);
        assert!(message.contains(expected), "{message}");
    }
    let moved = Structure { positions: vec![Vector3::new(0.1, 0.2, 0.3); 2], ..Structure::default() };
    let now = identity(&checkpoint.identity.settings, &topology(), &moved);
    let message = checkpoint.check_identity(&now, folder).unwrap_err().to_string();
    assert!(message.contains("the structure at the start has other positions"), "{message}");
    let message = refused(&|_, topology| topology.bonds.clear());
    assert!(message.contains("the topology has 0 bonds, the checkpoint has 1"), "{message}");
}

#[test]
fn tables_of_one_name_are_told_apart() {
    let settings = |second: &str| {
        format!(
            "[[titration.site]]\nresidue = \"GLU 2\"\n\n[[titration.site]]\nresidue = \"{second}\"\n\n[thermostat]\nseed = 1\n"
        )
    };
    let of = |settings: &str| identity(settings, &topology(), &Structure::default());
    let words = of(&settings("HIS 5")).difference(&of(&settings("HIS 6"))).unwrap();
    assert_eq!(words, "titration.site[2].residue was \"HIS 5\" and is now \"HIS 6\"");
}

/// A table that was shortened after the checkpoint, as by a full disk: the checkpoint before it may still fit.
#[test]
fn a_shortened_table_falls_back_on_the_checkpoint_before() {
    let folder = temp_dir::TempDir::new().unwrap();
    let table = folder.path().join("energy.csv");
    let save = |step, length| {
        let written = BTreeMap::from([("energy.csv".to_string(), Written::from(length))]);
        Checkpoint { written, ..example(step) }.save(folder.path()).unwrap();
    };
    std::fs::write(&table, "time\n0\n1\n").unwrap();
    save(1, 7);
    save(2, 9);
    let load = || <Checkpoint>::load_to_continue(folder.path());
    assert_eq!(load().unwrap().unwrap().checkpoint.state.step, 2);
    std::fs::write(&table, "time\n0\n1").unwrap();
    let found = load().unwrap().unwrap();
    assert_eq!(found.checkpoint.state.step, 1);
    assert!(found.note.unwrap().contains("energy.csv has 8 bytes, and had 9"));
    // A finished run needs its tables no more to be known as finished.
    assert_eq!(<Checkpoint>::load(folder.path()).unwrap().unwrap().checkpoint.state.step, 2);
    std::fs::write(&table, "time\n").unwrap();
    let message = load().unwrap_err().to_string();
    assert!(message.contains("energy.csv has 5 bytes, and had 9"), "{message}");
    // One run of many is begun anew without the others.
    let alone = format!("move {} aside to begin this run anew; --force does that", folder.path().display());
    assert!(message.contains(&alone), "{message}");
}
