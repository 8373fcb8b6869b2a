//! Devices of HEAL's interface: generations of ops, and the ops that a device has.

use crate::errors;
use cloakwork_ir::Generation;
use cloakwork_ops::{ALL, find};
use cloakwork_verify::HealDevice;
use pyo3::prelude::*;
use std::collections::BTreeSet;

/// A generation of HEAL's ops by its name.
pub(super) fn generation_named(name: &str) -> PyResult<Generation> {
    match name {
        "first" => Ok(Generation::First),
        "later" => Ok(Generation::Later),
        other => Err(errors::param("generation", other, "first or later")),
    }
}

/// A device by the names of its ops; an error for the first unknown name of the alphabet.
pub(super) fn device_of(
    generation: &str,
    ops: Option<BTreeSet<String>>,
    keep: BTreeSet<String>,
) -> PyResult<HealDevice> {
    let generation = generation_named(generation)?;
    let mut device = HealDevice::of(generation);
    if let Some(ops) = ops {
        let spelled = |name: &String| spells(name, generation);
        if let Some(name) = ops.iter().find(|name| !spelled(name)) {
            let allowed = "names of HEAL's ops as transcripts have them; others go into keep";
            return Err(errors::param("ops", name, allowed));
        }
        device.ops = ops.into_iter().collect();
    }
    if let Some(name) = keep.iter().find(|name| find(name).is_none()) {
        let allowed = "names of ops: docs/ops.md lists them";
        return Err(errors::param("keep", name, allowed));
    }
    device.keep = keep.into_iter().collect();
    Ok(device)
}

/// Whether a generation of HEAL's interface has an op of this name.
fn spells(name: &str, generation: Generation) -> bool {
    let mut forms = ALL.iter().flat_map(|def| def.forms);
    forms.any(|form| form.name == name && form.is_heals(generation))
}
