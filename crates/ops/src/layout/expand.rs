//! `expand`: an axis of size 1, repeated.

use crate::op::{Body, Family, Form, OpDef, Param, ParamKind, Viewed};
use crate::{Args, OpError};
use cloakwork_ir::{Generation, MAX_ELEMENTS};

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "expand",
    family: Family::Layout,
    doc: "A view of `a` in which `axis`, of size 1, repeats `repeat` times.\n\n\
          HEAL's first generation has `repeat` before `axis`; the program's generation decides.",
    params: &[
        Param::tensor("a", "any tensor"),
        Param::axis("axis", "an axis of size 1"),
        Param::new(
            "repeat",
            ParamKind::Int(1, MAX_ELEMENTS as i64),
            "1 or more",
        ),
    ],
    forms: &[
        Form::heal("expand", &["a", "axis", "repeat"]).only(Generation::Later),
        Form::heal("expand", &["a", "repeat", "axis"]).only(Generation::First),
    ],
    body: Body::View(view),
    operations: |_| 0,
    laws: &[],
};

fn view(args: &Args) -> Result<Viewed, OpError> {
    let repeat = super::count(args, "repeat")?;
    super::view(
        "axis",
        args.tensor("a")?.view.expand(args.int("axis")?, repeat),
    )
}
