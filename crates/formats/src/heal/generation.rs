//! Which of HEAL's two op sets a transcript is written in.

use cloakwork_ir::{Arg, DType, Generation, HostSlot, Op, Program, Step};

/// Ops that a transcript of the first generation cannot call.
const LATER_ONLY: [&str; 9] = [
    "apply_g_decomp",
    "apply_g_decomp_relative_to_full_q",
    "flatten",
    "get_slice",
    "modmul_axis_sum",
    "moveaxis",
    "pad_single_axis",
    "set_const_val",
    "take_along_axis",
];

/// Arguments of `ntt` in the first generation, which has no axis there.
const FIRST_NTT_ARGS: usize = 10;

/// First if some `ntt` has the first generation's form and nothing is of the later one. A program
/// that shows neither is taken as later, for that is what is published.
pub(super) fn detect(program: &Program) -> Generation {
    let later_data = program
        .hosts
        .iter()
        .any(|slot| matches!(slot, HostSlot::Data(tensor) if tensor.dtype() == DType::I8));
    let mut first = false;
    for step in &program.steps {
        let Step::Op(op) = step else { continue };
        if is_later(program, op) {
            return Generation::Later;
        }
        first |= program.text_name(op.name) == "ntt" && program.args(op).len() == FIRST_NTT_ARGS;
    }
    if first && !later_data {
        Generation::First
    } else {
        Generation::Later
    }
}

fn is_later(program: &Program, op: &Op) -> bool {
    let name = program.text_name(op.name);
    let args = program.args(op);
    LATER_ONLY.contains(&name)
        || (name == "ntt" && args.len() > FIRST_NTT_ARGS)
        || args
            .iter()
            .chain(program.out(op))
            .any(|arg| matches!(arg, Arg::DType(DType::I8) | Arg::Device(_, Some(DType::I8))))
}
