//! `key_switch`: a polynomial under one key, re-expressed under another.

use crate::expansion::Part;
use crate::op::{Body, ExpandBody, Family, Form, OpDef, Param, ParamKind};
use crate::{Args, ContentCheck, Expansion, OpError, geometry, rules};
use cloakwork_ir::{Arg, DType, Type};

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "key_switch",
    family: Family::Rlwe,
    doc: "`out[l, :, p, :] = sum_j ntt(digit j of intt(a[l])) * key[:, p, j, :] mod q`.\n\n\
          `a [l, m, 1, k]` is a polynomial a row, in the NTT domain and natural order; its number \
          in `[0, prod q)` is cut into `g_exp` digits of `g_base_bits` bits. `key \
          [m, p, g_exp, k]` is in the NTT domain too: for each digit j the p polynomials of an \
          encryption of `2^(j * g_base_bits) * s`, s the secret that `a` is to be multiplied \
          with. `out [l, m, p, k]` is that product under the key's own secret. `perm` is the bit \
          reversal.\n\n\
          A digit must lie below every modulus. Expands into `intt`, `g_decomp_full_q`, `ntt` \
          with `tile` and `skip_perm`, and one `modmul_axis_sum` for each of the p polynomials.",
    params: &[
        Param::tensor("a", "residues `[l, m, 1, k]`, i32 or i64"),
        Param::tensor("key", "evaluation key `[m, p, g_exp, k]`"),
        Param::tensor("q", "moduli `[k]`"),
        Param::hint("q_inv", "inverses `[k, k]` of moduli; derived from `q`"),
        Param::tensor("psi", "twiddles `[k, m]` of `ntt`"),
        Param::tensor("psi_inv", "twiddles `[k, m]` of `intt`"),
        Param::tensor("n_inv", "inverses of m, `[k]`"),
        Param::tensor("perm", "the bit reversal of 0 .. m, i64"),
        Param::new("g_exp", ParamKind::Int(1, 1 << 14), "how many digits"),
        Param::new("g_base_bits", ParamKind::Int(1, 61), "bits of a digit"),
        Param::out("residues `[l, m, p, k]`"),
    ],
    forms: &[Form::documents(
        "key_switch",
        &[
            "a",
            "key",
            "q",
            "q_inv",
            "psi",
            "psi_inv",
            "n_inv",
            "perm",
            "g_exp",
            "g_base_bits",
            "out",
        ],
    )],
    body: Body::Expand(ExpandBody {
        infer,
        checks: &[
            ContentCheck::Modulus("q"),
            ContentCheck::Coprime("q"),
            ContentCheck::Permutation {
                operand: "perm",
                flag: None,
            },
        ],
        expand,
    }),
    operations,
    laws: &[],
};

/// The most polynomials of a key: each takes steps of its own in the expansion. Keys have two.
const MAX_POLYNOMIALS: u64 = 256;

/// l, m, k and the numbers of polynomials and digits.
struct Sizes {
    rows: u64,
    length: u64,
    moduli: u64,
    polynomials: u64,
    digits: u64,
}

fn sizes(args: &Args) -> Result<Sizes, OpError> {
    let (a, key) = (args.tensor("a")?, args.tensor("key")?);
    rules::dtype_in("a", a, &rules::RESIDUES)?;
    for name in ["key", "q", "psi", "psi_inv", "n_inv"] {
        rules::same_dtype(args, name, a.dtype)?;
    }
    rules::rank_is("a", a, 4)?;
    rules::rank_is("key", key, 4)?;
    let (rows, length, moduli) = (a.dims()[0], a.dims()[1], a.dims()[3]);
    let (polynomials, digits) = (key.dims()[1], key.dims()[2]);
    rules::transform_length("a", length)?;
    if polynomials > MAX_POLYNOMIALS {
        let expected = format!("at most {MAX_POLYNOMIALS} polynomials");
        return Err(OpError::shape("key", expected, key.shape()));
    }
    rules::shape_is("a", a, &[rows, length, 1, moduli])?;
    rules::shape_is("key", key, &[length, polynomials, digits, moduli])?;
    rules::shape_is("q", args.tensor("q")?, &[moduli])?;
    rules::shape_is("n_inv", args.tensor("n_inv")?, &[moduli])?;
    rules::shape_is("psi", args.tensor("psi")?, &[moduli, length])?;
    rules::shape_is("psi_inv", args.tensor("psi_inv")?, &[moduli, length])?;
    rules::dtype_in("perm", args.tensor("perm")?, &[DType::I64])?;
    rules::shape_is("perm", args.tensor("perm")?, &[length])?;
    if u64::try_from(args.int("g_exp")?) != Ok(digits) {
        let expected = format!("{digits}, the digits of `key`");
        return Err(OpError::range("g_exp", expected, args.int("g_exp")?));
    }
    Ok(Sizes {
        rows,
        length,
        moduli,
        polynomials,
        digits,
    })
}

