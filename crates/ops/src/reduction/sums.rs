//! Sums, products, truths and counts.

use super::{Reduction, reduction, widened};
use crate::reference::{Number, Slack, walk};
use cloakwork_ir::DType;

/// Of numbers alone.
const fn number(dtype: DType, gives: DType) -> Option<DType> {
    if dtype.is_number() { Some(gives) } else { None }
}

const SUMS: Reduction = Reduction::new("sum", true, widened);
const PRODUCTS: Reduction = Reduction::new("prod", true, widened);
const ANY: Reduction = Reduction::new("any", true, |dtype| number(dtype, DType::Bool));
const ALL: Reduction = Reduction::new("all", true, |dtype| number(dtype, DType::Bool));
const COUNTS: Reduction = Reduction {
    combine: "sum",
    ..Reduction::new("count_nonzero", true, |dtype| number(dtype, DType::I64))
};

reduction!(
    SUM,
    "sum",
    "The sum along axes: i64 or u64 for integers and bool, which wrap. Float sums are pairwise, \
     in an order that depends only on shapes and strides.",
    SUMS,
    walk::sum
);
reduction!(
    PROD,
    "prod",
    "The product along axes: i64 or u64 for integers and bool, which wrap.",
    PRODUCTS,
    walk::product
);
reduction!(
    SOME,
    "any",
    "Whether some element along the axes is not 0.",
    ANY,
    |_, x| truth(x.iter().any(Number::is_true))
);
reduction!(
    EVERY,
    "all",
    "Whether no element along the axes is 0.",
    ALL,
    |_, x| truth(x.iter().all(Number::is_true))
);
reduction!(
    COUNT_NONZERO,
    "count_nonzero",
    "How many elements along the axes are not 0, as i64.",
    COUNTS,
    |_, x| {
        let count = x.iter().filter(|x| x.is_true()).count();
        (Number::Int(count as i128), Slack::Bits)
    }
);

fn truth(value: bool) -> (Number, Slack) {
    (Number::truth(value), Slack::Bits)
}
