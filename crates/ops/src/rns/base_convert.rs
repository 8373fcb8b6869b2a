//! `base_convert`: residues modulo one base of moduli, expressed modulo another.

use crate::op::{Body, Family, Form, KernelBody, OpDef, Param};
use crate::reference::{Expected, canonical};
use crate::{
    Args, ContentCheck, Contents, Cut, Expansion, LaunchOperand, Launches, OpError, Operand, Part,
    Reference, cut, geometry, rules,
};
use cloakwork_ir::{Arg, DType, Type};
use smallvec::smallvec;

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "base_convert",
    family: Family::Rns,
    doc: "`y_i = (a[.., i] * hat_inv[i] + half[i]) mod q[i]`, then \
          `out[.., j] = (sum_i (y_i - half[i]) * hat[i, j]) mod p[j]`.\n\n\
          With `Q = prod q`, `hat_inv[i] = (Q / q[i])^-1 mod q[i]` and `hat[i, j] = Q / q[i] mod \
          p[j]`, this is the fast base conversion of a number given by its residues: `half` of \
          zeros gives `x + u Q` for x in `[0, Q)` and some u in `[0, k)`; `half[i] = floor(q[i] / \
          2)` centres each digit, and gives `x + u Q` for x of least magnitude and `|u| <= k / 2`. \
          With one limb u is 0, so that the conversion is exact. Without `hat_inv` it is 1: `a` \
          then holds the digits. Constants may be folded into `hat`. Any words; the result is in \
          `[0, p)`. (Bajard, Eynard, Hasan and Zucca, SAC 2016; Cheon, Han, Kim, Kim and Song, \
          SAC 2018.)",
    params: &[
        Param::tensor("a", "residues `[.., k]`, i32 or i64"),
        Param::tensor("q", "moduli `[k]` of `a`"),
        Param::optional("hat_inv", "factors `[k]` modulo `q`; 1 if absent"),
        Param::tensor("half", "`[k]`: floor(q / 2) to centre, or zeros"),
        Param::tensor("hat", "weights `[k, j]` modulo `p`"),
        Param::tensor("p", "moduli `[j]` of the result"),
        Param::out("residues `[.., j]`"),
    ],
    forms: &[Form::own(
        "base_convert",
        &["a", "q", "hat_inv", "half", "hat", "p", "out"],
    )],
    body: Body::Kernel(KernelBody {
        checks: &[ContentCheck::Modulus("q"), ContentCheck::Modulus("p")],
        expand: Some(expand),
        cuts: Some(cuts),
        ..KernelBody::new(infer, launch, Reference::Values(reference))
    }),
    operations: |args| {
        let limbs = |name| {
            let tensor = args.tensor(name).ok()?;
            tensor.dims().last().copied()
        };
        rules::out_elements(args).saturating_mul(limbs("a").unwrap_or(0))
    },
    laws: &[],
};

fn infer(args: &Args) -> Result<Type, OpError> {
    let a = args.tensor("a")?;
    rules::dtype_in("a", a, &rules::RESIDUES)?;
    for name in ["q", "hat_inv", "half", "hat", "p"] {
        rules::same_dtype(args, name, a.dtype)?;
    }
    let Some((&limbs, rows)) = a.dims().split_last() else {
        return Err(OpError::shape("a", "one axis or more", a.shape()));
    };
    rules::shape_is("q", args.tensor("q")?, &[limbs])?;
    if let Some(hat_inv) = args.tensor_if_any("hat_inv")? {
        rules::shape_is("hat_inv", hat_inv, &[limbs])?;
    }
    rules::shape_is("half", args.tensor("half")?, &[limbs])?;
    let p = args.tensor("p")?;
    rules::rank_is("p", p, 1)?;
    rules::shape_is("hat", args.tensor("hat")?, &[limbs, p.dims()[0]])?;
    let shape = geometry::extended("p", rows, p.dims())?;
    Ok(Type::new(a.dtype, shape))
}

