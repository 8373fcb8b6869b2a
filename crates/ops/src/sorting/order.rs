//! `sort` and `argsort`.

use crate::op::{Param, ParamKind};
use crate::reduction::along;
use crate::{Args, OpError};
use cloakwork_ir::{DType, Type};

const DESCENDING: Param = Param::new(
    "descending",
    ParamKind::Bool,
    "whether the greatest comes first",
)
.or(0);

macro_rules! order {
    ($name:ident, $text:literal, $doc:literal, $gives:expr) => {
        #[doc = concat!("`", $text, "`.")]
        pub static $name: $crate::OpDef = $crate::OpDef {
            name: $text,
            family: $crate::Family::Sorting,
            doc: $doc,
            params: &[
                Param::new("a", ParamKind::Tensor, "real numbers or bool"),
                Param::new("axis", ParamKind::AXIS, "an axis of `a`"),
                DESCENDING,
                Param::new("out", ParamKind::Out, "the shape of `a`"),
            ],
            forms: &[$crate::Form::own(
                $text,
                &["a", "axis", "descending", "out"],
            )],
            body: along::body!(|args| infer(args, $gives), |args| along::launch(
                $text,
                args,
                &[args.int("descending")?]
            )),
            operations: along::operations,
            laws: &[],
        };
    };
}

order!(
    SORT,
    "sort",
    "`a` in ascending order along `axis`, or in descending; NaN last. Equal elements keep their \
     order.",
    |dtype| dtype
);
order!(
    ARGSORT,
    "argsort",
    "The indices, i64, that put `a` in order along `axis`: `sort(a) = a[argsort(a)]`. Equal \
     elements keep their order; NaN last.",
    |_| DType::I64
);

fn infer(args: &Args, gives: fn(DType) -> DType) -> Result<Type, OpError> {
    let real = |dtype: DType| (dtype.is_number() && !dtype.is_complex()).then_some(dtype);
    let same = along::infer_same(args, real)?;
    Ok(Type::new(gives(same.dtype), same.shape))
}
