//! Small systems with forces or probabilities written out in the plainest way, for the tests of the moving parts.

use forcefield::topology::Settle;
use forcefield::units::COULOMB;
use nalgebra::{Rotation3, Vector3};

use crate::atomic::write_atomic;
use crate::checkpoint::Identity;
use crate::error::Result;
use crate::frame::{Frame, LineIntervals, Quantity, Upto, Wanted};
use crate::motion::constraints::{Constraints, DEFAULT_TOLERANCE};
use crate::propagate::{Propagate, Walker};
use crate::random::{RandomStream, generator, indexed_generator};
use crate::record::{Description, FormRecord, SiteRecord};
use crate::signals::Stop;
use crate::state::{SitesState, State};
use forcefield::Cell;
use lambda::motion::LambdaState;
use rand_distr::{Distribution, StandardNormal, StandardUniform};
use std::path::Path;

const D_OH: f64 = 0.1;
const D_HH: f64 = 0.163_299;
const C6: f64 = 2.617_345_6e-3;
const C12: f64 = 2.634_129e-6;
const CHARGES: [f64; 3] = [-0.82, 0.41, 0.41];

/// A droplet of rigid SPC waters (DOI 10.1007/978-94-015-7658-1_21) in vacuum, without cut-off.
pub struct Droplet {
    /// Positions, nm.
    pub x: Vec<Vector3<f64>>,
    /// Masses, u.
    pub masses: Vec<f64>,
    /// Rigid waters.
    pub constraints: Constraints,
}

impl Droplet {
    /// `side`³ waters on a simple cubic lattice with random orientations.
    pub fn new(side: usize) -> Self {
        let mut rng = generator(1, RandomStream::Velocities, 1);
        let mut normal = || Vector3::from_fn(|_, _| StandardNormal.sample(&mut rng));
        let height = (D_OH * D_OH - 0.25 * D_HH * D_HH).sqrt();
        let mut x = Vec::new();
        for k in 0..side.pow(3) {
            let site = [k % side, k / side % side, k / side / side].map(|i| 0.31 * i as f64);
            let turn = Rotation3::new(2.0 * normal());
            for [a, b] in [[0.0, 0.0], [0.5 * D_HH, height], [-0.5 * D_HH, height]] {
                x.push(Vector3::from(site) + turn * Vector3::new(a, b, 0.0));
            }
        }
        let n = side.pow(3) as u32;
        let masses = [15.9994, 1.008, 1.008].repeat(n as usize);
        let settles: Vec<_> = (0..n).map(|k| water(3 * k)).collect();
        let constraints = Constraints::from_parts(&masses, &[], &settles, DEFAULT_TOLERANCE).unwrap();
        Self { x, masses, constraints }
    }

    /// The same waters with all masses equal, as the minimiser wants them.
    pub fn constraints_with_equal_masses(&self) -> Constraints {
        let n = self.masses.len();
        let settles: Vec<_> = (0..n as u32 / 3).map(|k| water(3 * k)).collect();
        Constraints::from_parts(&vec![1.0; n], &[], &settles, DEFAULT_TOLERANCE).unwrap()
    }
}

fn water(first: u32) -> Settle {
    Settle { oxygen: first, hydrogens: [first + 1, first + 2], d_oh: D_OH, d_hh: D_HH }
}

/// Energy (kJ/mol) of SPC waters at `x`; forces (kJ/mol/nm) replace `f`.
pub fn spc_forces(x: &[Vector3<f64>], f: &mut [Vector3<f64>]) -> f64 {
    f.fill(Vector3::zeros());
    let mut energy = 0.0;
    for i in 0..x.len() {
        for j in (i / 3 + 1) * 3..x.len() {
            let d = x[i] - x[j];
            let r2 = d.norm_squared();
            let coulomb = COULOMB * CHARGES[i % 3] * CHARGES[j % 3] / r2.sqrt();
            let mut pair = coulomb;
            let mut push = coulomb / r2;
            if i % 3 == 0 && j % 3 == 0 {
                let r6 = r2.powi(-3);
                pair += (C12 * r6 - C6) * r6;
                push += (12.0 * C12 * r6 - 6.0 * C6) * r6 / r2;
            }
            energy += pair;
            f[i] += push * d;
            f[j] -= push * d;
        }
    }
    energy
}

