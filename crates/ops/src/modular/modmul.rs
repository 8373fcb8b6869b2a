//! `modmul`: the product of residues.

use super::pairwise;
use crate::op::{
    Access, Aliasing, Body, Family, Form, KernelBody, Law, OpDef, Origin, OutRule, Param, ParamKind,
};
use crate::reference::multiply_truncated;

const ARGS: &[&str] = &["a", "b", "q", "out"];

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "modmul",
    family: Family::Modular,
    doc: "`out = (a * b) % q`, element by element, with the exact product.\n\n\
          `a` and `b` broadcast to `out` by NumPy's rules; `q` is one modulus, or one for each \
          index of the last axis. Residues in `[0, q)` give residues in `[0, q)`; other words \
          give the remainder with the sign of the product, as in C.",
    params: &[
        Param::new("a", ParamKind::Tensor, "residues, i32 or i64"),
        Param::new(
            "b",
            ParamKind::TensorOrInt,
            "residues of the same dtype, or one integer",
        ),
        Param::new(
            "q",
            ParamKind::TensorOrInt,
            "moduli `[k]` along the last axis, or one",
        ),
        Param::new(
            "out",
            ParamKind::Out,
            "any shape that `a` and `b` broadcast to",
        ),
    ],
    forms: &[
        Form {
            name: "_modmul_ttt",
            args: ARGS,
            ints: Some(&[]),
            origin: Origin::Heal,
        },
        Form {
            name: "_modmul_ttc",
            args: ARGS,
            ints: Some(&["q"]),
            origin: Origin::Heal,
        },
        Form {
            name: "_modmul_tct",
            args: ARGS,
            ints: Some(&["b"]),
            origin: Origin::Heal,
        },
        Form {
            name: "_modmul_tcc",
            args: ARGS,
            ints: Some(&["b", "q"]),
            origin: Origin::Heal,
        },
        Form {
            name: "modmul",
            args: ARGS,
            ints: None,
            origin: Origin::Documents,
        },
    ],
    body: Body::Kernel(KernelBody {
        infer: pairwise::infer,
        out: OutRule::Broadcast,
        dtypes: &[],
        aliasing: Aliasing::Same,
        access: Access::Write,
        launch: |args| pairwise::launch("modmul", args),
        reference: |args, contents| pairwise::reference(args, contents, multiply_truncated),
    }),
    operations: pairwise::operations,
    laws: &[Law::Commutes, Law::Linear],
};
