//! A program in the ops of one device of HEAL's interface: layout ops that the device lacks are
//! written in those that it has, and what cannot be is told by name.

use crate::annotate::annotate;
use crate::{Action, ValueInfo, Verification, Verified, verify};
use cloakwork_ir::{Arg, Generation, Op, Program, Shape, ShapeItem, Step, Symbol, View};
use cloakwork_ops::{Body, OpDef, find_form, named, runtime_ops};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Ops that a device of HEAL's interface can call.
#[derive(Clone, Debug)]
pub struct HealDevice {
    /// The generation whose spellings and order of arguments it has.
    pub generation: Generation,
    /// The names of its ops, as transcripts spell them.
    pub ops: BTreeSet<String>,
    /// Ops that HEAL has not, by name, which this device has beside them.
    pub keep: BTreeSet<String>,
}

impl HealDevice {
    /// A generation's public runtime.
    #[must_use]
    pub fn of(generation: Generation) -> Self {
        let ops = runtime_ops(generation).iter().copied().map(str::to_owned);
        Self {
            generation,
            ops: ops.collect(),
            keep: BTreeSet::new(),
        }
    }

    fn has(&self, name: &str) -> bool {
        self.ops.contains(name)
    }
}

/// Why a program does not fit a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The first step that does not fit.
    pub step: u32,
    /// The misfit, in words.
    pub text: String,
}

/// The same program in the device's ops.
///
/// # Errors
/// All ops that the device lacks and that its others cannot express, each with its first step; or
/// what the device does to operands that are used later.
pub fn for_device(verified: &Verified, device: &HealDevice) -> Result<Program, Vec<Misfit>> {
    let program = expressed(verified, device)?;
    let Verification { verified, .. } = verify(Arc::new(program));
    let Some(verified) = verified else {
        return Err(vec![Misfit {
            step: 0,
            text: "internal error, please report it: the program in the device's ops has errors"
                .to_owned(),
        }]);
    };
    let mut missing: BTreeMap<String, u32> = BTreeMap::new();
    let spelled = annotate(&verified, device.generation).program;
    for (index, step) in spelled.steps.iter().enumerate() {
        if let Step::Op(op) = step {
            let name = spelled.text_name(op.name);
            if !device.has(name) && !device.keep.contains(name) {
                missing.entry(name.to_owned()).or_insert(index as u32);
            }
        }
    }
    let mut misfits: Vec<Misfit> = missing
        .into_iter()
        .map(|(name, step)| Misfit {
            step,
            text: format!("{name} (step {step})"),
        })
        .collect();
    if misfits.is_empty() && device.generation == Generation::First {
        misfits.extend(reused(&verified));
    }
    if misfits.is_empty() {
        Ok(Program::clone(verified.program()))
    } else {
        Err(misfits)
    }
}

/// Ops whose operand the first generation changes in place: its shape is the result's afterwards.
static CHANGING: [&OpDef; 5] = [
    &named::CONTIGUOUS,
    &named::EXPAND,
    &named::RESHAPE,
    &named::SQUEEZE,
    &named::UNSQUEEZE,
];

/// Operands that such an op has changed and that are used again.
fn reused(verified: &Verified) -> Option<Misfit> {
    let program = verified.program();
    for (step, action) in verified.actions() {
        let (Action::View { call, value } | Action::Copy { call, value, .. }) = action else {
            continue;
        };
        let source = call.value(0).and_then(|id| verified.value(id));
        let result = verified.value(*value);
        let (Some(source), Some(result)) = (source, result) else {
            continue;
        };
        if !is_one_of(&CHANGING, call.def) || source.view == result.view {
            continue;
        }
        let Some(Step::Op(op)) = program.steps.get(*step as usize) else {
            continue;
        };
        let Some(Arg::Device(name, _)) = program.args(op).first() else {
            continue;
        };
        if let Some(later) = next_use(program, *step as usize + 1, *name) {
            let (op, tensor) = (call.def.name, program.symbol_name(*name));
            return Some(Misfit {
                step: *step,
                text: format!(
                    "{op} (step {step}), which in the first generation changes its operand \
                     {tensor}, which step {later} uses"
                ),
            });
        }
    }
    None
}

/// The step that next reads a name, before it is freed or means another tensor.
fn next_use(program: &Program, from: usize, name: Symbol) -> Option<usize> {
    let is = |arg: &Arg| matches!(arg, Arg::Device(symbol, _) if *symbol == name);
    for (index, step) in program.steps.iter().enumerate().skip(from) {
        match step {
            Step::Op(op) if program.args(op).iter().any(is) => return Some(index),
            Step::Op(op) if program.out(op).is_some_and(is) => return None,
            Step::Free(symbol) if *symbol == name => return None,
            _ => {}
        }
    }
    None
}

