//! Particles sorted by a key on the device, such as the box that each lies in.

use super::{Buffer, Device, DeviceError, In, Kernel, Launch, Out, Source, Stream};
use crate::arguments;

/// Threads of a block of the scan, each of which takes four keys.
const SCAN_THREADS: u32 = 1024;

/// Threads of a block of the other kernels.
const THREADS: u32 = 256;

arguments! {
    /// Arguments of `count_keys`.
    struct CountArgs<'a> {
        keys: In<'a, u32>,
        counts: Out<'a, u32>,
        tickets: Out<'a, u32>,
        n: i32,
    }

    /// Arguments of `sum_tiles`.
    struct SumArgs<'a> {
        counts: In<'a, u32>,
        totals: Out<'a, u32>,
        n_keys: i32,
    }

    /// Arguments of `scan_keys`.
    struct ScanArgs<'a> {
        counts: In<'a, u32>,
        totals: In<'a, u32>,
        starts: Out<'a, u32>,
        n_keys: i32,
    }

    /// Arguments of `place_in_any_order`.
    struct PlaceArgs<'a> {
        keys: In<'a, u32>,
        starts: In<'a, u32>,
        tickets: In<'a, u32>,
        unsorted: Out<'a, u32>,
        n: i32,
    }

    /// Arguments of `rank_within_keys`.
    struct RankArgs<'a> {
        keys: In<'a, u32>,
        starts: In<'a, u32>,
        unsorted: In<'a, u32>,
        order: Out<'a, u32>,
        n: i32,
    }
}

/// Counting sort of `n` keys below `n_keys`. The same keys always give the same order: by ascending key, then by ascending number.
pub struct CountingSort {
    n: u32,
    n_keys: u32,
    counts: Buffer<u32>,
    totals: Buffer<u32>,
    tickets: Buffer<u32>,
    unsorted: Buffer<u32>,
    order: Buffer<u32>,
    starts: Buffer<u32>,
    count: Kernel<CountArgs<'static>>,
    sum: Kernel<SumArgs<'static>>,
    scan: Kernel<ScanArgs<'static>>,
    spread: Kernel<PlaceArgs<'static>>,
    rank: Kernel<RankArgs<'static>>,
}

impl CountingSort {
    /// Makes room for `n` keys, each below `n_keys` (at least one).
    ///
    /// # Errors
    /// Out of memory; no compiler.
    pub fn new(device: &Device, n: usize, n_keys: usize) -> Result<Self, DeviceError> {
        let module = device.compile(&source())?;
        let n_keys = n_keys.max(1);
        Ok(Self {
            n: n as u32,
            n_keys: n_keys as u32,
            counts: device.zeros(n_keys)?,
            totals: device.zeros(n_keys.div_ceil(4 * SCAN_THREADS as usize))?,
            tickets: device.zeros(n.max(1))?,
            unsorted: device.zeros(n.max(1))?,
            order: device.zeros(n.max(1))?,
            starts: device.zeros(n_keys + 1)?,
            count: module.kernel("count_keys")?,
            sum: module.kernel("sum_tiles")?,
            scan: module.kernel("scan_keys")?,
            spread: module.kernel("place_in_any_order")?,
            rank: module.kernel("rank_within_keys")?,
        })
    }

    /// Sorts by `keys`, one for each particle, all below the `n_keys` of [`new`](Self::new).
    ///
    /// # Errors
    /// [`DeviceError::Length`] if there are fewer keys than particles; what the driver says against a launch.
    pub fn enqueue(&self, stream: &Stream, keys: &Buffer<u32>) -> Result<(), DeviceError> {
        keys.holds(self.n as usize)?;
        let (n, n_keys) = (self.n as i32, self.n_keys as i32);
        let particles = Launch::for_each(self.n as usize, THREADS);
        let tiles = Launch::new(self.n_keys.div_ceil(4 * SCAN_THREADS), SCAN_THREADS);
        let Self { counts, totals, tickets, unsorted, starts, .. } = self;
        stream.zero(counts)?;
        let count = CountArgs { keys: keys.arg(), counts: counts.arg(), tickets: tickets.arg(), n };
        stream.launch(&self.count, particles, count)?;
        if self.n_keys > 4 * SCAN_THREADS {
            let sum = SumArgs { counts: counts.arg(), totals: totals.arg(), n_keys };
            stream.launch(&self.sum, tiles, sum)?;
        }
        let scan = ScanArgs { counts: counts.arg(), totals: totals.arg(), starts: starts.arg(), n_keys };
        stream.launch(&self.scan, tiles, scan)?;
        let (keys_in, starts) = (keys.arg(), starts.arg());
        let place = PlaceArgs { keys: keys_in, starts, tickets: tickets.arg(), unsorted: unsorted.arg(), n };
        stream.launch(&self.spread, particles, place)?;
        self.rank(stream, keys)
    }

