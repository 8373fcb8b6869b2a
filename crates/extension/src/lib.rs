//! `cloakwork._core`: the interface to Python, linked with the kernels.
//!
//! A crate of its own, so that the interface compiles beside C++, and is not compiled again when a
//! kernel changes.

use cloakwork_csrc as _;
use pyo3::prelude::*;

/// The compiled engine; use the package `cloakwork` instead.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    cloakwork_py::fill(module)
}
