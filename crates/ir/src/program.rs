//! Programs as they are written: steps that name tensors. Nothing here is checked.

use crate::{DType, HostTensor, Threaded, Threads, Type};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The name of a device tensor (`inf_name` in HEAL's files), interned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(pub u32);

/// An op's or a segment's name, interned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Text(pub u32);

/// Index into [`Program::hosts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostId(pub u32);

/// Which of HEAL's two public op sets a program is written in (spec/heal.md section 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Generation {
    /// The public repository's tip of 2025-06: `ntt` with 10 arguments, `expand(a, repeat, axis)`.
    First,
    /// The generation of published transcripts and of Cloakwork's own programs.
    #[default]
    Later,
}

/// One entry of a shape argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShapeItem {
    /// A size, or an index in `get_slice`.
    Int(i64),
    /// A range in `get_slice`.
    Slice {
        /// First index; `None` where the file has null.
        start: Option<i64>,
        /// One past the last.
        stop: Option<i64>,
        /// Distance.
        step: Option<i64>,
    },
    /// `...`, which HEAL names and refuses.
    Ellipsis,
    /// Something else, in words.
    Invalid(Box<str>),
}

/// One argument of a step, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arg {
    /// A device tensor by name, and the dtype the file claims for it, if any.
    Device(Symbol, Option<DType>),
    /// A host tensor.
    Host(HostId),
    /// A list of sizes, indices and ranges.
    Shape(Box<[ShapeItem]>),
    /// An integer; booleans come as 0 and 1.
    Int(i64),
    /// Null.
    None,
    /// An element type.
    DType(DType),
    /// Something else, in words.
    Invalid(Box<str>),
}

/// One call of an op. Its arguments are a range of [`Program::args`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// The name as written; interned in [`Program::texts`].
    pub name: Text,
    first_arg: u32,
    arg_count: u32,
    /// Index of the result argument in [`Program::args`], if the step has one.
    out: Option<u32>,
}

/// One entry of a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A call of an op.
    Op(Op),
    /// A name is given up.
    Free(Symbol),
    /// A segment begins.
    SegmentStart(Text),
    /// The innermost segment ends.
    SegmentEnd,
    /// An entry without meaning, such as HEAL's `[null, null]`.
    Skip,
    /// A step of programs of several threads.
    Threaded(Threaded),
}

/// Where the data of a host argument comes from or goes to.
#[derive(Clone, Debug)]
pub enum HostSlot {
    /// Data in the program: an upload's source, or the expected value of a download.
    Data(HostTensor),
    /// Given at each run.
    Input {
        /// Its name.
        name: String,
        /// Its type.
        ty: Type,
    },
    /// Handed out by each run; nothing is known of its value.
    Output {
        /// Its name.
        name: String,
    },
}

impl HostSlot {
    /// Dtype and shape, where the slot itself says them.
    #[must_use]
    pub fn ty(&self) -> Option<Type> {
        match self {
            Self::Data(tensor) => Some(tensor.ty()),
            Self::Input { ty, .. } => Some(ty.clone()),
            Self::Output { .. } => None,
        }
    }
}

/// Bytes of a tensor that are compared rather than where it lies.
const SMALL_BYTES: usize = 64;

impl HostSlot {
    /// See [`Program::is_same`].
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Data(own), Self::Data(other)) => {
                let (a, b) = (own.bytes().as_slice(), other.bytes().as_slice());
                let is_alike = (own.dtype(), own.view()) == (other.dtype(), other.view());
                is_alike && (std::ptr::eq(a, b) || (a.len() <= SMALL_BYTES && a == b))
            }
            (
                Self::Input { name, ty },
                Self::Input {
                    name: known,
                    ty: of,
                },
            ) => (name, ty) == (known, of),
            (Self::Output { name }, Self::Output { name: known }) => name == known,
            _ => false,
        }
    }
}

/// Interned strings.
#[derive(Clone, Debug, Default)]
pub struct Interner {
    names: Vec<Arc<str>>,
    index: HashMap<Arc<str>, u32>,
}

impl Interner {
    /// No strings, with room for so many.
    #[must_use]
    pub fn with_capacity(count: usize) -> Self {
        Self {
            names: Vec::with_capacity(count),
            index: HashMap::with_capacity(count),
        }
    }

    /// The number of this string, given on first sight.
    pub fn intern(&mut self, name: &str) -> u32 {
        if let Some(&id) = self.index.get(name) {
            return id;
        }
        self.add(name);
        self.names.len() as u32 - 1
    }

    /// Gives the next number to a string that is expected to be new; false if it has a number.
    pub fn add(&mut self, name: &str) -> bool {
        let name: Arc<str> = name.into();
        let Entry::Vacant(place) = self.index.entry(Arc::clone(&name)) else {
            return false;
        };
        place.insert(self.names.len() as u32);
        self.names.push(name);
        true
    }

    /// The string of this number; `"?"` for a number that was never given.
    #[must_use]
    pub fn get(&self, id: u32) -> &str {
        self.names.get(id as usize).map_or("?", |name| name)
    }

