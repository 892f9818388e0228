//! Where the motion has waited for lists, and why.

use forcefield::Topology;

/// Lists that did not serve until the next ones were due.
#[derive(Clone, Debug, PartialEq)]
pub struct Wait {
    /// The step at which new ones were made.
    pub step: u64,
    /// The atom that had gone too far, and how far, nm. None if it was the box that had shrunk too much.
    pub atom: Option<(usize, f64)>,
}

impl Wait {
    /// For the log.
    pub fn describe(&self, topology: &Topology) -> String {
        let step = self.step;
        let why = match self.atom {
            Some((atom, distance)) => {
                let label = topology.label(atom as u32);
                format!(
                    "{label} had gone {distance:.2} nm since the neighbour lists were made, farther than thermal motion goes"
                )
            }
            None => "the box had shrunk too much for the neighbour lists".into(),
        };
        format!("step {step}: {why}; new ones were made there")
    }
}
