//! The view algebra against enumeration: every element of small random views, one by one.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use cloakwork_ir::{Overlap, Shape, Take, View};
use std::collections::BTreeSet;

/// Numbers that look random, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        let factor = 6_364_136_223_846_793_005;
        self.0 = self
            .0
            .wrapping_mul(factor)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn shape(dims: &[u64]) -> Shape {
    Shape::new(dims).unwrap()
}

/// A dense tensor, then a few layout ops on it.
fn any_view(numbers: &mut Numbers, base: &View) -> View {
    let mut view = base.clone();
    for _ in 0..numbers.below(4) {
        let rank = view.rank() as u64;
        view = match numbers.below(4) {
            0 if rank > 0 => {
                let (source, target) = (numbers.below(rank), numbers.below(rank));
                view.moveaxis(source as i64, target as i64).unwrap()
            }
            1 => view.unsqueeze(numbers.below(rank + 1) as i64).unwrap(),
            2 if rank > 0 => {
                let dims = view.shape.dims().to_vec();
                let takes: Vec<Take> = dims.iter().map(|&dim| any_take(numbers, dim)).collect();
                view.slice(&takes).unwrap()
            }
            _ => view,
        };
    }
    view
}

fn any_take(numbers: &mut Numbers, dim: u64) -> Take {
    let start = numbers.below(dim);
    if numbers.below(4) == 0 {
        return Take::Index(start);
    }
    let stop = start + 1 + numbers.below(dim - start);
    Take::Range {
        start,
        stop,
        step: 1 + numbers.below(3),
    }
}

fn any_base(numbers: &mut Numbers) -> View {
    let dims: Vec<u64> = (0..1 + numbers.below(4))
        .map(|_| 1 + numbers.below(4))
        .collect();
    View::contiguous(shape(&dims))
}

fn elements(view: &View) -> Vec<i64> {
    view.offsets().collect()
}

#[test]
fn a_reshape_keeps_elements_and_their_order_or_needs_a_copy() {
    let mut numbers = Numbers(1);
    let mut views = 0;
    for _ in 0..20_000 {
        let base = any_base(&mut numbers);
        let view = any_view(&mut numbers, &base);
        let target = any_base(&mut numbers).shape;
        match view.reshape(&target) {
            Err(_) => assert_ne!(view.shape.elements(), target.elements()),
            Ok(Some(same)) => {
                views += 1;
                assert_eq!(elements(&same), elements(&view));
            }
            // What strides cannot say they really cannot: no stride per axis fits.
            Ok(None) => assert!(!some_strides_fit(&view, &target), "{view:?} as {target}"),
        }
    }
    assert!(views > 500, "{views}");
}

/// Whether element `i` of the target lies where strides read off the first step of each axis say.
fn some_strides_fit(view: &View, target: &Shape) -> bool {
    let offsets = elements(view);
    let mut below = 1usize;
    let mut strides = vec![0; target.rank()];
    for (axis, &dim) in target.dims().iter().enumerate().rev() {
        strides[axis] = if dim > 1 {
            offsets[below] - offsets[0]
        } else {
            0
        };
        below *= dim as usize;
    }
    let guess = View {
        shape: target.clone(),
        strides: strides.into(),
        offset: view.offset,
    };
    elements(&guess) == offsets
}

