//! `ternary`: uniform values of -1, 0 and 1.

use crate::op::{Body, Effect, Family, Form, KernelBody, Law, OpDef, Param};
use crate::{Reference, rules};
use cloakwork_ir::{DType, Type};
use smallvec::smallvec;

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "ternary",
    family: Family::Rlwe,
    doc: "`out = floor(3 * random / 2^64) - 1`: -1, 0 and 1, each with probability 1/3 within \
          2^-62 if the random words are uniform.",
    params: &[
        Param::tensor("random", "u64, any shape"),
        Param::out("i64, the shape of `random`"),
    ],
    forms: &[Form::own("ternary", &["random", "out"])],
    body: Body::Kernel(KernelBody {
        dtypes: super::DTYPES,
        ..KernelBody::new(
            |args| Ok(Type::new(DType::I64, super::shape_of_words(args)?)),
            |args| Ok(smallvec![args.elementwise("ternary", ["random"])?]),
            Reference::Values(|_, contents| {
                let third = |&word: &i64| ((3 * u128::from(word as u64)) >> 64) as i64 - 1;
                let words = contents.words("random")?;
                Ok(words.iter().map(third).collect::<Vec<i64>>().into())
            }),
        )
    }),
    operations: rules::out_elements,
    laws: &[Law::Effect(Effect::Draws)],
};
