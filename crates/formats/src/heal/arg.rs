//! Arguments of a call. What makes no sense becomes words, for the verifier to report with the
//! step; only broken JSON is an error here.

use super::cursor::{Cursor, Kind};
use super::entry::Sink;
use super::fault::Fault;
use super::payload;
use cloakwork_ir::{Arg, DType, ShapeItem};
use std::borrow::Cow;

/// A value, or words for what stands in its place.
pub(super) type Said<T> = Result<T, Box<str>>;

#[derive(Clone, Debug)]
enum ArgType {
    DeviceTensor,
    HostTensor,
    Shape,
    Int,
    None,
    TensorType,
    Slice,
    Ellipsis,
    Unknown(Box<str>),
}

impl ArgType {
    fn from_name(name: &str) -> Self {
        match name {
            "DEVICE_TENSOR" => Self::DeviceTensor,
            "HOST_TENSOR" => Self::HostTensor,
            "SHAPE" => Self::Shape,
            "INT" => Self::Int,
            "NONE" => Self::None,
            "TENSOR_TYPE" => Self::TensorType,
            "SLICE" => Self::Slice,
            "ELLIPSIS" => Self::Ellipsis,
            _ => Self::Unknown(format!("the argument type \"{name}\"").into()),
        }
    }
}

/// Reads one argument.
pub(super) fn read<'a>(cursor: &mut Cursor<'a>, sink: &mut Sink<'a>) -> Result<Arg, Fault> {
    match cursor.peek()? {
        Kind::Object => {
            let arg = typed(cursor, |cursor, ty| value(cursor, sink, ty))?;
            Ok(arg.unwrap_or_else(Arg::Invalid))
        }
        Kind::Word => Ok(match cursor.word()? {
            None => Arg::None,
            Some(value) => Arg::Invalid(format!("a bare `{value}`").into()),
        }),
        _ => Ok(Arg::Invalid(
            format!("{} by itself", cursor.skip_described()?).into(),
        )),
    }
}

