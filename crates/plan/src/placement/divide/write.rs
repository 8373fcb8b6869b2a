//! Writes a program in which the chosen steps are divided.

use super::Chosen;
use cloakwork_ir::{Arg, Builder, Op, Step, Symbol};
use cloakwork_ops::named::{ADD, COPY, NEW_REFERENCE};
use cloakwork_ops::{Cut, Expansion, Named, OpError, ParamKind, Part};
use cloakwork_verify::{
    Action, Call, Mistake, StorageId, ValueId, Verified, by_parameter, verify_rewritten,
};
use std::collections::BTreeMap;

/// A result in parts.
struct Held {
    /// Another name of the tensor whose contents the parts are.
    whole: Symbol,
    parts: Vec<Arg>,
    dims: Vec<u64>,
    axis: usize,
    /// The step that was divided.
    step: u32,
    /// Whether the tensor itself lacks the contents.
    is_apart: bool,
}

impl Held {
    fn size(&self) -> u64 {
        self.dims[self.axis]
    }
}

/// An operand of the parts of a call.
enum Given {
    /// The same for all.
    Whole(Arg),
    /// One for each, made before.
    Parts(Vec<Arg>),
    /// To be cut along an axis.
    Cut(Arg, Vec<u64>, usize),
}

pub(super) struct Writer<'a> {
    from: &'a Verified,
    chosen: &'a Chosen,
    parts: u64,
    builder: Builder,
    held: BTreeMap<StorageId, Held>,
    /// For each step that is written, the one that it stands for.
    of: Vec<u32>,
}

/// The range of a part.
fn range(size: u64, parts: u64, part: u64) -> [u64; 2] {
    [part, part + 1].map(|at| (u128::from(size) * u128::from(at) / u128::from(parts)) as u64)
}

/// A view of a part of a tensor.
fn slice(
    steps: &mut Expansion,
    (tensor, dims, axis): (&Arg, &[u64], usize),
    [begin, end]: [u64; 2],
) -> Result<Arg, OpError> {
    let mut entries: Vec<Part> = dims.iter().map(|&size| Part::All(size)).collect();
    entries[axis] = Part::Range(begin, end);
    steps.slice(tensor, &entries)
}

impl<'a> Writer<'a> {
    pub fn new(from: &'a Verified, chosen: &'a Chosen, parts: u64) -> Self {
        Self {
            from,
            chosen,
            parts,
            builder: Builder {
                program: from.program().without_steps(),
            },
            held: BTreeMap::new(),
            of: Vec::new(),
        }
    }

    /// The program, verified, and for each of its steps the one of the program before.
    ///
    /// # Errors
    /// A mistake in a declaration.
    pub fn written(mut self) -> Result<(Verified, Vec<u32>), Mistake> {
        let program = self.from.program();
        let mut actions = self.from.actions().iter().peekable();
        for (index, step) in (0u32..).zip(&program.steps) {
            let mut is_written = false;
            while let Some((_, action)) = actions.next_if(|(at, _)| *at == index) {
                let done = self.action(index, step, action);
                is_written |= done.map_err(|message| Mistake {
                    step: index,
                    message,
                })?;
            }
            match step {
                _ if is_written => {}
                Step::Op(op) => {
                    let (args, out) = (program.args(op), program.out(op));
                    let copy = &mut self.builder.program;
                    copy.push_call(op.name, args.iter().cloned(), out.cloned());
                }
                other => self.builder.program.steps.push(*other),
            }
            self.count(index);
        }
        while let Some((storage, _)) = self.held.first_key_value() {
            let storage = *storage;
            self.drop_parts(storage);
        }
        self.count(program.steps.len().saturating_sub(1) as u32);
        let made = verify_rewritten(self.builder.program, self.from, self.of.clone())?;
        Ok((made, self.of))
    }

    /// Attributes what was written since to a step.
    fn count(&mut self, step: u32) {
        self.of.resize(self.builder.program.steps.len(), step);
    }

    /// Prepares a step, or writes its parts: then it is done.
    fn action(&mut self, index: u32, step: &Step, action: &Action) -> Result<bool, String> {
        match (action, step) {
            (Action::Kernel { call, out }, Step::Op(op)) => {
                if let Some(cut) = self.chosen.get(&index) {
                    self.divide((index, op), (call, *out), cut)?;
                    return Ok(true);
                }
                for param in 0..call.values.len() {
                    if let Some(value) = call.value(param) {
                        self.join(value).map_err(|error| error.to_string())?;
                    }
                }
                if let Some(written) = self.storage_of(*out) {
                    self.drop_parts(written);
                }
            }
            (Action::Copy { source: value, .. } | Action::Download { value, .. }, _) => {
                self.join(*value).map_err(|error| error.to_string())?;
            }
            _ => {}
        }
        Ok(false)
    }

    fn storage_of(&self, value: ValueId) -> Option<StorageId> {
        self.from.value(value).map(|info| info.storage)
    }

    /// Copies parts together before another step uses the tensor.
    fn join(&mut self, value: ValueId) -> Result<(), OpError> {
        let Some(storage) = self.storage_of(value) else {
            return Ok(());
        };
        let Some(held) = self.held.get_mut(&storage).filter(|held| held.is_apart) else {
            return Ok(());
        };
        held.is_apart = false;
        let (whole, step) = (Arg::Device(held.whole, None), held.step);
        let own = [whole.clone(), whole.clone()];
        let mut steps = Expansion::new(&COPY, &own, held.whole, &mut self.builder);
        for (part, from) in (0u64..).zip(&held.parts) {
            let range = range(held.size(), self.parts, part);
            let target = slice(&mut steps, (&whole, &held.dims, held.axis), range)?;
            steps.call_into(COPY.name, &[("a", from.clone())], &target)?;
        }
        steps.finish()?;
        self.count(step);
        Ok(())
    }

