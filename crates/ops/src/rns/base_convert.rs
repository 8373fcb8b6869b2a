//! `base_convert`: residues modulo one base of moduli, expressed modulo another.

use crate::op::{
    Access, Aliasing, Body, Family, Form, KernelBody, OpDef, OutRule, Param, ParamKind,
};
use crate::reference::canonical;
use crate::{
    Args, Code, ContentCheck, Contents, Launch, LaunchInput, LaunchOperand, OpError, Operand,
    Source, geometry, rules,
};
use cloakwork_ir::{MAX_RANK, Type, View};
use smallvec::{SmallVec, smallvec};

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
        Param::new("a", ParamKind::Tensor, "residues `[.., k]`, i32 or i64"),
        Param::new("q", ParamKind::Tensor, "moduli `[k]` of `a`"),
        Param::new(
            "hat_inv",
            ParamKind::OptionalTensor,
            "factors `[k]` modulo `q`; 1 if absent",
        ),
        Param::new(
            "half",
            ParamKind::Tensor,
            "`[k]`: floor(q / 2) to centre, or zeros",
        ),
        Param::new("hat", ParamKind::Tensor, "weights `[k, j]` modulo `p`"),
        Param::new("p", ParamKind::Tensor, "moduli `[j]` of the result"),
        Param::new("out", ParamKind::Out, "residues `[.., j]`"),
    ],
    forms: &[Form::own(
        "base_convert",
        &["a", "q", "hat_inv", "half", "hat", "p", "out"],
    )],
    body: Body::Kernel(KernelBody {
        infer,
        checks: &[ContentCheck::Modulus("q"), ContentCheck::Modulus("p")],
        out: OutRule::Exact,
        dtypes: &[],
        aliasing: Aliasing::Never,
        access: Access::Write,
        launch,
        reference: Some(reference),
        temporary: None,
        elementwise: None,
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
        let got = a.shape().to_string();
        return Err(OpError::new(Code::Shape, "a", "one axis or more", got));
    };
    rules::shape_is("q", args.tensor("q")?, &[limbs])?;
    if let Some(hat_inv) = args.tensor_if_any("hat_inv")? {
        rules::shape_is("hat_inv", hat_inv, &[limbs])?;
    }
    rules::shape_is("half", args.tensor("half")?, &[limbs])?;
    let p = args.tensor("p")?;
    rules::rank_is("p", p, 1)?;
    rules::shape_is("hat", args.tensor("hat")?, &[limbs, p.dims()[0]])?;
    let mut dims = SmallVec::<[u64; MAX_RANK]>::from_slice(rows);
    dims.push(p.dims()[0]);
    Ok(Type::new(a.dtype, geometry::shape("p", &dims)?))
}

/// out, a, q, hat_inv, half, hat and p over the space rows, i, j: rows are all axes but the limbs,
/// sorted so that the result's tightest is last.
fn launch(args: &Args) -> Result<SmallVec<[Launch; 1]>, OpError> {
    let (a, out) = (args.tensor("a")?, args.tensor("out")?);
    let last = a.view.rank() - 1;
    let row = |name, view: &View| -> Result<_, OpError> {
        let rest = geometry::without_axis(view, last)?;
        Ok(LaunchInput::View(args.source(name)?, rest))
    };
    let rows = [row("out", out.view)?, row("a", a.view)?];
    let shape = geometry::without_axis(a.view, last)?.shape;
    let mut launch = Launch::elementwise("base_convert", &shape, &rows)?;
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
            None => LaunchOperand {
                source: Source::Null,
                offset: 0,
                strides: smallvec![0; launch.split + 2],
            },
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

fn reference(args: &Args, contents: &dyn Contents) -> Result<Vec<i64>, OpError> {
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
    Ok(out)
}
