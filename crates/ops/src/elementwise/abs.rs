//! `abs`: the absolute value.

use crate::op::{Aliasing, Body, Family, Form, KernelBody, OpDef, Param};
use crate::reference::number::Accuracy;
use crate::reference::{Number, walk, walk::Scalar};
use crate::{Reference, elementwise, rules};

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "abs",
    family: Family::Elementwise,
    doc: "`out = |a|`, element by element; real for complex numbers. The least integer is its \
          own absolute value.",
    params: &[
        Param::tensor("a", "numbers"),
        Param::out("the shape of `a`"),
    ],
    forms: &[Form::heal("abs", &["a", "out"])],
    body: Body::Kernel(KernelBody {
        aliasing: Aliasing::Same,
        elementwise: Some(&crate::Elementwise {
            kernel: "abs",
            operands: 1,
            takes: crate::elementwise::Takes::Numbers,
            gives: crate::elementwise::Gives::Component,
            scalar: Scalar {
                of: |_, x| absolute(&x[0]),
                accuracy: Accuracy::units(2.0, 2.0),
            },
        }),
        ..KernelBody::new(
            elementwise::infer,
            elementwise::launch,
            Reference::Values(|args, contents| {
                let complex = args.tensor("a")?.dtype.is_complex();
                let accuracy = if complex {
                    Accuracy::units(2.0, 2.0)
                } else {
                    Accuracy::EXACT
                };
                walk::map(
                    args,
                    contents,
                    &["a"],
                    Scalar {
                        of: |_, x| absolute(&x[0]),
                        accuracy,
                    },
                )
            }),
        )
    }),
    operations: rules::out_elements,
    laws: &[],
};

/// The magnitude.
fn absolute(a: &Number) -> Number {
    match a {
        Number::Int(a) => Number::Int(a.wrapping_abs()),
        Number::Complex(re, im) => Number::Real(re.hypot(*im)),
        other => Number::Real(other.real().abs()),
    }
}
