//! `cloakwork._core`: the engine's interface to Python.
//!
//! Converts arguments, releases Python's lock while Rust works, and maps errors to the classes of
//! `cloakwork.errors`. It has no rules: declarations define calls, the verifier defines
//! programs.
#![deny(unsafe_op_in_unsafe_fn)]

mod algebra;
mod batches;
mod buffer;
mod ceremony;
mod circom;
mod conformance;
mod contents;
mod copies;
mod coverage;
mod creation;
mod device;
mod dlpack;
mod drivers;
mod dtype;
mod element;
mod errors;
mod eval;
mod field;
mod files;
mod functions;
mod guard;
mod index;
mod instructions;
mod joined;
mod linear;
mod machine;
mod measured;
mod native;
mod numbers;
mod on_device;
mod op;
mod operand;
mod plonk;
mod program;
mod proving_key;
mod python_device;
mod random;
mod run;
mod scalar;
mod shortcuts;
mod target;
mod tensor;
mod trace;
mod witnesses;

use pyo3::prelude::*;

/// Adds all classes and functions to the module `cloakwork._core`.
///
/// # Errors
/// Python's, where an object cannot be made.
pub fn fill(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Before any fork that has something to survive.
    cloakwork_process::survive_forks();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<tensor::Tensor>()?;
    dtype::add_constants(module)?;
    module.add_class::<op::Op>()?;
    module.add_class::<program::Program>()?;
    module.add_class::<run::Run>()?;
    module.add_function(wrap_pyfunction!(algebra::curves, module)?)?;
    module.add_function(wrap_pyfunction!(algebra::fields, module)?)?;
    module.add_function(wrap_pyfunction!(buffer::from_buffer, module)?)?;
    module.add_function(wrap_pyfunction!(native::elementwise, module)?)?;
    module.add_function(wrap_pyfunction!(shortcuts::shortcut, module)?)?;
    module.add_function(wrap_pyfunction!(buffer::asarray, module)?)?;
    module.add_function(wrap_pyfunction!(buffer::import_buffer, module)?)?;
    module.add_function(wrap_pyfunction!(copies::rebuild, module)?)?;
    module.add_function(wrap_pyfunction!(index::take, module)?)?;
    module.add_function(wrap_pyfunction!(coverage::of_program, module)?)?;
    module.add_function(wrap_pyfunction!(coverage::specialize, module)?)?;
    module.add_function(wrap_pyfunction!(device::devices, module)?)?;
    module.add_function(wrap_pyfunction!(device::check, module)?)?;
    module.add_class::<on_device::Scope>()?;
    module.add_function(wrap_pyfunction!(on_device::is_readable, module)?)?;
    module.add_function(wrap_pyfunction!(machine::machine, module)?)?;
    module.add_function(wrap_pyfunction!(drivers::load_driver, module)?)?;
    module.add_function(wrap_pyfunction!(drivers::load_isolated, module)?)?;
    module.add_function(wrap_pyfunction!(drivers::loaded_drivers, module)?)?;
    module.add_function(wrap_pyfunction!(python_device::kernel_types, module)?)?;
    module.add_function(wrap_pyfunction!(
        python_device::register_python_driver,
        module
    )?)?;
    module.add_function(wrap_pyfunction!(conformance::conform, module)?)?;
    module.add_function(wrap_pyfunction!(conformance::diff, module)?)?;
    module.add_function(wrap_pyfunction!(drivers::cuda_reason, module)?)?;
    module.add_function(wrap_pyfunction!(drivers::driver_ops, module)?)?;
    module.add_function(wrap_pyfunction!(drivers::declare_ops, module)?)?;
    module.add_function(wrap_pyfunction!(drivers::declared_ops, module)?)?;
    module.add_function(wrap_pyfunction!(drivers::serve_driver, module)?)?;
    measured::add(module)?;
    module.add_function(wrap_pyfunction!(dlpack::from_dlpack, module)?)?;
    module.add_function(wrap_pyfunction!(dtype::dtype, module)?)?;
    module.add_function(wrap_pyfunction!(dtype::element_type, module)?)?;
    module.add_function(wrap_pyfunction!(dtype::promote, module)?)?;
    module.add_function(wrap_pyfunction!(eval::filled, module)?)?;
    module.add_function(wrap_pyfunction!(eval::unwritten, module)?)?;
    module.add_function(wrap_pyfunction!(field::field_scalar, module)?)?;
    module.add_function(wrap_pyfunction!(field::first_invalid, module)?)?;
    module.add_function(wrap_pyfunction!(joined::joined, module)?)?;
    module.add_function(wrap_pyfunction!(linear::matmul, module)?)?;
    module.add_function(wrap_pyfunction!(scalar::number, module)?)?;
    module.add_function(wrap_pyfunction!(scalar::numbers, module)?)?;
    module.add_function(wrap_pyfunction!(random::random_words, module)?)?;
    module.add_function(wrap_pyfunction!(random::wiped, module)?)?;
    module.add_function(wrap_pyfunction!(batches::execute_elementwise, module)?)?;
    creation::add(module)?;
    trace::add(module)?;
    device::add(module)?;
    files::add(module)?;
    instructions::add(module)?;
    ceremony::add(module)?;
    circom::add(module)?;
    plonk::add(module)?;
    proving_key::add(module)?;
    witnesses::add(module)
}
