//! Ops written as smaller ones: the expansions of a program's calls in their place. What comes out
//! is a program like any other, and passes the same verifier.

use crate::{Action, Call, Mistake, Verified, verify_rewritten};
use cloakwork_ir::{Arg, Builder, Op, Program, Step, Symbol};
use cloakwork_ops::{find_form, write_expansion};
use std::sync::Arc;

/// Which calls to expand.
pub type Choose<'a> = &'a dyn Fn(&Action) -> Option<&Call>;

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
        let made = expand(self, &|action| match action {
            Action::Composite { call, .. } => Some(call),
            _ => None,
        })?;
        Ok(Arc::clone(self.lowered.get_or_init(|| made)))
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
    while now
        .actions()
        .iter()
        .any(|(_, action)| choose(action).is_some())
    {
        now = Arc::new(expand_once(&now, choose)?);
    }
    Ok(now)
}

fn expand_once(from: &Verified, choose: Choose<'_>) -> Result<Verified, Mistake> {
    let program = from.program();
    let actions = from.actions().iter();
    let mut chosen = actions
        .filter_map(|(step, action)| choose(action).map(|call| (*step, call)))
        .peekable();
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
    verify_rewritten(builder.program, from, origins).map_err(|found| Mistake {
        message: format!("expansion: {}", found.message),
        ..found
    })
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
fn by_parameter(program: &Program, op: &Op, call: &Call) -> Result<Vec<Arg>, String> {
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
