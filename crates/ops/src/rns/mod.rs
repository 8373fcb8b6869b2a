//! Residue number systems: polynomials from one basis of moduli to another.

pub mod base_convert;
pub mod mod_down;
pub mod mod_up;
pub mod rescale;

use crate::expansion::Part;
use crate::op::Param;
use crate::{Args, ContentCheck, Expansion, OpError, rules};
use cloakwork_ir::{Arg, DType};

/// The tables that transforms under all moduli need.
pub const TABLES: [Param; 3] = [
    Param::tensor("psi", "twiddles of `ntt`, a row a modulus"),
    Param::tensor("psi_inv", "twiddles of `intt`, a row a modulus"),
    Param::optional(
        "perm",
        "order of the NTT domain, i64 `[N]`; none is the transform's own",
    ),
];

/// Checks of contents of ops that transform under these tables.
pub const CHECKS: &[ContentCheck] = &[
    ContentCheck::Modulus("q"),
    ContentCheck::Permutation {
        operand: "perm",
        flag: None,
    },
];

/// Holds dtypes and shapes of the tables to the degree and the number of moduli.
pub fn check_tables(args: &Args, degree: u64, moduli: u64) -> Result<(), OpError> {
    rules::dtype_in("a", args.tensor("a")?, &[DType::I64])?;
    rules::transform_length("a", degree)?;
    rules::same_dtype(args, "q", DType::I64)?;
    rules::shape_is("q", args.tensor("q")?, &[moduli])?;
    for table in ["psi", "psi_inv"] {
        rules::same_dtype(args, table, DType::I64)?;
        rules::shape_is(table, args.tensor(table)?, &[moduli, degree])?;
    }
    if let Some(perm) = args.tensor_if_any("perm")? {
        rules::dtype_in("perm", perm, &[DType::I64])?;
        rules::shape_is("perm", perm, &[degree])?;
    }
    Ok(())
}

