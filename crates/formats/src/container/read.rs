//! Reading a container's header. All of it is checked before a tensor is handed out.

use super::codec::Decoder;
use super::{
    ALIGNMENT, Blob, CHECKED_PREFIX_BYTES, Container, HAS_NOTES, MAGIC, PREFIX_BYTES, Seal,
    VERSION, short,
};
use crate::LoadError;
use crate::layout::untrusted_tensor;
use cloakwork_ir::{
    Arg, Bytes, Generation, HostId, HostSlot, HostTensor, Interner, MAX_RANK, Program, Shape,
    ShapeItem, Step, Symbol, Text, Type,
};
use std::ops::Range;

/// Bytes of a blob's row in the header.
const BLOB_ROW_BYTES: usize = 40;

pub(super) fn container(bytes: &Bytes) -> Result<Container, LoadError> {
    let (header, flags) = checked_header(bytes.as_slice())?;
    let header_end = PREFIX_BYTES + header.len();
    let mut from = Decoder::new(header, PREFIX_BYTES);
    let mut program = Program::new();
    program.generation = match from.u8()? {
        1 => Generation::First,
        2 => Generation::Later,
        other => return Err(from.wrong("generation 1 or 2", &format!("{other}"))),
    };
    program.symbols = names(&mut from)?;
    program.texts = names(&mut from)?;
    let blobs = blobs(&mut from, header_end, bytes.as_slice())?;
    for _ in 0..from.count(1)? {
        let slot = host(&mut from, bytes, &blobs)?;
        program.push_host(slot);
    }
    let steps = from.count(1)?;
    program.steps.reserve(steps);
    let mut args = Vec::new();
    for _ in 0..steps {
        step(&mut from, &mut program, &mut args)?;
    }
    if flags & HAS_NOTES != 0 {
        notes(&mut from, &mut program)?;
    }
    from.end()?;
    let bytes = bytes.clone();
    Ok(Container {
        program,
        seal: Seal { bytes, blobs },
    })
}

/// The header, once prefix, sizes and checksum hold.
fn checked_header(bytes: &[u8]) -> Result<(&[u8], u32), LoadError> {
    let prefix = bytes.get(..PREFIX_BYTES).unwrap_or(bytes);
    let mut from = Decoder::new(prefix, 0);
    if from.array()? != *MAGIC {
        let got = format!("`{}`", prefix.get(..8).unwrap_or(&[]).escape_ascii());
        return Err(wrong(
            0,
            "Cloakwork's magic",
            got,
            "a transfer in text mode damages it",
        ));
    }
    let (version, flags) = (from.u32()?, from.u32()?);
    if version != VERSION || flags & !HAS_NOTES != 0 {
        let got = format!("version {version} with flags {flags:#x}");
        let hint = "another version of Cloakwork wrote it: use that one, or write the file again";
        return Err(wrong(8, "version 1 with flags 0 or 1", got, hint));
    }
    let (header_bytes, file_bytes) = (from.u64()?, from.u64()?);
    if file_bytes != bytes.len() as u64 {
        let got = format!("{} bytes, where the header says {file_bytes}", bytes.len());
        return Err(wrong(
            24,
            "the whole file",
            got,
            "the file is truncated or has extra bytes",
        ));
    }
    let header = usize::try_from(header_bytes)
        .ok()
        .and_then(|length| bytes.get(PREFIX_BYTES..PREFIX_BYTES.checked_add(length)?))
        .ok_or_else(|| {
            wrong(
                16,
                "a header inside the file",
                format!("{header_bytes} bytes"),
                "",
            )
        })?;
    let checksum: [u8; 32] = from.array()?;
    let covered = prefix.get(..CHECKED_PREFIX_BYTES).unwrap_or(&[]);
    let computed = blake3::Hasher::new()
        .update(covered)
        .update(header)
        .finalize();
    if *computed.as_bytes() != checksum {
        let expected = format!("a header with checksum {}", short(&checksum));
        let got = format!("one with {}", short(computed.as_bytes()));
        return Err(wrong(
            32,
            &expected,
            got,
            "the file is damaged: fetch or write it again",
        ));
    }
    Ok((header, flags))
}

