//! `g_decomp_full_q`: the digits of a number given by its residues.

use super::wide;
use crate::op::{Body, Family, Form, KernelBody, OpDef, Param};
use crate::reference::{Expected, canonical};
use crate::{Args, ContentCheck, Contents, Launch, Launches, OpError, Reference, geometry, rules};
use cloakwork_ir::Type;
use smallvec::smallvec;

const HEAL: &[&str] = &[
    "a",
    "q",
    "q_inv",
    "g_exp",
    "g_base_bits",
    "level_size_bits",
    "level_inv",
    "out",
];

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "g_decomp_full_q",
    family: Family::Gadget,
    doc: "`out[x, j, y]` is digit j, base `2^g_base_bits`, of the number in `[0, prod q)` whose \
          residues are `a[x, k, y]` modulo `q[k]`.\n\n\
          Any words in `a`; the moduli share no factor. Digits beyond `g_exp` are dropped. An i8 \
          result of 8 bits wraps to negative digits.",
    params: &[
        Param::tensor("a", "residues `[x, k, y]`, i32 or i64"),
        Param::tensor("q", "moduli `[k]`"),
        Param::new("g_exp", super::DIGITS, "how many digits"),
        Param::new(
            "g_base_bits",
            super::DIGIT_BITS,
            "bits of a digit; an i8 result holds 8",
        ),
        Param::out("digits `[x, g_exp, y]`; as `a`, or i8"),
        Param::hint("q_inv", "inverses `[k, k]` of moduli; derived from `q`"),
        Param::hint("level_size_bits", "HEAL's word size; not needed"),
        Param::hint("level_inv", "inverses of 2^level_size_bits; not needed"),
    ],
    forms: &[
        Form::own("g_decomp_full_q", HEAL),
        Form::heal("apply_g_decomp_relative_to_full_q", HEAL),
    ],
    body: Body::Kernel(KernelBody {
        checks: &[ContentCheck::Modulus("q"), ContentCheck::Coprime("q")],
        dtypes: super::DTYPES,
        ..KernelBody::new(infer, launch, Reference::Values(reference))
    }),
    operations: |args| {
        let residues = args.elements("a");
        residues.saturating_add(rules::out_elements(args))
    },
    laws: &[],
};

fn infer(args: &Args) -> Result<Type, OpError> {
    let (a, q) = (args.tensor("a")?, args.tensor("q")?);
    rules::dtype_in("a", a, &rules::RESIDUES)?;
    rules::same_dtype(args, "q", a.dtype)?;
    rules::rank_is("a", a, 3)?;
    rules::shape_is("q", q, &a.dims()[1..2])?;
    let (count, _) = super::digits(args)?;
    Ok(Type::new(
        a.dtype,
        geometry::resized("g_exp", a.shape(), 1, count)?,
    ))
}

fn launch(args: &Args) -> Result<Launches, OpError> {
    let (count, bits) = super::digits(args)?;
    let (out, a, q) = (args.tensor("out")?, args.tensor("a")?, args.tensor("q")?);
    let (over_out, over_a) = (&out.view.strides, &a.view.strides);
    // Kernels take vectors along the second axis.
    let [x, y] = if a.dims()[2] == 1 { [2, 0] } else { [0, 2] };
    Ok(smallvec![Launch {
        kernel: "g_decomp_full_q",
        dims: [x, y, 1]
            .iter()
            .map(|&axis| a.dims()[axis] as i64)
            .collect(),
        split: 2,
        operands: smallvec![
            args.operand("out", &[over_out[x], over_out[y], 0])?,
            args.operand("a", &[over_a[x], over_a[y], over_a[1]])?,
            args.operand("q", &[0, 0, q.view.strides[0]])?,
        ],
        params: smallvec![i64::from(bits), count as i64, over_out[1]],
    }])
}

fn reference(args: &Args, contents: &dyn Contents) -> Result<Expected, OpError> {
    let (count, bits) = super::digits(args)?;
    let out = args.tensor("out")?;
    let (a, q) = (contents.words("a")?, contents.words("q")?);
    let columns = out.dims()[2] as usize;
    let mut digits = vec![0; out.shape().elements() as usize];
    for (x, block) in digits
        .chunks_mut((count as usize * columns).max(1))
        .enumerate()
    {
        for y in 0..columns {
            let residue = |k: usize| a[(x * q.len() + k) * columns + y];
            let residues: Vec<i64> = (0..q.len())
                .map(|k| canonical(i128::from(residue(k)), q[k]))
                .collect();
            let value = wide::from_residues(&residues, q);
            for j in 0..count {
                let word = value.bits(j * u64::from(bits), bits);
                block[j as usize * columns + y] = super::digit(word, bits, out.dtype);
            }
        }
    }
    Ok(Expected::Exact(digits))
}
