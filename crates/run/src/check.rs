//! Contents that only a run knows: moduli, permutations and indices that the program computed.
//! The rules are the declarations'; here they meet memory.

use crate::RunError;
use crate::names::op_name;
use crate::table::Memories;
use cloakwork_ir::{DType, View, read_word};
use cloakwork_ops::{ContentCheck, OpError};
use cloakwork_plan::{Check, Plan};

/// Holds a planned check to what lies in memory now.
pub(crate) fn contents(plan: &Plan, due: &Check, memories: &Memories) -> Result<(), RunError> {
    let start = memories.pointer(&due.address)?.cast::<u8>().cast_const();
    let view = View {
        offset: 0,
        ..due.view.clone()
    };
    let (low, high) = view.bounds();
    let size = due.dtype.size_bytes() as i64;
    // SAFETY: the plan's address and view lie inside the operand's memory, which no kernel writes
    // between two steps.
    let bytes = unsafe {
        std::slice::from_raw_parts(
            start.wrapping_offset((low * size) as isize),
            ((high - low) * size) as usize,
        )
    };
    let view = View {
        offset: -low,
        ..view
    };
    rule(due.rule, due.bound, due.dtype, &view, bytes).map_err(|error| RunError::Contents {
        step: plan.program_step(due.origin),
        op: op_name(plan.verified.program(), due.origin).to_owned(),
        error,
    })
}

/// Holds a rule to the elements of a view of some bytes.
pub(crate) fn rule(
    rule: ContentCheck,
    bound: i64,
    dtype: DType,
    view: &View,
    bytes: &[u8],
) -> Result<(), OpError> {
    let size = dtype.size_bytes();
    let view = rule.telling(view);
    let words = view.offsets().map(|offset| {
        let start = offset as usize * size;
        bytes
            .get(start..start + size)
            .map_or(0, |b| read_word(dtype, b))
    });
    let words: Vec<i64> = words.collect();
    rule.check(bound, &words)
}
