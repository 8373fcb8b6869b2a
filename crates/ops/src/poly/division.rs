//! `kate_div`: division by X - b.

use super::{
    A, RUN, Rows, UNIT, declare, each_row, length, one_number, runs, scalar, step, unit_ns,
};
use crate::op::Param;
use crate::reference::{Contents, Expected};
use crate::{Args, Launches, OpError, ReprRule, geometry};
use cloakwork_ir::Type;
use smallvec::smallvec;

declare!(
    DEF,
    "kate_div",
    "The quotient q of `a = q (X - b) + a(b)`, by coefficients, the constant first: `q[n - 1] = \
     0`, `q[i - 1] = a[i] + b q[i]`. With `keep` n coefficients, the last of them 0; else n - 1. \
     It opens a commitment of Kate, Zaverucha and Goldberg at b.",
    &[
        A,
        Param::tensor("b", "the dtype of `a`, no axes"),
        Param::flag("keep", "keep n coefficients instead of n - 1").or(1),
        Param::out("`[.., n]` or `[.., n - 1]`"),
    ],
    &["a", "b", "keep", "out"],
    &[],
    infer,
    launch,
    Some(temporary),
    reference,
    ReprRule::Coefficients {
        operand: "a",
        gives: true
    }
);

/// Coefficients of the quotient.
fn kept(args: &Args) -> Result<u64, OpError> {
    let a = args.tensor("a")?;
    let n = length("a", a)?;
    if args.flag("keep")? {
        return Ok(n);
    }
    n.checked_sub(1)
        .ok_or_else(|| OpError::shape("a", "a coefficient at least", a.shape()))
}

fn infer(args: &Args) -> Result<Type, OpError> {
    let a = args.tensor("a")?;
    let kept = kept(args)?;
    scalar(args, "b")?;
    let last = a.view.rank().saturating_sub(1);
    Ok(Type::new(
        a.dtype,
        geometry::resized("a", a.shape(), last, kept)?,
    ))
}

fn temporary(args: &Args) -> Result<u64, OpError> {
    let a = args.tensor("a")?;
    let size = a.dtype.size_bytes() as u64;
    Ok((2 * Rows::of(a.view).count() * runs(length("a", a)?)).max(1) * size)
}

fn launch(args: &Args) -> Result<Launches, OpError> {
    let (a, out) = (args.tensor("a")?, args.tensor("out")?);
    let n = length("a", a)?;
    let each = Rows::of(a.view)
        .parts(n.div_ceil(UNIT))
        .weight(unit_ns(n, 6));
    let rows = Rows::of(a.view).weight(runs(n) * 25);
    let carries = (rows.count() * runs(n), runs(n));
    let part = (UNIT / RUN) as i64;
    let of_runs = smallvec![
        each.temporary(args, (0, runs(n)), part)?,
        each.operand(args, "a", UNIT as i64 * step(a.view))?,
        each.same(args, "b")?,
    ];
    let of_rows = smallvec![
        rows.temporary(args, carries, 0)?,
        rows.temporary(args, (0, runs(n)), 0)?,
        rows.same(args, "b")?,
    ];
    let of_elements = smallvec![
        each.operand(args, "out", UNIT as i64 * step(out.view))?,
        each.operand(args, "a", UNIT as i64 * step(a.view))?,
        each.same(args, "b")?,
        each.temporary(args, carries, part)?,
    ];
    let params = [n as i64, step(a.view), step(out.view), kept(args)? as i64];
    Ok(smallvec![
        each.launch("horner_runs", of_runs, &params[..2]),
        rows.launch("kate_carries", of_rows, &[runs(n) as i64]),
        each.launch("kate_runs", of_elements, &params),
    ])
}

/// Division of polynomials, from the highest coefficient down.
fn reference(args: &Args, contents: &dyn Contents) -> Result<Expected, OpError> {
    let b = one_number(args, contents, "b")?.unwrap_or_default();
    let kept = kept(args)? as usize;
    each_row(args, contents, "a", &|field, row| {
        let mut quotient = vec![field.zero(); row.len()];
        for i in (1..row.len()).rev() {
            quotient[i - 1] = field.add(&row[i], &field.multiply(&b, &quotient[i]));
        }
        quotient.truncate(kept);
        quotient
    })
}
