//! The smallest call that still fails.
//!
//! Views go first, then sizes, then elements: each change is kept if the call is still accepted
//! and still fails.

use cloakwork_ir::{
    Arg, Builder, DType, HostSlot, HostTensor, Program, Shape, ShapeItem, View, write_word,
};
use cloakwork_ops::{Form, OpDef, find_form};
use cloakwork_verify::{Action, Bound, Verified, verify};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Attempts at most.
pub const ATTEMPTS: usize = 120;
/// Where each costs the process of a driver.
pub const ATTEMPTS_OF_PROCESSES: usize = 12;

/// A call with its operands as data.
#[derive(Clone)]
struct Case {
    form: &'static Form,
    /// Each row-major.
    tensors: Vec<HostTensor>,
    /// In the order of the form.
    args: Vec<CaseArg>,
    /// The tensor that is written.
    out: usize,
}

#[derive(Clone)]
enum CaseArg {
    Tensor(usize),
    Other(Arg),
}

/// A program of one call, as small as it can be made while it fails; the program itself if nothing
/// smaller does.
pub fn shrunk(
    program: Program,
    mut attempts: usize,
    fails: &mut dyn FnMut(&Arc<Verified>) -> bool,
) -> Program {
    let Some(verified) = meaning(&program) else {
        return program;
    };
    let Some(case) = Case::of(&verified) else {
        return program;
    };
    let mut try_case = |case: &Case| {
        attempts = attempts.saturating_sub(1);
        let verified = (attempts > 0).then(|| meaning(&case.program())).flatten();
        verified.is_some_and(|verified| fails(&verified))
    };
    if !try_case(&case) {
        return program;
    }
    let case = smaller(case, &mut try_case);
    simpler(case, &mut try_case).program()
}

fn meaning(program: &Program) -> Option<Arc<Verified>> {
    verify(Arc::new(program.clone())).verified.map(Arc::new)
}

/// Sizes are halved, or lessened by one, wherever they occur.
fn smaller(mut case: Case, fails: &mut dyn FnMut(&Case) -> bool) -> Case {
    loop {
        let dims = case
            .tensors
            .iter()
            .flat_map(|tensor| tensor.view().shape.dims().to_vec());
        let sizes: BTreeSet<u64> = dims.filter(|&size| size > 1).collect();
        let tries = sizes.into_iter().rev().flat_map(|size| {
            let wanted = BTreeSet::from([1, size / 8, size / 2, size - 1]);
            wanted
                .into_iter()
                .filter(|&to| to > 0)
                .map(move |to| (size, to))
        });
        let mut smaller = tries.filter_map(|(size, to)| case.resized(size, to));
        match smaller.find(|candidate| fails(candidate)) {
            Some(found) => case = found,
            None => return case,
        }
    }
}

/// Tensors of integers become zeros or ones.
fn simpler(mut case: Case, fails: &mut dyn FnMut(&Case) -> bool) -> Case {
    for index in 0..case.tensors.len() {
        for word in [0, 1] {
            let candidate = case.filled(index, word);
            if let Some(candidate) = candidate.filter(|candidate| fails(candidate)) {
                case = candidate;
                break;
            }
        }
    }
    case
}

