//! Elements of a storage that steps have written, and elements that two views share.

mod grid;

use cloakwork_ir::View;
use grid::Grid;
use std::collections::BTreeMap;

/// Pieces of one storage that are listed, at most: views in more are kept by their strides.
const MAX_RUNS: u64 = 1 << 16;
/// Views of one storage that are kept by their strides, at most.
const MAX_GRIDS: usize = 16;
/// Pieces that are looked at for one question, at most.
const MAX_STEPS: u64 = 4 * MAX_RUNS;

/// Elements of a storage, by their place in it.
#[derive(Debug, Default)]
pub(crate) struct Region {
    /// Starts of pieces, with their ends; no piece touches another.
    runs: BTreeMap<i64, i64>,
    grids: Vec<Grid>,
    all: bool,
    /// Some elements that were taken in are in neither.
    left_out: bool,
}

/// Why a view is not known to be in a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// These elements are not: from, to.
    Elements(i64, i64),
    /// The view lies in too many pieces to know.
    Unknown,
}

impl Region {
    /// Takes in whatever there is.
    pub fn add_all(&mut self) {
        *self = Self {
            all: true,
            ..Self::default()
        };
    }

    /// Takes in the elements of a view.
    pub fn add(&mut self, view: &View) {
        if self.all {
            return;
        }
        let room = MAX_RUNS.saturating_sub(self.runs.len() as u64);
        match (Pieces::of(view), Grid::of(view)) {
            (Some(pieces), _) if pieces.count <= room.max(1) => {
                pieces.for_each(|(from, to)| self.add_run(from, to));
            }
            (_, Some(grid)) => self.add_grid(grid),
            (pieces, None) => self.left_out |= pieces.is_none_or(|pieces| pieces.count > 0),
        }
    }

    fn add_grid(&mut self, grid: Grid) {
        let mut waiting = vec![grid];
        while let Some(grid) = waiting.pop() {
            if let Some((from, to)) = grid.only_run() {
                self.add_run(from, to);
                continue;
            }
            if self.grids.iter().any(|known| known.covers(&grid)) {
                continue;
            }
            let mut joined = self
                .grids
                .iter()
                .map(|known| known.joined(&grid))
                .enumerate();
            if let Some((at, Some((both, left)))) = joined.find(|(_, joined)| joined.is_some()) {
                self.grids.swap_remove(at);
                waiting.extend(left.into_iter().chain([both]));
            } else if self.grids.len() < MAX_GRIDS {
                self.grids.push(grid);
            } else {
                self.left_out = true;
            }
        }
    }

    fn add_run(&mut self, mut from: i64, mut to: i64) {
        if let Some((&begin, &end)) = self.runs.range(..=from).next_back()
            && end >= from
        {
            (from, to) = (begin, to.max(end));
        }
        while let Some((&begin, &end)) = self.runs.range(from..=to).next() {
            self.runs.remove(&begin);
            to = to.max(end);
        }
        self.runs.insert(from, to);
    }

    /// The first elements of a view that are not in here; none if all are.
    pub fn missing(&self, view: &View) -> Option<Missing> {
        let (low, high) = view.bounds();
        if self.all || low == high || self.gap(low, high, &mut 2).is_none() {
            return None;
        }
        let grid = Grid::of(view);
        if grid.is_some_and(|grid| self.grids.iter().any(|known| known.covers(&grid))) {
            return None;
        }
        let Some(mut pieces) = Pieces::of(view) else {
            return Some(Missing::Unknown);
        };
        let mut steps = MAX_STEPS;
        match pieces.find_map(|(from, to)| self.gap(from, to, &mut steps)) {
            Some(Missing::Elements(..)) if self.left_out => Some(Missing::Unknown),
            found => found,
        }
    }

    /// The first of some elements that are not in here. `steps` counts down, to `Unknown`.
    fn gap(&self, from: i64, to: i64, steps: &mut u64) -> Option<Missing> {
        let mut at = from;
        while at < to {
            let Some(left) = steps.checked_sub(1) else {
                return Some(Missing::Unknown);
            };
            *steps = left;
            match self.end_at(at) {
                Some(end) => at = end,
                None => return Some(Missing::Elements(at, self.next_start(at, to))),
            }
        }
        None
    }

    /// Whether it holds all that was taken in.
    pub fn is_exact(&self) -> bool {
        !self.left_out
    }

    /// The end of the run of elements in here that contains this one.
    pub fn end_at(&self, at: i64) -> Option<i64> {
        let before = self.runs.range(..=at).next_back().map(|(_, &end)| end);
        let in_run = before.filter(|&end| end > at);
        let in_grid = || self.grids.iter().find_map(|grid| grid.end_of_run(at));
        in_run.or_else(in_grid)
    }

