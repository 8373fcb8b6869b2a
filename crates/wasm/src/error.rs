//! Reasons for which there is no witness.

use std::time::Duration;

/// Why a module is refused, or gives no witness. No message holds the value of an input.
#[derive(Debug, thiserror::Error)]
pub enum WasmError {
    /// The library cannot be loaded, or is of another version.
    #[error("wasmtime's library: {0}")]
    Library(String),
    /// The bytes are no module that can be compiled.
    #[error("not a WebAssembly module that can be compiled: {0}")]
    Module(String),
    /// The module is not circom's.
    #[error("not a circuit of circom 2: {0}")]
    NotCircuit(String),
    /// An input that the circuit does not have.
    #[error("the circuit has no input `{0}`")]
    Unknown(String),
    /// An input of another number of values.
    #[error("input `{name}`: expected {expected}, got {got}")]
    Count {
        /// Of the input.
        name: String,
        /// The number of its values in the circuit.
        expected: usize,
        /// The number of given values.
        got: usize,
    },
    /// Fewer or more values in all than the circuit has.
    #[error("expected {expected} values of inputs in all, got {got}")]
    Missing {
        /// Of all inputs of the circuit.
        expected: usize,
        /// Of all given inputs.
        got: usize,
    },
    /// The circuit reports an error: an assertion or a constraint that does not hold.
    #[error("{0}")]
    Refused(String),
    /// A trap of the module.
    #[error("the circuit's program stopped: {0}")]
    Trapped(String),
    /// The module did not end in time.
    #[error("the circuit's program did not end within {:.3} s", .0.as_secs_f64())]
    Timeout(Duration),
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}
