//! Shared by ops on matrices: the last two axes are the matrix, those before enumerate matrices;
//! results of several parts are packed along one axis, for views to take apart.

use crate::op::Param;
use crate::reference::complex::C;
use crate::reference::matrices::Matrix;
use crate::reference::{Broadcast, Contents};
use crate::{Args, Extents, Launch, LaunchOperand, Launches, OpError, Operand, geometry, rules};
use cloakwork_ir::{DType, Shape, Type, View};
use smallvec::{SmallVec, smallvec};

/// Declares an op: its name in Rust and its name, its description, its parameters, their order in
/// its one spelling, and its rules.
macro_rules! declare {
    ($name:ident, $text:literal, $doc:literal, $params:expr, $args:expr,
     $infer:expr, $launch:expr, $operations:expr, $reference:expr) => {
        #[doc = concat!("`", $text, "`.")]
        pub static $name: $crate::OpDef = $crate::OpDef {
            name: $text,
            family: $crate::Family::Linear,
            doc: $doc,
            params: $params,
            forms: &[$crate::Form::own($text, $args)],
            body: $crate::Body::kernel($infer, $launch, $reference),
            operations: $operations,
            laws: &[],
        };
    };
}
pub(super) use declare;

/// The dtypes that factorisations take.
pub const FLOATS: [DType; 4] = [DType::F32, DType::F64, DType::C64, DType::C128];
/// The operand of an op on square matrices.
pub const SQUARE: Param = Param::tensor("a", "f32, f64, c64 or c128 `[.., n, n]`");
/// The operand of an op on any matrices.
pub const ANY: Param = Param::tensor("a", "f32, f64, c64 or c128 `[.., m, n]`");
/// A result of several parts.
pub const PACKED: Param = Param::out("the parts, row-major, along one axis");
/// A result of numbers.
pub const VALUES: Param = Param::out("`a` without its last axis, or less");

/// Which of the launch's axes after the batch an operand's own last axes are.
pub type Axes<'a> = &'a [Option<usize>];

/// Rows and columns of the matrices.
///
/// # Errors
/// Another dtype, or fewer than two axes.
pub fn sizes(name: &'static str, operand: Operand) -> Result<[u64; 2], OpError> {
    rules::dtype_in(name, operand, &FLOATS)?;
    match *operand.dims() {
        [.., rows, columns] => Ok([rows, columns]),
        _ => Err(OpError::shape(name, "at least 2 axes", operand.shape())),
    }
}

/// The n of square matrices.
///
/// # Errors
/// As for [`sizes`], or they are not square.
pub fn square(name: &'static str, operand: Operand) -> Result<u64, OpError> {
    let [rows, columns] = sizes(name, operand)?;
    if rows == columns {
        return Ok(rows);
    }
    let expected = "square matrices: last axes of equal size";
    Err(OpError::shape(name, expected, operand.shape()))
}

/// The sizes of the axes before the matrix.
///
/// # Errors
/// Fewer than two axes.
pub fn batch<'a>(name: &'static str, operand: Operand<'a>) -> Result<&'a [u64], OpError> {
    match operand.dims() {
        [batch @ .., _, _] => Ok(batch),
        _ => Err(OpError::shape(name, "at least 2 axes", operand.shape())),
    }
}

/// The batch and an axis of `length`.
///
/// # Errors
/// As for [`batch`], or too many elements.
pub fn packed(args: &Args, dtype: DType, length: u64) -> Result<Type, OpError> {
    let a = args.tensor("a")?;
    let shape = geometry::extended("a", batch("a", a)?, &[length])?;
    Ok(Type::new(dtype, shape))
}

/// `rows * columns`, or more than any shape may have.
pub fn area(rows: u64, columns: u64) -> u64 {
    rows.saturating_mul(columns)
}

/// An operand of a launch over `[batch.., unit..]`: its strides over the batch and, where `axes`
/// says that a launch's axis is its own, over that.
///
/// # Errors
/// It is not a tensor.
pub fn operand(args: &Args, name: &'static str, axes: Axes) -> Result<LaunchOperand, OpError> {
    strided(args, name, args.tensor(name)?.view, axes)
}

