//! `interpolate`: the polynomial through points.

use super::{Rows, declare, length, step};
use crate::op::{Param, ParamKind};
use crate::{ContentCheck, ReprRule, rules};
use cloakwork_ir::Type;
use smallvec::smallvec;

declare!(
    DEF,
    "interpolate",
    "The coefficients, the constant first, of the polynomial below degree n with \
     `p(xs[i]) = ys[.., i]`. No x twice. n^2 products, by divided differences.",
    &[
        Param::new("xs", ParamKind::Tensor, "of a field, `[n]`"),
        Param::new("ys", ParamKind::Tensor, "the dtype of `xs`, `[.., n]`"),
        Param::new("out", ParamKind::Out, "`[.., n]`"),
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
            let got = ys.shape().to_string();
            return Err(crate::OpError::new(crate::Code::Shape, "ys", expected, got));
        }
        Ok(Type::new(ys.dtype, ys.shape().clone()))
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
    ReprRule::Interpolates
);