#[test]
fn views_that_are_said_to_be_apart_are_and_slices_of_one_tensor_are_told_exactly() {
    let mut numbers = Numbers(2);
    let (mut disjoint, mut same, mut doubtful) = (0, 0, 0);
    for _ in 0..20_000 {
        let base = any_base(&mut numbers);
        let (a, b) = (any_view(&mut numbers, &base), any_view(&mut numbers, &base));
        let one: BTreeSet<i64> = a.offsets().collect();
        let other: BTreeSet<i64> = b.offsets().collect();
        let apart = one.is_disjoint(&other);
        match a.overlap(&b) {
            Overlap::Disjoint => {
                disjoint += 1;
                assert!(apart, "{a:?} {b:?}");
            }
            Overlap::Same => {
                same += 1;
                assert_eq!(elements(&a), elements(&b));
            }
            Overlap::Partial => doubtful += usize::from(apart),
        }
        let twice = one.len() as u64 != a.shape.elements();
        assert_eq!(a.overlaps_itself(), twice, "{a:?}");
    }
    assert!(disjoint > 500 && same > 500, "{disjoint} {same}");
    // Steps above one may leave a doubt.
    assert!(doubtful * 10 < disjoint, "{doubtful} of {disjoint}");
}

#[test]
fn the_halves_of_a_buffer_are_apart_along_every_axis() {
    let base = View::contiguous(shape(&[4, 6, 8]));
    for axis in 0..3 {
        let half = |from: u64| {
            let take = |(i, &dim): (usize, &u64)| {
                let (start, stop) = if i == axis {
                    (from * dim / 2, (from + 1) * dim / 2)
                } else {
                    (0, dim)
                };
                Take::Range {
                    start,
                    stop,
                    step: 1,
                }
            };
            let takes: Vec<Take> = base.shape.dims().iter().enumerate().map(take).collect();
            base.slice(&takes).unwrap()
        };
        assert_eq!(half(0).overlap(&half(1)), Overlap::Disjoint, "axis {axis}");
        assert_eq!(half(0).overlap(&half(0)), Overlap::Same, "axis {axis}");
        assert_eq!(half(0).overlap(&base), Overlap::Partial, "axis {axis}");
    }
}

#[test]
fn an_expanded_view_overlaps_itself_and_reshapes_only_where_it_may() {
    let row = View::contiguous(shape(&[1, 3]));
    let wide = row.expand(0, 4).unwrap();
    assert!(wide.overlaps_itself());
    assert_eq!(elements(&wide), [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]);
    assert_eq!(wide.reshape(&shape(&[12])), Ok(None));
    assert!(matches!(wide.reshape(&shape(&[2, 2, 3])), Ok(Some(_))));
    assert!(row.expand(1, 2).is_err());
}

#[test]
fn broadcasting_reads_a_single_element_everywhere() {
    let one = View::contiguous(shape(&[1, 1]));
    assert_eq!(elements(&one.broadcast_to(&shape(&[])).unwrap()), [0]);
    assert_eq!(
        elements(&one.broadcast_to(&shape(&[3])).unwrap()),
        [0, 0, 0]
    );
    let column = View::contiguous(shape(&[2, 1]));
    assert_eq!(
        elements(&column.broadcast_to(&shape(&[2, 2])).unwrap()),
        [0, 0, 1, 1]
    );
    assert_eq!(column.broadcast_to(&shape(&[3, 2])), None);
}

#[test]
fn a_part_of_the_first_axis_is_the_slice_of_it() {
    let mut numbers = Numbers(5);
    let mut parts = 0;
    for _ in 0..20_000 {
        let base = any_base(&mut numbers);
        let view = any_view(&mut numbers, &base);
        let start = numbers.below(6);
        let entry = match numbers.below(2) {
            0 => Take::Index(start),
            _ => Take::Steps {
                start,
                count: numbers.below(4),
                step: numbers.below(5) as i64 - 2,
            },
        };
        let Some((_, rest)) = view.shape.dims().split_first() else {
            assert!(view.part_of_first(entry).is_none());
            continue;
        };
        let whole = rest.iter().map(|&count| Take::Steps {
            start: 0,
            count,
            step: 1,
        });
        let entries: Vec<Take> = std::iter::once(entry).chain(whole).collect();
        let part = view.part_of_first(entry);
        parts += usize::from(part.is_some());
        assert_eq!(part, view.slice(&entries).ok(), "{view:?} {entry:?}");
    }
    assert!(parts > 1000, "{parts}");
}
