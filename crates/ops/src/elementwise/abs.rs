//! `abs`: the absolute value.

use crate::op::{
    Access, Aliasing, Body, Family, Form, KernelBody, OpDef, OutRule, Param, ParamKind,
};
use crate::reference::number::Accuracy;
use crate::reference::{Number, walk, walk::Scalar};
use crate::{elementwise, rules};

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "abs",
    family: Family::Elementwise,
    doc: "`out = |a|`, element by element; real for complex numbers. The least integer is its \
          own absolute value.",
    params: &[
        Param::new("a", ParamKind::Tensor, "numbers"),
        Param::new("out", ParamKind::Out, "the shape of `a`"),
    ],
    forms: &[Form::heal("abs", &["a", "out"])],
    body: Body::Kernel(KernelBody {
        infer: elementwise::infer,
        checks: &[],
        out: OutRule::Exact,
        dtypes: &[],
        aliasing: Aliasing::Same,
        access: Access::Write,
        launch: elementwise::launch,
        reference: crate::Reference::Values(|args, contents| {
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
        temporary: None,
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
        expand: None,
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
