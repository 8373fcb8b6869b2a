//! `batch_invert`: inverses that share one inversion.

use super::{A, declare, each_row, length};
use crate::op::Param;
use crate::{ContentCheck, ReprRule, elementwise};

declare!(
    DEF,
    "batch_invert",
    "`out = 1 / a`, 0 for 0, or with `strict` an error that names the zero. Elements share \
     inversions (Montgomery's trick): about four products each.",
    &[
        A,
        Param::flag("strict", "zeros are errors").or(0),
        Param::out("the shape of `a`"),
    ],
    &["a", "strict", "out"],
    &[ContentCheck::NoZeroElement {
        operand: "a",
        flag: Some("strict"),
    }],
    |args| {
        let a = args.tensor("a")?;
        length("a", a)?;
        Ok(a.ty())
    },
    |args| elementwise::launch_of("reciprocal", args),
    None,
    |args, contents| each_row(args, contents, "a", &|field, row| {
        row.iter().map(|a| field.inverse(a)).collect()
    }),
    ReprRule::Values(&["a"])
);