/// A container has one form: names ascend, and a flag says whether there are any.
fn notes(from: &mut Decoder<'_>, program: &mut Program) -> Result<(), LoadError> {
    let count = from.count(8)?;
    if count == 0 {
        return Err(from.wrong("one note or more", "none"));
    }
    for _ in 0..count {
        let name = from.text()?;
        if let Some((last, _)) = program.notes.last_key_value()
            && last.as_str() >= name
        {
            let got = format!("\"{}\"", name.escape_debug());
            return Err(from.wrong("names of notes in ascending order", &got));
        }
        let text = from.text()?.to_owned();
        program.notes.insert(name.to_owned(), text);
    }
    Ok(())
}

fn wrong(offset: u64, expected: &str, got: String, hint: &str) -> LoadError {
    let (expected, got, hint) = (expected.into(), got.into(), hint.into());
    LoadError::Container {
        offset,
        expected,
        got,
        hint,
    }
}

fn names(from: &mut Decoder<'_>) -> Result<Interner, LoadError> {
    let count = from.count(4)?;
    let mut names = Interner::with_capacity(count);
    for _ in 0..count {
        let name = from.text()?;
        if !names.add(name) {
            return Err(from.wrong("each name once", &format!("\"{}\"", name.escape_debug())));
        }
    }
    Ok(names)
}

/// Each blob begins at the next aligned byte behind the last, so none overlap and none are hidden.
fn blobs(from: &mut Decoder<'_>, header_end: usize, file: &[u8]) -> Result<Vec<Blob>, LoadError> {
    let file_bytes = file.len();
    let count = from.count(BLOB_ROW_BYTES)?;
    let mut blobs = Vec::with_capacity(count);
    let data_start = header_end.next_multiple_of(ALIGNMENT);
    padding(from, file, header_end..data_start)?;
    let mut at = data_start;
    for _ in 0..count {
        let length = from.u64()?;
        let start = at.next_multiple_of(ALIGNMENT);
        let end = usize::try_from(length)
            .ok()
            .and_then(|length| start.checked_add(length))
            .filter(|&end| end <= file_bytes)
            .ok_or_else(|| {
                let expected = format!("a tensor that ends within the file's {file_bytes} bytes");
                from.wrong(&expected, &format!("{length} bytes from byte {start}"))
            })?;
        padding(from, file, at..start)?;
        blobs.push(Blob {
            range: start..end,
            hash: from.array()?,
        });
        at = end;
    }
    if at != file_bytes {
        let got = format!("{file_bytes} bytes, of which {at} are known");
        return Err(from.wrong("a file that ends with its last tensor", &got));
    }
    Ok(blobs)
}

/// A container has one form: between its parts are zeros, which no checksum covers.
fn padding(from: &Decoder<'_>, file: &[u8], range: Range<usize>) -> Result<(), LoadError> {
    let start = range.start;
    let odd = file.get(range).unwrap_or(&[]).iter().position(|&b| b != 0);
    odd.map_or(Ok(()), |place| {
        let got = format!("another one at byte {}", start + place);
        Err(from.wrong("bytes of zero between tensors", &got))
    })
}

fn host(from: &mut Decoder<'_>, bytes: &Bytes, blobs: &[Blob]) -> Result<HostSlot, LoadError> {
    match from.u8()? {
        0 => tensor(from, bytes, blobs).map(HostSlot::Data),
        1 => {
            let name = from.text()?.to_owned();
            let dtype = from.dtype()?;
            Ok(HostSlot::Input {
                name,
                ty: Type::new(dtype, shape(from)?),
            })
        }
        2 => Ok(HostSlot::Output {
            name: from.text()?.to_owned(),
        }),
        other => Err(from.wrong("a kind of host from 0 to 2", &format!("{other}"))),
    }
}

