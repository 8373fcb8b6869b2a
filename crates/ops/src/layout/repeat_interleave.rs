//! `repeat_interleave`: each element of an axis several times in a row.

use crate::op::{Body, ExpandBody, Family, Form, OpDef, Param, ParamKind};
use crate::{Args, Expansion, OpError, geometry};
use cloakwork_ir::{Arg, MAX_ELEMENTS, MAX_RANK, Shape, Type, shape_arg};

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "repeat_interleave",
    family: Family::Layout,
    doc: "`out[.., i * repeats + j, ..] = a[.., i, ..]` for j below `repeats`, along `axis`.\n\n\
          Expands into views and one copy.",
    params: &[
        Param::tensor("a", "at most 15 axes"),
        Param::new(
            "repeats",
            ParamKind::Int(1, MAX_ELEMENTS as i64),
            "1 or more",
        ),
        Param::axis("axis", "an axis of `a`"),
    ],
    forms: &[Form::documents(
        "repeat_interleave",
        &["a", "repeats", "axis"],
    )],
    body: Body::Expand(ExpandBody {
        infer,
        checks: &[],
        expand,
    }),
    operations: |args| infer(args).map_or(0, |ty| ty.shape.elements()),
    laws: &[],
};

fn infer(args: &Args) -> Result<Type, OpError> {
    let a = args.tensor("a")?;
    let axis = args.axis("axis", a.view.rank())?;
    if a.view.rank() == MAX_RANK {
        return Err(OpError::shape("a", "at most 15 axes", a.shape()));
    }
    interleaved(args, axis)?;
    let size = a.dims()[axis].saturating_mul(super::count(args, "repeats")?);
    Ok(Type::new(
        a.dtype,
        geometry::resized("repeats", a.shape(), axis, size)?,
    ))
}

/// The shape between: the repeats as an axis of their own.
fn interleaved(args: &Args, axis: usize) -> Result<Shape, OpError> {
    let mut dims = args.tensor("a")?.dims().to_vec();
    dims.insert(axis + 1, super::count(args, "repeats")?);
    geometry::shape("repeats", &dims)
}

/// Views give the places; the copy makes the result a tensor of its own, also where nothing is
/// repeated.
fn expand(args: &Args, steps: &mut Expansion) -> Result<(), OpError> {
    let a = args.tensor("a")?;
    let axis = args.axis("axis", a.view.rank())?;
    let next = ("axis", Arg::Int(axis as i64 + 1));
    let column = steps.call("unsqueeze", &[("a", steps.arg("a")?), next.clone()])?;
    let repeat = ("repeat", steps.arg("repeats")?);
    let repeated = steps.call("expand", &[("a", column), next, repeat])?;
    let shape = shape_arg(&interleaved(args, axis)?);
    let dtype = Arg::DType(a.dtype);
    let copied = steps.call("empty", &[("shape", shape), ("dtype", dtype)])?;
    steps.call_into("copy", &[("a", repeated)], &copied)?;
    let run = [
        ("a", copied),
        ("start_axis", Arg::Int(axis as i64)),
        ("end_axis", Arg::Int(axis as i64 + 1)),
    ];
    steps.call_result("flatten", &run)
}
