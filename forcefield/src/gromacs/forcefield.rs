//! The force-field part of a topology: defaults, atom types, and parameters by type.
//!
//! Lennard-Jones of two types after the combination rule of `[ defaults ]`, with (V, W) the two columns of a type:
//! 1: c6 = √(c6ᵢ c6ⱼ), c12 = √(c12ᵢ c12ⱼ);   2: σ = (σᵢ + σⱼ)/2, ε = √(εᵢ εⱼ);   3: σ = √(σᵢ σⱼ), ε = √(εᵢ εⱼ);
//! with c6 = 4 ε σ⁶, c12 = 4 ε σ¹². A negative σ stands for |σ| with c6 = 0. Lines of `[ nonbond_params ]` replace the rule.
//! 1-4 pairs take `[ pairtypes ]`, else (gen-pairs yes) the values above with c6 and c12 times fudgeLJ.

use std::collections::HashMap;

use super::dihedral_types::{DihedralKind, DihedralTypes};
use super::error::{TopologyError, TopologyProblem};
use super::fields::{Fields, Parameters};
use super::source::{Location, SourceLine};
use crate::topology::CmapGrid;

/// `[ defaults ]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Defaults {
    pub combination_rule: u8,
    pub generate_pairs: bool,
    pub fudge_lj: f64,
    pub fudge_qq: f64,
}

/// One line of `[ atomtypes ]`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TypeLine {
    pub name: String,
    pub bonded: u32,
    pub atomic_number: Option<u8>,
    pub mass: f64,
    pub charge: f64,
    pub kind: String,
    /// c6, c12 (rule 1) or σ, ε (rules 2, 3).
    pub v: f64,
    pub w: f64,
}

/// Parameters for interactions of N atoms by function and types; both directions are the same key.
#[derive(Debug)]
pub(super) struct TypeTable<const N: usize> {
    entries: HashMap<(u8, [u32; N]), (Parameters, Location)>,
}

impl<const N: usize> Default for TypeTable<N> {
    fn default() -> Self {
        Self { entries: HashMap::new() }
    }
}

impl<const N: usize> TypeTable<N> {
    pub fn get(&self, function: u8, types: [u32; N]) -> Option<Parameters> {
        self.entries.get(&(function, undirected(types))).map(|e| e.0)
    }

    fn insert(&mut self, function: u8, types: [u32; N], p: Parameters, fields: &Fields) -> Result<(), TopologyError> {
        let (old, first) = self.entries.entry((function, undirected(types))).or_insert_with(|| (p, fields.at.clone()));
        if *old == p {
            return Ok(());
        }
        let what = format!("[ {} ] {}", fields.section, fields.words()[..N].join(" "));
        Err(fields.error(TopologyProblem::Redefined { what, first: first.to_string() }))
    }
}

fn undirected<const N: usize>(types: [u32; N]) -> [u32; N] {
    let mut reversed = types;
    reversed.reverse();
    types.min(reversed)
}

/// Everything known by type.
#[derive(Debug, Default)]
pub(super) struct ForceField {
    pub defaults: Option<Defaults>,
    pub types: Vec<TypeLine>,
    type_places: Vec<Location>,
    type_index: HashMap<String, u32>,
    pub bonded_names: Vec<String>,
    bonded_index: HashMap<String, u32>,
    pub bonds: TypeTable<2>,
    pub constraints: TypeTable<2>,
    pub angles: TypeTable<3>,
    pub dihedrals: DihedralTypes,
    pub pairs: TypeTable<2>,
    nonbonded: TypeTable<2>,
    pub cmap_grids: Vec<CmapGrid>,
    cmap_index: HashMap<[u32; 5], (u32, Location)>,
}

