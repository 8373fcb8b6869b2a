//! `modmuladd`: a product of residues and a sum, in one pass over memory.

use super::pairwise;
use crate::op::{Aliasing, Body, Family, Form, KernelBody, Law, OpDef, OutRule, Param};
use crate::reference::{Broadcast, Expected, add_truncated, multiply_truncated};
use crate::{Args, ContentCheck, Contents, Expansion, OpError, Reference, rules};
use cloakwork_ir::Type;

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "modmuladd",
    family: Family::Modular,
    doc: "`out = ((a * b) % q + c) % q`, element by element, with the exact product.\n\n`a`, `b` \
          and `c` broadcast to `out` by NumPy's rules; `q` is one modulus, or one for each index \
          of the last axis. Residues in `[0, q)` give residues in `[0, q)`; other words give the \
          result of `modmul` and then `modsum`, with signs as in C.",
    params: &[
        pairwise::A,
        pairwise::B,
        pairwise::factor("c"),
        pairwise::Q,
        Param::out("any shape that `a`, `b` and `c` broadcast to"),
    ],
    forms: &[Form::own("modmuladd", &["a", "b", "c", "q", "out"])],
    body: Body::Kernel(KernelBody {
        checks: &[ContentCheck::Modulus("q")],
        out: OutRule::Broadcast,
        aliasing: Aliasing::Same,
        expand: Some(expand),
        ..KernelBody::new(
            infer,
            |args| pairwise::launch("modmuladd", args, ["a", "b", "c"]),
            Reference::Values(reference),
        )
    }),
    operations: rules::out_elements,
    laws: &[Law::Commutes],
};

fn infer(args: &Args) -> Result<Type, OpError> {
    let product = pairwise::infer_product(args)?;
    rules::same_dtype(args, "c", product.dtype)?;
    let shape = rules::broadcast_with(args, "c", &product.shape)?;
    rules::moduli(args, "q", &rules::out_shape(args, &shape)?)?;
    Ok(Type::new(product.dtype, shape))
}

/// `modmul` into a tensor like `out`, then `modsum`.
fn expand(args: &Args, steps: &mut Expansion) -> Result<(), OpError> {
    let target = args.tensor("out")?;
    let product = steps.empty_residues(target.dtype, target.dims())?;
    let (q, out) = (steps.arg("q")?, steps.arg("out")?);
    let factors = [
        ("a", steps.arg("a")?),
        ("b", steps.arg("b")?),
        ("q", q.clone()),
    ];
    steps.call_into("modmul", &factors, &product)?;
    let terms = [("a", product), ("b", steps.arg("c")?), ("q", q)];
    steps.call_into("modsum", &terms, &out)
}

fn reference(args: &Args, contents: &dyn Contents) -> Result<Expected, OpError> {
    let target = args.tensor("out")?.shape();
    let c = Broadcast::new(args, contents, "c", target)?;
    let q = Broadcast::moduli(args, contents, "q", target)?;
    let products = pairwise::reference(args, contents, multiply_truncated)?;
    let sum = |(i, product)| add_truncated(product, c.at(i), q.at(i));
    Ok(Expected::Exact((0..).zip(products).map(sum).collect()))
}
