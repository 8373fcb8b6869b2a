//! The devices of a program, bound to those of a run.

use crate::{Options, PlanError};
use cloakwork_ir::Device;
use cloakwork_verify::Verified;

/// The options in which `gpu:<i>` of the program is bound: to the run's device and those after it.
///
/// # Errors
/// The program names other devices than these, or a driver has too few.
pub(crate) fn bound(options: &Options, verified: &Verified) -> Result<Options, PlanError> {
    let mut options = options.clone();
    let named = || verified.storages().iter().map(|storage| storage.device);
    let mut away = named().filter(|device| !matches!(device, Device::Cpu | Device::Disk(_)));
    let first = away.next().filter(|_| options.device != Device::Cpu);
    if let Some(first) = first {
        let device = options.device;
        // Which of several devices computes what is the program's word.
        let is_bindable = named().any(|named| matches!(named, Device::Gpu(_)));
        if !is_bindable || !options.peers.is_empty() {
            let named = first;
            return Err(PlanError::NamesDevices { device, named });
        }
        (options.gpus, options.device) = (Some(device), Device::Cpu);
    }
    for named in named().chain([options.device]).chain(options.peers.clone()) {
        let device = options.device_of(named);
        let (driver, index) = options.drivers.of(device);
        let count = driver.count();
        let is_bound = options.gpus.is_none() || !matches!(device, Device::Gpu(_));
        if index >= count || !is_bound {
            return Err(PlanError::NoDevice { device, count });
        }
    }
    let budgets = options.device_budgets.iter();
    let budgets = budgets.map(|&(device, bytes)| (of_budget(&options, device), bytes));
    options.device_budgets = budgets.collect();
    Ok(options)
}

/// The device of a budget: that of the host stays, whatever the device of the run is.
pub(crate) fn of_budget(options: &Options, device: Device) -> Device {
    match device {
        Device::Gpu(_) => options.device_of(device),
        other => other,
    }
}
