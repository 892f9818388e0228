//! When lists and boxes are made anew on a GPU, how long the buffer of the list is for it, and how far atoms may go in between.
//!
//! Lists and boxes serve for a fixed time each, counted from step 0, so that a run repeats and continues to the last bit whoever looks at it.
//!
//! The buffer of the list follows from a tolerance on the drift of the energy ([`ListDrift`]): pairs may come within the cut-off unseen as long as
//! all of them together matter as little as that. No single atom decides. 40 fs are where the costs are flat: a list takes as long as one step,
//! two of CHARMM's, which is a tenth or a fifth of 10 steps; at 60 fs the longer buffer costs in every step what rarer lists save.
//!
//! Boxes of the FMM serve for as long as accuracy allows. An atom that leaves its box keeps its near pairs and its excluded ones, which are exact
//! wherever it is; expansions converge more slowly. With boxes of 0.52 nm, a protein in water at 300 K, the relative error of the forces is
//!
//! | age of the boxes (fs) | 0 | 10 | 20 | 40 | 80 | 160 |
//! |---|---|---|---|---|---|---|
//! | order 10, 33 near boxes | 5.3e-5 | 5.5e-5 | 6.5e-5 | 8.5e-5 | 1.3e-4 | 4.7e-4 |
//! | order 8, 27 near boxes | 4.0e-4 | 4.2e-4 | 4.7e-4 | 5.8e-4 | 7.9e-4 | 1.7e-3 |
//!
//! (`octitrate-benchmarks lists`). At 40 fs it is still within what a user of order 8 asks for, and the drift of the energy is that of boxes made
//! twice as often (benchmarks/gpu.md, "Lists and boxes as they grow old"): new boxes bring a jump of the energy each time, old ones a larger one more seldom.

use crate::backend::terms::modifier;
use crate::config::Config;
use crate::motion::constraints::mobility::mobilities;
use crate::motion::device::ListLimits;
use crate::motion::leapfrog::kinetic_energy;
use crate::system::{System, start_temperature};
use forcefield::Cell;
use forcefield::lennard_jones::{ListDrift, fits_on_device};
use forcefield::units::GAS_CONSTANT;
use forcefield::variants::strongest;

/// Longest time that lists serve, ps.
const LIST_TIME: f64 = 0.04;

/// Longest time that boxes serve, ps.
const BOX_TIME: f64 = 0.04;

/// Most steps that anything serves, however short they are: graphs hold as many.
const MOST_STEPS: u64 = 50;

/// Buffer without periodic boundaries (nm), where nothing moves.
const OPEN_BUFFER: f64 = 0.1;

/// Temperature of a system of which nothing is known, K.
const ROOM: f64 = 300.0;

/// Lowest temperature that lists are made for, K: what starts colder warms up.
const COLDEST: f64 = 100.0;

/// By how much a barostat may shorten the edges of a box for which a list still has to fit.
const SHRINKS: f64 = 1.02;

/// Part of the buffer that a box may use up by shrinking under its list.
const SHRUNK_BUFFER: f64 = 0.05;

/// Least shrinking that is allowed, a part of all lengths.
const SHRUNK: f64 = 1e-3;

/// The times of lists and boxes, and what follows from them.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Steps that lists serve, counted from step 0.
    pub lists: u64,
    /// The same of boxes; one of the two numbers is a multiple of the other.
    pub boxes: u64,
    /// Buffer of the list, nm.
    pub buffer: f64,
    /// How far atoms may go.
    pub limits: ListLimits,
}

impl Schedule {
    /// For a system in `cell`.
    pub fn new(system: &System, cell: Cell) -> Self {
        let (config, dt) = (&system.config, system.plan.dt);
        let (own, cutoff) = (&config.neighbour_list, config.van_der_waals.cutoff.get());
        let mobilities = mobilities(&system.topology, &system.masses);
        let rt = GAS_CONSTANT * temperature(system);
        let time = own.interval.map_or(LIST_TIME, |time| time.get());
        // Times and steps are decimal texts: their ratio is whole to rounding or not at all.
        let within = |time: f64| ((time / dt + 1e-6) as u64).clamp(1, MOST_STEPS);
        let boxes = within(BOX_TIME);
        let given = own.buffer.map(|buffer| buffer.get());
        let (lists, buffer) = match cell.volume() {
            Some(volume) => {
                let modifier = modifier(&config.van_der_waals);
                let variants = system.sites.as_ref().map_or(&[][..], |sites| &sites.variants);
                let changing = variants.iter().any(|variants| !variants.types.is_empty());
                let strongest = changing.then(|| strongest(&system.topology, variants));
                let topology = strongest.as_ref().unwrap_or(&system.topology);
                let drift = ListDrift::new(topology, &mobilities, rt, volume, cutoff, modifier);
                let room = if system.barostat.is_some() { SHRINKS } else { 1.0 };
                let serves = |steps: u64| {
                    let time = steps as f64 * dt;
                    match given {
                        Some(buffer) => (drift.drift(buffer, time) <= own.tolerance).then_some(buffer),
                        None => drift.buffer(time, own.tolerance).filter(|b| fits_on_device(cell, room * (cutoff + b))),
                    }
                };
                let whole = |steps: &u64| *steps < boxes || steps.is_multiple_of(boxes);
                let longest = (1..=within(time)).rev().filter(whole).find_map(|steps| Some((steps, serves(steps)?)));
                // A list that does not serve for one step is made in every step; a buffer that does not fit is then refused.
                longest.unwrap_or_else(|| (1, given.or_else(|| drift.buffer(dt, own.tolerance)).unwrap_or(OPEN_BUFFER)))
            }
            None => (boxes, given.unwrap_or(OPEN_BUFFER)),
        };
        let boxes = if lists < boxes { boxes - boxes % lists } else { boxes };
        let farthest = mobilities.iter().map(|m| m.farthest(rt, lists as f64 * dt)).collect();
        let least_scale = 1.0 - (SHRUNK_BUFFER * buffer / (cutoff + buffer)).max(SHRUNK);
        Self { lists, boxes, buffer, limits: ListLimits { farthest, least_scale } }
    }

