//! Which elements of a storage something has written, and which ones two views share.

use cloakwork_ir::View;
use std::collections::BTreeMap;

/// Pieces of one storage, at most: what lies in more is taken as written.
const MAX_RUNS: u64 = 1 << 16;

/// Elements of a storage, by their place in it.
#[derive(Debug, Default)]
pub(crate) struct Region {
    /// Where pieces begin and end; none touches another.
    runs: BTreeMap<i64, i64>,
    all: bool,
}

impl Region {
    /// Takes in whatever there is.
    pub fn add_all(&mut self) {
        *self = Self {
            runs: BTreeMap::new(),
            all: true,
        };
    }

    /// Takes in the elements of a view.
    pub fn add(&mut self, view: &View) {
        if self.all {
            return;
        }
        match runs(view) {
            Some(pieces) if (self.runs.len() as u64) < MAX_RUNS => {
                pieces.for_each(|(from, to)| self.add_run(from, to));
            }
            _ => self.add_all(),
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

    /// The first elements of a view that are not in here: from, to.
    pub fn missing(&self, view: &View) -> Option<(i64, i64)> {
        if self.all {
            return None;
        }
        runs(view)?.find_map(|(from, to)| self.gap(from, to))
    }

    fn gap(&self, from: i64, to: i64) -> Option<(i64, i64)> {
        let before = self.runs.range(..=from).next_back();
        let start = before.map_or(from, |(_, &end)| from.max(end));
        if start >= to {
            return None;
        }
        let next = self.runs.range(start..to).next();
        Some((start, next.map_or(to, |(&begin, _)| begin)))
    }
}

/// The pieces in which a view's elements lie, those of rising places along each axis; `None` where
/// there are too many.
fn runs(view: &View) -> Option<impl Iterator<Item = (i64, i64)> + use<>> {
    let mut axes: Vec<(i64, u64)> = view
        .strides
        .iter()
        .zip(view.shape.dims())
        .filter(|&(&stride, &dim)| stride != 0 && dim > 1)
        .map(|(&stride, &dim)| (stride.abs(), dim))
        .collect();
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
    let rest = axes.split_off(dense);
    let count = rest
        .iter()
        .try_fold(u64::from(length > 0), |count, &(_, dim)| {
            count.checked_mul(dim).filter(|&count| count <= MAX_RUNS)
        })?;
    let low = view.bounds().0;
    Some((0..count).map(move |mut number| {
        let start = rest.iter().fold(low, |at, &(stride, dim)| {
            let index = number % dim;
            number /= dim;
            at + stride * index as i64
        });
        (start, start + length)
    }))
}

/// The first element that two views share, and one past the last; of views in too many pieces,
/// what they may share.
pub(crate) fn common(a: &View, b: &View) -> (i64, i64) {
    let ((a_low, a_high), (b_low, b_high)) = (a.bounds(), b.bounds());
    let bounds = (a_low.max(b_low), a_high.min(b_high));
    let (Some(a), Some(b)) = (runs(a), runs(b)) else {
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
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::{Region, common};
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
                    Some((from, to)) => assert!((from..to).all(|at| missing.contains(&at))),
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
