//! Columns of one line of a section: counting, numbers, atoms, parameters with an optional second state.

use super::error::{TopologyError, TopologyProblem};
use super::source::{Location, SourceLine};

/// Parameters of one interaction, state A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Parameters {
    values: [f64; 6],
    n: usize,
}

impl Parameters {
    /// Exactly N values; the reader guarantees the count.
    pub fn get<const N: usize>(&self) -> [f64; N] {
        assert_eq!(self.n, N, "invariant: parameter count checked when read");
        std::array::from_fn(|i| self.values[i])
    }
}

/// The columns of a line.
pub(super) struct Fields<'a> {
    pub section: &'static str,
    pub at: &'a Location,
    words: Vec<&'a str>,
}

impl<'a> Fields<'a> {
    pub fn new(section: &'static str, line: &'a SourceLine) -> Self {
        Self { section, at: &line.at, words: line.text.split_whitespace().collect() }
    }

    pub fn len(&self) -> usize {
        self.words.len()
    }

    pub fn error(&self, problem: TopologyProblem) -> TopologyError {
        self.at.error(problem)
    }

    /// Error unless there are at least `n` columns.
    pub fn at_least(&self, n: usize, expected: &'static str) -> Result<(), TopologyError> {
        if self.words.len() < n { Err(self.columns(expected)) } else { Ok(()) }
    }

    /// Error that the number of columns is wrong.
    pub fn columns(&self, expected: &'static str) -> TopologyError {
        self.error(TopologyProblem::Columns { section: self.section, found: self.words.len(), expected })
    }

    pub fn word(&self, column: usize) -> &'a str {
        self.words[column]
    }

    pub fn words(&self) -> &[&'a str] {
        &self.words
    }

    fn not_a_number(&self, column: usize, expected: &'static str) -> TopologyError {
        let found = self.words[column].to_string();
        self.error(TopologyProblem::NotANumber { section: self.section, column: column + 1, expected, found })
    }

    pub fn int(&self, column: usize) -> Result<i64, TopologyError> {
        self.words[column].parse().map_err(|_| self.not_a_number(column, "an integer"))
    }

    /// A finite number.
    pub fn real(&self, column: usize) -> Result<f64, TopologyError> {
        match self.words[column].parse::<f64>() {
            Ok(v) if v.is_finite() => Ok(v),
            _ => Err(self.not_a_number(column, "a finite number")),
        }
    }

    pub fn out_of_range(&self, what: &'static str, found: impl ToString, expected: &'static str) -> TopologyError {
        let found = found.to_string();
        self.error(TopologyProblem::OutOfRange { section: self.section, what, found, expected })
    }

    /// Function type in `column`, 1 where the line ends before it; must be one of `valid`.
    pub fn function(&self, column: usize, valid: &[u8], supported: &'static str) -> Result<u8, TopologyError> {
        let Some(found) = self.words.get(column) else { return Ok(1) };
        match found.parse::<u8>() {
            Ok(f) if valid.contains(&f) => Ok(f),
            _ => {
                let found = found.to_string();
                Err(self.error(TopologyProblem::UnsupportedFunction { section: self.section, found, supported }))
            }
        }
    }

    /// The columns from `column` on: none, `n` parameters, or `n` and the same `n` for state B.
    pub fn parameters(&self, column: usize, function: u8, n: usize) -> Result<Option<Parameters>, TopologyError> {
        let found = self.words.len().saturating_sub(column);
        if found == 0 {
            return Ok(None);
        }
        for i in 0..found {
            self.real(column + i)?;
        }
        if found != n && found != 2 * n {
            let expected = format!("{n}, or {n} more for an identical state B");
            return Err(self.error(TopologyProblem::ParameterCount {
                section: self.section,
                function,
                found,
                expected,
            }));
        }
        let mut values = [0.0; 6];
        for (i, value) in values.iter_mut().enumerate().take(n) {
            *value = self.real(column + i)?;
        }
        for i in n..found {
            if self.real(column + i)? != values[i - n] {
                return Err(self.error(TopologyProblem::PerturbedState { section: self.section }));
            }
        }
        Ok(Some(Parameters { values, n }))
    }
}
