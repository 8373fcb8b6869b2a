//! What can go wrong while running. Shapes and dtypes cannot: the verifier has seen them.

use cloakwork_devices::DeviceError;
use cloakwork_ops::OpError;

/// Why a run stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// A tensor computed by the program holds what an op does not take.
    #[error("{place}: {op}: {error}")]
    Contents {
        /// The program's step.
        step: u32,
        /// The step as messages name it: its instruction, if it comes from one.
        place: String,
        /// Its op.
        op: String,
        /// What is wrong.
        error: Box<OpError>,
    },
    /// What the program asserts does not hold.
    #[error("{place}: {message}: element {element} differs")]
    Assertion {
        /// The program's step.
        step: u32,
        /// The step as messages name it: its instruction.
        place: String,
        /// The first element, row-major, of which it does not hold.
        element: usize,
        /// What the program says of it.
        message: String,
    },
    /// An input that the program names was not given, or is of another type.
    #[error("input `{name}`: expected {expected}, got {got}")]
    Input {
        /// Its name.
        name: String,
        /// Its type.
        expected: String,
        /// What came.
        got: String,
    },
    /// The system refused memory.
    #[error("out of memory: {bytes} bytes requested")]
    OutOfMemory {
        /// How much was asked for.
        bytes: u64,
    },
    /// The thread pool could not be made.
    #[error("cannot start {threads} worker threads: {reason}")]
    Threads {
        /// How many.
        threads: usize,
        /// The system's words.
        reason: String,
    },
    /// The file that buffers wait in cannot be made, written or read.
    #[error(
        "step {step}: cannot {action} {bytes} bytes of the spill file in {directory}: {reason}; \
         give a directory with room for {disk_bytes} bytes, or a larger memory budget"
    )]
    Disk {
        /// The program's step that needed room, or what was away.
        step: u32,
        /// What could not be done: reserve, write or read.
        action: &'static str,
        /// How many bytes of it.
        bytes: u64,
        /// Bytes of the whole file.
        disk_bytes: u64,
        /// The directory that the file was made in.
        directory: String,
        /// The system's words.
        reason: String,
    },
    /// A function of the caller's did not give what the program takes from it.
    #[error("{place}: function {function}: {reason}")]
    Function {
        /// The program's step.
        step: u32,
        /// The same as messages name it.
        place: String,
        /// Its name.
        function: String,
        /// What it did.
        reason: String,
    },
    /// A driver's error.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The caller asked to stop.
    #[error("interrupted at step {step}")]
    Interrupted {
        /// The next step that would have run.
        step: u32,
    },
    /// A mistake of Cloakwork's.
    #[error("internal error, please report it: {0}")]
    Internal(String),
}

impl RunError {
    /// The program's step at which the run failed: all steps before it were run.
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
