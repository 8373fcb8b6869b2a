//! The one place where Rust's errors become the exceptions of `cloakwork.errors`.

use cloakwork_devices::DeviceError;
use cloakwork_formats::{LoadError, SaveError};
use cloakwork_ir::{DType, Device, Finding, ShapeError};
use cloakwork_ops::elements::InvalidElement;
use cloakwork_ops::{Code, OpError};
use cloakwork_plan::PlanError;
use cloakwork_run::RunError;
use cloakwork_run::eager::EagerError;
use cloakwork_trace::TraceError;
use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::io;
use std::path::Path;

/// An instance of a class of `cloakwork.errors`, or the error that making it raised.
pub fn make<'py>(py: Python<'py>, class: &str, args: impl PyCallArgs<'py>) -> PyErr {
    let instance = py
        .import("cloakwork.errors")
        .and_then(|module| module.getattr(class))
        .and_then(|class| class.call1(args));
    match instance {
        Ok(instance) => PyErr::from_value(instance),
        Err(error) => error,
    }
}

/// A [`make`] for places that hold no token of the interpreter.
fn message(class: &str, text: String) -> PyErr {
    Python::attach(|py| make(py, class, (text,)))
}

/// A parameter breaks a rule.
pub fn param(rule: &str, value: impl ToString, allowed: &str) -> PyErr {
    Python::attach(|py| make(py, "ParamError", (rule, value.to_string(), allowed)))
}

/// Operands of a call on two devices.
pub fn two_devices(call: &str, one: Device, other: Device) -> PyErr {
    let allowed = "operands on one device, or on the host: move one by x.to(...)";
    param(call, format!("operands on {one} and on {other}"), allowed)
}

/// Whether an error is one of wrong contents.
pub fn is_of_contents(py: Python<'_>, error: &PyErr) -> bool {
    let module = py.import("cloakwork.errors");
    let class = module.and_then(|module| module.getattr("ContentsError"));
    class.is_ok_and(|class| error.is_instance(py, &class))
}

/// The name of a value's type, for messages.
pub fn kind(value: &Bound<'_, PyAny>) -> String {
    let name = value.get_type().name();
    name.map_or_else(|_| "?".to_owned(), |name| name.to_string())
}

/// An invalid element of its dtype.
pub fn invalid_element(what: &str, dtype: DType, found: &InvalidElement) -> PyErr {
    param(what, found, &InvalidElement::expected(dtype))
}

/// An index that does not apply.
pub fn index(text: impl Into<String>) -> PyErr {
    message("TensorIndexError", text.into())
}

/// A value that is not an element type.
pub fn dtype(got: &str, names: &str) -> PyErr {
    unfit_dtype(got, &format!("one of {names}"))
}

/// An element type that does not do here.
pub fn unfit_dtype(got: &str, allowed: &str) -> PyErr {
    Python::attach(|py| make(py, "DTypeError", ("dtype", got, allowed)))
}

/// Something that a trace cannot record.
pub fn trace(text: impl Into<String>) -> PyErr {
    message("TraceError", text.into())
}

/// A call that a trace does not record.
pub fn traced(error: TraceError) -> PyErr {
    match error {
        TraceError::Unrecordable(text) => trace(text),
        TraceError::Secret(text) => secret(text),
        TraceError::Devices(one, other) => two_devices("operands", one, other),
        TraceError::Running => internal(error.to_string()),
        TraceError::Op { op: name, error } => op(name, &error),
        TraceError::Elements(error) => eager(error),
        TraceError::Run(error) => run(error),
        TraceError::Internal(text) => internal(text),
    }
}

/// Something that would let a secret out.
pub fn secret(text: impl Into<String>) -> PyErr {
    message("SecretError", text.into())
}

/// A mistake of Cloakwork's.
pub fn internal(text: impl Into<String>) -> PyErr {
    message("InternalError", text.into())
}

/// Python has own kinds of exceptions for types, and for indices.
const fn class_of(code: Code) -> &'static str {
    match code {
        Code::Dtype | Code::ArgumentType | Code::ArgumentCount => "OpTypeError",
        Code::Axis | Code::Range => "OpIndexError",
        _ => "OpError",
    }
}

/// A call that its op's declaration refuses.
pub fn op(name: &str, error: &OpError) -> PyErr {
    let OpError {
        code,
        operand,
        expected,
        got,
        hint,
    } = error;
    Python::attach(|py| {
        make(
            py,
            class_of(*code),
            (name, code.name(), *operand, expected, got, *hint),
        )
    })
}

/// An invalid shape.
pub fn shape(error: &ShapeError) -> PyErr {
    param("shape", error, "at most 16 axes and 2^48 elements")
}

/// An eager call that failed.
pub fn eager(error: EagerError) -> PyErr {
    match error {
        EagerError::Call { op: name, error } => op(name, &error),
        EagerError::Run(error) => run(error),
    }
}

