//! Times of short pieces of work on a device, by replay of a graph of many.

use kernels::device::{DeviceError, Stream};

/// A graph should run about this long, s: long beside its launch.
const LONG: f64 = 0.01;

/// How often work is done to be timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replays {
    /// Replays that are timed.
    pub launches: usize,
    /// Most repetitions in a graph.
    pub most: usize,
}

impl Replays {
    /// How often the work is done at most.
    pub fn times(&self) -> u64 {
        (2 + self.most * (self.launches + 1)) as u64
    }
}

/// Seconds of what `enqueue` puts on `stream`, one entry for each replay, after one that is not counted.
///
/// # Errors
/// Those of `enqueue` and of the work.
pub fn replayed<E: From<DeviceError>>(
    stream: &Stream,
    Replays { launches, most }: Replays,
    enqueue: impl Fn() -> Result<(), E>,
) -> Result<Vec<f64>, E> {
    enqueue()?;
    let once = stream.time(&enqueue)?;
    let repeats = (LONG / once).clamp(1.0, most as f64) as usize;
    let graph = stream.capture(|| (0..repeats).try_for_each(|_| enqueue()))?;
    graph.launch(stream)?;
    stream.synchronize()?;
    (0..launches).map(|_| Ok(stream.time(|| graph.launch(stream))? / repeats as f64)).collect()
}

/// The one in the middle; zero of none.
pub fn median(seconds: &[f64]) -> f64 {
    let mut sorted = seconds.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernels::device::{Device, Launch, Out, Source, arguments};

    arguments! {
        struct CountArgs<'a> {
            count: Out<'a, u32>,
        }
    }

    #[test]
    fn work_is_repeated_and_its_errors_are_told() {
        let device = Device::of_tests().unwrap();
        let text = "KERNEL void one_more(const __grid_constant__ CountArgs a) { if (threadIdx.x == 0) ++*a.count; }";
        let source = Source::new("replay", text).kernel::<CountArgs<'static>>("one_more");
        let kernel = device.compile(&source).unwrap().kernel::<CountArgs<'static>>("one_more").unwrap();
        let (stream, count) = (device.stream().unwrap(), device.zeros::<u32>(1).unwrap());
        let replays = Replays { launches: 3, most: 20 };
        let seconds =
            replayed(&stream, replays, || stream.launch(&kernel, Launch::new(1, 32), CountArgs { count: count.arg() }))
                .unwrap();
        assert!(seconds.len() == 3 && seconds.iter().all(|s| *s > 0.0 && *s < 1.0), "{seconds:?}");
        // Twice before the graph, which holds some and runs four times.
        let times = u64::from(count.read(&stream).unwrap()[0]);
        assert!(times >= 6 && times <= replays.times() && (times - 2).is_multiple_of(4), "{times}");
        let other = device.zeros::<u32>(2).unwrap();
        assert!(replayed(&stream, replays, || stream.copy(&other, &count)).is_err());
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[])), (2.0, 0.0));
    }
}
