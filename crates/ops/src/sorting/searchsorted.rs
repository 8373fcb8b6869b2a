//! `searchsorted`: where elements belong in a sorted list.

use crate::op::Param;
use crate::reference::number::expected;
use crate::reference::{Broadcast, Contents, Expected, Number, Slack};
use crate::{Args, Body, Family, Form, OpDef, OpError, Reference, rules};
use cloakwork_ir::{DType, Type};
use smallvec::smallvec;

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "searchsorted",
    family: Family::Sorting,
    doc: "The index, i64, before which each of `values` keeps `sorted` in order: left of equal \
          elements, or right of them.",
    params: &[
        Param::tensor("values", "real numbers, any shape"),
        Param::tensor("sorted", "the same dtype, one axis, ascending"),
        Param::flag("right", "whether right of equal elements").or(0),
        Param::out("i64, the shape of `values`"),
    ],
    forms: &[Form::own(
        "searchsorted",
        &["values", "sorted", "right", "out"],
    )],
    body: Body::kernel(
        |args| {
            let (values, sorted) = (args.tensor("values")?, args.tensor("sorted")?);
            if values.dtype.is_complex() || values.dtype == DType::Bool || !values.dtype.is_number()
            {
                return Err(OpError::dtype("values", "real numbers", values.dtype));
            }
            rules::same_dtype(args, "sorted", values.dtype)?;
            rules::rank_is("sorted", sorted, 1)?;
            Ok(Type::new(DType::I64, values.shape().clone()))
        },
        |args| {
            let sorted = args.tensor("sorted")?;
            let mut launch = args.elementwise("searchsorted", ["values"])?;
            launch
                .operands
                .push(args.operand("sorted", &vec![0; launch.dims.len()])?);
            launch.params = smallvec![
                sorted.dims()[0] as i64,
                sorted.view.strides[0],
                args.int("right")?,
            ];
            Ok(smallvec![launch])
        },
        Reference::Values(reference),
    ),
    operations: |args| {
        let steps = args.elements("sorted");
        rules::out_elements(args) * u64::from(u64::BITS - steps.leading_zeros())
    },
    laws: &[],
};

/// How many of the line come before the value; open where the line does not ascend.
fn reference(args: &Args, contents: &dyn Contents) -> Result<Expected, OpError> {
    let right = args.flag("right")?;
    let line = Broadcast::own(args, contents, "sorted")?.numbers();
    let values = Broadcast::own(args, contents, "values")?.numbers();
    let less = |a: &Number, b: &Number| a.is_less(b) || (!a.is_nan() && b.is_nan());
    if line.windows(2).any(|pair| less(&pair[1], &pair[0])) {
        let open = values.iter().map(|_| (Number::Open, Slack::Open));
        return Ok(expected(DType::I64, open));
    }
    let before = |x: &Number, value: &Number| match right {
        true => !less(value, x),
        false => less(x, value),
    };
    let places = values.iter().map(|value| {
        let count = line.iter().filter(|x| before(x, value)).count();
        (Number::Int(count as i128), Slack::Bits)
    });
    Ok(expected(DType::I64, places))
}
