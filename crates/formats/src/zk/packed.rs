//! A program of the instruction set in one file: a container that holds its JSON as a note, and the
//! files that its constants name as tensors of bytes.

use super::constants::{self, Files};
use super::{Ast, Data, Finding, Parsed, parse, to_json};
use crate::LoadError;
use cloakwork_ir::{Bytes, DType, HostSlot, HostTensor, Program, Shape, View};
use std::collections::{BTreeSet, HashMap};

/// The note that is the program.
const INSTRUCTIONS: &str = "instructions";
/// Notes that name the files, in the order of the container's tensors, begin so.
const FILE: &str = "file ";

/// What a container holds of a program.
///
/// # Errors
/// A file of its constants cannot be read.
pub fn pack(ast: &Ast, files: &Files) -> Result<Program, Box<Finding>> {
    let mut program = Program::new();
    for (index, (file, bytes)) in files_of(ast, files)?.into_iter().enumerate() {
        let wrong = |error: String| Box::new(Finding::new("V18", "bytes of a file", error));
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
    let constants = ast.constants.iter();
    let named = constants.filter_map(|(_, constant)| match &constant.data {
        Data::File { file, .. } => Some(file.as_str()),
        Data::Values(_) => None,
    });
    let mut opened = HashMap::new();
    let named: BTreeSet<&str> = named.collect();
    let one = |file: &str| {
        let bytes = constants::open(file, files, &mut opened).map_err(Box::new)?;
        Ok((file.to_owned(), bytes))
    };
    named.into_iter().map(one).collect()
}

/// The program that a container holds, with its files; none if it holds no such program.
///
/// # Errors
/// The note is no such program.
pub fn unpack(program: &Program) -> Option<Result<(Parsed, Files), LoadError>> {
    let text = program.notes.get(INSTRUCTIONS)?;
    let names = program
        .notes
        .iter()
        .filter(|(note, _)| note.starts_with(FILE));
    let mut files = HashMap::new();
    for ((_, name), slot) in names.zip(&program.hosts) {
        if let HostSlot::Data(tensor) = slot {
            files.insert(name.clone(), tensor.bytes().clone());
        }
    }
    Some(parse(text.as_bytes()).map(|parsed| (parsed, Files::Memory(files))))
}