impl ForceField {
    pub fn read_defaults(&mut self, line: &SourceLine) -> Result<(), TopologyError> {
        let f = Fields::new("defaults", line);
        if self.defaults.is_some() {
            return Err(f.error(TopologyProblem::MisplacedSection {
                section: "defaults",
                reason: "a topology has one line of defaults, and one was read before",
            }));
        }
        if !(2..=6).contains(&f.len()) {
            return Err(f.columns("nbfunc comb-rule [gen-pairs [fudgeLJ [fudgeQQ [n]]]]"));
        }
        let unsupported = |what, column: usize, supported| {
            f.error(TopologyProblem::UnsupportedValue { what, found: f.word(column).into(), supported })
        };
        if f.int(0)? != 1 {
            return Err(unsupported("non-bonded function", 0, "1 (Lennard-Jones)"));
        }
        let combination_rule = match f.int(1)? {
            r @ 1..=3 => r as u8,
            _ => {
                return Err(unsupported(
                    "combination rule",
                    1,
                    "1 (geometric c6, c12), 2 (Lorentz–Berthelot), 3 (geometric σ, ε)",
                ));
            }
        };
        let generate_pairs = match f.words().get(2) {
            None => false,
            Some(w) if w.eq_ignore_ascii_case("yes") => true,
            Some(w) if w.eq_ignore_ascii_case("no") => false,
            Some(_) => return Err(unsupported("gen-pairs", 2, "yes, no")),
        };
        let factor = |column| if f.len() > column { f.real(column) } else { Ok(1.0) };
        if f.len() > 5 && f.real(5)? != 12.0 {
            return Err(unsupported("repulsion power", 5, "12"));
        }
        let (fudge_lj, fudge_qq) = (factor(3)?, factor(4)?);
        self.defaults = Some(Defaults { combination_rule, generate_pairs, fudge_lj, fudge_qq });
        Ok(())
    }

    /// `name [bonded type] [atomic number] mass charge kind V W`: the kind letter tells which columns are there.
    pub fn read_atom_type(&mut self, line: &SourceLine) -> Result<(), TopologyError> {
        let f = Fields::new("atomtypes", line);
        let expected = "name [bonded-type] [atomic-number] mass charge particle-kind V W";
        f.at_least(6, expected)?;
        let letter = |c: usize| f.words().get(c).is_some_and(|w| w.len() == 1 && w.as_bytes()[0].is_ascii_alphabetic());
        let (has_bonded, has_number) = if letter(5) {
            (true, true)
        } else if letter(3) {
            (false, false)
        } else if letter(4) {
            let bonded = f.word(1).starts_with(|c: char| c.is_ascii_alphabetic());
            (bonded, !bonded)
        } else {
            return Err(f.columns(expected));
        };
        let mass_column = 1 + usize::from(has_bonded) + usize::from(has_number);
        if f.len() != mass_column + 5 {
            return Err(f.columns(expected));
        }
        let name = f.word(0).to_string();
        let bonded_name = if has_bonded { f.word(1) } else { f.word(0) };
        let next = self.bonded_names.len() as u32;
        let bonded = *self.bonded_index.entry(bonded_name.to_string()).or_insert(next);
        if bonded == next {
            self.bonded_names.push(bonded_name.to_string());
        }
        let number = if has_number { f.int(mass_column - 1)? } else { -1 };
        let new = TypeLine {
            name: name.clone(),
            bonded,
            atomic_number: u8::try_from(number).ok().filter(|n| *n > 0),
            mass: f.real(mass_column)?,
            charge: f.real(mass_column + 1)?,
            kind: f.word(mass_column + 2).to_string(),
            v: f.real(mass_column + 3)?,
            w: f.real(mass_column + 4)?,
        };
        if new.w < 0.0 {
            return Err(f.out_of_range("second Lennard-Jones column", new.w, "zero or positive"));
        }
        if self.rule() == 1 && new.v < 0.0 {
            return Err(f.out_of_range("c6", new.v, "zero or positive, because combination rule 1 takes its root"));
        }
        if let Some(&old) = self.type_index.get(&name) {
            if self.types[old as usize] == new {
                return Ok(());
            }
            let first = self.type_places[old as usize].to_string();
            return Err(f.error(TopologyProblem::Redefined { what: format!("atom type '{name}'"), first }));
        }
        self.type_index.insert(name, self.types.len() as u32);
        self.types.push(new);
        self.type_places.push(f.at.clone());
        Ok(())
    }

