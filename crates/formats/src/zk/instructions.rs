//! From the tree to instructions: which fields each has.

use super::ast::{Entry, Instruction, Operation, Placed, Sliced, Viewed};
use super::fields::Fields;
use super::value::Value;
use cloakwork_ir::{Curve, Finding, Repr};

/// All instructions, in the document's order.
pub(super) const NAMES: [&str; 25] = [
    "Allocate",
    "Deallocate",
    "RemoveRegister",
    "MoveRegister",
    "Transfer",
    "LoadConstant",
    "LoadInput",
    "Store",
    "Element",
    "Rotation",
    "Slice",
    "SetSliceMeta",
    "View",
    "AssembleTuple",
    "FuncCall",
    "Blind",
    "AssertEq",
    "Print",
    "Fork",
    "Join",
    "Record",
    "Wait",
    "SegmentStart",
    "SegmentEnd",
    "Return",
];
/// Those whose `id` is a register; others have it for their own name.
const ID_IS_A_REGISTER: [&str; 5] = [
    "Allocate",
    "Deallocate",
    "RemoveRegister",
    "Print",
    "Return",
];

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
    let own_id = !ID_IS_A_REGISTER.contains(&name.as_str());
    let id = if own_id {
        fields.maybe_text("id")
    } else {
        None
    };
    let src_loc = fields.maybe_text("src_loc");
    let track = fields.maybe_text("track");
    let mut op = operation(&name, &mut fields);
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

/// What is left of an instruction that cannot be read: the registers that it would define.
fn unreadable(name: String, op: &Operation) -> Operation {
    let defines = op.defines().map(ToOwned::to_owned);
    let defines = defines.filter(|name| !name.is_empty()).collect();
    let mentions = op.mentions().into_iter().map(ToOwned::to_owned).collect();
    Operation::Unreadable {
        op: name,
        defines,
        mentions,
    }
}

impl Operation {
    /// The register that it defines, if it defines one.
    pub fn defines(&self) -> impl Iterator<Item = &str> {
        let (one, many): (Option<&String>, &[String]) = match self {
            Self::Allocate { id, .. } => (Some(id), &[]),
            Self::MoveRegister { dst, .. }
            | Self::LoadConstant { dst, .. }
            | Self::LoadInput { dst, .. }
            | Self::Rotation { dst, .. }
            | Self::Slice { dst, .. }
            | Self::SetSliceMeta { dst, .. }
            | Self::View { dst, .. }
            | Self::AssembleTuple { dst, .. } => (Some(dst), &[]),
            Self::Unreadable { defines, .. } => (None, defines),
            _ => (None, &[]),
        };
        one.into_iter().chain(many).map(String::as_str)
    }

    /// The registers that it names beside those that it defines.
    #[must_use]
    pub fn mentions(&self) -> Vec<&str> {
        let (some, many): (&[&String], &[&Vec<String>]) = match self {
            Self::Deallocate { id } | Self::RemoveRegister { id } | Self::Print { id, .. } => {
                (&[id], &[])
            }
            Self::MoveRegister { src, .. }
            | Self::Store { src, .. }
            | Self::Rotation { src, .. }
            | Self::Slice { src, .. }
            | Self::SetSliceMeta { src, .. }
            | Self::View { src, .. } => (&[src], &[]),
            Self::Transfer { src_id, dst_id, .. } => (&[src_id, dst_id], &[]),
            Self::Element { src, dst, .. } => (&[src, dst], &[]),
            Self::Blind { dst, .. } => (&[dst], &[]),
            Self::AssertEq {
                value, expected, ..
            } => (&[value, expected], &[]),
            Self::AssembleTuple { vars, .. } => (&[], &[vars]),
            Self::FuncCall { arg_mut, arg, .. } => (&[], &[arg_mut, arg]),
            Self::Return { id, .. } => (&[], &[id]),
            Self::Unreadable { mentions, .. } => (&[], &[mentions]),
            _ => (&[], &[]),
        };
        let many = many.iter().flat_map(|names| names.iter());
        some.iter()
            .copied()
            .chain(many)
            .map(String::as_str)
            .collect()
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

    /// Whether a stream does it.
    #[must_use]
    pub fn is_queued(&self) -> bool {
        match self {
            Self::Transfer { stream, .. }
            | Self::Element { stream, .. }
            | Self::FuncCall { stream, .. }
            | Self::Blind { stream, .. }
            | Self::Record { stream, .. }
            | Self::Wait { stream, .. } => stream.is_some(),
            _ => false,
        }
    }

    /// What it does, as messages say it: its name, and that of the function that it calls.
    #[must_use]
    pub fn said(&self) -> String {
        match self {
            Self::FuncCall { func, .. } => format!("FuncCall {}", cloakwork_ir::shortened(func)),
            other => other.name().to_owned(),
        }
    }

    /// Its name in files.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Allocate { .. } => "Allocate",
            Self::Deallocate { .. } => "Deallocate",
            Self::RemoveRegister { .. } => "RemoveRegister",
            Self::MoveRegister { .. } => "MoveRegister",
            Self::Transfer { .. } => "Transfer",
            Self::LoadConstant { .. } => "LoadConstant",
            Self::LoadInput { .. } => "LoadInput",
            Self::Store { .. } => "Store",
            Self::Element { .. } => "Element",
            Self::Rotation { .. } => "Rotation",
            Self::Slice { .. } => "Slice",
            Self::SetSliceMeta { .. } => "SetSliceMeta",
            Self::View { .. } => "View",
            Self::AssembleTuple { .. } => "AssembleTuple",
            Self::FuncCall { .. } => "FuncCall",
            Self::Blind { .. } => "Blind",
            Self::AssertEq { .. } => "AssertEq",
            Self::Print { .. } => "Print",
            Self::Fork { .. } => "Fork",
            Self::Join { .. } => "Join",
            Self::Record { .. } => "Record",
            Self::Wait { .. } => "Wait",
            Self::SegmentStart { .. } => "SegmentStart",
            Self::SegmentEnd { .. } => "SegmentEnd",
            Self::Return { .. } => "Return",
            Self::Unreadable { op, .. } => op,
        }
    }
}