fn infer(args: &Args) -> Result<Type, OpError> {
    let s = sizes(args)?;
    let dtype = args.tensor("a")?.dtype;
    let bits = args.int("g_base_bits")?;
    let high = 8 * dtype.size_bytes() as i64 - 3;
    if !(1..=high).contains(&bits) {
        let expected = format!("an integer from 1 to {high}");
        return Err(OpError::range("g_base_bits", expected, bits));
    }
    // The spread digits are the largest tensor on the way.
    geometry::shape("key", &[s.rows, s.length, s.digits, s.moduli])?;
    Ok(Type::new(
        dtype,
        geometry::shape("key", &[s.rows, s.length, s.polynomials, s.moduli])?,
    ))
}

fn operations(args: &Args) -> u64 {
    let Ok(s) = sizes(args) else {
        return 0;
    };
    let butterflies = s.length / 2 * u64::from(s.length.max(1).ilog2()) * (1 + s.digits);
    let products = s.length * s.digits * s.polynomials;
    butterflies
        .saturating_add(products)
        .saturating_mul(s.rows)
        .saturating_mul(s.moduli)
}

fn expand(args: &Args, steps: &mut Expansion) -> Result<(), OpError> {
    let s = sizes(args)?;
    let (q, perm, out) = (steps.arg("q")?, steps.arg("perm")?, steps.arg("out")?);
    let cut = cut(args, steps)?;
    let dtype = args.tensor("a")?.dtype;
    let spread = steps.empty(dtype, &[s.rows, s.length, s.digits, s.moduli])?;
    let flags = [
        ("tile", Arg::Int(1)),
        ("skip_perm", Arg::Int(1)),
        ("axis", Arg::Int(-3)),
    ];
    let mut transform = vec![("a", cut), ("q", q.clone()), ("perm", perm.clone())];
    transform.push(("psi", steps.arg("psi")?));
    transform.extend(flags);
    steps.call_into("ntt", &transform, &spread)?;

    steps.call_into("set_const_val", &[("value", Arg::Int(0))], &out)?;
    // No slice has an axis without elements.
    let polynomials = if s.rows * s.moduli == 0 {
        0
    } else {
        s.polynomials
    };
    for polynomial in 0..polynomials {
        let key = [
            Part::All(s.length),
            Part::At(polynomial),
            Part::All(s.digits),
            Part::All(s.moduli),
        ];
        let sum = [
            Part::All(s.rows),
            Part::All(s.length),
            Part::At(polynomial),
            Part::All(s.moduli),
        ];
        let whole_key = steps.arg("key")?;
        let key = steps.slice(&whole_key, &key)?;
        let sum = steps.slice(&out, &sum)?;
        let products = [
            ("a", spread.clone()),
            ("b", key),
            ("q", q.clone()),
            ("perm", perm.clone()),
            ("apply_perm", Arg::Int(1)),
            ("axis", Arg::Int(-3)),
        ];
        steps.call_into("modmul_axis_sum", &products, &sum)?;
    }
    Ok(())
}

/// The digits `[l, m, g_exp, 1]` of the coefficients of `a`.
fn cut(args: &Args, steps: &mut Expansion) -> Result<Arg, OpError> {
    let s = sizes(args)?;
    let dtype = args.tensor("a")?.dtype;
    let coefficients = steps.empty(dtype, &[s.rows, s.length, 1, s.moduli])?;
    let transform = steps.args(["a", "q", "perm", "psi_inv", "n_inv"])?;
    steps.call_into("intt", &transform, &coefficients)?;

    // Digits of up to 7 bits are the same in one byte.
    let small = if args.int("g_base_bits")? <= 7 {
        DType::I8
    } else {
        dtype
    };
    let cut = steps.empty(small, &[s.rows, s.length, s.digits, 1])?;
    let target = steps.reshape(&cut, &[s.rows * s.length, s.digits, 1])?;
    let flat = steps.reshape(&coefficients, &[s.rows * s.length, s.moduli, 1])?;
    let mut decomposition = steps.args(["q", "q_inv", "g_exp", "g_base_bits"])?;
    decomposition.push(("a", flat));
    steps.call_into("g_decomp_full_q", &decomposition, &target)?;
    Ok(cut)
}
