//! Ops that combine the elements along axes: one kernel each, and for large ones a fixed division
//! into chunks, whose results the same kernel combines. The division depends on shapes alone, so
//! that a result never depends on the number of threads.

pub(crate) mod along;
mod axes;
pub mod cumulative;
pub mod extremes;
pub mod sums;

use crate::op::{Param, ParamKind};
use crate::{Args, OpError};
use cloakwork_ir::{DType, Type};

/// The operand.
const A: Param = Param::tensor("a", "any shape");
/// Axes to reduce.
const AXES: Param = Param::new("axes", ParamKind::Shape, "distinct axes of `a`");
/// Whether reduced axes stay, with size 1.
const KEEPDIMS: Param = Param::flag("keepdims", "whether the axes stay, with size 1").or(0);
/// One axis.
const AXIS: Param = Param::axis("axis", "an axis of `a`");
/// The result.
const OUT: Param = Param::out("`a` without the axes");

/// The rules of a reduction.
struct Reduction {
    /// The kernel of the operand's type.
    kernel: &'static str,
    /// The kernel that combines the results of chunks.
    combine: &'static str,
    /// Whether an empty reduction has a value.
    has_identity: bool,
    /// The type of the result; `None` for a type that it does not take.
    gives: fn(DType) -> Option<DType>,
}

impl Reduction {
    /// A reduction whose kernel combines the results of chunks, too.
    const fn new(
        kernel: &'static str,
        has_identity: bool,
        gives: fn(DType) -> Option<DType>,
    ) -> Self {
        Self {
            kernel,
            combine: kernel,
            has_identity,
            gives,
        }
    }
}

/// Sums and products of integers are as wide as integers are.
const fn widened(dtype: DType) -> Option<DType> {
    if dtype.is_point() {
        return None;
    }
    Some(match dtype {
        DType::Bool | DType::I8 | DType::I16 | DType::I32 | DType::I64 => DType::I64,
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => DType::U64,
        float => float,
    })
}

const fn ordered(dtype: DType) -> Option<DType> {
    if dtype.is_complex() || matches!(dtype, DType::Bool) || !dtype.is_number() {
        None
    } else {
        Some(dtype)
    }
}

/// The type of the result of an op that gives this type of element.
fn typed(args: &Args, gives: fn(DType) -> Option<DType>) -> Result<DType, OpError> {
    let a = args.tensor("a")?;
    gives(a.dtype).ok_or_else(|| {
        let expected = if a.dtype.is_number() {
            "integers or floats"
        } else {
            "a type of element that this op combines"
        };
        OpError::dtype("a", expected, a.dtype)
    })
}

fn infer(args: &Args, reduction: &Reduction) -> Result<Type, OpError> {
    let dtype = typed(args, reduction.gives)?;
    let axes = axes::Axes::of(args)?;
    if !reduction.has_identity && axes.reduced_elements() == 0 && axes.kept_elements() > 0 {
        let expected = "at least one element: this op has no identity";
        return Err(OpError::shape("a", expected, args.tensor("a")?.shape()));
    }
    Ok(Type::new(dtype, axes.result(args.flag("keepdims")?)?))
}

/// Declares a reduction over axes.
macro_rules! reduction {
    ($name:ident, $text:literal, $doc:literal, $rule:expr, $fold:expr) => {
        #[doc = concat!("`", $text, "`.")]
        pub static $name: $crate::OpDef = $crate::OpDef {
            name: $text,
            family: $crate::Family::Reduction,
            doc: $doc,
            params: &[super::A, super::AXES, super::KEEPDIMS, super::OUT],
            forms: &[$crate::Form::own($text, &["a", "axes", "keepdims", "out"])],
            body: $crate::Body::Kernel($crate::KernelBody {
                temporary: Some(super::axes::temporary_bytes),
                ..$crate::KernelBody::new(
                    |args| super::infer(args, &$rule),
                    |args| super::axes::launch(args, &$rule),
                    $crate::Reference::Values(|args, contents| {
                        super::axes::reference(args, contents, $fold)
                    }),
                )
            }),
            operations: |args| args.elements("a"),
            laws: &[],
        };
    };
}
use reduction;
