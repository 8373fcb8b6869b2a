//! Shared by ops along one axis: kernels whose launches have that axis last, and the others as
//! their units.

use super::extremes::INDEX;
use crate::{Args, Extents, Launch, Launches, OpError, geometry};
use cloakwork_ir::{DType, Type};
use smallvec::{SmallVec, smallvec};

/// The shape of `a`, and the type that the op gives.
pub fn infer_same(args: &Args, gives: fn(DType) -> Option<DType>) -> Result<Type, OpError> {
    let a = args.tensor("a")?;
    args.axis("axis", a.view.rank())?;
    Ok(Type::new(super::typed(args, gives)?, a.shape().clone()))
}

/// The shape of `a` without the axis, or with size 1 of it; indices.
pub fn infer_place(args: &Args) -> Result<Type, OpError> {
    let a = args.tensor("a")?;
    let axis = args.axis("axis", a.view.rank())?;
    super::typed(args, super::ordered)?;
    let mut dims: SmallVec<[u64; 16]> = SmallVec::from_slice(a.dims());
    if dims[axis] == 0 && dims.iter().enumerate().all(|(i, &d)| i == axis || d > 0) {
        let expected = "an element along the axis";
        return Err(OpError::shape("a", expected, a.shape()));
    }
    if args.flag("keepdims")? {
        dims[axis] = 1;
    } else {
        dims.remove(axis);
    }
    Ok(Type::new(INDEX, geometry::shape("a", &dims)?))
}

/// One launch: out, a. The axis is last; out stands still along it where it has no such axis.
pub fn launch(kernel: &'static str, args: &Args, params: &[i64]) -> Result<Launches, OpError> {
    let (a, out) = (args.tensor("a")?, args.tensor("out")?);
    let rank = a.view.rank();
    let axis = args.axis("axis", rank)?;
    let dropped = out.view.rank() < rank;
    let stride_of_out = |i: usize| {
        let own = if dropped && i > axis { i - 1 } else { i };
        out.view.strides.get(own).copied().unwrap_or(0)
    };
    let order = (0..rank).filter(|&i| i != axis && a.dims()[i] != 1);
    let mut dims = Extents::new();
    let (mut of_out, mut of_a) = (Extents::new(), Extents::new());
    for i in order {
        dims.push(a.dims()[i] as i64);
        of_out.push(stride_of_out(i));
        of_a.push(a.view.strides[i]);
    }
    let split = dims.len();
    let still = out.shape().elements() != a.shape().elements() || dropped;
    dims.push(a.dims()[axis] as i64);
    of_out.push(if still { 0 } else { stride_of_out(axis) });
    of_a.push(a.view.strides[axis]);
    Ok(smallvec![Launch {
        kernel,
        dims,
        split,
        operands: smallvec![args.operand("out", &of_out)?, args.operand("a", &of_a)?],
        params: Extents::from_slice(params),
    }])
}
