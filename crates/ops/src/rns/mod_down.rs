//! `mod_down`: division by the special moduli.

use super::{Basis, CHECKS, TABLES};
use crate::op::{Body, ExpandBody, Family, Form, OpDef, Param};
use crate::{Args, Expansion, OpError, geometry, rules};
use cloakwork_ir::{DType, Type};

const ARGS: &[&str] = &[
    "a", "q", "psi", "psi_inv", "perm", "scale", "half", "hat", "inverse", "out",
];

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "mod_down",
    family: Family::Rns,
    doc: "`out [l, N, k] = (a - [a]_P) / P` for `a [l, N, K + k]` modulo P q_1 ... q_k: divides \
          by the special moduli with product P, the first K limbs.\n\n\
          NTT domain in and out. `[a]_P` is `base_convert` of those limbs: a number that is `a` \
          modulo P, off zero by at most K / 2 times P, so the result is off the quotient by at \
          most (K + 1) / 2 (with `half` floor(p_i / 2); for one limb it is the nearest integer). \
          Computed as `a * inverse + c`, where c is the conversion with `hat[i, j] = -(P / p_i) \
          P^-1 mod q_j` and `scale[i] = (P / p_i)^-1 / N mod p_i`; `inverse[j] = P^-1 mod q_j`, or \
          none where the last k limbs of `a` are divided by P already. With t / t^-1 mod p_i in \
          `scale` and t in `hat` the difference is a multiple of t, as BGV wants it.",
    params: &[
        Param::tensor("a", "residues `[l, N, K + k]`, i64"),
        Param::tensor("q", "moduli `[K + k]`, special ones first"),
        TABLES[0],
        TABLES[1],
        TABLES[2],
        Param::tensor("scale", "factors of the inverse transforms, `[K]`"),
        Param::tensor("half", "subtracted from each residue, `[K]`"),
        Param::tensor("hat", "factors `[K, k]`"),
        Param::optional("inverse", "factors of `a`, `[k]`"),
        Param::out("residues `[l, N, k]`"),
    ],
    forms: &[Form::own("mod_down", ARGS)],
    body: Body::Expand(ExpandBody {
        infer,
        checks: CHECKS,
        expand,
    }),
    operations: |args| {
        sizes(args).map_or(0, |s| {
            let transforms = s.dropped + s.kept;
            super::work((s.rows, s.degree), transforms, s.dropped * s.kept)
        })
    },
    laws: &[],
};

struct Sizes {
    rows: u64,
    degree: u64,
    dropped: u64,
    kept: u64,
}

fn sizes(args: &Args) -> Result<Sizes, OpError> {
    let (a, hat) = (args.tensor("a")?, args.tensor("hat")?);
    rules::rank_is("a", a, 3)?;
    rules::rank_is("hat", hat, 2)?;
    let (degree, limbs) = (a.dims()[1], a.dims()[2]);
    let (dropped, kept) = (hat.dims()[0], hat.dims()[1]);
    super::check_tables(args, degree, limbs)?;
    if dropped.checked_add(kept) != Some(limbs) || dropped == 0 || kept == 0 {
        let expected = format!("[K, k] with K + k = {limbs}, the limbs of `a`");
        return Err(OpError::shape("hat", expected, hat.shape()));
    }
    rules::same_dtype(args, "hat", DType::I64)?;
    super::check_vectors(args, &["scale", "half"], dropped)?;
    super::check_vectors(args, &["inverse"], kept)?;
    Ok(Sizes {
        rows: a.dims()[0],
        degree,
        dropped,
        kept,
    })
}

fn infer(args: &Args) -> Result<Type, OpError> {
    let s = sizes(args)?;
    let shape = geometry::shape("a", &[s.rows, s.degree, s.kept])?;
    Ok(Type::new(args.tensor("a")?.dtype, shape))
}

fn expand(args: &Args, steps: &mut Expansion) -> Result<(), OpError> {
    let s = sizes(args)?;
    if s.rows == 0 {
        return Ok(());
    }
    let basis = Basis::of(steps, args.tensor("a")?.dtype, (s.rows, s.degree))?;
    let (dropped, kept) = ((0, s.dropped), (s.dropped, s.dropped + s.kept));
    let a = steps.arg("a")?;
    let (low, high) = (
        basis.limbs(steps, &a, dropped)?,
        basis.limbs(steps, &a, kept)?,
    );
    let scale = steps.arg("scale")?;
    let residues = basis.inverse(steps, &low, dropped, &scale)?;
    let converted = basis.room(steps, s.kept)?;
    let constants = (steps.arg("half")?, steps.arg("hat")?);
    basis.convert(steps, &residues, (dropped, kept), constants, &converted)?;
    let inverse = steps.arg("inverse")?;
    basis.join(steps, (high, inverse, converted), kept)
}
