//! `modneg`: the canonical negative.

use super::pairwise;
use crate::op::{Aliasing, Body, Family, Form, KernelBody, Law, OpDef, OutRule, Param};
use crate::reference::{Broadcast, Expected, canonical};
use crate::{Args, ContentCheck, Contents, Expansion, OpError, Reference, rules};
use cloakwork_ir::{Arg, Type};

const ARGS: &[&str] = &["a", "q", "out"];

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "modneg",
    family: Family::Modular,
    doc: "`out = -a mod q` in `[0, q)`, element by element, for any `a`.\n\n\
          `a` broadcasts to `out`; `q` is one modulus, or one for each index of the last axis.",
    params: &[
        Param::tensor("a", "any words, i32 or i64"),
        pairwise::Q,
        Param::out("any shape that `a` broadcasts to"),
    ],
    forms: &[
        Form::own("modneg", ARGS),
        Form::heal("_modneg_tt", ARGS).ints(&[]),
        Form::heal("_modneg_tc", ARGS).ints(&["q"]),
        Form::heal("modneg_tt", ARGS).ints(&[]),
        Form::heal("modneg_tc", ARGS).ints(&["q"]),
    ],
    body: Body::Kernel(KernelBody {
        checks: &[ContentCheck::Modulus("q")],
        out: OutRule::Broadcast,
        aliasing: Aliasing::Same,
        expand: Some(expand),
        expands: |args| rules::adds_moduli(args, "q", "out"),
        ..KernelBody::new(
            infer,
            |args| pairwise::launch("modneg", args, ["a"]),
            Reference::Values(reference),
        )
    }),
    operations: rules::out_elements,
    laws: &[Law::Involution, Law::Linear],
};

fn infer(args: &Args) -> Result<Type, OpError> {
    let a = args.tensor("a")?;
    rules::dtype_in("a", a, &rules::RESIDUES)?;
    rules::same_dtype(args, "q", a.dtype)?;
    rules::moduli(args, "q", &rules::out_shape(args, a.shape())?)?;
    Ok(a.ty())
}

/// `modmul` by -1, whose result lies in `(-q, q)`, then `modsum` with q.
fn expand(args: &Args, steps: &mut Expansion) -> Result<(), OpError> {
    let target = args.tensor("out")?;
    let negative = steps.empty_residues(target.dtype, target.dims())?;
    let (q, out) = (steps.arg("q")?, steps.arg("out")?);
    let factors = [
        ("a", steps.arg("a")?),
        ("b", Arg::Int(-1)),
        ("q", q.clone()),
    ];
    steps.call_into("modmul", &factors, &negative)?;
    steps.call_into(
        "modsum",
        &[("a", negative), ("b", q.clone()), ("q", q)],
        &out,
    )
}

fn reference(args: &Args, contents: &dyn Contents) -> Result<Expected, OpError> {
    let shape = args.tensor("out")?.shape();
    let a = Broadcast::new(args, contents, "a", shape)?;
    let q = Broadcast::moduli(args, contents, "q", shape)?;
    let negative = |i| canonical(-i128::from(a.at(i)), q.at(i));
    Ok(Expected::Exact(
        (0..shape.elements()).map(negative).collect(),
    ))
}
