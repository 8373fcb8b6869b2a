//! Parts of a program as programs of their own, which begin with given contents.
//!
//! An excerpt uploads the storages that its steps use as they were before the first of them,
//! repeats the views under which the steps see them, makes the steps, and downloads. Each value
//! has a name of its own: no name is used twice.

use crate::Inputs;
use cloakwork_ir::{Arg, Builder, Device, HostSlot, HostTensor, Op, Program, Step, Symbol, View};
use cloakwork_ops::named;
use cloakwork_verify::{Action, StorageId, ValueId, Verified, verify, with_frees};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// The contents of storages at some step: of each its root view, row-major.
pub type Contents = BTreeMap<StorageId, HostTensor>;

/// A program whose parts are wanted, without composite ops.
pub struct Whole {
    pub verified: Arc<Verified>,
    inputs: Inputs,
    /// The action that makes each value, by its place in the list of actions.
    made: HashMap<ValueId, usize>,
    /// The first value of each storage.
    roots: HashMap<StorageId, ValueId>,
    /// The last step that names each storage.
    last_use: HashMap<StorageId, u32>,
    /// Storages of which some part is compared though no step uses it any more.
    keeps_all: bool,
}

/// The contents that an excerpt downloads, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The result of each step right after it, and all storages at the end.
    Each,
    /// The program's own downloads, and all storages at the end: nothing between the steps that
    /// the program does not have there.
    End,
}

/// A download of an excerpt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The step after which it is read.
    pub step: u32,
    pub value: ValueId,
    /// Whether it is a whole storage, at the end.
    pub is_whole: bool,
}

/// A part of a program.
pub struct Excerpt {
    pub verified: Arc<Verified>,
    /// Its downloads, in order.
    pub seen: Vec<Seen>,
}

impl Whole {
    pub fn new(verified: Arc<Verified>, inputs: &Inputs, keeps_all: bool) -> Self {
        let mut whole = Self {
            inputs: inputs.clone(),
            made: HashMap::new(),
            roots: HashMap::new(),
            last_use: HashMap::new(),
            keeps_all,
            verified,
        };
        let verified = Arc::clone(&whole.verified);
        for (index, (step, action)) in verified.actions().iter().enumerate() {
            for value in action.result().into_iter().chain(operands(action)) {
                whole.made.entry(value).or_insert(index);
                if let Some(info) = verified.value(value) {
                    whole.last_use.insert(info.storage, *step);
                }
            }
        }
        for (id, info) in (0..).map(ValueId).zip(verified.values()) {
            whole.roots.entry(info.storage).or_insert(id);
        }
        whole
    }

    /// Number of steps.
    pub fn len(&self) -> u32 {
        self.verified.program().steps.len() as u32
    }

    /// The actions of a step.
    pub fn actions(&self, step: u32) -> &[(u32, Action)] {
        let all = self.verified.actions();
        let first = all.partition_point(|(at, _)| *at < step);
        let end = all.partition_point(|(at, _)| *at <= step);
        all.get(first..end).unwrap_or_default()
    }

    /// The value that a step writes, if it moves or computes elements.
    pub fn written(&self, step: u32) -> Option<ValueId> {
        self.actions(step)
            .iter()
            .rev()
            .find_map(|(_, action)| match action {
                Action::Kernel { out, .. } => Some(*out),
                Action::Copy { value, .. } => Some(*value),
                _ => None,
            })
    }

    /// Bytes of the value that a step writes.
    pub fn written_bytes(&self, step: u32) -> u64 {
        let info = self
            .written(step)
            .and_then(|value| self.verified.value(value));
        info.map_or(0, |info| {
            info.view.shape.elements() * info.dtype.size_bytes() as u64
        })
    }

    /// The last step before `end` that writes some of a storage; else the one that makes it.
    pub fn writer(&self, storage: StorageId, end: u32) -> u32 {
        let of = |value: ValueId| self.verified.value(value).map(|info| info.storage);
        let writes = |step: &u32| self.written(*step).and_then(of) == Some(storage);
        let made = self
            .roots
            .get(&storage)
            .and_then(|root| self.verified.value(*root));
        (0..end)
            .rev()
            .find(writes)
            .or(made.map(|info| info.step))
            .unwrap_or(0)
    }

    /// Names at a step, and the values that they mean.
    fn names_at(&self, step: u32) -> HashMap<Symbol, ValueId> {
        let mut names = HashMap::new();
        for index in 0..step {
            self.follow(&mut names, index);
        }
        names
    }

    /// Applies a step to the map of names: it binds the name of its result, or frees one.
    fn follow(&self, names: &mut HashMap<Symbol, ValueId>, index: u32) {
        let program = self.verified.program();
        match program.steps.get(index as usize) {
            Some(Step::Free(symbol)) => drop(names.remove(symbol)),
            Some(Step::Op(op)) => {
                let results = self.actions(index).iter().rev();
                let result = results.filter_map(|(_, action)| action.result()).next();
                if let (Some(Arg::Device(symbol, _)), Some(value)) = (program.out(op), result) {
                    names.insert(*symbol, value);
                }
            }
            _ => {}
        }
    }

