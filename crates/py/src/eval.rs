//! Calls an op on values: at once, or into the trace that is being recorded.

use crate::guard::{called, unlocked};
use crate::index::sized;
use crate::tensor::{Inner, Tensor};
use crate::{device, dtype, errors, on_device, op, trace};
use cloakwork_ir::{DType, Shape, Type};
use cloakwork_ops::{OpDef, named};
use cloakwork_run::OnDevice;
use cloakwork_run::eager::{self, Call, EagerArg};
pub use cloakwork_trace::Value;
use cloakwork_trace::{Route, active, is_active};
use pyo3::prelude::*;

/// Calls an op; `values` holds one value a parameter, or fewer.
///
/// Where this thread records, its trace says whether the call becomes a step.
pub fn eval(py: Python<'_>, def: &'static OpDef, values: Vec<Value>) -> PyResult<Inner> {
    let Some(trace) = active() else {
        return now(py, def, values);
    };
    let values = match on_device::is_among(&values) {
        true => on_device::operands_of(&trace, values)?,
        false => values,
    };
    match trace.route(def, &values).map_err(errors::traced)? {
        Route::Step => on_device::record(&trace, def, values),
        Route::NowBehindTheBatch => {
            trace::flush(py, &trace)?;
            now(py, def, values)
        }
        Route::Now => now(py, def, values),
    }
}

/// Calls an op that no program of the caller's has: on the device of its operands, or at once.
fn now(py: Python<'_>, def: &'static OpDef, values: Vec<Value>) -> PyResult<Inner> {
    match on_device::is_among(&values) {
        true => on_device::call(py, def, values),
        false => at_once(py, def, values),
    }
}

/// Computes a call on the host.
pub fn at_once(py: Python<'_>, def: &'static OpDef, values: Vec<Value>) -> PyResult<Inner> {
    let mut args = Vec::with_capacity(def.params.len());
    let mut mapped = false;
    for value in values {
        let arg = eager_arg(value)?;
        mapped |= matches!(&arg, EagerArg::Tensor(tensor) if tensor.storage().is_mapped());
        args.push(arg);
    }
    let call = Call::new(def, args, device::isa(py)?);
    let weight = call.weight_ns();
    called(py, weight, mapped, |threads| call.run(threads))?
        .map(Inner::Real)
        .map_err(errors::eager)
}

fn eager_arg(value: Value) -> PyResult<EagerArg> {
    Ok(match value {
        Value::Tensor(Inner::Real(tensor)) => EagerArg::Tensor(tensor),
        Value::Tensor(Inner::Traced(traced)) => match trace::settle(&traced)? {
            Some(Inner::Real(tensor)) => EagerArg::Tensor(tensor.clone()),
            Some(Inner::Away(tensor)) => EagerArg::Tensor(on_host(tensor)?.clone()),
            _ => return Err(trace::stray()),
        },
        Value::Tensor(Inner::Away(tensor)) => EagerArg::Tensor(on_host(&tensor)?.clone()),
        Value::Int(value) => EagerArg::Int(value),
        Value::Shape(items) => EagerArg::Shape(items),
        Value::DType(dtype) => EagerArg::DType(dtype),
        Value::None => EagerArg::None,
    })
}

/// The elements of a tensor on a device, for the host to read.
pub fn on_host(tensor: &OnDevice) -> PyResult<&eager::Tensor> {
    let read = Python::attach(|py| unlocked(py, || tensor.on_host().map(drop)))?;
    read.and_then(|()| tensor.on_host()).map_err(errors::run)
}

/// Calls a layout op that the tensor's own methods stand on.
pub fn layout(
    py: Python<'_>,
    def: &'static OpDef,
    tensor: &Inner,
    rest: impl IntoIterator<Item = Value>,
) -> PyResult<Inner> {
    let mut values = vec![Value::Tensor(tensor.clone())];
    values.extend(rest);
    eval(py, def, values)
}

/// A tensor with one value everywhere.
#[pyfunction]
pub fn filled(py: Python<'_>, shape: &Bound<'_, PyAny>, value: &Tensor) -> PyResult<Tensor> {
    let (def, value) = (&named::EMPTY, value.inner());
    let _within = on_device::within(py, std::slice::from_ref(value))?;
    let shape = op::convert(def, &def.params[0], shape)?;
    let out = eval(py, def, vec![shape, Value::DType(value.dtype())])?;
    let values = [value.clone(), out].map(Value::Tensor).into();
    eval(py, &named::COPY, values).map(Tensor::from)
}

/// An uninitialized tensor, to be written before it is read.
#[pyfunction]
pub fn unwritten(py: Python<'_>, shape: Vec<u64>, dtype: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    uninitialized(py, &shape, dtype::from_object(dtype)?).map(Tensor::from)
}

/// An uninitialized tensor, to be written before it is read; elements of
/// fields and points zeros, as not all bits are elements; in a traced program it is `empty`.
pub fn uninitialized(py: Python<'_>, dims: &[u64], dtype: DType) -> PyResult<Inner> {
    if is_active() {
        return eval(py, &named::EMPTY, vec![sized(dims), Value::DType(dtype)]);
    }
    let shape = Shape::new(dims).map_err(|error| errors::shape(&error))?;
    let tensor = if dtype.is_number() {
        eager::Tensor::uninit(dtype, shape)
    } else {
        eager::Tensor::zeros(&Type::new(dtype, shape))
    };
    tensor.map(Inner::Real).map_err(errors::run)
}
