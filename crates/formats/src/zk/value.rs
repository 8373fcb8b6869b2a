//! The tree of both written forms of a program, and its JSON.

use crate::heal::cursor::{Cursor, Kind};
use crate::heal::fault::Fault;
use std::collections::HashSet;
use std::fmt::Write;

/// Values in values, at most.
pub(super) const MAX_DEPTH: u32 = 64;
/// From so many keys on, an object's are looked up rather than searched.
const MANY_KEYS: usize = 16;

/// A value of JSON. Objects keep the order of their keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer of 64 bits.
    Int(i64),
    /// Any other number, as written.
    Number(String),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Value>),
    /// An object; no key comes twice.
    Map(Vec<(String, Value)>),
}

impl Value {
    /// Text.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A list of texts.
    pub(super) fn texts<'a>(texts: impl IntoIterator<Item = &'a String>) -> Self {
        Self::List(texts.into_iter().map(Self::text).collect())
    }

    /// An integer; sizes of programs are below 2^40.
    pub(super) fn size(size: u64) -> Self {
        i64::try_from(size).map_or_else(|_| Self::Number(size.to_string()), Self::Int)
    }

    /// A list of sizes.
    pub(super) fn sizes(sizes: &[u64]) -> Self {
        Self::List(sizes.iter().map(|&size| Self::size(size)).collect())
    }

    /// An object.
    pub(super) fn map(entries: impl IntoIterator<Item = (&'static str, Self)>) -> Self {
        let own = |(key, value): (&str, Self)| (key.to_owned(), value);
        Self::Map(entries.into_iter().map(own).collect())
    }

    /// The value of a key of an object.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(entries) => entries.iter().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }

    /// The value in words.
    #[must_use]
    pub fn described(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Int(value) => value.to_string(),
            Self::Number(text) => cloakwork_ir::shortened(text),
            Self::Text(text) => format!("\"{}\"", cloakwork_ir::shortened(text)),
            Self::List(_) => "an array".to_owned(),
            Self::Map(_) => "an object".to_owned(),
        }
    }

    /// The number that its text says: an integer of 64 bits, or as written.
    pub(super) fn number(text: &str) -> Self {
        text.parse()
            .map_or_else(|_| Self::Number(text.to_owned()), Self::Int)
    }
}

/// Reads JSON that nests at most 64 deep and has no key twice.
pub(super) fn parse(text: &[u8]) -> Result<Value, crate::LoadError> {
    let mut cursor = Cursor::new(text);
    let read = value(&mut cursor, 0).and_then(|value| cursor.end().map(|()| value));
    read.map_err(|fault| fault.finish(text))
}

fn value(cursor: &mut Cursor<'_>, depth: u32) -> Result<Value, Fault> {
    let kind = cursor.peek()?;
    if depth >= MAX_DEPTH {
        let expected = format!("at most {MAX_DEPTH} values in one another");
        return Err(Fault::new(cursor.at(), &expected, "deeper nesting"));
    }
    Ok(match kind {
        Kind::Object => object(cursor, depth)?,
        Kind::Array => {
            let mut list = Vec::new();
            cursor.array(|cursor, _| {
                list.push(value(cursor, depth + 1)?);
                Ok(())
            })?;
            Value::List(list)
        }
        Kind::Text => Value::Text(cursor.string()?.into_owned()),
        Kind::Number => Value::number(cursor.number()?),
        Kind::Word => cursor.word()?.map_or(Value::Null, Value::Bool),
    })
}

fn object(cursor: &mut Cursor<'_>, depth: u32) -> Result<Value, Fault> {
    let mut entries: Vec<(String, Value)> = Vec::new();
    let mut known: HashSet<String> = HashSet::new();
    cursor.object(|cursor, key| {
        let twice = if entries.len() < MANY_KEYS {
            entries.iter().any(|(other, _)| other == key)
        } else {
            if known.is_empty() {
                known.extend(entries.iter().map(|(key, _)| key.clone()));
            }
            !known.insert(key.to_owned())
        };
        if twice {
            let fault = Fault::new(cursor.at(), "each key once", "the same key again");
            return Err(fault.hint("give one of the two another name, or remove it"));
        }
        entries.push((key.to_owned(), value(cursor, depth + 1)?));
        Ok(())
    })?;
    Ok(Value::Map(entries))
}

/// Appends JSON on one line.
pub fn print(value: &Value, out: &mut String) {
    print_as(value, (print_text, ": "), out);
}

/// Appends a value on one line: how a text is written, and the words between a key and its value.
pub(super) fn print_as(
    value: &Value,
    (text, colon): (fn(&str, &mut String), &str),
    out: &mut String,
) {
    let comma = |index: usize| if index > 0 { ", " } else { "" };
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Int(value) => {
            let _ = write!(out, "{value}");
        }
        Value::Number(number) => out.push_str(number),
        Value::Text(value) => text(value, out),
        Value::List(list) => {
            out.push('[');
            for (index, value) in list.iter().enumerate() {
                out.push_str(comma(index));
                print_as(value, (text, colon), out);
            }
            out.push(']');
        }
        Value::Map(entries) => {
            out.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                out.push_str(comma(index));
                text(key, out);
                out.push_str(colon);
                print_as(value, (text, colon), out);
            }
            out.push('}');
        }
    }
}

/// Appends a string in quotes.
pub(super) fn print_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Appends JSON over several lines: a program, its tables and lists of objects are broken.
pub(super) fn print_lines(value: &Value, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth + 1);
    let line = |index: usize| format!("{}\n{indent}", if index > 0 { "," } else { "" });
    let close = match value {
        Value::Map(entries)
            if !entries.is_empty()
                && (depth < 2 || entries.iter().any(|(key, _)| key == "instructions")) =>
        {
            out.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                out.push_str(&line(index));
                print_text(key, out);
                out.push_str(": ");
                print_lines(value, depth + 1, out);
            }
            '}'
        }
        Value::List(list) if matches!(list.first(), Some(Value::Map(_))) => {
            out.push('[');
            for (index, value) in list.iter().enumerate() {
                out.push_str(&line(index));
                print_lines(value, depth + 1, out);
            }
            ']'
        }
        _ => return print(value, out),
    };
    let _ = write!(out, "\n{}{close}", "  ".repeat(depth));
}
