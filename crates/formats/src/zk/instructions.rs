//! The instructions and their fields: one table, by which they are read and written.

use super::ast::{Instruction, Placed, Returned, Sliced, Type, Viewed};
use super::fields::Fields;
use super::kinds::{
    ALL_USED, ATTRS, DEFINED, DEVICE, FLAG, INT, NAME, OPTIONAL_DEVICE, OPTIONAL_TEXT, PAD, PLACED,
    RETURNED, Role, SIZE, SLICED, STREAM, TEXT, THREAD, TYPE, USED, VIEWED,
};
use super::value::Value;
use super::write::Writer;
use cloakwork_ir::{Curve, Finding};

/// Defines [`Operation`] and its files' form from rows `Name { field: Type = KIND, ... }`, whose
/// fields are written in this order.
macro_rules! instructions {
    ($($name:ident { $($field:ident: $type:ty = $kind:ident),* })*) => {
        /// The operation of an instruction; fields as in the file.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum Operation {
            $($name { $($field: $type),* },)*
            /// It cannot be read; it would define these registers, and names these.
            Unreadable { op: String, defines: Vec<String>, mentions: Vec<String> },
        }

        /// All instructions, in the document's order.
        const NAMES: &[&str] = &[$(stringify!($name)),*];

        /// Whether an instruction's `id` is a register; others have it for their own name.
        fn id_is_a_register(name: &str) -> bool {
            match name {
                $(stringify!($name) => [$(stringify!($field)),*].contains(&"id"),)*
                _ => false,
            }
        }

        impl Operation {
            fn read(name: &str, fields: &mut Fields<'_, '_>) -> Self {
                match name {
                    $(stringify!($name) => Self::$name {
                        $($field: ($kind.read)(fields, stringify!($field))),*
                    },)*
                    _ => Self::Unreadable {
                        op: name.to_owned(),
                        defines: guessed(fields),
                        mentions: fields.texts(),
                    },
                }
            }

            pub(super) fn write(&self, writer: &mut Writer) {
                match self {
                    $(Self::$name { $($field),* } => {
                        $(($kind.write)($field, writer, stringify!($field));)*
                    })*
                    Self::Unreadable { .. } => {}
                }
            }

            /// The names in fields of a role.
            fn names(&self, role: Role) -> Vec<&str> {
                let mut names = Vec::new();
                match self {
                    $(Self::$name { $($field),* } => {
                        $(names.extend($kind.names(role, $field));)*
                    })*
                    Self::Unreadable { defines, mentions, .. } => match role {
                        Role::Defines => names.extend(defines),
                        Role::Mentions => names.extend(mentions),
                        Role::Queues | Role::Other => {}
                    },
                }
                names.into_iter().map(String::as_str).collect()
            }

            /// Its name in files.
            #[must_use]
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$name { .. } => stringify!($name),)*
                    Self::Unreadable { op, .. } => op,
                }
            }
        }
    };
}

instructions! {
    Allocate {
        id: String = DEFINED, device: String = DEVICE, typ: Type = TYPE,
        at: Option<Placed> = PLACED, zero: bool = FLAG
    }
    Deallocate { id: String = USED }
    RemoveRegister { id: String = USED }
    MoveRegister { src: String = USED, dst: String = DEFINED }
    Transfer {
        src_id: String = USED, dst_id: String = USED,
        src_device: String = DEVICE, dst_device: String = DEVICE,
        stream: Option<String> = STREAM, pad: bool = PAD
    }
    LoadConstant { src: String = TEXT, dst: String = DEFINED }
    LoadInput { src: String = TEXT, dst: String = DEFINED }
    Store { src: String = USED, output: String = TEXT }
    Element {
        src: String = USED, dst: String = USED, index: u64 = SIZE,
        stream: Option<String> = STREAM
    }
    Rotation { src: String = USED, dst: String = DEFINED, shift: i64 = INT }
    Slice { src: String = USED, dst: String = DEFINED, what: Sliced = SLICED }
    SetSliceMeta { src: String = USED, dst: String = DEFINED, offset: i64 = INT, len: u64 = SIZE }
    View { src: String = USED, dst: String = DEFINED, what: Viewed = VIEWED }
    AssembleTuple { vars: Vec<String> = ALL_USED, dst: String = DEFINED }
    FuncCall {
        func: String = TEXT, arg_mut: Vec<String> = ALL_USED, arg: Vec<String> = ALL_USED,
        attrs: Vec<(String, Value)> = ATTRS, stream: Option<String> = STREAM
    }
    Blind {
        dst: String = USED, start: u64 = SIZE, end: u64 = SIZE,
        domain: Option<String> = OPTIONAL_TEXT, stream: Option<String> = STREAM
    }
    AssertEq { value: String = USED, expected: String = USED, msg: Option<String> = OPTIONAL_TEXT }
    Print { id: String = USED, label: String = TEXT }
    Fork { new_thread: String = NAME, instructions: Vec<Instruction> = THREAD }
    Join { thread: String = TEXT }
    Record { event: String = TEXT, stream: Option<String> = STREAM }
    Wait {
        event: String = TEXT, slave: Option<String> = OPTIONAL_DEVICE,
        stream: Option<String> = STREAM
    }
    SegmentStart { name: String = TEXT }
    SegmentEnd { name: Option<String> = OPTIONAL_TEXT }
    Return { id: Returned = RETURNED }
}

