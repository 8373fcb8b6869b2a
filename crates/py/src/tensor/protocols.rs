//! Protocols of NumPy and of the array API, which are written in Python.

use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Calls a function of `cloakwork.array_api.protocols`.
pub fn call<'py>(
    py: Python<'py>,
    name: &str,
    args: impl PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let protocols = py.import("cloakwork.array_api.protocols")?;
    protocols.getattr(name)?.call1(args)
}

/// The namespace of the array API.
pub fn namespace<'py>(py: Python<'py>, version: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
    const KNOWN: [&str; 5] = ["2021.12", "2022.12", "2023.12", "2024.12", "2025.12"];
    match version {
        Some(version) if !KNOWN.contains(&version) => Err(PyValueError::new_err(format!(
            "api_version: expected one of {}, got {version}",
            KNOWN.join(", ")
        ))),
        _ => Ok(py.import("cloakwork")?.into_any()),
    }
}
