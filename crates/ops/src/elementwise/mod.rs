//! Ops that compute each element of the result from one element of each operand.
//!
//! Such an op is data: its kernel, the types it takes and the type it gives. Verifier, planner and
//! eager path read the same three fields, so that the planner can fuse such ops.

pub mod abs;
pub mod arithmetic;
pub mod assert_true;
pub mod bitwise;
pub mod comparison;
pub mod convert;
pub mod functions;
pub mod rounding;

use crate::op::{Param, ParamKind};
use crate::reference::walk::Scalar;
use crate::{Args, Code, Launch, Launches, OpError, rules};
use cloakwork_ir::{ALL_DTYPES, DType, Shape, Type};
use smallvec::smallvec;

/// The rules of an element-wise op.
#[derive(Debug)]
pub struct Elementwise {
    /// The kernel.
    pub kernel: &'static str,
    /// How many operands it has; all of one type, but for a condition.
    pub operands: usize,
    /// The types it takes.
    pub takes: Takes,
    /// The type it gives.
    pub gives: Gives,
    /// Its function of one element of each operand.
    pub scalar: Scalar,
}

/// Types of the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Every type.
    Any,
    /// Integers, floats and complex numbers.
    Numbers,
    /// Types with sums: integers, floats, complex numbers, elements of fields, points.
    Sums,
    /// Types with sums and products: integers, floats, complex numbers, elements of fields.
    Rings,
    /// Types with quotients: floats, complex numbers, elements of fields.
    Divisible,
    /// Types with an order: integers, floats, bool, and elements of prime fields, by canonical
    /// numbers.
    Comparable,
    /// Integers and floats.
    RealNumbers,
    /// Integers, floats and bool.
    Ordered,
    /// Floats and complex numbers.
    Floats,
    /// Floats.
    RealFloats,
    /// Complex numbers.
    Complex,
    /// Integers.
    Integers,
    /// Integers and bool.
    Bits,
    /// Bool.
    Bool,
}

/// The type of the result, for operands of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// The same.
    Same,
    /// Bool.
    Bool,
    /// The real type of a complex one, else the same.
    Component,
}

impl Takes {
    /// Whether operands may have this type.
    #[must_use]
    pub const fn allows(self, dtype: DType) -> bool {
        match self {
            Self::Any => true,
            Self::Numbers => dtype.is_number() && !matches!(dtype, DType::Bool),
            Self::Sums => Self::Rings.allows(dtype) || dtype.is_point(),
            Self::Rings => Self::Numbers.allows(dtype) || dtype.is_field(),
            Self::Divisible => Self::Floats.allows(dtype) || dtype.is_field(),
            Self::Comparable => Self::Ordered.allows(dtype) || dtype.is_prime_field(),
            Self::RealNumbers => dtype.is_integer() || dtype.is_real_float(),
            Self::Ordered => dtype.is_number() && !dtype.is_complex(),
            Self::Floats => dtype.is_real_float() || dtype.is_complex(),
            Self::RealFloats => dtype.is_real_float(),
            Self::Complex => dtype.is_complex(),
            Self::Integers => dtype.is_integer(),
            Self::Bits => dtype.is_integer() || matches!(dtype, DType::Bool),
            Self::Bool => matches!(dtype, DType::Bool),
        }
    }

    /// The type in which operands of this type are computed: integers become floats where only
    /// those are taken.
    #[inline]
    #[must_use]
    pub const fn computes_in(self, dtype: DType) -> DType {
        let floats = matches!(self, Self::Floats | Self::RealFloats | Self::Divisible);
        if floats && (dtype.is_integer() || matches!(dtype, DType::Bool)) {
            return DType::F64;
        }
        dtype
    }

    /// The types in words.
    #[must_use]
    pub fn text(self) -> String {
        let allowed = ALL_DTYPES.into_iter().filter(|&dtype| self.allows(dtype));
        rules::names(&allowed.collect::<Vec<_>>()).join(", ")
    }
}

impl Gives {
    /// The result's type.
    #[must_use]
    pub const fn of(self, dtype: DType) -> DType {
        match self {
            Self::Same => dtype,
            Self::Bool => DType::Bool,
            Self::Component => dtype.component(),
        }
    }
}

/// A result of this many bytes or more is written past the caches: it would only drive out what
/// they hold. Measured in docs/performance.md.
pub const STREAM_BYTES: u64 = 16 << 20;

/// The rule of an op that is declared as data.
pub(crate) fn rule(args: &Args) -> Result<&'static Elementwise, OpError> {
    match &args.def.body {
        crate::Body::Kernel(crate::KernelBody {
            elementwise: Some(rule),
            ..
        }) => Ok(rule),
        _ => Err(OpError::new(
            Code::ArgumentType,
            "",
            "an element-wise op",
            args.def.name,
        )),
    }
}

/// The names of the operands, the one that tells the type first.
pub(crate) fn operands(args: &Args) -> impl Iterator<Item = &'static str> {
    let params = args.def.params.iter();
    params
        .filter(|param| param.kind == ParamKind::Tensor)
        .map(|param| param.name)
}

