//! `permute`: a permutation of one axis for each index of another.

use super::gather::Gather;
use crate::op::{Body, Family, Form, KernelBody, OpDef, Param};
use crate::permutation::{self, Permutation};
use crate::{Args, Code, ContentCheck, Launches, OpError, Reference, geometry, rules};
use cloakwork_ir::{Type, View};
use smallvec::SmallVec;

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "permute",
    family: Family::Layout,
    doc: "`out[.., l, .., u, ..] = a[.., l, .., perms[l, u], ..]`: l runs along \
          `elementwise_axis`, u along `perm_axis`; either may come first.",
    params: &[
        Param::tensor("a", "any tensor"),
        Param::tensor(
            "perms",
            "i64 or i32 `[l, u]`, each row a permutation of 0 .. u",
        ),
        Param::out("the shape of `a`"),
        Param::axis("elementwise_axis", "the axis with a row of `perms` each"),
        Param::axis("perm_axis", "the axis that is permuted"),
    ],
    forms: &[Form::documents(
        "permute",
        &["a", "perms", "out", "elementwise_axis", "perm_axis"],
    )],
    body: Body::Kernel(KernelBody {
        checks: &[ContentCheck::Permutation {
            operand: "perms",
            flag: None,
        }],
        temporary: Some(|args| permutation::temporary_bytes(args, "perms")),
        ..KernelBody::new(
            infer,
            |args| {
                let perms = Permutation::of(args, "perms")?;
                let gather = gather(args, args.tensor("a")?.view, &perms.view)?;
                let mut launches: Launches = perms.widening.into_iter().collect();
                launches.push(gather.launch(args, perms.source)?);
                Ok(launches)
            },
            Reference::Values(|args, contents| {
                let gather = gather(args, &args.row_major("a")?, &args.row_major("perms")?)?;
                let parts = args.tensor("a")?.dtype.components();
                let picked = gather.pick(contents.words("a")?, parts, contents.words("perms")?);
                Ok(picked.into())
            }),
        )
    }),
    operations: rules::out_elements,
    laws: &[],
};

/// The axes of l and u.
fn axes(args: &Args, rank: usize) -> Result<(usize, usize), OpError> {
    let rows = args.axis("elementwise_axis", rank)?;
    let permuted = args.axis("perm_axis", rank)?;
    if rows == permuted {
        let got = format!("{permuted} for both");
        return Err(OpError::new(
            Code::Axis,
            "perm_axis",
            "another axis than elementwise_axis",
            got,
        ));
    }
    Ok((rows, permuted))
}

fn infer(args: &Args) -> Result<Type, OpError> {
    let (a, perms) = (args.tensor("a")?, args.tensor("perms")?);
    let (rows, permuted) = axes(args, a.view.rank())?;
    permutation::check("perms", perms)?;
    rules::shape_is("perms", perms, &[a.dims()[rows], a.dims()[permuted]])?;
    Ok(a.ty())
}

/// The same for physical and for row-major views.
fn gather(args: &Args, a: &View, perms: &View) -> Result<Gather, OpError> {
    let (rows, permuted) = axes(args, a.rank())?;
    let size = a.shape.dims()[permuted];
    let mut strides = SmallVec::from_elem(0, a.rank());
    strides[rows] = perms.strides[0];
    strides[permuted] = perms.strides[1];
    Ok(Gather {
        a: geometry::with_axis(a, permuted, size, 0)?,
        indices: View {
            shape: a.shape.clone(),
            strides,
            offset: perms.offset,
        },
        stride: a.strides[permuted],
        size,
    })
}