/// The program with each layout op that the device lacks in those that it has, where they can.
///
/// # Errors
/// A tensor that does not lie row-major is reshaped and written through: HEAL's runtimes would take
/// its elements in the order in which they lie.
fn expressed(verified: &Verified, device: &HealDevice) -> Result<Program, Vec<Misfit>> {
    let source = verified.program();
    // Steps that stay keep their places among the arguments.
    let mut program = Program::clone(source);
    program.steps.clear();
    let mut actions = verified.actions().iter().peekable();
    for (index, step) in source.steps.iter().enumerate() {
        let mut own = None;
        while let Some((_, action)) = actions.next_if(|(at, _)| *at == index as u32) {
            own = Some(action);
        }
        let (Step::Op(op), Some(action)) = (step, own) else {
            program.steps.push(*step);
            continue;
        };
        if misread(verified, index as u32, action) {
            let op = source.text_name(op.name);
            let text = format!("{op} (step {index}) of a tensor that is not row-major");
            let step = index as u32;
            return Err(vec![Misfit { step, text }]);
        }
        match said(verified, device, op, action) {
            Some(calls) => push(&mut program, op, calls),
            None => program.steps.push(*step),
        }
    }
    Ok(program)
}

/// Whether a reshape is a view of a tensor that is not row-major, and is written afterwards: a
/// copy would not do.
fn misread(verified: &Verified, step: u32, action: &Action) -> bool {
    let Action::View { call, value } = action else {
        return false;
    };
    let source = call.value(0).and_then(|id| verified.value(id));
    let Some(source) = source.filter(|source| !source.view.is_contiguous()) else {
        return false;
    };
    let storage = verified.value(*value).map(|info| info.storage);
    let storage = storage.and_then(|id| verified.storage(id));
    let written_later = storage.is_some_and(|storage| storage.last_write > Some(step));
    is_one_of(&RESHAPING, call.def) && source.view.rank() > 0 && written_later
}

/// Ops that take elements in the order in which they lie, in HEAL's runtimes.
static RESHAPING: [&OpDef; 2] = [&named::FLATTEN, &named::RESHAPE];

fn is_one_of(ops: &[&OpDef], def: &OpDef) -> bool {
    ops.iter().any(|op| std::ptr::eq(*op, def))
}