impl Case {
    /// The last call of a program whose storages are all data.
    fn of(verified: &Verified) -> Option<Self> {
        let mut actions = verified.actions().iter().rev();
        let (step, call, out) = actions.find_map(|(step, action)| match action {
            Action::Kernel { call, out } => Some((*step, call, *out)),
            _ => None,
        })?;
        let program = verified.program();
        let cloakwork_ir::Step::Op(op) = program.steps.get(step as usize)? else {
            return None;
        };
        let args = program.args(op);
        let name = program.text_name(op.name);
        let (def, form): (&'static OpDef, _) =
            find_form(name, args.len(), program.generation).ok()?;
        let mut values = Vec::new();
        let mut tensors = Vec::new();
        let mut place = |value| {
            let known = values.iter().position(|own| *own == value);
            known.or_else(|| {
                values.push(value);
                tensors.push(contents(verified, value)?);
                Some(values.len() - 1)
            })
        };
        let mut own = Vec::new();
        for (name, arg) in form.args.iter().zip(args) {
            let param = def.param(name)?;
            own.push(match (call.values.get(param)?, arg) {
                (Bound::Value(value), _) => CaseArg::Tensor(place(*value)?),
                (_, Arg::Device(..)) => CaseArg::Other(Arg::None),
                (_, other) => CaseArg::Other(other.clone()),
            });
        }
        let out = place(out)?;
        Some(Self {
            form,
            tensors,
            args: own,
            out,
        })
    }

    fn program(&self) -> Program {
        let mut builder = Builder::new();
        let upload = |tensor: &HostTensor| builder.upload(HostSlot::Data(tensor.clone()));
        let names: Vec<_> = self.tensors.iter().map(upload).collect();
        let args = self.args.iter().map(|arg| match arg {
            CaseArg::Tensor(index) => Arg::Device(names[*index], None),
            CaseArg::Other(arg) => arg.clone(),
        });
        builder.call_into(self.form.name, args.collect::<Vec<_>>(), names[self.out]);
        let name = "result".to_owned();
        builder.download(names[self.out], HostSlot::Output { name });
        builder.program
    }

    /// The same with another size wherever this one occurs.
    fn resized(&self, size: u64, to: u64) -> Option<Self> {
        let mut case = self.clone();
        for tensor in &mut case.tensors {
            *tensor = cut(tensor, size, to)?;
        }
        for arg in &mut case.args {
            if let CaseArg::Other(Arg::Shape(items)) = arg {
                for item in items
                    .iter_mut()
                    .filter(|item| **item == ShapeItem::Int(size as i64))
                {
                    *item = ShapeItem::Int(to as i64);
                }
            }
        }
        Some(case)
    }

    fn filled(&self, index: usize, word: i64) -> Option<Self> {
        let mut case = self.clone();
        let tensor = case.tensors.get_mut(index)?;
        let dtype = tensor.dtype();
        if !dtype.is_integer() || tensor.words().iter().all(|&own| own == word) {
            return None;
        }
        let size = dtype.size_bytes();
        let mut bytes = vec![0; tensor.view().shape.elements() as usize * size];
        bytes
            .chunks_exact_mut(size)
            .for_each(|to| write_word(dtype, word, to));
        *tensor = HostTensor::from_vec(dtype, tensor.view().shape.clone(), bytes).ok()?;
        Some(case)
    }
}

/// The elements of a value whose storage is an upload of data.
fn contents(verified: &Verified, value: cloakwork_verify::ValueId) -> Option<HostTensor> {
    let info = verified.value(value)?;
    let origin = verified.storage(info.storage)?.origin;
    let dtype: DType = info.dtype;
    let cloakwork_verify::StorageOrigin::Upload(host) = origin else {
        let bytes = info.view.shape.elements() as usize * dtype.size_bytes();
        return HostTensor::from_vec(dtype, info.view.shape.clone(), vec![0; bytes]).ok();
    };
    let Some(HostSlot::Data(data)) = verified.program().host(host) else {
        return None;
    };
    let root = cloakwork_verify::upload_root(data);
    let is_as_it_lies = data.view().strides == root.strides;
    let moved = |view: &View| View {
        offset: view.offset + data.view().offset,
        ..view.clone()
    };
    let seen = match is_as_it_lies {
        true => data.with_view(moved(&info.view)).ok()?,
        false => dense(data)?.with_view(info.view.clone()).ok()?,
    };
    dense(&seen)
}

/// The same elements row-major.
fn dense(tensor: &HostTensor) -> Option<HostTensor> {
    let size = tensor.dtype().size_bytes();
    let from = tensor.bytes().as_slice();
    let mut bytes = Vec::new();
    for offset in tensor.view().offsets() {
        let at = usize::try_from(offset).ok()? * size;
        bytes.extend_from_slice(from.get(at..at + size)?);
    }
    let made = HostTensor::from_vec(tensor.dtype(), tensor.view().shape.clone(), bytes).ok()?;
    Some(made.sound())
}

/// The first elements along each axis of a size.
fn cut(tensor: &HostTensor, size: u64, to: u64) -> Option<HostTensor> {
    let dims = tensor.view().shape.dims().iter();
    let dims: Vec<u64> = dims
        .map(|&own| if own == size { to } else { own })
        .collect();
    let view = View {
        shape: Shape::new(&dims).ok()?,
        ..tensor.view().clone()
    };
    dense(&tensor.with_view(view).ok()?)
}
