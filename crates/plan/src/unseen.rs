//! Zeros that no step sees: tensors that steps write whole, part by part, before one reads any of
//! them. Nobody has to make these zeros.

use cloakwork_ir::View;
use cloakwork_ops::{Access, Body};
use cloakwork_verify::{Action, StorageOrigin, ValueId, Verified};
use smallvec::SmallVec;
use std::ops::Range;

/// A tensor in more parts is not followed.
const MOST_PARTS: usize = 64;

/// Positions along each axis of a tensor.
type Block = SmallVec<[Range<u64>; 4]>;

/// The parts of a tensor that steps have written so far.
#[derive(Clone, Default)]
struct Parts {
    blocks: Vec<Block>,
    elements: u64,
    /// Some part is no block, was written twice, or read too early.
    is_lost: bool,
}

/// For each storage whether nobody sees the zeros that it holds at first.
pub(crate) fn unseen(verified: &Verified) -> Vec<bool> {
    let storages = verified.storages();
    let mut found = vec![false; storages.len()];
    let mut parts = vec![Parts::default(); storages.len()];
    // Storages of which some is written. A read of one before that makes its zeros in any case: a
    // step that reads them is the first to touch it.
    let mut open = 0u32;
    for (_, action) in verified.actions() {
        let Action::Kernel { out, .. } = action else {
            if open > 0 {
                touched(verified, action, &mut |value, _| {
                    lose(verified, value, &mut parts)
                });
            }
            continue;
        };
        let mut reads_out = false;
        touched(verified, action, &mut |value, reads| match reads {
            true if open > 0 => lose(verified, value, &mut parts),
            true => reads_out |= value == *out,
            false => {}
        });
        let Some(info) = verified.value(*out) else {
            continue;
        };
        let at = info.storage.0 as usize;
        let (stored, own) = (&storages[at], &mut parts[at]);
        let is_zeros = stored.origin == StorageOrigin::Zeros && !found[at] && !own.is_lost;
        let all = stored.root.shape.elements();
        if !is_zeros || reads_out || info.view.shape.elements() == all {
            continue;
        }
        open += u32::from(own.blocks.is_empty());
        own.add(block(&stored.root, &info.view));
        found[at] = !own.is_lost && own.elements == all;
    }
    found
}

/// Calls a function with the values that a step touches, in order, and whether it reads them.
pub(crate) fn touched(verified: &Verified, action: &Action, then: &mut dyn FnMut(ValueId, bool)) {
    match action {
        Action::Kernel { call, out } => {
            let Body::Kernel(body) = &call.def.body else {
                return;
            };
            let of = |value: ValueId| verified.value(value).map(|info| info.storage);
            let own = call.def.out();
            let mut keeps = body.access == Access::Accumulate;
            for param in (0..call.values.len()).filter(|&param| Some(param) != own) {
                if let Some(value) = call.value(param) {
                    keeps |= of(value) == of(*out);
                    then(value, true);
                }
            }
            then(*out, keeps);
        }
        Action::Copy { source, .. } => then(*source, true),
        Action::Download { value, .. } => then(*value, true),
        _ => {}
    }
}

fn lose(verified: &Verified, value: ValueId, parts: &mut [Parts]) {
    if let Some(info) = verified.value(value) {
        parts[info.storage.0 as usize].is_lost = true;
    }
}

impl Parts {
    fn add(&mut self, block: Option<Block>) {
        let meets = |own: &Block, other: &Block| {
            let mut axes = own.iter().zip(other);
            axes.all(|(a, b)| a.start < b.end && b.start < a.end)
        };
        let alone = block.filter(|new| !self.blocks.iter().any(|old| meets(old, new)));
        match alone.filter(|_| self.blocks.len() < MOST_PARTS) {
            None => self.is_lost = true,
            Some(block) => {
                let sizes = block.iter().map(|range| range.end - range.start);
                self.elements += sizes.product::<u64>();
                self.blocks.push(block);
            }
        }
    }
}

