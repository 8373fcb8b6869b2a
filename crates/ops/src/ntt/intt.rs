//! `intt`: the inverse negacyclic number-theoretic transform.

use super::{AXIS, LOG2Q, MU, OUT, PERM, PERM_PAIRS, Q, TILE, stages};
use crate::op::{Aliasing, Body, Family, Form, KernelBody, Law, OpDef, Param};
use crate::reference::{Expected, canonical, multiply_truncated};
use crate::{Args, ContentCheck, Contents, Launches, OpError, Reference, rules};
use cloakwork_ir::Type;

const HEAL: &[&str] = &[
    "a",
    "perm",
    "perm_pairs",
    "q",
    "log2q",
    "mu",
    "psi_inv",
    "n_inv",
    "out",
    "tile",
];
const OWN: &[&str] = &[
    "a",
    "axis",
    "perm",
    "perm_pairs",
    "q",
    "log2q",
    "mu",
    "psi_inv",
    "n_inv",
    "out",
    "tile",
];

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "intt",
    family: Family::Ntt,
    doc: "Undoes `ntt`: `out[i] = n_inv * sum_j a[j] * psi^(-i * (2 j + 1)) mod q` along one axis, \
          for a bit-reversing `perm`, `psi_inv[j, i] = psi_j^-bitrev(i)` and `n_inv = 1 / m`.\n\n\
          Defined by its recurrence: `y[u] = a[perm[u]]`, Gentleman-Sande butterflies with \
          `psi_inv[half + group]`, half = m / 2, ..., 2, 1, then `n_inv` times that. Axis -3 (the \
          only one of HEAL's form): layout `[l, m, r, k]`; axis -1: `[l, r, k, m]`. With `tile`, \
          `a` has size 1 along k. Any input words; the result is in `[0, q)`.",
    params: &[
        Param::tensor("a", "i32 or i64, four axes"),
        AXIS,
        PERM,
        Q,
        Param::tensor("psi_inv", "twiddles `[k, m]`"),
        Param::tensor("n_inv", "inverses of m, `[k]`"),
        OUT,
        TILE,
        PERM_PAIRS,
        LOG2Q,
        MU,
    ],
    forms: &[Form::heal("intt", HEAL), Form::own("intt", OWN)],
    body: Body::Kernel(KernelBody {
        checks: &[
            ContentCheck::Modulus("q"),
            ContentCheck::Permutation {
                operand: "perm",
                flag: None,
            },
        ],
        aliasing: Aliasing::Only("a"),
        expand: Some(stages::BACKWARD),
        cuts: Some(|args| super::cuts(args, &["psi_inv", "n_inv"])),
        expands: |args| stages::expands(args, true).unwrap_or(false),
        temporary: Some(|args| crate::permutation::temporary_bytes(args, "perm")),
        ..KernelBody::new(infer, launch, Reference::Values(reference))
    }),
    operations: super::butterflies,
    laws: &[Law::Linear, Law::InverseOf("ntt")],
};

fn infer(args: &Args) -> Result<Type, OpError> {
    let ty = super::infer(args, "psi_inv", true)?;
    rules::same_dtype(args, "a", ty.dtype)?;
    rules::same_dtype(args, "n_inv", ty.dtype)?;
    rules::shape_is("n_inv", args.tensor("n_inv")?, args.tensor("q")?.dims())?;
    Ok(ty)
}

fn launch(args: &Args) -> Result<Launches, OpError> {
    super::launches("intt", args, "psi_inv", true, Some("n_inv"))
}

fn reference(args: &Args, contents: &dyn Contents) -> Result<Expected, OpError> {
    let rows = super::Rows::new(args, contents, "psi_inv")?;
    let scales = contents.words("n_inv")?;
    let perm = args
        .tensor_if_any("perm")?
        .map(|_| contents.words("perm"))
        .transpose()?;
    Ok(Expected::Exact(rows.map(|k, row, table, q| {
        let scaled = |value| canonical(i128::from(multiply_truncated(value, scales[k], q)), q);
        backward(super::permuted(row, perm), table, q)
            .into_iter()
            .map(scaled)
            .collect()
    })))
}

/// The butterfly recurrence with a table of `row.len()` twiddles, without the scaling.
fn backward(mut row: Vec<i64>, table: &[i64], q: i64) -> Vec<i64> {
    let mut half = row.len() / 2;
    while half > 0 {
        let width = row.len() / (2 * half);
        for group in 0..half {
            let twiddle = table[half + group];
            for i in 2 * group * width..(2 * group + 1) * width {
                let (low, high) = (i128::from(row[i]), i128::from(row[i + width]));
                row[i] = canonical(low + high, q);
                let difference = canonical(low - high, q);
                let product = multiply_truncated(difference, twiddle, q);
                row[i + width] = canonical(i128::from(product), q);
            }
        }
        half /= 2;
    }
    row
}