/// The instructions of a thread. `label` is the thread's name, `path` the way to the list.
pub(super) fn instructions(
    value: &Value,
    label: &str,
    path: &str,
    curve: Option<Curve>,
    found: &mut Vec<Finding>,
) -> Vec<Instruction> {
    let Value::List(list) = value else {
        let expected = "a list of instructions";
        found.push(Finding::error("V01", expected, value.described()).field(path));
        return Vec::new();
    };
    let mut read = Vec::with_capacity(list.len());
    for (index, value) in list.iter().enumerate() {
        let before = found.len();
        let place = format!("{path}[{index}]");
        let instruction = one(Fields::new(value, place, curve, found));
        let own = instruction.id.clone();
        let own = own.unwrap_or_else(|| format!("{label}/{index}"));
        for finding in found.iter_mut().skip(before) {
            if finding.label.as_ref().is_none_or(String::is_empty) {
                finding.label = Some(own.clone());
            }
        }
        read.push(instruction);
    }
    read
}

fn one(mut fields: Fields<'_, '_>) -> Instruction {
    let name = fields.text("op");
    let id = match id_is_a_register(&name) {
        false => fields.maybe_text("id"),
        true => None,
    };
    let src_loc = fields.maybe_text("src_loc");
    let track = fields.maybe_text("track");
    let mut op = Operation::read(&name, &mut fields);
    let keep = matches!(op, Operation::Fork { .. });
    if !NAMES.contains(&name.as_str()) {
        if fields.ok {
            let hint = format!("the instructions are {}", NAMES.join(", "));
            let got = format!("\"{}\"", cloakwork_ir::shortened(&name));
            fields.wrong("op", "an instruction", got, &hint);
        }
    } else if !fields.end() && !keep {
        op = unreadable(name, &op);
    }
    Instruction {
        op,
        id,
        src_loc,
        track,
    }
}

/// The rest of an instruction that cannot be read: the registers that it would define.
fn unreadable(name: String, op: &Operation) -> Operation {
    let named = op.defines().into_iter().filter(|name| !name.is_empty());
    Operation::Unreadable {
        op: name,
        defines: named.map(str::to_owned).collect(),
        mentions: op.mentions().into_iter().map(str::to_owned).collect(),
    }
}

impl Operation {
    /// The registers that it defines.
    #[must_use]
    pub fn defines(&self) -> Vec<&str> {
        self.names(Role::Defines)
    }

    /// The registers that it names beside those that it defines.
    #[must_use]
    pub fn mentions(&self) -> Vec<&str> {
        self.names(Role::Mentions)
    }

    /// Whether it is queued on a stream.
    #[must_use]
    pub fn is_queued(&self) -> bool {
        !self.names(Role::Queues).is_empty()
    }

    /// Whether it is about the order of threads and streams, or may be.
    #[must_use]
    pub fn may_order(&self) -> bool {
        match self {
            Self::Fork { .. } | Self::Join { .. } | Self::Record { .. } | Self::Wait { .. } => true,
            Self::Unreadable { op, .. } => {
                let orders = ["Fork", "Join", "Record", "Wait"].contains(&op.as_str());
                orders || !NAMES.contains(&op.as_str())
            }
            _ => false,
        }
    }

    /// The operation as messages name it: its name, and that of the function that it calls.
    #[must_use]
    pub fn said(&self) -> String {
        match self {
            Self::FuncCall { func, .. } => format!("FuncCall {}", cloakwork_ir::shortened(func)),
            other => other.name().to_owned(),
        }
    }
}

/// The registers that an unknown instruction may define.
fn guessed(fields: &mut Fields<'_, '_>) -> Vec<String> {
    let texts = ["dst", "id"].map(|key| match fields.optional(key) {
        Some(Value::Text(text)) => Some(text.clone()),
        _ => None,
    });
    texts.into_iter().flatten().collect()
}
