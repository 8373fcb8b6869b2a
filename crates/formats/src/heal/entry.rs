//! Entries of a transcript: `[type, payload]` pairs, and the documents' objects.

use super::arg;
use super::cursor::{Cursor, Kind};
use super::fault::Fault;
use super::payload::Payload;
use super::scalar;
use cloakwork_ir::{Arg, Program, Step, Symbol, shortened};
use std::borrow::Cow;

/// The result of reading, filled step by step.
#[derive(Default)]
pub(super) struct Sink<'a> {
    pub(super) program: Program,
    /// One a host argument, in the order of host ids.
    pub(super) payloads: Vec<Payload<'a>>,
    /// The argument being read; `None` for the result.
    pub(super) argument: Option<u32>,
    args_in_all: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StepKind {
    Op,
    Free,
    Start,
    End,
    Skip,
}

/// The parts of a call, in any order.
#[derive(Default)]
struct Call<'a> {
    name: Option<Cow<'a, str>>,
    args: Option<Vec<Arg>>,
    out: Option<Arg>,
}

/// An entry that is an object.
#[derive(Default)]
struct Entry<'a> {
    kind: Option<StepKind>,
    call: Call<'a>,
    /// The overview's sketch: `op` is a name, and the result is called `output`.
    sketch: bool,
    freed: Option<Symbol>,
    segment: Option<Cow<'a, str>>,
}

pub(super) fn entries<'a>(cursor: &mut Cursor<'a>, sink: &mut Sink<'a>) -> Result<(), Fault> {
    cursor.array(|cursor, step| {
        let read = match cursor.peek()? {
            Kind::Array => pair(cursor, sink),
            Kind::Object => object(cursor, sink),
            _ => Err(cursor.fault("an entry: [type, payload] or an object")),
        };
        read.map_err(|fault| fault.at_step(step))
    })
}

fn pair<'a>(cursor: &mut Cursor<'a>, sink: &mut Sink<'a>) -> Result<(), Fault> {
    let (start, mut kind, mut count) = (cursor.at(), StepKind::Skip, 0);
    cursor.array(|cursor, index| {
        count = index + 1;
        match index {
            0 => kind = step_kind(cursor)?,
            1 => payload(cursor, sink, kind)?,
            _ => return Err(cursor.fault("two values in an entry")),
        }
        Ok(())
    })?;
    if count < 2 {
        let got = format!("{count} values");
        let expected = "an entry of two values: [type, payload]";
        return Err(Fault::new(start, expected, &got));
    }
    Ok(())
}

fn payload<'a>(cursor: &mut Cursor<'a>, sink: &mut Sink<'a>, kind: StepKind) -> Result<(), Fault> {
    match kind {
        StepKind::Op => {
            let (start, mut call) = (cursor.at(), Call::default());
            if cursor.peek()? != Kind::Object {
                return Err(cursor.fault("an object with name, args and out"));
            }
            call_object(cursor, sink, &mut call)?;
            push_call(sink, call, start)
        }
        StepKind::Free => {
            let symbol = freed(cursor, sink)?;
            sink.program.steps.push(Step::Free(symbol));
            Ok(())
        }
        StepKind::Start => {
            let name = cursor.string()?;
            push_segment(sink, &name);
            Ok(())
        }
        StepKind::End | StepKind::Skip => {
            let ends = kind == StepKind::End;
            let step = if ends { Step::SegmentEnd } else { Step::Skip };
            sink.program.steps.push(step);
            cursor.skip()
        }
    }
}

fn object<'a>(cursor: &mut Cursor<'a>, sink: &mut Sink<'a>) -> Result<(), Fault> {
    let (start, mut entry) = (cursor.at(), Entry::default());
    cursor.object(|cursor, key| {
        match key {
            "type" => entry.kind = Some(step_kind(cursor)?),
            "op" if cursor.peek()? == Kind::Text => {
                entry.sketch = true;
                entry.call.name = Some(cursor.string()?);
            }
            "op" => call_object(cursor, sink, &mut entry.call)?,
            "tensor_name" => entry.freed = Some(symbol(cursor, sink)?),
            "segment" | "segment_name" => entry.segment = Some(cursor.string()?),
            _ => call_field(cursor, sink, &mut entry.call, key)?,
        }
        Ok(())
    })?;
    match entry.kind {
        Some(StepKind::Skip) => sink.program.steps.push(Step::Skip),
        Some(StepKind::End) => sink.program.steps.push(Step::SegmentEnd),
        Some(StepKind::Start) => {
            push_segment(sink, &entry.segment.or(entry.call.name).unwrap_or_default());
        }
        Some(StepKind::Free) => {
            let symbol = entry.freed.ok_or_else(|| without(start, "tensor_name"))?;
            sink.program.steps.push(Step::Free(symbol));
        }
        None if entry.call.name.is_none() => return Err(without(start, "type")),
        Some(StepKind::Op) | None => {
            if entry.sketch {
                refuse_bare_arguments(&entry.call, start)?;
            }
            push_call(sink, entry.call, start)?;
        }
    }
    Ok(())
}

