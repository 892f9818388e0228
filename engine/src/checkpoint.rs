//! Checkpoints: everything a run needs to go on exactly where it was.
//!
//! Layout: the line `octitrate checkpoint 2`, one line of JSON (step, owner, names and lengths of the arrays, lengths of
//! the output files), the arrays as little-endian `f64`, and 8 bytes of FNV-1a over all before. A checkpoint is written
//! to a temporary file, synced and renamed; the one before it stays as `checkpoint.previous`. On continuation the output
//! files are cut to the recorded lengths, so that a run in pieces leaves the same bytes as a run in one.

use crate::atomic::write_atomic;
use crate::error::{Error, InputError, Result};
use nalgebra::Vector3;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Name of the newest checkpoint in the folder of a run.
pub const FILE: &str = "checkpoint";
/// Name of the one before it.
pub const PREVIOUS: &str = "checkpoint.previous";

const HEADING: &str = "octitrate checkpoint 2\n";

/// State of a simulation between two steps. Random numbers are keyed by seed and step, so that neither is stored here
/// beyond the step itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    /// Steps done.
    pub step: u64,
    /// Positions (nm).
    pub positions: Vec<Vector3<f64>>,
    /// Velocities half a step before the positions (nm/ps).
    pub velocities: Vec<Vector3<f64>>,
    /// Edges of the box (nm); `None`: open.
    pub edges: Option<Vector3<f64>>,
    /// Coordinates ξ of all sites, one site after the other.
    pub lambda: Vec<f64>,
    /// Their velocities (1/ps).
    pub lambda_velocities: Vec<f64>,
    /// Anything else, by name: heat taken by thermostats, positions at the last list rebuild, …
    pub extra: BTreeMap<String, Vec<f64>>,
}

/// A state with the run it belongs to.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// The state.
    pub state: State,
    /// Digest of job and system, see [`Owner`].
    pub owner: Owner,
    /// Length in bytes of each output file at this step, by name.
    pub lengths: BTreeMap<String, u64>,
}

/// What a checkpoint belongs to. Two runs with equal owners may share a checkpoint; the number of steps and the output
/// intervals are not part of it, so that a finished run can be made longer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The settings that shape the trajectory, as TOML.
    pub settings: String,
    /// FNV-1a of the topology, given by the simulation.
    pub topology: u64,
    /// Number of atoms.
    pub atoms: usize,
    /// Number of sites.
    pub sites: usize,
}

#[derive(Serialize, Deserialize)]
struct Header {
    step: u64,
    owner: Owner,
    arrays: Vec<(String, usize)>,
    lengths: BTreeMap<String, u64>,
}

/// FNV-1a, 64 bits: the digest of checkpoints and topologies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Digest(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// The digest of all bytes so far.
    pub fn value(self) -> u64 {
        self.0
    }
}

impl Checkpoint {
    /// The file as bytes.
    fn encode(&self) -> Vec<u8> {
        let state = &self.state;
        let flat = |vectors: &[Vector3<f64>]| -> Vec<f64> { vectors.iter().flatten().copied().collect() };
        let edges = state.edges.map(|edges| edges.iter().copied().collect::<Vec<f64>>());
        let mut arrays = vec![
            ("positions".to_string(), flat(&state.positions)),
            ("velocities".to_string(), flat(&state.velocities)),
            ("edges".to_string(), edges.unwrap_or_default()),
            ("lambda".to_string(), state.lambda.clone()),
            ("lambda_velocities".to_string(), state.lambda_velocities.clone()),
        ];
        arrays.extend(state.extra.iter().map(|(name, values)| (format!("extra.{name}"), values.clone())));
        let header = Header {
            step: state.step,
            owner: self.owner.clone(),
            arrays: arrays.iter().map(|(name, values)| (name.clone(), values.len())).collect(),
            lengths: self.lengths.clone(),
        };
        let mut bytes = HEADING.as_bytes().to_vec();
        bytes.extend(serde_json::to_vec(&header).expect("invariant: the header has only texts and numbers"));
        bytes.push(b'\n');
        for value in arrays.iter().flat_map(|(_, values)| values) {
            bytes.extend(value.to_le_bytes());
        }
        let mut digest = Digest::default();
        digest.add(&bytes);
        bytes.extend(digest.value().to_le_bytes());
        bytes
    }