/// The positions of a view in the tensor that it is of; `None` if they are no block of it.
fn block(root: &View, view: &View) -> Option<Block> {
    let mut rest = u64::try_from(view.offset).ok()?;
    let mut found = Block::new();
    for (&size, &stride) in root.shape.dims().iter().zip(&root.strides) {
        let begin = match size {
            0 | 1 => 0,
            _ => rest / u64::try_from(stride).ok().filter(|&stride| stride > 0)?,
        };
        rest -= begin * stride as u64;
        found.push(begin..begin + 1);
    }
    let mut is_taken: SmallVec<[bool; 4]> = SmallVec::from_elem(false, found.len());
    for (&size, &stride) in view.shape.dims().iter().zip(&view.strides) {
        if size == 1 {
            continue;
        }
        let mut axes = root.shape.dims().iter().zip(&root.strides).enumerate();
        let (axis, (&whole, _)) =
            axes.find(|&(axis, (&own, &other))| own > 1 && other == stride && !is_taken[axis])?;
        is_taken[axis] = true;
        found[axis].end = found[axis].start + size;
        if found[axis].end > whole {
            return None;
        }
    }
    (rest == 0 && !view.shape.dims().contains(&0)).then_some(found)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use cloakwork_verify::verify;
    use std::sync::Arc;

    /// Whether nobody sees the zeros of `%o`, of 4 times 3 numbers, given what comes before it is
    /// read whole.
    fn is_unseen(steps: &str) -> bool {
        let text = format!(
            "%a = host_to_device i64[2, 3] {{1, 2, 3, 4, 5, 6}}
             %r = get_slice %a, [0:1:1, 0:3:1]
             %o = empty [4, 3], i64
             {steps}
             device_to_host %o, none -> output \"o\""
        );
        let program = cloakwork_ir::text::parse(&text).unwrap();
        let checked = verify(Arc::new(program));
        let verified = checked
            .verified
            .unwrap_or_else(|| panic!("{text}: {:?}", checked.findings));
        let of_o = verified.storages().iter().position(|stored| {
            stored.origin == StorageOrigin::Zeros && stored.root.shape.dims() == [4, 3]
        });
        unseen(&verified)[of_o.unwrap()]
    }

    const HALVES: &str = "%v = get_slice %o, [2:4:1, 0:3:1]
         %v = add %a, %a, %v
         %w = get_slice %o, [0:2:1, 0:3:1]
         %w = add %a, %a, %w";

    #[test]
    fn parts_that_make_the_whole_leave_no_zeros() {
        assert!(is_unseen(HALVES));
        // Columns, and a row without its axis.
        let blocks = "%u = get_slice %o, [1:3:1, 0:3:1]
             %u = add %a, %a, %u
             %v = get_slice %o, [0, 0:3:1]
             %b = get_slice %a, [0, 0:3:1]
             %v = add %b, %b, %v
             %w = get_slice %o, [3:4:1, 0:3:1]
             %w = add %r, %r, %w";
        assert!(is_unseen(blocks));
    }

    #[test]
    fn zeros_are_seen_where_a_part_is_lacking_read_or_written_twice() {
        let (first, second) = HALVES.split_at(HALVES.find("%w").unwrap());
        assert!(!is_unseen(first));
        let read = format!("{first}%c = empty [4, 3], i64\n%c = add %o, %o, %c\n{second}");
        assert!(!is_unseen(&read));
        let twice = "%v = get_slice %o, [1:3:1, 0:3:1]
             %v = add %a, %a, %v
             %w = get_slice %o, [0:2:1, 0:3:1]
             %w = add %a, %a, %w
             %x = get_slice %o, [3:4:1, 0:3:1]
             %x = add %r, %r, %x";
        assert!(!is_unseen(twice));
        let apart = "%v = get_slice %o, [0:4:2, 0:3:1]
             %v = add %a, %a, %v
             %w = get_slice %o, [1:4:2, 0:3:1]
             %w = add %a, %a, %w";
        assert!(!is_unseen(apart), "steps of two are not followed");
        let kept = "%v = get_slice %o, [2:4:1, 0:3:1]
             %v = add %a, %v, %v
             %w = get_slice %o, [0:2:1, 0:3:1]
             %w = add %a, %a, %w";
        assert!(!is_unseen(kept));
    }
}
