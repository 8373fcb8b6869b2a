//! Errors of a run. Shapes and dtypes cannot fail: the verifier has checked them.

use cloakwork_devices::DeviceError;
use cloakwork_ops::OpError;

/// The reason why a run stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// A tensor computed by the program has contents that an op does not accept.
    #[error("{place}: {op}: {error}")]
    Contents {
        /// The program's step.
        step: u32,
        /// The step as messages name it: its instruction, if it comes from one.
        place: String,
        /// Its op.
        op: String,
        /// The rule and the offending element.
        error: Box<OpError>,
    },
    /// An assertion of the program does not hold.
    #[error("{place}: {message}: element {element} differs")]
    Assertion {
        /// The program's step.
        step: u32,
        /// The step as messages name it: its instruction.
        place: String,
        /// The first element, row-major, for which it does not hold.
        element: usize,
        /// The program's message for it.
        message: String,
    },
    /// An input of the program is missing or has another type.
    #[error("input `{name}`: expected {expected}, got {got}")]
    Input {
        /// Its name.
        name: String,
        /// Its type.
        expected: String,
        /// The type given, or that it is missing.
        got: String,
    },
    /// The system has no memory.
    #[error("out of memory: {bytes} bytes requested")]
    OutOfMemory {
        /// Bytes requested.
        bytes: u64,
    },
    /// The system did not start the thread pool.
    #[error("cannot start {threads} worker threads: {reason}")]
    Threads {
        /// Number of threads.
        threads: usize,
        /// The system's error.
        reason: String,
    },
    /// The spill file cannot be created, written or read.
    #[error(
        "step {step}: cannot {action} {bytes} bytes of the spill file in {directory}: {reason}; \
         give a directory with room for {disk_bytes} bytes, or a larger memory budget"
    )]
    Disk {
        /// The program's step that needed memory or a spilled buffer.
        step: u32,
        /// The action that failed: reserve, write or read.
        action: &'static str,
        /// Bytes of this action.
        bytes: u64,
        /// Bytes of the whole file.
        disk_bytes: u64,
        /// The directory of the file.
        directory: String,
        /// The system's error.
        reason: String,
    },
    /// One of the caller's functions failed or returned a result of the wrong type.
    #[error("{place}: function {function}: {reason}")]
    Function {
        /// The program's step.
        step: u32,
        /// The step as messages name it.
        place: String,
        /// Its name.
        function: String,
        /// The function's error, or how its result is wrong.
        reason: String,
    },
    /// A driver's error.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The process of a driver ended, or was ended, in a call for a step.
    #[error("{place}: {op}: {device}: {reason}")]
    DeviceLost {
        /// The program's step.
        step: u32,
        /// The step as messages name it.
        place: String,
        /// Its op.
        op: String,
        /// The device.
        device: String,
        /// How the process ended, and in which call.
        reason: String,
    },
    /// The caller cancelled the run.
    #[error("interrupted at step {step}")]
    Interrupted {
        /// The first step that did not run.
        step: u32,
    },
    /// A bug in Cloakwork.
    #[error("internal error, please report it: {0}")]
    Internal(String),
}

impl RunError {
    /// The program's step at which the run failed: all earlier steps ran.
    #[must_use]
    pub const fn step(&self) -> Option<u32> {
        match self {
            Self::Contents { step, .. }
            | Self::Assertion { step, .. }
            | Self::Function { step, .. } => Some(*step),
            _ => None,
        }
    }
}
