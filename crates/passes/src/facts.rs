//! Reads and writes of actions, by their declarations.

use crate::Draft;
use cloakwork_ops::{Access, Body, Effect, ParamKind};
use cloakwork_verify::{Action, Bound, Call, ValueId};

/// Calls `f` with each value whose elements an action reads.
pub(crate) fn for_reads(action: &Action, mut f: impl FnMut(ValueId)) {
    match action {
        Action::Upload { .. } | Action::Allocate { .. } | Action::View { .. } => {}
        Action::Copy { source, .. } => f(*source),
        Action::Download { value, .. } => f(*value),
        Action::Kernel { call, .. } | Action::Composite { call, .. } => {
            for_operands(call, |_, value| f(value));
            if let (false, Some(out)) = (overwrites(action), action.result())
                && call.values.contains(&Bound::Value(out))
            {
                f(out);
            }
        }
    }
}

/// Calls `f` with each tensor that a call is given beside its result, and its parameter.
pub(crate) fn for_operands(call: &Call, mut f: impl FnMut(usize, ValueId)) {
    let bounds = call.def.params.iter().zip(&call.values).enumerate();
    for (param, (def, bound)) in bounds {
        if let Bound::Value(value) = *bound
            && def.kind != ParamKind::Out
        {
            f(param, value);
        }
    }
}

/// Calls `f` with each operand whose contents a call demands to be something.
pub(crate) fn for_demanded(action: &Action, mut f: impl FnMut(ValueId)) {
    let Some(call) = action.call() else { return };
    for check in call.def.body.checks() {
        let param = call.def.param(check.operand());
        if let Some(value) = param.and_then(|param| call.value(param)) {
            f(value);
        }
    }
}

/// Calls `f` with each value that a step must be able to name.
pub(crate) fn for_named(action: &Action, mut f: impl FnMut(ValueId)) {
    match action {
        Action::Upload { .. } | Action::Allocate { .. } => {}
        Action::Download { value, .. } => f(*value),
        Action::Copy { call, .. }
        | Action::View { call, .. }
        | Action::Kernel { call, .. }
        | Action::Composite { call, .. } => {
            for bound in &call.values {
                if let Bound::Value(value) = *bound {
                    f(value);
                }
            }
        }
    }
}

/// The value whose elements an action writes.
pub(crate) fn written(action: &Action) -> Option<ValueId> {
    match action {
        Action::Allocate { .. } | Action::View { .. } | Action::Download { .. } => None,
        action => action.result(),
    }
}

/// Whether an action writes each element of what it writes without reading it.
pub(crate) fn overwrites(action: &Action) -> bool {
    match action {
        Action::Upload { .. } | Action::Copy { .. } => true,
        Action::Kernel { call, .. } => {
            matches!(&call.def.body, Body::Kernel(body) if body.access == Access::Write)
        }
        // What an expansion makes of a tensor that is given is its own affair.
        Action::Composite { call, result } => !call.values.contains(&Bound::Value(*result)),
        Action::Allocate { .. } | Action::View { .. } | Action::Download { .. } => false,
    }
}

/// Why a call is more than a function of its operands.
pub(crate) fn effect(action: &Action) -> Option<Effect> {
    written(action)?;
    action.call()?.def.effect()
}

/// Whether a run of an action may end with an error: contents that are unknown before the run are
/// not as the declaration demands. What the verifier knew it has checked.
pub(crate) fn can_fail(action: &Action) -> bool {
    let Some(call) = action.call() else {
        return false;
    };
    call.def.body.checks().iter().any(|check| {
        let param = call.def.param(check.operand());
        let known = |param| match call.values.get(param) {
            Some(Bound::Value(_)) => call.is_constant(param),
            _ => true,
        };
        !param.is_some_and(known)
    })
}

impl Draft<'_> {
    /// Whether a view that is written, and so reaches no element twice, is all of its storage.
    pub(crate) fn is_whole(&self, value: ValueId) -> bool {
        let Some(info) = self.verified.value(value) else {
            return false;
        };
        let (storage, _) = self.place(value);
        if self.root(storage) == value {
            return true;
        }
        let root = self
            .verified
            .storage(storage)
            .map(|s| s.root.shape.elements());
        root == Some(info.view.shape.elements())
    }

    /// Whether an action replaces all that a storage holds.
    pub(crate) fn replaces_all(&self, action: &Action) -> bool {
        overwrites(action) && written(action).is_some_and(|value| self.is_whole(value))
    }
}
