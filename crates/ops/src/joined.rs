//! Tensors joined into one: how an op whose elements share work is called once for many tensors.
//!
//! The steps are those of any expansion: a tensor of one axis with room for all elements, a copy
//! of each operand into its part, one call, and a view of each part of the result.

use crate::expansion::{Expansion, Part};
use crate::{OpDef, OpError};
use cloakwork_ir::{Arg, Builder, DType, Shape, Symbol, shape_arg};

/// The steps of one such call, being written.
pub struct Joined<'a> {
    steps: Expansion<'a>,
    def: &'static OpDef,
    dtype: DType,
    elements: u64,
}

impl<'a> Joined<'a> {
    /// Starts to join operands of this op that have so many elements of a type together. `result`
    /// names what the next call of [`Joined::part`] gives.
    pub fn new(
        def: &'static OpDef,
        (dtype, elements): (DType, u64),
        result: Symbol,
        builder: &'a mut Builder,
    ) -> Self {
        Self {
            steps: Expansion::new(def, &[], result, builder),
            def,
            dtype,
            elements,
        }
    }

    /// Appends a tensor with room for all elements.
    ///
    /// # Errors
    /// No shape has so many elements.
    pub fn room(&mut self) -> Result<Arg, OpError> {
        self.steps.empty(self.dtype, &[self.elements])
    }

    /// Appends a copy of an operand into the room, from element `at` on.
    ///
    /// # Errors
    /// It has no place there.
    pub fn put(&mut self, room: &Arg, at: u64, operand: (Arg, &Shape)) -> Result<(), OpError> {
        let (tensor, shape) = operand;
        let part = Part::Range(at, at.saturating_add(shape.elements()));
        let part = self.steps.slice(room, &[part])?;
        let part = self.steps.reshape(&part, shape.dims())?;
        self.steps.call_into("copy", &[("a", tensor)], &part)
    }

    /// Appends the call on all elements.
    ///
    /// # Errors
    /// The op takes more than a tensor.
    pub fn call(&mut self, room: &Arg) -> Result<Arg, OpError> {
        let all = self.room()?;
        let first = self.def.params.first().map_or("", |param| param.name);
        self.steps
            .call_into(self.def.name, &[(first, room.clone())], &all)?;
        Ok(all)
    }

    /// Appends a view of the result's part for the operand that lies from element `at` on.
    ///
    /// # Errors
    /// There is no such part.
    pub fn part(&mut self, all: &Arg, at: u64, shape: &Shape) -> Result<(), OpError> {
        let part = Part::Range(at, at.saturating_add(shape.elements()));
        let part = self.steps.slice(all, &[part])?;
        let given = [("a", part), ("shape", shape_arg(shape))];
        self.steps.call_result("reshape", &given)
    }
}
