//! Integers, names and enums: the leaves of an argument.

use super::cursor::{Cursor, Kind};
use super::fault::Fault;
use cloakwork_ir::{DType, shortened};
use std::borrow::Cow;

/// A value, or words for the wrong one in its place.
pub(super) type Said<T> = Result<T, Box<str>>;

/// An integer of 64 bits, or a boolean as 0 or 1.
pub(super) fn integer(cursor: &mut Cursor<'_>) -> Result<Said<i64>, Fault> {
    match cursor.peek()? {
        Kind::Number => {
            let digits = cursor.number()?;
            Ok(digits.parse().map_err(|_| {
                let shown = shortened(digits);
                format!("the number {shown} where a 64-bit integer belongs").into()
            }))
        }
        Kind::Word => Ok(match cursor.word()? {
            Some(value) => Ok(i64::from(value)),
            None => Err("null where an integer belongs".into()),
        }),
        _ => {
            let got = cursor.skip_described()?;
            Ok(Err(format!("{got} where an integer belongs").into()))
        }
    }
}

/// An element type: its name, or `{"__type__": "dtype", "value": name}`.
pub(super) fn dtype(cursor: &mut Cursor<'_>) -> Result<Said<DType>, Fault> {
    if !matches!(cursor.peek()?, Kind::Text | Kind::Object) {
        return Ok(Err(format!("{} as dtype", cursor.skip_described()?).into()));
    }
    let name = enumerator(cursor, "dtype")?;
    let name = name.as_deref().unwrap_or("null");
    Ok(DType::from_name(name).ok_or_else(|| format!("the dtype \"{}\"", shortened(name)).into()))
}

/// The name of a device tensor: an integer as its digits, or a string.
pub(super) fn tensor_name<'a>(cursor: &mut Cursor<'a>) -> Result<Said<Cow<'a, str>>, Fault> {
    match cursor.peek()? {
        Kind::Text => Ok(Ok(cursor.string()?)),
        Kind::Number => {
            let digits = cursor.number()?;
            let integer = digits.bytes().all(|c| c.is_ascii_digit() || c == b'-');
            let name = if digits == "-0" { "0" } else { digits };
            Ok(if integer {
                Ok(Cow::Borrowed(name))
            } else {
                Err(unnamed(digits).into())
            })
        }
        _ => Ok(Err(unnamed(&cursor.skip_described()?).into())),
    }
}

fn unnamed(said: &str) -> String {
    format!("{} as the name of a tensor", shortened(said))
}

/// Reads a name, `{"__type__": ty, "value": name}`, or null.
pub(super) fn enumerator<'a>(
    cursor: &mut Cursor<'a>,
    ty: &str,
) -> Result<Option<Cow<'a, str>>, Fault> {
    let mut name = None;
    match cursor.peek()? {
        Kind::Text => name = Some(cursor.string()?),
        Kind::Object => cursor.object(|cursor, key| {
            match key {
                "__type__" => require_type(cursor, ty)?,
                "value" => name = enumerator_value(cursor)?,
                _ => cursor.skip()?,
            }
            Ok(())
        })?,
        _ => name = enumerator_value(cursor)?,
    }
    Ok(name)
}

/// A string or null; anything else becomes words that no enum has as a name.
fn enumerator_value<'a>(cursor: &mut Cursor<'a>) -> Result<Option<Cow<'a, str>>, Fault> {
    if cursor.peek()? == Kind::Text {
        return cursor.string().map(Some);
    }
    let said = cursor.skip_described()?;
    Ok((said != "`null`").then_some(Cow::Owned(said)))
}

/// Reads the value of `__type__`; an error if it is another than expected.
pub(super) fn require_type(cursor: &mut Cursor<'_>, expected: &str) -> Result<(), Fault> {
    let at = cursor.at();
    let got = cursor.string()?;
    if got == expected {
        return Ok(());
    }
    let [expected, got] = [expected, &got].map(|name| format!("\"{name}\""));
    Err(Fault::new(at, &expected, &got))
}

/// Reads the value of `__type__`; words for it if it is another than expected.
pub(super) fn other_type(
    cursor: &mut Cursor<'_>,
    expected: &str,
) -> Result<Option<Box<str>>, Fault> {
    let got = cursor.string()?;
    Ok((got != expected).then(|| format!("an object of __type__ \"{}\"", shortened(&got)).into()))
}
