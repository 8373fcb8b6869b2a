//! Memory budgets of single devices (V17).

use crate::placement::of_budget;
use crate::plan::{Options, Plan};
use crate::{Home, PlanError};
use cloakwork_ir::Device;
use cloakwork_verify::Verified;

/// The options, with the program's own budgets added for devices that the options do not list.
pub(crate) fn with_own(options: &Options, verified: &Verified) -> Options {
    let mut options = options.clone();
    for (device, bytes) in verified.budgets() {
        let device = of_budget(&options, device);
        if options.device_budgets.iter().all(|(d, _)| *d != device) {
            options.device_budgets.push((device, bytes));
        }
    }
    options
}

/// Bytes by which a run exceeds its budget: that of all devices together, or the host's.
pub(crate) fn exceeded_by(plan: &Plan) -> u64 {
    let needs = Least::of(plan);
    let together = plan.options.memory_budget_bytes.unwrap_or(u64::MAX);
    let host = of(&plan.options, Device::Cpu).unwrap_or(u64::MAX);
    let over = needs.together_bytes.saturating_sub(together);
    over.max(needs.host_bytes.saturating_sub(host))
}

/// The smallest budgets under which plans of a program were found.
#[derive(Clone, Copy)]
pub(crate) struct Least {
    together_bytes: u64,
    host_bytes: u64,
}

impl Least {
    /// The budgets that one plan needs.
    pub(crate) fn of(plan: &Plan) -> Self {
        let together_bytes = plan.memory.peak_bytes();
        Self {
            together_bytes,
            host_bytes: together_bytes.saturating_sub(elsewhere(plan)),
        }
    }

    pub(crate) fn min(self, other: Self) -> Self {
        Self {
            together_bytes: self.together_bytes.min(other.together_bytes),
            host_bytes: self.host_bytes.min(other.host_bytes),
        }
    }
}

/// The refusal of a plan that exceeds the budget of all devices together, or else the host's.
pub(crate) fn refusal(plan: &Plan, least: Least) -> PlanError {
    let (needs, memory) = (Least::of(plan), Box::new(plan.memory));
    let budget = plan.options.memory_budget_bytes;
    match budget.filter(|bytes| needs.together_bytes > *bytes) {
        Some(budget_bytes) => PlanError::Budget {
            memory,
            least_bytes: least.together_bytes,
            budget_bytes,
        },
        None => PlanError::DeviceBudget {
            device: Device::Cpu,
            memory,
            needed_bytes: needs.host_bytes,
            least_bytes: Some(least.host_bytes),
            budget_bytes: of(&plan.options, Device::Cpu).unwrap_or(u64::MAX),
        },
    }
}

/// Refuses a plan in which a device exceeds its budget.
pub(crate) fn keep(plan: &Plan) -> Result<(), PlanError> {
    for &(device, budget_bytes) in &plan.options.device_budgets {
        let needed_bytes = match device {
            Device::Cpu => Least::of(plan).host_bytes,
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
                memory: Box::new(plan.memory),
                needed_bytes,
                least_bytes: None,
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
        Home::Device(device) => Some((device, arena.device_bytes())),
        Home::Spill => None,
    })
}

/// Bytes that devices other than the host hold in memory.
fn elsewhere(plan: &Plan) -> u64 {
    let others = held(plan);
    let others = others.filter(|(device, _)| !matches!(device, Device::Cpu | Device::Disk(_)));
    others.fold(0, |sum, (_, bytes)| sum.saturating_add(bytes))
}