    /// Steps between two of either: they are recorded together.
    pub fn batch(&self) -> u64 {
        self.lists.min(self.boxes)
    }

    /// In words.
    pub fn describe(&self, config: &Config) -> String {
        let every = |steps: u64| if steps == 1 { "every step".into() } else { format!("every {steps} steps") };
        let (lists, boxes, buffer, cutoff) =
            (every(self.lists), every(self.boxes), self.buffer, config.van_der_waals.cutoff);
        format!("{lists}, of the pairs within {cutoff} and a buffer of {buffer:.3} nm; boxes {boxes}")
    }
}

/// The highest temperature that is known of the system when it starts, K.
fn temperature(system: &System) -> f64 {
    let wanted = start_temperature(&system.config);
    let found = system.start_velocities.as_ref().map(|velocities| {
        2.0 * kinetic_energy(velocities, &system.masses) / (system.degrees_of_freedom as f64 * GAS_CONSTANT)
    });
    let bath = system.config.thermostat.as_ref().map(|t| t.temperature.get());
    [wanted, found, bath].into_iter().flatten().reduce(f64::max).unwrap_or(ROOM).max(COLDEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};

    fn schedule(system: &str, sections: &str) -> Schedule {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("inputs").join(system);
        let path = path.display();
        let text = format!("[system]\nstructure = \"{path}.gro\"\ntopology = \"{path}.top\"\n{sections}");
        let config = Config::parse(&text, Path::new("schedule.toml")).unwrap();
        let (system, state) = System::new(&config).unwrap();
        Schedule::new(&system, state.cell)
    }

    const BATH: &str = "[thermostat]\ntemperature = \"300 K\"\n";

    #[test]
    fn lists_serve_for_a_time_and_not_for_a_number_of_steps() {
        let of = |step: &str| schedule("03-water/water", &format!("[dynamics]\ntime_step = \"{step}\"\n{BATH}"));
        let (two, one) = (of("2 fs"), of("1 fs"));
        assert_eq!([&two, &one].map(|s| (s.lists, s.boxes)), [(20, 20), (40, 40)]);
        assert!((two.buffer - one.buffer).abs() < 1e-12 && (0.06..0.1).contains(&two.buffer), "{}", two.buffer);
        // Oxygens, then hydrogens, which may turn about them.
        assert!((two.limits.farthest[0] - 0.4 * (GAS_CONSTANT * 300.0 / 16.0).sqrt()).abs() < 1e-3);
        assert!(two.limits.farthest[1] > two.limits.farthest[0]);
        assert!(two.limits.least_scale < 1.0 && two.limits.least_scale > 0.99);
    }

    #[test]
    fn the_buffer_follows_tolerance_and_temperature_and_the_interval_a_buffer_that_is_given() {
        let of = |lists: &str| schedule("03-water/water", &format!("[neighbour_list]\n{lists}\n{BATH}"));
        let normal = of("");
        assert!(of("tolerance = 1e-4").buffer < 0.8 * normal.buffer);
        let short = of("interval = \"20 fs\"");
        assert_eq!((short.lists, short.boxes, short.batch()), (10, 20, 10));
        // One is always a multiple of the other.
        let odd = of("interval = \"14 fs\"");
        assert_eq!((odd.lists, odd.boxes, odd.batch()), (7, 14, 7));
        let long = of("interval = \"90 fs\"");
        assert_eq!((long.lists, long.boxes, long.batch()), (40, 20, 20));
        assert!(long.buffer > normal.buffer);
        assert!(short.buffer < 0.7 * normal.buffer);
        let hot = schedule("03-water/water", "[thermostat]\ntemperature = \"600 K\"\n");
        assert!(hot.buffer > 1.3 * normal.buffer);
        let given = of("buffer = \"0.05 nm\"");
        assert!(given.buffer == 0.05 && (8..20).contains(&given.lists), "{given:?}");
        assert_eq!(of("buffer = \"0 nm\"").lists, 1);
        assert_eq!(of("buffer = \"0.3 nm\"").lists, 20);
        // A box of 3.3 nm has no room for more than 1.648 nm.
        let tight = schedule(
            "03-water/water",
            &format!("[van_der_waals]\ncutoff = \"1.54 nm\"\n[neighbour_list]\ntolerance = 1e-20\n{BATH}"),
        );
        assert!(tight.lists < 20 && 1.54 + tight.buffer <= 1.6484, "{} {}", tight.lists, tight.buffer);
    }

    #[test]
    fn hydrogens_with_lennard_jones_need_a_longer_buffer_and_heavy_ones_a_shorter() {
        let of = |more: &str| {
            schedule("13-hirustasin/hirustasin", &format!("[dynamics]\nconstraints = \"h-bonds\"\n{more}{BATH}")).buffer
        };
        let (light, heavy) = (of(""), of("hydrogen_mass = \"3 u\"\n"));
        assert!(light > schedule("03-water/water", BATH).buffer && light < 0.2, "{light}");
        assert!(heavy < light, "{heavy} {light}");
    }
}
