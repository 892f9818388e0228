//! Ranges and contradictions of λ-dynamics and of the workflows made of many runs.

use super::check::{Check, not_negative, require, wrong};
use super::quantity::Time;
use super::titration::INITIAL_LAMBDA;
use super::{Config, Values};

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
    equilibration(config, "titrate.equilibration", titrate.equilibration)
}

fn calibrate(config: &Config) -> Check {
    let Some(calibrate) = &config.calibrate else {
        return Ok(());
    };
    let needed = calibrate.degree as usize + 1;
    require((1..=12).contains(&calibrate.degree), "calibrate.degree", calibrate.degree, "a whole number from 1 to 12")?;
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

/// The sites that are asked for.
pub(super) fn sites(config: &mut Config) -> Check {
    let Some(titration) = &mut config.titration else {
        return Ok(());
    };
    for (index, site) in titration.sites.iter_mut().enumerate() {
        let key = |name: &str| format!("titration.site.{index}.{name}");
        residue(&key("residue"), &mut site.residue)?;
        if site.fixed.is_some() && site.initial.is_some() {
            let help = "give one of the two";
            return Err(wrong(&key("fixed"), "both `initial` and `fixed` are given", help));
        }
        if let Some(lambda) = site.initial {
            require((-0.1..=1.1).contains(&lambda), &key("initial"), lambda, "λ from -0.1 to 1.1")?;
        }
        if let Some(lambda) = site.fixed {
            require((-0.2..=1.2).contains(&lambda), &key("fixed"), lambda, "λ from -0.2 to 1.2")?;
        }
        if site.fixed.is_none() {
            site.initial.get_or_insert(INITIAL_LAMBDA);
        }
    }
    let moving = titration.sites.is_empty() || titration.sites.iter().any(|site| site.fixed.is_none());
    if moving && titration.ph.is_none() && config.titrate.is_none() && config.calibrate.is_none() {
        let help = "set titration.ph, or add [titrate] for many pH values";
        return Err(wrong("titration.ph", "sites move, but there is no pH", help));
    }
    Ok(())
}

/// `"GLU 2"` or `"GLU"`, blanks made single.
fn residue(key: &str, text: &mut String) -> Check {
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = |word: &str| word.parse::<i32>().is_ok();
    let valid = match words[..] {
        [name] => !number(name),
        [name, last] => !number(name) && number(last),
        _ => false,
    };
    require(
        valid,
        key,
        format!("\"{text}\""),
        "a residue name with its number, \"GLU 2\", or a name alone for all of them, \"GLU\"",
    )?;
    *text = words.join(" ");
    Ok(())
}
