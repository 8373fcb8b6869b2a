//! `field_pow`: powers with integer exponents.

use crate::op::{Aliasing, Body, Family, Form, KernelBody, OpDef, Param};
use crate::reference::field::Field;
use crate::reference::number::Accuracy;
use crate::reference::{Number, walk};
use crate::{Law, Reference, ReprRule, elementwise, rules};
use cloakwork_ir::{DType, FIELD_DTYPES, Type};

/// A power, of the inverse where the exponent is negative.
const POWER: walk::Scalar = walk::Scalar {
    of: |dtype, x| {
        let (field, exponent) = (Field::of(dtype), x[1].int());
        let base = match exponent {
            0.. => x[0].element(),
            _ => field.inverse(&x[0].element()),
        };
        Number::Element(field.power(&base, &exponent.unsigned_abs().into()))
    },
    accuracy: Accuracy::EXACT,
};

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "field_pow",
    family: Family::Field,
    doc: "`out = a ** exponent` in a field: 1 for the exponent 0; for a negative one the power of \
          the inverse, which is 0 for 0.",
    params: &[
        Param::tensor("a", "of a field, any shape"),
        Param::tensor("exponent", "i64, a shape that broadcasts with that of `a`"),
        Param::out("the shape of both"),
    ],
    forms: &[Form::own("field_pow", &["a", "exponent", "out"])],
    body: Body::Kernel(KernelBody {
        aliasing: Aliasing::Only("a"),
        ..KernelBody::new(
            |args| {
                let (a, exponent) = (args.tensor("a")?, args.tensor("exponent")?);
                rules::dtype_in("a", a, &FIELD_DTYPES)?;
                rules::dtype_in("exponent", exponent, &[DType::I64])?;
                Ok(Type::new(
                    a.dtype,
                    rules::broadcast_with(args, "exponent", a.shape())?,
                ))
            },
            |args| elementwise::launch_of("field_pow", args),
            Reference::Values(|args, contents| {
                walk::map(args, contents, &["a", "exponent"], POWER)
            }),
        )
    }),
    operations: rules::out_elements,
    laws: &[Law::Reprs(ReprRule::Values(&["a"]))],
};
