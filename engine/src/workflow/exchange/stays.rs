//! In which slots a walker has been, and from when.

/// The slots of one walker, in the order of steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stays {
    /// Slots, with the step after which the walker was there.
    list: Vec<(u64, usize)>,
}

impl Stays {
    /// In a slot, and nowhere else before.
    pub fn new(slot: usize) -> Self {
        Self { list: vec![(0, slot)] }
    }

    /// Where it is.
    pub fn now(&self) -> usize {
        self.list.last().map_or(0, |(_, slot)| *slot)
    }

    /// Where it was at a step, or is.
    pub fn at(&self, step: u64) -> usize {
        self.list.iter().rev().find(|(after, _)| *after < step).or(self.list.first()).map_or(0, |(_, slot)| *slot)
    }

    /// It goes to another slot, in which it is after `step`.
    pub fn go(&mut self, step: u64, slot: usize) {
        self.list.push((step, slot));
    }

    /// Nobody asks any more where it was before.
    pub fn forget(&mut self) {
        self.list.drain(..self.list.len() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_of_a_swap_belongs_to_the_slot_of_before() {
        let mut stays = Stays::new(3);
        stays.go(10, 2);
        stays.go(20, 5);
        assert_eq!([0, 10, 11, 20, 21, 99].map(|step| stays.at(step)), [3, 3, 2, 2, 5, 5]);
        stays.forget();
        assert_eq!((stays.now(), stays.at(21), stays.at(3)), (5, 5, 5));
    }
}
