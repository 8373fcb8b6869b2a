//! Operands of calls: tensors with elements or without, numbers, shapes.

use crate::{Trace, TraceError, Traced};
use cloakwork_ir::{DType, Device, ShapeItem, Type, View};
use cloakwork_ops::{Body, OpDef, ParamKind};
use cloakwork_run::{OnDevice, eager};
use std::sync::Arc;

/// A tensor of a call.
#[derive(Clone)]
pub enum Tensor {
    /// Elements in memory.
    Real(eager::Tensor),
    /// Elements in the memory of a device.
    Away(Arc<OnDevice>),
    /// A value of a program that is being recorded.
    /// Boxed: tensors with elements are what must be small.
    Traced(Box<Traced>),
}

impl Tensor {
    /// Shape and strides.
    #[inline]
    #[must_use]
    pub fn view(&self) -> &View {
        match self {
            Self::Real(tensor) => tensor.view(),
            Self::Away(tensor) => tensor.view(),
            Self::Traced(traced) => &traced.view,
        }
    }

    /// Element type.
    #[inline]
    #[must_use]
    pub fn dtype(&self) -> DType {
        match self {
            Self::Real(tensor) => tensor.dtype(),
            Self::Away(tensor) => tensor.dtype(),
            Self::Traced(traced) => traced.dtype,
        }
    }

    /// Dtype and shape.
    #[must_use]
    pub fn ty(&self) -> Type {
        Type::new(self.dtype(), self.view().shape.clone())
    }

    /// Whether its elements must not be shown.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        matches!(self, Self::Real(tensor) if tensor.is_secret())
    }

    /// Whether it has elements: as a result of a batch, once that has run.
    #[must_use]
    pub fn has_elements(&self) -> bool {
        match self {
            Self::Real(_) | Self::Away(_) => true,
            Self::Traced(traced) => traced.settled().is_some(),
        }
    }
}

impl Tensor {
    /// The device on which it is, or will be once what waits there has run; none for the host, and
    /// for values of programs and of batches that the caller begins and ends.
    #[must_use]
    pub fn device(&self) -> Option<Device> {
        match self {
            Self::Real(_) => None,
            Self::Away(tensor) => Some(tensor.device()),
            Self::Traced(traced) => match traced.settled() {
                Some(settled) => settled.device(),
                None => traced.trace.is_lazy().then(|| traced.trace.device()),
            },
        }
    }
}

impl From<Traced> for Tensor {
    fn from(traced: Traced) -> Self {
        Self::Traced(Box::new(traced))
    }
}

impl From<Box<Traced>> for Tensor {
    fn from(traced: Box<Traced>) -> Self {
        Self::Traced(traced)
    }
}

/// The value of one parameter.
#[derive(Clone)]
pub enum Value {
    /// A tensor.
    Tensor(Tensor),
    /// An integer.
    Int(i64),
    /// A list of sizes, indices and ranges.
    Shape(Vec<ShapeItem>),
    /// An element type.
    DType(DType),
    /// Left out.
    None,
}

/// Where a call is executed: as a step of the trace, or at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// The call is a step of the trace.
    Step,
    /// The call is computed at once; the trace holds its result as a constant.
    Now,
    /// The same, once the batch has run.
    NowBehindTheBatch,
}

impl Trace {
    /// The route of a call on this thread.
    ///
    /// A call is recorded if one of its operands is traced, or if it has none: then it makes a
    /// tensor that later calls may write. In a batch every call waits, unless it is a view of
    /// elements that are there, or writes to a tensor from outside, whose elements earlier calls
    /// may still have to read.
    ///
    /// # Errors
    /// An operand is secret: the program would hold it.
    pub fn route(&self, def: &'static OpDef, values: &[Value]) -> Result<Route, TraceError> {
        let mut tensors = values.iter().filter_map(|value| match value {
            Value::Tensor(tensor) => Some(tensor),
            _ => None,
        });
        if tensors.clone().any(Tensor::is_secret) {
            return Err(TraceError::Secret(format!(
                "{}: a secret tensor must not be traced: the program would contain it",
                def.name
            )));
        }
        if self.is_batch() {
            return Ok(in_batch(def, values));
        }
        let none = tensors.clone().next().is_none();
        let traced = tensors.any(|tensor| matches!(tensor, Tensor::Traced(_)));
        Ok(if traced || none {
            Route::Step
        } else {
            Route::Now
        })
    }
}

fn in_batch(def: &'static OpDef, values: &[Value]) -> Route {
    let has_elements =
        |value: &Value| matches!(value, Value::Tensor(tensor) if tensor.has_elements());
    let mut given = def.params.iter().zip(values);
    if given.any(|(param, value)| param.kind == ParamKind::Out && has_elements(value)) {
        return Route::NowBehindTheBatch;
    }
    let is_real = |value: &Value| {
        matches!(value, Value::Tensor(tensor) if tensor.has_elements()
        && tensor.device().is_none())
    };
    let views = matches!(def.body, Body::View(_)) && values.first().is_some_and(is_real);
    if views { Route::Now } else { Route::Step }
}
