//! `mod_up`: the digits of polynomials, each modulo every modulus.

use super::{Basis, CHECKS, TABLES};
use crate::expansion::Part;
use crate::op::{Body, ExpandBody, Family, Form, OpDef, Param, ParamKind};
use crate::{Args, Expansion, OpError, geometry, rules};
use cloakwork_ir::{DType, Type};

const ARGS: &[&str] = &[
    "a",
    "q",
    "psi",
    "psi_inv",
    "perm",
    "scale",
    "half",
    "hat",
    "digit_limbs",
    "out",
];

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "mod_up",
    family: Family::Rns,
    doc: "Digit g of `a [l, N, k]` is its part modulo the g-th `digit_limbs` moduli; `out [l, d, \
          N, K + k]` has each digit modulo all K + k moduli, K special ones first, then the k \
          of `a`.\n\n\
          NTT domain in and out. Where a digit has a modulus it is `a`; elsewhere it is \
          `base_convert` of the digit's coefficients, so each is off by a multiple of the digit's \
          modulus Q_g, at most half as many times as the digit has limbs. `scale[i] = (Q_g / \
          q_i)^-1 / N mod q_i`, `half[i] = floor(q_i / 2)`, `hat[i, j] = Q_g / q_i` modulo modulus \
          j. The first half of hybrid key switching (Han, Ki: ePrint 2019/688).",
    params: &[
        Param::tensor("a", "residues `[l, N, k]`, i64"),
        Param::tensor("q", "moduli `[K + k]`, special ones first"),
        TABLES[0],
        TABLES[1],
        TABLES[2],
        Param::tensor("scale", "factors of the inverse transforms, `[k]`"),
        Param::tensor("half", "subtracted from each residue, `[k]`"),
        Param::tensor("hat", "factors `[k, K + k]`"),
        Param::new(
            "digit_limbs",
            ParamKind::Int(1, 1 << 14),
            "limbs of a digit",
        ),
        Param::out("residues `[l, d, N, K + k]`"),
    ],
    forms: &[Form::own("mod_up", ARGS)],
    body: Body::Expand(ExpandBody {
        infer,
        checks: CHECKS,
        expand,
    }),
    operations: |args| {
        sizes(args).map_or(0, |s| {
            let transforms = s.limbs + s.digits * s.all();
            super::work((s.rows, s.degree), transforms, s.limbs * s.all())
        })
    },
    laws: &[],
};

#[derive(Clone, Copy)]
struct Sizes {
    rows: u64,
    degree: u64,
    limbs: u64,
    special: u64,
    digit_limbs: u64,
    digits: u64,
}

impl Sizes {
    fn all(self) -> u64 {
        self.special + self.limbs
    }
}

fn sizes(args: &Args) -> Result<Sizes, OpError> {
    let (a, q) = (args.tensor("a")?, args.tensor("q")?);
    rules::rank_is("a", a, 3)?;
    rules::rank_is("q", q, 1)?;
    let (degree, limbs, all) = (a.dims()[1], a.dims()[2], q.dims()[0]);
    let Some(special) = all.checked_sub(limbs).filter(|_| limbs > 0) else {
        let expected = "moduli for every limb of `a`, and special ones before them";
        return Err(OpError::shape("q", expected, q.shape()));
    };
    super::check_tables(args, degree, all)?;
    rules::same_dtype(args, "hat", DType::I64)?;
    super::check_vectors(args, &["scale", "half"], limbs)?;
    rules::shape_is("hat", args.tensor("hat")?, &[limbs, all])?;
    let (digit_limbs, digits) = super::digits(args, limbs)?;
    Ok(Sizes {
        rows: a.dims()[0],
        degree,
        limbs,
        special,
        digit_limbs,
        digits,
    })
}

fn infer(args: &Args) -> Result<Type, OpError> {
    let s = sizes(args)?;
    let shape = geometry::shape("a", &[s.rows, s.digits, s.degree, s.all()])?;
    Ok(Type::new(args.tensor("a")?.dtype, shape))
}

fn expand(args: &Args, steps: &mut Expansion) -> Result<(), OpError> {
    let s = sizes(args)?;
    if s.rows == 0 {
        return Ok(());
    }
    let basis = Basis::of(steps, args.tensor("a")?.dtype, (s.rows, s.degree))?;
    let (a, out) = (steps.arg("a")?, steps.arg("out")?);
    let scale = steps.arg("scale")?;
    let residues = basis.inverse(steps, &a, (s.special, s.all()), &scale)?;
    for digit in 0..s.digits {
        let (first, end) = (
            digit * s.digit_limbs,
            ((digit + 1) * s.digit_limbs).min(s.limbs),
        );
        let part = |from, to| {
            [
                Part::All(s.rows),
                Part::At(digit),
                Part::All(s.degree),
                Part::Range(from, to),
            ]
        };
        // Its own limbs are what they were.
        let (own, own_end) = (s.special + first, s.special + end);
        let target = steps.slice(&out, &part(own, own_end))?;
        let source = basis.limbs(steps, &a, (first, end))?;
        steps.call_into("copy", &[("a", source)], &target)?;
        for (from, to) in [(0, own), (own_end, s.all())] {
            if from == to {
                continue;
            }
            let target = steps.slice(&out, &part(from, to))?;
            let hat = steps.arg("hat")?;
            let hat = steps.slice(&hat, &[Part::Range(first, end), Part::Range(from, to)])?;
            let half = steps.arg("half")?;
            let half = steps.slice(&half, &[Part::Range(first, end)])?;
            let digits = basis.limbs(steps, &residues, (first, end))?;
            basis.convert(
                steps,
                &digits,
                ((own, own_end), (from, to)),
                (half, hat),
                &target,
            )?;
        }
    }
    Ok(())
}
