//! A program of the instruction set as it is written: every field of every instruction.

use super::instructions::Operation;
use super::value::Value;
use cloakwork_ir::{Curve, DType, Repr};
use std::collections::BTreeSet;

/// Named entries in the order of the file.
pub type Table<T> = Vec<(String, T)>;

/// A program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ast {
    /// The curve that types mean which name none.
    pub curve: Option<Curve>,
    /// Registers: what they hold and where.
    pub registers: Table<Register>,
    /// Inputs: each run is given a tensor for each.
    pub inputs: Table<Input>,
    /// Outputs: `Store` fills them.
    pub outputs: Table<Type>,
    /// Data of the program.
    pub constants: Table<Constant>,
    /// Events.
    pub events: Table<Event>,
    /// Streams, by their device.
    pub streams: Table<String>,
    /// Functions that the program says it calls.
    pub functions: Vec<String>,
    /// Functions of the caller's, which each run is given.
    pub user_functions: Table<Signature>,
    /// Bytes that each device may hold.
    pub budget: Table<u64>,
    /// The main thread.
    pub main: Vec<Instruction>,
    /// Entries of tables that cannot be read: the table, and the entry's name.
    pub broken: Vec<(String, String)>,
}

impl Ast {
    /// The devices that it names.
    #[must_use]
    pub fn devices(&self) -> BTreeSet<&str> {
        let mut devices: BTreeSet<&str> = BTreeSet::new();
        devices.extend(self.registers.iter().map(|(_, register)| &*register.device));
        devices.extend(self.inputs.iter().map(|(_, input)| &*input.device));
        devices.extend(self.constants.iter().map(|(_, constant)| &*constant.device));
        devices.extend(
            self.events
                .iter()
                .filter_map(|(_, event)| event.device.as_deref()),
        );
        devices.extend(self.streams.iter().map(|(_, device)| &**device));
        devices.extend(self.budget.iter().map(|(device, _)| &**device));
        let mut lists = vec![&self.main];
        while let Some(list) = lists.pop() {
            for Instruction { op, .. } in list {
                match op {
                    Operation::Allocate { device, .. } => devices.extend([device.as_str()]),
                    Operation::Transfer {
                        src_device,
                        dst_device,
                        ..
                    } => devices.extend([src_device.as_str(), dst_device]),
                    Operation::Fork { instructions, .. } => lists.push(instructions),
                    _ => {}
                }
            }
        }
        devices
    }
}

/// The types of a function of the caller's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    /// Types of its results.
    pub outs: Vec<Type>,
    /// Types of its operands.
    pub ins: Vec<Type>,
}

/// The field of a curve's scalars.
#[must_use]
pub const fn scalars(curve: Curve) -> DType {
    DType::Field(curve.facts().scalar)
}

/// The type of a register. Scalars, points and bytes are tensors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// Elements.
    Tensor {
        /// Type of the elements.
        dtype: DType,
        /// Sizes.
        shape: Vec<u64>,
        /// The form of a polynomial, where it is known.
        repr: Option<Repr>,
    },
    /// A Fiat-Shamir transcript.
    Transcript {
        /// The curve.
        curve: Curve,
        /// `blake2b` or `keccak256`.
        hash: String,
        /// Bytes that it has room for.
        bytes: u64,
    },
    /// Several registers under one name.
    Tuple(Vec<Type>),
    /// Bytes; how many is not said for outputs.
    Bytes(Option<u64>),
}

impl Type {
    /// The form of a polynomial, where the type states it.
    #[must_use]
    pub const fn repr(&self) -> Option<Repr> {
        match self {
            Self::Tensor { repr, .. } => *repr,
            _ => None,
        }
    }

    /// The type in words, as far as registers of the same dtype and sizes may differ.
    #[must_use]
    pub fn described(&self) -> String {
        match self {
            Self::Transcript { curve, hash, .. } => {
                format!("a transcript of {hash} over {}", curve.name())
            }
            other => other.repr().map_or("elements", Repr::described).to_owned(),
        }
    }

    /// Dtype and sizes; none for tuples, and bytes without a number.
    #[must_use]
    pub fn tensor(&self) -> Option<(DType, Vec<u64>)> {
        match self {
            Self::Tensor { dtype, shape, .. } => Some((*dtype, shape.clone())),
            // What was absorbed, and the proof, behind two counts: see the op `transcript_new`.
            Self::Transcript { bytes, .. } => {
                Some((DType::U8, vec![bytes.saturating_mul(2).saturating_add(16)]))
            }
            Self::Bytes(n) => n.map(|n| (DType::U8, vec![n])),
            Self::Tuple(_) => None,
        }
    }
}

/// The declaration of a register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// Type of the contents.
    pub ty: Type,
    /// The device: `cpu`, `gpu:0`, `disk`.
    pub device: String,
}

/// The declaration of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Its type.
    pub ty: Type,
    /// The device that the input lies on.
    pub device: String,
    /// Whether the program may write it and must free it.
    pub consume: bool,
}

/// Data of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Its type.
    pub ty: Type,
    /// The device that the constant lies on.
    pub device: String,
    /// Its elements.
    pub data: Data,
}

/// Elements, in canonical form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// Integers as written, row-major; points are x, y.
    Values(Vec<Value>),
    /// Little-endian words in a file beside the program.
    File {
        /// Its name; no way out of the program's folder.
        file: String,
        /// Bytes before the first element.
        offset: u64,
        /// Number of bytes.
        bytes: u64,
        /// Their SHA-256, in hexadecimal.
        sha256: Option<String>,
    },
}

/// The declaration of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The device whose streams record it; none: a thread does.
    pub device: Option<String>,
}

/// An instruction with what may stand beside each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The operation, with its fields.
    pub op: Operation,
    /// Its name in messages; none: its path, such as `main/12`.
    pub id: Option<String>,
    /// The place of the builder's call that made it.
    pub src_loc: Option<String>,
    /// A label for profiles.
    pub track: Option<String>,
}

/// Place in a static plan of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The name of the pool.
    pub pool: String,
    /// Bytes before it.
    pub offset: u64,
}

/// One axis of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// One index; the axis goes.
    Index(u64),
    /// `start:stop:step`.
    Range(u64, u64, u64),
    /// All axes that no other entry means.
    Rest,
}

/// The elements that a slice takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sliced {
    /// `start:end:step` of a tensor of one axis.
    Range(u64, u64, u64),
    /// An entry an axis.
    Entries(Vec<Entry>),
}

/// A view of another shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Viewed {
    /// The same elements row-major.
    Reshape(Vec<u64>),
    /// The axes in this order.
    Permute(Vec<u64>),
    /// An axis of size one, repeated.
    Expand {
        /// The axis.
        axis: u64,
        /// The number of repetitions.
        repeat: u64,
    },
    /// NumPy's broadcast.
    Broadcast(Vec<u64>),
    /// All of it, taken as coefficients, as values, or as neither.
    As(Option<Repr>),
}

/// Registers that a program returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Returned {
    /// Their names.
    pub names: Vec<String>,
    /// Whether they are written as a list.
    pub list: bool,
}
