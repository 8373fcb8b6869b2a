//! Writing a container: hash the tensors, lay them out, write header and tensors in one go.

use super::blobs::{Blobs, contents};
use super::codec::{Encoder, NO_DTYPE, dtype_code};
use super::{ALIGNMENT, CHECKED_PREFIX_BYTES, HAS_NOTES, MAGIC, PREFIX_BYTES, VERSION, check};
use crate::SaveError;
use crate::files;
use cloakwork_ir::{Arg, Generation, HostSlot, Program, Shape, ShapeItem, Step};
use std::io::{self, Write};
use std::path::Path;

/// Writes a program and its tensors as a container. The file appears whole or not at all.
///
/// # Errors
/// The file cannot be written, or the program names symbols or hosts that it does not have.
pub fn save_container(program: &Program, path: impl AsRef<Path>) -> Result<(), SaveError> {
    check::counts(program)?;
    check::references(program)?;
    let blobs = Blobs::of(program);
    let header = header(program, &blobs);
    let flags = flags(program);
    files::replace(path.as_ref(), |out| Ok(write(out, flags, &header, &blobs)?))
}

/// The bytes of the file that [`save_container`] writes.
///
/// # Errors
/// The program names symbols or hosts that it does not have.
pub fn container_bytes(program: &Program) -> Result<Vec<u8>, SaveError> {
    check::counts(program)?;
    check::references(program)?;
    let blobs = Blobs::of(program);
    let header = header(program, &blobs);
    let mut bytes = Vec::with_capacity(file_bytes(&header, &blobs));
    let written = write(&mut bytes, flags(program), &header, &blobs);
    written.map_err(SaveError::write(Path::new("memory")))?;
    Ok(bytes)
}

fn data_start(header: &[u8]) -> usize {
    (PREFIX_BYTES + header.len()).next_multiple_of(ALIGNMENT)
}

fn file_bytes(header: &[u8], blobs: &Blobs<'_>) -> usize {
    let sizes = blobs.unique.iter().map(|(_, length, _)| length);
    sizes.fold(data_start(header), |at, length| {
        at.next_multiple_of(ALIGNMENT) + length
    })
}

fn flags(program: &Program) -> u32 {
    if program.notes.is_empty() {
        0
    } else {
        HAS_NOTES
    }
}

fn write(out: &mut impl Write, flags: u32, header: &[u8], blobs: &Blobs<'_>) -> io::Result<()> {
    let mut prefix = Encoder {
        bytes: MAGIC.to_vec(),
    };
    prefix.u32(VERSION);
    prefix.u32(flags);
    prefix.u64(header.len() as u64);
    prefix.u64(file_bytes(header, blobs) as u64);
    debug_assert_eq!(prefix.bytes.len(), CHECKED_PREFIX_BYTES);
    let checksum = blake3::Hasher::new()
        .update(&prefix.bytes)
        .update(header)
        .finalize();
    prefix.bytes.extend_from_slice(checksum.as_bytes());
    out.write_all(&prefix.bytes)?;
    out.write_all(header)?;
    let mut at = PREFIX_BYTES + header.len();
    for (tensor, length, _) in &blobs.unique {
        let start = at.next_multiple_of(ALIGNMENT);
        out.write_all([0; ALIGNMENT].get(..start - at).unwrap_or(&[]))?;
        out.write_all(&contents(tensor).0)?;
        at = start + length;
    }
    if blobs.unique.is_empty() {
        out.write_all([0; ALIGNMENT].get(..data_start(header) - at).unwrap_or(&[]))?;
    }
    Ok(())
}