    /// Up to where the elements that follow one that is not in here are not either, for sure.
    pub fn next_start(&self, at: i64, to: i64) -> i64 {
        let within = |grid: &Grid| grid.bounds().0 < to && grid.bounds().1 > at;
        if self.grids.iter().any(within) {
            return at + 1;
        }
        let next = self.runs.range(at..to).next();
        next.map_or(to, |(&begin, _)| begin)
    }
}

/// The pieces in which a view's elements lie, those of rising places along each axis.
pub(crate) struct Pieces {
    low: i64,
    length: i64,
    axes: Vec<(i64, u64)>,
    next: u64,
    count: u64,
}

impl Pieces {
    /// Those of a view; `None` where not even a number says how many there are.
    pub fn of(view: &View) -> Option<Self> {
        let axes = view.strides.iter().zip(view.shape.dims());
        let axes = axes.filter(|&(&stride, &dim)| stride != 0 && dim > 1);
        let mut axes: Vec<(i64, u64)> = axes.map(|(&stride, &dim)| (stride.abs(), dim)).collect();
        axes.sort_unstable();
        let mut length = i64::from(view.shape.elements() > 0);
        let dense = axes
            .iter()
            .take_while(|&&(stride, dim)| {
                let goes_on = stride == length;
                length *= if goes_on { dim as i64 } else { 1 };
                goes_on
            })
            .count();
        let axes = axes.split_off(dense);
        let mut sizes = axes.iter().map(|axis| axis.1);
        let count = sizes.try_fold(u64::from(length > 0), u64::checked_mul)?;
        Some(Self {
            low: view.bounds().0,
            length,
            axes,
            next: 0,
            count,
        })
    }
}

impl Iterator for Pieces {
    type Item = (i64, i64);

    fn next(&mut self) -> Option<(i64, i64)> {
        let mut number = (self.next < self.count).then_some(self.next)?;
        self.next += 1;
        let start = self.axes.iter().fold(self.low, |at, &(stride, dim)| {
            let index = number % dim;
            number /= dim;
            at + stride * index as i64
        });
        Some((start, start + self.length))
    }
}

