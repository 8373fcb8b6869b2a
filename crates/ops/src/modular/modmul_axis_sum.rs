//! `modmul_axis_sum`: sums of products along one axis, added to `out`.

use crate::ntt::{LOG2Q, MU};
use crate::op::{Access, Body, Family, Form, KernelBody, OpDef, Param, ParamKind};
use crate::permutation::{Permutation, temporary_bytes};
use crate::reference::{Expected, canonical};
use crate::{
    Args, Code, ContentCheck, Contents, Expansion, Launch, Launches, OpError, Operand, Reference,
    geometry, rules,
};
use cloakwork_ir::{Arg, DType, Generation, Type, View};
use smallvec::{SmallVec, smallvec};

const LATER: &[&str] = &[
    "a",
    "b",
    "q",
    "log2q",
    "mu",
    "perm",
    "out",
    "apply_perm",
    "axis",
];
const SHORT: &[&str] = &["a", "b", "q", "log2q", "mu", "perm", "out", "apply_perm"];

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "modmul_axis_sum",
    family: Family::Modular,
    doc: "`out[r, k, p(n)] = (out[r, k, p(n)] + sum_s a[r, s, k, n] * b[s, k, p(n)]) mod q[k]` \
          in `[0, q)`, p(n) = `perm[n]` with `apply_perm`, else n.\n\n\
          It adds to `out`. With a bit-reversing `perm`, `a` comes as `ntt` leaves it with \
          `skip_perm`, while `b` and `out` are in natural order. Axis -1: `a [r, s, k, n]`, \
          `b [s, k, n]`, `out [r, k, n]`; axis -3: `a [r, n, s, k]`, `b [n, s, k]`, \
          `out [r, n, k]`.",
    params: &[
        Param::tensor("a", "any words, i32 or i64, four axes"),
        Param::tensor("b", "any words, three axes"),
        Param::tensor("q", "moduli `[k]`"),
        Param::optional("perm", "a permutation of 0 .. n, i64 or i32"),
        Param::out("three axes; is added to"),
        Param::flag("apply_perm", "whether `perm` is applied"),
        Param::new("axis", ParamKind::Int(-3, -1), "the axis of n: -1 or -3").or(-1),
        LOG2Q,
        MU,
    ],
    forms: &[
        Form::heal("modmul_axis_sum", LATER).only(Generation::Later),
        Form::heal("modmul_axis_sum", SHORT),
    ],
    body: Body::Kernel(KernelBody {
        checks: &[
            ContentCheck::Modulus("q"),
            ContentCheck::Permutation {
                operand: "perm",
                flag: Some(("apply_perm", true)),
            },
        ],
        access: Access::Accumulate,
        expand: Some(expand),
        expands: |args| has_involution(args).unwrap_or(false),
        temporary: Some(|args| {
            let used = permutation(args)?.is_some();
            let bytes = used.then(|| temporary_bytes(args, "perm"));
            bytes.unwrap_or(Ok(0))
        }),
        ..KernelBody::new(infer, launch, Reference::Values(reference))
    }),
    operations: |args| args.elements("a"),
    laws: &[],
};

/// Where r, k, n and s stand in `a`; `b` has no r and `out` no s.
fn axes(args: &Args) -> Result<[usize; 4], OpError> {
    match args.int("axis")? {
        -1 => Ok([0, 2, 3, 1]),
        -3 => Ok([0, 3, 1, 2]),
        other => Err(OpError::new(
            Code::Axis,
            "axis",
            "-3 or -1",
            other.to_string(),
        )),
    }
}

/// The permutation, if it counts.
fn permutation<'a>(args: &Args<'a>) -> Result<Option<Operand<'a>>, OpError> {
    if !args.flag("apply_perm")? {
        return Ok(None);
    }
    let perm = args.tensor_if_any("perm")?;
    let missing = || OpError::new(Code::ArgumentType, "perm", "a permutation", "none");
    perm.map(Some)
        .ok_or_else(|| missing().hint("`apply_perm` is set"))
}

fn infer(args: &Args) -> Result<Type, OpError> {
    let [_, k, n, s] = axes(args)?;
    let (a, b, q) = (args.tensor("a")?, args.tensor("b")?, args.tensor("q")?);
    rules::dtype_in("a", a, &rules::RESIDUES)?;
    rules::same_dtype(args, "b", a.dtype)?;
    rules::same_dtype(args, "q", a.dtype)?;
    rules::rank_is("a", a, 4)?;
    rules::shape_is("b", b, &a.dims()[1..])?;
    rules::shape_is("q", q, &a.dims()[k..=k])?;
    if let Some(perm) = permutation(args)? {
        crate::permutation::check("perm", perm)?;
        rules::shape_is("perm", perm, &a.dims()[n..=n])?;
    }
    Ok(Type::new(a.dtype, geometry::without_axis(a.view, s)?.shape))
}

/// Strides over r, k, n, s of operands a, b and out.
fn strides(axes: [usize; 4], a: &View, b: &View, out: &View) -> [[i64; 4]; 3] {
    let [r, k, n, s] = axes;
    let in_out = |axis: usize| out.strides[axis - usize::from(axis > s)];
    [
        axes.map(|axis| a.strides[axis]),
        [0, b.strides[k - 1], b.strides[n - 1], b.strides[s - 1]],
        [in_out(r), in_out(k), in_out(n), 0],
    ]
}

