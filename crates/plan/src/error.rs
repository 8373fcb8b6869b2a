//! Errors of planning.

use crate::{Memory, format_bytes};
use cloakwork_ir::{DType, Device};
use cloakwork_verify::Mistake;

/// Why a verified program cannot be planned for a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// No kernel row fits.
    #[error("step {step}: no `{kernel}` kernel takes {input} and gives {output} on this target")]
    NoKernel {
        /// The program's step.
        step: u32,
        /// The kernel asked for.
        kernel: String,
        /// Dtype of its first operand.
        input: DType,
        /// Dtype of its result.
        output: DType,
    },
    /// Ops that a device lacks and that are not made of smaller ones.
    #[error("step {step}: the device lacks {ops}, and the op has no expansion")]
    NoExpansion {
        /// The program's first step with one of them.
        step: u32,
        /// Their names.
        ops: String,
    },
    /// A vendor's op for whose device the program is not planned.
    #[error(
        "step {step}: `{op}`, which {file} declares without an expansion, runs only on a device \
         with a kernel of this name: load its driver and run there"
    )]
    OnlyOnItsDevice {
        /// The program's step.
        step: u32,
        /// The op.
        op: String,
        /// The file of its declaration.
        file: String,
    },
    /// Steps would run on the host, and the options allow none.
    #[error("no fallback: {}", told(steps))]
    Fallback {
        /// The steps of the program, in order.
        steps: Vec<Refused>,
    },
    /// A program that names its devices is planned for others: for any if none of its own is
    /// `gpu:<i>`, else for several.
    #[error(
        "device {device}: expected none, because the program names its devices, {named} among them"
    )]
    NamesDevices {
        /// The device that it is planned for.
        device: Device,
        /// A device of the program.
        named: Device,
    },
    /// A device that its driver does not have.
    #[error("there is no device {device}: its driver has {count}")]
    NoDevice {
        /// The device.
        device: Device,
        /// How many the driver has.
        count: u32,
    },
    /// The run would need more memory than allowed.
    #[error(
        "this program needs {} at its peak{}; the budget is {}; {memory}",
        format_bytes(memory.peak_bytes()),
        or_on_disk(memory.peak_bytes(), Some(*least_bytes)),
        format_bytes(*budget_bytes)
    )]
    Budget {
        /// The memory of the run without spilling.
        memory: Box<Memory>,
        /// The smallest budget with which the program can be planned.
        least_bytes: u64,
        /// The budget.
        budget_bytes: u64,
    },
    /// A device would exceed its budget.
    #[error(
        "V17: {device} holds {} at the program's peak{}, and its budget is {}; {memory}; \
         give it a larger budget, or transfer less to it at a time",
        format_bytes(*needed_bytes),
        or_on_disk(*needed_bytes, *least_bytes),
        format_bytes(*budget_bytes)
    )]
    DeviceBudget {
        /// The device.
        device: Device,
        /// The memory of the run.
        memory: Box<Memory>,
        /// Bytes that the device holds at the program's peak.
        needed_bytes: u64,
        /// The smallest budget of the host with which the program can be planned; none for other
        /// devices, whose buffers never wait on disk.
        least_bytes: Option<u64>,
        /// The budget.
        budget_bytes: u64,
    },
    /// A declaration failed on a call that the verifier accepted: a bug in Cloakwork.
    #[error("step {step}: internal error, please report it: {message}")]
    Internal {
        /// The program's step.
        step: u32,
        /// The declaration's error.
        message: String,
    },
}

/// A step that would run on the host instead of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The program's step.
    pub step: u32,
    /// Its op.
    pub op: String,
    /// The reason, as [`crate::Elsewhere`] gives it.
    pub why: String,
}

/// Steps that a message lists; of more it gives the number.
const LISTED: usize = 8;

fn told(steps: &[Refused]) -> String {
    let listed = steps.iter().take(LISTED);
    let mut parts: Vec<String> = listed
        .map(|Refused { step, op, why }| format!("step {step}, {op}, would run {why}"))
        .collect();
    if let Some(more) = steps.len().checked_sub(LISTED).filter(|&more| more > 0) {
        parts.push(format!("and {more} more"));
    }
    parts.join("; ")
}

impl From<Mistake> for PlanError {
    fn from(Mistake { step, message }: Mistake) -> Self {
        Self::Internal { step, message }
    }
}

fn or_on_disk(peak_bytes: u64, least_bytes: Option<u64>) -> String {
    let less = least_bytes.filter(|bytes| *bytes < peak_bytes);
    less.map_or_else(String::new, |bytes| {
        let bytes = format_bytes(bytes);
        format!(", or {bytes} with as much as possible on disk")
    })
}

impl PlanError {
    /// The smallest budget with which the program can be planned, where a budget is too small for
    /// this plan and a larger one would do.
    /// Of two refusals by the same budget, the one of a plan that needs less memory, with the
    /// smallest budget that one of them knows.
    pub(crate) fn or_less(mut self, mut other: Self) -> Self {
        if let (Some(least), Some(others)) = (self.least_bytes(), other.least_bytes()) {
            *others = (*least).min(*others);
            *least = *others;
        }
        let is_less = match (&self, &other) {
            (Self::Budget { memory, .. }, Self::Budget { memory: others, .. }) => {
                others.peak_bytes() < memory.peak_bytes()
            }
            (
                Self::DeviceBudget { needed_bytes, .. },
                Self::DeviceBudget {
                    needed_bytes: others,
                    ..
                },
            ) => others < needed_bytes,
            _ => false,
        };
        match is_less {
            true => other,
            false => self,
        }
    }

    pub(crate) fn least_bytes(&mut self) -> Option<&mut u64> {
        match self {
            Self::Budget { least_bytes, .. } => Some(least_bytes),
            Self::DeviceBudget { least_bytes, .. } => least_bytes.as_mut(),
            _ => None,
        }
    }
}
