//! `ntt`: the forward negacyclic number-theoretic transform.

use crate::op::{
    Access, Aliasing, Body, Family, Form, KernelBody, Law, OpDef, Origin, OutRule, Param, ParamKind,
};
use crate::reference::{canonical, multiply_truncated};
use crate::{Args, Code, Contents, Launch, LaunchOperand, OpError, Source, rules};
use cloakwork_ir::{DType, Generation, Shape, Type};
use smallvec::{SmallVec, smallvec};

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
        Param::new("a", ParamKind::Tensor, "i8, i32 or i64, four axes"),
        Param::new("axis", ParamKind::Int(-3, -1), "-3 or -1").or(-3),
        Param::new(
            "perm",
            ParamKind::OptionalTensor,
            "a permutation of 0 .. m, i64, `[m]`",
        ),
        Param::new("q", ParamKind::Tensor, "moduli `[k]`"),
        Param::new("psi", ParamKind::Tensor, "twiddles `[k, m]`"),
        Param::new("out", ParamKind::Out, "four axes, k moduli"),
        Param::new("tile", ParamKind::Bool, "`a` has size 1 along the moduli").or(0),
        Param::new(
            "skip_perm",
            ParamKind::Bool,
            "leave the result bit-reversed",
        )
        .or(0),
        Param::new(
            "perm_pairs",
            ParamKind::Hint,
            "swaps of the permutation; not needed",
        ),
        Param::new(
            "log2q",
            ParamKind::Hint,
            "bit lengths of the moduli; not needed",
        ),
        Param::new("mu", ParamKind::Hint, "Barrett constants; not needed"),
    ],
    forms: &[
        Form {
            name: "ntt",
            args: LATER,
            ints: None,
            origin: Origin::HealOnly(Generation::Later),
        },
        Form {
            name: "ntt",
            args: FIRST,
            ints: None,
            origin: Origin::HealOnly(Generation::First),
        },
    ],
    body: Body::Kernel(KernelBody {
        infer,
        out: OutRule::Exact,
        dtypes: &[
            (DType::I64, DType::I64),
            (DType::I32, DType::I32),
            (DType::I8, DType::I64),
            (DType::I8, DType::I32),
        ],
        aliasing: Aliasing::Only("a"),
        access: Access::Write,
        launch,
        reference,
    }),
    operations: super::butterflies,
    laws: &[Law::Linear],
};

fn infer(args: &Args) -> Result<Type, OpError> {
    let axes = super::axes(args)?;
    let a = args.tensor("a")?;
    let q = args.tensor("q")?;
    rules::dtype_in("a", a, &[DType::I64, DType::I32, DType::I8])?;
    rules::rank_is("a", a, 4)?;
    rules::rank_is("q", q, 1)?;
    let mut dims: SmallVec<[u64; 4]> = a.dims().into();
    let (length, moduli) = (dims[axes.m], q.dims()[0]);
    rules::transform_length("a", length)?;
    if args.flag("tile")? {
        if dims[axes.k] != 1 {
            let got = dims[axes.k].to_string();
            return Err(OpError::new(
                Code::Shape,
                "a",
                "size 1 along the moduli to tile",
                got,
            ));
        }
        dims[axes.k] = moduli;
    }
    rules::shape_is("q", q, &dims[axes.k..=axes.k])?;
    super::check_tables(args, "psi", length, moduli)?;
    if !args.flag("skip_perm")? {
        super::check_permutation(args, length)?;
    }
    let dtype = if a.dtype == DType::I8 {
        q.dtype
    } else {
        a.dtype
    };
    let shape = Shape::new(&dims)
        .map_err(|e| OpError::new(Code::Shape, "a", "a smaller tensor", e.to_string()))?;
    Ok(Type::new(dtype, shape))
}

fn launch(args: &Args) -> Result<SmallVec<[Launch; 1]>, OpError> {
    let perm = if args.flag("skip_perm")? {
        None
    } else {
        args.tensor_if_any("perm")?
    };
    let mut launch = super::launch("ntt", args, "psi")?;
    if args.flag("tile")? {
        launch.operands[1].strides[2] = 0;
    }
    launch.operands.push(match perm {
        Some(perm) => args.operand("perm", &[0, 0, 0, perm.view.strides[0]])?,
        None => LaunchOperand {
            source: Source::Null,
            offset: 0,
            strides: smallvec![0; 4],
        },
    });
    Ok(smallvec![launch])
}

fn reference(args: &Args, contents: &dyn Contents) -> Result<Vec<i64>, OpError> {
    let rows = super::Rows::new(args)?;
    let (a, q, psi) = (
        contents.words("a")?,
        contents.words("q")?,
        contents.words("psi")?,
    );
    let permute = !args.flag("skip_perm")? && args.tensor_if_any("perm")?.is_some();
    let perm = if permute {
        contents.words("perm")?
    } else {
        &[]
    };
    let m = rows.length;
    rows.map(|l, r, k| {
        let (q, table) = (q[k], &psi[k * m..(k + 1) * m]);
        let row = (0..m)
            .map(|i| canonical(i128::from(a[rows.input(l, r, k, i)]), q))
            .collect();
        let row = forward(row, table, q);
        if permute {
            perm.iter().map(|&u| row[u as usize]).collect()
        } else {
            row
        }
    })
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
