//! Ready tasks: the one with the longest chain of successors first, or a random one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Tasks whose predecessors are done.
#[derive(Debug, Default)]
pub struct Ready {
    tasks: BinaryHeap<(u64, Reverse<u32>)>,
    /// State of the random generator, if the order is random.
    state: Option<u64>,
}

impl Ready {
    pub fn new(seed: Option<u64>) -> Self {
        Self {
            tasks: BinaryHeap::new(),
            state: seed,
        }
    }

    /// A random number, if the order is random. SplitMix64: Steele, Lea, Flood 2014.
    pub fn random(&mut self) -> Option<u64> {
        let state = self.state.as_mut()?;
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Some(z ^ (z >> 31))
    }

    pub fn push(&mut self, task: u32, path_ns: u64) {
        let key = self.random().unwrap_or(path_ns);
        self.tasks.push((key, Reverse(task)));
    }

    pub fn pop(&mut self) -> Option<u32> {
        self.tasks.pop().map(|(_, Reverse(task))| task)
    }

    pub fn len(&self) -> usize {
        self.tasks.len()
    }
}

#[cfg(test)]
mod tests {
    use super::Ready;

    #[test]
    fn long_chains_come_first_and_equal_ones_in_their_order() {
        let mut ready = Ready::new(None);
        for (task, path_ns) in [(3, 5), (1, 9), (2, 9), (0, 1)] {
            ready.push(task, path_ns);
        }
        let order: Vec<u32> = std::iter::from_fn(|| ready.pop()).collect();
        assert_eq!(order, [1, 2, 3, 0]);
    }

    #[test]
    fn seeds_give_orders_of_their_own_and_each_always_the_same() {
        let order = |seed| -> Vec<u32> {
            let mut ready = Ready::new(Some(seed));
            (0..20).for_each(|task| ready.push(task, 0));
            std::iter::from_fn(|| ready.pop()).collect()
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        let mut sorted = order(1);
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..20));
    }
}
