//! Choosing between operands, and changing their type.

use super::{A, OUT, dtype_or, launch_of};
use crate::op::{Param, ParamKind};
use crate::{Access, Aliasing, Body, Code, Family, Form, KernelBody, OpDef, OpError, OutRule};
use cloakwork_ir::{DType, Type};

super::declare!(
    WHERE,
    "where",
    Any,
    Same,
    "`out = a if condition else b`, element by element.",
    3,
    ["a", "b", "condition", "out"],
    [A, B, CONDITION, OUT],
    []
);

/// `astype`.
pub static ASTYPE: OpDef = OpDef {
    name: "astype",
    family: Family::Elementwise,
    doc: "The elements of `a` as another type: floats to integers without their fraction, complex \
          numbers to their real part, everything to bool by whether it is 0. Integers that do not \
          fit wrap; a float that no integer of the type is near gives an unspecified one. Integers \
          become elements of a field mod p, negative ones too; what a field's elements become is \
          said by `to_canonical`.",
    params: &[
        A,
        Param::new("dtype", ParamKind::DType, "the type of the result"),
        OUT,
    ],
    forms: &[Form::own("astype", &["a", "dtype", "out"])],
    body: Body::Kernel(KernelBody {
        infer: |args| {
            let a = args.tensor("a")?;
            let dtype = dtype_or(args, "dtype", a.dtype)?;
            convertible(a.dtype, dtype)?;
            Ok(Type::new(dtype, a.shape().clone()))
        },
        checks: &[],
        out: OutRule::Broadcast,
        dtypes: &[],
        aliasing: Aliasing::Never,
        access: Access::Write,
        launch: |args| {
            let same = args.tensor("a")?.dtype == args.tensor("out")?.dtype;
            launch_of(if same { "copy" } else { "cast" }, args)
        },
        reference: None,
        temporary: None,
        elementwise: None,
        expand: None,
    }),
    operations: crate::rules::out_elements,
    laws: &[],
};

/// Numbers have every type of number; integers are elements of every field.
fn convertible(from: DType, to: DType) -> Result<(), OpError> {
    let integer = from.is_integer() || from == DType::Bool;
    if from == to || (from.is_number() && to.is_number()) || (integer && to.is_field()) {
        return Ok(());
    }
    let expected = if to.is_field() {
        "integers, which are elements of a field"
    } else {
        "a type that these elements have"
    };
    let got = format!("{from} as {to}");
    Err(OpError::new(Code::Dtype, "dtype", expected, got)
        .hint("from_canonical and to_canonical go between fields and words"))
}