fn tensor(from: &mut Decoder<'_>, bytes: &Bytes, blobs: &[Blob]) -> Result<HostTensor, LoadError> {
    let dtype = from.dtype()?;
    let shape = shape(from)?;
    let strides: Result<Vec<i64>, LoadError> = (0..shape.rank()).map(|_| from.i64()).collect();
    let (strides, offset) = (strides?, from.i64()?);
    let blob = from.index(blobs.len(), "tensors' contents")?;
    let data = blobs
        .get(blob as usize)
        .and_then(|blob| bytes.slice(blob.range.clone()));
    let data = data.ok_or_else(|| from.wrong("contents in the file", "none"))?;
    untrusted_tensor(dtype, (shape, &strides, offset), data)
        .map_err(|got| from.wrong("all elements inside their contents", &got))
}

fn shape(from: &mut Decoder<'_>) -> Result<Shape, LoadError> {
    let rank = usize::from(from.u8()?);
    if rank > MAX_RANK {
        return Err(from.wrong("a rank of at most 16", &format!("rank {rank}")));
    }
    let dims: Result<Vec<u64>, LoadError> = (0..rank).map(|_| from.u64()).collect();
    Shape::new(&dims?).map_err(|error| from.wrong("a shape within the limits", &error.to_string()))
}

/// Appends a step; `args` is empty before and after.
fn step(
    from: &mut Decoder<'_>,
    program: &mut Program,
    args: &mut Vec<Arg>,
) -> Result<(), LoadError> {
    let texts = program.texts.len();
    let step = match from.u8()? {
        0 => {
            let name = Text(from.index(texts, "names of ops")?);
            for _ in 0..from.count(1)? {
                args.push(arg(from, program)?);
            }
            let out = match from.u8()? {
                0 => None,
                1 => Some(arg(from, program)?),
                other => return Err(from.wrong("0 or 1 results", &format!("{other}"))),
            };
            program.push_call(name, args.drain(..), out);
            return Ok(());
        }
        1 => Step::Free(Symbol(
            from.index(program.symbols.len(), "names of tensors")?,
        )),
        2 => Step::SegmentStart(Text(from.index(texts, "names of segments")?)),
        3 => Step::SegmentEnd,
        4 => Step::Skip,
        other => return Err(from.wrong("a kind of step from 0 to 4", &format!("{other}"))),
    };
    program.steps.push(step);
    Ok(())
}

fn arg(from: &mut Decoder<'_>, program: &Program) -> Result<Arg, LoadError> {
    match from.u8()? {
        0 => {
            let symbol = Symbol(from.index(program.symbols.len(), "names of tensors")?);
            Ok(Arg::Device(symbol, from.optional_dtype()?))
        }
        1 => Ok(Arg::Host(HostId(from.index(program.hosts.len(), "hosts")?))),
        2 => {
            let count = from.count(1)?;
            let items: Result<Vec<ShapeItem>, LoadError> =
                (0..count).map(|_| shape_item(from)).collect();
            Ok(Arg::Shape(items?.into()))
        }
        3 => from.i64().map(Arg::Int),
        4 => Ok(Arg::None),
        5 => from.dtype().map(Arg::DType),
        6 => Ok(Arg::Invalid(from.text()?.into())),
        other => Err(from.wrong("a kind of argument from 0 to 6", &format!("{other}"))),
    }
}

fn shape_item(from: &mut Decoder<'_>) -> Result<ShapeItem, LoadError> {
    match from.u8()? {
        0 => from.i64().map(ShapeItem::Int),
        1 => {
            let (start, stop, step) = (bound(from)?, bound(from)?, bound(from)?);
            Ok(ShapeItem::Slice { start, stop, step })
        }
        2 => Ok(ShapeItem::Ellipsis),
        3 => Ok(ShapeItem::Invalid(from.text()?.into())),
        other => Err(from.wrong("a kind of shape entry from 0 to 3", &format!("{other}"))),
    }
}

fn bound(from: &mut Decoder<'_>) -> Result<Option<i64>, LoadError> {
    let (present, value) = (from.u8()?, from.i64()?);
    match present {
        0 => Ok(None),
        1 => Ok(Some(value)),
        other => Err(from.wrong("0 or 1 bounds", &format!("{other}"))),
    }
}
