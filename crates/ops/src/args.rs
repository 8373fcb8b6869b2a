//! A call with its arguments bound to parameters: the operand of every function of a declaration.

use crate::{Code, OpDef, OpError, geometry};
use cloakwork_ir::{DType, HostSlot, HostTensor, Shape, ShapeItem, Type, View, resolve_axis};
use smallvec::SmallVec;

/// A tensor argument. For `infer` and `body`, the view is the logical one, with the strides that
/// HEAL's runtime would have; for `launch` it is the physical one that the planner chose.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    /// Element type.
    pub dtype: DType,
    /// Shape and strides.
    pub view: &'a View,
    /// The contents, where they are known before the run.
    pub constant: Option<&'a HostTensor>,
}

impl<'a> Operand<'a> {
    /// The type of a tensor of the same elements and sizes.
    #[must_use]
    pub fn ty(&self) -> Type {
        Type::new(self.dtype, self.view.shape.clone())
    }

    /// Sizes of the axes.
    #[must_use]
    pub fn shape(&self) -> &'a Shape {
        &self.view.shape
    }

    /// Sizes of the axes.
    #[must_use]
    pub fn dims(&self) -> &'a [u64] {
        self.view.shape.dims()
    }
}

/// The value of one parameter.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// A tensor.
    Tensor(Operand<'a>),
    /// An integer.
    Int(i64),
    /// A list of sizes, indices and ranges.
    Shape(&'a [ShapeItem]),
    /// An element type.
    DType(DType),
    /// A host tensor.
    Host(&'a HostSlot),
    /// Nothing.
    Absent,
}

/// Values of all parameters, in the order of [`OpDef::params`].
#[derive(Clone, Debug)]
pub struct Args<'a> {
    /// The declaration.
    pub def: &'static OpDef,
    /// One value a parameter.
    pub values: SmallVec<[Value<'a>; 10]>,
}

impl<'a> Args<'a> {
    /// The value of a parameter.
    ///
    /// # Errors
    /// The op has no such parameter: a mistake in its declaration, not in the program.
    pub fn value(&self, name: &'static str) -> Result<Value<'a>, OpError> {
        let value = self
            .def
            .param(name)
            .and_then(|index| self.values.get(index));
        value
            .copied()
            .ok_or_else(|| self.wrong_kind(name, "a parameter of this op"))
    }

    /// A tensor parameter.
    ///
    /// # Errors
    /// It is not a tensor.
    pub fn tensor(&self, name: &'static str) -> Result<Operand<'a>, OpError> {
        match self.value(name)? {
            Value::Tensor(operand) => Ok(operand),
            _ => Err(self.wrong_kind(name, "a device tensor")),
        }
    }

    /// The row-major view of a tensor parameter's shape.
    ///
    /// # Errors
    /// It is not a tensor.
    pub fn row_major(&self, name: &'static str) -> Result<View, OpError> {
        Ok(View::contiguous(self.tensor(name)?.shape().clone()))
    }

    /// How many elements a tensor parameter has: 0 where it is not a tensor.
    #[must_use]
    pub fn elements(&self, name: &'static str) -> u64 {
        self.tensor(name).map_or(0, |a| a.shape().elements())
    }

    /// A tensor parameter, if it is one.
    ///
    /// # Errors
    /// The op has no such parameter.
    pub fn tensor_if_any(&self, name: &'static str) -> Result<Option<Operand<'a>>, OpError> {
        match self.value(name)? {
            Value::Tensor(operand) => Ok(Some(operand)),
            _ => Ok(None),
        }
    }

    /// An integer parameter.
    ///
    /// # Errors
    /// It is not an integer.
    pub fn int(&self, name: &'static str) -> Result<i64, OpError> {
        match self.value(name)? {
            Value::Int(value) => Ok(value),
            _ => Err(self.wrong_kind(name, "an integer")),
        }
    }

    /// A parameter that is 0 or 1.
    ///
    /// # Errors
    /// It is not an integer.
    pub fn flag(&self, name: &'static str) -> Result<bool, OpError> {
        Ok(self.int(name)? != 0)
    }

    /// An axis parameter as an index into a rank.
    ///
    /// # Errors
    /// It is not in `-rank .. rank`.
    pub fn axis(&self, name: &'static str, rank: usize) -> Result<usize, OpError> {
        let axis = self.int(name)?;
        resolve_axis(axis, rank).map_err(|_| {
            let expected = match rank {
                0 => "an axis, of which a scalar has none".to_owned(),
                _ => format!("an axis from -{rank} to {}", rank - 1),
            };
            OpError::new(Code::Axis, name, expected, axis.to_string())
        })
    }

    /// A list parameter.
    ///
    /// # Errors
    /// It is not a list.
    pub fn items(&self, name: &'static str) -> Result<&'a [ShapeItem], OpError> {
        match self.value(name)? {
            Value::Shape(items) => Ok(items),
            _ => Err(self.wrong_kind(name, "a list of sizes")),
        }
    }

    /// A list parameter that must be a shape.
    ///
    /// # Errors
    /// It holds something else than sizes, or is too large.
    pub fn shape(&self, name: &'static str) -> Result<Shape, OpError> {
        let items = self.items(name)?;
        let mut dims = SmallVec::<[u64; 16]>::new();
        for item in items {
            match item {
                ShapeItem::Int(size) if *size >= 0 => dims.push(*size as u64),
                other => {
                    let got = other.to_string();
                    return Err(OpError::new(Code::Shape, name, "sizes of 0 or more", got));
                }
            }
        }
        geometry::shape(name, &dims)
    }

    /// An element type parameter.
    ///
    /// # Errors
    /// It is not an element type.
    pub fn dtype(&self, name: &'static str) -> Result<DType, OpError> {
        match self.value(name)? {
            Value::DType(dtype) => Ok(dtype),
            _ => Err(self.wrong_kind(name, "an element type")),
        }
    }

    fn wrong_kind(&self, name: &'static str, expected: &str) -> OpError {
        let got = self
            .def
            .param(name)
            .and_then(|i| self.values.get(i))
            .map_or("nothing", kind_of);
        OpError::new(Code::ArgumentType, name, expected, got)
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Tensor(_) => "a device tensor",
        Value::Int(_) => "an integer",
        Value::Shape(_) => "a list",
        Value::DType(_) => "an element type",
        Value::Host(_) => "a host tensor",
        Value::Absent => "nothing",
    }
}