/// out, a, q, hat_inv, half, hat and p over the space rows, i, j: rows are all axes but the limbs,
/// sorted so that the result's tightest is last.
fn launch(args: &Args) -> Result<Launches, OpError> {
    let (a, out) = (args.tensor("a")?, args.tensor("out")?);
    let last = a.view.rank() - 1;
    let mut launch = args.rows("base_convert", last)?;
    launch.split = launch.dims.len();
    let constant = |name, [i, j]: [i64; 2]| -> Result<_, OpError> {
        let mut strides = vec![0; launch.split];
        strides.extend([i, j]);
        args.operand(name, &strides)
    };
    let along = |operand: Operand| operand.view.strides[0];
    let hat = &args.tensor("hat")?.view.strides;
    let constants = [
        constant("q", [along(args.tensor("q")?), 0])?,
        match args.tensor_if_any("hat_inv")? {
            Some(hat_inv) => constant("hat_inv", [along(hat_inv), 0])?,
            None => LaunchOperand::absent(launch.split + 2),
        },
        constant("half", [along(args.tensor("half")?), 0])?,
        constant("hat", [hat[0], hat[1]])?,
        constant("p", [0, along(args.tensor("p")?)])?,
    ];
    launch.dims.push(a.dims()[last] as i64);
    launch.dims.push(out.dims()[last] as i64);
    let limbs = [[0, out.view.strides[last]], [a.view.strides[last], 0]];
    for (operand, strides) in launch.operands.iter_mut().zip(limbs) {
        operand.strides.extend(strides);
    }
    launch.operands.extend(constants);
    Ok(smallvec![launch])
}

/// Rows, or moduli of the result, each of which needs all limbs of `a`.
fn cuts(args: &Args) -> Result<Vec<Cut>, OpError> {
    let mut all = cut::rows(args, "a")?;
    let size = args.elements("p");
    all.push(Cut::along(all.len(), size, &[("hat", 1), ("p", 0)]));
    Ok(all)
}

/// A multiplication and a sum over whole tensors for each limb of `a`. What is negated before it is
/// multiplied is a residue in `[0, q)` whatever the words were, so that the result is equal to the
/// bit for any.
fn expand(args: &Args, steps: &mut Expansion) -> Result<(), OpError> {
    let (a, out) = (args.tensor("a")?, args.tensor("out")?);
    let (target, p) = (steps.arg("out")?, steps.arg("p")?);
    let Some((&limbs, rows)) = a.dims().split_last() else {
        return Ok(()); // refused by infer
    };
    if limbs == 0 || out.shape().elements() == 0 {
        return steps.call_into("set_const_val", &[("value", Arg::Int(0))], &target);
    }
    let digits = digits(args, steps)?;
    let outputs = out.dims().last().copied().unwrap_or(1);
    let given = steps.arg("hat")?;
    let hat = negative(steps, a.dtype, (&given, &p), &[limbs, outputs])?;
    let correction = correction(args, steps, &hat, [limbs, outputs])?;
    let hat = negative(steps, a.dtype, (&hat, &p), &[limbs, outputs])?;
    let term = steps.empty_residues(a.dtype, out.dims())?;
    let mut parts: Vec<Part> = rows.iter().map(|&size| Part::All(size)).collect();
    parts.push(Part::At(0));
    for limb in 0..limbs {
        if let Some(last) = parts.last_mut() {
            *last = Part::Range(limb, limb + 1);
        }
        let digit = steps.slice(&digits, &parts)?;
        let weights = steps.slice(&hat, &[Part::At(limb), Part::All(outputs)])?;
        let factors = [("a", digit), ("b", weights), ("q", p.clone())];
        steps.call_into("modmul", &factors, &term)?;
        let sum = if limb == 0 {
            correction.clone()
        } else {
            target.clone()
        };
        let terms = [("a", term.clone()), ("b", sum), ("q", p.clone())];
        steps.call_into("modsum", &terms, &target)?;
    }
    Ok(())
}

/// `-a mod q` in `[0, q)`.
fn negative(
    steps: &mut Expansion,
    dtype: DType,
    (a, q): (&Arg, &Arg),
    dims: &[u64],
) -> Result<Arg, OpError> {
    let out = steps.empty_residues(dtype, dims)?;
    steps.call_into("modneg", &[("a", a.clone()), ("q", q.clone())], &out)?;
    Ok(out)
}

