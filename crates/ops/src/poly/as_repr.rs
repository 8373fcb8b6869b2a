//! `as_repr`: a cast between coefficients and values.

use crate::op::{Body, Family, Form, OpDef, Param, ParamKind, Viewed};
use crate::{Law, ReprRule};

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "as_repr",
    family: Family::Poly,
    doc: "A view of all of `a` that the verifier takes as coefficients or values from here on. \
          Elements do not change; `field_ntt` transforms them.",
    params: &[
        Param::tensor("a", "any tensor"),
        Param::new(
            "repr",
            ParamKind::Int(0, 2),
            "0: neither, 1: coefficients, 2: values",
        ),
    ],
    forms: &[Form::own("as_repr", &["a", "repr"])],
    body: Body::View(|args| Ok(Viewed::View(args.tensor("a")?.view.clone()))),
    operations: |_| 0,
    laws: &[Law::Reprs(ReprRule::Says("repr"))],
};
