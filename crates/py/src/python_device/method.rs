//! A kernel's method, and how it gets the operands of a launch.

use pyo3::prelude::*;

/// An operand as a method gets it.
#[derive(FromPyObject)]
pub struct Operand {
    /// Axes of the launch that the view has, or all of them but the last `without`.
    pub axes: Option<Vec<usize>>,
    pub without: usize,
    /// One more axis: the params that hold its size and its stride.
    pub more: Option<(usize, usize)>,
    pub dtype: Py<PyAny>,
    pub itemsize: isize,
}

/// A bound method of the class, and its arguments: views, then params.
#[derive(FromPyObject)]
pub struct Method {
    pub call: Py<PyAny>,
    pub operands: Vec<Operand>,
    /// Numbers of the params that it gets.
    pub params: Vec<usize>,
    /// The size of an element whose bits param 0 holds, for `fill`; else 0.
    pub value_bytes: u32,
}