fn call_object<'a>(
    cursor: &mut Cursor<'a>,
    sink: &mut Sink<'a>,
    call: &mut Call<'a>,
) -> Result<(), Fault> {
    cursor.object(|cursor, key| match key {
        "__type__" => scalar::require_type(cursor, "DeviceOp"),
        _ => call_field(cursor, sink, call, key),
    })
}

fn call_field<'a>(
    cursor: &mut Cursor<'a>,
    sink: &mut Sink<'a>,
    call: &mut Call<'a>,
    key: &str,
) -> Result<(), Fault> {
    match key {
        "name" => call.name = Some(cursor.string()?),
        "args" => {
            let mut args = Vec::new();
            cursor.array(|cursor, index| {
                sink.argument = Some(index as u32);
                args.push(arg::read(cursor, sink)?);
                Ok(())
            })?;
            call.args = Some(args);
        }
        "out" | "output" if cursor.peek()? == Kind::Array => {
            cursor.array(|cursor, index| {
                if index > 0 {
                    return Err(cursor.fault("one result"));
                }
                call.out = result(cursor, sink)?;
                Ok(())
            })?;
        }
        "out" | "output" => call.out = result(cursor, sink)?,
        _ => cursor.skip()?,
    }
    Ok(())
}

/// The result of a call; null means that it has none.
fn result<'a>(cursor: &mut Cursor<'a>, sink: &mut Sink<'a>) -> Result<Option<Arg>, Fault> {
    sink.argument = None;
    if cursor.peek()? == Kind::Word {
        return match cursor.word()? {
            None => Ok(None),
            Some(value) => Ok(Some(Arg::Invalid(format!("`{value}`").into()))),
        };
    }
    arg::read(cursor, sink).map(Some)
}

fn push_call(sink: &mut Sink<'_>, call: Call<'_>, start: usize) -> Result<(), Fault> {
    let name = call.name.ok_or_else(|| without(start, "name"))?;
    let args = call.args.ok_or_else(|| without(start, "args"))?;
    // Arguments are numbered by 32 bits in a program.
    sink.args_in_all += args.len() as u64 + 1;
    if sink.args_in_all > u64::from(u32::MAX) {
        let expected = "fewer than 2^32 arguments in all";
        return Err(Fault::new(start, expected, "more"));
    }
    sink.program.push_op(&name, args, call.out);
    Ok(())
}

fn push_segment(sink: &mut Sink<'_>, name: &str) {
    let text = sink.program.text(name);
    sink.program.steps.push(Step::SegmentStart(text));
}

fn refuse_bare_arguments(call: &Call<'_>, start: usize) -> Result<(), Fault> {
    let args = call.args.iter().flatten().chain(&call.out);
    let mut bare = args.filter_map(|arg| match arg {
        Arg::Invalid(said) => Some(said),
        _ => None,
    });
    let hint = "a bare id cannot be distinguished from a constant: write {\"arg_type\": \
                \"INT\", ...}";
    let fault = |said: &str| Fault::new(start, "arguments with arg_type and value", said);
    bare.next()
        .map_or(Ok(()), |said| Err(fault(said).hint(hint)))
}

fn without(start: usize, key: &str) -> Fault {
    Fault::new(start, &format!("the key {key}"), "an object without it")
}

fn step_kind(cursor: &mut Cursor<'_>) -> Result<StepKind, Fault> {
    let at = cursor.at();
    if cursor.peek()? == Kind::Array {
        return Err(cursor.fault("the type of an entry"));
    }
    let name = scalar::enumerator(cursor, "ExecutionTranscriptOpType")?;
    match name.as_deref() {
        None => Ok(StepKind::Skip),
        Some("DEVICE_OP") => Ok(StepKind::Op),
        Some("FREE_DEVICE_TENSOR") => Ok(StepKind::Free),
        Some("SEGMENT_START") => Ok(StepKind::Start),
        Some("SEGMENT_END") => Ok(StepKind::End),
        Some(other) => {
            let expected = "DEVICE_OP, FREE_DEVICE_TENSOR, SEGMENT_START, SEGMENT_END or null";
            let got = format!("the entry type \"{}\"", shortened(other));
            Err(Fault::new(at, expected, &got))
        }
    }
}

/// `{"tensor_name": 85}`, or the name itself.
fn freed<'a>(cursor: &mut Cursor<'a>, sink: &mut Sink<'a>) -> Result<Symbol, Fault> {
    if cursor.peek()? != Kind::Object {
        return symbol(cursor, sink);
    }
    let (start, mut found) = (cursor.at(), None);
    cursor.object(|cursor, key| {
        match key {
            "__type__" => scalar::require_type(cursor, "FreeDeviceTensor")?,
            "tensor_name" => found = Some(symbol(cursor, sink)?),
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    found.ok_or_else(|| without(start, "tensor_name"))
}

fn symbol(cursor: &mut Cursor<'_>, sink: &mut Sink<'_>) -> Result<Symbol, Fault> {
    let at = cursor.at();
    let name = scalar::tensor_name(cursor)?;
    let name =
        name.map_err(|said| Fault::new(at, "a tensor's name: an integer or string", &said))?;
    Ok(sink.program.symbol(&name))
}
