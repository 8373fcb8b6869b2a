//! Ops written as smaller ones: the expansions of a program's calls in their place. What comes out
//! is a program like any other, and passes the same verifier.

use crate::{Action, Call, Mistake, Verified, verify_rewritten};
use cloakwork_ir::{Arg, Builder, Op, Program, Step, Symbol};
use cloakwork_ops::{find_form, write_expansion};
use std::sync::Arc;

/// Which calls to expand, by a program, a step of it, and the action of the step.
pub type Choose<'a> = &'a dyn Fn(&Verified, u32, &Action) -> bool;

impl Verified {
    /// The same program without composite ops. It is made and verified once, however many plans are
    /// made of it.
    ///
    /// # Errors
    /// The step, and what is wrong with its expansion: a mistake in a declaration.
    pub fn lowered(self: &Arc<Self>) -> Result<Arc<Self>, Mistake> {
        if !self.is_composite() {
            return Ok(Arc::clone(self));
        }
        if let Some(made) = self.lowered.get() {
            return Ok(Arc::clone(made));
        }
        let made = expand(self, &|_, _, action| {
            matches!(action, Action::Composite { .. })
        })?;
        Ok(Arc::clone(self.lowered.get_or_init(|| made)))
    }

    /// Whether a call can be written in smaller ops.
    #[must_use]
    pub fn can_expand(&self, call: &Call) -> bool {
        let view_of = |value| self.view(value);
        call.def.body.expansion().is_some()
            && self.with_args(call, view_of, |args| call.def.body.expands(args))
    }

    /// Whether a call's checks of contents are done: the contents are known, and were found right.
    #[must_use]
    pub fn is_checked(&self, call: &Call) -> bool {
        call.def.body.checks().iter().all(|rule| {
            let param = call.def.param(rule.operand());
            param.is_none_or(|param| call.value(param).is_none() || call.is_constant(param))
        })
    }

    fn is_composite(&self) -> bool {
        let mut actions = self.actions.iter();
        actions.any(|(_, action)| matches!(action, Action::Composite { .. }))
    }
}

/// The same program with the chosen calls expanded, until none is chosen.
///
/// # Errors
/// The step, and what is wrong with its expansion: a mistake in a declaration.
pub fn expand(verified: &Arc<Verified>, choose: Choose<'_>) -> Result<Arc<Verified>, Mistake> {
    let mut now = Arc::clone(verified);
    while chosen(&now, choose).next().is_some() {
        now = Arc::new(expand_once(&now, choose)?.0);
    }
    Ok(now)
}

/// The steps and calls of a program that are chosen.
fn chosen<'v>(from: &'v Verified, choose: Choose<'v>) -> impl Iterator<Item = (u32, &'v Call)> {
    let actions = from.actions().iter();
    actions.filter_map(move |(step, action)| {
        let call = action.call()?;
        choose(from, *step, action).then_some((*step, call))
    })
}

/// The same program with the chosen calls expanded once, and for each of its steps the one of
/// `from` that it stands for.
///
/// # Errors
/// The step, and what is wrong with its expansion: a mistake in a declaration.
pub fn expand_once(from: &Verified, choose: Choose<'_>) -> Result<(Verified, Vec<u32>), Mistake> {
    let program = from.program();
    let mut chosen = chosen(from, choose).peekable();
    let mut builder = Builder {
        program: program.without_steps(),
    };
    let mut origins = Vec::with_capacity(program.steps.len());
    for (index, step) in (0u32..).zip(&program.steps) {
        match (step, chosen.next_if(|(at, _)| *at == index)) {
            (Step::Op(op), Some((_, call))) => {
                expand_step(from, op, call, &mut builder).map_err(|message| Mistake {
                    step: index,
                    message,
                })?;
            }
            (Step::Op(op), None) => {
                let (args, out) = (program.args(op), program.out(op));
                let copy = &mut builder.program;
                copy.push_call(op.name, args.iter().cloned(), out.cloned());
            }
            (other, _) => builder.program.steps.push(*other),
        }
        origins.resize(builder.program.steps.len(), index);
    }
    let made = verify_rewritten(builder.program, from, origins.clone());
    let made = made.map_err(|found| Mistake {
        message: format!("expansion: {}", found.message),
        ..found
    })?;
    Ok((made, origins))
}

fn expand_step(from: &Verified, op: &Op, call: &Call, builder: &mut Builder) -> Result<(), String> {
    let program = from.program();
    let args = by_parameter(program, op, call)?;
    let result = match program.out(op) {
        Some(Arg::Device(name, _)) => *name,
        _ => Symbol(builder.program.fresh_symbol().0),
    };
    let view_of = |value| from.view(value);
    from.with_args(call, view_of, |bound| {
        write_expansion((call.def, &args), bound, result, builder)
    })
    .map_err(|error| error.to_string())
}

/// The arguments of a step in the order of its op's parameters.
///
/// # Errors
/// The op has no such form: a mistake in a program that verified.
pub fn by_parameter(program: &Program, op: &Op, call: &Call) -> Result<Vec<Arg>, String> {
    let args = program.args(op);
    let (_, form) = find_form(program.text_name(op.name), args.len(), program.generation)
        .map_err(|error| error.to_string())?;
    let params = call.def.params.iter();
    let arg = |param: &cloakwork_ops::Param| match form.argument(param.name, args) {
        Some(arg) => arg.clone(),
        None => param.default.map_or(Arg::None, Arg::Int),
    };
    Ok(params.map(arg).collect())
}
