//! `flatten`: neighbouring axes, merged.

use crate::op::{Body, Family, Form, OpDef, Param, Viewed};
use crate::{Args, OpError};

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "flatten",
    family: Family::Layout,
    doc: "`a` with the axes from `start_axis` to `end_axis`, both included, merged into one.\n\nA \
          view of the same storage if strides can express it, otherwise a copy. (HEAL's runtime \
          refuses non-contiguous operands.)",
    params: &[
        Param::tensor("a", "at least one axis"),
        Param::axis("start_axis", "the first axis of the run"),
        Param::axis("end_axis", "its last, not before the first"),
    ],
    forms: &[Form::heal("flatten", &["a", "start_axis", "end_axis"])],
    body: Body::View(view),
    operations: |_| 0,
    laws: &[],
};

fn view(args: &Args) -> Result<Viewed, OpError> {
    let a = args.tensor("a")?;
    let start = args.axis("start_axis", a.view.rank())? as i64;
    let end = args.axis("end_axis", a.view.rank())? as i64;
    let shape = a.view.flattened_shape(start, end);
    let shape = shape.map_err(|error| super::view_error("end_axis", &error))?;
    super::viewed("a", a.view.flatten(start, end), shape)
}