    /// The steps of a range as a program that begins with these contents.
    ///
    /// # Errors
    /// The excerpt does not verify, or some contents are missing.
    pub fn excerpt(
        &self,
        steps: Range<u32>,
        before: &Contents,
        reading: Reading,
    ) -> Result<Excerpt, String> {
        let mut writer = Writer {
            whole: self,
            before,
            builder: Builder::new(),
            symbols: HashMap::new(),
            names: self.names_at(steps.start),
            seen: Vec::new(),
            reading,
        };
        writer.builder.program.generation = self.verified.program().generation;
        for step in steps.clone() {
            writer.step(step)?;
        }
        writer.ends(&steps)?;
        let (program, seen) = (writer.builder.program, writer.seen);
        let verification = verify(Arc::new(with_frees(program)));
        if let Some(error) = verification.errors().next() {
            return Err(format!(
                "an excerpt of the program does not verify: {error}"
            ));
        }
        let verified = verification
            .verified
            .ok_or("an excerpt without a meaning")?;
        let verified = Arc::new(verified);
        Ok(Excerpt { verified, seen })
    }
}

/// The tensors of an action's call, or what it downloads.
fn operands(action: &Action) -> Vec<ValueId> {
    match (action, action.call()) {
        (Action::Download { value, .. }, _) => vec![*value],
        (_, Some(call)) => (0..call.values.len())
            .filter_map(|i| call.value(i))
            .collect(),
        _ => Vec::new(),
    }
}

struct Writer<'a> {
    whole: &'a Whole,
    before: &'a Contents,
    builder: Builder,
    /// Values that the excerpt has, and their names there.
    symbols: HashMap<ValueId, Symbol>,
    /// Names of the whole program, and the values that they mean.
    names: HashMap<Symbol, ValueId>,
    seen: Vec<Seen>,
    reading: Reading,
}

