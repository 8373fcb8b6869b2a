//! `reshape`: another shape over the same elements.

use crate::op::{Body, Family, Form, OpDef, Param, ParamKind, Viewed};
use crate::{Args, OpError};

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "reshape",
    family: Family::Layout,
    doc: "The elements of `a`, in row-major order, under another shape.\n\nA view of the same \
          storage if strides can express it, otherwise a copy: the elements are always those of \
          `a` in order. (HEAL's runtime re-reads storage order there.)",
    params: &[
        Param::tensor("a", "any tensor"),
        Param::new("shape", ParamKind::Shape, "as many elements as `a` has"),
    ],
    forms: &[Form::heal("reshape", &["a", "shape"])],
    body: Body::View(view),
    operations: |_| 0,
    laws: &[],
};

fn view(args: &Args) -> Result<Viewed, OpError> {
    let a = args.tensor("a")?;
    let shape = args.shape("shape")?;
    super::viewed("shape", a.view.reshape(&shape), shape)
}
