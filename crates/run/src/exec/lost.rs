//! The error of a run whose device was lost: at which step, by which kernel.

use crate::RunError;
use crate::report::names::op_name;
use cloakwork_devices::DeviceError;
use cloakwork_devices::isolate::carefully;
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
    let Some(_careful) = driver.and_then(carefully) else {
        return error;
    };
    match again() {
        Ok(_) => RunError::Device(DeviceError::Lost {
            device: device.clone(),
            reason: format!("{reason}; with a wait after each launch, the same run ended well"),
            step: None,
            is_vague: false,
        }),
        Err(
            named @ (RunError::DeviceLost { .. }
            | RunError::Device(DeviceError::Lost { .. })
            | RunError::Interrupted { .. }),
        ) => named,
        // Such as an input that was lost with the device.
        Err(_) => error,
    }
}
