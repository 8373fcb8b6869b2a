//! `interpolate`: the polynomial through points.

use super::{Rows, declare, each_row, length, numbers, step};
use crate::op::Param;
use crate::reference::field::{Element, Field};
use crate::reference::{Expected, MOST_OPERATIONS};
use crate::{ContentCheck, ReprRule, rules};
use smallvec::smallvec;

declare!(
    DEF,
    "interpolate",
    "The coefficients, the constant first, of the polynomial below degree n with \
     `p(xs[i]) = ys[.., i]`. The x are distinct. n^2 products, by divided differences.",
    &[
        Param::tensor("xs", "of a field, `[n]`"),
        Param::tensor("ys", "the dtype of `xs`, `[.., n]`"),
        Param::out("`[.., n]`"),
    ],
    &["xs", "ys", "out"],
    &[ContentCheck::Distinct("xs")],
    |args| {
        let (xs, ys) = (args.tensor("xs")?, args.tensor("ys")?);
        let n = length("xs", xs)?;
        rules::rank_is("xs", xs, 1)?;
        rules::same_dtype(args, "ys", xs.dtype)?;
        if length("ys", ys)? != n {
            let expected = format!("a last axis of {n}, as many as there are xs");
            return Err(crate::OpError::shape("ys", expected, ys.shape()));
        }
        Ok(ys.ty())
    },
    |args| {
        let (xs, ys, out) = (args.tensor("xs")?, args.tensor("ys")?, args.tensor("out")?);
        let n = length("xs", xs)?;
        let rows = Rows::of(ys.view).weight(n.saturating_mul(n).saturating_mul(60));
        let operands = smallvec![
            rows.operand(args, "out", 0)?,
            rows.same(args, "xs")?,
            rows.operand(args, "ys", 0)?,
        ];
        let params = [n as i64, step(out.view), step(xs.view), step(ys.view)];
        Ok(smallvec![rows.launch("interpolate", operands, &params)])
    },
    None,
    |args, contents| {
        let xs = numbers(args, contents, "xs")?;
        if (xs.len() as u64).saturating_pow(3) > MOST_OPERATIONS / 8 {
            return Ok(Expected::TooLarge);
        }
        each_row(args, contents, "ys", &|field, ys| through(field, &xs, ys))
    },
    ReprRule::Interpolates
);

/// Lagrange's sum: `sum_i ys[i] prod_(j != i) (X - xs[j]) / (xs[i] - xs[j])`.
fn through(field: &Field, xs: &[Element], ys: &[Element]) -> Vec<Element> {
    let mut sum = vec![field.zero(); xs.len()];
    for (i, y) in ys.iter().enumerate() {
        let (mut basis, mut scale) = (vec![field.one()], field.one());
        for x in xs
            .iter()
            .enumerate()
            .filter(|&(j, _)| j != i)
            .map(|(_, x)| x)
        {
            scale = field.multiply(&scale, &field.subtract(&xs[i], x));
            let mut product = vec![field.zero(); basis.len() + 1];
            for (k, coefficient) in basis.iter().enumerate() {
                product[k + 1] = field.add(&product[k + 1], coefficient);
                product[k] = field.subtract(&product[k], &field.multiply(coefficient, x));
            }
            basis = product;
        }
        let factor = field.multiply(y, &field.inverse(&scale));
        for (total, coefficient) in sum.iter_mut().zip(&basis) {
            *total = field.add(total, &field.multiply(coefficient, &factor));
        }
    }
    sum
}
