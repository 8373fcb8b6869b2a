//! Kinds of fields of instructions: how each is read, checked and written, and which registers it
//! names.

use super::ast::{Entry, Instruction, Placed, Returned, Sliced, Type, Viewed};
use super::fields::Fields;
use super::instructions::instructions;
use super::value::Value;
use super::write::Writer;
use cloakwork_ir::Repr;

/// The role of a field's names in an instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Defines registers.
    Defines,
    /// Uses registers.
    Mentions,
    /// Is queued on a stream.
    Queues,
    /// Anything else.
    Other,
}

/// A kind of field whose value is a `T`.
pub(super) struct Kind<T> {
    pub read: fn(&mut Fields<'_, '_>, &str) -> T,
    pub write: fn(&T, &mut Writer, &str),
    role: Role,
    names: fn(&T) -> &[String],
}

impl<T> Kind<T> {
    const fn new(
        read: fn(&mut Fields<'_, '_>, &str) -> T,
        write: fn(&T, &mut Writer, &str),
    ) -> Self {
        Self {
            read,
            write,
            role: Role::Other,
            names: |_| &[],
        }
    }

    const fn with(mut self, role: Role, names: fn(&T) -> &[String]) -> Self {
        (self.role, self.names) = (role, names);
        self
    }

    /// The names in a field, where it has this role.
    pub fn names<'a>(&self, role: Role, value: &'a T) -> &'a [String] {
        if self.role == role {
            (self.names)(value)
        } else {
            &[]
        }
    }
}

pub(super) const TEXT: Kind<String> = Kind::new(|fields, key| fields.text(key), put_text);
pub(super) const NAME: Kind<String> = Kind::new(|fields, key| fields.name(key), put_text);
pub(super) const DEFINED: Kind<String> = NAME.with(Role::Defines, std::slice::from_ref);
pub(super) const USED: Kind<String> = NAME.with(Role::Mentions, std::slice::from_ref);
pub(super) const DEVICE: Kind<String> = Kind::new(|fields, key| fields.device(key, None), put_text);
pub(super) const ALL_USED: Kind<Vec<String>> = Kind::new(
    |fields, key| fields.names(key),
    |names, writer, key| writer.put(key, Value::texts(names)),
)
.with(Role::Mentions, Vec::as_slice);
pub(super) const SIZE: Kind<u64> = Kind::new(
    |fields, key| fields.size(key),
    |size, writer, key| writer.put(key, Value::size(*size)),
);
pub(super) const INT: Kind<i64> = Kind::new(
    |fields, key| fields.int(key),
    |number, writer, key| writer.put(key, Value::Int(*number)),
);
pub(super) const FLAG: Kind<bool> = Kind::new(
    |fields, key| fields.flag(key),
    |flag, writer, key| writer.put_some(key, flag.then_some(Value::Bool(true))),
);
pub(super) const TYPE: Kind<Type> = Kind::new(
    |fields, key| fields.ty(key),
    |ty, writer, key| writer.put(key, writer.ty(ty)),
);
pub(super) const OPTIONAL_TEXT: Kind<Option<String>> =
    Kind::new(|fields, key| fields.maybe_text(key), put_optional);
