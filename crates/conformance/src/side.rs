//! A device with everything that a plan and a run need to know of it.

use crate::Inputs;
use cloakwork_devices::{DeviceError, Drivers};
use cloakwork_ir::{Device, HostTensor};
use cloakwork_kernels::Isa;
use cloakwork_plan::{Options, Plan, PlanError, plan};
use cloakwork_run::{Executor, Functions, RunError, RunOptions};
use cloakwork_verify::Verified;
use std::sync::Arc;

/// A device that programs run on.
#[derive(Clone)]
pub struct Side {
    /// The device.
    pub device: Device,
    /// The drivers among which its own is.
    pub drivers: Drivers,
    /// Features of the processor for steps on the host.
    pub isa: Isa,
    /// Worker threads for steps on the host.
    pub threads: usize,
    /// The caller's functions, if programs call some.
    pub functions: Option<Arc<dyn Functions>>,
    /// Runs leave nothing in memory but their results: inputs are secret.
    pub wipe: bool,
}

/// The reason why a program has no result on a device.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// It cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Its run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A mistake in taking it apart.
    #[error("internal error, please report it: {0}")]
    Internal(String),
}

impl Refused {
    /// Whether the device was lost: each run after it begins with another process.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        matches!(
            self,
            Self::Run(RunError::DeviceLost { .. } | RunError::Device(DeviceError::Lost { .. }))
        )
    }

    /// The step of the program at which the device was lost, if it is known.
    #[must_use]
    pub fn lost_step(&self) -> Option<u32> {
        match self {
            Self::Run(RunError::DeviceLost { step, .. }) => Some(*step),
            _ => None,
        }
    }

    /// Whether the device is to blame, or contents that only it has.
    #[must_use]
    pub fn is_of_device(&self) -> bool {
        let run = match self {
            Self::Run(error) => error,
            Self::Plan(_) | Self::Internal(_) => return false,
        };
        matches!(
            run,
            RunError::Device(
                DeviceError::Device { .. }
                    | DeviceError::Check { .. }
                    | DeviceError::Driver { .. }
                    | DeviceError::Lost { .. }
            ) | RunError::DeviceLost { .. }
                | RunError::Contents { .. }
                | RunError::Assertion { .. }
        )
    }
}

/// Called between steps with the caller's wish to continue.
pub type GoOn<'a> = &'a mut dyn FnMut() -> bool;

impl Side {
    /// A device of the usual drivers, with one thread of the host.
    #[must_use]
    pub fn new(device: Device, isa: Isa) -> Self {
        Self {
            device,
            drivers: Drivers::default(),
            isa,
            threads: 1,
            functions: None,
            wipe: false,
        }
    }

    /// Plans a program for the device, step by step as it is written. If the device has all of its
    /// kernels, all steps run there, also those that would cost less on the host.
    ///
    /// # Errors
    /// The planner's.
    pub fn plan(&self, verified: &Arc<Verified>) -> Result<Arc<Plan>, Refused> {
        let options = Options {
            device: self.device,
            drivers: self.drivers,
            fallback: false,
            ..Options::new(self.isa, self.threads)
        };
        let made = match plan(Arc::clone(verified), &options) {
            Err(PlanError::Fallback { .. }) => {
                let fallback = true;
                plan(
                    Arc::clone(verified),
                    &Options {
                        fallback,
                        ..options
                    },
                )
            }
            made => made,
        };
        Ok(Arc::new(made?))
    }

    /// An executor of a program.
    ///
    /// # Errors
    /// The planner's, or the device has no memory.
    pub fn executor(&self, verified: &Arc<Verified>) -> Result<Executor, Refused> {
        Ok(Executor::new(self.plan(verified)?)?)
    }

    /// The outputs of one run.
    ///
    /// # Errors
    /// The run's.
    pub fn run(
        &self,
        executor: &mut Executor,
        inputs: &Inputs,
        go_on: GoOn<'_>,
    ) -> Result<Vec<HostTensor>, Refused> {
        let options = RunOptions {
            threads: self.threads,
            functions: self.functions.clone(),
            wipe: self.wipe,
            lends: true,
            ..RunOptions::default()
        };
        let outcome = executor.run(inputs, &options, &mut |_| go_on())?;
        Ok(outcome
            .outputs
            .into_iter()
            .map(|output| output.tensor)
            .collect())
    }
}
