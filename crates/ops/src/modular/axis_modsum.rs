//! `axis_modsum`: the sum along one axis.

use crate::op::{Body, Family, Form, KernelBody, Law, OpDef, Param};
use crate::reference::{Broadcast, Expected, add_truncated};
use crate::{
    Args, Code, ContentCheck, Contents, Cut, Expansion, Launch, LaunchInput, Launches, OpError,
    Part, Reference, geometry, rules,
};
use cloakwork_ir::{Arg, Type, View};
use smallvec::smallvec;

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "axis_modsum",
    family: Family::Modular,
    doc: "`out = sum over axis of a mod q`, reduced at each step: `t = (t + a[s]) % q`, t = 0 at \
          first, with C's sign.\n\nThe moduli run along the last axis, which therefore cannot be \
          summed over. An empty sum is 0.",
    params: &[
        Param::tensor("a", "i32 or i64, two axes or more"),
        Param::axis("axis", "any axis of `a` but the last"),
        Param::tensor("q", "moduli `[k]` along the last axis, or one"),
        Param::out("the shape of `a` without `axis`"),
    ],
    forms: &[Form::heal("axis_modsum", &["a", "axis", "q", "out"])],
    body: Body::Kernel(KernelBody {
        checks: &[ContentCheck::Modulus("q")],
        expand: Some(expand),
        cuts: Some(cuts),
        expands: |args| terms(args).is_ok_and(|terms| terms <= MAX_TERMS),
        ..KernelBody::new(infer, launch, Reference::Values(reference))
    }),
    operations: |args| args.elements("a"),
    laws: &[Law::Linear],
};

/// The axis to sum over, and `a` without it.
fn summed(args: &Args, a: &View) -> Result<(usize, View), OpError> {
    let axis = args.axis("axis", a.rank())?;
    if axis + 1 == a.rank() {
        let got = format!("{}, the last of {} axes", args.int("axis")?, a.rank());
        let error = OpError::new(Code::Axis, "axis", "an axis before the last", got);
        return Err(error.hint("the moduli run along the last axis"));
    }
    Ok((axis, geometry::without_axis(a, axis)?))
}

fn infer(args: &Args) -> Result<Type, OpError> {
    let a = args.tensor("a")?;
    rules::dtype_in("a", a, &rules::RESIDUES)?;
    rules::same_dtype(args, "q", a.dtype)?;
    let (_, rest) = summed(args, a.view)?;
    rules::moduli(args, "q", &rest.shape)?;
    Ok(Type::new(a.dtype, rest.shape))
}

fn launch(args: &Args) -> Result<Launches, OpError> {
    let a = args.tensor("a")?;
    let (axis, rest) = summed(args, a.view)?;
    let shape = rest.shape.clone();
    let operands = [
        args.input("out")?,
        LaunchInput::View(args.source("a")?, rest),
        rules::moduli_input(args, "q", &shape)?,
    ];
    let mut launch = Launch::elementwise("axis_modsum", &shape, &operands)?;
    launch.dims.push(a.dims()[axis] as i64);
    for (operand, stride) in launch.operands.iter_mut().zip([0, a.view.strides[axis], 0]) {
        operand.strides.push(stride);
    }
    Ok(smallvec![launch])
}

/// All axes of the result; moduli lie along the last.
fn cuts(args: &Args) -> Result<Vec<Cut>, OpError> {
    let (a, q) = (args.tensor("a")?, args.tensor("q")?);
    let (summed, rest) = summed(args, a.view)?;
    let dims = rest.shape.dims();
    let cut = |(axis, &size): (usize, &u64)| {
        let mut cut = Cut::along(axis, size, &[("a", axis + usize::from(axis >= summed))]);
        if axis + 1 == dims.len() && q.dims().last() == Some(&size) {
            cut.operands.push(("q", q.view.rank() - 1));
        }
        cut
    };
    Ok(dims.iter().enumerate().map(cut).collect())
}

/// Sums of more terms are not written one by one.
const MAX_TERMS: u64 = 256;

fn terms(args: &Args) -> Result<u64, OpError> {
    let a = args.tensor("a")?;
    let (axis, _) = summed(args, a.view)?;
    Ok(a.dims()[axis])
}

/// A `modsum` for each term, the first of them with 0.
fn expand(args: &Args, steps: &mut Expansion) -> Result<(), OpError> {
    let a = args.tensor("a")?;
    let (axis, _) = summed(args, a.view)?;
    let (given, q, out) = (steps.arg("a")?, steps.arg("q")?, steps.arg("out")?);
    if terms(args)? == 0 || a.shape().elements() == 0 {
        return steps.call_into("set_const_val", &[("value", Arg::Int(0))], &out);
    }
    let mut parts: Vec<Part> = a.dims().iter().map(|&size| Part::All(size)).collect();
    for term in 0..terms(args)? {
        parts[axis] = Part::At(term);
        let part = steps.slice(&given, &parts)?;
        let sum = if term == 0 { Arg::Int(0) } else { out.clone() };
        steps.call_into("modsum", &[("a", part), ("b", sum), ("q", q.clone())], &out)?;
    }
    Ok(())
}

fn reference(args: &Args, contents: &dyn Contents) -> Result<Expected, OpError> {
    let a = args.row_major("a")?;
    let (axis, rest) = summed(args, &a)?;
    let words = contents.words("a")?;
    let q = Broadcast::moduli(args, contents, "q", &rest.shape)?;
    let terms = a.shape.dims()[axis] as i64;
    let sum = |(i, base): (usize, i64)| {
        (0..terms).fold(0, |sum, s| {
            add_truncated(
                sum,
                words[(base + s * a.strides[axis]) as usize],
                q.at(i as u64),
            )
        })
    };
    Ok(Expected::Exact(
        rest.offsets().enumerate().map(sum).collect(),
    ))
}
