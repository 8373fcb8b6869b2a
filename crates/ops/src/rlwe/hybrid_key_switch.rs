//! `hybrid_key_switch`: a polynomial under one key, re-expressed under another by way of special
//! moduli.

use crate::expansion::Part;
use crate::op::{Body, ExpandBody, Family, Form, OpDef, Param, ParamKind};
use crate::rns::{CHECKS, TABLES, check_tables, check_vectors, digits, work};
use crate::{Args, Expansion, Named, OpError, geometry, rules};
use cloakwork_ir::{Arg, DType, Type};

const ARGS: &[&str] = &[
    "a",
    "key",
    "q",
    "psi",
    "psi_inv",
    "perm",
    "scale",
    "half",
    "up_hat",
    "down_hat",
    "digit_limbs",
    "addend",
    "out",
];

/// Parameters of a switch beside the polynomials and the key; `relinearize` has the same.
pub const CONSTANTS: [Param; 9] = [
    Param::tensor("q", "moduli `[K + k]`, special ones first"),
    TABLES[0],
    TABLES[1],
    TABLES[2],
    Param::tensor("scale", "factors of inverse transforms, `[K + k]`"),
    Param::tensor("half", "floor(q / 2), `[K + k]`"),
    Param::tensor("up_hat", "`hat` of `mod_up`, `[k, K + k]`"),
    Param::tensor("down_hat", "`hat` of `mod_down`, `[K, k]`"),
    Param::new(
        "digit_limbs",
        ParamKind::Int(1, 1 << 14),
        "limbs of a digit",
    ),
];

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "hybrid_key_switch",
    family: Family::Rlwe,
    doc: "`out[l, p] = addend[l, p] + mod_down(sum_g mod_up(a)[l, g] * key[p, g])`: `a [l, N, k]` \
          times the secret that `key [p, d, N, K + k]` was made from, under the key's own \
          secret.\n\n\
          NTT domain. The key holds for each digit g the p polynomials of an encryption of P T_g \
          s, T_g = 1 modulo the moduli of digit g and 0 modulo the others; its limbs of the k \
          moduli are divided by P, so that `mod_down` needs no further factor. `scale` and `half` \
          hold those of `mod_down` for the K special moduli, then those of `mod_up`. (Han, Ki: \
          ePrint 2019/688.) Expands into `mod_up`, `modmul_axis_sum` and `mod_down`.",
    params: &[
        Param::tensor("a", "residues `[l, N, k]`, i64"),
        Param::tensor("key", "evaluation key `[p, d, N, K + k]`"),
        CONSTANTS[0],
        CONSTANTS[1],
        CONSTANTS[2],
        CONSTANTS[3],
        CONSTANTS[4],
        CONSTANTS[5],
        CONSTANTS[6],
        CONSTANTS[7],
        CONSTANTS[8],
        Param::optional("addend", "residues `[l, p, N, k]`"),
        Param::out("residues `[l, p, N, k]`"),
    ],
    forms: &[Form::own("hybrid_key_switch", ARGS)],
    body: Body::Expand(ExpandBody {
        infer,
        checks: CHECKS,
        expand,
    }),
    operations: |args| {
        sizes(args).map_or(0, |s| {
            let transforms = s.limbs + (s.digits + s.polynomials) * s.all();
            let products = s.polynomials * s.digits * s.all();
            work((s.rows, s.degree), transforms, products)
        })
    },
    laws: &[],
};

/// The most polynomials of a key: each may take steps of its own. Keys have two.
const MAX_POLYNOMIALS: u64 = 256;

/// The sizes of a switch.
#[derive(Clone, Copy)]
pub struct Sizes {
    rows: u64,
    degree: u64,
    limbs: u64,
    special: u64,
    /// p of the key.
    pub polynomials: u64,
    digits: u64,
}

impl Sizes {
    fn all(self) -> u64 {
        self.special + self.limbs
    }
}

fn sizes(args: &Args) -> Result<Sizes, OpError> {
    let a = args.tensor("a")?;
    rules::rank_is("a", a, 3)?;
    let s = key_sizes(args, [a.dims()[0], a.dims()[1], a.dims()[2]])?;
    if let Some(addend) = args.tensor_if_any("addend")? {
        rules::dtype_in("addend", addend, &[DType::I64])?;
        rules::shape_is(
            "addend",
            addend,
            &[s.rows, s.polynomials, s.degree, s.limbs],
        )?;
    }
    Ok(s)
}

