//! Where storages lie, and so where steps run: by the program's declarations, by capability, by
//! cost.
//!
//! A step runs where its result lies. A storage lies on the device that the program names. Where
//! the program names none, the storage lies on the device for which the program is planned, or on
//! the host if that costs less ([`choose`]). A step whose kernel a device lacks runs on the host,
//! on copies, and its result is written back.

mod bind;
mod choose;
mod facts;

pub(crate) use bind::{bound, of_budget};
pub(crate) use facts::{dtype_of, touched};

use crate::layout::Layout;
use crate::{Options, PlanError};
use cloakwork_devices::Capabilities;
use cloakwork_ir::{DType, Device};
use cloakwork_verify::{StorageId, Verified};
use facts::Facts;
use std::fmt;

/// The reason why a step runs on the host although a device was wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The device lacks a kernel.
    NoKernel {
        /// Name of the kernel.
        kernel: &'static str,
        /// Dtype of its first operand.
        input: DType,
        /// Dtype of its result.
        output: DType,
    },
    /// Launch and transfers together cost less on the host.
    Cheaper,
}

/// A step of the program that runs on the host although a device was wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// The step of the program, as in `Step::origin`.
    pub origin: u32,
    /// The wanted device.
    pub device: Device,
    /// Why it runs on the host.
    pub why: Why,
}

impl fmt::Display for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let device = self.device;
        match self.why {
            Why::NoKernel {
                kernel,
                input,
                output,
            } => write!(
                f,
                "on the host: {device} has no `{kernel}` kernel that takes {input} and gives \
                 {output}"
            ),
            Why::Cheaper => write!(f, "on the host: cheaper there than on {device}"),
        }
    }
}

/// Where the storages of a program lie.
#[derive(Clone, Debug, Default)]
pub(crate) struct Placement {
    /// Device of each storage; empty if the host reaches all of them.
    homes: Vec<Device>,
    /// The steps that run on the host although a device was wanted.
    pub elsewhere: Vec<Elsewhere>,
}

impl Placement {
    /// The placement of a program.
    pub fn of(verified: &Verified, layout: &Layout, options: &Options) -> Result<Self, PlanError> {
        let mut storages = verified.storages().iter();
        if !is_away(options, options.device)
            && !storages.any(|s| is_away(options, options.device_of(s.device)))
        {
            return Ok(Self::default());
        }
        let mut facts = Facts::of(verified, layout, options)?;
        if is_away(options, options.device) {
            choose::choose(&mut facts, options);
        }
        let homes = verified.storages().iter().zip(&facts.storages);
        let homes = homes.map(|(info, stored)| match stored.is_free && !stored.away {
            true => Device::Cpu,
            false => options.device_of(info.device),
        });
        Ok(Self {
            homes: homes.collect(),
            elsewhere: facts.elsewhere(verified, options),
        })
    }

    /// Whether the host reaches all memory of the program.
    pub fn is_here(&self) -> bool {
        self.homes.is_empty()
    }

    /// The device of a storage whose wanted device is given.
    pub fn home(&self, storage: StorageId, wanted: Device) -> Device {
        let home = self.homes.get(storage.0 as usize);
        home.copied().unwrap_or(wanted)
    }
}

/// Whether only a driver reaches a device's memory.
pub(crate) fn is_away(options: &Options, device: Device) -> bool {
    let (driver, _) = options.drivers.of(device);
    !driver.has(Capabilities::HOST_MEMORY)
}
