//! `relinearize`: a product's third part, switched into the first two.

use super::hybrid_key_switch::{CONSTANTS, key_sizes};
use crate::expansion::Part;
use crate::op::{Body, ExpandBody, Family, Form, OpDef, Param};
use crate::rns::CHECKS;
use crate::{Args, Expansion, OpError, geometry, rules};
use cloakwork_ir::{DType, Type};

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
    "out",
];

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "relinearize",
    family: Family::Rlwe,
    doc: "`out [l, 2, N, k]` decrypts to what `a [l, 3, N, k]` does: `a[:, 0:2]` plus \
          `hybrid_key_switch` of `a[:, 2]` with a `key [2, d, N, K + k]` of the secret's \
          square.\n\n\
          NTT domain. Constants are those of `hybrid_key_switch`.",
    params: &[
        Param::tensor("a", "residues `[l, 3, N, k]`, i64"),
        Param::tensor("key", "relinearization key `[2, d, N, K + k]`"),
        CONSTANTS[0],
        CONSTANTS[1],
        CONSTANTS[2],
        CONSTANTS[3],
        CONSTANTS[4],
        CONSTANTS[5],
        CONSTANTS[6],
        CONSTANTS[7],
        CONSTANTS[8],
        Param::out("residues `[l, 2, N, k]`"),
    ],
    forms: &[Form::own("relinearize", ARGS)],
    body: Body::Expand(ExpandBody {
        infer,
        checks: CHECKS,
        expand,
    }),
    operations: |args| {
        let elements = args.elements("a");
        let moduli = args.elements("q");
        elements.saturating_mul(moduli)
    },
    laws: &[],
};

fn infer(args: &Args) -> Result<Type, OpError> {
    let (a, key) = (args.tensor("a")?, args.tensor("key")?);
    rules::rank_is("a", a, 4)?;
    let [rows, _, degree, limbs] = [0, 1, 2, 3].map(|axis| a.dims()[axis]);
    rules::shape_is("a", a, &[rows, 3, degree, limbs])?;
    if key_sizes(args, [rows, degree, limbs])?.polynomials != 2 {
        return Err(OpError::shape("key", "two polynomials", key.shape()));
    }
    Ok(Type::new(
        DType::I64,
        geometry::shape("a", &[rows, 2, degree, limbs])?,
    ))
}

fn expand(args: &Args, steps: &mut Expansion) -> Result<(), OpError> {
    let dims = args.tensor("a")?.dims();
    let (rows, degree, limbs) = (dims[0], dims[2], dims[3]);
    if rows == 0 {
        return Ok(());
    }
    let part = |which| [Part::All(rows), which, Part::All(degree), Part::All(limbs)];
    let a = steps.arg("a")?;
    let last = steps.slice(&a, &part(Part::At(2)))?;
    let addend = steps.slice(&a, &part(Part::Range(0, 2)))?;
    let mut given = vec![("a", last), ("addend", addend)];
    for name in ["key"]
        .into_iter()
        .chain(CONSTANTS.iter().map(|param| param.name))
    {
        given.push((name, steps.arg(name)?));
    }
    let out = steps.arg("out")?;
    steps.call_into("hybrid_key_switch", &given, &out)
}
