//! Files by their contents: which reader gets them.

use crate::container::{self, Container, Seal};
use crate::{LoadError, TensorError, files, heal, npy, text, torch, zk};
use cloakwork_ir::{Bytes, HostTensor, Program};
use std::path::Path;

/// Loads a program: Cloakwork's container, a transcript of HEAL in any of its forms, or the text
/// form. The contents decide, not the name. A container's tensors are compared with their
/// checksums.
///
/// # Errors
/// The file cannot be read, is not a program, or has changed since it was written.
pub fn load(path: impl AsRef<Path>) -> Result<Program, LoadError> {
    load_bytes(&files::read(path)?, true)
}

/// Loads a program from the contents of its file. With `checksums`, a container's tensors are
/// compared with theirs, which takes time in proportion to them; no other form has any.
///
/// # Errors
/// The contents are not a program, or have changed since they were written.
pub fn load_bytes(bytes: &Bytes, checksums: bool) -> Result<Program, LoadError> {
    let (program, seal) = load_sealed(bytes)?;
    if let Some(seal) = seal
        && checksums
    {
        seal.check()?;
    }
    Ok(program)
}

/// Loads a program from the contents of its file. A container comes with its seal: what its
/// tensors hold may be used once that is checked.
///
/// # Errors
/// The contents are not a program.
pub fn load_sealed(bytes: &Bytes) -> Result<(Program, Option<Seal>), LoadError> {
    let start = bytes.as_slice();
    let kind = |got: &str, hint: &str| {
        Err(LoadError::Kind {
            got: got.into(),
            hint: hint.into(),
        })
    };
    if start.starts_with(container::MAGIC) {
        let (program, seal) = Container::parse(bytes)?.into_parts();
        Ok((program, Some(seal)))
    } else if start.starts_with(npy::MAGIC) {
        kind("one NumPy array", "it is a tensor: load it as .npy")
    } else if start.starts_with(torch::MAGIC) {
        kind(
            "a zip archive",
            "a tensor that torch.save wrote is loaded as such; unpack others",
        )
    } else if zk::is_program(start) {
        kind(
            "a program of the instruction set",
            "load it with cloakwork.load",
        )
    } else if text::is_program(start) {
        Ok((text::parse(start)?, None))
    } else if start.starts_with(b"\x1f\x8b") {
        kind("a gzip file", "unpack it first")
    } else if start.is_empty() {
        kind("an empty file", "")
    } else {
        Ok((heal::parse_heal(start)?, None))
    }
}

/// Loads one `.npy` file. A large one is mapped, not read.
///
/// # Errors
/// The file cannot be read, or is not such an array.
pub fn load_npy(path: impl AsRef<Path>) -> Result<HostTensor, LoadError> {
    tensor(path.as_ref(), npy::parse)
}

/// Loads one tensor that `torch.save` wrote, without running its pickle.
///
/// # Errors
/// The file cannot be read, or holds anything but one plain tensor.
pub fn load_torch(path: impl AsRef<Path>) -> Result<HostTensor, LoadError> {
    tensor(path.as_ref(), torch::parse)
}

fn tensor(
    path: &Path,
    parse: fn(&Bytes) -> Result<HostTensor, TensorError>,
) -> Result<HostTensor, LoadError> {
    parse(&files::read(path)?).map_err(|source| LoadError::Tensor {
        path: path.to_owned(),
        source,
    })
}
