//! Lowers a program to the ops of a device: expands ops that the device lacks, and names those that
//! have no expansion.

use crate::PlanError;
use cloakwork_ops::OpDef;
use cloakwork_verify::{Action, Verified, expand};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Expands every op that a device lacks and that has an expansion.
///
/// # Errors
/// The device lacks an op that has no expansion; or, by a mistake in a declaration, an expansion
/// does not verify.
pub fn lower_for(
    verified: &Arc<Verified>,
    has: &dyn Fn(&OpDef) -> bool,
) -> Result<Arc<Verified>, PlanError> {
    let lowered = expand(verified, &|from, _, action| {
        let mut call = action.call().into_iter();
        call.any(|call| !has(call.def) && from.can_expand(call))
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
