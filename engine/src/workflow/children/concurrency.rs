//! How many runs go on at once, and with how many threads each.

use crate::config::Jobs;

/// Number of runs at once on a GPU unless the job or the command line gives one, or there are a few more.
///
/// 3 000 to 10 000 atoms are 24 to 80 blocks of 128 threads in most kernels of a step, where a large GPU holds 2 000 blocks. Of systems of
/// 3 500 atoms an H200 does 8 100 ns/day with 16, 12 400 with 32 and 12 800 with 64, where the launches of kernels are its limit.
pub const ON_A_GPU: usize = 32;

/// How many runs go on at once, and with how many threads each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Concurrency {
    /// Number of runs at once.
    pub runs: usize,
    /// Number of threads of each.
    pub threads: usize,
}

impl Concurrency {
    /// Shares all cores (or the threads asked for on the command line) among this many runs: one run per core if there are enough runs, else
    /// several cores per run.
    pub fn of_cores(jobs: Jobs, runs: usize) -> Concurrency {
        let cores = rayon::current_num_threads();
        let jobs = at_once(jobs, cores, runs);
        Concurrency { runs: jobs, threads: (cores / jobs).max(1) }
    }

    /// Shares GPUs among this many runs, which have one thread of the host each.
    ///
    /// Runs that would be left over for the end, where they leave most of a GPU to nobody, go on with the others: forty at once and not 32
    /// and then eight. A titration of forty runs of 1 ns with 3 500 atoms took 131 s of an H200 in place of 144 s.
    pub fn of_gpus(jobs: Jobs, runs: usize, gpus: usize) -> Concurrency {
        let full = ON_A_GPU * gpus;
        let turns = (runs / full).max(1);
        Concurrency { runs: at_once(jobs, runs.div_ceil(turns), runs), threads: 1 }
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
        assert_eq!(Concurrency::of_cores(Jobs::Auto, 1), Concurrency { runs: 1, threads: cores });
        assert_eq!(Concurrency::of_cores(Jobs::Auto, 10 * cores), Concurrency { runs: cores, threads: 1 });
        assert_eq!(Concurrency::of_cores(Jobs::Number(3), 2).runs, 2);
    }

    #[test]
    fn a_gpu_has_some_runs_unless_told_otherwise() {
        let jobs = |jobs, runs| Concurrency::of_gpus(jobs, runs, 1).runs;
        assert_eq!([jobs(Jobs::Auto, 96), jobs(Jobs::Auto, 5), jobs(Jobs::Number(16), 100)], [32, 5, 16]);
        assert_eq!(
            [Concurrency::of_gpus(Jobs::Auto, 128, 2).runs, Concurrency::of_gpus(Jobs::Number(8), 100, 2).runs],
            [64, 8]
        );
    }

    #[test]
    fn no_few_runs_are_left_for_the_end() {
        let at_once = |runs, gpus| Concurrency::of_gpus(Jobs::Auto, runs, gpus).runs;
        assert_eq!(
            [at_once(32, 1), at_once(40, 1), at_once(63, 1), at_once(64, 1), at_once(100, 1)],
            [32, 40, 63, 32, 34]
        );
        assert_eq!([at_once(80, 2), at_once(130, 2)], [80, 65]);
    }
}
