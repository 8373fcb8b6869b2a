//! How a view of a dense tensor is written as ops on the whole: a slice, axes moved, axes of size
//! one put in. A program that takes parts of a large constant then holds it once.

use cloakwork_ir::{Arg, ShapeItem, Take, View};
use cloakwork_ops::{OpDef, named};

/// A step: an op with its arguments after the tensor, and the view that it gives.
pub(crate) type Step = (&'static OpDef, Vec<Arg>, View);

/// The steps from `root`, from its storage's start on, to a view with these shape, strides and
/// offset. None where slices of whole steps cannot say it, as where the root repeats elements.
pub(crate) fn steps(root: &View, view: &View) -> Option<Vec<Step>> {
    let mut axes = root.shape.dims().iter().zip(root.strides.iter());
    if axes.any(|(&dim, &stride)| dim > 1 && stride <= 0) {
        return None;
    }
    let dims = view.shape.dims();
    let wide: Vec<usize> = (0..dims.len()).filter(|&axis| dims[axis] != 1).collect();
    let mut found = Vec::new();
    for &axis in &wide {
        let same = |&other: &usize| {
            root.strides[other] == view.strides[axis] && root.shape.dims()[other] > 1
        };
        found.push((0..root.rank()).find(same)?);
    }
    let mut steps = Vec::new();
    let mut now = sliced(root, view, &wide, &found, &mut steps)?;
    let mut order: Vec<usize> = found.clone();
    order.sort_unstable();
    for (place, &axis) in found.iter().enumerate() {
        let from = order.iter().position(|&other| other == axis)?;
        if from != place {
            now = now.moveaxis(from as i64, place as i64).ok()?;
            let args = [from, place].map(|axis| Arg::Int(axis as i64)).to_vec();
            steps.push((&named::MOVEAXIS, args, now.clone()));
            let moved = order.remove(from);
            order.insert(place, moved);
        }
    }
    for (axis, _) in dims.iter().enumerate().filter(|(_, dim)| **dim == 1) {
        now = now.unsqueeze(axis as i64).ok()?;
        steps.push((&named::UNSQUEEZE, vec![Arg::Int(axis as i64)], now.clone()));
    }
    (now.shape == view.shape).then_some(steps)
}

/// The view that the same steps give of another root of the same shape.
pub(crate) fn replayed(root: &View, steps: &[Step]) -> Option<View> {
    let mut now = root.clone();
    for (op, args, _) in steps {
        let number = |index: usize| match args.get(index) {
            Some(Arg::Int(axis)) => Some(*axis),
            _ => None,
        };
        let is = |def: &OpDef| std::ptr::eq(*op, def);
        now = match args.first() {
            Some(Arg::Shape(items)) if is(&named::GET_SLICE) => {
                let takes: Option<Vec<Take>> = items.iter().map(taken).collect();
                now.slice(&takes?).ok()?
            }
            _ if is(&named::MOVEAXIS) => now.moveaxis(number(0)?, number(1)?).ok()?,
            _ if is(&named::UNSQUEEZE) => now.unsqueeze(number(0)?).ok()?,
            _ => return None,
        };
    }
    Some(now)
}

fn taken(item: &ShapeItem) -> Option<Take> {
    match *item {
        ShapeItem::Int(index) => u64::try_from(index).ok().map(Take::Index),
        ShapeItem::Slice {
            start: Some(start),
            stop: Some(stop),
            step: Some(1),
        } => Some(Take::Range {
            start: u64::try_from(start).ok()?,
            stop: u64::try_from(stop).ok()?,
            step: 1,
        }),
        _ => None,
    }
}

/// The slice of `root` whose axes those of the view are; `found[i]` is that of `wide[i]`.
fn sliced(
    root: &View,
    view: &View,
    wide: &[usize],
    found: &[usize],
    steps: &mut Vec<Step>,
) -> Option<View> {
    let mut axes: Vec<usize> = (0..root.rank()).collect();
    axes.sort_by_key(|&axis| std::cmp::Reverse(root.strides[axis]));
    let mut rest = view.offset;
    let mut takes = vec![Take::Index(0); root.rank()];
    for axis in axes {
        let (dim, stride) = (root.shape.dims()[axis], root.strides[axis]);
        let start = if dim > 1 { rest / stride } else { 0 };
        rest -= start * stride;
        let start = u64::try_from(start).ok()?;
        let kept = found.iter().position(|&other| other == axis);
        takes[axis] = match kept {
            Some(place) => {
                let stop = start.checked_add(view.shape.dims()[wide[place]])?;
                (stop <= dim).then_some(Take::Range {
                    start,
                    stop,
                    step: 1,
                })?
            }
            None => (start < dim).then_some(Take::Index(start))?,
        };
    }
    let part = (rest == 0).then(|| root.slice(&takes).ok()).flatten()?;
    let item = |take: &Take| match *take {
        Take::Range { start, stop, .. } => ShapeItem::Slice {
            start: Some(start as i64),
            stop: Some(stop as i64),
            step: Some(1),
        },
        Take::Index(index) => ShapeItem::Int(index as i64),
        Take::Steps { start, .. } => ShapeItem::Int(start as i64),
    };
    let entries = Arg::Shape(takes.iter().map(item).collect());
    steps.push((&named::GET_SLICE, vec![entries], part.clone()));
    Some(part)
}

#[cfg(test)]
mod tests {
    use super::steps;
    use cloakwork_ir::{Shape, Take, View};

    fn range(start: u64, stop: u64) -> Take {
        Take::Range {
            start,
            stop,
            step: 1,
        }
    }

    fn check(root: &View, view: &View) {
        let made = steps(root, view).unwrap();
        let last = &made.last().unwrap().2;
        assert_eq!((&last.shape, last.offset), (&view.shape, view.offset));
        let moving = view
            .shape
            .dims()
            .iter()
            .zip(&view.strides)
            .zip(&last.strides);
        for ((&dim, own), other) in moving {
            assert!(dim == 1 || own == other, "{view:?} {last:?}");
        }
    }

    #[test]
    fn slices_moved_axes_and_new_axes_lead_back_to_their_view() {
        let shape = Shape::new(&[2, 3, 5, 7]).unwrap();
        let row_major = View::contiguous(shape.clone());
        let other = View::with_axis_order(shape, &[1, 0, 3, 2]);
        for root in [row_major, other] {
            let part = [range(0, 2), Take::Index(2), range(1, 4), range(3, 7)];
            let part = root.slice(&part).unwrap();
            check(&root, &part);
            check(&root, &part.moveaxis(0, 2).unwrap());
            check(&root, &part.moveaxis(2, 0).unwrap().unsqueeze(1).unwrap());
            let thin = root.slice(&[Take::Index(1), range(1, 2), range(4, 5), range(0, 7)]);
            check(&root, &thin.unwrap());
            let one = root.slice(&[Take::Index(1), Take::Index(2), range(4, 5), Take::Index(6)]);
            check(&root, &one.unwrap());
        }
    }

    #[test]
    fn steps_are_replayed_on_another_order_of_axes() {
        let shape = Shape::new(&[2, 3, 5, 7]).unwrap();
        let limb_major = View::with_axis_order(shape.clone(), &[0, 1, 3, 2]);
        let row_major = View::contiguous(shape);
        let part = |root: &View| {
            let part = root.slice(&[range(0, 2), Take::Index(2), range(1, 4), range(3, 7)]);
            part.unwrap().moveaxis(2, 0).unwrap().unsqueeze(1).unwrap()
        };
        let found = steps(&limb_major, &part(&limb_major)).unwrap();
        let expected = part(&row_major);
        let other = super::replayed(&row_major, &found).unwrap();
        assert_eq!(
            (&other.shape, other.offset),
            (&expected.shape, expected.offset)
        );
        assert_eq!(other.strides[2..], expected.strides[2..]);
    }

    #[test]
    fn what_slices_cannot_say_is_not_said() {
        let root = View::contiguous(Shape::new(&[4, 6]).unwrap());
        let steps_of_two = Take::Range {
            start: 0,
            stop: 6,
            step: 2,
        };
        let view = root.slice(&[range(0, 4), steps_of_two]).unwrap();
        assert!(steps(&root, &view).is_none());
        let flat = View::contiguous(Shape::new(&[24]).unwrap());
        assert!(steps(&root, &flat).is_none());
        let row = View::contiguous(Shape::new(&[1, 6]).unwrap());
        let repeated = row.broadcast_to(&root.shape).unwrap();
        let part = repeated.slice(&[range(1, 3), range(1, 4)]).unwrap();
        assert!(steps(&repeated, &part).is_none());
    }
}
