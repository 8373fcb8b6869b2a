//! The target of a plan, and the effect of passes on a program.

use crate::device::Place;
use crate::errors;
use crate::guard::unlocked;
use cloakwork_ir::Device;
use cloakwork_passes::{PASSES, Shown, shown};
use cloakwork_plan::Resident;
use cloakwork_verify::Verified;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most memory in bytes, of all devices together and of single ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    /// All of them.
    pub total: Option<u64>,
    /// Single ones.
    pub devices: Vec<(Device, u64)>,
}

impl Budget {
    pub fn new(total: Option<u64>, devices: Option<BTreeMap<String, u64>>) -> PyResult<Self> {
        let named = |(name, bytes): (String, u64)| match Device::from_name(&name) {
            Some(device) => Ok((device, bytes)),
            None => Err(errors::param("memory_budget", &name, Device::NAMES)),
        };
        let devices = devices.unwrap_or_default().into_iter().map(named);
        let devices = devices.collect::<PyResult<_>>()?;
        Ok(Self { total, devices })
    }
}

/// The key of a plan, besides the program and the selected instructions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// Worker threads.
    pub threads: usize,
    /// Where a program computes that names no device itself.
    pub place: Place,
    /// The most memory.
    pub budget: Budget,
    /// Whether passes clean the program first.
    pub optimize: bool,
    /// Whether steps may run on the host instead of the device.
    pub fallback: bool,
    /// Inputs that the device holds, and whether it keeps the results.
    pub resident: Resident,
}

/// The effect of a pass on a program: its name, what it does, calls removed of each op, the text.
pub type Passed = (
    &'static str,
    &'static str,
    BTreeMap<String, i64>,
    Option<String>,
);

/// The program's text, and the effect of each pass on it.
pub fn passed(py: Python<'_>, verified: &Arc<Verified>) -> PyResult<(String, Vec<Passed>)> {
    let shown = unlocked(py, || shown(verified, PASSES))?;
    let (before, passes) = shown.map_err(|mistake| errors::internal(mistake.to_string()))?;
    let row = |pass: Shown| (pass.pass, pass.doc, pass.removed, pass.after);
    Ok((before, passes.into_iter().map(row).collect()))
}