    pub fn atom_type(&self, name: &str, f: &Fields) -> Result<u32, TopologyError> {
        self.type_index.get(name).copied().ok_or_else(|| {
            f.error(TopologyProblem::Unknown { what: "atom type", name: name.into(), hint: " in [ atomtypes ]".into() })
        })
    }

    fn bonded_type(&self, name: &str, f: &Fields) -> Result<u32, TopologyError> {
        self.bonded_index.get(name).copied().ok_or_else(|| {
            let hint = " in [ atomtypes ]".to_string();
            f.error(TopologyProblem::Unknown { what: "bonded atom type", name: name.into(), hint })
        })
    }

    fn bonded_types<const N: usize>(&self, f: &Fields) -> Result<[u32; N], TopologyError> {
        let mut types = [0; N];
        for (i, t) in types.iter_mut().enumerate() {
            *t = self.bonded_type(f.word(i), f)?;
        }
        Ok(types)
    }

    pub fn read_bond_type(&mut self, line: &SourceLine) -> Result<(), TopologyError> {
        let f = Fields::new("bondtypes", line);
        f.at_least(5, "type type function b0 k")?;
        let function = f.function(2, &[1, 6], super::BONDS)?;
        let p = required(&f, 3, function, 2)?;
        self.bonds.insert(function, self.bonded_types(&f)?, p, &f)
    }

    pub fn read_constraint_type(&mut self, line: &SourceLine) -> Result<(), TopologyError> {
        let f = Fields::new("constrainttypes", line);
        f.at_least(4, "type type function length")?;
        let function = f.function(2, &[1, 2], super::CONSTRAINTS)?;
        let p = required(&f, 3, function, 1)?;
        self.constraints.insert(function, self.bonded_types(&f)?, p, &f)
    }

    pub fn read_angle_type(&mut self, line: &SourceLine) -> Result<(), TopologyError> {
        let f = Fields::new("angletypes", line);
        f.at_least(6, "type type type function parameters")?;
        let function = f.function(3, &[1, 5], super::ANGLES)?;
        let p = required(&f, 4, function, if function == 1 { 2 } else { 4 })?;
        self.angles.insert(function, self.bonded_types(&f)?, p, &f)
    }

    /// Four types, or two: the middle ones (outer ones for function 2), with X as wildcard.
    pub fn read_dihedral_type(&mut self, line: &SourceLine) -> Result<(), TopologyError> {
        let f = Fields::new("dihedraltypes", line);
        f.at_least(5, "type type [type type] function parameters")?;
        let is_function = |c: usize| f.words().get(c).is_some_and(|w| w.len() == 1 && w.as_bytes()[0].is_ascii_digit());
        let n = if is_function(2) { 2 } else { 4 };
        let function = f.function(n, &[1, 2, 3, 4, 5, 9], super::DIHEDRALS)?;
        let names = match n {
            4 => [f.word(0), f.word(1), f.word(2), f.word(3)],
            _ if function == 2 => [f.word(0), "X", "X", f.word(1)],
            _ => ["X", f.word(0), f.word(1), "X"],
        };
        let mut types = [None; 4];
        for (t, name) in types.iter_mut().zip(names) {
            *t = if name == "X" { None } else { Some(self.bonded_type(name, &f)?) };
        }
        let kind = DihedralKind::of(function);
        let p = required(&f, n + 1, function, kind.n_parameters())?;
        kind.check(&p, &f)?;
        self.dihedrals.insert(kind, function == 9, types, p, &names.join(" "), &f)
    }

    pub fn read_pair_type(&mut self, line: &SourceLine, section: &'static str) -> Result<(), TopologyError> {
        let f = Fields::new(section, line);
        f.at_least(5, "type type function V W")?;
        let function = f.function(2, &[1], super::PAIRS)?;
        let p = required(&f, 3, function, 2)?;
        let types = [self.atom_type(f.word(0), &f)?, self.atom_type(f.word(1), &f)?];
        match section {
            "pairtypes" => self.pairs.insert(function, types, p, &f),
            _ => self.nonbonded.insert(function, types, p, &f),
        }
    }