/// Holds constants of so many moduli to their shape.
pub fn check_vectors(args: &Args, names: &[&'static str], moduli: u64) -> Result<(), OpError> {
    for name in names {
        rules::same_dtype(args, name, DType::I64)?;
        if let Some(vector) = args.tensor_if_any(name)? {
            rules::shape_is(name, vector, &[moduli])?;
        }
    }
    Ok(())
}

/// The most digits: each takes steps of its own in an expansion.
const MAX_DIGITS: u64 = 256;

/// Limbs of a digit, and how many digits so many limbs make.
pub fn digits(args: &Args, limbs: u64) -> Result<(u64, u64), OpError> {
    let digit_limbs = u64::try_from(args.int("digit_limbs")?).unwrap_or(0).max(1);
    let digits = limbs.div_ceil(digit_limbs);
    if digits > MAX_DIGITS {
        let expected = format!("so many that there are at most {MAX_DIGITS} digits");
        return Err(OpError::range("digit_limbs", expected, digit_limbs));
    }
    Ok((digit_limbs, digits))
}

/// Elementary operations: butterflies of transforms, and products for each coefficient.
pub fn work((rows, degree): (u64, u64), transforms: u64, products: u64) -> u64 {
    let butterflies = degree / 2 * u64::from(degree.max(1).ilog2());
    let products = products.saturating_mul(degree);
    let row = transforms.saturating_mul(butterflies);
    rows.saturating_mul(row.saturating_add(products))
}

/// The moduli of an expansion with their tables, and its steps on rows of polynomials
/// `[l, N, limbs]`.
pub struct Basis {
    dtype: DType,
    rows: u64,
    degree: u64,
    q: Arg,
    psi: Arg,
    psi_inv: Arg,
    perm: Arg,
}

impl Basis {
    /// The basis of a composite's parameters `q`, `psi`, `psi_inv` and `perm`.
    pub fn of(
        steps: &Expansion,
        dtype: DType,
        (rows, degree): (u64, u64),
    ) -> Result<Self, OpError> {
        Ok(Self {
            dtype,
            rows,
            degree,
            q: steps.arg("q")?,
            psi: steps.arg("psi")?,
            psi_inv: steps.arg("psi_inv")?,
            perm: steps.arg("perm")?,
        })
    }

    /// Limbs `first .. end` of polynomials.
    pub fn limbs(
        &self,
        steps: &mut Expansion,
        a: &Arg,
        (first, end): (u64, u64),
    ) -> Result<Arg, OpError> {
        let parts = [
            Part::All(self.rows),
            Part::All(self.degree),
            Part::Range(first, end),
        ];
        steps.slice(a, &parts)
    }

    /// Memory for so many limbs of polynomials.
    pub fn room(&self, steps: &mut Expansion, limbs: u64) -> Result<Arg, OpError> {
        steps.empty_along(self.dtype, &[self.rows, self.degree, limbs], 1)
    }

    /// The moduli `first .. end`.
    pub fn moduli(&self, steps: &mut Expansion, range: (u64, u64)) -> Result<Arg, OpError> {
        steps.slice(&self.q, &[Part::Range(range.0, range.1)])
    }

    fn table(&self, steps: &mut Expansion, table: &Arg, range: (u64, u64)) -> Result<Arg, OpError> {
        let rows = Part::Range(range.0, range.1);
        steps.slice(table, &[rows, Part::All(self.degree)])
    }

    fn wide(&self, steps: &mut Expansion, a: &Arg) -> Result<Arg, OpError> {
        steps.call("unsqueeze", &[("a", a.clone()), ("axis", Arg::Int(2))])
    }

    /// `scale / n_inv` times the coefficients of polynomials under the moduli of a range.
    pub fn inverse(
        &self,
        steps: &mut Expansion,
        a: &Arg,
        range: (u64, u64),
        scale: &Arg,
    ) -> Result<Arg, OpError> {
        let result = self.room(steps, range.1 - range.0)?;
        let (source, target) = (self.wide(steps, a)?, self.wide(steps, &result)?);
        let given = [
            ("a", source),
            ("axis", Arg::Int(-3)),
            ("perm", self.perm.clone()),
            ("q", self.moduli(steps, range)?),
            ("psi_inv", self.table(steps, &self.psi_inv, range)?),
            ("n_inv", scale.clone()),
        ];
        steps.call_into("intt", &given, &target)?;
        Ok(result)
    }

    /// Residues modulo one range of moduli to the NTT domain modulo another.
    pub fn convert(
        &self,
        steps: &mut Expansion,
        residues: &Arg,
        (from, to): ((u64, u64), (u64, u64)),
        (half, hat): (Arg, Arg),
        out: &Arg,
    ) -> Result<(), OpError> {
        let target = self.moduli(steps, to)?;
        let given = [
            ("a", residues.clone()),
            ("q", self.moduli(steps, from)?),
            ("half", half),
            ("hat", hat),
            ("p", target.clone()),
        ];
        steps.call_into("base_convert", &given, out)?;
        let wide = self.wide(steps, out)?;
        let given = [
            ("a", wide.clone()),
            ("axis", Arg::Int(-3)),
            ("perm", self.perm.clone()),
            ("q", target),
            ("psi", self.table(steps, &self.psi, to)?),
        ];
        steps.call_into("ntt", &given, &wide)
    }

    /// `a * inverse + converted` under the moduli of a range; without an inverse, their sum.
    pub fn join(
        &self,
        steps: &mut Expansion,
        (a, inverse, converted): (Arg, Arg, Arg),
        range: (u64, u64),
    ) -> Result<(), OpError> {
        let (q, out) = (self.moduli(steps, range)?, steps.arg("out")?);
        if matches!(inverse, Arg::None) {
            return steps.call_into("modsum", &[("a", a), ("b", converted), ("q", q)], &out);
        }
        let given = [("a", a), ("b", inverse), ("c", converted), ("q", q)];
        steps.call_into("modmuladd", &given, &out)
    }
}
