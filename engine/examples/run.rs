//! A run that is driven from Rust: λ and ∂V/∂λ of every site, every hundred steps.
//!
//! ```sh
//! cargo run --release --example run -- inputs/01-glu/run.toml 1000
//! ```

use octitrate::frame::Wanted;
use octitrate::{Config, Propagate, Result, Simulation};

/// Steps between two lines.
const EVERY: u64 = 100;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let job = arguments.next().unwrap_or_else(|| "inputs/01-glu/run.toml".into());
    let steps: u64 = arguments.next().and_then(|steps| steps.parse().ok()).unwrap_or(1000);

    let config = Config::load(&job)?;
    let mut simulation = Simulation::new(&config)?;
    let description = simulation.describe();
    for warning in &description.warnings {
        eprintln!("warning: {warning}");
    }
    simulation.prepare(&mut |line| {
        println!("{line}");
        Ok(())
    })?;
    println!("{:>10}  {:<16} {:>8} {:>16}", "time (ps)", "site", "λ", "∂V/∂λ (kJ/mol)");
    loop {
        let frame = simulation.frame(Wanted { derivatives: true, ..Wanted::default() })?;
        for ((site, lambda), dvdl) in description.lambdas().iter().zip(&frame.lambda).zip(&frame.dvdl) {
            println!("{:>10.3}  {site:<16} {lambda:>8.4} {dvdl:>16.3}", frame.time);
        }
        let left = steps.saturating_sub(simulation.step());
        if left == 0 {
            return Ok(());
        }
        simulation.advance(left.min(EVERY))?;
    }
}
