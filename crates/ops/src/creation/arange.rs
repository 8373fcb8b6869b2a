//! `arange`: equal steps.

use crate::op::{Param, ParamKind};
use crate::reference::number::exact;
use crate::reference::{Broadcast, Number};
use crate::{Body, Family, Form, Launch, OpDef, OpError, Reference, geometry, rules};
use cloakwork_ir::{DType, Type};
use smallvec::smallvec;

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "arange",
    family: Family::Creation,
    doc: "`out[i] = start + i * step`: integers wrap, floats are computed in f64.",
    params: &[
        Param::tensor("start", "one real number"),
        Param::tensor("step", "one of the same dtype"),
        Param::new("count", ParamKind::Int(0, 1 << 48), "how many"),
        Param::out("`[count]`"),
    ],
    forms: &[Form::own("arange", &["start", "step", "count", "out"])],
    body: Body::kernel(
        |args| {
            let (start, step) = (args.tensor("start")?, args.tensor("step")?);
            if start.dtype == DType::Bool || start.dtype.is_complex() || !start.dtype.is_number() {
                return Err(OpError::dtype("start", "integers or floats", start.dtype));
            }
            rules::same_dtype(args, "step", start.dtype)?;
            rules::rank_is("start", start, 0)?;
            rules::rank_is("step", step, 0)?;
            let shape = geometry::shape("count", &[args.int("count")? as u64])?;
            Ok(Type::new(start.dtype, shape))
        },
        |args| {
            let out = args.tensor("out")?;
            Ok(smallvec![Launch {
                kernel: "arange",
                dims: smallvec![out.dims()[0] as i64],
                split: 1,
                operands: smallvec![
                    args.operand("out", &out.view.strides)?,
                    args.operand("start", &[0])?,
                    args.operand("step", &[0])?,
                ],
                params: smallvec![],
            }])
        },
        Reference::Values(|args, contents| {
            let (out, count) = (args.tensor("out")?.dtype, args.int("count")? as i128);
            let start = Broadcast::own(args, contents, "start")?.number(0);
            let step = Broadcast::own(args, contents, "step")?.number(0);
            let at = |i: i128| match (&start, &step) {
                (Number::Int(start), Number::Int(step)) => Number::Int(start + i * step),
                _ => Number::Real(start.real() + i as f64 * step.real()),
            };
            Ok(exact(out, (0..count).map(at)))
        }),
    ),
    operations: rules::out_elements,
    laws: &[],
};
