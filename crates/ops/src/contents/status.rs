//! Status words of checks: the reference of the kernels, and the error that a word stands for.

use super::ContentCheck;
use super::launch::{of_place, permuted};
use crate::field::elements::{self, InvalidElement};
use crate::hash::transcript;
use crate::{Code, MAX_MODULUS, OpError};
use cloakwork_ir::View;
use cloakwork_library::pairing::Form;
use smallvec::{SmallVec, smallvec};
use std::collections::HashMap;

/// Status of rows beyond a table, from which their places count: those that it lacks are below.
const BEYOND: u64 = (1 << 63) + 1;
/// Pairs of elements are two numbers below 2 to this.
const PAIR_BITS: u32 = 32;

/// Places of words, row-major.
type Places = SmallVec<[u64; 16]>;

impl ContentCheck {
    /// The status of row-major contents: the word that kernels write; none where all is as
    /// demanded.
    #[must_use]
    pub fn status(&self, bound: i64, words: &[i64]) -> Option<u64> {
        let first = |is_invalid: &dyn Fn(i64) -> bool| {
            let found = words.iter().position(|&word| is_invalid(word));
            found.map(|place| 1 + place as u64)
        };
        match self {
            Self::Modulus(_) => first(&|word| !(2..=MAX_MODULUS).contains(&word)),
            Self::NonZero(_) | Self::True(_) => first(&|word| word == 0),
            Self::Below { .. } => first(&|word| !(0..bound).contains(&word)),
            Self::IndexInto { .. } => first(&|word| !(-bound..bound).contains(&word)),
            Self::Coprime(_) => coprime(words),
            Self::Permutation { .. } => permutations(bound, words),
            Self::Canonical { .. } => canonical(bound, words).map(|(status, _)| status),
            Self::NoZeroElement { .. } | Self::Finite(_) => {
                let mut elements = words.chunks(bound.max(1) as usize);
                let zero = elements.position(|element| element.iter().all(|&word| word == 0));
                zero.map(|place| 1 + place as u64)
            }
            Self::Distinct(_) => distinct(bound, words),
            Self::Starts { .. } => starts(bound, words),
            Self::LookupRows { .. } => {
                let status = |(place, &row): (usize, &i64)| match row {
                    ..0 => Some(row.unsigned_abs()),
                    _ => (row >= bound).then_some(BEYOND + place as u64),
                };
                words.iter().enumerate().filter_map(status).min()
            }
            Self::TranscriptRoom { .. } => (!transcript::has_room(bound, words)).then_some(1),
            Self::ProofLength { .. } => (!transcript::proof_is(bound, words)).then_some(1),
        }
    }

    /// The places, row-major, of the words that the error of a status names; of so many words in
    /// all.
    #[must_use]
    pub fn named(&self, bound: i64, status: u64, count: u64) -> Places {
        let place = status.saturating_sub(1);
        match self {
            Self::Modulus(_)
            | Self::NonZero(_)
            | Self::Below { .. }
            | Self::IndexInto { .. }
            | Self::Permutation { .. } => smallvec![place],
            Self::Coprime(_) => pair(place).into_iter().collect(),
            Self::LookupRows { .. } => status.checked_sub(BEYOND).into_iter().collect(),
            Self::Starts { .. } if status <= 2 => {
                smallvec![if status == 1 {
                    0
                } else {
                    count.saturating_sub(1)
                }]
            }
            Self::Canonical { .. } => {
                let words = of_place(bound).map_or(1, |dtype| dtype.canonical_words() as u64);
                (place * words..(place + 1) * words).collect()
            }
            Self::TranscriptRoom { .. } | Self::ProofLength { .. } => (0..count).collect(),
            Self::NoZeroElement { .. }
            | Self::Distinct(_)
            | Self::Starts { .. }
            | Self::Finite(_)
            | Self::True(_) => Places::new(),
        }
    }

    /// The error of a status of so many words, of which these are the words that
    /// [`ContentCheck::named`] lists.
    #[must_use]
    pub fn refusal(&self, bound: i64, (status, count): (u64, u64), words: &[i64]) -> OpError {
        let (name, place) = (self.operand(), status.saturating_sub(1));
        let word = words.first().copied().unwrap_or_default();
        let range = |expected: String, got: String| OpError::new(Code::Range, name, expected, got);
        let modulus =
            |expected: &str, got: String| OpError::new(Code::Modulus, name, expected, got);
        match self {
            Self::Modulus(_) => modulus("a modulus from 2 to 2^62 - 1", word.to_string()),
            Self::NonZero(_) => modulus("a divisor other than 0", word.to_string()),
            Self::Coprime(_) => modulus("coprime moduli", shared_factor(words)),
            Self::Below { .. } => {
                range(format!("indices from 0 to {}", bound - 1), word.to_string())
            }
            Self::IndexInto { .. } => {
                let expected = format!("indices from -{bound} to {}", bound - 1);
                range(expected, word.to_string())
            }
            Self::Permutation { .. } => {
                let length = permuted(bound, count);
                let is_below = u64::try_from(word).is_ok_and(|index| index < length);
                let got = if is_below { " twice" } else { "" };
                let expected = format!("a permutation of the numbers below {length}");
                OpError::new(Code::Permutation, name, expected, format!("{word}{got}"))
            }
            Self::Canonical { .. } => not_canonical(name, bound, (place, words)),
            Self::NoZeroElement { .. } => {
                let expected = "elements other than 0".to_owned();
                range(expected, format!("0 in element {place}"))
            }
            Self::Distinct(_) => {
                let [at, first] = pair(place);
                let got = format!("elements {first} and {at} equal");
                range("distinct elements".to_owned(), got)
            }
            Self::Starts { .. } => {
                let got = match status {
                    1 => format!("{word} first"),
                    2 => format!("{word} last"),
                    _ => format!("a smaller number after element {}", status - 3),
                };
                range(format!("ascending numbers from 0 to {bound}"), got)
            }
            Self::LookupRows { .. } => not_in_table(name, bound, (status, word)),
            Self::TranscriptRoom { .. } => transcript::no_room(name, bound, words),
            Self::ProofLength { .. } => transcript::other_proof(name, bound, words),
            Self::Finite(_) => {
                let got = format!("infinity, at row-major place {place}");
                let expected = "points that are not at infinity";
                let error = OpError::new(Code::Element, name, expected, got);
                error.hint("transcripts cannot absorb points at infinity")
            }
            Self::True(_) => range(
                "true everywhere".to_owned(),
                format!("false in element {place}"),
            ),
        }
    }

