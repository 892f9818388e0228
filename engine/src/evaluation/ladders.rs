//! Who may swap with whom in a replica exchange of pH values.
//!
//! Every replica is a ladder of its own, whose rungs are the pH values. A slot is one rung of one ladder: slot = rung · replicas + replica.
//! At exchange number e the pairs of rungs (1,2), (3,4), … try to swap if e is odd, (2,3), (4,5), … if it is even.

/// The ladders of a replica exchange.
#[derive(Debug, Clone, Copy)]
pub struct Ladders<'a> {
    /// pH values, rising.
    pub ph: &'a [f64],
    /// Number of ladders; walkers do not go from one to another.
    pub replicas: usize,
}

/// Two neighbouring slots that try to swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// Number of the pair, which keys its random numbers.
    pub index: u64,
    /// The slots, that of the lower pH first.
    pub slots: [usize; 2],
}

impl Ladders<'_> {
    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.ph.len() * self.replicas
    }

    /// Rung of a slot, which is the index of its pH.
    pub fn rung(&self, slot: usize) -> usize {
        slot / self.replicas
    }

    /// pH of a slot.
    pub fn ph_of(&self, slot: usize) -> f64 {
        self.ph[self.rung(slot)]
    }

    /// The pairs that try to swap at exchange number `exchange`, from 1.
    pub fn pairs(&self, exchange: u64) -> impl Iterator<Item = Pair> {
        let (replicas, rungs) = (self.replicas, self.ph.len());
        let first = usize::from(exchange.is_multiple_of(2));
        (0..replicas).flat_map(move |replica| {
            let pair = move |rung: usize| Pair {
                index: (replica * rungs + rung) as u64,
                slots: [rung, rung + 1].map(|rung| rung * replicas + replica),
            };
            (first..rungs.saturating_sub(1)).step_by(2).map(pair)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_neighbours_has_its_turn() {
        let ladders = Ladders { ph: &[3.5, 4.0, 4.5, 5.5], replicas: 2 };
        let slots = |number| ladders.pairs(number).map(|pair| pair.slots).collect::<Vec<_>>();
        assert_eq!(slots(1), [[0, 2], [4, 6], [1, 3], [5, 7]]);
        assert_eq!(slots(2), [[2, 4], [3, 5]]);
        let mut numbers: Vec<u64> = [1, 2].into_iter().flat_map(|e| ladders.pairs(e)).map(|pair| pair.index).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 6);
        assert_eq!((ladders.slots(), ladders.ph_of(3)), (8, 4.0));
    }
}
