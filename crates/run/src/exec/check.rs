//! Status words of checks: 0 where all is well, else the error of the rule. The rules are the
//! declarations'; kernels look at the elements.

use crate::RunError;
use crate::exec::table::Memories;
use crate::report::names::op_name;
use cloakwork_ir::{View, read_word};
use cloakwork_ops::{ContentCheck, OpError};
use smallvec::SmallVec;
use std::sync::atomic::Ordering;

/// Reads the status word of a check that the host launched.
///
/// # Errors
/// What the rule of the check says of the contents.
pub(crate) fn read(memories: &Memories, check: u32) -> Result<(), RunError> {
    match memories.statuses[check as usize].load(Ordering::Relaxed) {
        0 => Ok(()),
        status => Err(refused(memories, check, status)),
    }
}

/// The error of a check with this status.
#[cold]
pub(crate) fn refused(memories: &Memories, check: u32, status: u64) -> RunError {
    let found = refusal_of(memories, check, status);
    found.unwrap_or_else(|error| error)
}

fn refusal_of(memories: &Memories, check: u32, status: u64) -> Result<RunError, RunError> {
    let plan = memories.plan;
    let internal = || RunError::Internal("a check that no step reads".into());
    let step = plan.step_of_check(check).ok_or_else(internal)?;
    let due = &plan.checks[check as usize];
    let (first, origin) = (plan.steps[step].first_address, plan.steps[step].origin);
    let address = &plan.addresses[first as usize + 1];
    let size = due.dtype.size_bytes();
    let read = |offset: i64| {
        let bytes = memories.bytes(address, offset * size as i64, size)?;
        Ok::<_, RunError>(read_word(due.dtype, &bytes))
    };
    let error = refusal((due.rule, due.bound), &due.view, status, read)?;
    let step = plan.program_step(origin);
    let place = plan.verified.label(step);
    if let (ContentCheck::True(_), Some(message)) = (due.rule, plan.verified.message(step)) {
        return Ok(RunError::Assertion {
            step,
            place,
            element: due.rule.element(status, &due.view) as usize,
            message: message.to_owned(),
        });
    }
    Ok(RunError::Contents {
        step,
        place,
        op: op_name(plan.verified.program(), origin).to_owned(),
        error: Box::new(error),
    })
}

/// The error of a status word: `read` gives the word of the element that lies so many elements
/// behind the view's first one.
pub(crate) fn refusal<E>(
    (rule, bound): (ContentCheck, i64),
    view: &View,
    status: u64,
    mut read: impl FnMut(i64) -> Result<i64, E>,
) -> Result<OpError, E> {
    let view = rule.telling(view);
    let count = view.shape.elements();
    let named = rule.named(bound, status, count);
    let words = named.into_iter().map(|place| read(offset(&view, place)));
    let words: SmallVec<[i64; 16]> = words.collect::<Result<_, E>>()?;
    Ok(rule.refusal(bound, (status, count), &words))
}

/// How far a row-major place is behind a view's first element.
fn offset(view: &View, mut place: u64) -> i64 {
    let axes = view.shape.dims().iter().zip(&view.strides);
    axes.rev().fold(0, |sum, (&dim, &stride)| {
        let index = place % dim.max(1);
        place /= dim.max(1);
        sum + index as i64 * stride
    })
}
