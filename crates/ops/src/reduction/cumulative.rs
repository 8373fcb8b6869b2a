//! Running sums and products.

use super::{A, AXIS, OUT, along};

macro_rules! cumulative {
    ($name:ident, $text:literal, $doc:literal) => {
        #[doc = concat!("`", $text, "`.")]
        pub static $name: $crate::OpDef = $crate::OpDef {
            name: $text,
            family: $crate::Family::Reduction,
            doc: $doc,
            params: &[A, AXIS, OUT],
            forms: &[$crate::Form::own($text, &["a", "axis", "out"])],
            body: along::body!(|args| along::infer_same(args, numbers), |args| {
                along::launch($text, args, &[1])
            }),
            operations: along::operations,
            laws: &[],
        };
    };
}

cumulative!(
    CUMULATIVE_SUM,
    "cumulative_sum",
    "`out[i] = a[0] + ... + a[i]` along `axis`: i64 or u64 for integers and bool, which wrap."
);
cumulative!(
    CUMULATIVE_PROD,
    "cumulative_prod",
    "`out[i] = a[0] * ... * a[i]` along `axis`: i64 or u64 for integers and bool, which wrap."
);

/// The type of sums of numbers, and of elements of fields.
const fn numbers(dtype: cloakwork_ir::DType) -> Option<cloakwork_ir::DType> {
    if dtype.is_number() || dtype.is_field() {
        super::widened(dtype)
    } else {
        None
    }
}