/// The common shape of the operands, and the type that the rule gives.
pub fn infer(args: &Args) -> Result<Type, OpError> {
    let rule = rule(args)?;
    let mut ty: Option<(DType, Shape)> = None;
    for name in operands(args) {
        let operand = args.tensor(name)?;
        if name == CONDITION.name {
            if operand.dtype != DType::Bool {
                return Err(OpError::dtype(name, "bool", operand.dtype));
            }
        } else if !rule.takes.allows(operand.dtype) {
            let expected = format!("one of {}", rule.takes.text());
            return Err(OpError::dtype(name, expected, operand.dtype));
        }
        ty = Some(match ty {
            None => (operand.dtype, operand.shape().clone()),
            Some((dtype, shape)) => {
                if name != CONDITION.name && operand.dtype != dtype {
                    return Err(OpError::dtype(name, dtype.name(), operand.dtype)
                        .hint("all operands of this op have the same dtype"));
                }
                (dtype, rules::broadcast_with(args, name, &shape)?)
            }
        });
    }
    let (dtype, shape) =
        ty.ok_or_else(|| OpError::new(Code::ArgumentCount, "", "an operand", "none"))?;
    Ok(Type::new(rule.gives.of(dtype), shape))
}

/// One launch: out, then the operands in order.
pub fn launch(args: &Args) -> Result<Launches, OpError> {
    launch_of(rule(args)?.kernel, args)
}

/// The same for a kernel that the rule does not name.
pub fn launch_of(kernel: &'static str, args: &Args) -> Result<Launches, OpError> {
    let out = args.tensor("out")?;
    let mut launch = args.elementwise(kernel, operands(args))?;
    let bytes = out.shape().elements() * out.dtype.size_bytes() as u64;
    launch.params.push(i64::from(streams(&launch, bytes)));
    Ok(smallvec![launch])
}

/// Whether a result is written past the caches: it is large, and its elements follow one another.
#[must_use]
pub fn streams(launch: &Launch, bytes: u64) -> bool {
    let dense =
        launch.dims.len() == 1 && launch.operands.first().is_some_and(|o| o.strides[0] == 1);
    dense && bytes >= STREAM_BYTES
}

/// The operand of an op of one.
pub const A: Param = Param::tensor("a", "any shape");
/// The first operand of an op of two.
pub const B: Param = Param::tensor("b", "the dtype of `a`, a shape that broadcasts with it");
/// The condition of `where`, after the operands that tell the type.
pub const CONDITION: Param = Param::tensor("condition", "bool, a shape that broadcasts");
/// The result.
pub const OUT: Param = Param::out("a shape that the operands broadcast to");

/// Declares an op of one operand.
macro_rules! unary {
    ($name:ident, $text:literal, $takes:ident, $gives:ident, $doc:literal, $accuracy:expr,
     $scalar:expr $(, $law:expr)*) => {
        $crate::elementwise::declare!(
            $name, $text, $takes, $gives, $doc, 1, ["a", "out"], [A, OUT], [$($law),*],
            $accuracy, $scalar
        );
    };
}

/// Declares an op of two operands.
macro_rules! binary {
    ($name:ident, $text:literal, $takes:ident, $gives:ident, $doc:literal, $accuracy:expr,
     $scalar:expr $(, $law:expr)*) => {
        $crate::elementwise::declare!(
            $name, $text, $takes, $gives, $doc, 2, ["a", "b", "out"], [A, B, OUT], [$($law),*],
            $accuracy, $scalar
        );
    };
}

macro_rules! declare {
    ($name:ident, $text:literal, $takes:ident, $gives:ident, $doc:literal, $count:literal,
     [$($arg:literal),*], [$($param:ident),*], [$($law:expr),*], $accuracy:expr, $scalar:expr) => {
        #[doc = concat!("`", $text, "`.")]
        pub static $name: $crate::OpDef = $crate::OpDef {
            name: $text,
            family: $crate::Family::Elementwise,
            doc: $doc,
            params: &[$($crate::elementwise::$param),*],
            forms: &[$crate::Form::own($text, &[$($arg),*])],
            body: $crate::Body::Kernel($crate::KernelBody {
out: $crate::OutRule::Broadcast,
aliasing: $crate::Aliasing::Same,
elementwise: Some(&$crate::Elementwise {
                    kernel: $text,
                    operands: $count,
                    takes: $crate::elementwise::Takes::$takes,
                    gives: $crate::elementwise::Gives::$gives,
                    scalar: $crate::reference::walk::Scalar {
                        of: $scalar,
                        accuracy: $accuracy,
                    },
                }),
..$crate::KernelBody::new(
$crate::elementwise::infer,
$crate::elementwise::launch,
$crate::Reference::Values($crate::reference::walk::elementwise),
)
}),
            operations: $crate::rules::out_elements,
            laws: &[$($law),*],
        };
    };
}
pub(crate) use {binary, declare, unary};
