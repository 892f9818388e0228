//! Sites of real topologies and a titration of a model: one binary, so that it is linked once.

mod model_titration;
mod openmm;
mod topologies;
