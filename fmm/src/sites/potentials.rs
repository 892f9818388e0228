//! Results for a site: potentials and fields that its own charges make on it.

/// Potentials and fields of a group: one list per charge vector, in the order of the group's particles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupPotentials {
    /// φ^v_k.
    pub potential: Vec<Vec<f64>>,
    /// E^v_k = −∇φ^v_k.
    pub field: Vec<Vec<[f64; 3]>>,
}
