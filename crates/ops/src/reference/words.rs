//! Plain integer arithmetic for the references: exact, slow, obvious; and operands by element.

use super::Number;
use super::number::decode;
use crate::{Args, Contents, OpError, Value, rules};
use cloakwork_ir::{DType, Shape, View};

/// `(a * b) % q` with C's sign.
#[must_use]
pub fn multiply_truncated(a: i64, b: i64, q: i64) -> i64 {
    ((i128::from(a) * i128::from(b)) % i128::from(q)) as i64
}

/// `(a + b) % q` with C's sign.
#[must_use]
pub fn add_truncated(a: i64, b: i64, q: i64) -> i64 {
    ((i128::from(a) + i128::from(b)) % i128::from(q)) as i64
}

/// `a mod q` in `[0, q)`.
#[must_use]
pub fn canonical(a: i128, q: i64) -> i64 {
    a.rem_euclid(i128::from(q)) as i64
}

/// An operand read as if broadcast to a target shape, row-major.
pub struct Broadcast<'a> {
    words: &'a [i64],
    view: View,
    dtype: DType,
}

impl<'a> Broadcast<'a> {
    /// A parameter under the target's shape; an integer is the same everywhere.
    ///
    /// # Errors
    /// No such operand, or it does not broadcast.
    pub fn new(
        args: &Args,
        contents: &'a dyn Contents,
        name: &'static str,
        target: &Shape,
    ) -> Result<Self, OpError> {
        let view = View::contiguous(shape_of(args, name)?);
        Self::under(args, contents, name, (&view, target))
    }

    fn under(
        args: &Args,
        contents: &'a dyn Contents,
        name: &'static str,
        (view, target): (&View, &Shape),
    ) -> Result<Self, OpError> {
        Ok(Self {
            words: contents.words(name)?,
            view: rules::broadcast(name, view, target)?,
            dtype: dtype_of(args, name)?,
        })
    }

    /// The operand under its own shape.
    ///
    /// # Errors
    /// No such operand.
    pub fn own(
        args: &Args,
        contents: &'a dyn Contents,
        name: &'static str,
    ) -> Result<Self, OpError> {
        Self::new(args, contents, name, &shape_of(args, name)?)
    }

    /// Moduli along the last axis of the target.
    ///
    /// # Errors
    /// No such operand, or it does not broadcast.
    pub fn moduli(
        args: &Args,
        contents: &'a dyn Contents,
        name: &'static str,
        target: &Shape,
    ) -> Result<Self, OpError> {
        let view = View::contiguous(shape_of(args, name)?);
        let view = rules::moduli_view(&view, target);
        Self::under(args, contents, name, (&view, target))
    }

    /// The first word of the element at a row-major index of the target.
    #[must_use]
    pub fn at(&self, index: u64) -> i64 {
        self.element(index).first().copied().unwrap_or(0)
    }

    /// The words of the element at a row-major index of the target.
    #[must_use]
    pub fn element(&self, index: u64) -> &'a [i64] {
        let mut rest = index;
        let mut offset = 0;
        for (&dim, &stride) in self.view.shape.dims().iter().zip(&self.view.strides).rev() {
            offset += (rest % dim) as i64 * stride;
            rest /= dim;
        }
        let parts = self.dtype.components();
        let start = offset as usize * parts;
        self.words.get(start..start + parts).unwrap_or(&[])
    }

    /// The number at a row-major index of the target.
    #[must_use]
    pub fn number(&self, index: u64) -> Number {
        decode(self.dtype, self.element(index))
    }

    /// All numbers, row-major.
    #[must_use]
    pub fn numbers(&self) -> Vec<Number> {
        let count = self.view.shape.elements();
        (0..count).map(|index| self.number(index)).collect()
    }

    /// The dtype of the elements.
    #[must_use]
    pub const fn dtype(&self) -> DType {
        self.dtype
    }
}

/// An integer stands for a tensor of i64.
fn dtype_of(args: &Args, name: &'static str) -> Result<DType, OpError> {
    Ok(match args.value(name)? {
        Value::Tensor(operand) => operand.dtype,
        _ => DType::I64,
    })
}

fn shape_of(args: &Args, name: &'static str) -> Result<Shape, OpError> {
    Ok(match args.value(name)? {
        Value::Tensor(operand) => operand.shape().clone(),
        _ => Shape::scalar(),
    })
}
