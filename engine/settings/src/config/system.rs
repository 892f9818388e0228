//! Section `[system]`: structure and topology of what is simulated.

use super::check::{Check, exists, make_absolute, not_negative, require};
use super::quantity::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// `[system]`: what is simulated.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Structure, a GROMACS `.gro` file with positions, a periodic box (three or nine numbers) and perhaps velocities. The path is relative to the job file.
    pub structure: PathBuf,
    /// Topology, a GROMACS `.top` file or a system of OpenMM, `.xml`, as `XmlSerializer.serialize(system)` writes it. A system has no names: those of
    /// the structure count. Titratable residues must be built with all their protons. The path is relative to the job file.
    pub topology: PathBuf,
    /// Trajectory, `.trr` or `.xtc`, one frame of which takes the place of the positions, the velocities (`.trr`) and the box of the
    /// structure, whose names stay. The run is a new one that starts there: its time is zero, λ starts as the job says, position
    /// restraints hold the positions of this frame, and a charge buffer is chosen for them. A frame in a `.gro` file is named as `structure`,
    /// velocities included. The path is relative to the job file.
    #[schemars(extend("x-absent" = "positions, velocities and box of the structure"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<PathBuf>,
    /// Time of that frame in its file (ps), to half the last digit that the file keeps.
    #[schemars(extend("x-absent" = "the last frame with positions"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame_time: Option<Time>,
    /// Folders that are searched for files that the topology includes, after the folder of the including file. Name the folder above
    /// `amber99sb-ildn.ff` here if the topology includes a force field that lies elsewhere. The paths are relative to the job file.
    #[serde(default)]
    pub include: Vec<PathBuf>,
    /// Names that the preprocessor of the topology takes as defined, such as `"POSRES"` or `"NAME=value"`; `"-DPOSRES"`, as GROMACS has them, is
    /// the same.
    #[serde(default)]
    pub define: Vec<String>,
}

impl System {
    /// Makes the paths absolute; they are relative to `folder`.
    pub(super) fn make_absolute(&mut self, folder: &Path) {
        let paths = [&mut self.structure, &mut self.topology];
        paths.into_iter().chain(&mut self.frame).chain(&mut self.include).for_each(|path| make_absolute(folder, path));
    }

    /// Writes names for the preprocessor without `-D` and blanks, and refuses what is none.
    pub(super) fn resolve(&mut self) -> Check {
        for (index, define) in self.define.iter_mut().enumerate() {
            let text = define.trim();
            let text = text.strip_prefix("-D").unwrap_or(text).trim();
            let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
            let name = name.trim();
            let valid =
                "one name for the preprocessor, \"POSRES\" or \"NAME=value\"; several are several entries of the list";
            let holds = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c == '-');
            require(holds, &format!("system.define.{index}"), format!("\"{define}\""), valid)?;
            *define = value.map_or(name.to_string(), |value| format!("{name}={}", value.trim()));
        }
        Ok(())
    }

    /// Takes positions, velocities and box from another structure, whatever frame was named.
    pub fn begin_at(&mut self, structure: PathBuf) {
        self.structure = structure;
        (self.frame, self.frame_time) = (None, None);
    }

    /// Whether the topology is a system that OpenMM serialised, by the name of its file.
    pub fn has_system_xml(&self) -> bool {
        self.topology.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("xml"))
    }

    /// Checks that the files exist.
    pub(super) fn check(&self) -> Check {
        exists("system.structure", &self.structure, "a GROMACS structure, .gro")?;
        exists("system.topology", &self.topology, "a GROMACS topology, .top, or a system of OpenMM, .xml")?;
        if let Some(frame) = &self.frame {
            exists("system.frame", frame, "a trajectory, .trr or .xtc")?;
        }
        if let Some(time) = self.frame_time {
            not_negative("system.frame_time", time)?;
            let valid = "system.frame beside it, the trajectory that has a frame at this time";
            require(self.frame.is_some(), "system.frame_time", time, valid)?;
        }
        Ok(())
    }
}