/// Soft spheres V = ε (1 − r²/c²)⁴ for r < c, nearest images: energy and the virial along each axis (kJ/mol); forces replace `f`.
pub fn soft_sphere_forces(cell: &Cell, x: &[Vector3<f64>], f: &mut [Vector3<f64>]) -> (f64, Vector3<f64>) {
    const EPSILON: f64 = 20.0;
    const RANGE2: f64 = 0.25;
    f.fill(Vector3::zeros());
    let (mut energy, mut virial) = (0.0, Vector3::zeros());
    for i in 0..x.len() {
        for j in i + 1..x.len() {
            let d = cell.minimum_image(x[i] - x[j]);
            let r2 = d.norm_squared();
            if r2 < RANGE2 {
                let s = 1.0 - r2 / RANGE2;
                let push = 8.0 * EPSILON * s.powi(3) / RANGE2;
                energy += EPSILON * s.powi(4);
                virial += push * d.component_mul(&d);
                f[i] += push * d;
                f[j] -= push * d;
            }
        }
    }
    (energy, virial)
}

/// Mean and variance of a series.
pub fn mean_and_variance(series: &[f64]) -> (f64, f64) {
    let n = series.len() as f64;
    let mean = series.iter().sum::<f64>() / n;
    (mean, series.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / n)
}

/// Slope of a series against its index (least squares).
pub fn slope(series: &[f64]) -> f64 {
    let middle = 0.5 * (series.len() as f64 - 1.0);
    let (mut up, mut down) = (0.0, 0.0);
    for (k, s) in series.iter().enumerate() {
        let t = k as f64 - middle;
        up += t * s;
        down += t * t;
    }
    up / down
}

/// What a test has done at a step.
pub type Hook = Box<dyn FnMut(u64) -> Result<()> + Send>;

/// Lines that a device keeps until somebody waits for them.
const HELD_BACK: usize = 4;

/// Two sites that are protonated or not, and feel each other: the simplest titration that can be solved exactly.
///
///   p(x) ∝ 10^{Σ_s x_s (pH − pK_s) − w x_0 x_1},   x_s = 1: deprotonated
///
/// Each step draws each site anew with probability 0.1, from its conditional probability: slow enough that swaps of pH matter.
pub struct Coupled {
    /// pK of each site alone.
    pub pk: [f64; 2],
    /// Interaction of two deprotonated sites, pK units.
    pub coupling: f64,
    /// pH.
    pub ph: f64,
    /// Seed.
    pub seed: u64,
    /// Whether it keeps lines of λ as a device does: that of a step is known when the step is made.
    pub keeps: bool,
    /// Asks to stop at this step.
    pub stop_at: Option<(u64, Stop)>,
    /// What it has to say.
    pub notices: Vec<String>,
    /// What it does when it is prepared.
    pub at_start: Option<Hook>,
    /// What it does after each step.
    pub after_step: Option<Hook>,
    step: u64,
    state: [bool; 2],
    kept: LineIntervals,
    next: Option<u64>,
    lines: Vec<Frame<'static>>,
}

impl Coupled {
    /// Sites as in the tests of replica exchange, both protonated.
    pub fn new(ph: f64, seed: u64) -> Self {
        Self {
            pk: [3.8, 4.6],
            coupling: 0.7,
            ph,
            seed,
            keeps: false,
            stop_at: None,
            notices: Vec::new(),
            at_start: None,
            after_step: None,
            step: 0,
            state: [false; 2],
            kept: LineIntervals::default(),
            next: None,
            lines: Vec::new(),
        }
    }

    fn exponent(&self, state: [bool; 2]) -> f64 {
        let x = state.map(|lost| f64::from(u8::from(lost)));
        x[0] * (self.ph - self.pk[0]) + x[1] * (self.ph - self.pk[1]) - self.coupling * x[0] * x[1]
    }

    /// Probability of each state at a pH: none, the first, the second, both deprotonated.
    pub fn probabilities(&self, ph: f64) -> [f64; 4] {
        let here = Self { pk: self.pk, coupling: self.coupling, ..Self::new(ph, 0) };
        let p = [[false, false], [true, false], [false, true], [true, true]].map(|x| 10f64.powf(here.exponent(x)));
        p.map(|one| one / p.iter().sum::<f64>())
    }

