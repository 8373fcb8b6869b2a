//! Assumed costs of devices whose drivers state none: they compute as fast as a core of the host,
//! and each launch and each transfer takes some microseconds beside its work. Without these costs,
//! any number of launches would seem better than one transfer.

use super::facts::Task;
use cloakwork_devices::Costs;

const LAUNCH_NS: u64 = 2_000;
const TRANSFER_NS: u64 = 10_000;
const TRANSFERRED_BYTES_PER_NS: u64 = 10;

/// The time of a step on a device with these costs.
pub(super) fn computing_ns(costs: &Costs, task: &Task) -> u64 {
    match *costs == Costs::NONE {
        true => task.host_ns.saturating_add(task.launches * LAUNCH_NS),
        false => task.device_ns,
    }
}

/// The time of a transfer to the host.
pub(super) fn download_ns(costs: &Costs, bytes: u64) -> u64 {
    match *costs == Costs::NONE {
        true => transfer_ns(bytes),
        false => costs.download_ns(bytes),
    }
}

/// The time of a transfer from the host.
pub(super) fn upload_ns(costs: &Costs, bytes: u64) -> u64 {
    match *costs == Costs::NONE {
        true => transfer_ns(bytes),
        false => costs.upload_ns(bytes),
    }
}

fn transfer_ns(bytes: u64) -> u64 {
    TRANSFER_NS + bytes / TRANSFERRED_BYTES_PER_NS
}
