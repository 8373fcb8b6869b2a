//! Contents that only a run knows: moduli, permutations and indices that the program computed.
//! The rules are the declarations'; here they meet memory.

use crate::RunError;
use crate::exec::table::Memories;
use crate::report::names::op_name;
use cloakwork_ir::{DType, View, read_word};
use cloakwork_kernels::{Isa, LaunchShape, RawLaunch, select};
use cloakwork_ops::{ContentCheck, EXTREME_KERNELS, OpError};
use cloakwork_plan::Step;

/// Runs a step that holds a rule to what lies in memory now.
pub(crate) fn contents(memories: &Memories, step: &Step, check: u32) -> Result<(), RunError> {
    let plan = memories.plan;
    let due = &plan.checks[check as usize];
    let mut address = &plan.addresses[step.first_address as usize];
    let view = View {
        offset: 0,
        ..due.view.clone()
    };
    let (low, high) = view.bounds();
    let size = due.dtype.size_bytes() as i64;
    let (first, count) = (low * size, (high - low) * size);
    let looked_at;
    if due.by_extremes {
        // SAFETY: the plan puts both words there, and the driver wrote them.
        let extremes = unsafe { memories.pointer(address)?.cast::<[i64; 2]>().read() };
        if due.rule.holds_between(due.bound, extremes) {
            return Ok(());
        }
        address = &plan.addresses[step.first_address as usize + 1];
        looked_at = memories.on_device(address, first, count as u64)?;
    } else {
        looked_at = None;
    }
    let bytes = match &looked_at {
        Some(block) => block.as_slice(),
        None => {
            let start = memories.pointer(address)?.cast::<u8>().cast_const();
            // SAFETY: the plan's address and view lie inside the operand's memory, and no thread
            // writes there meanwhile.
            unsafe {
                std::slice::from_raw_parts(start.wrapping_offset(first as isize), count as usize)
            }
        }
    };
    let view = View {
        offset: -low,
        ..view
    };
    let origin = step.origin;
    let step = plan.program_step(origin);
    let elements = (due.dtype, &view, bytes);
    rule(due.rule, due.bound, elements, plan.options.isa).map_err(|error| {
        let place = plan.verified.label(step);
        if let (ContentCheck::True(_), Some(message)) = (due.rule, plan.verified.message(step)) {
            return RunError::Assertion {
                step,
                place,
                element: first_zero(&view, bytes),
                message: message.to_owned(),
            };
        }
        RunError::Contents {
            step,
            place,
            op: op_name(plan.verified.program(), origin).to_owned(),
            error: Box::new(error),
        }
    })
}

/// The row-major place of the first byte that is 0.
fn first_zero(view: &View, bytes: &[u8]) -> usize {
    let is_zero = |offset: i64| bytes.get(offset as usize) == Some(&0);
    view.offsets().position(is_zero).unwrap_or(0)
}

/// Holds a rule to the elements of a view of some bytes.
pub(crate) fn rule(
    rule: ContentCheck,
    bound: i64,
    (dtype, view, bytes): (DType, &View, &[u8]),
    isa: Isa,
) -> Result<(), OpError> {
    if rule.is_about_extremes()
        && let Some(extremes) = extremes((dtype, view, bytes), isa)
        && rule.holds_between(bound, extremes)
    {
        return Ok(());
    }
    if dense(dtype, view, bytes).is_some_and(|bytes| rule.surely_holds(bound, bytes)) {
        return Ok(());
    }
    let size = dtype.size_bytes();
    let part = dtype.component().size_bytes();
    let view = rule.telling(view);
    let words = view.offsets().flat_map(|offset| {
        let start = offset as usize * size;
        let element = bytes.get(start..start + size).unwrap_or_default();
        element.chunks(part).map(|word| read_word(dtype, word))
    });
    let words: Vec<i64> = words.collect();
    rule.check(bound, &words)
}

/// The bytes of elements that lie one after the other.
fn dense<'a>(dtype: DType, view: &View, bytes: &'a [u8]) -> Option<&'a [u8]> {
    let start = usize::try_from(view.offset)
        .ok()?
        .checked_mul(dtype.size_bytes())?;
    let count = usize::try_from(view.shape.elements()).ok()?;
    let end = start.checked_add(count.checked_mul(dtype.size_bytes())?)?;
    view.is_contiguous().then(|| bytes.get(start..end))?
}

/// The least and the greatest of dense i64 elements, by kernels: indices that are in range, as
/// nearly all are, need no closer look. None where there is no element or they are not dense.
fn extremes((dtype, view, bytes): (DType, &View, &[u8]), isa: Isa) -> Option<[i64; 2]> {
    let elements = view.shape.elements();
    let first = dense(dtype, view, bytes)?;
    if dtype != DType::I64 || elements == 0 {
        return None;
    }
    let of = |kernel| {
        let row = select(kernel, dtype, dtype, isa)?;
        let mut result = 0i64;
        let data = [
            std::ptr::from_mut(&mut result).cast(),
            first.as_ptr().cast_mut().cast(),
        ];
        let shape = LaunchShape {
            dims: &[elements as i64],
            strides: &[0, 1],
            params: &[1],
        };
        let launch = RawLaunch::new(&shape, &data, std::ptr::null());
        // SAFETY: so many elements are there; one unit, and a result of its own.
        unsafe { row.run(&launch, 0, 1, std::ptr::null_mut()) };
        Some(result)
    };
    let [least, greatest] = EXTREME_KERNELS.map(of);
    Some([least?, greatest?])
}
