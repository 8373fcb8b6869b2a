//! `sort` and `argsort`.

use crate::op::Param;
use crate::reduction::along;
use crate::reference::{Number, Slack, walk};
use crate::{Args, Body, OpError, Reference};
use cloakwork_ir::{DType, Type};
use std::cmp::Ordering;

const DESCENDING: Param = Param::flag("descending", "whether the greatest comes first").or(0);

macro_rules! order {
    ($name:ident, $text:literal, $doc:literal, $gives:expr, $element:expr) => {
        #[doc = concat!("`", $text, "`.")]
        pub static $name: $crate::OpDef = $crate::OpDef {
            name: $text,
            family: $crate::Family::Sorting,
            doc: $doc,
            params: &[
                Param::tensor("a", "real numbers or bool"),
                Param::axis("axis", "an axis of `a`"),
                DESCENDING,
                Param::out("the shape of `a`"),
            ],
            forms: &[$crate::Form::own(
                $text,
                &["a", "axis", "descending", "out"],
            )],
            body: Body::kernel(
                |args| infer(args, $gives),
                |args| along::launch($text, args, &[args.int("descending")?]),
                Reference::Values(|args, contents| {
                    let axis = args.axis("axis", args.tensor("a")?.view.rank())?;
                    let descending = args.flag("descending")?;
                    walk::along(args, contents, axis, &|_, x| {
                        let gives: fn(&[Number], usize) -> Number = $element;
                        let order = in_order(x, descending).into_iter();
                        order.map(|at| (gives(x, at), Slack::Bits)).collect()
                    })
                }),
            ),
            operations: |args| args.elements("a"),
            laws: &[],
        };
    };
}

order!(
    SORT,
    "sort",
    "`a` in ascending order along `axis`, or in descending; NaN last. Equal elements keep their \
     order.",
    |dtype| dtype,
    |x, at| x[at].clone()
);
order!(
    ARGSORT,
    "argsort",
    "The indices, i64, that put `a` in order along `axis`: `sort(a) = a[argsort(a)]`. Equal \
     elements keep their order; NaN last.",
    |_| DType::I64,
    |_, at| Number::Int(at as i128)
);

/// The places of a line's elements in order: a stable sort, NaN last.
fn in_order(x: &[Number], descending: bool) -> Vec<usize> {
    let mut places: Vec<usize> = (0..x.len()).collect();
    let before = |a: &Number, b: &Number| match (a.is_nan(), b.is_nan(), descending) {
        (false, true, _) => true,
        (true, _, _) => false,
        (_, _, false) => a.is_less(b),
        (_, _, true) => b.is_less(a),
    };
    places.sort_by(|&a, &b| match () {
        () if before(&x[a], &x[b]) => Ordering::Less,
        () if before(&x[b], &x[a]) => Ordering::Greater,
        () => Ordering::Equal,
    });
    places
}

fn infer(args: &Args, gives: fn(DType) -> DType) -> Result<Type, OpError> {
    let real = |dtype: DType| (dtype.is_number() && !dtype.is_complex()).then_some(dtype);
    let same = along::infer_same(args, real)?;
    Ok(Type::new(gives(same.dtype), same.shape))
}
