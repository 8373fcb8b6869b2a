//! `msm`: multi-scalar multiplication.

use super::product::Product;
use super::{MOST_MULTIPLES, require_scalars};
use crate::op::Param;
use crate::reference::number::exact;
use crate::reference::points::Curve;
use crate::reference::{Broadcast, Contents, Expected, Number};
use crate::{
    Args, Body, Code, Cut, Family, Form, KernelBody, OpDef, OpError, Reference, cut, geometry,
    rules,
};
use cloakwork_ir::{POINT_DTYPES, Type};
use smallvec::smallvec;

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "msm",
    family: Family::Curve,
    doc: "`out[..] = sum_i scalars[.., i] * bases[i]`: multi-scalar multiplication by Pippenger's \
          buckets (FOCS 1976); several rows of scalars share the bases. Bases may be equal, \
          opposite or infinite; zeros and ones are cheap. An empty sum is the point at infinity. \
          The time depends on the scalars.",
    params: &[
        Param::tensor("scalars", "`[.., n]`, elements of the bases' scalar field"),
        Param::tensor("bases", "`[n]`, points"),
        Param::out("`[..]`, points of the dtype of `bases`"),
    ],
    forms: &[Form::own("msm", &["scalars", "bases", "out"])],
    body: Body::Kernel(KernelBody {
        temporary: Some(|args| Product::of(args)?.temporary_bytes()),
        cuts: Some(cuts),
        ..KernelBody::new(
            infer,
            |args| Product::of(args)?.launches(args),
            Reference::Values(reference),
        )
    }),
    operations,
    laws: &[],
};

/// Most bases of a call: indices and a sign take 32 bits.
const MOST: u64 = 1 << 31;

fn infer(args: &Args) -> Result<Type, OpError> {
    let (scalars, bases) = (args.tensor("scalars")?, args.tensor("bases")?);
    rules::dtype_in("bases", bases, &POINT_DTYPES)?;
    require_scalars(scalars, bases.dtype)?;
    rules::rank_is("bases", bases, 1)?;
    let [rows @ .., count] = scalars.dims() else {
        return Err(OpError::new(
            Code::Shape,
            "scalars",
            "one axis or more",
            "none",
        ));
    };
    if bases.dims() != [*count] || *count >= MOST {
        let expected = format!("as many points as a row has scalars, {count}, below 2^31");
        return Err(OpError::shape("bases", expected, bases.shape()));
    }
    Ok(Type::new(bases.dtype, geometry::shape("out", rows)?))
}

/// Rows, or points: then the sums are added up.
fn cuts(args: &Args) -> Result<Vec<Cut>, OpError> {
    let mut all = cut::rows(args, "scalars")?;
    let last = all.len();
    all.push(Cut {
        out: None,
        size: args.elements("bases"),
        operands: smallvec![("scalars", last), ("bases", 0)],
    });
    Ok(all)
}

/// Scalars times points.
fn operations(args: &Args) -> u64 {
    let elements = |dims: &[u64]| dims.iter().fold(1_u64, |all, &dim| all.saturating_mul(dim));
    args.tensor("scalars")
        .map_or(0, |scalars| elements(scalars.dims()))
}

/// Each multiple by itself, then their sum.
fn reference(args: &Args, contents: &dyn Contents) -> Result<Expected, OpError> {
    let points = args.tensor("bases")?.dtype;
    let curve = Curve::of(points);
    if operations(args) > MOST_MULTIPLES {
        return Ok(Expected::TooLarge);
    }
    let scalars = Broadcast::own(args, contents, "scalars")?.numbers();
    let bases = Broadcast::own(args, contents, "bases")?.numbers();
    let row = |at: usize| {
        let own = &scalars[at * bases.len()..(at + 1) * bases.len()];
        let add = |sum, (scalar, base): (&Number, &Number)| match base {
            Number::Point(base) => curve.add(&sum, &curve.multiple(&scalar.residue(), base)),
            _ => sum,
        };
        Number::Point(own.iter().zip(&bases).fold(None, add))
    };
    let rows = args.tensor("out")?.shape().elements() as usize;
    Ok(exact(points, (0..rows).map(row)))
}
