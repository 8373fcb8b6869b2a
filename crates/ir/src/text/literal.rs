//! Host tensors as text.

use super::cursor::{Cursor, ParseError, Token};
use crate::{DType, HostTensor, Type, View, write_word};
use std::fmt::{self, Write};

/// The most elements that `iota` and `fill` may make: the text's length does not bound them.
const MAX_RULE_ELEMENTS: u64 = 1 << 22;

/// Literals of more elements than this are printed as `iota` or `fill` where they are.
const SHORT_ELEMENTS: usize = 8;

/// Parses the contents behind a type: `{1, 2}`, `iota`, `fill 7`, each possibly after `fortran`.
pub(super) fn parse(cursor: &mut Cursor, ty: &Type) -> Result<HostTensor, ParseError> {
    let mut view = View::contiguous(ty.shape.clone());
    if let (Token::Word("fortran"), after) = cursor.peek() {
        *cursor = after;
        view = column_major(ty);
    }
    let start = cursor.clone();
    let words = match cursor.next() {
        Token::Word("iota") => {
            check_rule(&start, ty)?;
            (0..ty.shape.elements() as i64)
                .flat_map(|i| element_words(ty.dtype, cast(ty.dtype.component(), i)))
                .collect()
        }
        Token::Word("fill") => {
            check_rule(&start, ty)?;
            let words = element_words(ty.dtype, element(cursor, ty.dtype.component())?);
            let count = ty.shape.elements() as usize;
            std::iter::repeat_n(words, count).flatten().collect()
        }
        Token::Mark("{") => elements(cursor, ty)?,
        _ => return Err(start.error("`{`, `iota` or `fill`")),
    };
    let component = ty.dtype.component();
    let (parts, size) = (ty.dtype.components(), component.size_bytes());
    let mut bytes = vec![0; words.len() * size];
    for (offset, element) in view.offsets().zip(words.chunks_exact(parts)) {
        for (part, &word) in element.iter().enumerate() {
            let at = (offset as usize * parts + part) * size;
            if let Some(to) = bytes.get_mut(at..at + size) {
                write_word(component, word, to);
            }
        }
    }
    HostTensor::new(ty.dtype, view, bytes.into())
        .map_err(|error| start.error_with("elements for the shape", error.to_string()))
}

fn column_major(ty: &Type) -> View {
    let order: Vec<usize> = (0..ty.shape.rank()).rev().collect();
    View::with_axis_order(ty.shape.clone(), &order)
}

fn check_rule(at: &Cursor, ty: &Type) -> Result<(), ParseError> {
    if ty.shape.elements() <= MAX_RULE_ELEMENTS {
        return Ok(());
    }
    Err(at.error_with(
        format!("at most {MAX_RULE_ELEMENTS} elements"),
        ty.to_string(),
    ))
}

fn elements(cursor: &mut Cursor, ty: &Type) -> Result<Vec<i64>, ParseError> {
    let component = ty.dtype.component();
    let expected = ty.shape.elements() * ty.dtype.components() as u64;
    let mut words = Vec::new();
    cursor.skip_newlines();
    while !cursor.take("}") {
        words.push(element(cursor, component)?);
        cursor.skip_newlines();
        if words.len() as u64 > expected {
            return Err(cursor.error_with(format!("{expected} elements"), "more"));
        }
        if !cursor.take(",") {
            cursor.expect("}").map_err(|_| cursor.error("`,` or `}`"))?;
            break;
        }
        cursor.skip_newlines();
    }
    if words.len() as u64 == expected {
        return Ok(words);
    }
    Err(cursor.error_with(format!("{expected} elements"), words.len().to_string()))
}

/// One element as a word.
fn element(cursor: &mut Cursor, dtype: DType) -> Result<i64, ParseError> {
    let start = cursor.clone();
    let expected = || start.error(format!("an element of type {dtype}"));
    match cursor.next() {
        Token::Number(text) => read(dtype, text).ok_or_else(expected),
        _ => Err(expected()),
    }
}

/// The components of an element of which all but the first are 0.
fn element_words(dtype: DType, word: i64) -> impl Iterator<Item = i64> + Clone {
    let rest = std::iter::repeat_n(0, dtype.components() - 1);
    std::iter::once(word).chain(rest)
}