/// A run that stopped.
pub fn run(error: RunError) -> PyErr {
    let text = error.to_string();
    match error {
        RunError::Contents {
            step,
            place,
            op: name,
            error,
        } => {
            let call = op(&name, &error);
            Python::attach(|py| make(py, "ContentsError", (step, call.into_value(py), place)))
        }
        RunError::Assertion {
            place,
            element,
            message,
            ..
        } => Python::attach(|py| make(py, "AssertionFailedError", (place, element, message))),
        RunError::Input {
            name,
            expected,
            got,
        } => Python::attach(|py| make(py, "InputError", (name, expected, got))),
        RunError::OutOfMemory { bytes } => {
            Python::attach(|py| make(py, "OutOfMemoryError", (bytes,)))
        }
        RunError::DeviceLost {
            step,
            place,
            op,
            device,
            reason,
        } => lost((device, reason), Some((step, place, op))),
        RunError::Device(DeviceError::Lost { device, reason, .. }) => lost((device, reason), None),
        RunError::Function { .. } => message("FunctionError", text),
        RunError::Threads { .. }
        | RunError::Disk { .. }
        | RunError::Device(_)
        | RunError::Interrupted { .. } => message("RunError", text),
        RunError::Internal(_) => internal(text),
    }
}

/// A device whose process ended: which one and why, and at which step.
fn lost((device, reason): (String, String), at: Option<(u32, String, String)>) -> PyErr {
    let (step, place) = at.map_or((None, None), |(step, place, op)| {
        (Some(step), Some(format!("{place}: {op}")))
    });
    Python::attach(|py| make(py, "DeviceLostError", (device, reason, step, place)))
}

/// A program that cannot be planned.
pub fn plan(error: PlanError) -> PyErr {
    let text = error.to_string();
    match error {
        PlanError::Budget {
            memory,
            least_bytes,
            budget_bytes,
        } => budget((text, memory.peak_bytes(), budget_bytes, Some(least_bytes))),
        PlanError::DeviceBudget {
            needed_bytes,
            least_bytes,
            budget_bytes,
            ..
        } => budget((text, needed_bytes, budget_bytes, least_bytes)),
        PlanError::NamesDevices { device, named } => param(
            "device",
            device,
            &format!("none: the program names its devices, {named} among them"),
        ),
        PlanError::NoDevice { device, .. } => crate::drivers::unknown_device(&device.to_string()),
        PlanError::NoKernel { .. }
        | PlanError::NoExpansion { .. }
        | PlanError::OnlyOnItsDevice { .. } => message("PlanError", text),
        PlanError::Fallback { steps } => {
            let rows = steps.into_iter().map(|row| (row.step, row.op, row.why));
            let rows: Vec<_> = rows.collect();
            Python::attach(|py| make(py, "FallbackError", (text, rows)))
        }
        PlanError::Internal { .. } => internal(text),
    }
}

/// A budget that is too small: text, peak, budget, the smallest budget.
fn budget(parts: (String, u64, u64, Option<u64>)) -> PyErr {
    Python::attach(|py| make(py, "MemoryBudgetError", parts))
}

/// A file that cannot be loaded. `path` is the one that was asked for.
pub fn load(error: LoadError, path: &Path) -> PyErr {
    match error {
        LoadError::Read { path, source } => system(&source, &path),
        // These name their file themselves.
        error @ (LoadError::Changed { .. } | LoadError::Tensor { .. }) => {
            message("LoadError", error.to_string())
        }
        other => message("LoadError", format!("{}: {other}", path.display())),
    }
}

/// A file that cannot be written.
pub fn save(error: SaveError, path: &Path) -> PyErr {
    match error {
        SaveError::Write { path, source } => system(&source, &path),
        // It names its file itself.
        error @ SaveError::Target { .. } => message("SaveError", error.to_string()),
        other => message("SaveError", format!("{}: {other}", path.display())),
    }
}

/// An error of the system about a file, as Python's own subclass of `OSError`.
pub fn system(error: &io::Error, path: &Path) -> PyErr {
    const NO_ENTRY: i32 = 2;
    let known = error.raw_os_error();
    let Some(code) = known.or((error.kind() == io::ErrorKind::NotFound).then_some(NO_ENTRY)) else {
        return PyOSError::new_err(format!("{}: {error}", path.display()));
    };
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text).to_owned();
    PyOSError::new_err((code, text, path.as_os_str().to_owned()))
}

/// Findings as instances of `cloakwork.Finding`.
pub fn findings<'py>(py: Python<'py>, findings: &[Finding]) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let class = py.import("cloakwork.programs.report")?.getattr("Finding")?;
    let instance = |finding: &Finding| {
        let later = PyDict::new(py);
        later.set_item("rule", finding.rule())?;
        later.set_item("label", finding.label.as_deref())?;
        later.set_item("written", finding.written.as_deref())?;
        let first = (
            finding.severity.to_string(),
            finding.code,
            finding.step,
            finding.segment.as_deref(),
            &finding.op,
            finding.names.clone(),
            &finding.operand,
            &finding.expected,
            &finding.got,
            &finding.hint,
            finding.to_string(),
        );
        class.call(first, Some(&later))
    };
    findings.iter().map(instance).collect()
}

/// A program that may not run.
pub fn program(py: Python<'_>, found: &[Finding]) -> PyErr {
    match findings(py, found) {
        Ok(found) => make(py, "ProgramError", (found,)),
        Err(error) => error,
    }
}
