//! Values with units, written as strings: `"2 fs"`, `"300 K"`, `"1.0 nm"`, `"7.5 kJ/mol"`.
//!
//! A [`Quantity`] is parsed once, when the job file is read, and from then on is a number in the program's internal unit
//! (nm, ps, u, kJ/mol, K; pressure in bar). A bare number is refused: a unit is part of the value. Writing chooses a
//! unit whose text gives back exactly the same `f64`, so that `resolved.toml` reproduces a run bit for bit.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// What a quantity measures: its name, units and an example.
pub trait Dimension {
    /// Name in messages, with its article: `a time`.
    const NAME: &'static str;
    /// Units and their size in the internal unit. The first is the internal unit itself (factor 1).
    const UNITS: &'static [(&'static str, f64)];
    /// A typical value.
    const EXAMPLE: &'static str;
}

/// A number in the internal unit of its dimension.
pub struct Quantity<D> {
    value: f64,
    dimension: PhantomData<D>,
}

/// Dimension of [`Time`].
pub struct TimeDimension;
impl Dimension for TimeDimension {
    const NAME: &'static str = "a time";
    const UNITS: &'static [(&'static str, f64)] =
        &[("ps", 1.0), ("fs", 1e-3), ("ns", 1e3), ("us", 1e6), ("µs", 1e6), ("ms", 1e9)];
    const EXAMPLE: &'static str = "2 fs";
}

/// Dimension of [`WallTime`].
pub struct WallTimeDimension;
impl Dimension for WallTimeDimension {
    const NAME: &'static str = "a time on the clock";
    const UNITS: &'static [(&'static str, f64)] = &[("s", 1.0), ("min", 60.0), ("h", 3600.0)];
    const EXAMPLE: &'static str = "5 min";
}

/// Dimension of [`Length`].
pub struct LengthDimension;
impl Dimension for LengthDimension {
    const NAME: &'static str = "a length";
    const UNITS: &'static [(&'static str, f64)] = &[("nm", 1.0), ("A", 0.1), ("Å", 0.1), ("pm", 1e-3)];
    const EXAMPLE: &'static str = "1.0 nm";
}

/// Dimension of [`Energy`].
pub struct EnergyDimension;
impl Dimension for EnergyDimension {
    const NAME: &'static str = "an energy";
    const UNITS: &'static [(&'static str, f64)] = &[("kJ/mol", 1.0), ("kcal/mol", 4.184)];
    const EXAMPLE: &'static str = "7.5 kJ/mol";
}

/// Dimension of [`Force`].
pub struct ForceDimension;
impl Dimension for ForceDimension {
    const NAME: &'static str = "a force";
    const UNITS: &'static [(&'static str, f64)] = &[("kJ/mol/nm", 1.0), ("kcal/mol/A", 41.84), ("kcal/mol/Å", 41.84)];
    const EXAMPLE: &'static str = "100 kJ/mol/nm";
}

/// Dimension of [`Temperature`].
pub struct TemperatureDimension;
impl Dimension for TemperatureDimension {
    const NAME: &'static str = "a temperature";
    const UNITS: &'static [(&'static str, f64)] = &[("K", 1.0)];
    const EXAMPLE: &'static str = "300 K";
}

/// Dimension of [`Pressure`].
pub struct PressureDimension;
impl Dimension for PressureDimension {
    const NAME: &'static str = "a pressure";
    const UNITS: &'static [(&'static str, f64)] = &[("bar", 1.0), ("atm", 1.01325), ("kPa", 0.01), ("MPa", 10.0)];
    const EXAMPLE: &'static str = "1 bar";
}

/// Dimension of [`Compressibility`].
pub struct CompressibilityDimension;
impl Dimension for CompressibilityDimension {
    const NAME: &'static str = "a compressibility";
    const UNITS: &'static [(&'static str, f64)] = &[("/bar", 1.0), ("1/bar", 1.0), ("bar^-1", 1.0)];
    const EXAMPLE: &'static str = "4.5e-5 /bar";
}

/// Dimension of [`SurfaceTension`].
pub struct SurfaceTensionDimension;
impl Dimension for SurfaceTensionDimension {
    const NAME: &'static str = "a surface tension";
    const UNITS: &'static [(&'static str, f64)] = &[("bar nm", 1.0), ("mN/m", 10.0), ("dyn/cm", 10.0)];
    const EXAMPLE: &'static str = "20 mN/m";
}

/// Dimension of [`Mass`].
pub struct MassDimension;
impl Dimension for MassDimension {
    const NAME: &'static str = "a mass";
    const UNITS: &'static [(&'static str, f64)] = &[("u", 1.0), ("Da", 1.0), ("g/mol", 1.0)];
    const EXAMPLE: &'static str = "3 u";
}

