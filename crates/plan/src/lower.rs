//! A program in the ops of a device: what it lacks is expanded, what cannot be is named.

use crate::PlanError;
use cloakwork_ops::OpDef;
use cloakwork_verify::{Action, Verified, expand};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Expands every op that a device lacks, as far as there is an expansion.
///
/// # Errors
/// An op that the device lacks has none; or, a mistake in a declaration, one does not verify.
pub fn lower_for(
    verified: &Arc<Verified>,
    has: &dyn Fn(&OpDef) -> bool,
) -> Result<Arc<Verified>, PlanError> {
    let lowered = expand(verified, &|action| {
        let call = action.call()?;
        let lacking = !has(call.def) && call.def.body.expansion().is_some();
        lacking.then_some(call)
    })?;
    let mut missing = BTreeSet::new();
    let mut first = None;
    for (step, action) in lowered.actions() {
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
    let origins = lowered.origins();
    Err(PlanError::NoExpansion {
        step: origins.map_or(step, |origins| origins[step as usize]),
        ops: missing.into_iter().collect::<Vec<_>>().join(", "),
    })
}
