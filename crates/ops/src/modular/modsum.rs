//! `modsum`: the sum of residues.

use super::pairwise;
use crate::op::{Aliasing, Body, Family, Form, KernelBody, Law, OpDef, OutRule};
use crate::reference::add_truncated;
use crate::{ContentCheck, Reference, rules};

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "modsum",
    family: Family::Modular,
    doc: "`out = (a + b) % q`, element by element, with the exact sum.\n\n\
          `a` and `b` broadcast to `out` by NumPy's rules; `q` is one modulus, or one for each \
          index of the last axis. Residues in `[0, q)` give residues in `[0, q)`; other words \
          give the remainder with the sign of the sum, as in C.",
    params: pairwise::PARAMS,
    forms: &[
        Form::heal("_modsum_ttt", pairwise::ARGS).ints(&[]),
        Form::heal("_modsum_ttc", pairwise::ARGS).ints(&["q"]),
        Form::heal("_modsum_tct", pairwise::ARGS).ints(&["b"]),
        Form::heal("_modsum_tcc", pairwise::ARGS).ints(&["b", "q"]),
        Form::documents("modsum", pairwise::ARGS),
    ],
    body: Body::Kernel(KernelBody {
        checks: &[ContentCheck::Modulus("q")],
        out: OutRule::Broadcast,
        aliasing: Aliasing::Same,
        ..KernelBody::new(
            pairwise::infer,
            |args| pairwise::launch("modsum", args, ["a", "b"]),
            Reference::Values(|args, contents| {
                Ok(pairwise::reference(args, contents, add_truncated)?.into())
            }),
        )
    }),
    operations: rules::out_elements,
    laws: &[Law::Commutes],
};