/// Dimension of [`LambdaMass`].
pub struct LambdaMassDimension;
impl Dimension for LambdaMassDimension {
    const NAME: &'static str = "a λ mass";
    const UNITS: &'static [(&'static str, f64)] = &[("u nm^2", 1.0), ("u nm2", 1.0), ("u nm²", 1.0)];
    const EXAMPLE: &'static str = "5 u nm^2";
}

/// Dimension of [`Rate`].
pub struct RateDimension;
impl Dimension for RateDimension {
    const NAME: &'static str = "a rate";
    const UNITS: &'static [(&'static str, f64)] =
        &[("/ns", 1.0), ("1/ns", 1.0), ("ns^-1", 1.0), ("/ps", 1e3), ("/us", 1e-3)];
    const EXAMPLE: &'static str = "20 /ns";
}

/// Dimension of [`Friction`].
pub struct FrictionDimension;
impl Dimension for FrictionDimension {
    const NAME: &'static str = "a friction";
    const UNITS: &'static [(&'static str, f64)] =
        &[("/ps", 1.0), ("1/ps", 1.0), ("ps^-1", 1.0), ("/ns", 1e-3), ("1/ns", 1e-3), ("/fs", 1e3)];
    const EXAMPLE: &'static str = "1 /ps";
}

/// Dimension of [`Stiffness`].
pub struct StiffnessDimension;
impl Dimension for StiffnessDimension {
    const NAME: &'static str = "a stiffness";
    const UNITS: &'static [(&'static str, f64)] =
        &[("kJ/mol/nm^2", 1.0), ("kJ/mol/nm2", 1.0), ("kJ/mol/nm²", 1.0), ("kcal/mol/A^2", 418.4)];
    const EXAMPLE: &'static str = "1000 kJ/mol/nm^2";
}

/// Simulated time (ps).
pub type Time = Quantity<TimeDimension>;
/// Time on the clock (s).
pub type WallTime = Quantity<WallTimeDimension>;
/// Friction (1/ps).
pub type Friction = Quantity<FrictionDimension>;
/// Length (nm).
pub type Length = Quantity<LengthDimension>;
/// Energy (kJ/mol).
pub type Energy = Quantity<EnergyDimension>;
/// Force (kJ/mol/nm).
pub type Force = Quantity<ForceDimension>;
/// Temperature (K).
pub type Temperature = Quantity<TemperatureDimension>;
/// Pressure (bar).
pub type Pressure = Quantity<PressureDimension>;
/// Isothermal compressibility (1/bar).
pub type Compressibility = Quantity<CompressibilityDimension>;
/// Surface tension (bar nm).
pub type SurfaceTension = Quantity<SurfaceTensionDimension>;
/// Mass of an atom (u).
pub type Mass = Quantity<MassDimension>;
/// Mass of a λ coordinate (u nm²).
pub type LambdaMass = Quantity<LambdaMassDimension>;
/// Rate of transitions (1/ns).
pub type Rate = Quantity<RateDimension>;
/// Force constant of a position restraint (kJ/mol/nm²).
pub type Stiffness = Quantity<StiffnessDimension>;

impl<D> Quantity<D> {
    /// A quantity of this many internal units.
    pub const fn new(value: f64) -> Self {
        Quantity { value, dimension: PhantomData }
    }

    /// The number, in the internal unit.
    pub const fn get(&self) -> f64 {
        self.value
    }
}

impl<D: Dimension> Quantity<D> {
    /// Reads a number and a unit separated by optional blanks.
    ///
    /// # Errors
    /// A sentence that says what was found and which units are valid.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let split = number_length(text);
        let (number, unit) = (&text[..split], text[split..].trim());
        let value: f64 = number
            .parse()
            .map_err(|_| format!("found \"{text}\", which does not start with a number; {}", valid::<D>()))?;
        if unit.is_empty() {
            return Err(format!("found \"{text}\" without a unit; {}", valid::<D>()));
        }
        let factor = D::UNITS.iter().find(|(name, _)| *name == unit).map(|&(_, factor)| factor);
        let factor = factor.ok_or_else(|| format!("found the unit \"{unit}\" in \"{text}\"; {}", valid::<D>()))?;
        let value = value * factor;
        if !value.is_finite() {
            return Err(format!("found \"{text}\", which is not a finite number; {}", valid::<D>()));
        }
        Ok(Quantity::new(value))
    }
}

/// Bytes at the start of `text` that make up a number such as `-1.5e-3`.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
    let sign = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let mantissa = sign + digits(sign);
    if matches!(bytes.get(mantissa), Some(b'e' | b'E')) {
        let exponent = mantissa + 1 + usize::from(matches!(bytes.get(mantissa + 1), Some(b'+' | b'-')));
        let length = digits(exponent.min(bytes.len()));
        if length > 0 {
            return exponent + length;
        }
    }
    mantissa
}

