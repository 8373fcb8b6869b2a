//! `cloakwork._core`: what Python sees of the engine.
//!
//! Converts arguments, releases Python's lock while Rust works, and maps errors to the classes of
//! `cloakwork.errors`. It has no rule of its own: what a call means is the declarations', what a
//! program means the verifier's.
#![deny(unsafe_op_in_unsafe_fn)]

mod buffer;
mod device;
mod errors;
mod eval;
mod guard;
mod index;
mod op;
mod program;
mod random;
mod run;
mod tensor;
mod trace;

use pyo3::prelude::*;

/// The compiled engine; use the package `cloakwork` instead.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<tensor::Tensor>()?;
    module.add_class::<op::Op>()?;
    module.add_class::<program::Program>()?;
    module.add_class::<run::Run>()?;
    module.add_function(wrap_pyfunction!(buffer::from_buffer, module)?)?;
    module.add_function(wrap_pyfunction!(device::devices, module)?)?;
    module.add_function(wrap_pyfunction!(random::random_words, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace, module)?)?;
    Ok(())
}
