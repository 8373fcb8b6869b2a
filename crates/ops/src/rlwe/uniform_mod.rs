//! `uniform_mod`: uniform residues.

use crate::op::{Body, Effect, Family, Form, KernelBody, Law, OpDef, Param};
use crate::reference::{Broadcast, Expected};
use crate::{Args, ContentCheck, Contents, OpError, Reference, rules};
use cloakwork_ir::{DType, Type};
use smallvec::smallvec;

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "uniform_mod",
    family: Family::Rlwe,
    doc: "`out = (random[.., 1] * 2^64 + random[.., 0]) mod q`: within 2^-66 of uniform in \
          `[0, q)` if the random words are uniform.",
    params: &[
        Param::tensor("random", "u64, the shape of `out` and a last axis of 2"),
        Param::tensor_or_int("q", "i64 moduli `[k]` along the last axis, or one"),
        Param::out("i64"),
    ],
    forms: &[Form::own("uniform_mod", &["random", "q", "out"])],
    body: Body::Kernel(KernelBody {
        checks: &[ContentCheck::Modulus("q")],
        dtypes: super::DTYPES,
        ..KernelBody::new(
            |args| {
                let shape = super::shape_of_pairs(args)?;
                rules::same_dtype(args, "q", DType::I64)?;
                rules::moduli(args, "q", &shape)?;
                Ok(Type::new(DType::I64, shape))
            },
            |args| {
                let q = rules::moduli_input(args, "q", args.tensor("out")?.shape())?;
                Ok(smallvec![super::launch_pairs(
                    "uniform_mod",
                    args,
                    Some(q)
                )?])
            },
            Reference::Values(reference),
        )
    }),
    operations: rules::out_elements,
    laws: &[Law::Effect(Effect::Draws)],
};

fn reference(args: &Args, contents: &dyn Contents) -> Result<Expected, OpError> {
    let q = Broadcast::moduli(args, contents, "q", args.tensor("out")?.shape())?;
    let words = contents.words("random")?;
    let reduce = |(i, pair): (usize, u128)| (pair % q.at(i as u64) as u128) as i64;
    Ok(Expected::Exact(
        super::pairs(words).enumerate().map(reduce).collect(),
    ))
}
