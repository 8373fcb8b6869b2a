//! The least and the greatest, and where they are.

use super::{A, AXIS, KEEPDIMS, OUT, Reduction, along, ordered, reduction};
use crate::reference::{Number, Slack, walk};
use crate::{Body, Reference};
use cloakwork_ir::DType;

const LEAST: Reduction = Reduction::new("min", false, ordered);
const GREATEST: Reduction = Reduction::new("max", false, ordered);

reduction!(
    MIN,
    "min",
    "The least element along the axes; NaN if there is one.",
    LEAST,
    |_, x| extreme(x, |a, b| a.is_less(b))
);
reduction!(
    MAX,
    "max",
    "The greatest element along the axes; NaN if there is one.",
    GREATEST,
    |_, x| extreme(x, |a, b| b.is_less(a))
);

macro_rules! place {
    ($name:ident, $text:literal, $doc:literal, $before:expr) => {
        #[doc = concat!("`", $text, "`.")]
        pub static $name: $crate::OpDef = $crate::OpDef {
            name: $text,
            family: $crate::Family::Reduction,
            doc: $doc,
            params: &[A, AXIS, KEEPDIMS, OUT],
            forms: &[$crate::Form::own($text, &["a", "axis", "keepdims", "out"])],
            body: Body::kernel(
                |args| along::infer_place(args),
                |args| along::launch($text, args, &[1]),
                Reference::Values(|args, contents| {
                    let axis = args.axis("axis", args.tensor("a")?.view.rank())?;
                    let place = |x: &[Number]| Number::Int(best(x, $before) as i128);
                    walk::along(args, contents, axis, &|_, x| vec![(place(x), Slack::Bits)])
                }),
            ),
            operations: |args| args.elements("a"),
            laws: &[],
        };
    };
}

place!(
    ARGMIN,
    "argmin",
    "The index along `axis` of the least element, the first of equal ones, or of the first NaN; \
     i64.",
    |a, b| a.is_less(b)
);
place!(
    ARGMAX,
    "argmax",
    "The index along `axis` of the greatest element, the first of equal ones, or of the first \
     NaN; i64.",
    |a, b| b.is_less(a)
);

/// The type of an index.
pub(super) const INDEX: DType = DType::I64;

/// The place of the first NaN, or else of the first element that none comes before.
fn best(x: &[Number], before: fn(&Number, &Number) -> bool) -> usize {
    let first_nan = x.iter().position(Number::is_nan);
    first_nan.unwrap_or_else(|| {
        (0..x.len()).fold(
            0,
            |best, at| if before(&x[at], &x[best]) { at } else { best },
        )
    })
}

/// Which of two zeros is open.
fn extreme(x: &[Number], before: fn(&Number, &Number) -> bool) -> (Number, Slack) {
    (x[best(x, before)].clone(), Slack::Within(0.0))
}
