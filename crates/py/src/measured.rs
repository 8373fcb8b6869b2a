//! Kernel calls of a thread, measured.

use cloakwork_run::measured;
use pyo3::prelude::*;

/// Starts to measure the kernel calls of this thread; gives the place of the first one.
#[pyfunction]
pub fn measure_begin() -> usize {
    measured::begin()
}

type MeasuredCall = (String, &'static str, f64, f64, u64, usize);

/// Ends what `measure_begin` began: op, kernel, start and duration in seconds, bytes and threads of
/// each call.
#[pyfunction]
pub fn measure_end(first: usize) -> Vec<MeasuredCall> {
    let seconds = |nanoseconds: u64| nanoseconds as f64 * 1e-9;
    let call = |call: measured::Measured| {
        let (start, took) = (seconds(call.start_ns), seconds(call.nanoseconds));
        (call.op, call.kernel, start, took, call.bytes, call.threads)
    };
    measured::end(first).into_iter().map(call).collect()
}

/// Adds these functions.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(measure_begin, module)?)?;
    module.add_function(wrap_pyfunction!(measure_end, module)?)
}