impl Writer<'_> {
    fn verified(&self) -> &Verified {
        &self.whole.verified
    }

    /// A name for a value: that of the program, unless another value has it.
    fn name(&mut self, value: ValueId) -> Symbol {
        let program = Arc::clone(self.verified().program());
        let info = self.verified().value(value);
        let own = info.map_or("", |info| program.symbol_name(info.name));
        let known = self.builder.program.symbols.len();
        let own = self.builder.program.symbol(own);
        let symbol = match own.0 as usize == known {
            true => own,
            false => self.builder.program.fresh_symbol(),
        };
        self.symbols.insert(value, symbol);
        symbol
    }

    /// The name of a value that was made before or in the excerpt.
    fn value(&mut self, value: ValueId) -> Result<Symbol, String> {
        if let Some(symbol) = self.symbols.get(&value) {
            return Ok(*symbol);
        }
        let info = self
            .verified()
            .value(value)
            .ok_or("an unknown value")?
            .clone();
        let whole = self.whole;
        if whole.roots.get(&info.storage) == Some(&value) {
            return self.upload(value, info.storage);
        }
        let made = whole
            .made
            .get(&value)
            .and_then(|at| whole.verified.actions().get(*at));
        let Some((step, action @ Action::View { .. })) = made else {
            return Err(format!("step {} makes no view", info.step));
        };
        let source = operands(action)
            .first()
            .copied()
            .ok_or("a view of nothing")?;
        let from = self.value(source)?;
        let program = Arc::clone(self.verified().program());
        let Some(Step::Op(op)) = program.steps.get(*step as usize) else {
            return Err(format!("step {step} is no call"));
        };
        let args = program.args(op).iter().map(|arg| match arg {
            Arg::Device(..) => Arg::Device(from, None),
            other => other.clone(),
        });
        let args: Vec<Arg> = args.collect();
        let symbol = self.name(value);
        let out = Some(Arg::Device(symbol, None));
        self.builder
            .program
            .push_op(program.text_name(op.name), args, out);
        Ok(symbol)
    }

    /// Uploads a storage with its contents before the excerpt.
    fn upload(&mut self, root: ValueId, storage: StorageId) -> Result<Symbol, String> {
        let info = self
            .verified()
            .storage(storage)
            .ok_or("an unknown storage")?;
        let device = info.device;
        let contents = self.before.get(&storage);
        let contents = contents.ok_or_else(|| format!("no contents of {storage:?}"))?;
        let slot = HostSlot::Data(laid_out(contents, &info.root)?);
        let symbol = self.name(root);
        if device == Device::Cpu {
            self.builder.upload_as(slot, symbol);
        } else {
            let host = self.builder.program.push_host(slot);
            let args = [Arg::Host(host), Arg::Int(device.number())];
            self.builder
                .call_into(named::HOST_TO_DEVICE.name, args, symbol);
        }
        Ok(symbol)
    }

    /// Repeats a step of the whole program.
    fn step(&mut self, index: u32) -> Result<(), String> {
        let program = Arc::clone(self.verified().program());
        if let Some(Step::Op(op)) = program.steps.get(index as usize) {
            let download = self
                .whole
                .actions(index)
                .iter()
                .find_map(|(_, action)| match action {
                    Action::Download { value, .. } => Some(*value),
                    _ => None,
                });
            match download {
                Some(value) if self.reading == Reading::End => self.read(index, value, false)?,
                Some(_) => {}
                None => self.call(&program, op, index)?,
            }
        }
        self.whole.follow(&mut self.names, index);
        match self.whole.written(index) {
            Some(value) if self.reading == Reading::Each => self.read(index, value, false),
            _ => Ok(()),
        }
    }

    fn call(&mut self, program: &Program, op: &Op, index: u32) -> Result<(), String> {
        let mut args = Vec::new();
        for arg in program.args(op) {
            args.push(match arg {
                Arg::Device(symbol, _) => match self.names.get(symbol) {
                    Some(value) => Arg::Device(self.value(*value)?, None),
                    None => Arg::None,
                },
                Arg::Host(host) => {
                    let given = self.whole.inputs.get(host);
                    let slot = match (program.host(*host), given) {
                        (_, Some(tensor)) => HostSlot::Data(tensor.clone()),
                        (Some(slot), None) => slot.clone(),
                        (None, None) => return Err(format!("step {index} has no data")),
                    };
                    Arg::Host(self.builder.program.push_host(slot))
                }
                other => other.clone(),
            });
        }
        let results = self.whole.actions(index).iter().rev();
        let result = results.filter_map(|(_, action)| action.result()).next();
        let out = match (program.out(op), result) {
            (Some(Arg::Device(..)), Some(value)) => {
                let is_new = self
                    .verified()
                    .value(value)
                    .is_some_and(|info| info.step == index);
                let symbol = match (self.symbols.get(&value), is_new) {
                    (Some(symbol), _) => *symbol,
                    (None, true) => self.name(value),
                    (None, false) => self.value(value)?,
                };
                Some(Arg::Device(symbol, None))
            }
            (out, _) => out.cloned(),
        };
        self.builder
            .program
            .push_op(program.text_name(op.name), args, out);
        Ok(())
    }

    fn read(&mut self, step: u32, value: ValueId, is_whole: bool) -> Result<(), String> {
        let symbol = self.value(value)?;
        let name = format!("{}", self.seen.len());
        self.builder.download(symbol, HostSlot::Output { name });
        self.seen.push(Seen {
            step,
            value,
            is_whole,
        });
        Ok(())
    }

    /// Downloads all storages that the rest of the program may use, and those of the excerpt.
    fn ends(&mut self, steps: &Range<u32>) -> Result<(), String> {
        let whole = self.whole;
        let storage = |value: &ValueId| whole.verified.value(*value).map(|info| info.storage);
        let bound: HashSet<StorageId> = self.names.values().filter_map(storage).collect();
        let here: HashSet<StorageId> = self.symbols.keys().filter_map(storage).collect();
        let is_used = |id: &StorageId| whole.last_use.get(id).is_some_and(|&at| at >= steps.end);
        let mut left: Vec<StorageId> = bound.into_iter().collect();
        left.retain(|id| here.contains(id) && (whole.keeps_all || is_used(id)));
        left.sort_unstable();
        for id in left {
            let root = *whole.roots.get(&id).ok_or("a storage without a value")?;
            self.read(steps.end.saturating_sub(1), root, true)?;
        }
        Ok(())
    }
}

/// A row-major tensor in the layout of a dense view.
pub fn laid_out(tensor: &HostTensor, root: &View) -> Result<HostTensor, String> {
    if root.is_contiguous() {
        return Ok(tensor.clone().sound());
    }
    let size = tensor.dtype().size_bytes();
    let from = tensor.bytes().as_slice();
    let mut bytes = vec![0; from.len()];
    for (element, offset) in from.chunks_exact(size).zip(root.offsets()) {
        let at = offset as usize * size;
        if let Some(to) = bytes.get_mut(at..at + size) {
            to.copy_from_slice(element);
        }
    }
    let made = HostTensor::new(tensor.dtype(), root.clone(), bytes.into());
    Ok(made.map_err(|error| format!("{error:?}"))?.sound())
}

/// Contents of storages at the end of an excerpt: what it read, and of storages that it does not
/// touch what they were before.
pub fn contents_after(
    excerpt: &Excerpt,
    whole: &Whole,
    outputs: &[HostTensor],
    before: &Contents,
) -> Contents {
    let mut contents = before.clone();
    for (seen, tensor) in excerpt.seen.iter().zip(outputs) {
        if let Some(info) = whole.verified.value(seen.value).filter(|_| seen.is_whole) {
            contents.insert(info.storage, tensor.clone());
        }
    }
    contents
}
