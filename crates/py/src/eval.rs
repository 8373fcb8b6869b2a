//! Calls an op on values: at once, or into the trace that is being recorded.

use crate::guard::{unlocked, unlocked_in_memory, watched};
use crate::tensor::{Inner, Tensor};
use crate::{device, dtype, errors, trace};
use cloakwork_ir::{DType, Shape, ShapeItem, Type};
use cloakwork_ops::{Body, OpDef, ParamKind, find};
use cloakwork_run::eager::{self, EagerArg};
use pyo3::prelude::*;

/// The value of one parameter.
#[derive(Clone)]
pub enum Value {
    /// A tensor.
    Tensor(Inner),
    /// An integer.
    Int(i64),
    /// A list of sizes, indices and ranges.
    Shape(Vec<ShapeItem>),
    /// An element type.
    DType(DType),
    /// Left out.
    None,
}

/// Calls an op; `values` holds one value a parameter, or fewer.
///
/// Under a trace a call is recorded if one of its operands is traced, or if it has none: then it
/// makes a tensor that later calls may write. Everything else is computed now, and what the trace
/// meets of it is a constant.
pub fn eval(py: Python<'_>, def: &'static OpDef, values: Vec<Value>) -> PyResult<Inner> {
    let active = trace::active();
    let mut tensors = values.iter().filter_map(|value| match value {
        Value::Tensor(tensor) => Some(tensor),
        _ => None,
    });
    if active.is_some() && tensors.clone().any(Inner::is_secret) {
        return Err(errors::secret(format!(
            "{}: a secret tensor must not be traced: the program would hold it",
            def.name
        )));
    }
    let none = tensors.clone().next().is_none();
    let traced = tensors.any(|tensor| matches!(tensor, Inner::Traced(_)));
    match active {
        Some(trace) if trace.is_batch() => in_batch(py, &trace, def, values),
        Some(trace) if traced || none => {
            watched(|| trace.record(def, values))?.map(|traced| Inner::Traced(Box::new(traced)))
        }
        _ => at_once(py, def, values),
    }
}

/// What a batch makes of a call: it waits, unless it is a view of elements that are there, or
/// writes to a tensor from outside, whose elements earlier calls may still have to read.
fn in_batch(
    py: Python<'_>,
    trace: &std::sync::Arc<trace::Trace>,
    def: &'static OpDef,
    values: Vec<Value>,
) -> PyResult<Inner> {
    let is_real = |value: &Value| match value {
        Value::Tensor(Inner::Real(_)) => true,
        Value::Tensor(Inner::Traced(traced)) => traced.settled().is_some(),
        _ => false,
    };
    let given = def.params.iter().zip(&values);
    let writes = given
        .filter(|(param, _)| param.kind == ParamKind::Out)
        .any(|(_, value)| is_real(value));
    if writes {
        trace.flush(py)?;
        return at_once(py, def, values);
    }
    let views = matches!(def.body, Body::View(_)) && values.first().is_some_and(is_real);
    if views {
        return at_once(py, def, values);
    }
    watched(|| trace.record(def, values))?.map(|traced| Inner::Traced(Box::new(traced)))
}

fn at_once(py: Python<'_>, def: &'static OpDef, values: Vec<Value>) -> PyResult<Inner> {
    let args = values
        .into_iter()
        .map(eager_arg)
        .collect::<PyResult<Vec<EagerArg>>>()?;
    let (threads, isa) = (device::threads(None)?, device::isa(py)?);
    let mapped = args.iter().any(|arg| match arg {
        EagerArg::Tensor(tensor) => tensor.storage().is_mapped(),
        _ => false,
    });
    let call = || eager::call(def, args, threads, isa);
    let result = if mapped {
        unlocked(py, call)?
    } else {
        unlocked_in_memory(py, call)?
    };
    result.map(Inner::Real).map_err(errors::eager)
}

fn eager_arg(value: Value) -> PyResult<EagerArg> {
    Ok(match value {
        Value::Tensor(Inner::Real(tensor)) => EagerArg::Tensor(tensor),
        Value::Tensor(Inner::Traced(traced)) => match traced.settle()? {
            Some(Inner::Real(tensor)) => EagerArg::Tensor(tensor.clone()),
            _ => return Err(trace::stray()),
        },
        Value::Int(value) => EagerArg::Int(value),
        Value::Shape(items) => EagerArg::Shape(items),
        Value::DType(dtype) => EagerArg::DType(dtype),
        Value::None => EagerArg::None,
    })
}

/// Calls a layout op that the tensor's own methods stand on.
pub fn layout(
    py: Python<'_>,
    name: &'static str,
    tensor: &Inner,
    rest: impl IntoIterator<Item = Value>,
) -> PyResult<Inner> {
    let def = find(name).ok_or_else(|| errors::internal(format!("no op is called {name}")))?;
    let mut values = vec![Value::Tensor(tensor.clone())];
    values.extend(rest);
    eval(py, def, values)
}

/// A tensor to be written before it is read: at once, its elements are whatever they are, those of
/// fields and points zeros, as not all bits are elements; in a traced program it is `empty`.
#[pyfunction]
pub fn unwritten(py: Python<'_>, shape: Vec<u64>, dtype: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let dtype = dtype::from_object(dtype)?;
    let shape = Shape::new(&shape).map_err(|error| errors::shape(&error))?;
    if trace::active().is_none() {
        let tensor = if dtype.is_number() {
            eager::Tensor::uninit(dtype, shape)
        } else {
            eager::Tensor::zeros(&Type::new(dtype, shape))
        };
        let tensor = tensor.map_err(errors::run)?;
        return Ok(Inner::Real(tensor).into());
    }
    let def = find("empty").ok_or_else(|| errors::internal("no op is called empty".to_owned()))?;
    let sizes = shape.dims().iter().map(|&size| ShapeItem::Int(size as i64));
    let values = vec![Value::Shape(sizes.collect()), Value::DType(dtype)];
    eval(py, def, values).map(Tensor::from)
}