/// The first element that two views share, and one past the last; of views in too many pieces,
/// what they may share.
pub(crate) fn common(a: &View, b: &View) -> (i64, i64) {
    let ((a_low, a_high), (b_low, b_high)) = (a.bounds(), b.bounds());
    let bounds = (a_low.max(b_low), a_high.min(b_high));
    let few = |view| Pieces::of(view).filter(|pieces| pieces.count <= MAX_RUNS);
    let (Some(a), Some(b)) = (few(a), few(b)) else {
        return bounds;
    };
    let mut region = Region::default();
    a.for_each(|(from, to)| region.add_run(from, to));
    let mut shared: Option<(i64, i64)> = None;
    for (from, to) in b {
        let before = region.runs.range(..=from).next_back();
        let inside = region.runs.range(from + 1..to.max(from + 1));
        for (&begin, &end) in before.into_iter().chain(inside) {
            let (begin, end) = (begin.max(from), end.min(to));
            if begin < end {
                let (low, high) = shared.unwrap_or((begin, end));
                shared = Some((low.min(begin), high.max(end)));
            }
        }
    }
    shared.unwrap_or(bounds)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

    use super::grid::Grid;
    use super::{MAX_GRIDS, MAX_RUNS, Missing, Region, common};
    use cloakwork_ir::{Shape, Take, View};

    /// A view of a buffer of 24 elements in 4 rows, by random entries.
    fn view(state: &mut u64) -> View {
        let mut below = |bound: u64| {
            *state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (*state >> 33) % bound
        };
        let whole = View::contiguous(Shape::new(&[4, 6]).unwrap());
        let mut entry = |size: u64| {
            let start = below(size);
            let step = 1 + below(3);
            let count = 1 + below((size - start).div_ceil(step));
            if below(2) == 0 {
                let step = step as i64;
                return Take::Steps { start, count, step };
            }
            let start = start + (count - 1) * step;
            let step = -(step as i64);
            Take::Steps { start, count, step }
        };
        let entries = [entry(4), entry(6)];
        whole.slice(&entries).unwrap()
    }

    fn elements(view: &View) -> Vec<i64> {
        let dims = view.shape.dims();
        let places = (0..dims[0] as i64).flat_map(|i| (0..dims[1] as i64).map(move |j| (i, j)));
        let place = |(i, j)| view.offset + i * view.strides[0] + j * view.strides[1];
        places.map(place).collect()
    }

    #[test]
    fn what_is_missing_is_what_a_list_of_bits_lacks() {
        let mut state = 3;
        for _ in 0..300 {
            let (mut region, mut bits) = (Region::default(), [false; 24]);
            for _ in 0..5 {
                let (seen, written) = (view(&mut state), view(&mut state));
                let missing: Vec<i64> = elements(&seen)
                    .into_iter()
                    .filter(|&at| !bits[at as usize])
                    .collect();
                match region.missing(&seen) {
                    None => assert!(missing.is_empty()),
                    Some(Missing::Elements(from, to)) => {
                        assert!((from..to).all(|at| missing.contains(&at)));
                    }
                    Some(Missing::Unknown) => panic!("few pieces"),
                }
                region.add(&written);
                elements(&written)
                    .iter()
                    .for_each(|&at| bits[at as usize] = true);
            }
            region.add_all();
            assert_eq!(region.missing(&view(&mut state)), None);
        }
    }

    #[test]
    fn views_kept_by_their_strides_say_no_more_than_a_list_of_bits() {
        let (mut state, mut known) = (7, 0);
        for _ in 0..3000 {
            let (mut region, mut bits) = (Region::default(), [false; 24]);
            for _ in 0..6 {
                let (seen, written) = (view(&mut state), view(&mut state));
                let all = elements(&seen).iter().all(|&at| bits[at as usize]);
                let found = region.missing(&seen);
                known += i32::from(all && found.is_none());
                match found {
                    None => assert!(all),
                    Some(Missing::Elements(from, _)) => assert!(!bits[from as usize]),
                    Some(Missing::Unknown) => panic!("few pieces"),
                }
                region.add_grid(Grid::of(&written).unwrap());
                elements(&written)
                    .iter()
                    .for_each(|&at| bits[at as usize] = true);
            }
        }
        assert!(known > 1000, "{known}");
    }

    /// Each `step`-th element of so many, from one on.
    fn strided(size: u64, start: u64, step: i64) -> View {
        let count = (size - start).div_ceil(step as u64);
        let whole = View::contiguous(Shape::new(&[size]).unwrap());
        let take = Take::Steps { start, count, step };
        whole.slice(&[take]).unwrap()
    }

    #[test]
    fn of_a_large_storage_only_what_was_written_is_known_as_written() {
        for size in [2 * MAX_RUNS, 2 * MAX_RUNS + 1, 2 * MAX_RUNS + 2, 3 << 40] {
            let whole = View::contiguous(Shape::new(&[size]).unwrap());
            let mut region = Region::default();
            region.add(&strided(size, 0, 2));
            assert_eq!(region.missing(&strided(size, 0, 2)), None);
            assert_eq!(region.missing(&strided(size, 4, 6)), None);
            let gap = Some(Missing::Elements(1, 2));
            assert_eq!(region.missing(&whole), gap);
            assert_eq!(region.missing(&strided(size, 1, 2)), gap);
            assert!(region.missing(&strided(size, 0, 3)).is_some());
            region.add(&strided(size, 1, 2));
            assert_eq!(region.missing(&whole), None);
            assert_eq!(region.missing(&strided(size, 0, 3)), None);
        }
    }

    #[test]
    fn columns_and_rows_of_a_large_matrix_are_put_together_in_any_order() {
        let whole = View::contiguous(Shape::new(&[1 << 20, 6]).unwrap());
        let every = |size| Take::Steps {
            start: 0,
            count: size,
            step: 1,
        };
        let mut region = Region::default();
        for (start, count) in [(0, 2), (4, 2), (2, 2)] {
            assert!(region.missing(&whole).is_some());
            let columns = Take::Steps {
                start,
                count,
                step: 1,
            };
            region.add(&whole.slice(&[every(1 << 20), columns]).unwrap());
        }
        assert_eq!(region.missing(&whole), None);
        let rows = View::contiguous(Shape::new(&[40, 1 << 20]).unwrap());
        let mut region = Region::default();
        for row in 0..40 {
            for start in [0, 1] {
                assert!(region.missing(&rows).is_some());
                let half = Take::Steps {
                    start,
                    count: 1 << 19,
                    step: 2,
                };
                region.add(&rows.slice(&[Take::Index(row), half]).unwrap());
            }
        }
        assert_eq!(region.missing(&rows), None);
    }

    #[test]
    fn what_is_written_in_too_many_ways_is_not_known() {
        let whole = View::contiguous(Shape::new(&[1 << 40]).unwrap());
        let mut region = Region::default();
        for step in 0..=MAX_GRIDS as i64 {
            region.add(&strided(1 << 40, 0, step + MAX_GRIDS as i64 + 1));
        }
        assert_eq!(region.missing(&whole), Some(Missing::Unknown));
        region.add(&whole);
        assert_eq!(region.missing(&whole), None);
    }

    #[test]
    fn the_common_elements_of_two_views_are_those_of_their_lists() {
        let mut state = 5;
        for _ in 0..2000 {
            let (a, b) = (view(&mut state), view(&mut state));
            let mut both = elements(&a);
            both.retain(|at| elements(&b).contains(at));
            if let (Some(&first), Some(&last)) = (both.iter().min(), both.iter().max()) {
                assert_eq!(common(&a, &b), (first, last + 1));
            }
        }
    }
}
