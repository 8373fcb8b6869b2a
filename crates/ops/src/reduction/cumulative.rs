//! Running sums and products.

use super::{A, AXIS, OUT, along};
use crate::Body;
use crate::{Reference, reference::walk};

macro_rules! cumulative {
    ($name:ident, $text:literal, $doc:literal, $fold:expr) => {
        #[doc = concat!("`", $text, "`.")]
        pub static $name: $crate::OpDef = $crate::OpDef {
            name: $text,
            family: $crate::Family::Reduction,
            doc: $doc,
            params: &[A, AXIS, OUT],
            forms: &[$crate::Form::own($text, &["a", "axis", "out"])],
            body: Body::kernel(
                |args| along::infer_same(args, numbers),
                |args| along::launch($text, args, &[1]),
                Reference::Values(|args, contents| {
                    let axis = args.axis("axis", args.tensor("a")?.view.rank())?;
                    walk::along(args, contents, axis, &|dtype, x| {
                        (1..=x.len()).map(|end| $fold(dtype, &x[..end])).collect()
                    })
                }),
            ),
            operations: |args| args.elements("a"),
            laws: &[],
        };
    };
}

cumulative!(
    CUMULATIVE_SUM,
    "cumulative_sum",
    "`out[i] = a[0] + ... + a[i]` along `axis`: i64 or u64 for integers and bool, which wrap.",
    walk::sum
);
cumulative!(
    CUMULATIVE_PROD,
    "cumulative_prod",
    "`out[i] = a[0] * ... * a[i]` along `axis`: i64 or u64 for integers and bool, which wrap.",
    walk::product
);

/// The type of sums of numbers, and of elements of fields.
const fn numbers(dtype: cloakwork_ir::DType) -> Option<cloakwork_ir::DType> {
    if dtype.is_number() || dtype.is_field() {
        super::widened(dtype)
    } else {
        None
    }
}
