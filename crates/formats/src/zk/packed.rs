//! A program of the instruction set in one file: a container that holds its JSON as a note, and the
//! files that its constants name as tensors of bytes.

use super::constants::{self, Files};
use super::{Ast, Data, Parsed, parse, to_json};
use crate::{LoadError, Mismatch};
use cloakwork_ir::{Bytes, DType, Finding, HostSlot, HostTensor, Program, Shape, View};
use std::collections::{BTreeSet, HashMap};

/// The note that is the program.
const INSTRUCTIONS: &str = "instructions";
/// Notes that name the files, in the order of the container's tensors, begin so.
const FILE: &str = "file ";

/// Packs a program and the files of its constants into a program for a container.
///
/// # Errors
/// A file of its constants cannot be read.
pub fn pack(ast: &Ast, files: &Files) -> Result<Program, Box<Finding>> {
    let mut program = Program::new();
    for (index, (file, bytes)) in files_of(ast, files)?.into_iter().enumerate() {
        let wrong = |error: String| Box::new(Finding::error("V18", "bytes of a file", error));
        let size = bytes.as_slice().len() as u64;
        let shape = Shape::new(&[size]).map_err(|error| wrong(error.to_string()))?;
        let tensor = HostTensor::new(DType::U8, View::contiguous(shape), bytes);
        let tensor = tensor.map_err(|error| wrong(error.to_string()))?;
        program.push_host(HostSlot::Data(tensor));
        let note = format!("{FILE}{index:08}");
        program.notes.insert(note, file);
    }
    let text = to_json(ast);
    program.notes.insert(INSTRUCTIONS.to_owned(), text);
    Ok(program)
}

/// The files that a program's constants name, in the order of their names.
///
/// # Errors
/// One cannot be read.
pub fn files_of(ast: &Ast, files: &Files) -> Result<Vec<(String, Bytes)>, Box<Finding>> {
    let mut opened = HashMap::new();
    let one = |file: &str| {
        let bytes = constants::open(file, files, &mut opened).map_err(Box::new)?;
        Ok((file.to_owned(), bytes))
    };
    names_of_files(ast).into_iter().map(one).collect()
}

/// The names of the files that a program's constants name.
#[must_use]
pub fn names_of_files(ast: &Ast) -> BTreeSet<&str> {
    let constants = ast.constants.iter();
    let named = constants.filter_map(|(_, constant)| match &constant.data {
        Data::File { file, .. } => Some(file.as_str()),
        Data::Values(_) => None,
    });
    named.collect()
}

/// The program that a container holds, with its files; none if it holds no such program.
///
/// # Errors
/// The note is no such program, or the container holds other than its files.
pub fn unpack(program: &Program) -> Option<Result<(Parsed, Files), LoadError>> {
    let text = program.notes.get(INSTRUCTIONS)?;
    let unpacked = files_in(program)
        .and_then(|files| parse(text.as_bytes()).map(|parsed| (parsed, Files::Memory(files))));
    Some(unpacked)
}

/// The files in a container, by their names.
fn files_in(program: &Program) -> Result<HashMap<String, Bytes>, LoadError> {
    let notes = program.notes.iter();
    let names: Vec<&String> = notes
        .filter(|(note, _)| note.starts_with(FILE))
        .map(|(_, name)| name)
        .collect();
    let (steps, hosts) = (program.steps.len(), program.hosts.len());
    if steps > 0 {
        let got = format!("{steps} steps beside it");
        return Err(other("a program of the instruction set alone", got));
    }
    if names.len() != hosts {
        let expected = format!("a tensor for each of {} files", names.len());
        return Err(other(expected, format!("{hosts} tensors")));
    }
    let mut files = HashMap::new();
    for (name, slot) in names.into_iter().zip(&program.hosts) {
        let bytes = match slot {
            HostSlot::Data(tensor) if tensor.dtype() == DType::U8 && is_whole(tensor) => {
                tensor.bytes().clone()
            }
            _ => return Err(other(format!("bytes of the file {name}"), "other data")),
        };
        if files.insert(name.clone(), bytes).is_some() {
            return Err(other("each file once", format!("{name} twice")));
        }
    }
    Ok(files)
}

/// Whether a tensor is all of its bytes, in their order.
fn is_whole(tensor: &HostTensor) -> bool {
    let view = tensor.view();
    let elements = tensor.bytes().as_slice().len() as u64;
    view.offset == 0 && view.is_contiguous() && view.shape.elements() == elements
}

fn other(expected: impl Into<Box<str>>, got: impl Into<Box<str>>) -> LoadError {
    let hint = "the container is not as this package writes it; pack the program again";
    LoadError::Source(Mismatch::new(expected, got, hint))
}
