//! `copy`: the same elements elsewhere.

use crate::op::{Aliasing, Body, Family, Form, KernelBody, OpDef, OutRule, Param};
use crate::reference::Broadcast;
use crate::{Args, Expansion, Law, OpError, Reference, ReprRule, rules};
use cloakwork_ir::Arg;
use smallvec::smallvec;

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "copy",
    family: Family::Layout,
    doc: "`out = a`, broadcast to `out`, for any strides.",
    params: &[
        Param::tensor("a", "any tensor"),
        Param::out("any shape that `a` broadcasts to"),
    ],
    forms: &[Form::own("copy", &["a", "out"])],
    body: Body::Kernel(KernelBody {
        out: OutRule::Broadcast,
        aliasing: Aliasing::Same,
        expand: Some(expand),
        ..KernelBody::new(
            |args| {
                let a = args.tensor("a")?;
                Ok(a.ty())
            },
            |args| Ok(smallvec![args.elementwise("copy", ["a"])?]),
            Reference::Values(|args, contents| {
                let out = args.tensor("out")?.shape();
                let a = Broadcast::new(args, contents, "a", out)?;
                let elements = (0..out.elements()).flat_map(|i| a.element(i));
                Ok(elements.copied().collect::<Vec<i64>>().into())
            }),
        )
    }),
    operations: rules::out_elements,
    laws: &[Law::Reprs(ReprRule::As("a"))],
};

/// HEAL has no copy into a tensor that is there: padding by nothing is one.
fn expand(args: &Args, steps: &mut Expansion) -> Result<(), OpError> {
    let (own, out) = (args.tensor("a")?, args.tensor("out")?);
    let (mut a, mut target) = (steps.arg("a")?, steps.arg("out")?);
    if a == target || out.shape().elements() == 0 {
        return Ok(());
    }
    let missing = out.view.rank() - own.view.rank();
    for _ in 0..missing {
        a = steps.call("unsqueeze", &[("a", a), ("axis", Arg::Int(0))])?;
    }
    for (axis, &size) in out.dims().iter().enumerate() {
        let narrow = axis < missing || own.dims()[axis - missing] == 1;
        if narrow && size > 1 {
            let (axis, repeat) = (Arg::Int(axis as i64), Arg::Int(size as i64));
            a = steps.call("expand", &[("a", a), ("axis", axis), ("repeat", repeat)])?;
        }
    }
    if out.view.rank() == 0 {
        for tensor in [&mut a, &mut target] {
            let given = [("a", tensor.clone()), ("axis", Arg::Int(0))];
            *tensor = steps.call("unsqueeze", &given)?;
        }
    }
    let given = [("a", a), ("pad", Arg::Int(0)), ("axis", Arg::Int(0))];
    steps.call_into("pad_single_axis", &given, &target)
}
