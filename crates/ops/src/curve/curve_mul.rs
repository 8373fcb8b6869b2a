//! `curve_mul`: scalar multiplication.

use super::{MOST_MULTIPLES, require_scalars};
use crate::op::Param;
use crate::reference::number::exact;
use crate::reference::points::Curve;
use crate::reference::{Broadcast, Expected, Number};
use crate::{Args, Body, Family, Form, Launches, OpDef, OpError, Reference, rules};
use cloakwork_ir::{POINT_DTYPES, Type};
use smallvec::smallvec;

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "curve_mul",
    family: Family::Curve,
    doc: "`out = scalars * points`, element by element: scalar multiplication, in affine \
          coordinates. If one point has many scalars, a table of its multiples is used.",
    params: &[
        Param::tensor("scalars", "elements of the scalar field of `points`"),
        Param::tensor("points", "points; broadcast with `scalars`"),
        Param::out("points of the dtype of `points`"),
    ],
    forms: &[Form::own("curve_mul", &["scalars", "points", "out"])],
    body: Body::kernel(
        infer,
        launch,
        Reference::Values(|args, contents| {
            if rules::out_elements(args) > MOST_MULTIPLES {
                return Ok(Expected::TooLarge);
            }
            let curve = Curve::of(args.tensor("out")?.dtype);
            let out = args.tensor("out")?;
            let scalars = Broadcast::new(args, contents, "scalars", out.shape())?;
            let points = Broadcast::new(args, contents, "points", out.shape())?;
            let multiple = |at| match points.number(at) {
                Number::Point(point) => {
                    Number::Point(curve.multiple(&scalars.number(at).residue(), &point))
                }
                other => other,
            };
            Ok(exact(out.dtype, (0..out.shape().elements()).map(multiple)))
        }),
    ),
    operations: rules::out_elements,
    laws: &[],
};

fn infer(args: &Args) -> Result<Type, OpError> {
    let (scalars, points) = (args.tensor("scalars")?, args.tensor("points")?);
    rules::dtype_in("points", points, &POINT_DTYPES)?;
    require_scalars(scalars, points.dtype)?;
    let shape = scalars.shape().broadcast(points.shape());
    let shape =
        shape.ok_or_else(|| rules::no_broadcast("points", points.shape(), scalars.shape()))?;
    Ok(Type::new(points.dtype, shape))
}

/// About the nanoseconds of a scalar multiplication: the size of the units' last dimension, a
/// weight.
const MULTIPLE_NS: i64 = 5000;

fn launch(args: &Args) -> Result<Launches, OpError> {
    let mut launch = args.elementwise("curve_mul", ["scalars", "points"])?;
    launch.dims.push(MULTIPLE_NS);
    for operand in &mut launch.operands {
        operand.strides.push(0);
    }
    Ok(smallvec![launch])
}
