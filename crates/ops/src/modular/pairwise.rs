//! Shared by `modmul` and `modsum`, and the base of `modmuladd`: two operands that broadcast to
//! `out`, and moduli along its last axis.

use crate::op::Param;
use crate::reference::Broadcast;
use crate::{Args, Contents, Launch, LaunchInput, Launches, OpError, rules};
use cloakwork_ir::Type;
use smallvec::{SmallVec, smallvec};

/// The order in which HEAL has the arguments.
pub const ARGS: &[&str] = &["a", "b", "q", "out"];

/// The first operand.
pub const A: Param = Param::tensor("a", "residues, i32 or i64");
/// The second.
pub const B: Param = factor("b");
/// Moduli.
pub const Q: Param = Param::tensor_or_int("q", "moduli `[k]` along the last axis, or one");
/// The parameters of ops on pairs.
pub const PARAMS: &[Param] = &[
    A,
    B,
    Q,
    Param::out("any shape that `a` and `b` broadcast to"),
];

/// An operand that may be an integer.
pub const fn factor(name: &'static str) -> Param {
    Param::tensor_or_int(name, "residues of the same dtype, or one integer")
}

/// Dtype of `a`, and the common shape of `a` and `b`.
pub fn infer(args: &Args) -> Result<Type, OpError> {
    let product = infer_product(args)?;
    rules::moduli(args, "q", &rules::out_shape(args, &product.shape)?)?;
    Ok(product)
}

/// The same without a look at the shape of the moduli.
pub fn infer_product(args: &Args) -> Result<Type, OpError> {
    let a = args.tensor("a")?;
    rules::dtype_in("a", a, &rules::RESIDUES)?;
    rules::same_dtype(args, "b", a.dtype)?;
    rules::same_dtype(args, "q", a.dtype)?;
    Ok(Type::new(
        a.dtype,
        rules::broadcast_with(args, "b", a.shape())?,
    ))
}

/// One element-wise launch: out, these operands, q.
pub fn launch<const N: usize>(
    kernel: &'static str,
    args: &Args,
    operands: [&'static str; N],
) -> Result<Launches, OpError> {
    let shape = args.tensor("out")?.shape();
    let mut inputs: SmallVec<[LaunchInput; 5]> = smallvec![args.input("out")?];
    for name in operands {
        inputs.push(args.input(name)?);
    }
    inputs.push(rules::moduli_input(args, "q", shape)?);
    Ok(smallvec![Launch::elementwise(kernel, shape, &inputs)?])
}

/// Applies `f(a, b, q)` to each element.
pub fn reference(
    args: &Args,
    contents: &dyn Contents,
    f: fn(i64, i64, i64) -> i64,
) -> Result<Vec<i64>, OpError> {
    let target = args.tensor("out")?.shape();
    let a = Broadcast::new(args, contents, "a", target)?;
    let b = Broadcast::new(args, contents, "b", target)?;
    let q = Broadcast::moduli(args, contents, "q", target)?;
    Ok((0..target.elements())
        .map(|i| f(a.at(i), b.at(i), q.at(i)))
        .collect())
}