fn operation(name: &str, fields: &mut Fields<'_, '_>) -> Operation {
    match name {
        "Allocate" | "Deallocate" | "RemoveRegister" | "MoveRegister" => memory(name, fields),
        "Transfer" | "LoadConstant" | "LoadInput" | "Store" | "Element" => data(name, fields),
        "Rotation" | "Slice" | "SetSliceMeta" | "View" | "AssembleTuple" => view(name, fields),
        "FuncCall" | "Blind" | "AssertEq" | "Print" => compute(name, fields),
        _ => synchronize(name, fields),
    }
}

fn memory(name: &str, fields: &mut Fields<'_, '_>) -> Operation {
    match name {
        "Allocate" => Operation::Allocate {
            id: fields.name("id"),
            device: fields.device("device", None),
            typ: fields.ty("typ"),
            at: placed(fields),
            zero: fields.flag("zero"),
        },
        "Deallocate" => Operation::Deallocate {
            id: fields.name("id"),
        },
        "RemoveRegister" => Operation::RemoveRegister {
            id: fields.name("id"),
        },
        _ => Operation::MoveRegister {
            src: fields.name("src"),
            dst: fields.name("dst"),
        },
    }
}

fn placed(fields: &mut Fields<'_, '_>) -> Option<Placed> {
    let value = fields.optional("at")?;
    let path = format!("{}.at", fields.path);
    let mut inner = Fields::new(value, path, fields.curve, fields.found);
    let placed = Placed {
        pool: inner.text("pool"),
        offset: inner.size("offset"),
    };
    let ok = inner.end();
    fields.ok &= ok;
    Some(placed)
}

fn data(name: &str, fields: &mut Fields<'_, '_>) -> Operation {
    match name {
        "Transfer" => Operation::Transfer {
            src_id: fields.name("src_id"),
            dst_id: fields.name("dst_id"),
            src_device: fields.device("src_device", None),
            dst_device: fields.device("dst_device", None),
            stream: fields.maybe_text("stream"),
            pad: match fields.maybe_text("pad").as_deref() {
                None => false,
                Some("zero") => true,
                Some(other) => {
                    fields.wrong("pad", "\"zero\"", format!("\"{other}\""), "");
                    false
                }
            },
        },
        "LoadConstant" => Operation::LoadConstant {
            src: fields.text("src"),
            dst: fields.name("dst"),
        },
        "LoadInput" => Operation::LoadInput {
            src: fields.text("src"),
            dst: fields.name("dst"),
        },
        "Store" => Operation::Store {
            src: fields.name("src"),
            output: fields.text("output"),
        },
        _ => Operation::Element {
            src: fields.name("src"),
            dst: fields.name("dst"),
            index: fields.size("index"),
            stream: fields.maybe_text("stream"),
        },
    }
}

fn view(name: &str, fields: &mut Fields<'_, '_>) -> Operation {
    if name == "AssembleTuple" {
        return Operation::AssembleTuple {
            vars: fields.names("vars"),
            dst: fields.name("dst"),
        };
    }
    let (src, dst) = (fields.name("src"), fields.name("dst"));
    match name {
        "Rotation" => Operation::Rotation {
            src,
            dst,
            shift: fields.int("shift"),
        },
        "Slice" => Operation::Slice {
            src,
            dst,
            what: sliced(fields),
        },
        "SetSliceMeta" => Operation::SetSliceMeta {
            src,
            dst,
            offset: fields.int("offset"),
            len: fields.size("len"),
        },
        _ => Operation::View {
            src,
            dst,
            what: viewed(fields),
        },
    }
}

