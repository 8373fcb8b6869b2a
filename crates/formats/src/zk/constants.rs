//! Data of a program: inline integers, or a part of a file beside it.
#![expect(clippy::result_large_err, reason = "a few results a constant")]

use super::ast::{Constant, Data, Table};
use super::value::Value;
use crate::circom::number::of_digits;
use cloakwork_ir::{Bytes, DType, Finding, HostTensor, Shape, View};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

/// Where files of constants are found.
#[derive(Clone)]
pub enum Files {
    /// In this folder.
    Folder(PathBuf),
    /// Here, by name.
    Memory(HashMap<String, Bytes>),
}

/// A constant's elements in canonical form: for numbers their own, for fields and points u64 words
/// `[.., words]`.
#[derive(Clone, Debug)]
pub struct Canonical {
    /// Type of the elements.
    pub dtype: DType,
    /// The words.
    pub words: HostTensor,
}

/// The elements of all constants that can be read; the others are findings.
pub fn load_constants(
    constants: &Table<Constant>,
    files: &Files,
    found: &mut Vec<Finding>,
) -> HashMap<String, Canonical> {
    let mut loaded = HashMap::new();
    let mut opened = HashMap::new();
    for (name, constant) in constants {
        match one(constant, files, &mut opened) {
            Ok(canonical) => {
                loaded.insert(name.clone(), canonical);
            }
            Err(finding) => found.push(finding.field(format!("constants.{name}"))),
        }
    }
    loaded
}

fn one(
    constant: &Constant,
    files: &Files,
    opened: &mut HashMap<String, Bytes>,
) -> Result<Canonical, Finding> {
    let Some((dtype, shape)) = constant.ty.tensor() else {
        let got = "a tuple, or bytes of no known number";
        return Err(Finding::error("V18", "a constant of one tensor", got));
    };
    let elements = shape.iter().product::<u64>();
    let words = dtype.canonical_words() as u64;
    let size = elements
        * if dtype.is_number() {
            dtype.size_bytes() as u64
        } else {
            8 * words
        };
    let bytes = match &constant.data {
        Data::Values(values) => inline(dtype, elements, values)?,
        Data::File {
            file,
            offset,
            bytes,
            sha256,
        } => {
            if *bytes != size {
                let got = format!("{bytes}");
                return Err(Finding::error("V18", format!("{size} bytes"), got)
                    .hint("the type says how many elements there are"));
            }
            let all = open(file, files, opened)?;
            let part = part(&all, file, *offset, *bytes)?;
            check_sum(&part, sha256.as_deref())?;
            crate::files::leave_memory(&part);
            part
        }
    };
    let mut dims = shape;
    let holder = if dtype.is_number() {
        dtype
    } else {
        dims.push(words);
        DType::U64
    };
    let shape = Shape::new(&dims).map_err(|e| Finding::error("V01", "a shape", e.to_string()))?;
    let tensor = HostTensor::new(holder, View::contiguous(shape), bytes);
    let words = tensor.map_err(|e| Finding::error("V18", "whole elements", e.to_string()))?;
    Ok(Canonical { dtype, words })
}

/// The contents of a file that a constant names.
pub(super) fn open(
    file: &str,
    files: &Files,
    opened: &mut HashMap<String, Bytes>,
) -> Result<Bytes, Finding> {
    if let Some(bytes) = opened.get(file) {
        return Ok(bytes.clone());
    }
    let bytes = match files {
        Files::Memory(map) => map.get(file).cloned().ok_or_else(|| {
            let known: Vec<&str> = map.keys().map(String::as_str).collect();
            Finding::error("V18", format!("one of the files {known:?}"), file)
        })?,
        Files::Folder(folder) => {
            let inside = Path::new(file)
                .components()
                .all(|c| matches!(c, Component::Normal(_)));
            let path = folder.join(file);
            let real = |path: &Path| path.canonicalize().ok();
            let escapes = match (real(&path), real(folder)) {
                (Some(path), Some(folder)) => !path.starts_with(folder),
                _ => false,
            };
            if !inside || escapes || file.is_empty() {
                let hint = "put the file beside the program and name it alone";
                return Err(
                    Finding::error("V18", "a file in the program's folder", file).hint(hint),
                );
            }
            crate::files::read(&path)
                .map_err(|e| Finding::error("V18", "a file that can be read", e.to_string()))?
        }
    };
    opened.insert(file.to_owned(), bytes.clone());
    Ok(bytes)
}

fn part(all: &Bytes, file: &str, offset: u64, bytes: u64) -> Result<Bytes, Finding> {
    range_of(all, offset, bytes).ok_or_else(|| {
        let got = format!("{} bytes in {file}", all.as_slice().len());
        Finding::error("V18", format!("{bytes} bytes from byte {offset} on"), got)
            .hint("the file is truncated, or belongs to another program")
    })
}

