//! Ops written as smaller ones: the expansions of a program's calls in their place. What comes out
//! is a program like any other, and passes the same verifier.

use crate::{Action, Call, Mistake, Verified, verify_rewritten};
use cloakwork_ir::{Arg, Builder, Op, Overlap, Program, Step, Symbol};
use cloakwork_ops::{find_form, write_expansion, write_expansion_apart};
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
    let mut args = by_parameter(program, op, call)?;
    let result = match program.out(op) {
        Some(Arg::Device(name, _)) => *name,
        _ => Symbol(builder.program.fresh_symbol().0),
    };
    let is_in_place = name_alike(from, call, &mut args);
    let write = match is_in_place && call.def.custom().is_some() {
        true => write_expansion_apart,
        false => write_expansion,
    };
    let view_of = |value| from.view(value);
    let written = from.with_args(call, view_of, |bound| {
        write((call.def, &args), bound, result, builder)
    });
    written.map_err(|error| error.to_string())
}

/// Operands that are `out` under another name get the name of `out`: a rule on aliasing is about
/// elements, but expansions see names. Returns whether there are operands that are `out`.
fn name_alike(from: &Verified, call: &Call, args: &mut [Arg]) -> bool {
    let place = call.def.out();
    let Some((place, out)) = place.and_then(|i| Some((i, from.value(call.value(i)?)?))) else {
        return false;
    };
    // The rank of moduli counts, that of what is broadcast to `out` does not.
    let is_checked = |param: usize| {
        let mut checks = call.def.body.checks().iter();
        checks.any(|check| call.def.param(check.operand()) == Some(param))
    };
    let Some(own) = args.get(place).cloned() else {
        return false;
    };
    let mut found = false;
    for (param, _, value) in call.reads() {
        let same = from.value(value).filter(|read| {
            read.storage == out.storage && read.view.overlap(&out.view) == Overlap::Same
        });
        let Some(read) = same else { continue };
        found = true;
        let is_alike = read.view == out.view || !is_checked(param);
        if let Some(arg) = args.get_mut(param).filter(|_| is_alike) {
            arg.clone_from(&own);
        }
    }
    found
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