    /// Five types, function 1, grid size twice, then all values.
    pub fn read_cmap_type(&mut self, line: &SourceLine) -> Result<(), TopologyError> {
        let f = Fields::new("cmaptypes", line);
        f.at_least(9, "type type type type type function n n and n × n values")?;
        f.function(5, &[1], super::CMAPS)?;
        let (rows, columns) = (f.int(6)?, f.int(7)?);
        if rows != columns || !(3..=360).contains(&rows) {
            return Err(f.out_of_range("grid size", format!("{rows} × {columns}"), "n × n with n from 3 to 360"));
        }
        let size = rows as usize;
        let found = f.len() - 8;
        if found != size * size {
            let expected = format!("{size} × {size} = {}", size * size);
            return Err(f.error(TopologyProblem::ParameterCount { section: f.section, function: 1, found, expected }));
        }
        let values = (8..f.len()).map(|c| f.real(c)).collect::<Result<Vec<_>, _>>()?;
        let grid = CmapGrid { size, values };
        let types = self.bonded_types::<5>(&f)?;
        if let Some((old, first)) = self.cmap_index.get(&types) {
            if self.cmap_grids[*old as usize] == grid {
                return Ok(());
            }
            let what = format!("[ cmaptypes ] {}", f.words()[..5].join(" "));
            return Err(f.error(TopologyProblem::Redefined { what, first: first.to_string() }));
        }
        self.cmap_index.insert(types, (self.cmap_grids.len() as u32, f.at.clone()));
        self.cmap_grids.push(grid);
        Ok(())
    }

    /// Grid of five atom types (given as bonded types), in this order only.
    pub fn cmap(&self, types: [u32; 5]) -> Option<u32> {
        self.cmap_index.get(&types).map(|e| e.0)
    }

    /// (c6, c12) from two columns of a pair line.
    pub fn lennard_jones(&self, [v, w]: [f64; 2]) -> (f64, f64) {
        if self.rule() == 1 {
            return (v, w);
        }
        let s6 = v.abs().powi(6);
        (if v < 0.0 { 0.0 } else { 4.0 * w * s6 }, 4.0 * w * s6 * s6)
    }

    fn rule(&self) -> u8 {
        self.defaults.map_or(1, |d| d.combination_rule)
    }

    /// The two columns of types `i`, `j`: `[ nonbond_params ]`, else the combination rule.
    pub fn combine(&self, i: u32, j: u32) -> [f64; 2] {
        if let Some(p) = self.nonbonded.get(1, [i, j]) {
            return p.get();
        }
        let (a, b) = (&self.types[i as usize], &self.types[j as usize]);
        let w = (a.w * b.w).sqrt();
        let sign = if a.v < 0.0 || b.v < 0.0 { -1.0 } else { 1.0 };
        match self.rule() {
            1 => [(a.v * b.v).sqrt(), w],
            2 => [sign * 0.5 * (a.v.abs() + b.v.abs()), w],
            _ => [sign * (a.v * b.v).abs().sqrt(), w],
        }
    }

    /// Parameters of a 1-4 pair of types `i`, `j` without its own: (c6, c12), or `None` if there are none.
    pub fn pair(&self, i: u32, j: u32) -> Option<(f64, f64)> {
        if let Some(p) = self.pairs.get(1, [i, j]) {
            return Some(self.lennard_jones(p.get()));
        }
        let defaults = self.defaults.filter(|d| d.generate_pairs)?;
        let (c6, c12) = self.lennard_jones(self.combine(i, j));
        Some((defaults.fudge_lj * c6, defaults.fudge_lj * c12))
    }
}

fn required(f: &Fields, column: usize, function: u8, n: usize) -> Result<Parameters, TopologyError> {
    f.parameters(column, function, n)?.ok_or_else(|| {
        let expected = n.to_string();
        f.error(TopologyProblem::ParameterCount { section: f.section, function, found: 0, expected })
    })
}