fn header(program: &Program, blobs: &Blobs<'_>) -> Vec<u8> {
    let mut header = Encoder::default();
    header.u8(match program.generation {
        Generation::First => 1,
        Generation::Later => 2,
    });
    for names in [&program.symbols, &program.texts] {
        header.count(names.len());
        for id in 0..names.len() {
            header.text(names.get(id as u32));
        }
    }
    header.count(blobs.unique.len());
    for (_, length, digest) in &blobs.unique {
        header.u64(*length as u64);
        header.bytes.extend_from_slice(digest);
    }
    header.count(program.hosts.len());
    for (host, slot) in program.hosts.iter().enumerate() {
        put_host(
            &mut header,
            slot,
            blobs.index_of.get(&host).copied().unwrap_or(0),
        );
    }
    header.count(program.steps.len());
    for step in &program.steps {
        put_step(&mut header, program, step);
    }
    if flags(program) & HAS_NOTES != 0 {
        header.count(program.notes.len());
        for (name, text) in &program.notes {
            header.text(name);
            header.text(text);
        }
    }
    header.bytes
}

fn put_host(header: &mut Encoder, slot: &HostSlot, blob: usize) {
    match slot {
        HostSlot::Data(tensor) => {
            let (_, view) = contents(tensor);
            header.u8(0);
            header.u8(dtype_code(tensor.dtype()));
            put_shape(header, &view.shape);
            for &stride in &view.strides {
                header.i64(stride);
            }
            header.i64(view.offset);
            header.count(blob);
        }
        HostSlot::Input { name, ty } => {
            header.u8(1);
            header.text(name);
            header.u8(dtype_code(ty.dtype));
            put_shape(header, &ty.shape);
        }
        HostSlot::Output { name } => {
            header.u8(2);
            header.text(name);
        }
    }
}

fn put_shape(header: &mut Encoder, shape: &Shape) {
    header.u8(shape.rank() as u8);
    for &dim in shape.dims() {
        header.u64(dim);
    }
}

fn put_step(header: &mut Encoder, program: &Program, step: &Step) {
    match step {
        Step::Op(op) => {
            header.u8(0);
            header.u32(op.name.0);
            let args = program.args(op);
            header.count(args.len());
            for arg in args {
                put_arg(header, arg);
            }
            header.u8(u8::from(program.out(op).is_some()));
            if let Some(out) = program.out(op) {
                put_arg(header, out);
            }
        }
        Step::Free(symbol) => {
            header.u8(1);
            header.u32(symbol.0);
        }
        Step::SegmentStart(text) => {
            header.u8(2);
            header.u32(text.0);
        }
        Step::SegmentEnd => header.u8(3),
        // `check::counts` has refused programs that have them.
        Step::Skip | Step::Threaded(_) => header.u8(4),
    }
}

fn put_arg(header: &mut Encoder, arg: &Arg) {
    match arg {
        Arg::Device(symbol, dtype) => {
            header.u8(0);
            header.u32(symbol.0);
            header.u8(dtype.map_or(NO_DTYPE, dtype_code));
        }
        Arg::Host(id) => {
            header.u8(1);
            header.u32(id.0);
        }
        Arg::Shape(items) => {
            header.u8(2);
            header.count(items.len());
            for item in items {
                put_shape_item(header, item);
            }
        }
        Arg::Int(value) => {
            header.u8(3);
            header.i64(*value);
        }
        Arg::None => header.u8(4),
        Arg::DType(dtype) => {
            header.u8(5);
            header.u8(dtype_code(*dtype));
        }
        Arg::Invalid(said) => {
            header.u8(6);
            header.text(said);
        }
    }
}

fn put_shape_item(header: &mut Encoder, item: &ShapeItem) {
    match item {
        ShapeItem::Int(value) => {
            header.u8(0);
            header.i64(*value);
        }
        ShapeItem::Slice { start, stop, step } => {
            header.u8(1);
            for end in [start, stop, step] {
                header.u8(u8::from(end.is_some()));
                header.i64(end.unwrap_or(0));
            }
        }
        ShapeItem::Ellipsis => header.u8(2),
        ShapeItem::Invalid(said) => {
            header.u8(3);
            header.text(said);
        }
    }
}
