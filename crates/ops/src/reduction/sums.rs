//! Sums, products, truths and counts.

use super::{Reduction, reduction, widened};
use cloakwork_ir::DType;

/// Of numbers alone.
const fn number(dtype: DType, gives: DType) -> Option<DType> {
    if dtype.is_number() { Some(gives) } else { None }
}

const SUMS: Reduction = Reduction {
    kernel: "sum",
    combine: "sum",
    has_identity: true,
    gives: widened,
};
const PRODUCTS: Reduction = Reduction {
    kernel: "prod",
    combine: "prod",
    ..SUMS
};
const ANY: Reduction = Reduction {
    kernel: "any",
    combine: "any",
    has_identity: true,
    gives: |dtype| number(dtype, DType::Bool),
};
const ALL: Reduction = Reduction {
    kernel: "all",
    combine: "all",
    ..ANY
};
const COUNTS: Reduction = Reduction {
    kernel: "count_nonzero",
    combine: "sum",
    has_identity: true,
    gives: |dtype| number(dtype, DType::I64),
};

reduction!(
    SUM,
    "sum",
    "The sum along axes: i64 or u64 for integers and bool, which wrap. Floats are added pairwise, \
     in an order that the shapes fix.",
    SUMS
);
reduction!(
    PROD,
    "prod",
    "The product along axes: i64 or u64 for integers and bool, which wrap.",
    PRODUCTS
);
reduction!(
    SOME,
    "any",
    "Whether some element along the axes is not 0.",
    ANY
);
reduction!(EVERY, "all", "Whether no element along the axes is 0.", ALL);
reduction!(
    COUNT_NONZERO,
    "count_nonzero",
    "How many elements along the axes are not 0, as i64.",
    COUNTS
);
