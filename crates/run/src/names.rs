//! Finding one's way from planned steps back to the program.

use cloakwork_ir::{Arg, HostTensor, Program, Step, shortened};
use cloakwork_plan::Plan;
use cloakwork_verify::{Action, StorageId};

/// The op that a step of the (lowered) program calls.
pub fn op_name(program: &Program, origin: u32) -> &str {
    match program.steps.get(origin as usize) {
        Some(Step::Op(op)) => program.text_name(op.name),
        _ => "",
    }
}

/// The name of the tensor that a download reads, and the op that last wrote its storage.
pub fn downloaded(plan: &Plan, origin: u32) -> (String, Option<(u32, String)>) {
    let program = plan.verified.program();
    let name = match program.steps.get(origin as usize) {
        Some(Step::Op(op)) => program.args(op).iter().find_map(|arg| match arg {
            Arg::Device(symbol, _) => Some(shortened(program.symbol_name(*symbol))),
            _ => None,
        }),
        _ => None,
    };
    let writer = storage_of_download(plan, origin).and_then(|s| last_writer(plan, s, origin));
    let writer = writer.map(|step| (plan.program_step(step), op_name(program, step).to_owned()));
    (name.unwrap_or_default(), writer)
}

fn storage_of_download(plan: &Plan, origin: u32) -> Option<StorageId> {
    let actions = plan.verified.actions();
    let found = actions
        .binary_search_by_key(&origin, |(step, _)| *step)
        .ok()?;
    match actions.get(found) {
        Some((_, Action::Download { value, .. })) => {
            plan.verified.value(*value).map(|info| info.storage)
        }
        _ => None,
    }
}

fn last_writer(plan: &Plan, storage: StorageId, before: u32) -> Option<u32> {
    let verified = &plan.verified;
    let writes = |action: &Action| match action {
        Action::Kernel { out, .. } | Action::Copy { value: out, .. } => verified
            .value(*out)
            .is_some_and(|info| info.storage == storage),
        _ => false,
    };
    let earlier = verified
        .actions()
        .iter()
        .rev()
        .filter(|(step, _)| *step < before);
    earlier
        .into_iter()
        .find(|(_, action)| writes(action))
        .map(|(step, _)| *step)
}

/// The bytes of one element of a host tensor by row-major position.
pub fn element(tensor: &HostTensor, flat: u64) -> Option<&[u8]> {
    let view = tensor.view();
    let index = crate::outcome::unravel(flat, &view.shape);
    let offset = index
        .iter()
        .zip(&view.strides)
        .fold(view.offset, |o, (&i, &s)| o + i as i64 * s);
    let size = tensor.dtype().size_bytes();
    let start = usize::try_from(offset).ok()? * size;
    tensor.bytes().as_slice().get(start..start + size)
}
