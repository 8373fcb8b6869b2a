//! Arguments of a call. What makes no sense becomes words, for the verifier to report with the
//! step; only broken JSON is an error here.

use super::cursor::{Cursor, Kind};
use super::entry::Sink;
use super::fault::Fault;
use super::payload;
use super::scalar::{Said, dtype, enumerator, integer, other_type, tensor_name};
use cloakwork_ir::{Arg, ShapeItem, shortened};

#[derive(Clone, Debug, PartialEq, Eq)]
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

/// The types that have a name, and the names.
const ARG_TYPES: [(&str, ArgType); 8] = [
    ("DEVICE_TENSOR", ArgType::DeviceTensor),
    ("HOST_TENSOR", ArgType::HostTensor),
    ("SHAPE", ArgType::Shape),
    ("INT", ArgType::Int),
    ("NONE", ArgType::None),
    ("TENSOR_TYPE", ArgType::TensorType),
    ("SLICE", ArgType::Slice),
    ("ELLIPSIS", ArgType::Ellipsis),
];

impl ArgType {
    fn from_name(name: &str) -> Self {
        let known = ARG_TYPES.into_iter().find(|(known, _)| *known == name);
        known.map_or_else(
            || Self::Unknown(format!("the argument type \"{}\"", shortened(name)).into()),
            |(_, ty)| ty,
        )
    }

    fn name(&self) -> &str {
        let known = ARG_TYPES.iter().find(|(_, ty)| ty == self);
        known.map_or("?", |(name, _)| name)
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
        match (key, &ty) {
            ("__type__", _) => wrong = other_type(cursor, "DeviceOpArg")?,
            ("arg_type", _) => ty = Some(arg_type(cursor)?),
            ("value", Some(ty)) => read = Some(value(cursor, ty)?),
            ("value", None) => {
                early = Some(cursor.at());
                cursor.skip()?;
            }
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    let ty = match (wrong, ty) {
        (Some(said), _) => return Ok(Err(said)),
        (None, None) => return Ok(Err("an object without arg_type".into())),
        (None, Some(ty)) => ty,
    };
    if let (None, Some(at)) = (&read, early) {
        let end = cursor.at();
        cursor.seek(at);
        read = Some(value(cursor, &ty).map_err(|fault| fault.within_key("value"))?);
        cursor.seek(end);
    }
    Ok(read.ok_or_else(|| match ty {
        ArgType::Unknown(said) => said,
        ty => format!("an argument of type {} without value", ty.name()).into(),
    }))
}

fn arg_type(cursor: &mut Cursor<'_>) -> Result<ArgType, Fault> {
    Ok(match enumerator(cursor, "DeviceOpArgType")? {
        Some(name) => ArgType::from_name(&name),
        None => ArgType::Unknown("the argument type null".into()),
    })
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
            Err(format!("an argument of type {} outside a SHAPE", ty.name()).into())
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
                .map(|()| Err(format!("an argument of type {} in a SHAPE", ty.name()).into())),
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