    fn drop_parts(&mut self, storage: StorageId) {
        let Some(held) = self.held.remove(&storage) else {
            return;
        };
        for part in held.parts {
            if let Arg::Device(name, _) = part {
                self.builder.free(name);
            }
        }
        self.builder.free(held.whole);
    }

    /// Writes the parts of a call.
    fn divide(
        &mut self,
        (index, op): (u32, &Op),
        (call, out): (&Call, ValueId),
        cut: &Cut,
    ) -> Result<(), String> {
        let args = by_parameter(self.from.program(), op, call)?;
        let given = self.given(call, &args, cut);
        let given = given.map_err(|error| error.to_string())?;
        let result = match self.from.program().out(op) {
            Some(Arg::Device(name, _)) => *name,
            _ => return Err("a call without a result".to_owned()),
        };
        self.count(index);
        let written = self.parts_of((call, &args, result), &given, (out, cut));
        let held = written.map_err(|error| error.to_string())?;
        if let Some(storage) = self.storage_of(out) {
            self.drop_parts(storage);
            if let Some(held) = held {
                self.held.insert(
                    storage,
                    Held {
                        step: index,
                        ..held
                    },
                );
            }
        }
        Ok(())
    }

    /// The operands of the parts, in the order of the op's parameters; none where the default is
    /// meant.
    fn given(
        &mut self,
        call: &Call,
        args: &[Arg],
        cut: &Cut,
    ) -> Result<Vec<(&'static str, Given)>, OpError> {
        let mut all = Vec::new();
        for (index, (param, arg)) in call.def.params.iter().zip(args).enumerate() {
            let is_default = match arg {
                Arg::None => true,
                Arg::Int(value) => param.default == Some(*value),
                _ => false,
            };
            if is_default || matches!(param.kind, ParamKind::Out | ParamKind::Hint) {
                continue;
            }
            let axis = cut.operands.iter().find(|(name, _)| *name == param.name);
            let given = match (axis, call.value(index)) {
                (Some(&(_, axis)), Some(value)) => self.cut((arg, value), (axis, cut.size))?,
                (_, Some(value)) => {
                    self.join(value)?;
                    Given::Whole(arg.clone())
                }
                _ => Given::Whole(arg.clone()),
            };
            all.push((param.name, given));
        }
        Ok(all)
    }

    /// An operand that is cut: parts that are there, or views of the tensor.
    fn cut(
        &mut self,
        (arg, value): (&Arg, ValueId),
        (axis, size): (usize, u64),
    ) -> Result<Given, OpError> {
        let (info, view) = (self.from.value(value), self.from.view(value));
        let storage = info.and_then(|info| self.from.storage(info.storage));
        let is_root = storage.is_some_and(|storage| storage.root == *view);
        let held = info.and_then(|info| self.held.get(&info.storage));
        if let Some(held) = held.filter(|held| is_root && (held.axis, held.size()) == (axis, size))
        {
            return Ok(Given::Parts(held.parts.clone()));
        }
        self.join(value)?;
        Ok(Given::Cut(arg.clone(), view.shape.dims().to_vec(), axis))
    }

    /// Writes the calls on parts; the parts of the result, where it stays in parts.
    fn parts_of(
        &mut self,
        (call, args, result): (&Call, &[Arg], Symbol),
        given: &[(&'static str, Given)],
        (out, cut): (ValueId, &Cut),
    ) -> Result<Option<Held>, OpError> {
        let Some(info) = self.from.value(out) else {
            return Ok(None);
        };
        let dims = info.view.shape.dims().to_vec();
        let mut steps = Expansion::new(call.def, args, result, &mut self.builder);
        let mut parts = Vec::new();
        for part in 0..self.parts {
            let own = range(cut.size, self.parts, part);
            let mut operands: Vec<Named> = Vec::new();
            for (name, given) in given {
                let arg = match given {
                    Given::Whole(arg) => arg.clone(),
                    Given::Parts(parts) => parts[part as usize].clone(),
                    Given::Cut(tensor, dims, axis) => {
                        slice(&mut steps, (tensor, dims, *axis), own)?
                    }
                };
                operands.push((name, arg));
            }
            let mut own_dims = dims.clone();
            if let Some(axis) = cut.out {
                own_dims[axis] = own[1] - own[0];
            }
            let target = steps.empty(info.dtype, &own_dims)?;
            steps.call_into(call.def.name, &operands, &target)?;
            parts.push(target);
        }
        let target = steps.arg("out")?;
        let Some(axis) = cut.out else {
            add(&mut steps, &parts, &target)?;
            steps.finish()?;
            return Ok(None);
        };
        let whole = steps.call(NEW_REFERENCE.name, &[("a", target)])?;
        for tensor in parts.iter().chain([&whole]) {
            steps.keep(tensor);
        }
        steps.finish()?;
        let Arg::Device(whole, _) = whole else {
            return Ok(None);
        };
        Ok(Some(Held {
            whole,
            parts,
            dims,
            axis,
            step: 0,
            is_apart: true,
        }))
    }
}

/// The sum of the results of parts.
fn add(steps: &mut Expansion, parts: &[Arg], target: &Arg) -> Result<(), OpError> {
    let Some((first, others)) = parts.split_first() else {
        return Ok(());
    };
    let mut sum = first;
    for part in others {
        let terms = [("a", sum.clone()), ("b", part.clone())];
        steps.call_into(ADD.name, &terms, target)?;
        sum = target;
    }
    Ok(())
}