/// The SHA-256 of some bytes, in hexadecimal.
pub(super) fn sha256_of(bytes: &Bytes) -> String {
    let digest = Sha256::digest(bytes.as_slice());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes of a file; none where it is too short.
pub(super) fn range_of(all: &Bytes, offset: u64, bytes: u64) -> Option<Bytes> {
    let end = usize::try_from(offset.saturating_add(bytes)).ok()?;
    all.slice(usize::try_from(offset).ok()?..end)
}

fn check_sum(part: &Bytes, sum: Option<&str>) -> Result<(), Finding> {
    let Some(sum) = sum else {
        return Ok(());
    };
    let digest = sha256_of(part);
    if digest == sum {
        return Ok(());
    }
    Err(
        Finding::error("V18", format!("contents of SHA-256 {sum}"), digest)
            .hint("the file has changed since the program was written"),
    )
}

/// The bytes of inline integers: one after another, or in a list for each element.
fn inline(dtype: DType, elements: u64, values: &[Value]) -> Result<Bytes, Finding> {
    let residues = dtype.residues();
    let expected = elements.saturating_mul(residues as u64);
    let in_lists = values.iter().map(integers).collect::<Option<Vec<_>>>();
    let in_lists = in_lists.filter(|lists| lists.iter().all(|list| list.len() == residues));
    let values = in_lists.map_or_else(|| values.iter().collect(), |lists| lists.concat());
    if values.len() as u64 != expected {
        let each = match residues {
            1 => "",
            _ if dtype.is_point() => " (coordinates of points in turn), or a list for each point",
            _ => " (coefficients of elements in turn), or a list for each element",
        };
        let expected = format!("{expected} integers{each}");
        return Err(Finding::error("V18", expected, values.len().to_string()));
    }
    let width = if dtype.is_number() {
        dtype.size_bytes()
    } else {
        dtype.canonical_words() * 8 / residues
    };
    let mut bytes = Vec::with_capacity(values.len() * width);
    for (index, value) in values.into_iter().enumerate() {
        let before = bytes.len();
        let written = element(dtype, width, value, &mut bytes);
        if written.is_none() || bytes.len() - before != width {
            let expected = format!("integers of 0 or more, of at most {} bits", width * 8);
            let finding = Finding::error("V18", expected, value.described());
            let hint = format!("element {index}: write a decimal integer or \"0x...\"");
            return Err(finding.hint(hint));
        }
    }
    Ok(bytes.into())
}

/// The integers of an element in a list, in which those of a coordinate may be in one, too.
fn integers(element: &Value) -> Option<Vec<&Value>> {
    let Value::List(items) = element else {
        return None;
    };
    let of_item = |item| integers(item).unwrap_or_else(|| vec![item]);
    Some(items.iter().flat_map(of_item).collect())
}

fn element(dtype: DType, width: usize, value: &Value, out: &mut Vec<u8>) -> Option<()> {
    let text = match value {
        Value::Int(number) => {
            if dtype.is_integer() && *number < 0 {
                let mut word = [0; 8];
                cloakwork_ir::write_word(dtype, *number, &mut word);
                let fits = cloakwork_ir::read_word(dtype, &word) == *number;
                out.extend(fits.then_some(word)?.iter().take(width));
                return Some(());
            }
            number.to_string()
        }
        Value::Bool(bit) if dtype == DType::Bool => u8::from(*bit).to_string(),
        Value::Number(text) | Value::Text(text) => text.clone(),
        _ => return None,
    };
    if dtype.is_real_float() || dtype.is_complex() {
        return None;
    }
    if dtype == DType::Bool && !matches!(text.as_str(), "0" | "1") {
        return None;
    }
    let bytes = little_endian(&text, width)?;
    let negative = dtype.is_signed_integer() && bytes.last().is_some_and(|top| *top >= 0x80);
    out.extend(if negative { return None } else { bytes });
    Some(())
}

/// The bytes of a decimal integer, or of a hexadecimal one with `0x` before it.
fn little_endian(text: &str, width: usize) -> Option<Vec<u8>> {
    let (digits, base) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16u32),
        None => (text, 10),
    };
    // The longest element has 96 bytes: 232 decimal digits.
    if digits.is_empty() || digits.len() > 256 {
        return None;
    }
    let mut bytes = of_digits(digits, base, width.div_ceil(8))?;
    let rest = bytes.split_off(width);
    rest.iter().all(|byte| *byte == 0).then_some(bytes)
}
