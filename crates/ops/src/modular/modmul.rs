//! `modmul`: the product of residues.

use super::pairwise;
use crate::op::{Access, Aliasing, Body, Family, Form, KernelBody, Law, OpDef, OutRule};
use crate::reference::multiply_truncated;
use crate::{ContentCheck, rules};

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "modmul",
    family: Family::Modular,
    doc: "`out = (a * b) % q`, element by element, with the exact product.\n\n\
          `a` and `b` broadcast to `out` by NumPy's rules; `q` is one modulus, or one for each \
          index of the last axis. Residues in `[0, q)` give residues in `[0, q)`; other words \
          give the remainder with the sign of the product, as in C.",
    params: pairwise::PARAMS,
    forms: &[
        Form::heal("_modmul_ttt", pairwise::ARGS).ints(&[]),
        Form::heal("_modmul_ttc", pairwise::ARGS).ints(&["q"]),
        Form::heal("_modmul_tct", pairwise::ARGS).ints(&["b"]),
        Form::heal("_modmul_tcc", pairwise::ARGS).ints(&["b", "q"]),
        Form::documents("modmul", pairwise::ARGS),
    ],
    body: Body::Kernel(KernelBody {
        infer: pairwise::infer,
        checks: &[ContentCheck::Modulus("q")],
        out: OutRule::Broadcast,
        dtypes: &[],
        aliasing: Aliasing::Same,
        access: Access::Write,
        launch: |args| pairwise::launch("modmul", args),
        reference: crate::Reference::Values(|args, contents| {
            Ok(pairwise::reference(args, contents, multiply_truncated)?.into())
        }),
        temporary: None,
        elementwise: None,
        expand: None,
    }),
    operations: rules::out_elements,
    laws: &[Law::Commutes, Law::Linear],
};
