//! Expands composite ops into the ops that kernels exist for. The result is a program like any
//! other, and passes the same verifier.

use crate::PlanError;
use cloakwork_ir::{Arg, Builder, Op, Program, Step, Symbol};
use cloakwork_ops::{Expansion, OpDef, find_form};
use cloakwork_verify::{Action, Call, Verified, verify_rewritten};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A program without composite ops.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The program.
    pub verified: Arc<Verified>,
    /// For each of its steps, the step that it came from; `None` if nothing was expanded.
    pub origins: Option<Arc<[u32]>>,
}

/// Expands until nothing is composite.
///
/// # Errors
/// An expansion does not verify: a mistake in a declaration.
pub fn lower(verified: Arc<Verified>) -> Result<Lowered, PlanError> {
    expand_all(verified, &|action| match action {
        Action::Composite { call, .. } => Some(call),
        _ => None,
    })
}

/// Expands every op that a device lacks, as far as there is an expansion.
///
/// # Errors
/// An op that the device lacks has none; or, a mistake in a declaration, one does not verify.
pub fn lower_for(
    verified: Arc<Verified>,
    has: &dyn Fn(&OpDef) -> bool,
) -> Result<Lowered, PlanError> {
    let lowered = expand_all(verified, &|action| {
        let call = action.call()?;
        let lacking = !has(call.def) && call.def.body.expansion().is_some();
        lacking.then_some(call)
    })?;
    let mut missing = BTreeSet::new();
    let mut first = None;
    for (step, action) in lowered.verified.actions() {
        if let Action::Kernel { call, .. } = action
            && !has(call.def)
        {
            first = first.or(Some(*step));
            missing.insert(call.def.name);
        }
    }
    let Some(step) = first else {
        return Ok(lowered);
    };
    let origin = lowered.origins.as_ref().map_or(step, |o| o[step as usize]);
    Err(PlanError::NoExpansion {
        step: origin,
        ops: missing.into_iter().collect::<Vec<_>>().join(", "),
    })
}

/// Which steps to expand.
type Choose<'a> = &'a dyn Fn(&Action) -> Option<&Call>;

fn expand_all(verified: Arc<Verified>, choose: Choose<'_>) -> Result<Lowered, PlanError> {
    let mut lowered = Lowered {
        origins: verified.origins(),
        verified,
    };
    let chosen = |(_, action): &(u32, Action)| choose(action).is_some();
    while lowered.verified.actions().iter().any(chosen) {
        lowered = expand_once(&lowered, choose)?;
    }
    Ok(lowered)
}

fn expand_once(from: &Lowered, choose: Choose<'_>) -> Result<Lowered, PlanError> {
    let program = from.verified.program();
    let actions = from.verified.actions().iter();
    let mut composites =
        actions.filter_map(|(step, action)| choose(action).map(|call| (*step, call)));
    let mut next = composites.next();
    let mut builder = Builder {
        program: without_steps(program),
    };
    let mut origins = Vec::new();
    for (index, step) in program.steps.iter().enumerate() {
        let index = index as u32;
        match (step, next) {
            (Step::Op(op), Some((at, call))) if at == index => {
                expand_step(from, op, call, &mut builder).map_err(|message| {
                    PlanError::Internal {
                        step: index,
                        message,
                    }
                })?;
                next = composites.next();
            }
            (Step::Op(op), _) => {
                let (args, out) = (program.args(op).to_vec(), program.out(op).cloned());
                builder
                    .program
                    .push_op(program.text_name(op.name), args, out);
            }
            (other, _) => builder.program.steps.push(*other),
        }
        origins.resize(builder.program.steps.len(), index);
    }
    let rewritten = verify_rewritten(builder.program, &from.verified, origins);
    let verified = rewritten.map_err(|(step, finding)| PlanError::Internal {
        step,
        message: format!("expansion: {finding}"),
    })?;
    Ok(Lowered {
        origins: verified.origins(),
        verified: Arc::new(verified),
    })
}

/// The same names, texts and host slots, no steps.
fn without_steps(program: &Program) -> Program {
    let mut copy = Program::new();
    copy.hosts.clone_from(&program.hosts);
    copy.symbols = program.symbols.clone();
    copy.texts = program.texts.clone();
    copy.generation = program.generation;
    copy
}

fn expand_step(from: &Lowered, op: &Op, call: &Call, builder: &mut Builder) -> Result<(), String> {
    let program = from.verified.program();
    let Some(expand) = call.def.body.expansion() else {
        return Ok(());
    };
    let args = by_parameter(program, op, call)?;
    let result = match program.out(op) {
        Some(Arg::Device(name, _)) => *name,
        _ => Symbol(builder.program.fresh_symbol().0),
    };
    let mut expansion = Expansion::new(call.def, &args, result, builder);
    from.verified
        .with_args(
            call,
            |value| from.verified.view(value),
            |bound| expand(bound, &mut expansion),
        )
        .and_then(|()| expansion.finish())
        .map_err(|error| error.to_string())
}

/// The arguments of a step in the order of its op's parameters.
fn by_parameter(program: &Program, op: &Op, call: &Call) -> Result<Vec<Arg>, String> {
    let args = program.args(op);
    let (_, form) = find_form(program.text_name(op.name), args.len(), program.generation)
        .map_err(|error| error.to_string())?;
    let given = |name: &str| {
        form.args
            .iter()
            .position(|&n| n == name)
            .and_then(|i| args.get(i))
    };
    let arg = |param: &cloakwork_ops::Param| match given(param.name) {
        Some(arg) => arg.clone(),
        None => param.default.map_or(Arg::None, Arg::Int),
    };
    Ok(call.def.params.iter().map(arg).collect())
}
