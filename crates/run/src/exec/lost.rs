//! The error of a run whose device was lost: at which step, by which kernel.

use crate::RunError;
use crate::report::names::op_name;
use cloakwork_devices::DeviceError;
use cloakwork_devices::isolate::{carefully, is_apart};
use cloakwork_ir::Device;
use cloakwork_plan::Plan;

/// The error with the program's step, where a process ended in a call that was for one.
pub fn placed(plan: &Plan, error: RunError) -> RunError {
    let RunError::Device(DeviceError::Lost {
        device,
        reason,
        step: Some(step),
        ..
    }) = error
    else {
        return error;
    };
    let lost = |step: &cloakwork_plan::Step| {
        let at = plan.program_step(step.origin);
        RunError::DeviceLost {
            step: at,
            place: plan.verified.label(at),
            op: op_name(plan.verified.program(), step.origin).to_owned(),
            device: device.clone(),
            reason: reason.clone(),
        }
    };
    let found = plan.steps.get(step as usize).map(lost);
    found.unwrap_or(RunError::Device(DeviceError::Lost {
        device,
        reason,
        step: None,
        is_vague: false,
    }))
}

/// The error of a device that was lost: where nobody knows at which of its kernels, that of the
/// same work once more, each piece of which is waited for.
pub fn named<T>(
    plan: &Plan,
    error: RunError,
    again: impl FnOnce() -> Result<T, RunError>,
) -> RunError {
    let RunError::Device(DeviceError::Lost {
        device,
        reason,
        is_vague: true,
        ..
    }) = &error
    else {
        return error;
    };
    let driver = Device::from_name(device).map(|device| plan.options.drivers.of(device).0);
    if !driver.is_some_and(is_apart) {
        return error;
    }
    let also = |words: &str| {
        RunError::Device(DeviceError::Lost {
            device: device.clone(),
            reason: format!("{reason}; {words}"),
            step: None,
            is_vague: false,
        })
    };
    match carefully(again) {
        Ok(_) => also("with a wait after each launch, the same run ended well"),
        Err(RunError::Device(DeviceError::Lost {
            reason,
            is_vague: true,
            ..
        })) => also(&format!("the same run did not begin once more: {reason}")),
        Err(
            named @ (RunError::DeviceLost { .. }
            | RunError::Device(DeviceError::Lost { .. })
            | RunError::Interrupted { .. }),
        ) => named,
        // Such as an input that was lost with the device.
        Err(_) => error,
    }
}