fn sliced(fields: &mut Fields<'_, '_>) -> Sliced {
    let Some(value) = fields.optional("entries") else {
        let (start, end) = (fields.size("start"), fields.size("end"));
        return Sliced::Range(start, end, fields.maybe_size("step").unwrap_or(1));
    };
    let Value::List(list) = value else {
        fields.wrong("entries", "a list", value.described(), "an entry an axis");
        return Sliced::Entries(Vec::new());
    };
    let entries = list.iter().enumerate();
    Sliced::Entries(
        entries
            .map(|(index, value)| entry(fields, &format!("entries[{index}]"), value))
            .collect(),
    )
}

fn entry(fields: &mut Fields<'_, '_>, key: &str, value: &Value) -> Entry {
    match value {
        Value::Text(text) if text == "..." => Entry::Rest,
        Value::List(list) if (2..=3).contains(&list.len()) => {
            let mut bounds = [0, 0, 1];
            for (bound, value) in bounds.iter_mut().zip(list) {
                *bound = fields.size_of(key, value);
            }
            let [start, stop, step] = bounds;
            Entry::Range(start, stop, step)
        }
        Value::Int(_) => Entry::Index(fields.size_of(key, value)),
        other => {
            let expected = "an index, [start, end], [start, end, step] or \"...\"";
            fields.wrong(key, expected, other.described(), "");
            Entry::Rest
        }
    }
}

fn viewed(fields: &mut Fields<'_, '_>) -> Viewed {
    match fields.text("kind").as_str() {
        "reshape" => Viewed::Reshape(fields.sizes("args")),
        "permute" => Viewed::Permute(fields.sizes("args")),
        "broadcast" => Viewed::Broadcast(fields.sizes("args")),
        "expand" => match *fields.sizes("args") {
            [axis, repeat] => Viewed::Expand { axis, repeat },
            _ => {
                fields.wrong("args", "[axis, repeat]", "another list", "");
                Viewed::Reshape(Vec::new())
            }
        },
        "coef" => Viewed::As(Some(Repr::Coef)),
        "lagrange" => Viewed::As(Some(Repr::Lagrange)),
        "elements" => Viewed::As(None),
        other => {
            fields.optional("args");
            let expected = "\"reshape\", \"permute\", \"expand\", \"broadcast\", \"coef\", \
                            \"lagrange\" or \"elements\"";
            fields.wrong("kind", expected, format!("\"{other}\""), "");
            Viewed::Reshape(Vec::new())
        }
    }
}

fn compute(name: &str, fields: &mut Fields<'_, '_>) -> Operation {
    match name {
        "FuncCall" => Operation::FuncCall {
            func: fields.text("func"),
            arg_mut: fields.names("arg_mut"),
            arg: fields.names("arg"),
            attrs: match fields.optional("attrs") {
                None => Vec::new(),
                Some(Value::Map(entries)) => entries.clone(),
                Some(other) => {
                    fields.wrong("attrs", "an object", other.described(), "");
                    Vec::new()
                }
            },
            stream: fields.maybe_text("stream"),
        },
        "Blind" => Operation::Blind {
            dst: fields.name("dst"),
            start: fields.size("start"),
            end: fields.size("end"),
            domain: fields.maybe_text("domain"),
            stream: fields.maybe_text("stream"),
        },
        "AssertEq" => Operation::AssertEq {
            value: fields.name("value"),
            expected: fields.name("expected"),
            msg: fields.maybe_text("msg"),
        },
        _ => Operation::Print {
            id: fields.name("id"),
            label: fields.text("label"),
        },
    }
}

fn synchronize(name: &str, fields: &mut Fields<'_, '_>) -> Operation {
    match name {
        "Fork" => {
            let new_thread = fields.name("new_thread");
            let list = fields.required("instructions", "a list of instructions");
            let path = format!("{}.instructions", fields.path);
            let curve = fields.curve;
            let instructions = list.map_or_else(Vec::new, |list| {
                instructions(list, &new_thread, &path, curve, fields.found)
            });
            Operation::Fork {
                new_thread,
                instructions,
            }
        }
        "Join" => Operation::Join {
            thread: fields.text("thread"),
        },
        "Record" => Operation::Record {
            event: fields.text("event"),
            stream: fields.maybe_text("stream"),
        },
        "Wait" => Operation::Wait {
            event: fields.text("event"),
            slave: fields
                .optional("slave")
                .map(|_| fields.device("slave", None)),
            stream: fields.maybe_text("stream"),
        },
        "SegmentStart" => Operation::SegmentStart {
            name: fields.text("name"),
        },
        "SegmentEnd" => Operation::SegmentEnd {
            name: fields.maybe_text("name"),
        },
        "Return" => {
            let value = fields.required("id", "a register, or a list of them");
            let list = matches!(value, Some(Value::List(_)));
            let id = match value {
                Some(value) if list => fields.names_of("id", value),
                Some(_) => vec![fields.name("id")],
                None => Vec::new(),
            };
            Operation::Return { id, list }
        }
        _ => Operation::Unreadable {
            op: name.to_owned(),
            defines: guessed(fields),
            mentions: fields.texts(),
        },
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