    /// How many strings there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// A program as written. The index of a step in [`Program::steps`] is its step number everywhere.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The entries, in order.
    pub steps: Vec<Step>,
    /// All arguments; steps point into it.
    args: Vec<Arg>,
    /// Host tensors, inputs and outputs.
    pub hosts: Vec<HostSlot>,
    /// Names of device tensors.
    pub symbols: Interner,
    /// Names of ops and segments.
    pub texts: Interner,
    /// The op set it is written in.
    pub generation: Generation,
    /// For a program of several threads, the facts about them. Its names are registers.
    pub threads: Option<Box<Threads>>,
    /// Data of front ends that a file keeps, each under its name. No step needs it.
    pub notes: BTreeMap<String, String>,
}

impl Program {
    /// An empty program.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether another program has the same steps on the same slots, with the same names. Tensors
    /// count as equal if they are the same memory, or small and equal.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        (self.steps.len(), self.args.len(), self.generation)
            == (other.steps.len(), other.args.len(), other.generation)
            && self.threads.is_none()
            && other.threads.is_none()
            && self.steps == other.steps
            && self.args == other.args
            && self.texts.names == other.texts.names
            && self.hosts.len() == other.hosts.len()
            && (self.hosts.iter().zip(&other.hosts)).all(|(own, other)| own.is_same(other))
    }

    /// The same names, texts, host slots and notes, no steps.
    #[must_use]
    pub fn without_steps(&self) -> Self {
        Self {
            hosts: self.hosts.clone(),
            symbols: self.symbols.clone(),
            texts: self.texts.clone(),
            generation: self.generation,
            notes: self.notes.clone(),
            ..Self::default()
        }
    }

    /// Appends a call.
    pub fn push_op(&mut self, name: &str, args: impl IntoIterator<Item = Arg>, out: Option<Arg>) {
        let name = Text(self.texts.intern(name));
        self.push_call(name, args, out);
    }

    /// Appends a call of an op whose name is interned.
    pub fn push_call(&mut self, name: Text, args: impl IntoIterator<Item = Arg>, out: Option<Arg>) {
        let first_arg = self.args.len() as u32;
        self.args.extend(args);
        let arg_count = self.args.len() as u32 - first_arg;
        let out = out.map(|arg| {
            self.args.push(arg);
            self.args.len() as u32 - 1
        });
        self.steps.push(Step::Op(Op {
            name,
            first_arg,
            arg_count,
            out,
        }));
    }

    /// Adds a host slot.
    pub fn push_host(&mut self, slot: HostSlot) -> HostId {
        self.hosts.push(slot);
        HostId(self.hosts.len() as u32 - 1)
    }

    /// The symbol of a device tensor's name.
    pub fn symbol(&mut self, name: &str) -> Symbol {
        Symbol(self.symbols.intern(name))
    }

    /// Whether it has neither steps nor names yet.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.steps.is_empty() && self.symbols.is_empty()
    }

    /// A symbol that no name in the program has.
    pub fn fresh_symbol(&mut self) -> Symbol {
        let before = self.symbols.len();
        for candidate in before.. {
            let symbol = self.symbol(&candidate.to_string());
            if symbol.0 as usize >= before {
                return symbol;
            }
        }
        Symbol(u32::MAX)
    }

    /// The text of an op's or a segment's name.
    pub fn text(&mut self, name: &str) -> Text {
        Text(self.texts.intern(name))
    }

    /// Arguments of a call.
    #[must_use]
    pub fn args(&self, op: &Op) -> &[Arg] {
        let first = op.first_arg as usize;
        self.args
            .get(first..first + op.arg_count as usize)
            .unwrap_or(&[])
    }

    /// The arguments of a call, to be changed.
    pub fn args_mut(&mut self, op: &Op) -> &mut [Arg] {
        let first = op.first_arg as usize;
        let range = first..first + op.arg_count as usize;
        self.args.get_mut(range).unwrap_or_default()
    }

    /// The result argument of a call, to be changed.
    pub fn out_mut(&mut self, op: &Op) -> Option<&mut Arg> {
        op.out.and_then(|index| self.args.get_mut(index as usize))
    }

    /// The result argument of a call.
    #[must_use]
    pub fn out(&self, op: &Op) -> Option<&Arg> {
        op.out.and_then(|index| self.args.get(index as usize))
    }

    /// An op's or segment's name.
    #[must_use]
    pub fn text_name(&self, text: Text) -> &str {
        self.texts.get(text.0)
    }

    /// A device tensor's name.
    #[must_use]
    pub fn symbol_name(&self, symbol: Symbol) -> &str {
        self.symbols.get(symbol.0)
    }

    /// The slot of a host argument.
    #[must_use]
    pub fn host(&self, id: HostId) -> Option<&HostSlot> {
        self.hosts.get(id.0 as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::Interner;

    #[test]
    fn a_string_has_one_number_however_it_is_added() {
        let mut names = Interner::with_capacity(1);
        assert!(names.add("a"));
        assert_eq!((names.intern("b"), names.intern("a")), (1, 0));
        assert!(!names.add("b"));
        assert_eq!((names.len(), names.get(1), names.get(2)), (2, "b", "?"));
    }
}
