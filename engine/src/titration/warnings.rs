//! What a person should know of the sites of a job before trusting its pKa values.

use super::find::Found;
use forcefield::topology::CHARGE_TOLERANCE;

/// Warns of λ that has another temperature (K) than the atoms, whose thermostat has that of `bath`: heat goes from one to the other all the time.
pub(super) fn two_temperatures(temperature: f64, bath: Option<f64>) -> Option<String> {
    let other = bath.filter(|bath| *bath != temperature)?;
    Some(format!(
        "λ has {temperature} K and the atoms have {other} K: forms are then populated as at neither of them, and pKa values are those of no temperature; \
         remove titration.temperature"
    ))
}

/// Warns of the background that compensates a charge.
pub(super) fn background(found: &[Found<'_>], charge: f64) -> Option<String> {
    let mut range = [charge; 2];
    for one in found {
        let changes = |form: usize| one.site.net_charge(form) - one.site.net_charge(0);
        let (least, most) =
            (1..one.site.forms.len()).map(changes).fold((0.0_f64, 0.0_f64), |(a, b), q| (a.min(q), b.max(q)));
        range = [range[0] + least, range[1] + most];
    }
    let [low, high] = range;
    (high - low > CHARGE_TOLERANCE || low.abs() > CHARGE_TOLERANCE).then(|| {
        format!(
            "the net charge moves between {high:+.2} and {low:+.2} e with λ and is compensated by a uniform background: \
             free energies depend on the size of the box and on what is in it (a protein of low charge density shifts pKa values); \
             titration.compensation = \"buffers\" keeps it neutral"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::two_temperatures;

    /// A run without a thermostat of the atoms has no temperature that could be another one.
    #[test]
    fn one_temperature_is_expected() {
        assert_eq!((two_temperatures(300.0, Some(300.0)), two_temperatures(310.0, None)), (None, None));
        let said = two_temperatures(310.0, Some(300.0)).unwrap();
        assert!(said.starts_with("λ has 310 K and the atoms have 300 K"), "{said}");
    }
}
