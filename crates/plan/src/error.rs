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
    /// The run would need more memory than allowed.
    #[error(
        "this program needs {} at its peak, or {} with as much as possible on disk; \
         the budget is {}; {memory}",
        format_bytes(memory.peak_bytes()), format_bytes(*least_bytes), format_bytes(*budget_bytes)
    )]
    Budget {
        /// The memory that the run needs.
        memory: Memory,
        /// The memory that it needs with as much as possible on disk.
        least_bytes: u64,
        /// The allowed bytes.
        budget_bytes: u64,
    },
    /// A device would exceed its budget.
    #[error(
        "V17: {device} holds {} at the program's peak, and its budget is {}; {memory}; \
         give it a larger budget, or transfer less to it at a time",
        format_bytes(*needed_bytes), format_bytes(*budget_bytes)
    )]
    DeviceBudget {
        /// The device.
        device: Device,
        /// The memory that the program needs.
        memory: Memory,
        /// The device's peak.
        needed_bytes: u64,
        /// The allowed bytes.
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

impl From<Mistake> for PlanError {
    fn from(Mistake { step, message }: Mistake) -> Self {
        Self::Internal { step, message }
    }
}

impl PlanError {
    /// The same error with this `least_bytes`, if it is an error of a budget.
    pub(crate) fn with_least(self, least_bytes: u64) -> Self {
        match self {
            Self::Budget {
                memory,
                budget_bytes,
                ..
            } => Self::Budget {
                memory,
                least_bytes,
                budget_bytes,
            },
            other => other,
        }
    }
}
