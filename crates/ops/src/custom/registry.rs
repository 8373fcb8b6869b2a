//! The ops that this process knows beside its own.

use super::{DeclarationError, Declared};
use crate::OpDef;
use cloakwork_process::Mutex;

/// In the order of their registration; none is ever removed.
static REGISTERED: Mutex<Vec<&'static OpDef>> = Mutex::new(Vec::new());

/// The registered op of a name: asked for after Cloakwork's own names.
#[must_use]
pub fn known_by_name(name: &str) -> Option<&'static OpDef> {
    REGISTERED
        .lock()
        .iter()
        .copied()
        .find(|def| def.name == name)
}

/// All registered ops.
#[must_use]
pub fn registered() -> Vec<&'static OpDef> {
    REGISTERED.lock().clone()
}

/// Registers the ops of a file. An op that is registered with the same declaration stays.
///
/// # Errors
/// A name that another op has: then none of them is registered.
pub fn register(declared: Vec<Declared>) -> Result<Vec<&'static OpDef>, DeclarationError> {
    let mut all = REGISTERED.lock();
    let mut fresh = Vec::new();
    let mut found = Vec::new();
    for own in declared {
        let known = all.iter().copied().find(|def| def.name == own.def.name);
        match known.and_then(OpDef::custom) {
            Some(known)
                if own
                    .def
                    .custom()
                    .is_none_or(|custom| custom.text != known.text) =>
            {
                let got = format!("{}, which {} declares", own.def.name, known.file);
                return Err(own.error("a name that no op has", got));
            }
            _ => {}
        }
        match known {
            Some(known) => found.push(known),
            None => {
                fresh.push(own.def);
                found.push(own.def);
            }
        }
    }
    all.extend(fresh);
    Ok(found)
}