    /// Reads what [`Checkpoint::encode`] wrote; the error says what is wrong with the bytes.
    fn decode(bytes: &[u8]) -> std::result::Result<Checkpoint, String> {
        let heading = HEADING.as_bytes();
        let kind = HEADING.trim_end().rsplit_once(' ').map_or("", |(kind, _)| kind);
        if !bytes.starts_with(heading) {
            let other = bytes.starts_with(kind.as_bytes());
            let message =
                if other { "it was written by another version of octitrate" } else { "it is not a checkpoint" };
            return Err(message.into());
        }
        let damaged = || "it is damaged: its checksum does not fit its content".to_string();
        let (content, sum) = bytes.split_last_chunk::<8>().ok_or_else(damaged)?;
        let mut digest = Digest::default();
        digest.add(content);
        if digest.value() != u64::from_le_bytes(*sum) {
            return Err(damaged());
        }
        let body = content.get(heading.len()..).ok_or_else(damaged)?;
        let end = body.iter().position(|&byte| byte == b'\n').ok_or_else(damaged)?;
        let header: Header = serde_json::from_slice(&body[..end]).map_err(|_| damaged())?;
        let (chunks, rest) = body[end + 1..].as_chunks::<8>();
        let total: usize = header.arrays.iter().map(|(_, length)| length).sum();
        if !rest.is_empty() || chunks.len() != total {
            return Err(damaged());
        }
        let mut values = chunks.iter().map(|chunk| f64::from_le_bytes(*chunk));
        let mut arrays: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for (name, length) in &header.arrays {
            arrays.insert(name.clone(), values.by_ref().take(*length).collect());
        }
        let mut take = |name: &str| arrays.remove(name).unwrap_or_default();
        let vectors = |flat: Vec<f64>| flat.as_chunks::<3>().0.iter().map(|&[x, y, z]| Vector3::new(x, y, z)).collect();
        let positions = vectors(take("positions"));
        let velocities = vectors(take("velocities"));
        let edges: Vec<Vector3<f64>> = vectors(take("edges"));
        let (lambda, lambda_velocities) = (take("lambda"), take("lambda_velocities"));
        let rest = arrays.into_iter();
        let extra =
            rest.filter_map(|(name, values)| Some((name.strip_prefix("extra.")?.to_string(), values))).collect();
        let edges = edges.first().copied();
        let state = State { step: header.step, positions, velocities, edges, lambda, lambda_velocities, extra };
        Ok(Checkpoint { state, owner: header.owner, lengths: header.lengths })
    }

    /// Writes the checkpoint of a run; the one before stays as [`PREVIOUS`].
    ///
    /// # Errors
    /// [`Error::File`]; the checkpoint before is then still there.
    pub fn save(&self, folder: &Path) -> Result<()> {
        let newest = folder.join(FILE);
        let previous = folder.join(PREVIOUS);
        let fresh = folder.join("checkpoint.new");
        write_atomic(&fresh, "write the checkpoint", &self.encode())?;
        if newest.exists() {
            std::fs::rename(&newest, &previous)
                .map_err(|e| Error::file(&previous, "keep the previous checkpoint", e))?;
        }
        std::fs::rename(&fresh, &newest).map_err(|e| Error::file(&newest, "write the checkpoint", e))
    }

    /// Reads the newest good checkpoint of a run: `None` if there is none; a note if the newest was damaged or missing
    /// and the one before was taken.
    ///
    /// # Errors
    /// [`Error::Input`] if there are checkpoints and none of them is good.
    pub fn load(folder: &Path) -> Result<Option<(Checkpoint, Option<String>)>> {
        let mut note: Option<String> = None;
        for name in [FILE, PREVIOUS] {
            let path = folder.join(name);
            let bytes = match std::fs::read(&path) {
                Ok(bytes) => bytes,
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
                Err(e) => return Err(Error::file(&path, "read the checkpoint", e)),
            };
            match Checkpoint::decode(&bytes) {
                Ok(checkpoint) => return Ok(Some((checkpoint, note))),
                Err(reason) => note = Some(note.unwrap_or(format!("{} was not used: {reason}", path.display()))),
            }
        }
        match note {
            None => Ok(None),
            Some(note) => {
                let help = "remove the folder to start again";
                Err(InputError::new(format!("no checkpoint is usable; {note}"), help).in_file(folder).into())
            }
        }
    }

    /// Refuses a checkpoint of another run.
    ///
    /// # Errors
    /// [`Error::Input`] that names the first difference.
    pub fn check_owner(&self, owner: &Owner, folder: &Path) -> Result<()> {
        if self.owner == *owner {
            return Ok(());
        }
        let (theirs, ours) = (&self.owner, owner);
        let difference = if theirs.atoms != ours.atoms {
            format!("it has {} atoms, the job has {}", theirs.atoms, ours.atoms)
        } else if theirs.sites != ours.sites {
            format!("it has {} titratable sites, the job has {}", theirs.sites, ours.sites)
        } else if theirs.settings != ours.settings {
            differing_line(&theirs.settings, &ours.settings)
        } else {
            "the topology differs in charges, masses or parameters".to_string()
        };
        let message = format!("the checkpoint belongs to another run: {difference}");
        let help = "choose another output.folder, or remove this one to start again";
        Err(InputError::new(message, help).in_file(&folder.join(FILE)).into())
    }
}

