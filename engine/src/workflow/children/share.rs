//! How many runs go on at once, and with how many threads each.

use crate::config::Jobs;

/// Runs at once on a GPU unless a number is given.
///
/// 3 000 to 10 000 atoms are 24 to 80 blocks of 128 threads in most kernels of a step, where a large GPU holds 2 000 blocks. Of systems of
/// 3 500 atoms an H200 does 8 100 ns/day with 16, 12 400 with 32 and 12 800 with 64, where the launches of kernels are its limit.
const ON_A_GPU: usize = 32;

/// How many children run at once, and with how many threads each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Children at once.
    pub jobs: usize,
    /// Threads of each.
    pub threads: usize,
}

impl Share {
    /// All cores (or the threads asked for on the command line) for this many runs: one run per core while there are
    /// enough, else several cores per run.
    pub fn of_cores(jobs: Jobs, runs: usize) -> Share {
        let cores = rayon::current_num_threads();
        let jobs = at_once(jobs, cores, runs);
        Share { jobs, threads: (cores / jobs).max(1) }
    }

    /// A GPU for this many runs, with one thread of the host each.
    pub fn of_gpu(jobs: Jobs, runs: usize) -> Share {
        Share { jobs: at_once(jobs, ON_A_GPU, runs), threads: 1 }
    }
}

fn at_once(jobs: Jobs, auto: usize, runs: usize) -> usize {
    let jobs = match jobs {
        Jobs::Auto => auto,
        Jobs::Number(count) => count as usize,
    };
    jobs.min(runs).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_cores_are_shared() {
        let cores = rayon::current_num_threads();
        assert_eq!(Share::of_cores(Jobs::Auto, 1), Share { jobs: 1, threads: cores });
        assert_eq!(Share::of_cores(Jobs::Auto, 10 * cores), Share { jobs: cores, threads: 1 });
        assert_eq!(Share::of_cores(Jobs::Number(3), 2).jobs, 2);
    }

    #[test]
    fn a_gpu_has_some_runs_unless_told_otherwise() {
        let jobs = |jobs, runs| Share::of_gpu(jobs, runs).jobs;
        assert_eq!([jobs(Jobs::Auto, 100), jobs(Jobs::Auto, 5), jobs(Jobs::Number(16), 100)], [32, 5, 16]);
    }
}