fn read(dtype: DType, text: &str) -> Option<i64> {
    let bits = text
        .strip_prefix("0x")
        .map(|hex| u64::from_str_radix(hex, 16));
    match (dtype, bits) {
        (DType::F32, Some(bits)) => Some(i64::from(u32::try_from(bits.ok()?).ok()?)),
        (DType::F64, Some(bits)) => Some(bits.ok()? as i64),
        (DType::F32, None) => Some(i64::from(text.parse::<f32>().ok()?.to_bits())),
        (DType::F64, None) => Some(text.parse::<f64>().ok()?.to_bits() as i64),
        (DType::U64, _) => Some(text.parse::<u64>().ok()? as i64),
        _ => {
            let word = text.parse().ok()?;
            (cast(dtype, word) == word).then_some(word)
        }
    }
}

/// A word as the dtype holds it: wrapped for integers, converted for floats.
fn cast(dtype: DType, word: i64) -> i64 {
    match dtype.component() {
        DType::Bool | DType::U8 => i64::from(word as u8),
        DType::I8 => i64::from(word as i8),
        DType::I16 => i64::from(word as i16),
        DType::U16 => i64::from(word as u16),
        DType::I32 => i64::from(word as i32),
        DType::U32 => i64::from(word as u32),
        DType::F32 => i64::from((word as f32).to_bits()),
        DType::F64 => (word as f64).to_bits() as i64,
        _ => word,
    }
}

/// Whether a tensor has more elements than a page shows.
pub(super) fn is_long(tensor: &HostTensor) -> bool {
    tensor.ty().shape.elements() > SHORT_ELEMENTS as u64
}

/// Prints a literal as [`parse`] reads it, type first.
pub(super) fn print(tensor: &HostTensor, out: &mut String) -> fmt::Result {
    let ty = tensor.ty();
    write!(out, "{ty} ")?;
    let strides = &tensor.view().strides;
    if !tensor.view().is_contiguous() && *strides == column_major(&ty).strides {
        out.push_str("fortran ");
    }
    let words = tensor.words();
    let component = ty.dtype.component();
    if words.len() > SHORT_ELEMENTS
        && ty.shape.elements() <= MAX_RULE_ELEMENTS
        && let Some(rule) = Rule::of(ty.dtype, &words)
    {
        return rule.print(component, out);
    }
    out.push('{');
    for (index, word) in words.into_iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        print_element(component, word, out)?;
    }
    out.push('}');
    Ok(())
}

/// A rule that gives all elements.
enum Rule {
    Iota,
    Fill(i64),
}

impl Rule {
    /// The rule of these words, if they follow one: of an element of several components, all but
    /// the first are 0.
    fn of(dtype: DType, words: &[i64]) -> Option<Self> {
        let mut firsts = Vec::with_capacity(words.len() / dtype.components());
        for element in words.chunks_exact(dtype.components()) {
            let (first, rest) = element.split_first()?;
            firsts.push(rest.iter().all(|&word| word == 0).then_some(*first)?);
        }
        let first = *firsts.first()?;
        if firsts.iter().all(|&word| word == first) {
            return Some(Self::Fill(first));
        }
        let mut counted = firsts.iter().zip(0..);
        let is_iota = counted.all(|(&word, i)| word == cast(dtype.component(), i));
        is_iota.then_some(Self::Iota)
    }

    fn print(self, component: DType, out: &mut String) -> fmt::Result {
        match self {
            Self::Iota => out.write_str("iota"),
            Self::Fill(word) => {
                out.push_str("fill ");
                print_element(component, word, out)
            }
        }
    }
}

fn print_element(dtype: DType, word: i64, out: &mut String) -> fmt::Result {
    match dtype {
        DType::F32 => {
            let value = f32::from_bits(word as u32);
            if value.is_finite() {
                write!(out, "{value:?}")
            } else {
                write!(out, "{word:#x}")
            }
        }
        DType::F64 => {
            let value = f64::from_bits(word as u64);
            if value.is_finite() {
                write!(out, "{value:?}")
            } else {
                write!(out, "{word:#x}")
            }
        }
        DType::U64 => write!(out, "{}", word as u64),
        _ => write!(out, "{word}"),
    }
}