    fn line(&self) -> Frame<'static> {
        Frame {
            step: self.step,
            time: self.step as f64 * 0.002,
            energies: Vec::new(),
            lambda: self.x().to_vec(),
            dvdl: vec![0.0; 2],
            walker: None,
            positions: &[],
            velocities: &[],
            forces: &[],
            cell: Cell::Open,
        }
    }

    fn keep_line(&mut self) {
        if self.next == Some(self.step) {
            self.lines.push(self.line());
            self.next = self.kept.lambda_from(self.step + 1);
        }
    }

    fn x(&self) -> [f64; 2] {
        self.state.map(|lost| f64::from(u8::from(lost)))
    }
}

impl Propagate for Coupled {
    fn describe(&self) -> Description {
        let form = |name: &str, protons_lost| FormRecord { name: name.into(), protons_lost, ..FormRecord::default() };
        let site = |name: &str| SiteRecord {
            name: name.into(),
            forms: vec![form("protonated", 0), form("deprotonated", 1)],
            ..SiteRecord::default()
        };
        Description { sites: vec![site("A 1"), site("B 2")], temperature: 300.0, ..Description::default() }
    }

    fn step(&self) -> u64 {
        self.step
    }

    fn notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    fn pace(&self) -> u64 {
        2
    }

    fn advance(&mut self, steps: u64) -> Result<()> {
        for _ in 0..steps {
            self.keep_line();
            for site in 0..2 {
                let [mut on, mut off] = [self.state; 2];
                (on[site], off[site]) = (true, false);
                let odds = 10f64.powf(self.exponent(on) - self.exponent(off));
                let mut rng = indexed_generator(self.seed, RandomStream::Thermostat, self.step, site as u64);
                let [anew, chance]: [f64; 2] = StandardUniform.sample(&mut rng);
                if anew < 0.1 {
                    self.state[site] = chance * (1.0 + odds) < odds;
                }
            }
            self.step += 1;
            if let Some((step, stop)) = &self.stop_at
                && self.step == *step
            {
                stop.request();
            }
            let step = self.step;
            self.after_step.as_mut().map_or(Ok(()), |hook| hook(step))?;
        }
        Ok(())
    }

    fn frame(&mut self, _: Wanted) -> Result<Frame<'_>> {
        let energy = Quantity { name: "potential", unit: "kJ/mol", value: -self.exponent(self.state) };
        Ok(Frame { energies: vec![energy], ..self.line() })
    }

    fn keep(&mut self, lines: LineIntervals, continued: bool) -> Result<LineIntervals> {
        self.kept = LineIntervals { lambda: lines.lambda.filter(|_| self.keeps), ..LineIntervals::default() };
        self.next = self.kept.lambda_from(self.step + u64::from(continued));
        Ok(self.kept)
    }

    fn lines(&mut self, upto: Upto) -> Result<Vec<Frame<'static>>> {
        if upto == Upto::Present {
            self.keep_line();
        }
        if upto == Upto::AtHand && self.lines.len() < HELD_BACK {
            return Ok(Vec::new());
        }
        Ok(std::mem::take(&mut self.lines))
    }

    fn state(&mut self) -> Result<State> {
        let lambda = LambdaState { coordinates: self.x().to_vec(), ..LambdaState::default() };
        let sites = SitesState { lambda, ph: Some(self.ph), ..SitesState::default() };
        Ok(State { step: self.step, sites, ..State::default() })
    }

    fn restore(&mut self, state: &State) -> Result<()> {
        self.step = state.step;
        let x = &state.sites.lambda.coordinates;
        self.state = [x[0] > 0.5, x[1] > 0.5];
        Ok(())
    }

    fn identity(&self) -> Identity {
        Identity::default()
    }

    fn prepare(&mut self, _: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        self.at_start.as_mut().map_or(Ok(()), |hook| hook(0))
    }

    fn trajectory_atoms(&self) -> Option<&[u32]> {
        None
    }

    fn write_structure(&mut self, path: &Path, _: Option<&[u32]>) -> Result<()> {
        write_atomic(path, "write", format!("{:?}\n", self.state).as_bytes())
    }
}

impl Walker for Coupled {
    fn ph_energy(&mut self, ph: f64) -> Result<f64> {
        let [a, b] = self.x();
        Ok(-std::f64::consts::LN_10 * ph * (a + b))
    }

    fn set_ph(&mut self, ph: f64) -> Result<()> {
        self.ph = ph;
        Ok(())
    }
}
