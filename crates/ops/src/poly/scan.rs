//! `scan_mul`: running products.

use super::{
    A, RUN, Rows, UNIT, declare, each_row, length, one_number, runs, scalar, step, unit_ns,
};
use crate::op::Param;
use crate::reference::{Contents, Expected};
use crate::{Args, Launches, OpError, ReprRule};
use cloakwork_ir::Type;
use smallvec::smallvec;

declare!(
    DEF,
    "scan_mul",
    "`out[.., i] = start * prod_(j < i) a[.., j]`: exclusive running products, such as the grand \
     product of a permutation argument.",
    &[
        A,
        Param::tensor("start", "the dtype of `a`, no axes"),
        Param::out("`[.., n]`"),
    ],
    &["a", "start", "out"],
    &[],
    infer,
    launch,
    Some(temporary),
    reference,
    ReprRule::Values(&["a"])
);

fn infer(args: &Args) -> Result<Type, OpError> {
    let a = args.tensor("a")?;
    length("a", a)?;
    scalar(args, "start")?;
    Ok(a.ty())
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
    ];
    let of_rows = smallvec![
        rows.temporary(args, carries, 0)?,
        rows.temporary(args, (0, runs(n)), 0)?,
        rows.same(args, "start")?,
    ];
    let of_elements = smallvec![
        each.operand(args, "out", UNIT as i64 * step(out.view))?,
        each.operand(args, "a", UNIT as i64 * step(a.view))?,
        each.temporary(args, carries, part)?,
    ];
    let params = [n as i64, step(a.view), step(out.view)];
    Ok(smallvec![
        each.launch("product_runs", of_runs, &params[..2]),
        rows.launch("scan_carries", of_rows, &[runs(n) as i64]),
        each.launch("scan_runs", of_elements, &params),
    ])
}

fn reference(args: &Args, contents: &dyn Contents) -> Result<Expected, OpError> {
    let start = one_number(args, contents, "start")?.unwrap_or_default();
    each_row(args, contents, "a", &|field, row| {
        let mut product = start.clone();
        let before = |a| {
            let next = field.multiply(&product, a);
            std::mem::replace(&mut product, next)
        };
        row.iter().map(before).collect()
    })
}
