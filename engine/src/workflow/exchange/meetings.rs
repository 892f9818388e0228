//! Where walkers meet: two and two, and nobody waits for anybody else.
//!
//! A walker comes to attempt number e when it has made the steps up to it. Who comes first to the meeting of a pair waits for the other one; who comes
//! second decides for both. A meeting is known by its number and its pair of slots, so that nobody has to know which walker holds the slot beside its
//! own. Whether two swap follows from their costs and from what [`Meetings::meet`] is told, not from who comes first.
//!
//! Nobody is far ahead of the last of all, so that they come to rest soon. That is between the same two attempts: a limit says which attempt is the last one that is made, and no walker may be past
//! it when the limit is set. Those behind make all attempts up to it, for which they find each other: the partner of a walker that has
//! attempts to make has them to make, too.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Attempts that a walker may be ahead of the last of all, some of which it may never meet: those on another ladder, or on a faster GPU, would otherwise
/// have to be waited for when all come to rest. Simulated with eight walkers whose legs vary by 15 %, two attempts already cost nothing that
/// is seen.
const LEAD: u64 = 4;

/// The meetings of all walkers.
#[derive(Debug)]
pub struct Meetings {
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Debug)]
struct Inner {
    /// What is left at meetings to which one of the two has come, or has not come back: by attempt and pair.
    places: BTreeMap<(u64, u64), Place>,
    /// The last attempt that each walker has made.
    made: Vec<u64>,
    /// The last attempt that is made.
    limit: u64,
    /// Whether a walker has failed: all leave as soon as they can.
    broken: bool,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    /// A walker waits, and this is what a swap would cost it.
    Waits { walker: usize, cost: f64 },
    /// What the second one has decided.
    Decided(bool),
}

/// An attempt to swap, as one of the two walkers comes to it.
#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    /// Its number.
    pub number: u64,
    /// Number of the pair ([`crate::evaluation::ladders::Pair::index`]).
    pub pair: u64,
    /// The walker.
    pub walker: usize,
    /// What a swap would cost it, RT.
    pub cost: f64,
}

impl Inner {
    /// Whether a walker makes no other attempt.
    fn is_over(&self, walker: usize) -> bool {
        self.broken || self.made[walker] >= self.limit
    }

    /// The last attempt that all have made.
    fn last(&self) -> u64 {
        self.made.iter().min().copied().unwrap_or(0)
    }
}

impl Meetings {
    /// Of walkers that have made all attempts up to number `made`.
    pub fn new(walkers: usize, made: u64) -> Self {
        let inner = Inner { places: BTreeMap::new(), made: vec![made; walkers], limit: u64::MAX, broken: false };
        Self { inner: Mutex::new(inner), changed: Condvar::new() }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A walker sets out for its next attempt, and waits while it is [`LEAD`] attempts ahead of the last of all. The answer is how long it has waited.
    pub fn set_out(&self, walker: usize) -> Duration {
        let far = |inner: &mut Inner| !inner.is_over(walker) && inner.made[walker] >= inner.last() + LEAD;
        let mut inner = self.inner();
        if !far(&mut inner) {
            return Duration::ZERO;
        }
        let came = Instant::now();
        drop(self.changed.wait_while(inner, far));
        came.elapsed()
    }

    /// A walker without a partner comes to an attempt. False if that is not made any more.
    pub fn pass(&self, walker: usize, number: u64) -> bool {
        let mut inner = self.inner();
        let made = !inner.is_over(walker);
        if made {
            inner.made[walker] = number;
            self.changed.notify_all();
        }
        made
    }

    /// A walker comes to an attempt, and waits for its partner if need be. Whether they swap, as `swap` decides from what that would cost both, or none if
    /// the attempt is not made any more; and how long the walker has waited.
    pub fn meet(&self, attempt: Attempt, swap: impl FnOnce(f64) -> bool) -> (Option<bool>, Duration) {
        let Attempt { number, pair, walker, cost } = attempt;
        let key = (number, pair);
        let mut inner = self.inner();
        if inner.is_over(walker) {
            return (None, Duration::ZERO);
        }
        if let Some(Place::Waits { walker: other, cost: of_other }) = inner.places.get(&key).copied() {
            let swapped = swap(cost + of_other);
            inner.places.insert(key, Place::Decided(swapped));
            inner.made[walker] = number;
            inner.made[other] = number;
            self.changed.notify_all();
            return (Some(swapped), Duration::ZERO);
        }
        inner.places.insert(key, Place::Waits { walker, cost });
        let came = Instant::now();
        let over =
            |inner: &mut Inner| matches!(inner.places.get(&key), Some(Place::Waits { .. })) && !inner.is_over(walker);
        let mut inner = self.changed.wait_while(inner, over).unwrap_or_else(PoisonError::into_inner);
        let swapped = match inner.places.remove(&key) {
            Some(Place::Decided(swapped)) => Some(swapped),
            _ => None,
        };
        (swapped, came.elapsed())
    }

    /// Whether a walker is where all come to rest: it makes no other attempt.
    pub fn is_over(&self, walker: usize) -> bool {
        self.inner().is_over(walker)
    }

    /// No walker makes an attempt that none has made yet.
    pub fn end_now(&self) {
        self.end(0);
    }

    /// All walkers make one attempt more than the first of them has made, and no other.
    pub fn end_after_next(&self) {
        self.end(1);
    }

    fn end(&self, more: u64) {
        let mut inner = self.inner();
        let first = inner.made.iter().max().copied().unwrap_or(0);
        inner.limit = inner.limit.min(first + more);
        self.changed.notify_all();
    }

    /// A walker cannot go on: nobody waits any more.
    pub fn abandon(&self) {
        self.inner().broken = true;
        self.changed.notify_all();
    }

    /// Abandons the meetings when it is dropped, unless it has been told that all is well: also when a thread panics.
    pub fn guard(&self) -> Guard<'_> {
        Guard { meetings: self, well: false }
    }
}