    /// Puts the particles of each key in ascending order.
    fn rank(&self, stream: &Stream, keys: &Buffer<u32>) -> Result<(), DeviceError> {
        let arguments = RankArgs {
            keys: keys.arg(),
            starts: self.starts.arg(),
            unsorted: self.unsorted.arg(),
            order: self.order.arg(),
            n: self.n as i32,
        };
        stream.launch(&self.rank, Launch::for_each(self.n as usize, THREADS), arguments)
    }

    /// Number of the particle at each sorted place.
    #[must_use]
    pub fn order(&self) -> &Buffer<u32> {
        &self.order
    }

    /// First sorted place of each key, and the end.
    #[must_use]
    pub fn starts(&self) -> &Buffer<u32> {
        &self.starts
    }
}

/// Its kernels.
pub(super) fn source() -> Source {
    Source::new("sort", include_str!("sort.cu"))
        .define("SCAN_THREADS", SCAN_THREADS)
        .kernel::<CountArgs<'static>>("count_keys")
        .kernel::<SumArgs<'static>>("sum_tiles")
        .kernel::<ScanArgs<'static>>("scan_keys")
        .kernel::<PlaceArgs<'static>>("place_in_any_order")
        .kernel::<RankArgs<'static>>("rank_within_keys")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_numbers::Numbers;

    /// Stable sort on the host.
    fn expected(keys: &[u32], n_keys: usize) -> (Vec<u32>, Vec<u32>) {
        let mut order: Vec<u32> = (0..keys.len() as u32).collect();
        order.sort_by_key(|&i| keys[i as usize]);
        let below = |key: usize| keys.iter().filter(|&&k| (k as usize) < key).count() as u32;
        let mut starts = vec![0; n_keys + 1];
        let mut counts = vec![0; n_keys];
        keys.iter().for_each(|&k| counts[k as usize] += 1);
        (0..n_keys).for_each(|k| starts[k + 1] = starts[k] + counts[k]);
        assert_eq!(starts[n_keys / 2], below(n_keys / 2));
        (order, starts)
    }

    #[test]
    fn order_is_that_of_a_stable_sort() {
        let device = Device::of_tests().unwrap();
        let stream = device.stream().unwrap();
        let mut numbers = Numbers::new(7);
        // Around the tiles of 4096 keys; all particles under one key; more keys than particles.
        for (n, n_keys) in [(0, 3), (1, 1), (257, 1), (1000, 60), (3000, 4096), (2000, 4097), (5000, 20_000)] {
            let keys: Vec<u32> = (0..n).map(|_| numbers.below(n_keys) as u32).collect();
            let sort = CountingSort::new(&device, n, n_keys).unwrap();
            let buffer = device.upload(&keys).unwrap();
            // A second time: nothing is left of the first.
            for _ in 0..2 {
                sort.enqueue(&stream, &buffer).unwrap();
                let (order, starts) = expected(&keys, n_keys);
                assert_eq!(sort.order().read(&stream).unwrap()[..n], order, "{n} {n_keys}");
                assert_eq!(sort.starts().read(&stream).unwrap(), starts, "{n} {n_keys}");
            }
        }
    }

    #[test]
    fn every_particle_needs_a_key() {
        let device = Device::of_tests().unwrap();
        let (sort, stream) = (CountingSort::new(&device, 9, 4).unwrap(), device.stream().unwrap());
        let few = sort.enqueue(&stream, &device.zeros(8).unwrap());
        assert_eq!(few, Err(DeviceError::Length { expected: 9, found: 8 }));
    }

    /// On a GPU the particles of a key come in any order.
    #[test]
    fn chance_leaves_no_trace() {
        let device = Device::of_tests().unwrap();
        let stream = device.stream().unwrap();
        let keys: Vec<u32> = (0..900).map(|i| i * i % 7).collect();
        let sort = CountingSort::new(&device, 900, 7).unwrap();
        let buffer = device.upload(&keys).unwrap();
        sort.enqueue(&stream, &buffer).unwrap();
        let (order, starts) = expected(&keys, 7);
        let mut unsorted = order.clone();
        starts.windows(2).for_each(|ends| unsorted[ends[0] as usize..ends[1] as usize].reverse());
        sort.unsorted.write(&stream, &unsorted).unwrap();
        sort.rank(&stream, &buffer).unwrap();
        assert_eq!(sort.order().read(&stream).unwrap(), order);
    }
}
