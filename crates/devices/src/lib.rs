//! Drivers: devices with their own memory, behind the C table of
//! `csrc/include/cloakwork/device.h`.
//!
//! The host is not a driver of this kind: its memory is the process's, and the executor calls its
//! kernels itself. The host executes the steps of
//! devices without a driver.
//!
//! ```
//! use cloakwork_devices::driver_of;
//! use cloakwork_ir::Device;
//!
//! let (driver, number) = driver_of(Device::Sim(0)).unwrap();
//! assert_eq!((driver.name(), number), ("sim", 0));
//! let device = driver.open(number)?;
//! assert_eq!(device.allocate(64)?.bytes(), 64);
//! assert!(driver_of(Device::Cpu).is_none(), "the host is not a driver");
//! # Ok::<(), cloakwork_devices::DeviceError>(())
//! ```
#![deny(unsafe_op_in_unsafe_fn)]

mod abi;
mod driver;
mod sim;

pub use abi::{Costs, RawDriver};
pub use driver::{DeviceError, DeviceMemory, Driver, Event, OpenDevice, Queue};

use cloakwork_ir::Device;

/// The driver of a device, and the device's number there; none where the host serves it.
#[must_use]
pub fn driver_of(device: Device) -> Option<(&'static Driver, u32)> {
    match device {
        Device::Sim(index) => Some((sim::driver(), u32::from(index))),
        Device::Cpu | Device::Gpu(_) | Device::Disk(_) => None,
    }
}