/// See [`Meetings::guard`].
#[derive(Debug)]
pub struct Guard<'a> {
    meetings: &'a Meetings,
    well: bool,
}

impl Guard<'_> {
    /// All is well.
    pub fn release(mut self) {
        self.well = true;
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if !self.well {
            self.meetings.abandon();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(number: u64, pair: u64, walker: usize, cost: f64) -> Attempt {
        Attempt { number, pair, walker, cost }
    }

    /// The first of a pair waits, whatever others do; both hear the same, which follows from the sum of their costs.
    #[test]
    fn two_meet_and_the_others_go_on() {
        let meetings = Meetings::new(3, 4);
        std::thread::scope(|scope| {
            let first = scope.spawn(|| meetings.meet(attempt(5, 0, 0, 1.5), |_| panic!("the second one decides")));
            while meetings.inner().places.is_empty() {
                std::thread::yield_now();
            }
            assert!(meetings.pass(2, 5) && meetings.pass(2, 6));
            let (swapped, waited) = meetings.meet(attempt(5, 0, 1, -2.0), |cost| cost == -0.5);
            assert_eq!((swapped, waited), (Some(true), Duration::ZERO));
            let (swapped, waited) = first.join().unwrap();
            assert!(swapped == Some(true) && waited > Duration::ZERO);
        });
        assert_eq!(meetings.inner().made, [5, 5, 6]);
        assert!(meetings.inner().places.is_empty());
    }

    /// Who is behind makes the attempts that others have made; who has made them stops, and who waits for one that will not be made hears of it.
    #[test]
    fn all_come_to_rest_between_the_same_two_attempts() {
        let meetings = Meetings::new(3, 4);
        assert!(meetings.pass(2, 5));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| meetings.meet(attempt(6, 1, 2, 0.0), |_| true).0);
            while meetings.inner().places.is_empty() {
                std::thread::yield_now();
            }
            meetings.end_now();
            assert_eq!(waiting.join().unwrap(), None);
        });
        assert!(meetings.is_over(2) && !meetings.pass(2, 6));
        assert!(!meetings.is_over(0) && !meetings.is_over(1));
        std::thread::scope(|scope| {
            let other = scope.spawn(|| meetings.meet(attempt(5, 0, 0, 0.0), |_| false).0);
            assert_eq!(meetings.meet(attempt(5, 0, 1, 0.0), |_| false).0, Some(false));
            assert_eq!(other.join().unwrap(), Some(false));
        });
        assert!((0..3).all(|walker| meetings.is_over(walker)));

        let meetings = Meetings::new(2, 4);
        meetings.end_after_next();
        assert!(meetings.pass(0, 5) && !meetings.pass(0, 6) && meetings.pass(1, 5) && meetings.is_over(1));
    }

    #[test]
    fn nobody_is_far_ahead_of_the_last() {
        let meetings = Meetings::new(2, 7);
        for number in 8..8 + LEAD {
            assert_eq!(meetings.set_out(0), Duration::ZERO);
            assert!(meetings.pass(0, number));
        }
        std::thread::scope(|scope| {
            let ahead = scope.spawn(|| meetings.set_out(0));
            std::thread::sleep(Duration::from_millis(5));
            assert!(!ahead.is_finished());
            assert!(meetings.set_out(1) == Duration::ZERO && meetings.pass(1, 8));
            assert!(ahead.join().unwrap() > Duration::ZERO);
        });
    }

    #[test]
    fn nobody_waits_for_one_that_has_failed() {
        let meetings = Meetings::new(2, 0);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| meetings.meet(attempt(1, 0, 0, 0.0), |_| true).0);
            drop(meetings.guard());
            assert_eq!(waiting.join().unwrap(), None);
        });
        assert!(meetings.is_over(0) && meetings.is_over(1));
        let meetings = Meetings::new(1, 0);
        meetings.guard().release();
        assert!(!meetings.is_over(0));
    }
}
