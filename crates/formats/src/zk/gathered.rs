//! Constants of a program that lie in files, put into one.

use super::ast::{Ast, Data};
use super::constants::{Files, range_of, sha256_of};
use super::packed::files_of;
use cloakwork_ir::{Bytes, Finding};
use std::collections::HashMap;

/// Bytes of which each constant begins at a multiple.
const ALIGNMENT: usize = 64;

/// Why constants cannot be put into one file.
#[derive(Debug)]
pub enum GatherError {
    /// A file cannot be read.
    File(Box<Finding>),
    /// A file has fewer bytes than a constant says.
    Short {
        /// The constant.
        constant: String,
        /// The file, and its length.
        file: (String, usize),
        /// The bytes that the constant says: from where on, and how many.
        bytes: (u64, u64),
    },
}

/// The same program with all constants of files in one that is called `name`, and the pieces of
/// that file, which begins with `start`. Each constant has its SHA-256; one that it has already
/// stays, as it may say that the contents are damaged. No pieces where no constant lies in a file.
///
/// # Errors
/// A file cannot be read, or is too short.
pub fn gathered(
    ast: &Ast,
    files: &Files,
    name: &str,
    start: &Bytes,
) -> Result<(Ast, Vec<Bytes>), GatherError> {
    let contents: HashMap<String, Bytes> = files_of(ast, files)
        .map_err(GatherError::File)?
        .into_iter()
        .collect();
    let (mut made, mut pieces) = (ast.clone(), vec![start.clone()]);
    let mut size = start.as_slice().len();
    let mut placed: HashMap<(String, u64, u64), (u64, String)> = HashMap::new();
    for (constant, entry) in &mut made.constants {
        let Data::File {
            file,
            offset,
            bytes,
            sha256,
        } = &mut entry.data
        else {
            continue;
        };
        let key = (file.clone(), *offset, *bytes);
        if !placed.contains_key(&key) {
            let part = part(constant, &key, &contents)?;
            let length = part.as_slice().len();
            placed.insert(key.clone(), (size as u64, sha256_of(&part)));
            let padding = vec![0; length.wrapping_neg() % ALIGNMENT];
            size += length + padding.len();
            pieces.extend([part, padding.into()]);
        }
        if let Some((place, digest)) = placed.get(&key) {
            name.clone_into(file);
            *offset = *place;
            sha256.get_or_insert_with(|| digest.clone());
        }
    }
    if placed.is_empty() {
        pieces.clear();
    }
    Ok((made, pieces))
}

fn part(
    constant: &str,
    (file, offset, bytes): &(String, u64, u64),
    contents: &HashMap<String, Bytes>,
) -> Result<Bytes, GatherError> {
    let all = contents.get(file);
    let found = all.and_then(|all| range_of(all, *offset, *bytes));
    found.ok_or_else(|| GatherError::Short {
        constant: constant.to_owned(),
        file: (file.clone(), all.map_or(0, |all| all.as_slice().len())),
        bytes: (*offset, *bytes),
    })
}
