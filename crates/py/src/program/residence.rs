//! Runs whose inputs and outputs stay on a device.

use super::Program;
use crate::device::Place;
use crate::tensor::Inner;
use crate::{errors, on_device};
use cloakwork_ir::Device;
use cloakwork_run::is_wiping;
use pyo3::prelude::*;
use std::collections::BTreeSet;

impl Program {
    /// The device that holds inputs of a run; none if the host does, for secrets, and for programs
    /// that name devices themselves.
    ///
    /// # Errors
    /// ParamError if several devices hold some.
    pub(super) fn holder_of(&self, py: Python<'_>, given: &[Inner]) -> PyResult<Option<Device>> {
        let holders: BTreeSet<Device> = given.iter().filter_map(Inner::device).collect();
        if is_wiping() || given.iter().any(Inner::is_secret) {
            return Ok(None);
        }
        let Some(on) = holders.first() else {
            return Ok(None);
        };
        let verified = self.verified(py)?;
        let mut named = verified.storages().iter().map(|storage| storage.device);
        if !named.all(is_host) {
            return Ok(None);
        }
        if holders.len() > 1 {
            let names: Vec<String> = holders.iter().map(Device::to_string).collect();
            let got = format!("inputs on {}", names.join(", "));
            let expected = "inputs on one device, or the `device` of the run";
            return Err(errors::param("device", got, expected));
        }
        Ok(Some(*on))
    }
}

/// Whether it is the host or one of its disks.
fn is_host(device: Device) -> bool {
    matches!(device, Device::Cpu | Device::Disk(_))
}

/// Refuses to keep the results of a run where they cannot stay.
pub(super) fn check_keeper(place: &Place, names: &str, secret: bool) -> PyResult<()> {
    if secret {
        return Err(errors::secret(
            "a run on secrets, or one that can draw random elements, returns its outputs to the \
             host's memory: outputs=\"host\"",
        ));
    }
    if place.peers.is_empty() && on_device::holder(names)?.is_some() {
        return Ok(());
    }
    let expected = "host; or a run on one device with memory of its own, such as cuda:0";
    Err(errors::param(
        "outputs",
        format!("device, on {names}"),
        expected,
    ))
}
