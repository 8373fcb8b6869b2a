//! The expansions of declared ops: the kernel calls in order, and where each operand
//! comes from. An op is expanded on small operands once; nothing here is said a second time.

use cloakwork_ir::{Arg, Builder, DType, FIELD_DTYPES, HostSlot, Shape, Symbol, Type};
use cloakwork_ops::{ALL, Access, Body, Expansion, KernelBody, Named, OpDef, Param, ParamKind};
use cloakwork_process::Once;
use cloakwork_verify::{Action, Bound, StorageId, StorageOrigin, Verified, expand, verify};
use std::sync::Arc;

/// Where an operand of a call in an expansion comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// The expanded op's parameter of this index.
    Param(usize),
    /// The result of the call of this index.
    Result(usize),
    /// An integer.
    Int(i64),
    /// Nothing.
    Absent,
    /// The result.
    Out,
}

/// A call in an expansion: one slot a parameter.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub def: &'static OpDef,
    pub slots: Vec<Slot>,
}

/// An op that a kernel computes, and the calls that it is expanded to; the last gives its result.
pub(crate) struct Template {
    pub def: &'static OpDef,
    pub body: &'static KernelBody,
    pub lines: Vec<Line>,
}

/// Templates of all ops that kernels compute and that expand to calls on whole tensors.
pub(crate) fn templates() -> &'static [Template] {
    static TEMPLATES: Once<Vec<Template>> = Once::new();
    TEMPLATES.get_or_init(|| ALL.iter().filter_map(|def| template(def)).collect())
}

/// Types of which an op takes one at least, residues first.
const SAMPLES: [DType; 3] = [DType::I64, DType::F64, FIELD_DTYPES[0]];

/// The template of an op, if it has one.
pub(crate) fn template(def: &'static OpDef) -> Option<Template> {
    let Body::Kernel(body) = &def.body else {
        return None;
    };
    if body.access != Access::Write || def.effect().is_some() {
        return None;
    }
    body.expand?;
    let types = SAMPLES.iter().filter_map(|&dtype| lines(def, dtype));
    let lines = types.into_iter().next()?;
    (lines.len() > 1).then_some(Template { def, body, lines })
}

/// An input for each tensor of an op, and a tensor for its result.
fn operands(def: &OpDef, builder: &mut Builder, ty: &Type) -> Option<(Vec<Arg>, Symbol)> {
    let operand = |(index, param): (usize, &Param)| match param.kind {
        ParamKind::Tensor | ParamKind::TensorOrInt => {
            let name = index.to_string();
            let ty = ty.clone();
            let symbol = builder.upload(HostSlot::Input { name, ty });
            Some(Arg::Device(symbol, None))
        }
        ParamKind::Out | ParamKind::OptionalTensor | ParamKind::Hint => Some(Arg::None),
        _ => None,
    };
    let params = def.params.iter().enumerate();
    let mut args = params.map(operand).collect::<Option<Vec<Arg>>>()?;
    let out = builder.empty(ty.dtype, &ty.shape);
    let place = def.out()?;
    *args.get_mut(place)? = Arg::Device(out, None);
    Some((args, out))
}

/// The calls of an op's expansion on vectors of two elements of this type, if it takes such.
fn lines(def: &'static OpDef, dtype: DType) -> Option<Vec<Line>> {
    let ty = Type::new(dtype, Shape::new(&[2]).ok()?);
    let mut called = Builder::new();
    let (args, out) = operands(def, &mut called, &ty)?;
    let named = def.params.iter().zip(&args);
    let named = named.filter(|(param, _)| param.kind != ParamKind::Out);
    let given: Vec<Named> = named
        .map(|(param, arg)| (param.name, arg.clone()))
        .collect();
    let target = Arg::Device(out, None);
    let mut call = Expansion::new(def, &args, out, &mut called);
    call.call_of(def, &given, Some(&target)).ok()?;
    let verified = Arc::new(verify(Arc::new(called.program)).verified?);
    let expanded = expand(&verified, &|_, _, action| {
        action
            .call()
            .is_some_and(|call| std::ptr::eq(call.def, def))
    });
    expanded.ok().and_then(|expanded| read(def, &expanded))
}

/// The calls of a program; none where one is on a part of a tensor, or something else moves.
fn read(def: &OpDef, verified: &Verified) -> Option<Vec<Line>> {
    let inputs = def.params.iter().enumerate();
    let inputs =
        inputs.filter(|(_, p)| matches!(p.kind, ParamKind::Tensor | ParamKind::TensorOrInt));
    let params: Vec<usize> = inputs.map(|(index, _)| index).collect();
    let mut results: Vec<StorageId> = Vec::new();
    let mut lines = Vec::new();
    for (_, action) in verified.actions() {
        let (call, out) = match action {
            Action::Upload { .. } | Action::Allocate { .. } | Action::View { .. } => continue,
            Action::Kernel { call, out } => (call, *out),
            _ => return None,
        };
        let slot = |(param, bound): (&Param, &Bound)| match *bound {
            _ if param.kind == ParamKind::Out => Some(Slot::Out),
            Bound::Int(word) => Some(Slot::Int(word)),
            Bound::Absent => Some(Slot::Absent),
            Bound::Value(value) => {
                let info = verified.value(value)?;
                let storage = verified.storage(info.storage)?;
                let whole = info.view.shape == storage.root.shape;
                let made = results.iter().position(|&result| result == info.storage);
                let slot = match (made, storage.origin) {
                    (Some(made), _) => Slot::Result(made),
                    (None, StorageOrigin::Upload(host)) => {
                        Slot::Param(*params.get(host.0 as usize)?)
                    }
                    (None, _) => return None,
                };
                whole.then_some(slot)
            }
            Bound::Shape(_) | Bound::DType(_) | Bound::Host(_) => None,
        };
        let slots = call.def.params.iter().zip(&call.values).map(slot);
        let storage = verified.value(out)?.storage;
        let (def, slots) = (call.def, slots.collect::<Option<_>>()?);
        if results.contains(&storage) {
            return None;
        }
        results.push(storage);
        lines.push(Line { def, slots });
    }
    Some(lines)
}

#[cfg(test)]
mod tests {
    use super::templates;
    use std::path::Path;

    #[test]
    fn each_recognized_op_is_shown_before_and_after() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let shown = std::fs::read_to_string(root.join("tests/passes/composites.cw")).unwrap();
        let mut lines = shown.lines();
        let after = lines.find(|line| line.starts_with("; after composites: "));
        let after = after.unwrap();
        assert!(!templates().is_empty());
        for template in templates() {
            let name = template.def.name;
            let put_in = after
                .split(", ")
                .any(|part| part.ends_with(&format!(" {name}")));
            assert!(put_in, "{name} is not put in by {after}");
        }
    }
}
