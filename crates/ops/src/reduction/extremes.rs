//! The least and the greatest, and where they are.

use super::{A, AXIS, KEEPDIMS, OUT, Reduction, along, ordered, reduction};
use cloakwork_ir::DType;

const LEAST: Reduction = Reduction {
    kernel: "min",
    combine: "min",
    has_identity: false,
    gives: ordered,
};
const GREATEST: Reduction = Reduction {
    kernel: "max",
    combine: "max",
    ..LEAST
};

reduction!(
    MIN,
    "min",
    "The least element along the axes; NaN where one is.",
    LEAST
);
reduction!(
    MAX,
    "max",
    "The greatest element along the axes; NaN where one is.",
    GREATEST
);

macro_rules! place {
    ($name:ident, $text:literal, $doc:literal) => {
        #[doc = concat!("`", $text, "`.")]
        pub static $name: $crate::OpDef = $crate::OpDef {
            name: $text,
            family: $crate::Family::Reduction,
            doc: $doc,
            params: &[A, AXIS, KEEPDIMS, OUT],
            forms: &[$crate::Form::own($text, &["a", "axis", "keepdims", "out"])],
            body: along::body!(|args| along::infer_place(args), |args| along::launch(
                $text,
                args,
                &[1]
            )),
            operations: along::operations,
            laws: &[],
        };
    };
}

place!(
    ARGMIN,
    "argmin",
    "The index along `axis` of the least element, the first of equals; of the first NaN where one \
     is. i64."
);
place!(
    ARGMAX,
    "argmax",
    "The index along `axis` of the greatest element, the first of equals; of the first NaN where \
     one is. i64."
);

/// The type of an index.
pub(super) const INDEX: DType = DType::I64;
