//! Ranges and contradictions of the workflows made of many runs.

use super::check::{Check, not_negative, positive, require, whole_steps, wrong};
use super::quantity::Time;
use super::{Config, Jobs, Values};

/// A job is one run, a titration or a calibration.
pub(super) fn workflows(config: &Config) -> Check {
    if config.titrate.is_some() && config.calibrate.is_some() {
        let help = "make two files";
        return Err(wrong("calibrate", "a job is either [titrate] or [calibrate]", help));
    }
    let workflow = match (&config.titrate, &config.calibrate) {
        (Some(_), _) => Some("titrate"),
        (_, Some(_)) => Some("calibrate"),
        _ => None,
    };
    if let Some(name) = workflow {
        let Some(titration) = &config.titration else {
            let help = "add a section [titration]";
            return Err(wrong(name, format!("[{name}] needs titratable sites, and [titration] is missing"), help));
        };
        if titration.ph.is_some() {
            let help = "remove titration.ph";
            return Err(wrong("titration.ph", format!("the pH of each run is set by [{name}]"), help));
        }
        if config.steps() == 0 {
            let help = "set dynamics.duration, the length of one run";
            return Err(wrong("dynamics", format!("[{name}] makes runs, and they have no length"), help));
        }
    }
    titrate(config)?;
    calibrate(config)
}

fn titrate(config: &Config) -> Check {
    let Some(titrate) = &config.titrate else {
        return Ok(());
    };
    numbers("titrate.ph", &titrate.ph, "pH value", 1)?;
    require(titrate.replicas > 0, "titrate.replicas", titrate.replicas, "a whole number, 1 or more")?;
    equilibration(config, "titrate.equilibration", titrate.equilibration)?;
    let Some(exchange) = titrate.exchange else {
        return Ok(());
    };
    positive("titrate.exchange", exchange)?;
    whole_steps("titrate.exchange", exchange, config.dynamics.time_step)?;
    let help = "give more values, or remove titrate.exchange";
    match titrate.ph.to_vec().len() {
        0 | 1 => Err(wrong("titrate.exchange", "one pH value alone has no neighbour to swap with", help)),
        _ => Ok(()),
    }
}

fn calibrate(config: &Config) -> Check {
    let Some(calibrate) = &config.calibrate else {
        return Ok(());
    };
    let needed = match calibrate.degree {
        Jobs::Auto => 2,
        Jobs::Count(degree) => {
            let valid = "a whole number from 1 to 12, or \"auto\"";
            require((1..=12).contains(&degree), "calibrate.degree", degree, valid)?;
            (degree as usize).max(2)
        }
    };
    positive("calibrate.tolerance", calibrate.tolerance)?;
    require(calibrate.interior <= 20, "calibrate.interior", calibrate.interior, "a whole number from 0 to 20")?;
    require((1..=64).contains(&calibrate.runs), "calibrate.runs", calibrate.runs, "a whole number from 1 to 64")?;
    if let Some(round) = calibrate.round {
        positive("calibrate.round", round)?;
        whole_steps("calibrate.round", round, config.dynamics.time_step)?;
        let valid = "a time above calibrate.equilibration";
        require(round.get() > calibrate.equilibration.get(), "calibrate.round", round, valid)?;
    }
    numbers("calibrate.windows", &calibrate.windows, "window", needed)?;
    let outside = calibrate.windows.to_vec().into_iter().find(|lambda| !(-0.2..=1.2).contains(lambda));
    if let Some(lambda) = outside {
        return require(false, "calibrate.windows", lambda, "λ from -0.2 to 1.2");
    }
    equilibration(config, "calibrate.equilibration", calibrate.equilibration)
}

/// At least `needed` finite and different numbers.
fn numbers(key: &str, values: &Values, what: &str, needed: usize) -> Check {
    if let Values::Range(range) = values {
        let finite = range.min.is_finite() && range.max.is_finite() && range.step.is_finite();
        let holds = finite && range.step > 0.0 && range.max >= range.min && (range.max - range.min) / range.step < 1e4;
        let found = format!("min = {}, max = {}, step = {}", range.min, range.max, range.step);
        require(holds, key, found, "min not above max, and a step above zero that gives at most 10000 values")?;
    }
    let mut list = values.to_vec();
    if let Some(bad) = list.iter().find(|value| !value.is_finite()) {
        return require(false, key, bad, "finite numbers");
    }
    let count = list.len();
    if count < needed {
        let found = if count == 0 { "an empty list".to_string() } else { format!("{count} {what}s") };
        let reason = if needed > 1 { " for a polynomial of this degree" } else { "" };
        return Err(wrong(
            key,
            format!("found {found}"),
            format!("at least {needed} {what}{} needed{reason}", if needed == 1 { " is" } else { "s are" }),
        ));
    }
    list.sort_by(f64::total_cmp);
    match list.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(wrong(key, format!("found the {what} {} twice", pair[0]), "give each once")),
        None => Ok(()),
    }
}

fn equilibration(config: &Config, key: &str, time: Time) -> Check {
    not_negative(key, time)?;
    let length = config.steps() as f64 * config.dynamics.time_step.get();
    let length = Time::new((length * 1e9).round() / 1e9);
    require(time.get() < length.get(), key, time, &format!("a time below the length of a run, {length}"))
}
