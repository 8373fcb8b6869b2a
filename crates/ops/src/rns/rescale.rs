//! `rescale`: division by the last modulus.

use super::{Basis, CHECKS, TABLES};
use crate::op::{Body, ExpandBody, Family, Form, OpDef, Param};
use crate::{Args, Expansion, OpError, geometry, rules};
use cloakwork_ir::{DType, Type};

const ARGS: &[&str] = &[
    "a", "q", "psi", "psi_inv", "perm", "scale", "half", "hat", "inverse", "out",
];

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "rescale",
    family: Family::Rns,
    doc: "`out [l, N, k] = round(a / q_k)` for `a [l, N, k + 1]` modulo q_0 ... q_k: divides by \
          the last modulus, rounding each coefficient to the nearest integer (Cheon, Han, Kim, \
          Kim, Song: ePrint 2018/931).\n\nNTT domain in and out. Computed as `a * inverse + \
          ntt(base_convert(intt(last limb)))` with `scale = [1 / N mod q_k]`, `half = [floor(q_k \
          / 2)]`, `hat[0, j] = -1 / q_k mod q_j` and `inverse[j] = 1 / q_k mod q_j`. With t^-1 \
          mod q_k in `scale` and t in `hat` it is BGV's modulus switching: the result is \
          congruent to a / q_k modulo t.",
    params: &[
        Param::tensor("a", "residues `[l, N, k + 1]`, i64"),
        Param::tensor("q", "moduli `[k + 1]`"),
        TABLES[0],
        TABLES[1],
        TABLES[2],
        Param::tensor("scale", "factor of the inverse transform, `[1]`"),
        Param::tensor("half", "subtracted from each residue, `[1]`"),
        Param::tensor("hat", "factors `[1, k]`"),
        Param::tensor("inverse", "factors of `a`, `[k]`"),
        Param::out("residues `[l, N, k]`"),
    ],
    forms: &[Form::own("rescale", ARGS)],
    body: Body::Expand(ExpandBody {
        infer,
        checks: CHECKS,
        expand,
    }),
    operations: |args| {
        args.tensor("a").map_or(0, |a| {
            let degree = a.dims().get(1).copied().unwrap_or(1).max(1);
            a.shape().elements() / 2 * u64::from(degree.ilog2())
        })
    },
    laws: &[],
};

/// l, N and the limbs that stay.
fn sizes(args: &Args) -> Result<(u64, u64, u64), OpError> {
    let a = args.tensor("a")?;
    rules::rank_is("a", a, 3)?;
    let (rows, degree, limbs) = (a.dims()[0], a.dims()[1], a.dims()[2]);
    super::check_tables(args, degree, limbs)?;
    if limbs < 2 {
        let expected = "at least two limbs";
        return Err(OpError::shape("a", expected, a.shape()));
    }
    rules::same_dtype(args, "hat", DType::I64)?;
    super::check_vectors(args, &["scale", "half"], 1)?;
    super::check_vectors(args, &["inverse"], limbs - 1)?;
    rules::shape_is("hat", args.tensor("hat")?, &[1, limbs - 1])?;
    Ok((rows, degree, limbs - 1))
}

fn infer(args: &Args) -> Result<Type, OpError> {
    let (rows, degree, kept) = sizes(args)?;
    let shape = geometry::shape("a", &[rows, degree, kept])?;
    Ok(Type::new(args.tensor("a")?.dtype, shape))
}

fn expand(args: &Args, steps: &mut Expansion) -> Result<(), OpError> {
    let (rows, degree, limbs) = sizes(args)?;
    if rows == 0 {
        return Ok(());
    }
    let basis = Basis::of(steps, args.tensor("a")?.dtype, (rows, degree))?;
    let (kept, last) = ((0, limbs), (limbs, limbs + 1));
    let a = steps.arg("a")?;
    let (high, low) = (basis.limbs(steps, &a, kept)?, basis.limbs(steps, &a, last)?);
    let scale = steps.arg("scale")?;
    let residues = basis.inverse(steps, &low, last, &scale)?;
    let converted = basis.room(steps, limbs)?;
    let constants = (steps.arg("half")?, steps.arg("hat")?);
    basis.convert(steps, &residues, (last, kept), constants, &converted)?;
    let inverse = steps.arg("inverse")?;
    basis.join(steps, (high, inverse, converted), kept)
}