fn launch(args: &Args) -> Result<Launches, OpError> {
    let axes = axes(args)?;
    let (a, b, q) = (args.tensor("a")?, args.tensor("b")?, args.tensor("q")?);
    let [over_a, over_b, over_out] = strides(axes, a.view, b.view, args.tensor("out")?.view);
    let mut launches = SmallVec::new();
    let permutes = permutation(args)?.is_some();
    let perm = Permutation::operand((args, "perm"), permutes, 2, &mut launches)?;
    launches.push(Launch {
        kernel: "modmul_axis_sum",
        dims: axes.iter().map(|&axis| a.dims()[axis] as i64).collect(),
        split: 3,
        operands: smallvec![
            args.operand("out", &over_out)?,
            args.operand("a", &over_a)?,
            args.operand("b", &over_b)?,
            args.operand("q", &[0, q.view.strides[0], 0, 0])?,
            perm,
        ],
        params: SmallVec::new(),
    });
    Ok(launches)
}

/// Whether the permutation, if it counts, is known and its own inverse.
fn has_involution(args: &Args) -> Result<bool, OpError> {
    let Some(perm) = permutation(args)? else {
        return Ok(true);
    };
    let words = perm.constant.filter(|_| perm.dtype == DType::I64);
    let Some(words) = words.map(cloakwork_ir::HostTensor::words) else {
        return Ok(false);
    };
    let mut places = (0..).zip(&words);
    Ok(places.all(|(n, &place)| words.get(place as usize) == Some(&n)))
}

/// `modmul`, `axis_modsum`, and two `modsum` that add what was there and give a result in
/// `[0, q)`. The axes stand in the order r, s, n, k.
fn expand(args: &Args, steps: &mut Expansion) -> Result<(), OpError> {
    let [_, k, n, s] = axes(args)?;
    let a = args.tensor("a")?;
    let dims = [0, s, n, k].map(|axis| a.dims()[axis]);
    let by_axis =
        |axis: i64, last: [i64; 2], first: [i64; 2]| if axis == -1 { last } else { first };
    let axis = args.int("axis")?;
    let mut moved = |name, [source, destination]: [i64; 2]| {
        let tensor = steps.arg(name)?;
        let (source, destination) = (Arg::Int(source), Arg::Int(destination));
        let given = [
            ("a", tensor),
            ("source", source),
            ("destination", destination),
        ];
        steps.call("moveaxis", &given)
    };
    let mut left = moved("a", by_axis(axis, [2, 3], [2, 1]))?;
    let right = moved("b", by_axis(axis, [1, 2], [1, 0]))?;
    let out = moved("out", by_axis(axis, [1, 2], [0, 0]))?;
    if permutation(args)?.is_some() {
        let perm = steps.arg("perm")?;
        let perm = steps.reshape(&perm, &[1, 1, dims[2], 1])?;
        let taken = steps.empty_residues(a.dtype, &dims)?;
        let given = [("a", left), ("indices", perm), ("axis", Arg::Int(2))];
        steps.call_into("take_along_axis", &given, &taken)?;
        left = taken;
    }
    let q = steps.arg("q")?;
    let products = steps.empty_residues(a.dtype, &dims)?;
    let sums = steps.empty_residues(a.dtype, &[dims[0], dims[2], dims[3]])?;
    steps.call_into(
        "modmul",
        &[("a", left), ("b", right), ("q", q.clone())],
        &products,
    )?;
    let along = [("a", products), ("axis", Arg::Int(1)), ("q", q.clone())];
    steps.call_into("axis_modsum", &along, &sums)?;
    let terms = [("a", sums.clone()), ("b", out.clone()), ("q", q.clone())];
    steps.call_into("modsum", &terms, &sums)?;
    steps.call_into("modsum", &[("a", sums), ("b", q.clone()), ("q", q)], &out)
}

fn reference(args: &Args, contents: &dyn Contents) -> Result<Expected, OpError> {
    let axes = axes(args)?;
    let views = [
        args.row_major("a")?,
        args.row_major("b")?,
        args.row_major("out")?,
    ];
    let [over_a, over_b, over_out] = strides(axes, &views[0], &views[1], &views[2]);
    let (a, b, q) = (
        contents.words("a")?,
        contents.words("b")?,
        contents.words("q")?,
    );
    let perm = permutation(args)?
        .map(|_| contents.words("perm"))
        .transpose()?;
    let mut out = contents.words("out")?.to_vec();
    let [r_size, k_size, n_size, s_size] = axes.map(|axis| views[0].shape.dims()[axis] as i64);
    for r in 0..r_size {
        for (k, &q) in (0..k_size).zip(q) {
            for n in 0..n_size {
                let place = perm.map_or(n, |perm| perm[n as usize]);
                let at = |strides: [i64; 4], n, s| {
                    (r * strides[0] + k * strides[1] + n * strides[2] + s * strides[3]) as usize
                };
                let target = at(over_out, place, 0);
                out[target] = (0..s_size).fold(canonical(i128::from(out[target]), q), |sum, s| {
                    let (x, y) = (a[at(over_a, n, s)], b[at(over_b, place, s)]);
                    let product = i128::from(x) * i128::from(y) % i128::from(q);
                    canonical(i128::from(sum) + product, q)
                });
            }
        }
    }
    Ok(Expected::Exact(out))
}
