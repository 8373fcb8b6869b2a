//! `ntt`: the forward negacyclic number-theoretic transform.

use super::{AXIS, LOG2Q, MU, OUT, PERM, PERM_PAIRS, Q, TILE, stages};
use crate::op::{Aliasing, Body, Family, Form, KernelBody, Law, OpDef, Param};
use crate::reference::{Expected, canonical, multiply_truncated};
use crate::{Args, ContentCheck, Contents, OpError, Reference, permutation};
use cloakwork_ir::{DType, Generation};

const FIRST: &[&str] = &[
    "a",
    "perm",
    "perm_pairs",
    "q",
    "log2q",
    "mu",
    "psi",
    "out",
    "tile",
    "skip_perm",
];
const LATER: &[&str] = &[
    "a",
    "axis",
    "perm",
    "perm_pairs",
    "q",
    "log2q",
    "mu",
    "psi",
    "out",
    "tile",
    "skip_perm",
];

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "ntt",
    family: Family::Ntt,
    doc: "`out[j] = sum_i a[i] * psi^(i * (2 j + 1)) mod q` along one axis, for a bit-reversing \
          `perm` and `psi[j, i] = psi_j^bitrev(i)`, psi a primitive 2m-th root of unity.\n\n\
          Defined by its recurrence, so that any table and any permutation have a meaning: \
          Cooley-Tukey butterflies, stage s = 1, 2, 4, ..., twiddle `psi[s + u]`; then \
          `out[u] = result[perm[u]]` unless `skip_perm`. Axis -3: layout `[l, m, r, k]`; axis -1: \
          `[l, r, k, m]`; k moduli, m a power of two. With `tile`, `a` has size 1 along k and is \
          transformed for each modulus. Any input words; the result is in `[0, q)`.",
    params: &[
        Param::tensor("a", "i8, i32 or i64, four axes"),
        AXIS,
        PERM,
        Q,
        Param::tensor("psi", "twiddles `[k, m]`"),
        OUT,
        TILE,
        Param::flag("skip_perm", "leave the result bit-reversed").or(0),
        PERM_PAIRS,
        LOG2Q,
        MU,
    ],
    forms: &[
        Form::heal("ntt", LATER).only(Generation::Later),
        Form::heal("ntt", FIRST).only(Generation::First),
    ],
    body: Body::Kernel(KernelBody {
        checks: &[
            ContentCheck::Modulus("q"),
            ContentCheck::Permutation {
                operand: "perm",
                flag: Some(("skip_perm", false)),
            },
        ],
        dtypes: &[
            (DType::I64, DType::I64),
            (DType::I32, DType::I32),
            (DType::I8, DType::I64),
            (DType::I8, DType::I32),
        ],
        aliasing: Aliasing::Only("a"),
        expand: Some(stages::FORWARD),
        cuts: Some(|args| super::cuts(args, &["psi"])),
        expands: |args| {
            permute(args)
                .and_then(|p| stages::expands(args, p))
                .unwrap_or(false)
        },
        temporary: Some(|args| permutation::temporary_bytes(args, "perm")),
        ..KernelBody::new(
            |args| super::infer(args, "psi", permute(args)?),
            |args| super::launches("ntt", args, "psi", permute(args)?, None),
            Reference::Values(reference),
        )
    }),
    operations: super::butterflies,
    laws: &[Law::Linear],
};

/// Whether the permutation counts.
fn permute(args: &Args) -> Result<bool, OpError> {
    Ok(!args.flag("skip_perm")?)
}

fn reference(args: &Args, contents: &dyn Contents) -> Result<Expected, OpError> {
    let rows = super::Rows::new(args, contents, "psi")?;
    let perm = match args.tensor_if_any("perm")? {
        Some(_) if permute(args)? => Some(contents.words("perm")?),
        _ => None,
    };
    Ok(Expected::Exact(rows.map(|_, row, table, q| {
        super::permuted(forward(row, table, q), perm)
    })))
}

/// The butterfly recurrence with a table of `row.len()` twiddles.
fn forward(mut row: Vec<i64>, table: &[i64], q: i64) -> Vec<i64> {
    let mut half = row.len();
    let mut groups = 1;
    while groups < row.len() {
        half /= 2;
        for group in 0..groups {
            let twiddle = table[groups + group];
            for i in 2 * group * half..(2 * group + 1) * half {
                let product = i128::from(multiply_truncated(row[i + half], twiddle, q));
                let kept = i128::from(row[i]);
                row[i] = canonical(kept + product, q);
                row[i + half] = canonical(kept - product, q);
            }
        }
        groups *= 2;
    }
    row
}