/// Checks the key and the constants for polynomials of these rows, degree and limbs.
pub fn key_sizes(args: &Args, [rows, degree, limbs]: [u64; 3]) -> Result<Sizes, OpError> {
    let (a, key, q) = (args.tensor("a")?, args.tensor("key")?, args.tensor("q")?);
    rules::rank_is("key", key, 4)?;
    rules::rank_is("q", q, 1)?;
    let (polynomials, all) = (key.dims()[0], q.dims()[0]);
    let Some(special) = all.checked_sub(limbs).filter(|&k| k > 0 && limbs > 0) else {
        let expected = "moduli for every limb of `a`, and special ones before them";
        return Err(OpError::shape("q", expected, q.shape()));
    };
    rules::dtype_in("a", a, &[DType::I64])?;
    rules::same_dtype(args, "key", DType::I64)?;
    check_vectors(args, &["scale", "half"], all)?;
    for (name, dims) in [("up_hat", [limbs, all]), ("down_hat", [special, limbs])] {
        rules::same_dtype(args, name, DType::I64)?;
        rules::shape_is(name, args.tensor(name)?, &dims)?;
    }
    check_tables(args, degree, all)?;
    if polynomials > MAX_POLYNOMIALS {
        let expected = format!("at most {MAX_POLYNOMIALS} polynomials");
        return Err(OpError::shape("key", expected, key.shape()));
    }
    let (_, digits) = digits(args, limbs)?;
    rules::shape_is("key", key, &[polynomials, digits, degree, all])?;
    // The digits and the sums are the largest tensors on the way.
    geometry::shape("a", &[rows, digits, degree, all])?;
    geometry::shape("a", &[rows, polynomials, degree, all])?;
    Ok(Sizes {
        rows,
        degree,
        limbs,
        special,
        polynomials,
        digits,
    })
}

fn infer(args: &Args) -> Result<Type, OpError> {
    let s = sizes(args)?;
    let shape = geometry::shape("a", &[s.rows, s.polynomials, s.degree, s.limbs])?;
    Ok(Type::new(DType::I64, shape))
}

fn expand(args: &Args, steps: &mut Expansion) -> Result<(), OpError> {
    let s = sizes(args)?;
    if s.rows * s.polynomials == 0 {
        return Ok(());
    }
    let special = Part::Range(0, s.special);
    let own = Part::Range(s.special, s.all());
    let dims = [s.rows, s.digits, s.degree, s.all()];
    let digits = steps.empty_along(DType::I64, &dims, 2)?;
    let more = steps.args(["a", "digit_limbs"])?;
    change_base(steps, "mod_up", (own, "up_hat"), &more, &digits)?;
    let dims = [s.rows, s.polynomials, s.degree, s.all()];
    let sums = steps.empty_along(DType::I64, &dims, 2)?;
    let whole = [
        Part::All(s.rows),
        Part::All(s.polynomials),
        Part::All(s.degree),
    ];
    let of = |limbs| [whole[0], whole[1], whole[2], limbs];
    let addend = steps.arg("addend")?;
    let zeros = [("value", Arg::Int(0))];
    if matches!(addend, Arg::None) {
        steps.call_into("set_const_val", &zeros, &sums)?;
    } else {
        let low = steps.slice(&sums, &of(special))?;
        steps.call_into("set_const_val", &zeros, &low)?;
        let high = steps.slice(&sums, &of(own))?;
        steps.call_into("copy", &[("a", addend)], &high)?;
    }
    let out = steps.arg("out")?;
    // Where there is one row, the key's polynomials are the rows: the digits are then read once.
    let parts = if s.rows == 1 { 1 } else { s.polynomials };
    for part in 0..parts {
        let at = if s.rows == 1 {
            [Part::At(0), Part::All(s.polynomials)]
        } else {
            [Part::All(s.rows), Part::At(part)]
        };
        let limbs = |count| [at[0], at[1], Part::All(s.degree), Part::All(count)];
        let sum = steps.slice(&sums, &limbs(s.all()))?;
        add_products(steps, s, part, (&digits, &sum))?;
        let target = steps.slice(&out, &limbs(s.limbs))?;
        change_base(
            steps,
            "mod_down",
            (special, "down_hat"),
            &[("a", sum)],
            &target,
        )?;
    }
    Ok(())
}

/// A call of `mod_up` or `mod_down` with the constants of a part of the moduli.
fn change_base(
    steps: &mut Expansion,
    op: &'static str,
    (part, hat): (Part, &'static str),
    more: &[Named],
    out: &Arg,
) -> Result<(), OpError> {
    let mut given = steps.args(["q", "psi", "psi_inv", "perm"])?;
    for name in ["scale", "half"] {
        let whole = steps.arg(name)?;
        given.push((name, steps.slice(&whole, &[part])?));
    }
    given.push(("hat", steps.arg(hat)?));
    given.extend_from_slice(more);
    steps.call_into(op, &given, out)
}

/// Digits times the key's polynomial of this number, or all of them if there is one row.
fn add_products(
    steps: &mut Expansion,
    s: Sizes,
    polynomial: u64,
    (digits, sum): (&Arg, &Arg),
) -> Result<(), OpError> {
    let one = |part| {
        [
            Part::At(part),
            Part::All(s.digits),
            Part::All(s.degree),
            Part::All(s.all()),
        ]
    };
    let key = steps.arg("key")?;
    let (rows, row) = if s.rows == 1 {
        (key, steps.slice(digits, &one(0))?)
    } else {
        (digits.clone(), steps.slice(&key, &one(polynomial))?)
    };
    let moved = |steps: &mut Expansion, a: Arg, axis: i64| {
        let axes = [
            ("source", Arg::Int(axis)),
            ("destination", Arg::Int(axis + 1)),
        ];
        steps.call("moveaxis", &[[("a", a)].as_slice(), &axes].concat())
    };
    let given = [
        ("a", moved(steps, rows, 1)?),
        ("b", moved(steps, row, 0)?),
        ("q", steps.arg("q")?),
        ("apply_perm", Arg::Int(0)),
        ("axis", Arg::Int(-3)),
    ];
    steps.call_into("modmul_axis_sum", &given, sum)
}