/// "valid is a time in ps, fs, … such as \"2 fs\"".
fn valid<D: Dimension>() -> String {
    let units: Vec<&str> = D::UNITS.iter().map(|(name, _)| *name).filter(|name| name.is_ascii()).collect();
    format!("valid is {} in {}, such as \"{}\"", D::NAME, units.join(", "), D::EXAMPLE)
}

impl<D: Dimension> fmt::Display for Quantity<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = |number: &str, unit: &str| {
            Self::parse(&format!("{number} {unit}")).is_ok_and(|back| back.value.to_bits() == self.value.to_bits())
        };
        // The internal unit always gives the number back; another unit must save a character to be worth it.
        // Å is read, but lengths are written in nm.
        let units = D::UNITS.iter().filter(|(unit, _)| unit.is_ascii() && *unit != "A").enumerate();
        let candidates = units.map(|(rank, &(unit, factor))| (rank.min(1), (self.value / factor).to_string(), unit));
        let best = candidates
            .filter(|(_, number, unit)| exact(number, unit))
            .min_by_key(|(rank, number, _)| number.len() + rank);
        let text = match best {
            Some((_, number, unit)) => format!("{number} {unit}"),
            None => format!("{} {}", self.value, D::UNITS[0].0),
        };
        f.write_str(&text)
    }
}

impl<D: Dimension> fmt::Debug for Quantity<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<D> Clone for Quantity<D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for Quantity<D> {}

impl<D> PartialEq for Quantity<D> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<D: Dimension> Serialize for Quantity<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, D: Dimension> Deserialize<'de> for Quantity<D> {
    fn deserialize<T: Deserializer<'de>>(deserializer: T) -> Result<Self, T::Error> {
        deserializer.deserialize_any(QuantityVisitor(PhantomData))
    }
}

struct QuantityVisitor<D>(PhantomData<D>);

impl<D: Dimension> Visitor<'_> for QuantityVisitor<D> {
    type Value = Quantity<D>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} with its unit, such as \"{}\"", D::NAME, D::EXAMPLE)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Quantity::parse(text).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        Err(E::custom(format!("found the number {number} without a unit; {}", valid::<D>())))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
        Err(E::custom(format!("found the number {number} without a unit; {}", valid::<D>())))
    }
}

/// Text of a number and one of the units, which `x-units` lists.
impl<D: Dimension> JsonSchema for Quantity<D> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        D::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = D::UNITS.iter().map(|(name, _)| *name).collect();
        let units = names.join("|").replace('^', r"\^");
        let pattern = format!(r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*({units})\s*$");
        let ascii: Vec<&str> = names.into_iter().filter(|name| name.is_ascii()).collect();
        json_schema!({ "type": "string", "pattern": pattern, "x-quantity": D::NAME, "x-units": ascii, "examples": [D::EXAMPLE] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_become_internal_units() {
        assert_eq!(Time::parse("2 fs").unwrap().get(), 0.002);
        assert_eq!(Time::parse("60ps").unwrap().get(), 60.0);
        assert_eq!(Time::parse(" 1.5e-1  ns ").unwrap().get(), 150.0);
        assert_eq!(Length::parse("10 A").unwrap().get(), 1.0);
        assert_eq!(Energy::parse("1 kcal/mol").unwrap().get(), 4.184);
        assert_eq!(Pressure::parse("-1 bar").unwrap().get(), -1.0);
        assert_eq!(Compressibility::parse("4.5e-5 /bar").unwrap().get(), 4.5e-5);
        assert_eq!(LambdaMass::parse("5 u nm²").unwrap().get(), 5.0);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let message = |text| Time::parse(text).unwrap_err();
        assert!(message("2 nm").contains("found the unit \"nm\" in \"2 nm\""));
        assert!(message("2").contains("without a unit"));
        assert!(message("fs").contains("does not start with a number"));
        assert!(message("1..2 fs").contains("does not start with a number"));
        assert!(message("nan fs").contains("does not start with a number"));
        assert!(message("1e400 fs").contains("not a finite number"));
        assert!(message("").contains("such as \"2 fs\""));
    }

    #[test]
    fn text_gives_back_the_same_bits() {
        for value in [0.002, 0.0005, 1.0 / 3.0, 0.1 + 0.2, 60.0, 1e6, 1e-9, 0.0, -2.5, f64::MIN_POSITIVE] {
            let text = Time::new(value).to_string();
            assert_eq!(Time::parse(&text).unwrap().get().to_bits(), value.to_bits(), "{text}");
        }
        assert_eq!(Time::new(0.002).to_string(), "2 fs");
        assert_eq!(Length::new(1.2).to_string(), "1.2 nm");
        assert_eq!(Length::new(0.1).to_string(), "0.1 nm");
        assert_eq!(Time::new(0.02).to_string(), "20 fs");
        assert_eq!(WallTime::new(300.0).to_string(), "5 min");
    }
}
