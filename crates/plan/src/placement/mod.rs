//! Where storages lie, and so where steps run: by the program's declarations, by capability, by
//! cost.
//!
//! A step runs where its result lies. A storage lies on the device that the program names. Where
//! the program names none, the storage lies on the device for which the program is planned, or on
//! the host if that costs less ([`choose`]). A step whose kernel a device lacks runs on the host,
//! on copies, and its result is written back.

mod assumed;
mod bind;
mod choose;
mod divide;
mod facts;
mod spread;
mod suited;
mod zeros;

pub(crate) use bind::{bound, of_budget};
pub(crate) use divide::divided;
pub(crate) use facts::{Facts, dtype_of, touched};
pub(crate) use suited::Suited;

use crate::error::Refused;
use crate::layout::Layout;
use crate::{Options, PlanError};
use cloakwork_devices::Capabilities;
use cloakwork_ir::{DType, Device, Step};
use cloakwork_verify::{StorageId, Verified};
use std::fmt;

/// A kernel that a device lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lack {
    /// Its name.
    pub kernel: &'static str,
    /// Dtype of its first operand.
    pub input: DType,
    /// Dtype of its result.
    pub output: DType,
}

/// The reason why a step runs on the host although a device was wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The device lacks a kernel.
    NoKernel {
        /// The kernel.
        lack: Lack,
        /// Whether the device could run the op's expansion, at a greater cost.
        expands: bool,
    },
    /// Launch and transfers together cost less on the host.
    Cheaper,
    /// The step runs on the device, which lacks the kernel that checks the contents of an operand.
    NoCheck(Lack),
    /// The step runs on the device, which cannot fill a tensor of the step with zeros.
    NoFill(Lack),
}

/// A step of the program that runs on the host although a device was wanted, or whose check does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// The step of the program, as in `Step::origin`.
    pub origin: u32,
    /// The wanted device.
    pub device: Device,
    /// Why it, or its check, runs on the host.
    pub why: Why,
}

impl fmt::Display for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let device = self.device;
        match self.why {
            Why::NoKernel { lack, expands } => {
                let Lack {
                    kernel,
                    input,
                    output,
                } = lack;
                write!(
                    f,
                    "on the host: {device} has no `{kernel}` kernel that takes {input} and gives \
                     {output}"
                )?;
                match expands {
                    true => f.write_str(", and the op's expansion costs more there"),
                    false => Ok(()),
                }
            }
            Why::Cheaper => write!(f, "on the host: cheaper there than on {device}"),
            Why::NoFill(Lack { kernel, input, .. }) => write!(
                f,
                "its zeros on the host: {device} has no `{kernel}` kernel for {input}"
            ),
            Why::NoCheck(Lack { kernel, input, .. }) => write!(
                f,
                "its check of contents on the host: {device} has no `{kernel}` kernel that takes \
                 {input}"
            ),
        }
    }
}

/// Where the storages of a program lie.
#[derive(Clone, Debug, Default)]
pub(crate) struct Placement {
    /// Device of each storage; empty if the host reaches all of them.
    homes: Vec<Device>,
    /// The steps, and checks of steps, that run on the host although a device was wanted.
    pub elsewhere: Vec<Elsewhere>,
    /// Number of steps that are divided between devices.
    pub divided: u32,
}

impl Placement {
    /// The placement of a program.
    ///
    /// # Errors
    /// A mistake in a declaration; or steps on the host where the options allow none.
    pub fn of(suited: &Suited, layout: &Layout, options: &Options) -> Result<Self, PlanError> {
        let verified = &*suited.verified;
        let mut storages = verified.storages().iter();
        if !is_away(options, options.device)
            && options.resident.devices().next().is_none()
            && !storages.any(|s| is_away(options, options.device_of(s.device)))
        {
            return Ok(Self::default());
        }
        let mut facts = Facts::of(verified, layout, options)?;
        if is_away(options, options.device) && options.fallback {
            choose::choose(&mut facts, options);
        }
        let homes = verified.storages().iter().zip(&facts.storages);
        let homes = homes.map(|(info, stored)| match stored.is_free && !stored.away {
            true => Device::Cpu,
            false => options.device_of(info.device),
        });
        let mut homes: Vec<Device> = homes.collect();
        if !options.peers.is_empty() {
            spread::spread(&facts, options, &mut homes);
        }
        let placement = Self {
            homes,
            elsewhere: facts.elsewhere(suited, options),
            divided: suited.divided,
        };
        match options.fallback || placement.elsewhere.is_empty() {
            true => Ok(placement),
            false => Err(PlanError::Fallback {
                steps: refused_steps(verified, &placement.elsewhere),
            }),
        }
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

/// Steps on the host, by the steps and ops of the program as written.
pub(crate) fn refused_steps(verified: &Verified, elsewhere: &[Elsewhere]) -> Vec<Refused> {
    let (source, origins) = (verified.source(), verified.origins());
    let step_of = |origin: u32| {
        let all = origins.as_ref();
        all.and_then(|all| all.get(origin as usize).copied())
            .unwrap_or(origin)
    };
    let mut steps: Vec<Refused> = Vec::new();
    for moved in elsewhere {
        let step = step_of(moved.origin);
        // A step of several smaller ones is told once.
        if steps.last().is_none_or(|last| last.step != step) {
            let op = match source.steps.get(step as usize) {
                Some(Step::Op(op)) => source.text_name(op.name).to_owned(),
                _ => String::new(),
            };
            let why = moved.to_string();
            steps.push(Refused { step, op, why });
        }
    }
    steps
}

/// Whether only a driver reaches a device's memory.
pub(crate) fn is_away(options: &Options, device: Device) -> bool {
    let (driver, _) = options.drivers.of(device);
    !driver.has(Capabilities::HOST_MEMORY)
}
