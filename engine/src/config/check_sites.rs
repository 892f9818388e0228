//! Ranges and contradictions of λ-dynamics: motion, barriers, sites and charge buffers.

use super::check::{Check, not_negative, positive, require, whole_steps, wrong};
use super::{Barrier, Boundary, Config, Jobs, PhTerm, Start};

/// Section `[titration]`.
pub(super) fn sites(config: &mut Config) -> Check {
    let step = config.dynamics.time_step;
    let Some(titration) = &mut config.titration else {
        return Ok(());
    };
    positive("titration.mass", titration.mass)?;
    positive("titration.coupling_time", titration.coupling_time)?;
    if let Some(temperature) = titration.temperature {
        positive("titration.temperature", temperature)?;
    }
    if let Some(ph) = titration.ph {
        require(ph.is_finite(), "titration.ph", ph, "a finite number")?;
    }
    barrier("titration.barrier", &titration.barrier, step)?;
    for (index, site) in titration.sites.iter_mut().enumerate() {
        let key = |name: &str| format!("titration.site.{index}.{name}");
        residue(&key("residue"), &mut site.residue)?;
        if site.fixed.is_some() && site.initial.is_some() {
            let help = "give one of the two";
            return Err(wrong(&key("fixed"), "both `initial` and `fixed` are given", help));
        }
        start(&key("initial"), site.initial.as_ref(), 0.1)?;
        start(&key("fixed"), site.fixed.as_ref(), 0.2)?;
        if let Some(height) = &site.barrier {
            if site.fixed.is_some() {
                return Err(wrong(&key("barrier"), "a site that is held fixed has no barrier", "remove it"));
            }
            barrier(&key("barrier"), height, step)?;
        }
    }
    buffer(config)?;
    moving(config)
}

/// `"5 kJ/mol"`, or `{ rate = "20 /ns", start = …, during = … }`.
fn barrier(key: &str, barrier: &Barrier, step: super::quantity::Time) -> Check {
    match barrier {
        Barrier::Height(height) => not_negative(key, *height),
        Barrier::Adapting(adapting) => {
            positive(&format!("{key}.rate"), adapting.rate)?;
            not_negative(&format!("{key}.start"), adapting.start)?;
            positive(&format!("{key}.during"), adapting.during)?;
            whole_steps(&format!("{key}.during"), adapting.during, step).map(|_| ())
        }
    }
}

/// λ at most `beyond` outside of [0, 1]; weights likewise, with the sum one.
fn start(key: &str, start: Option<&Start>, beyond: f64) -> Check {
    let range = -beyond..=1.0 + beyond;
    match start {
        Some(Start::Lambda(lambda)) => {
            let valid = format!("λ from {} to {}", -beyond, 1.0 + beyond);
            require(range.contains(lambda), key, lambda, &valid)
        }
        Some(Start::Weights(weights)) => {
            let sum: f64 = weights.iter().sum();
            let valid = format!("two or more weights from {} to {} whose sum is 1", -beyond, 1.0 + beyond);
            let holds = weights.len() >= 2 && weights.iter().all(|w| range.contains(w)) && (sum - 1.0).abs() < 1e-6;
            require(holds, key, format!("{weights:?}, with the sum {sum}"), &valid)
        }
        Some(Start::Form(_)) | None => Ok(()),
    }
}

fn buffer(config: &Config) -> Check {
    let Some(buffer) = config.titration.as_ref().and_then(|titration| titration.buffer.as_ref()) else {
        return Ok(());
    };
    if config.electrostatics.boundary == Boundary::Open {
        let help = "remove [titration.buffer], or set electrostatics.boundary = \"periodic\"";
        return Err(wrong("titration.buffer", "an open system needs no charge buffer", help));
    }
    positive("titration.buffer.distance", buffer.distance)?;
    not_negative("titration.buffer.restrain", buffer.restrain)?;
    let name = &buffer.residue;
    let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
    require(is_name, "titration.buffer.residue", format!("\"{name}\""), "the name of a residue, such as \"SOL\"")?;
    if let Jobs::Count(0) = buffer.molecules {
        return require(false, "titration.buffer.molecules", 0, "a whole number from 1, or \"auto\"");
    }
    if let Some(lambda) = buffer.fixed {
        require((-0.2..=1.2).contains(&lambda), "titration.buffer.fixed", lambda, "λ from -0.2 to 1.2")?;
    }
    Ok(())
}

/// Whatever moves needs a pH.
fn moving(config: &Config) -> Check {
    let Some(titration) = &config.titration else {
        return Ok(());
    };
    let alone = titration.buffer.as_ref().is_some_and(|buffer| !buffer.neutral || buffer.fixed.is_some());
    let moving =
        if titration.sites.is_empty() { !alone } else { titration.sites.iter().any(|site| site.fixed.is_none()) };
    let moving = moving && titration.ph_term != PhTerm::None;
    if moving && titration.ph.is_none() && config.titrate.is_none() && config.calibrate.is_none() {
        let help = "set titration.ph, or add [titrate] for many pH values";
        return Err(wrong("titration.ph", "sites move, but there is no pH", help));
    }
    Ok(())
}

/// `"GLU 2"`, `"nterm ALA 1"` or `"GLU"`, blanks made single.
fn residue(key: &str, text: &mut String) -> Check {
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = |word: &str| word.parse::<i32>().is_ok();
    let valid = match words[..] {
        [name] => !number(name),
        [name, last] => !number(name) && number(last),
        [entry, name, last] => !number(entry) && !number(name) && number(last),
        _ => false,
    };
    require(
        valid,
        key,
        format!("\"{text}\""),
        "a residue name with its number, \"GLU 2\", with the entry of the library before, \"nterm ALA 1\", or a name alone for all of them, \"GLU\"",
    )?;
    *text = words.join(" ");
    Ok(())
}