/// Reads `{"arg_type": ..., "value": ...}`, in either order.
fn typed<'a, T>(
    cursor: &mut Cursor<'a>,
    mut value: impl FnMut(&mut Cursor<'a>, &ArgType) -> Result<T, Fault>,
) -> Result<Said<T>, Fault> {
    let (mut wrong, mut ty, mut read, mut early) = (None, None, None, None);
    cursor.object(|cursor, key| {
        match key {
            "__type__" => wrong = other_type(cursor, "DeviceOpArg")?,
            "arg_type" => {
                let name = enumerator(cursor, "DeviceOpArgType")?;
                ty = Some(name.map_or_else(
                    || ArgType::Unknown("the argument type null".into()),
                    |name| ArgType::from_name(&name),
                ));
            }
            "value" => match &ty {
                Some(ty) => read = Some(value(cursor, ty)?),
                None => {
                    early = Some(cursor.at());
                    cursor.skip()?;
                }
            },
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    if let Some(said) = wrong {
        return Ok(Err(said));
    }
    let Some(ty) = ty else {
        return Ok(Err("an object without arg_type".into()));
    };
    if let (None, Some(at)) = (&read, early) {
        let end = cursor.at();
        cursor.seek(at);
        read = Some(value(cursor, &ty).map_err(|fault| fault.within_key("value"))?);
        cursor.seek(end);
    }
    match (read, ty) {
        (Some(read), _) => Ok(Ok(read)),
        (None, ArgType::Unknown(said)) => Ok(Err(said)),
        (None, ty) => Ok(Err(format!("a {ty:?} argument without value").into())),
    }
}

fn value<'a>(cursor: &mut Cursor<'a>, sink: &mut Sink<'a>, ty: &ArgType) -> Result<Arg, Fault> {
    let said = match ty {
        ArgType::DeviceTensor => device(cursor, sink)?,
        ArgType::HostTensor => payload::read(cursor, sink)?.map(Arg::Host),
        ArgType::Shape => shape(cursor)?,
        ArgType::Int => integer(cursor)?.map(Arg::Int),
        ArgType::None => none(cursor)?,
        ArgType::TensorType => dtype(cursor)?.map(Arg::DType),
        ArgType::Slice | ArgType::Ellipsis => {
            cursor.skip()?;
            Err(format!("a {ty:?} argument outside a SHAPE").into())
        }
        ArgType::Unknown(said) => {
            cursor.skip()?;
            Err(said.clone())
        }
    };
    Ok(said.unwrap_or_else(Arg::Invalid))
}

fn none(cursor: &mut Cursor<'_>) -> Result<Said<Arg>, Fault> {
    let described = cursor.skip_described()?;
    Ok(if described == "`null`" {
        Ok(Arg::None)
    } else {
        Err(described.into())
    })
}

fn device<'a>(cursor: &mut Cursor<'a>, sink: &mut Sink<'a>) -> Result<Said<Arg>, Fault> {
    if cursor.peek()? != Kind::Object {
        let name = tensor_name(cursor)?;
        return Ok(name.map(|name| Arg::Device(sink.program.symbol(&name), None)));
    }
    let (mut wrong, mut name, mut claimed) = (None, None, None);
    cursor.object(|cursor, key| {
        match key {
            "__type__" => wrong = other_type(cursor, "DeviceTensorPointer")?,
            "inf_name" => name = Some(tensor_name(cursor)?),
            "dtype" if cursor.peek()? == Kind::Word => drop(cursor.word()?),
            "dtype" => claimed = Some(dtype(cursor)?),
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok((|| {
        wrong.map_or(Ok(()), Err)?;
        let name = name.ok_or("a device tensor without inf_name")??;
        Ok(Arg::Device(
            sink.program.symbol(&name),
            claimed.transpose()?,
        ))
    })())
}

fn shape(cursor: &mut Cursor<'_>) -> Result<Said<Arg>, Fault> {
    if cursor.peek()? != Kind::Array {
        return Ok(Err(format!("{} as SHAPE", cursor.skip_described()?).into()));
    }
    let mut items = Vec::new();
    cursor.array(|cursor, _| {
        items.push(shape_item(cursor)?);
        Ok(())
    })?;
    Ok(Ok(Arg::Shape(items.into())))
}

fn shape_item(cursor: &mut Cursor<'_>) -> Result<ShapeItem, Fault> {
    let said = match cursor.peek()? {
        Kind::Object => typed(cursor, |cursor, ty| match ty {
            ArgType::Int => Ok(integer(cursor)?.map(ShapeItem::Int)),
            ArgType::Slice => slice(cursor),
            ArgType::Ellipsis => cursor.skip().map(|()| Ok(ShapeItem::Ellipsis)),
            ArgType::Unknown(said) => cursor.skip().map(|()| Err(said.clone())),
            _ => cursor
                .skip()
                .map(|()| Err(format!("a {ty:?} argument in a SHAPE").into())),
        })?
        .and_then(|said| said),
        _ => integer(cursor)?.map(ShapeItem::Int),
    };
    Ok(said.unwrap_or_else(ShapeItem::Invalid))
}

fn slice(cursor: &mut Cursor<'_>) -> Result<Said<ShapeItem>, Fault> {
    if cursor.peek()? != Kind::Object {
        return Ok(Err(format!("{} as SLICE", cursor.skip_described()?).into()));
    }
    let mut wrong = None;
    let (mut start, mut stop, mut step) = (Ok(None), Ok(None), Ok(None));
    cursor.object(|cursor, key| {
        match key {
            "__type__" => wrong = other_type(cursor, "slice")?,
            "start" => start = bound(cursor)?,
            "stop" => stop = bound(cursor)?,
            "step" => step = bound(cursor)?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok((|| {
        wrong.map_or(Ok(()), Err)?;
        Ok(ShapeItem::Slice {
            start: start?,
            stop: stop?,
            step: step?,
        })
    })())
}

/// An end of a slice: an integer or null.
fn bound(cursor: &mut Cursor<'_>) -> Result<Said<Option<i64>>, Fault> {
    if cursor.peek()? != Kind::Word {
        return Ok(integer(cursor)?.map(Some));
    }
    Ok(match cursor.word()? {
        None => Ok(None),
        Some(value) => Err(format!("a slice with `{value}`").into()),
    })
}

/// An integer of 64 bits, or a boolean as 0 or 1.
fn integer(cursor: &mut Cursor<'_>) -> Result<Said<i64>, Fault> {
    match cursor.peek()? {
        Kind::Number => {
            let digits = cursor.number()?;
            Ok(digits.parse().map_err(|_| {
                let shown: String = digits.chars().take(40).collect();
                format!("the number {shown} where a 64-bit integer belongs").into()
            }))
        }
        Kind::Word => Ok(match cursor.word()? {
            Some(value) => Ok(i64::from(value)),
            None => Err("null where an integer belongs".into()),
        }),
        _ => Ok(Err(format!(
            "{} where an integer belongs",
            cursor.skip_described()?
        )
        .into())),
    }
}

/// An element type: its name, or `{"__type__": "dtype", "value": name}`.
fn dtype(cursor: &mut Cursor<'_>) -> Result<Said<DType>, Fault> {
    if !matches!(cursor.peek()?, Kind::Text | Kind::Object) {
        return Ok(Err(format!("{} as dtype", cursor.skip_described()?).into()));
    }
    let name = enumerator(cursor, "dtype")?;
    let name = name.as_deref().unwrap_or("null");
    Ok(DType::from_name(name).ok_or_else(|| format!("the dtype \"{name}\"").into()))
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
    let shown: String = said.chars().take(60).collect();
    format!("{shown} as the name of a tensor")
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
    Err(Fault::new(
        at,
        &format!("\"{expected}\""),
        &format!("\"{got}\""),
    ))
}

/// Reads the value of `__type__`; words for it if it is another than expected.
fn other_type(cursor: &mut Cursor<'_>, expected: &str) -> Result<Option<Box<str>>, Fault> {
    let got = cursor.string()?;
    Ok((got != expected).then(|| format!("an object of __type__ \"{got}\"").into()))
}
