//! An op as a Python callable, and the conversion of Python values for it.

use crate::eval::{Value, eval};
use crate::tensor::Tensor;
use crate::{dtype, errors};
use cloakwork_ir::ShapeItem;
use cloakwork_ops::{Code, OpDef, OpError, Param, ParamKind, find};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PySequence, PySlice, PyTuple};

/// One op, found once by its name.
#[pyclass(frozen, module = "cloakwork._core")]
pub struct Op {
    def: &'static OpDef,
}

#[pymethods]
impl Op {
    #[new]
    fn new(name: &str) -> PyResult<Self> {
        let def = find(name).ok_or_else(|| errors::param("op", name, "the name of an op"))?;
        Ok(Self { def })
    }

    /// Call the op: one value a parameter, in the order of its declaration.
    #[pyo3(signature = (*args))]
    fn __call__(&self, py: Python<'_>, args: &Bound<'_, PyTuple>) -> PyResult<Tensor> {
        let given: Vec<Bound<'_, PyAny>> = args.iter().collect();
        if given.len() > self.def.params.len() {
            let error = OpError::new(
                Code::ArgumentCount,
                "",
                format!("at most {} arguments", self.def.params.len()),
                args.len().to_string(),
            );
            return Err(errors::op(self.def.name, &error));
        }
        let params = self.def.params.iter().zip(&given);
        let values = params.map(|(param, value)| convert(self.def, param, value));
        let values = values.collect::<PyResult<_>>()?;
        eval(py, self.def, values).map(Tensor::from)
    }

    /// The names of its parameters, in the order of its declaration.
    #[getter]
    fn parameters(&self) -> Vec<&'static str> {
        self.def.params.iter().map(|param| param.name).collect()
    }

    fn __repr__(&self) -> String {
        format!("Op({:?})", self.def.name)
    }
}

/// A Python value for a parameter.
pub fn convert(def: &OpDef, param: &Param, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if value.is_none() {
        return Ok(Value::None);
    }
    let wrong = |expected: &str, hint| {
        let got = errors::kind(value);
        let error = OpError::new(Code::ArgumentType, param.name, expected, got).hint(hint);
        errors::op(def.name, &error)
    };
    match param.kind {
        ParamKind::Tensor | ParamKind::OptionalTensor | ParamKind::Out => {
            tensor(value).ok_or_else(|| wrong("a cloakwork.Tensor", "use cloakwork.asarray"))
        }
        ParamKind::TensorOrInt => tensor(value).or_else(|| int(value)).ok_or_else(|| {
            wrong(
                "a cloakwork.Tensor or an integer of 64 bits",
                "use cloakwork.asarray",
            )
        }),
        ParamKind::Int(..) | ParamKind::Bool => {
            int(value).ok_or_else(|| wrong("an integer of 64 bits", ""))
        }
        ParamKind::Shape => items(value).map(Value::Shape).ok_or_else(|| {
            too_large(value).map_or_else(
                || {
                    wrong(
                        "a sequence of integers, or of indices and slices with all three bounds",
                        "",
                    )
                },
                |got| {
                    let expected = "integers of 64 bits";
                    let error = OpError::new(Code::ArgumentType, param.name, expected, got);
                    errors::op(def.name, &error)
                },
            )
        }),
        ParamKind::DType => dtype::from_object(value).map(Value::DType),
        ParamKind::Hint => Ok(tensor(value).or_else(|| int(value)).unwrap_or(Value::None)),
        ParamKind::Host => Ok(Value::None),
    }
}

fn tensor(value: &Bound<'_, PyAny>) -> Option<Value> {
    value
        .cast::<Tensor>()
        .ok()
        .map(|tensor| Value::Tensor(tensor.get().inner().clone()))
}

/// An integer, also NumPy's, if 64 bits hold it.
fn int(value: &Bound<'_, PyAny>) -> Option<Value> {
    value.extract().ok().map(Value::Int)
}

/// The first integer, of one or of a sequence, that 64 bits do not hold.
fn too_large(value: &Bound<'_, PyAny>) -> Option<String> {
    let is_large = |entry: &Bound<'_, PyAny>| {
        entry.is_instance_of::<PyInt>() && entry.extract::<i64>().is_err()
    };
    if is_large(value) {
        return Some(value.to_string());
    }
    let entries = value.cast::<PySequence>().ok()?.try_iter().ok()?;
    let mut entries = entries.filter_map(Result::ok);
    entries.find(is_large).map(|entry| entry.to_string())
}

fn items(value: &Bound<'_, PyAny>) -> Option<Vec<ShapeItem>> {
    if value.is_instance_of::<PyInt>() {
        return Some(vec![ShapeItem::Int(value.extract().ok()?)]);
    }
    let list = value.cast::<PySequence>().ok()?;
    let item = |entry: PyResult<Bound<'_, PyAny>>| {
        let entry = entry.ok()?;
        if let Ok(slice) = entry.cast::<PySlice>() {
            let bound = |name| slice.getattr(name).ok()?.extract::<Option<i64>>().ok();
            let (start, stop) = (bound("start")?, bound("stop")?);
            let step = Some(bound("step")?.unwrap_or(1));
            return Some(ShapeItem::Slice { start, stop, step });
        }
        entry.extract().ok().map(ShapeItem::Int)
    };
    list.try_iter().ok()?.map(item).collect()
}