/// Ops in a row, each on the result of the one before, and what follows the tensor.
type Calls = Vec<(&'static OpDef, Vec<Arg>)>;

fn push(program: &mut Program, op: &Op, calls: Calls) {
    let (args, out) = (program.args(op).to_vec(), program.out(op).cloned());
    let last = calls.len().saturating_sub(1);
    let mut tensor = args.first().cloned();
    for (index, (def, rest)) in calls.into_iter().enumerate() {
        let result = match index == last {
            true => out.clone(),
            false => Some(Arg::Device(program.fresh_symbol(), None)),
        };
        let allocates = matches!(def.body, Body::Allocate(_));
        let operand = (!allocates).then(|| tensor.clone()).flatten();
        program.push_op(def.name, operand.into_iter().chain(rest), result.clone());
        if let (true, Some(Arg::Device(made, _))) = (index > 0, &tensor) {
            program.steps.push(Step::Free(*made));
        }
        tensor = result;
    }
}

/// The calls that express a layout op that the device lacks; none where it has the op, or cannot
/// express it.
fn said(verified: &Verified, device: &HealDevice, op: &Op, action: &Action) -> Option<Calls> {
    let program = verified.program();
    let args = program.args(op);
    let (def, _) = find_form(program.text_name(op.name), args.len(), program.generation).ok()?;
    let held = device.has(def.name) || device.keep.contains(def.name);
    if held && !is_one_of(&RESHAPING, def) {
        return None;
    }
    if std::ptr::eq(def, &raw const named::ZEROS) && device.has(named::EMPTY.name) {
        // HEAL's empty tensors read as zeros.
        return Some(vec![(&named::EMPTY, args.to_vec())]);
    }
    let (Action::View { call, value } | Action::Copy { call, value, .. }) = action else {
        return None;
    };
    let from = verified.value(call.value(0)?)?;
    let to = verified.value(*value)?;
    let moved = matches!(action, Action::Copy { .. });
    if held && from.view.is_contiguous() {
        return None;
    }
    if is_one_of(&RESHAPING, def) && !from.view.is_contiguous() {
        // Not even what can be a view is one there.
        return reshaped(from, to, true);
    }
    let within = |calls: &Calls| calls.iter().all(|(def, _)| device.has(def.name));
    let ways = [
        (!moved).then(|| sliced(from, to)).flatten(),
        (!moved).then(|| turned(from, to)).flatten(),
        reshaped(from, to, moved),
        (!moved).then(|| spread(from, to)).flatten(),
    ];
    ways.into_iter().flatten().find(within)
}

fn sizes(shape: &Shape) -> Arg {
    let item = |&dim: &u64| ShapeItem::Int(dim as i64);
    Arg::Shape(shape.dims().iter().map(item).collect())
}

/// The same elements in order: a view of what lies row-major, a copy of what does not.
fn reshaped(from: &ValueInfo, to: &ValueInfo, moved: bool) -> Option<Calls> {
    let shape = sizes(&to.view.shape);
    if from.view.shape.elements() != to.view.shape.elements() {
        return None;
    }
    if moved {
        return Some(vec![
            (&named::CONTIGUOUS, vec![]),
            (&named::RESHAPE, vec![shape]),
        ]);
    }
    let same = from.view.offset == to.view.offset;
    let flat = from.view.is_contiguous() && to.view.is_contiguous();
    (same && flat).then(|| vec![(&named::RESHAPE, vec![shape])])
}

/// A slice of the whole of each axis, or of the only index of an axis that is not kept.
fn sliced(from: &ValueInfo, to: &ValueInfo) -> Option<Calls> {
    let (dims, wanted) = (from.view.shape.dims(), to.view.shape.dims());
    if dims.is_empty() || from.view.offset != to.view.offset {
        return None;
    }
    let mut kept = wanted.iter().zip(&to.view.strides).peekable();
    let mut entries = Vec::new();
    for (&dim, stride) in dims.iter().zip(&from.view.strides) {
        let stays = kept.next_if(|(size, other)| **size == dim && (dim == 1 || *other == stride));
        entries.push(match stays {
            Some(_) => ShapeItem::Slice {
                start: Some(0),
                stop: Some(dim as i64),
                step: Some(1),
            },
            None if dim == 1 => ShapeItem::Int(0),
            None => return None,
        });
    }
    kept.next()
        .is_none()
        .then(|| vec![(&named::GET_SLICE, vec![Arg::Shape(entries.into())])])
}

/// The same axes in another order, moved one by one.
fn turned(from: &ValueInfo, to: &ValueInfo) -> Option<Calls> {
    let rank = from.view.rank();
    if rank != to.view.rank() {
        return None;
    }
    let mut now = from.view.clone();
    let mut calls = Vec::new();
    for axis in 0..rank {
        let key = |view: &View, axis: usize| {
            Some((*view.shape.dims().get(axis)?, *view.strides.get(axis)?))
        };
        let wanted = key(&to.view, axis)?;
        let found = (axis..rank).find(|&other| key(&now, other) == Some(wanted))?;
        if found != axis {
            now = now.moveaxis(found as i64, axis as i64).ok()?;
            let args = [found, axis].map(|axis| Arg::Int(axis as i64));
            calls.push((&named::MOVEAXIS, args.to_vec()));
        }
    }
    (now == to.view && !calls.is_empty()).then_some(calls)
}

/// New axes in front, and axes of size 1 that repeat.
fn spread(from: &ValueInfo, to: &ValueInfo) -> Option<Calls> {
    let (mut now, mut calls) = (from.view.clone(), Vec::new());
    while now.rank() < to.view.rank() {
        now = now.unsqueeze(0).ok()?;
        calls.push((&named::UNSQUEEZE, vec![Arg::Int(0)]));
    }
    for (axis, &dim) in to.view.shape.dims().iter().enumerate() {
        if now.shape.dims().get(axis) == Some(&1) && dim > 1 {
            now = now.expand(axis as i64, dim).ok()?;
            let args = [axis as i64, dim as i64].map(Arg::Int);
            calls.push((&named::EXPAND, args.to_vec()));
        }
    }
    let same = now.shape == to.view.shape && now.offset == to.view.offset;
    let strides = now.strides.iter().zip(&to.view.strides);
    let mut steps = strides.zip(now.shape.dims());
    let alike = steps.all(|((a, b), dim)| a == b || *dim == 1);
    (same && alike && !calls.is_empty()).then_some(calls)
}
