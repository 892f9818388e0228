//! Many runs of one job, each in a folder of its own: processes on the CPU, threads on a GPU.
//!
//! Both write the same files. Finished runs are not started again; the others continue from their checkpoints, or start.
//! Asked to stop, or when one has failed, all write their checkpoints. For the queue of a cluster there are scripts.

mod array;
mod child;
mod concurrency;
mod crew;
mod hyperqueue;
mod process;
mod runner;
mod slurm;
mod thread;

pub use array::{Queue, Scheduler, TaskArray};
pub use child::{Child, seed};
pub use concurrency::Concurrency;
pub use crew::run_all;
pub use process::Processes;
pub use runner::{End, Runner, Working};
pub use slurm::alone;
pub use thread::Threads;