    /// The row-major place in an operand of the element that a status stands for, which counts
    /// elements without their repeats.
    #[must_use]
    pub fn element(&self, status: u64, operand: &View) -> u64 {
        let checked = self.telling(operand);
        let (mut left, mut step, mut place) = (status.saturating_sub(1), 1u64, 0u64);
        let axes = checked.shape.dims().iter().zip(operand.shape.dims());
        for (&dim, &whole) in axes.rev() {
            place += left % dim.max(1) * step;
            left /= dim.max(1);
            step = step.saturating_mul(whole);
        }
        place
    }
}

/// Two numbers of which the first is the higher part of a word.
fn pair(word: u64) -> [u64; 2] {
    [word >> PAIR_BITS, word & ((1 << PAIR_BITS) - 1)]
}

fn status_of_pair(high: usize, low: usize) -> u64 {
    1 + ((high as u64) << PAIR_BITS | low as u64)
}

fn coprime(words: &[i64]) -> Option<u64> {
    let mut pairs = (0..words.len()).flat_map(|i| (i + 1..words.len()).map(move |j| (i, j)));
    let shares = |&(i, j): &(usize, usize)| gcd(words[i], words[j]) != 1;
    pairs.find(shares).map(|(i, j)| status_of_pair(i, j))
}

fn gcd(a: i64, b: i64) -> u64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn shared_factor(words: &[i64]) -> String {
    match *words {
        [a, b, ..] => format!("{a} and {b}, which share {}", gcd(a, b)),
        _ => "moduli that share a factor".to_owned(),
    }
}

fn distinct(components: i64, words: &[i64]) -> Option<u64> {
    let mut seen = HashMap::new();
    for (at, element) in words.chunks(components.max(1) as usize).enumerate() {
        if let Some(first) = seen.insert(element, at) {
            return Some(status_of_pair(at, first));
        }
    }
    None
}

fn starts(end: i64, words: &[i64]) -> Option<u64> {
    if words.first().is_some_and(|&first| first != 0) {
        return Some(1);
    }
    if words.last().is_some_and(|&last| last != end) {
        return Some(2);
    }
    let falls = |pair: &[i64]| matches!(pair, [a, b] if a > b);
    let place = words.windows(2).position(falls);
    place.map(|place| 3 + place as u64)
}

fn permutations(bound: i64, words: &[i64]) -> Option<u64> {
    let length = permuted(bound, words.len() as u64) as usize;
    let mut seen = vec![false; length];
    for (place, &word) in words.iter().enumerate() {
        if place.is_multiple_of(length.max(1)) {
            seen.fill(false);
        }
        let index = usize::try_from(word).ok();
        match index.and_then(|index| seen.get_mut(index)) {
            Some(mark) if !*mark => *mark = true,
            _ => return Some(1 + place as u64),
        }
    }
    None
}

/// Elements are counted row-major.
fn canonical(bound: i64, words: &[i64]) -> Option<(u64, InvalidElement)> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let found = elements::check(of_place(bound)?, Form::Canonical, &bytes).err()?;
    Some((1 + found.index as u64, found))
}

fn not_canonical(name: &'static str, bound: i64, (place, words): (u64, &[i64])) -> OpError {
    let expected = of_place(bound).map_or_else(String::new, InvalidElement::expected);
    let Some((_, found)) = canonical(bound, words) else {
        let got = format!("element {place}, which changed meanwhile");
        return OpError::new(Code::Element, name, expected, got);
    };
    let found = InvalidElement {
        index: place as usize,
        ..found
    };
    OpError::new(Code::Element, name, expected, found.to_string()).hint(found.hint())
}

/// Of several inputs that the table lacks the first is reported.
fn not_in_table(name: &'static str, bound: i64, (status, row): (u64, i64)) -> OpError {
    if status >= BEYOND {
        let expected = format!("rows below {bound}, the size of the table");
        return OpError::new(Code::Range, name, expected, row.to_string());
    }
    let expected = "input values that are in the usable rows of the table";
    let got = format!("another value in row {} of the input", status - 1);
    let error = OpError::new(Code::Element, name, expected, got);
    error.hint("add the value to the table, or correct that row of the input")
}
