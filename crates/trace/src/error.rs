//! Errors of recording.

use cloakwork_ir::Device;
use cloakwork_ops::OpError;
use cloakwork_run::RunError;
use cloakwork_run::eager::EagerError;

/// Why a trace does not go on.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// A program cannot say it.
    #[error("{0}")]
    Unrecordable(String),
    /// A program would hold a secret.
    #[error("{0}")]
    Secret(String),
    /// Operands lie on two devices.
    #[error("operands on {0} and on {1}")]
    Devices(Device, Device),
    /// An operand is a value of a program that another thread runs: it will be settled.
    #[error("an operand that another thread computes")]
    Running,
    /// The declaration refuses the call.
    #[error("{op}: {error}")]
    Op {
        /// The op.
        op: &'static str,
        /// The error in the call.
        error: OpError,
    },
    /// The elements of a constant cannot be copied.
    #[error(transparent)]
    Elements(#[from] EagerError),
    /// There is no memory for a constant.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A mistake of Cloakwork's.
    #[error("{0}")]
    Internal(String),
}

impl TraceError {
    pub(crate) fn unrecordable(text: impl Into<String>) -> Self {
        Self::Unrecordable(text.into())
    }

    pub(crate) fn internal(error: impl ToString) -> Self {
        Self::Internal(error.to_string())
    }

    /// A traced tensor has left its trace.
    #[must_use]
    pub fn stray() -> Self {
        let text = "a traced tensor can be used only inside the function that is being traced";
        Self::unrecordable(text)
    }
}