/// The same with a broadcast view in place of the operand's own.
///
/// # Errors
/// It is not a tensor.
pub fn strided(
    args: &Args,
    name: &'static str,
    view: &View,
    axes: Axes,
) -> Result<LaunchOperand, OpError> {
    let own = axes.iter().flatten().count();
    let batch = view.strides.len().saturating_sub(own);
    let mut strides = Extents::from_slice(view.strides.get(..batch).unwrap_or(&[]));
    let stride = |axis: &usize| view.strides.get(batch + axis).copied();
    strides.extend(
        axes.iter()
            .map(|axis| axis.as_ref().and_then(stride).unwrap_or(0)),
    );
    args.operand(name, &strides)
}

/// One launch of units of these sizes.
pub fn launch(
    kernel: &'static str,
    (batch, unit): (&[u64], &[u64]),
    operands: SmallVec<[LaunchOperand; 5]>,
    params: &[i64],
) -> Launches {
    smallvec![Launch {
        kernel,
        dims: batch.iter().chain(unit).map(|&dim| dim as i64).collect(),
        split: batch.len(),
        operands,
        params: Extents::from_slice(params),
    }]
}

/// A launch from matrices to packed results: axes i, j of the matrix and p of the result.
///
/// # Errors
/// Operands of other ranks than the op infers.
pub fn launch_packed(
    kernel: &'static str,
    args: &Args,
    params: &[i64],
) -> Result<Launches, OpError> {
    let (a, out) = (args.tensor("a")?, args.tensor("out")?);
    let [rows, columns] = sizes("a", a)?;
    let length = out.dims().last().copied().unwrap_or(0);
    let operands = smallvec![
        operand(args, "out", &[None, None, Some(0)])?,
        operand(args, "a", &[Some(0), Some(1), None])?,
    ];
    let sizes = (batch("a", a)?, [rows, columns, length]);
    Ok(launch(kernel, (sizes.0, &sizes.1), operands, params))
}

/// About the multiplications of a factorisation.
pub fn operations(args: &Args) -> u64 {
    let count = args.tensor("a").and_then(|a| {
        let [rows, columns] = sizes("a", a)?;
        Ok(a.shape().elements().saturating_mul(rows.min(columns)))
    });
    count.unwrap_or(0)
}

/// The shape that two batches broadcast to.
///
/// # Errors
/// They do not go together.
pub fn common_batch(a: &[u64], b: &[u64]) -> Result<Shape, OpError> {
    let (a, b) = (geometry::shape("a", a)?, geometry::shape("b", b)?);
    a.broadcast(&b).ok_or_else(|| {
        let expected = format!("matrices of a batch that broadcasts with {a}");
        OpError::shape("b", expected, &b)
    })
}

/// The batch of results: that of `a`, or the common one of `a` and `b`.
///
/// # Errors
/// Operands that do not go together.
pub fn batch_of_results(args: &Args) -> Result<Shape, OpError> {
    let own = batch("a", args.tensor("a")?)?;
    match args.def.param("b") {
        Some(_) => common_batch(own, batch("b", args.tensor("b")?)?),
        None => geometry::shape("a", own),
    }
}

/// The matrices of an operand, one for each entry of a batch that its own broadcasts to.
///
/// # Errors
/// It does not.
pub fn matrices_of(
    args: &Args,
    contents: &dyn Contents,
    name: &'static str,
    results: &Shape,
) -> Result<Vec<Matrix>, OpError> {
    let [rows, columns] = sizes(name, args.tensor(name)?)?;
    let shape = geometry::extended(name, results.dims(), &[rows, columns])?;
    let all = Broadcast::new(args, contents, name, &shape)?;
    let one = |at: u64| {
        Matrix::new(rows as usize, columns as usize, |i, j| {
            let number = all.number((at * rows + i as u64) * columns + j as u64);
            C(number.real(), number.imaginary())
        })
    };
    Ok((0..results.elements()).map(one).collect())
}