/// The first line of two TOML texts that is not in both, with its section.
fn differing_line(theirs: &str, ours: &str) -> String {
    let keyed = |text: &str| {
        let mut section = String::new();
        let mut lines = BTreeMap::new();
        for line in text.lines() {
            if let Some(header) = line.strip_prefix('[') {
                section = format!("{}.", header.trim_matches(['[', ']']));
            } else if let Some((key, value)) = line.split_once(" = ") {
                lines.insert(format!("{section}{key}"), value.to_string());
            }
        }
        lines
    };
    let (theirs, ours) = (keyed(theirs), keyed(ours));
    let keys = theirs.keys().chain(ours.keys());
    let absent = "absent".to_string();
    for key in keys {
        let (before, now) = (theirs.get(key).unwrap_or(&absent), ours.get(key).unwrap_or(&absent));
        if before != now {
            return format!("{key} was {before} and is now {now}");
        }
    }
    "its settings differ".to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(step: u64) -> Checkpoint {
        let state = State {
            step,
            positions: vec![Vector3::new(0.1, -0.0, 1.0 / 3.0), Vector3::new(f64::MIN_POSITIVE, 2.0, 3.0)],
            velocities: vec![Vector3::new(1.0, 2.0, 3.0); 2],
            edges: Some(Vector3::new(3.0, 3.0, 4.0)),
            lambda: vec![0.25],
            lambda_velocities: vec![-1.5],
            extra: BTreeMap::from([("heat".to_string(), vec![1e-300, f64::MAX])]),
        };
        let owner = Owner { settings: "[dynamics]\ntime_step = \"2 fs\"\n".into(), topology: 7, atoms: 2, sites: 1 };
        Checkpoint { state, owner, lengths: BTreeMap::from([("energy.csv".to_string(), 123)]) }
    }

    #[test]
    fn every_bit_comes_back() {
        let checkpoint = example(17);
        assert_eq!(Checkpoint::decode(&checkpoint.encode()).unwrap(), checkpoint);
        // −0 compares equal to 0: its sign must survive as well.
        let back = Checkpoint::decode(&checkpoint.encode()).unwrap();
        assert!(back.state.positions[0].y.is_sign_negative());
    }

    #[test]
    fn any_cut_and_any_flipped_bit_is_noticed() {
        let bytes = example(17).encode();
        for length in 0..bytes.len() {
            assert!(Checkpoint::decode(&bytes[..length]).is_err(), "cut to {length} of {}", bytes.len());
        }
        for bit in 0..8 * bytes.len() {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(Checkpoint::decode(&flipped).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_damaged_checkpoint_falls_back_on_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Checkpoint::load(folder.path()).unwrap().is_none());
        example(1).save(folder.path()).unwrap();
        example(2).save(folder.path()).unwrap();
        let (newest, note) = Checkpoint::load(folder.path()).unwrap().unwrap();
        assert_eq!((newest.state.step, note), (2, None));

        let path = folder.path().join(FILE);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        let (before, note) = Checkpoint::load(folder.path()).unwrap().unwrap();
        assert_eq!(before.state.step, 1);
        assert!(note.unwrap().contains("damaged"));

        std::fs::write(folder.path().join(PREVIOUS), "rubbish").unwrap();
        let message = Checkpoint::load(folder.path()).unwrap_err().to_string();
        assert!(message.contains("no checkpoint is usable") && message.contains("damaged"), "{message}");
    }

    #[test]
    fn another_version_is_named() {
        let mut bytes = example(1).encode();
        bytes[HEADING.len() - 2] = b'9';
        assert!(Checkpoint::decode(&bytes).unwrap_err().contains("another version"));
    }

    #[test]
    fn a_checkpoint_of_another_run_is_refused_with_the_difference() {
        let checkpoint = example(1);
        let folder = Path::new("run");
        assert!(checkpoint.check_owner(&checkpoint.owner, folder).is_ok());
        let mut owner = checkpoint.owner.clone();
        owner.settings = "[dynamics]\ntime_step = \"1 fs\"\n".into();
        let message = checkpoint.check_owner(&owner, folder).unwrap_err().to_string();
        assert!(message.contains("dynamics.time_step was \"2 fs\" and is now \"1 fs\""), "{message}");
        owner.atoms = 3;
        let message = checkpoint.check_owner(&owner, folder).unwrap_err().to_string();
        assert!(message.contains("it has 2 atoms, the job has 3"), "{message}");
    }
}
