//! `evaluate`: polynomials at one point.

use super::{
    A, RUN, Rows, UNIT, declare, each_row, length, one_number, runs, scalar, step, unit_ns,
    value_at,
};
use crate::op::Param;
use crate::reference::{Contents, Expected};
use crate::{Args, Launches, OpError, ReprRule, geometry};
use cloakwork_ir::Type;
use smallvec::smallvec;

declare!(
    DEF,
    "evaluate",
    "`out = sum_i a[.., i] x^i`: polynomials, given by their coefficients, the constant first, at \
     one point; 0 without coefficients. By Horner's rule over runs of 128 coefficients, then over \
     runs.",
    &[
        A,
        Param::tensor("x", "the dtype of `a`, no axes"),
        Param::out("`[..]`"),
    ],
    &["a", "x", "out"],
    &[],
    infer,
    launch,
    Some(temporary),
    reference,
    ReprRule::Coefficients {
        operand: "a",
        gives: false
    }
);

fn infer(args: &Args) -> Result<Type, OpError> {
    let a = args.tensor("a")?;
    length("a", a)?;
    scalar(args, "x")?;
    let rows = a.dims().split_last().map_or(&[][..], |(_, rows)| rows);
    Ok(Type::new(a.dtype, geometry::shape("a", rows)?))
}

fn temporary(args: &Args) -> Result<u64, OpError> {
    let a = args.tensor("a")?;
    let size = a.dtype.size_bytes() as u64;
    Ok((Rows::of(a.view).count() * runs(length("a", a)?)).max(1) * size)
}

fn launch(args: &Args) -> Result<Launches, OpError> {
    let a = args.tensor("a")?;
    let n = length("a", a)?;
    let each = Rows::of(a.view)
        .parts(n.div_ceil(UNIT))
        .weight(unit_ns(n, 4));
    let of_runs = smallvec![
        each.temporary(args, (0, runs(n)), (UNIT / RUN) as i64)?,
        each.operand(args, "a", UNIT as i64 * step(a.view))?,
        each.same(args, "x")?,
    ];
    let join = Rows::of(a.view).weight(runs(n) * 25);
    let of_rows = smallvec![
        join.operand(args, "out", 0)?,
        join.temporary(args, (0, runs(n)), 0)?,
        join.same(args, "x")?,
    ];
    Ok(smallvec![
        each.launch("horner_runs", of_runs, &[n as i64, step(a.view)]),
        join.launch("horner_join", of_rows, &[runs(n) as i64]),
    ])
}

fn reference(args: &Args, contents: &dyn Contents) -> Result<Expected, OpError> {
    let x = one_number(args, contents, "x")?.unwrap_or_default();
    each_row(args, contents, "a", &|field, row| {
        vec![value_at(field, row, &x)]
    })
}