/// `y_i`, from `-a` and `-hat_inv`, or from `-(-a - half)`.
fn digits(args: &Args, steps: &mut Expansion) -> Result<Arg, OpError> {
    let a = args.tensor("a")?;
    let (dims, q) = (a.dims(), steps.arg("q")?);
    let limbs = [dims.last().copied().unwrap_or(1)];
    let (given, half) = (steps.arg("a")?, steps.arg("half")?);
    let digits = negative(steps, a.dtype, (&given, &q), dims)?;
    let half = negative(steps, a.dtype, (&half, &q), &limbs)?;
    let mut sum = vec![("a", digits.clone()), ("q", q.clone())];
    if args.tensor_if_any("hat_inv")?.is_none() {
        sum.push(("b", half));
        steps.call_into("modsum", &sum, &digits)?;
        let negated = [("a", digits.clone()), ("q", q)];
        steps.call_into("modneg", &negated, &digits)?;
        return Ok(digits);
    }
    let factor = steps.arg("hat_inv")?;
    let factor = negative(steps, a.dtype, (&factor, &q), &limbs)?;
    let factors = [("a", digits.clone()), ("b", factor), ("q", q.clone())];
    steps.call_into("modmul", &factors, &digits)?;
    sum.push(("b", negative(steps, a.dtype, (&half, &q), &limbs)?));
    steps.call_into("modsum", &sum, &digits)?;
    Ok(digits)
}

/// `-sum_i half_i * hat_ij mod p_j` `[j]` from `-hat`: what a sum of `y_i` has too much.
fn correction(
    args: &Args,
    steps: &mut Expansion,
    negative_hat: &Arg,
    [limbs, outputs]: [u64; 2],
) -> Result<Arg, OpError> {
    let (dtype, p, half) = (args.tensor("a")?.dtype, steps.arg("p")?, steps.arg("half")?);
    let column = steps.call("unsqueeze", &[("a", half), ("axis", Arg::Int(1))])?;
    let terms = steps.empty(dtype, &[limbs, outputs])?;
    let factors = [("a", column), ("b", negative_hat.clone()), ("q", p.clone())];
    steps.call_into("modmul", &factors, &terms)?;
    let sum = steps.empty(dtype, &[outputs])?;
    let summed = [("a", terms), ("axis", Arg::Int(0)), ("q", p.clone())];
    steps.call_into("axis_modsum", &summed, &sum)?;
    // Of a negative `half` the sum may be negative.
    let sum = negative(steps, dtype, (&sum, &p), &[outputs])?;
    negative(steps, dtype, (&sum, &p), &[outputs])
}

fn reference(args: &Args, contents: &dyn Contents) -> Result<Expected, OpError> {
    let (a, q, half) = (
        contents.words("a")?,
        contents.words("q")?,
        contents.words("half")?,
    );
    let (hat, p) = (contents.words("hat")?, contents.words("p")?);
    let hat_inv = match args.tensor_if_any("hat_inv")? {
        Some(_) => contents.words("hat_inv")?.to_vec(),
        None => vec![1; q.len()],
    };
    let rows = args.tensor("out")?.shape().elements() as usize / p.len().max(1);
    let mut out = Vec::with_capacity(rows * p.len());
    for row in 0..rows {
        let digit = |i: usize| {
            let product = i128::from(a[row * q.len() + i]) * i128::from(hat_inv[i]);
            let scaled = i128::from(canonical(product, q[i]));
            i128::from(canonical(scaled + i128::from(half[i]), q[i])) - i128::from(half[i])
        };
        for (j, &p_j) in p.iter().enumerate() {
            let mut sum = 0;
            for i in 0..q.len() {
                let weight = i128::from(hat[i * p.len() + j]);
                let digit = i128::from(canonical(digit(i), p_j));
                sum = canonical(
                    i128::from(sum) + i128::from(canonical(digit * weight, p_j)),
                    p_j,
                );
            }
            out.push(sum);
        }
    }
    Ok(Expected::Exact(out))
}
