//! What the command line asks of the fast multipole method: settings for a tolerance, or an order with the fastest tree.

use crate::cli::arguments::{Accuracy, ToleranceOf};
use bytemuck::Pod;
use fmm::accuracy::{self, Tolerance, Tuned};
use fmm::device::tune_on;
use fmm::{Settings, TreeShape, Workload};
use kernels::Real;
use kernels::device::Device;
use octitrate::charges::{Precision, System, not_tuned};
use octitrate::config::Depth;
use octitrate::error::Result;
use serde_json::{Value, json};

/// Settings of the fast multipole method, and how they were found.
pub struct ChosenSettings {
    pub settings: Settings,
    pub near_boxes: usize,
    /// Trials that led to them, if there is a tolerance.
    pub tuned: Option<Tuned>,
}

impl ChosenSettings {
    /// The settings for `n` charges as JSON.
    pub fn description(&self, precision: Precision, n: usize) -> Value {
        let Settings { order, tree, separation } = self.settings;
        let precision = if precision == Precision::F32 { "f32" } else { "f64" };
        json!({
            "particles": n, "order": order, "root": tree.root, "depth": tree.depth, "separation": separation,
            "near_boxes": self.near_boxes, "precision": precision,
        })
    }

    /// The settings for `n` charges in words.
    pub fn sentence(&self, n: usize) -> String {
        let Settings { order, tree: fmm::TreeShape { root: [a, b, c], depth }, separation } = self.settings;
        let near = self.near_boxes;
        format!(
            "{n} charges, order {order}, root grid {a} × {b} × {c}, depth {depth}, separation {separation} ({near} near boxes)"
        )
    }
}

/// What the command line asks of the method.
pub struct Wanted<'a> {
    /// A tolerance, or order, tree and separation.
    pub accuracy: &'a Accuracy,
    /// What the tolerance is an error of.
    pub of: ToleranceOf,
    /// Arithmetic of the pair work.
    pub precision: Precision,
    /// Order unless the command line gives one, or a tolerance.
    pub default_order: u32,
}

impl Wanted<'_> {
    /// Settings for the tolerance, checked, or the order with the fastest tree, of the CPU or of `device`, unless one is named.
    ///
    /// # Errors
    /// [`octitrate::error::Error::Input`] if the tolerance is out of reach or the method refuses the system.
    pub fn choose(&self, system: &System, device: Option<&Device>) -> Result<ChosenSettings> {
        match self.precision {
            Precision::F32 => self.choose_in::<f32>(system, device),
            Precision::F64 => self.choose_in::<f64>(system, device),
        }
    }

    fn choose_in<T: Real + Pod>(&self, system: &System, device: Option<&Device>) -> Result<ChosenSettings> {
        let workload = Workload::new(&system.boundary, &system.positions, system.minimum_leaf);
        if let Some(tolerance) = self.accuracy.tolerance {
            let tolerance = match self.of {
                ToleranceOf::Force => Tolerance::Force(tolerance),
                ToleranceOf::Energy => Tolerance::Energy(tolerance),
                ToleranceOf::AbsoluteEnergy => Tolerance::AbsoluteEnergy(tolerance),
            };
            let (boundary, x, q, skipped) = (&system.boundary, &system.positions, &system.charges, &system.exclusions);
            let tuned = match device {
                None => accuracy::tune::<T>(boundary, x, q, skipped, system.minimum_leaf, tolerance),
                Some(device) => tune_on::<T>(device, boundary, x, q, skipped, system.minimum_leaf, tolerance),
            };
            let tuned = tuned.map_err(not_tuned)?;
            let settings = tuned.settings;
            return Ok(ChosenSettings { settings, near_boxes: workload.near_boxes(&settings), tuned: Some(tuned) });
        }
        let order = self.accuracy.order.unwrap_or(self.default_order) as usize;
        let separation = self.accuracy.separation.unwrap_or(Settings::TOUCHING);
        let tree = match (self.accuracy.root, self.accuracy.depth) {
            (Some(root), Some(Depth::Number(depth))) => TreeShape { root: root.0, depth: depth as usize },
            (Some(root), _) => TreeShape { root: root.0, depth: 0 },
            (None, Some(Depth::Number(depth))) => TreeShape::near_cubic(workload.edges, depth as usize),
            (None, _) => match device {
                None => TreeShape::auto::<T>(order, separation, &workload),
                Some(device) => TreeShape::auto_on::<T>(device, order, separation, &workload),
            },
        };
        let settings = Settings { order, tree, separation };
        Ok(ChosenSettings { settings, near_boxes: workload.near_boxes(&settings), tuned: None })
    }
}