pub(super) const STREAM: Kind<Option<String>> = OPTIONAL_TEXT.with(Role::Queues, Option::as_slice);
pub(super) const OPTIONAL_DEVICE: Kind<Option<String>> = Kind::new(
    |fields, key| fields.optional(key).map(|_| fields.device(key, None)),
    put_optional,
);
pub(super) const ATTRS: Kind<Vec<(String, Value)>> = Kind::new(
    |fields, key| match fields.optional(key) {
        None => Vec::new(),
        Some(Value::Map(entries)) => entries.clone(),
        Some(other) => {
            fields.wrong(key, "an object", other.described(), "");
            Vec::new()
        }
    },
    |attrs, writer, key| {
        let attrs = (!attrs.is_empty()).then(|| Value::Map(attrs.clone()));
        writer.put_some(key, attrs);
    },
);
/// `"zero"`, or nothing.
pub(super) const PAD: Kind<bool> = Kind::new(
    |fields, key| match fields.maybe_text(key).as_deref() {
        None => false,
        Some("zero") => true,
        Some(other) => fields
            .known(key, None, "\"zero\"", other)
            .unwrap_or_default(),
    },
    |pad, writer, key| writer.put_some(key, pad.then(|| Value::text("zero"))),
);
pub(super) const PLACED: Kind<Option<Placed>> = Kind::new(
    |fields, key| {
        let value = fields.optional(key)?;
        let path = format!("{}.{key}", fields.path);
        let (placed, _) = fields.within(value, path, |fields| Placed {
            pool: fields.text("pool"),
            offset: fields.size("offset"),
        });
        Some(placed)
    },
    |at, writer, key| {
        let entries = |at: &Placed| {
            Value::map([
                ("pool", Value::text(&at.pool)),
                ("offset", Value::size(at.offset)),
            ])
        };
        writer.put_some(key, at.as_ref().map(entries));
    },
);
/// One register, or a list of them.
pub(super) const RETURNED: Kind<Returned> = Kind::new(
    |fields, key| {
        let value = fields.required(key, "a register, or a list of them");
        let list = matches!(value, Some(Value::List(_)));
        let names = match value {
            Some(value) if list => fields.names_of(key, value),
            Some(_) => vec![fields.name(key)],
            None => Vec::new(),
        };
        Returned { names, list }
    },
    |returned, writer, key| match (returned.names.as_slice(), returned.list) {
        ([one], false) => writer.put(key, Value::text(one)),
        (many, _) => writer.put(key, Value::texts(many)),
    },
)
.with(Role::Mentions, |returned| &returned.names);
/// The instructions of the thread that the field `new_thread` names.
pub(super) const THREAD: Kind<Vec<Instruction>> = Kind::new(
    |fields, key| {
        let Some(list) = fields.required(key, "a list of instructions") else {
            return Vec::new();
        };
        let thread = match fields.optional("new_thread") {
            Some(Value::Text(name)) => name,
            _ => "",
        };
        let path = format!("{}.{key}", fields.path);
        instructions(list, thread, &path, fields.curve, fields.found)
    },
    |list, writer, key| writer.put(key, writer.list(list)),
);
/// `entries`, or `start`, `end` and `step`, beside the other fields.
pub(super) const SLICED: Kind<Sliced> = Kind::new(|fields, _| sliced(fields), put_sliced);
/// `kind` and `args` beside the other fields.
pub(super) const VIEWED: Kind<Viewed> = Kind::new(|fields, _| viewed(fields), put_viewed);

fn put_text(text: &String, writer: &mut Writer, key: &str) {
    writer.put(key, Value::text(text));
}

fn put_optional(text: &Option<String>, writer: &mut Writer, key: &str) {
    writer.put_some(key, text.as_ref().map(Value::text));
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

fn entry<'a>(fields: &mut Fields<'a, '_>, key: &str, value: &'a Value) -> Entry {
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

fn put_sliced(what: &Sliced, writer: &mut Writer, _: &str) {
    match what {
        Sliced::Range(start, end, step) => {
            writer.put("start", Value::size(*start));
            writer.put("end", Value::size(*end));
            writer.put_some("step", (*step != 1).then(|| Value::size(*step)));
        }
        Sliced::Entries(entries) => {
            let entries = entries.iter().map(|entry| match *entry {
                Entry::Index(index) => Value::size(index),
                Entry::Range(start, stop, 1) => Value::sizes(&[start, stop]),
                Entry::Range(start, stop, step) => Value::sizes(&[start, stop, step]),
                Entry::Rest => Value::text("..."),
            });
            writer.put("entries", Value::List(entries.collect()));
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

fn put_viewed(what: &Viewed, writer: &mut Writer, _: &str) {
    let (kind, args) = match what {
        Viewed::Reshape(shape) => ("reshape", Some(Value::sizes(shape))),
        Viewed::Permute(axes) => ("permute", Some(Value::sizes(axes))),
        Viewed::Broadcast(shape) => ("broadcast", Some(Value::sizes(shape))),
        Viewed::Expand { axis, repeat } => ("expand", Some(Value::sizes(&[*axis, *repeat]))),
        Viewed::As(repr) => (repr.map_or("elements", Repr::name), None),
    };
    writer.put("kind", Value::text(kind));
    writer.put_some("args", args);
}
