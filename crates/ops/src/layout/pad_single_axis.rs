//! `pad_single_axis`: zeros at the end of one axis.

use crate::op::{Body, Family, Form, OpDef, Param, ParamKind};
use crate::reference::Expected;
use crate::{
    Args, Code, Contents, Launch, LaunchInput, Launches, OpError, Reference, geometry, rules,
};
use cloakwork_ir::{MAX_ELEMENTS, Type, View};
use smallvec::smallvec;

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "pad_single_axis",
    family: Family::Layout,
    doc: "`a` with `pad` zeros appended at the end of `axis`.",
    params: &[
        Param::tensor("a", "any tensor"),
        Param::new(
            "pad",
            ParamKind::Int(0, MAX_ELEMENTS as i64),
            "how many zeros, 0 or more",
        ),
        Param::axis("axis", "an axis of `a`"),
        Param::out("the shape of `a`, longer by `pad` along `axis`"),
    ],
    forms: &[Form::heal("pad_single_axis", &["a", "pad", "axis", "out"])],
    body: Body::kernel(infer, launch, Reference::Values(reference)),
    operations: rules::out_elements,
    laws: &[],
};

fn infer(args: &Args) -> Result<Type, OpError> {
    let a = args.tensor("a")?;
    let axis = args.axis("axis", a.view.rank())?;
    let pad = u64::try_from(args.int("pad")?).map_err(|_| {
        let got = args
            .int("pad")
            .map_or_else(|_| String::new(), |pad| pad.to_string());
        OpError::new(Code::Range, "pad", "0 or more", got)
    })?;
    let size = a.dims()[axis].saturating_add(pad);
    Ok(Type::new(
        a.dtype,
        geometry::resized("pad", a.shape(), axis, size)?,
    ))
}

/// Two launches: the elements, then the zeros.
fn launch(args: &Args) -> Result<Launches, OpError> {
    let (a, out) = (args.tensor("a")?, args.tensor("out")?);
    let axis = args.axis("axis", a.view.rank())?;
    let (kept, stride) = (a.dims()[axis], out.view.strides[axis]);
    let target = args.source("out")?;
    let head = geometry::with_axis(out.view, axis, kept, stride)?;
    let mut tail = geometry::with_axis(out.view, axis, out.dims()[axis] - kept, stride)?;
    tail.offset += kept as i64 * stride;
    let operands = [LaunchInput::View(target, head), args.input("a")?];
    let copy = Launch::elementwise("copy", a.shape(), &operands)?;
    let shape = tail.shape.clone();
    let mut fill = Launch::elementwise("fill", &shape, &[LaunchInput::View(target, tail)])?;
    fill.params.extend([0, 0]);
    Ok(smallvec![copy, fill])
}

fn reference(args: &Args, contents: &dyn Contents) -> Result<Expected, OpError> {
    let (a, out) = (args.tensor("a")?, args.tensor("out")?);
    let words = contents.words("a")?;
    let axis = args.axis("axis", a.view.rank())?;
    let rows = View::contiguous(out.shape().clone());
    let head = geometry::with_axis(&rows, axis, a.dims()[axis], rows.strides[axis])?;
    let parts = a.dtype.components();
    let mut padded = vec![0; out.shape().elements() as usize * parts];
    for (offset, element) in head.offsets().zip(words.chunks(parts)) {
        let start = offset as usize * parts;
        padded[start..start + parts].copy_from_slice(element);
    }
    Ok(Expected::Exact(padded))
}
