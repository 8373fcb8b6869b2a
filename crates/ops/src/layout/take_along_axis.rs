//! `take_along_axis`: elements picked along one axis.

use super::gather::Gather;
use crate::op::{Body, Family, Form, KernelBody, OpDef, OutRule, Param};
use crate::{Args, ContentCheck, OpError, Reference, geometry, rules};
use cloakwork_ir::{DType, MAX_RANK, Shape, Type, View};
use smallvec::{SmallVec, smallvec};

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "take_along_axis",
    family: Family::Layout,
    doc: "`out[.., i, ..] = a[.., indices[.., i, ..], ..]` along `axis`.\n\n\
          `a` and `indices` have the same rank and broadcast along the other axes. Along `axis` \
          the result is as long as `indices`, or any length if that is 1. Negative indices count \
          from the end. (HEAL's later generation wants the shape of `a`; its earlier one that of \
          `indices`.)",
    params: &[
        Param::tensor("a", "any tensor"),
        Param::tensor("indices", "i64, as many axes as `a`"),
        Param::axis("axis", "an axis of `a`"),
        Param::out("as many axes as `a`"),
    ],
    forms: &[Form::heal(
        "take_along_axis",
        &["a", "indices", "axis", "out"],
    )],
    body: Body::Kernel(KernelBody {
        checks: &[ContentCheck::IndexInto {
            indices: "indices",
            operand: "a",
            axis: "axis",
        }],
        out: OutRule::Broadcast,
        ..KernelBody::new(
            infer,
            |args| {
                let (a, indices) = (args.tensor("a")?, args.tensor("indices")?);
                let gather = gather(args, a.view, indices.view)?;
                Ok(smallvec![gather.launch(args, args.source("indices")?)?])
            },
            Reference::Values(|args, contents| {
                let gather = gather(args, &args.row_major("a")?, &args.row_major("indices")?)?;
                let parts = args.tensor("a")?.dtype.components();
                let picked = gather.pick(contents.words("a")?, parts, contents.words("indices")?);
                Ok(picked.into())
            }),
        )
    }),
    operations: rules::out_elements,
    laws: &[],
};

fn infer(args: &Args) -> Result<Type, OpError> {
    let (a, indices) = (args.tensor("a")?, args.tensor("indices")?);
    let rank = a.view.rank();
    let axis = args.axis("axis", rank)?;
    rules::dtype_in("indices", indices, &[DType::I64])?;
    rules::rank_is("indices", indices, rank)?;
    if let Some(out) = args.tensor_if_any("out")? {
        rules::rank_is("out", out, rank)?;
    }
    let mut dims = SmallVec::<[u64; MAX_RANK]>::from_slice(indices.dims());
    for (i, (dim, &own)) in dims.iter_mut().zip(a.dims()).enumerate() {
        if i == axis || *dim == own || own == 1 {
            continue;
        }
        if *dim != 1 {
            let expected = format!("size {own} or 1 of axis {i}");
            return Err(OpError::shape("indices", expected, indices.shape()));
        }
        *dim = own;
    }
    Ok(Type::new(a.dtype, geometry::shape("indices", &dims)?))
}

/// The same for physical and for row-major views.
fn gather(args: &Args, a: &View, indices: &View) -> Result<Gather, OpError> {
    let out: &Shape = args.tensor("out")?.shape();
    let axis = args.axis("axis", a.rank())?;
    let still = geometry::with_axis(a, axis, out.dims()[axis], 0)?;
    Ok(Gather {
        a: rules::broadcast("a", &still, out)?,
        indices: rules::broadcast("indices", indices, out)?,
        stride: a.strides[axis],
        size: a.shape.dims()[axis],
    })
}
