//! Drivers: devices with memory of their own, behind the C table of
//! `csrc/include/cloakwork/device.h`.
//!
//! The host is no driver of this kind: its memory is the process's, and the executor calls its
//! kernels itself. Devices that a program names and that have no driver here are served by the
//! host.
#![deny(unsafe_op_in_unsafe_fn)]

mod abi;
mod driver;
mod sim;

pub use abi::{Costs, RawDriver};
pub use driver::{Capability, DeviceError, DeviceMemory, Driver, Event, OpenDevice, Queue};

use cloakwork_ir::Device;

/// The driver of a device, and the device's number there; none where the host serves it.
#[must_use]
pub fn driver_of(device: Device) -> Option<(&'static Driver, u32)> {
    match device {
        Device::Sim(index) => Some((sim::driver(), u32::from(index))),
        Device::Cpu | Device::Gpu(_) | Device::Disk(_) => None,
    }
}
