use super::*;
use crate::backend::Evaluation;
use std::path::Path;

/// A backend that refuses every state, as a device does whose memory is full.
struct Refuses(Evaluation);

impl Backend for Refuses {
    fn describe_coulomb(&self) -> &str {
        ""
    }

    fn pace(&self) -> u64 {
        1
    }

    fn list_interval(&self) -> Option<u64> {
        None
    }

    fn makes_lists(&self, _: &State) -> bool {
        false
    }

    fn load(&mut self, _: &mut State, _: ListOrigin) -> Result<()> {
        Err(Error::input("refused", ""))
    }

    fn set_biases(&mut self, _: &Biases, _: u64) -> Result<()> {
        Ok(())
    }

    fn advance(&mut self, _: &mut State, _: u64) -> Result<()> {
        Ok(())
    }

    fn evaluate(&mut self, _: &mut State) -> Result<Energies> {
        Ok(Energies::default())
    }

    fn evaluate_derivatives(&mut self, _: &mut State) -> Result<()> {
        Ok(())
    }

    fn evaluation(&self) -> &Evaluation {
        &self.0
    }

    /// What an earlier state has left.
    fn store(&mut self, state: &mut State) -> Result<()> {
        state.positions.fill(Vector3::zeros());
        Ok(())
    }

    fn store_lambda(&mut self, _: &mut State) -> Result<()> {
        Ok(())
    }

    fn profile(&mut self, _: &State) -> Result<Vec<(&'static str, f64)>> {
        Ok(Vec::new())
    }
}

/// A checkpoint is written after a failure too; what the backend still has from before must not get into it.
#[test]
fn a_state_that_the_backend_refused_is_kept() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad/files/job.toml");
    let text = "[system]\nstructure = \"water.gro\"\ntopology = \"water.top\"\n[dynamics]\nsteps = 4";
    let mut simulation = Simulation::new(&Config::parse(text, &path).unwrap()).unwrap();
    let state = simulation.state().unwrap();
    simulation.backend = Box::new(Refuses(Evaluation::default()));
    assert!(simulation.advance(1).is_err());
    assert!(simulation.state().unwrap() == state, "the stale state of the backend was stored");
}
