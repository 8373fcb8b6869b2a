//! Memory budgets of single devices (V17).

use crate::plan::{Options, Plan};
use crate::{Home, PlanError};
use cloakwork_ir::Device;
use cloakwork_verify::Verified;

/// The options, with the program's own budgets added for devices that the options do not list.
pub(crate) fn with_own(options: &Options, verified: &Verified) -> Options {
    let mut options = options.clone();
    for (device, bytes) in verified.budgets() {
        if options.device_budgets.iter().all(|(d, _)| *d != device) {
            options.device_budgets.push((device, bytes));
        }
    }
    options
}

/// The budget of all devices together: the options' total, or less, so that the host stays within
/// its own budget.
pub(crate) fn together(plan: &Plan) -> u64 {
    let said = plan.options.memory_budget_bytes.unwrap_or(u64::MAX);
    match of(&plan.options, Device::Cpu) {
        Some(host) => said.min(host.saturating_add(elsewhere(plan))),
        None => said,
    }
}

/// The error for a plan whose host exceeds its own budget, if that budget is the limiting one.
pub(crate) fn of_host(plan: &Plan) -> Option<PlanError> {
    let budget_bytes = of(&plan.options, Device::Cpu)?;
    let total = plan.options.memory_budget_bytes.unwrap_or(u64::MAX);
    let binds = budget_bytes.saturating_add(elsewhere(plan)) <= total;
    binds.then(|| PlanError::DeviceBudget {
        device: Device::Cpu,
        memory: plan.memory,
        needed_bytes: plan.memory.peak_bytes().saturating_sub(elsewhere(plan)),
        budget_bytes,
    })
}

/// Refuses a plan in which a device exceeds its budget.
pub(crate) fn keep(plan: &Plan) -> Result<(), PlanError> {
    for &(device, budget_bytes) in &plan.options.device_budgets {
        let needed_bytes = match device {
            Device::Cpu => plan.memory.peak_bytes().saturating_sub(elsewhere(plan)),
            _ => {
                let own = held(plan).find(|(d, _)| *d == device).map_or(0, |(_, b)| b);
                // Spilled host tensors are on the first disk.
                let waiting = match device {
                    Device::Disk(0) => plan.memory.disk_bytes,
                    _ => 0,
                };
                own.saturating_add(waiting)
            }
        };
        if needed_bytes > budget_bytes {
            return Err(PlanError::DeviceBudget {
                device,
                memory: plan.memory,
                needed_bytes,
                budget_bytes,
            });
        }
    }
    Ok(())
}

fn of(options: &Options, device: Device) -> Option<u64> {
    let budgets = options.device_budgets.iter();
    budgets
        .filter(|(d, _)| *d == device)
        .map(|(_, bytes)| *bytes)
        .min()
}

/// Bytes that each device holds, disks included: its arena and the constants in its memory.
fn held(plan: &Plan) -> impl Iterator<Item = (Device, u64)> {
    plan.arenas.iter().filter_map(|arena| match arena.home {
        Home::Device(device) => Some((device, arena.bytes.saturating_add(arena.constant_bytes))),
        Home::Spill => None,
    })
}

/// Bytes that devices other than the host hold in memory.
fn elsewhere(plan: &Plan) -> u64 {
    let others = held(plan);
    let others = others.filter(|(device, _)| !matches!(device, Device::Cpu | Device::Disk(_)));
    others.fold(0, |sum, (_, bytes)| sum.saturating_add(bytes))
}
