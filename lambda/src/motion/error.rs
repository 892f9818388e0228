//! Why λ cannot move: settings out of range, lists of a wrong length, and motion that broke down, with site and step.

use crate::coordinate::Coordinate;
use thiserror::Error;

/// Why λ cannot move.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum DynamicsError {
    /// A setting out of its range.
    #[error("λ dynamics: {name} = {value}, expected {expected}")]
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What is valid.
        expected: &'static str,
    },
    /// A coordinate that a site of so many forms cannot have.
    #[error(
        "λ dynamics: site {site} (counted from 1) has {forms} forms, which the coordinate {coordinate:?} is not for"
    )]
    Forms {
        /// Site, from 1.
        site: usize,
        /// Its forms.
        forms: usize,
        /// Its coordinate.
        coordinate: Coordinate,
    },
    /// A list of a wrong length.
    #[error("λ dynamics: {found} values of {what}, expected {expected}")]
    Length {
        /// Which list.
        what: &'static str,
        /// Its length.
        found: usize,
        /// Length needed.
        expected: usize,
    },
    /// A derivative is not a number.
    #[error("step {step}: ∂V/∂λ of site {site} (counted from 1) is {value} kJ/mol")]
    NotFinite {
        /// Site, from 1.
        site: usize,
        /// Step.
        step: u64,
        /// The derivative by a coordinate.
        value: f64,
    },
    /// A weight left its range.
    #[error(
        "step {step}: λ of site {site} (counted from 1) escaped to {lambda}; the time step is too long or a potential too steep"
    )]
    Escaped {
        /// Site, from 1.
        site: usize,
        /// Step.
        step: u64,
        /// The weight.
        lambda: f64,
    },
    /// The total charge could not be kept.
    #[error(
        "step {step}: the total charge of sites and buffers is {found:e} e off; the time step is too long, or nothing that moves can take up charge"
    )]
    Charge {
        /// Step.
        step: u64,
        /// Deviation, e.
        found: f64,
    },
    /// Weights at the start that do not have the total charge to be kept.
    #[error("the sites and buffers have a charge of {found} e at the start, {expected} e are to be kept")]
    StartCharge {
        /// Charge at the start, e.
        found: f64,
        /// Charge wanted, e.
        expected: f64,
    },
}

/// Whether a list has the length it needs.
pub(crate) fn check_length(what: &'static str, found: usize, expected: usize) -> Result<(), DynamicsError> {
    if found == expected { Ok(()) } else { Err(DynamicsError::Length { what, found, expected }) }
}
