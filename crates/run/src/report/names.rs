//! Maps planned steps back to the program.

use cloakwork_ir::{Arg, HostTensor, Program, Step, shortened};
use cloakwork_plan::Plan;
use cloakwork_verify::{Action, StorageId, Verified};

/// The op that a step of the (lowered) program calls.
pub fn op_name(program: &Program, origin: u32) -> &str {
    match program.steps.get(origin as usize) {
        Some(Step::Op(op)) => program.text_name(op.name),
        _ => "",
    }
}

/// The name of the tensor that download `index` reads, and the op that last wrote its storage, both
/// from the program as given, even if passes changed it.
pub fn downloaded(plan: &Plan, index: usize) -> (String, Option<(u32, String)>) {
    let given = plan.given.as_ref();
    // The program was lowered before; the names in the program after the passes differ.
    let lowered = given.and_then(|given| given.lowered().ok());
    let verified = lowered.as_ref().unwrap_or(&plan.verified);
    let origins = lowered
        .as_ref()
        .map_or_else(|| plan.origins.clone(), |it| it.origins());
    let mut downloads = verified
        .actions()
        .iter()
        .filter_map(|(step, action)| match action {
            Action::Download { value, .. } => Some((*step, *value)),
            _ => None,
        });
    let Some((origin, value)) = downloads.nth(index) else {
        return (String::new(), None);
    };
    let program = verified.program();
    let name = match program.steps.get(origin as usize) {
        Some(Step::Op(op)) => program.args(op).iter().find_map(|arg| match arg {
            Arg::Device(symbol, _) => Some(shortened(program.symbol_name(*symbol))),
            _ => None,
        }),
        _ => None,
    };
    let storage = verified.value(value).map(|info| info.storage);
    let writer = storage.and_then(|storage| last_writer(verified, storage, origin));
    let number = |step: u32| {
        let origins = origins.as_ref();
        origins
            .and_then(|all| all.get(step as usize).copied())
            .unwrap_or(step)
    };
    let writer = writer.map(|step| (number(step), op_name(program, step).to_owned()));
    (name.unwrap_or_default(), writer)
}

fn last_writer(verified: &Verified, storage: StorageId, before: u32) -> Option<u32> {
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

/// The bytes of one element of a host tensor, by row-major index.
pub fn element(tensor: &HostTensor, flat: u64) -> Option<&[u8]> {
    let view = tensor.view();
    let index = crate::report::outcome::unravel(flat, &view.shape);
    let offset = index
        .iter()
        .zip(&view.strides)
        .fold(view.offset, |o, (&i, &s)| o + i as i64 * s);
    let size = tensor.dtype().size_bytes();
    let start = usize::try_from(offset).ok()? * size;
    tensor.bytes().as_slice().get(start..start + size)
}
