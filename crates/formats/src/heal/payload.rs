//! Host tensors in a transcript: found while reading, decoded afterwards on all threads. Equal
//! payloads are decoded once and share their bytes.

use super::cursor::{Cursor, Kind};
use super::entry::Sink;
use super::fault::{self, Fault};
use super::scalar::{Said, other_type};
use super::text;
use crate::{LoadError, TensorError, base64, npy, torch};
use cloakwork_ir::{Bytes, HostId, HostTensor, shortened};
use std::borrow::Cow;
use std::collections::HashMap;

/// How the bytes behind the base64 are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Encoding {
    Numpy,
    Torch,
}

/// A host tensor not yet decoded.
pub(super) struct Payload<'a> {
    encoding: Encoding,
    base64: Cow<'a, [u8]>,
    /// Where the base64 begins in the file.
    start: usize,
    step: usize,
    argument: Option<u32>,
}

/// The strings of `{"type": ..., "data": ...}`.
#[derive(Default)]
struct Found<'a> {
    wrong: Option<Box<str>>,
    encoding: Option<Cow<'a, str>>,
    data: Option<(usize, Cow<'a, [u8]>)>,
}

/// Reads `{"tensor_base64": {"type", "data"}}`, or the inner object alone.
pub(super) fn read<'a>(
    cursor: &mut Cursor<'a>,
    sink: &mut Sink<'a>,
) -> Result<Said<HostId>, Fault> {
    if cursor.peek()? != Kind::Object {
        return Ok(Err(
            format!("{} as HOST_TENSOR", cursor.skip_described()?).into()
        ));
    }
    let mut found = Found::default();
    cursor.object(|cursor, key| match key {
        "__type__" => {
            let wrong = other_type(cursor, "HostTensor")?;
            found.wrong = wrong.or(found.wrong.take());
            Ok(())
        }
        "tensor_base64" if cursor.peek()? == Kind::Object => {
            cursor.object(|cursor, key| field(cursor, &mut found, key))
        }
        _ => field(cursor, &mut found, key),
    })?;
    Ok(found.into_payload(sink).map(|payload| {
        sink.payloads.push(payload);
        HostId(sink.payloads.len() as u32 - 1)
    }))
}

fn field<'a>(cursor: &mut Cursor<'a>, found: &mut Found<'a>, key: &str) -> Result<(), Fault> {
    match key {
        "type" if cursor.peek()? == Kind::Text => found.encoding = Some(cursor.string()?),
        "data" if cursor.peek()? == Kind::Text => {
            let raw = cursor.raw_string()?;
            let text = if raw.escaped {
                Cow::Owned(text::decode(raw)?.into_owned().into_bytes())
            } else {
                Cow::Borrowed(raw.bytes)
            };
            found.data = Some((raw.start, text));
        }
        _ => cursor.skip()?,
    }
    Ok(())
}

impl<'a> Found<'a> {
    fn into_payload(self, sink: &Sink<'a>) -> Said<Payload<'a>> {
        self.wrong.map_or(Ok(()), Err)?;
        let encoding = match self.encoding.as_deref() {
            Some("numpy") => Encoding::Numpy,
            Some("torch") => Encoding::Torch,
            Some(other) => {
                let other = shortened(other);
                return Err(
                    format!("a host tensor of type \"{other}\", not numpy or torch").into(),
                );
            }
            None => return Err("a host tensor without type".into()),
        };
        let (start, base64) = self.data.ok_or("a host tensor without data")?;
        let (step, argument) = (sink.program.steps.len(), sink.argument);
        Ok(Payload {
            encoding,
            base64,
            start,
            step,
            argument,
        })
    }
}

/// Decodes all payloads, in order; the first wrong one is the error.
pub(super) fn decode(text: &[u8], payloads: &[Payload<'_>]) -> Result<Vec<HostTensor>, LoadError> {
    let (unique, index_of) = deduplicate(payloads);
    let decoded: Vec<Result<HostTensor, TensorError>> =
        cloakwork_process::map(unique, Payload::decode);
    let mut tensors = Vec::with_capacity(payloads.len());
    for (payload, index) in payloads.iter().zip(index_of) {
        let Some(tensor) = decoded.get(index) else {
            continue;
        };
        tensors.push(tensor.clone().map_err(|error| {
            fault::payload(text, payload.start, payload.step, payload.argument, error)
        })?);
    }
    Ok(tensors)
}

impl Payload<'_> {
    fn decode(&self) -> Result<HostTensor, TensorError> {
        let bytes: Bytes = base64::decode(&self.base64)?.into();
        match self.encoding {
            Encoding::Numpy => npy::parse(&bytes),
            Encoding::Torch => torch::parse(&bytes),
        }
    }

    /// A sample that equal payloads have in common: cheap, and different enough among the payloads
    /// of a file.
    fn sample(&self) -> (Encoding, usize, [u8; 48]) {
        let text = &self.base64;
        let mut sample = [0; 48];
        for (part, piece) in sample.chunks_mut(16).enumerate() {
            let from = text.len().saturating_sub(piece.len()) / 2 * part;
            for (to, c) in piece.iter_mut().zip(text.get(from..).unwrap_or(&[])) {
                *to = *c;
            }
        }
        (self.encoding, text.len(), sample)
    }
}

/// The payloads without repetition, and for each payload its index among those.
fn deduplicate<'p, 'a>(payloads: &'p [Payload<'a>]) -> (Vec<&'p Payload<'a>>, Vec<usize>) {
    let mut unique: Vec<&Payload<'_>> = Vec::new();
    let mut seen: HashMap<_, usize> = HashMap::with_capacity(payloads.len());
    let index_of = payloads
        .iter()
        .map(|payload| {
            // One candidate a sample: were all compared, a file could make that quadratic.
            let candidate = *seen.entry(payload.sample()).or_insert(unique.len());
            match unique.get(candidate) {
                Some(known) if known.base64 == payload.base64 => candidate,
                _ => {
                    unique.push(payload);
                    unique.len() - 1
                }
            }
        })
        .collect();
    (unique, index_of)
}
