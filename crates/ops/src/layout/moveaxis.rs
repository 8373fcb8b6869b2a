//! `moveaxis`: another order of the axes.

use crate::op::{Body, Family, Form, OpDef, Param, Viewed};
use crate::{Args, OpError};

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "moveaxis",
    family: Family::Layout,
    doc: "A view of `a` with axis `source` moved to position `destination`; the others keep \
          their order.",
    params: &[
        Param::tensor("a", "any tensor"),
        Param::axis("source", "an axis of `a`"),
        Param::axis("destination", "where it goes"),
    ],
    forms: &[Form::heal("moveaxis", &["a", "source", "destination"])],
    body: Body::View(view),
    operations: |_| 0,
    laws: &[],
};

fn view(args: &Args) -> Result<Viewed, OpError> {
    let a = args.tensor("a")?;
    let source = args.axis("source", a.view.rank())?;
    let destination = args.axis("destination", a.view.rank())?;
    super::view("source", a.view.moveaxis(source as i64, destination as i64))
}
