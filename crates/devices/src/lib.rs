//! Drivers: devices behind the C table of `csrc/include/cloakwork/device.h`.
//!
//! Every device of a program has a driver. `cpu` and `disk` have memory that is the process's: the
//! executor allocates it and calls kernels itself. `sim` has memory that only the driver reaches,
//! and queues. [`load`] reads a vendor's driver from a shared library.
//!
//! ```
//! # use cloakwork_csrc as _;
//! use cloakwork_devices::{Capabilities, Drivers};
//! use cloakwork_ir::Device;
//!
//! let drivers = Drivers::default();
//! let (sim, number) = drivers.of(Device::Sim(0));
//! assert_eq!((sim.name(), number), ("sim", 0));
//! let device = sim.open(number)?;
//! assert_eq!(device.allocate(64)?.bytes(), 64);
//! let (cpu, _) = drivers.of(Device::Gpu(0));
//! assert_eq!(cpu.name(), "cpu", "the processor serves missing devices");
//! assert!(cpu.has(Capabilities::HOST_MEMORY));
//! # Ok::<(), cloakwork_devices::DeviceError>(())
//! ```
#![deny(unsafe_op_in_unsafe_fn)]

#[cfg(test)]
use cloakwork_csrc as _;

mod abi;
mod cpu;
mod cuda;
mod disk;
mod driver;
pub mod isolate;
mod load;
mod loaded;
pub mod machine;
pub mod memory;
mod open;
mod place;
mod segment;
mod sim;

pub use abi::{
    ABI, Capabilities, Costs, FailedCheck, Opaque, RawDriver, RawFunctions, RawNode, RawParts,
    RawRange, RawSegmentFunctions, WRONG_CONTENTS,
};
pub use cuda::{cuda, cuda_finish_default, cuda_obstacle};
pub use driver::{DeviceError, Driver};
pub use load::{load, ops_of, register};
pub use loaded::file_of;
pub use open::{DeviceMemory, Event, OpenDevice, Queue};
pub use place::{at_step, watched};
pub use segment::{Node, NodeWork, Segment, Span};

use cloakwork_ir::Device;

/// Which driver serves which device.
#[derive(Clone, Copy, Debug)]
pub struct Drivers {
    cpu: &'static Driver,
    disk: &'static Driver,
    sim: &'static Driver,
}

impl Default for Drivers {
    fn default() -> Self {
        Self {
            cpu: cpu::driver(),
            disk: disk::driver(),
            sim: sim::driver(),
        }
    }
}

impl Drivers {
    /// The driver of a device, and the device's number there. The processor serves devices that
    /// have no driver of their own.
    #[must_use]
    pub fn of(&self, device: Device) -> (&'static Driver, u32) {
        match device {
            Device::Sim(index) => (self.sim, u32::from(index)),
            Device::Disk(index) => (self.disk, u32::from(index)),
            Device::Loaded(name, index) => match loaded::of(name) {
                Some(driver) => (driver, u32::from(index)),
                None => (self.cpu, 0),
            },
            Device::Cpu | Device::Gpu(_) => (self.cpu, 0),
        }
    }

    /// Whether programs run on a device by a driver of its own.
    #[must_use]
    pub fn run_on(&self, device: Device) -> bool {
        let (driver, _) = self.of(device);
        let name = device.to_string();
        driver.computes() && name.split(':').next() == Some(driver.name())
    }

    /// The same with another driver for `sim`: one that is varied, for tests.
    #[must_use]
    pub fn with_sim(self, sim: &'static Driver) -> Self {
        Self { sim, ..self }
    }
}
