//! Demands on what operands contain. The verifier applies them to what it knows before the run,
//! the executor to the rest before the launch: one rule, one place.

use crate::field::elements::{self, InvalidElement};
use crate::hash::transcript::{self, Appends};
use crate::{Args, Code, OpError, Value};
use cloakwork_ir::{ALL_DTYPES, HostTensor, MAX_RANK, Shape, View};
use cloakwork_library::pairing::Form;
use smallvec::SmallVec;
use std::collections::HashMap;

/// The largest modulus: lazy butterflies need `4 q < 2^64`, so 2^62 itself is too large.
pub const MAX_MODULUS: i64 = (1 << 62) - 1;

/// A demand on the contents of one operand. Fields and payloads are names of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentCheck {
    /// Moduli in `2 .. 2^62`.
    Modulus(&'static str),
    /// Moduli of which no two share a factor.
    Coprime(&'static str),
    /// No zeros.
    NonZero(&'static str),
    /// Each row along the last axis is a permutation of its indices.
    Permutation {
        /// The permutation.
        operand: &'static str,
        /// It is used only where this flag has this value.
        flag: Option<(&'static str, bool)>,
    },
    /// Canonical numbers of a dtype's elements, along the last axis: below the prime, of points
    /// those of the curve and its group.
    Canonical {
        /// The words.
        words: &'static str,
        /// Parameter that says of which dtype.
        dtype: &'static str,
    },
    /// Elements of a field of which none is 0.
    NoZeroElement {
        /// The elements.
        operand: &'static str,
        /// The demand is made only where this flag, if there is one, is set.
        flag: Option<&'static str>,
    },
    /// Elements of a field of which no two are equal.
    Distinct(&'static str),
    /// Ascending numbers from 0 to the length of another operand.
    Starts {
        /// The numbers.
        operand: &'static str,
        /// Whose first axis they end at.
        of: &'static str,
    },
    /// Indices into the first axis of another operand, from 0.
    Below {
        /// The indices.
        indices: &'static str,
        /// What they index.
        operand: &'static str,
    },
    /// Rows of a table as `lookup_rows` finds them: below 0 is an input that the table lacks.
    LookupRows {
        /// The rows.
        rows: &'static str,
        /// Whose first axis they index.
        table: &'static str,
    },
    /// Indices into an axis of another operand; negative ones count from the end.
    IndexInto {
        /// The indices.
        indices: &'static str,
        /// What they index.
        operand: &'static str,
        /// Parameter that says which axis.
        axis: &'static str,
    },
    /// A transcript that has room for what the call appends.
    TranscriptRoom {
        /// The transcript.
        transcript: &'static str,
        /// What the call appends.
        appends: Appends,
    },
    /// A transcript whose proof has as many bytes as this integer parameter says.
    ProofLength {
        /// The transcript.
        transcript: &'static str,
        /// The length.
        length: &'static str,
    },
    /// No point is at infinity.
    Finite(&'static str),
    /// All elements are true.
    True(&'static str),
}

impl ContentCheck {
    /// The parameter whose contents are checked.
    #[must_use]
    pub const fn operand(&self) -> &'static str {
        match self {
            Self::Modulus(name)
            | Self::Coprime(name)
            | Self::NonZero(name)
            | Self::Distinct(name)
            | Self::Finite(name)
            | Self::True(name) => name,
            Self::TranscriptRoom { transcript, .. } | Self::ProofLength { transcript, .. } => {
                transcript
            }
            Self::Permutation { operand, .. }
            | Self::NoZeroElement { operand, .. }
            | Self::Starts { operand, .. } => operand,
            Self::IndexInto { indices, .. } | Self::Below { indices, .. } => indices,
            Self::LookupRows { rows, .. } => rows,
            Self::Canonical { words, .. } => words,
        }
    }

    /// Whether the demand is on the lengths of a transcript's parts.
    #[must_use]
    pub const fn is_about_transcripts(&self) -> bool {
        matches!(self, Self::TranscriptRoom { .. } | Self::ProofLength { .. })
    }

    /// Bytes that the call adds to the log and to the proof of its transcript, if it has one.
    ///
    /// # Errors
    /// The call's operands are not what the op takes.
    pub fn appended(&self, args: &Args) -> Result<Option<[u64; 2]>, OpError> {
        match self {
            Self::TranscriptRoom { appends, .. } => {
                Ok(Some([appends.bytes(args)?, appends.proof_bytes(args)?]))
            }
            _ => Ok(None),
        }
    }

    /// Whether kernels go by the operand's elements to places in memory. What was checked must then
    /// be what they read, even if a thread of the caller's writes the tensor meanwhile.
    #[must_use]
    pub const fn guards_memory(&self) -> bool {
        matches!(
            self,
            Self::Permutation { .. }
                | Self::IndexInto { .. }
                | Self::Starts { .. }
                | Self::Below { .. }
                | Self::LookupRows { .. }
        )
    }

    /// The number that [`ContentCheck::check`] needs: a permutation's length, an axis' size, a
    /// dtype's place in [`ALL_DTYPES`], the words of an element, else 0. `None` where this call
    /// makes no such demand.
    ///
    /// # Errors
    /// The call's operands are not what the op takes.
    pub fn bound(&self, args: &Args) -> Result<Option<i64>, OpError> {
        if matches!(args.value(self.operand())?, Value::Absent) {
            return Ok(None);
        }
        match *self {
            Self::Modulus(_) | Self::Coprime(_) | Self::NonZero(_) | Self::True(_) => Ok(Some(0)),
            Self::Permutation {
                flag: Some((flag, value)),
                ..
            } if args.flag(flag)? != value => Ok(None),
            Self::Permutation { operand, .. } => Ok(Some(
                args.tensor(operand)?
                    .dims()
                    .last()
                    .map_or(1, |&size| size as i64),
            )),
            Self::NoZeroElement {
                flag: Some(flag), ..
            } if !args.flag(flag)? => Ok(None),
            Self::NoZeroElement { operand, .. } | Self::Distinct(operand) => {
                Ok(Some(args.tensor(operand)?.dtype.components() as i64))
            }
            Self::Starts { of: operand, .. }
            | Self::Below { operand, .. }
            | Self::LookupRows { table: operand, .. } => {
                let first = args.tensor(operand)?.dims().first().copied();
                Ok(Some(first.unwrap_or(0) as i64))
            }
            Self::Canonical { dtype, .. } => {
                let dtype = args.dtype(dtype)?;
                let place = ALL_DTYPES.iter().position(|&other| other == dtype);
                Ok(place.map(|place| place as i64))
            }
            Self::IndexInto { operand, axis, .. } => {
                let operand = args.tensor(operand)?;
                let axis = args.axis(axis, operand.view.rank())?;
                Ok(Some(operand.dims()[axis] as i64))
            }
            Self::TranscriptRoom {
                transcript,
                appends,
            } => {
                let capacity = transcript::capacity(transcript, args.tensor(transcript)?)?;
                let left = i128::from(capacity) - i128::from(appends.bytes(args)?);
                Ok(Some(left.max(-1) as i64))
            }
            Self::ProofLength { length, .. } => args.int(length).map(Some),
            Self::Finite(name) => {
                let dtype = args.tensor(name)?.dtype;
                Ok(dtype.is_point().then_some(dtype.components() as i64))
            }
        }
    }

    /// A view that tells all that this demand asks of an operand's elements, without their
    /// repeats: a view of one word may claim more of them than there is memory.
    #[must_use]
    pub fn telling(&self, view: &View) -> View {
        if let Self::TranscriptRoom { .. } | Self::ProofLength { .. } = self {
            return transcript::head(view);
        }
        // Two of a kind are enough to be no permutation and not coprime; of a number all words
        // count.
        let last = match self {
            Self::Canonical { .. } | Self::Starts { .. } => u64::MAX,
            _ => 2,
        };
        let kept = |axis| if axis + 1 == view.rank() { last } else { 1 };
        let axes = view.shape.dims().iter().zip(&view.strides).enumerate();
        let dims: SmallVec<[u64; MAX_RANK]> = axes
            .map(|(axis, (&dim, &stride))| match stride {
                0 => dim.min(kept(axis)),
                _ => dim,
            })
            .collect();
        let shape = Shape::new(&dims).unwrap_or_else(|_| view.shape.clone());
        View {
            shape,
            ..view.clone()
        }
    }

    /// Whether the least and the greatest element can show that all are as demanded.
    #[must_use]
    pub const fn is_about_extremes(&self) -> bool {
        matches!(
            self,
            Self::Modulus(_)
                | Self::NonZero(_)
                | Self::Below { .. }
                | Self::LookupRows { .. }
                | Self::IndexInto { .. }
        )
    }

    /// Whether elements from the least to the greatest of these are as demanded, all of them.
    #[must_use]
    pub fn holds_between(&self, bound: i64, [least, greatest]: [i64; 2]) -> bool {
        match self {
            Self::NonZero(_) => least > 0 || greatest < 0,
            _ => self.is_about_extremes() && self.check(bound, &[least, greatest]).is_ok(),
        }
    }

    /// Whether the bytes of dense elements are as demanded, where that can be seen at a glance:
    /// where not, [`Self::check`] looks closer and says what is wrong.
    #[must_use]
    pub fn surely_holds(&self, bound: i64, bytes: &[u8]) -> bool {
        if let Self::True(_) = self {
            return !bytes.contains(&0);
        }
        let place = usize::try_from(bound).ok();
        match (self, place.and_then(|place| ALL_DTYPES.get(place))) {
            (Self::Canonical { .. }, Some(&dtype)) => {
                elements::check(dtype, Form::Canonical, bytes).is_ok()
            }
            _ => false,
        }
    }

    /// Whether a known operand's contents are as demanded.
    ///
    /// # Errors
    /// The first element that is not.
    pub fn check_tensor(&self, bound: i64, tensor: &HostTensor) -> Result<(), OpError> {
        let telling = tensor.with_view(self.telling(tensor.view()));
        let words = telling.map_or_else(|_| tensor.words(), |tensor| tensor.words());
        self.check(bound, &words)
    }

    /// Whether row-major contents are as demanded.
    ///
    /// # Errors
    /// The first element that is not.
    pub fn check(&self, bound: i64, words: &[i64]) -> Result<(), OpError> {
        match self {
            Self::Modulus(name) => {
                let wrong = words.iter().find(|word| !(2..=MAX_MODULUS).contains(*word));
                refuse(wrong, Code::Modulus, name, || {
                    "a modulus from 2 to 2^62 - 1".to_owned()
                })
            }
            Self::Coprime(name) => coprime(name, words),
            Self::NonZero(name) => {
                let wrong = words.iter().find(|word| **word == 0);
                refuse(wrong, Code::Modulus, name, || {
                    "a divisor other than 0".to_owned()
                })
            }
            Self::Permutation { operand, .. } => permutations(operand, bound, words),
            Self::Canonical { words: name, .. } => canonical(name, bound, words),
            Self::NoZeroElement { operand, .. } => {
                let mut elements = words.chunks(bound.max(1) as usize);
                match elements.position(|element| element.iter().all(|&word| word == 0)) {
                    Some(at) => {
                        let got = format!("0 in element {at}");
                        Err(OpError::new(
                            Code::Range,
                            operand,
                            "elements other than 0",
                            got,
                        ))
                    }
                    None => Ok(()),
                }
            }
            Self::Distinct(name) => distinct(name, bound, words),
            Self::Starts { operand, .. } => starts(operand, bound, words),
            Self::Below { indices, .. } => {
                let wrong = words.iter().find(|word| !(0..bound).contains(*word));
                let expected = || format!("indices from 0 to {}", bound - 1);
                refuse(wrong, Code::Range, indices, expected)
            }
            Self::LookupRows { rows, .. } => lookup_rows(rows, bound, words),
            Self::TranscriptRoom { transcript, .. } => {
                transcript::has_room(transcript, bound, words)
            }
            Self::ProofLength { transcript, .. } => transcript::proof_is(transcript, bound, words),
            Self::Finite(name) => finite(name, bound, words),
            Self::True(name) => match words.iter().position(|&word| word == 0) {
                Some(at) => {
                    let got = format!("false in element {at}");
                    Err(OpError::new(Code::Range, name, "true everywhere", got))
                }
                None => Ok(()),
            },
            Self::IndexInto { indices, .. } => {
                let wrong = words.iter().find(|word| !(-bound..bound).contains(*word));
                refuse(wrong, Code::Range, indices, || {
                    format!("indices from -{bound} to {}", bound - 1)
                })
            }
        }
    }
}

/// Applies an op's demands to integers and to tensors whose contents are known.
///
/// # Errors
/// The first contents that are not as demanded.
pub fn check_known(args: &Args) -> Result<(), OpError> {
    for check in args.def.body.checks() {
        let Some(bound) = check.bound(args)? else {
            continue;
        };
        match args.value(check.operand())? {
            Value::Int(value) => check.check(bound, &[value])?,
            Value::Tensor(operand) => {
                if let Some(tensor) = operand.constant {
                    check.check_tensor(bound, tensor)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn refuse(
    wrong: Option<&i64>,
    code: Code,
    name: &'static str,
    expected: impl FnOnce() -> String,
) -> Result<(), OpError> {
    wrong.map_or(Ok(()), |word| {
        Err(OpError::new(code, name, expected(), word.to_string()))
    })
}

fn distinct(name: &'static str, components: i64, words: &[i64]) -> Result<(), OpError> {
    let mut seen = HashMap::new();
    for (at, element) in words.chunks(components.max(1) as usize).enumerate() {
        if let Some(first) = seen.insert(element, at) {
            let got = format!("elements {first} and {at} equal");
            return Err(OpError::new(Code::Range, name, "distinct elements", got));
        }
    }
    Ok(())
}

fn starts(name: &'static str, end: i64, words: &[i64]) -> Result<(), OpError> {
    let expected = || format!("ascending numbers from 0 to {end}");
    let refused = |got: String| Err(OpError::new(Code::Range, name, expected(), got));
    if let Some(&first) = words.first().filter(|&&first| first != 0) {
        return refused(format!("{first} first"));
    }
    if let Some(&last) = words.last().filter(|&&last| last != end) {
        return refused(format!("{last} last"));
    }
    match words
        .windows(2)
        .position(|pair| matches!(pair, [a, b] if a > b))
    {
        Some(at) => refused(format!("a smaller number after element {at}")),
        None => Ok(()),
    }
}

/// Of several inputs that the table lacks the first is reported.
fn lookup_rows(name: &'static str, bound: i64, words: &[i64]) -> Result<(), OpError> {
    let missing = words.iter().filter(|&&word| word < 0).max();
    if let Some(&missing) = missing {
        let expected = "input values that are in the usable rows of the table";
        let got = format!("another value in row {} of the input", -1 - missing);
        let error = OpError::new(Code::Element, name, expected, got);
        return Err(error.hint("add the value to the table, or correct that row of the input"));
    }
    let wrong = words.iter().find(|&&word| word >= bound);
    let expected = || format!("rows below {bound}, the size of the table");
    refuse(wrong, Code::Range, name, expected)
}

/// Elements are counted row-major.
fn canonical(name: &'static str, place: i64, words: &[i64]) -> Result<(), OpError> {
    let dtype = usize::try_from(place)
        .ok()
        .and_then(|place| ALL_DTYPES.get(place));
    let Some(&dtype) = dtype else {
        return Ok(());
    };
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    elements::check(dtype, Form::Canonical, &bytes).map_err(|found| {
        let expected = InvalidElement::expected(dtype);
        OpError::new(Code::Element, name, expected, found.to_string()).hint(found.hint())
    })
}

fn permutations(name: &'static str, length: i64, words: &[i64]) -> Result<(), OpError> {
    let length = usize::try_from(length).unwrap_or(0).min(words.len());
    let refused = |got| {
        let expected = format!("a permutation of the numbers below {length}");
        Err(OpError::new(Code::Permutation, name, expected, got))
    };
    for row in words.chunks(length.max(1)) {
        let mut seen = vec![false; length];
        for word in row {
            match usize::try_from(*word)
                .ok()
                .and_then(|index| seen.get_mut(index))
            {
                Some(mark) if !*mark => *mark = true,
                Some(_) => return refused(format!("{word} twice")),
                None => return refused(word.to_string()),
            }
        }
    }
    Ok(())
}

/// Points of so many words, of which none is all zeros.
fn finite(name: &'static str, words_each: i64, words: &[i64]) -> Result<(), OpError> {
    let mut points = words.chunks(usize::try_from(words_each).unwrap_or(1).max(1));
    let Some(place) = points.position(|point| point.iter().all(|&word| word == 0)) else {
        return Ok(());
    };
    let got = format!("infinity, at row-major place {place}");
    let error = OpError::new(Code::Element, name, "points that are not at infinity", got);
    Err(error.hint("transcripts cannot absorb points at infinity"))
}

fn coprime(name: &'static str, words: &[i64]) -> Result<(), OpError> {
    for (i, &a) in words.iter().enumerate() {
        for &b in words.iter().skip(i + 1) {
            let common = gcd(a.unsigned_abs(), b.unsigned_abs());
            if common != 1 {
                let got = format!("{a} and {b}, which share {common}");
                return Err(OpError::new(Code::Modulus, name, "coprime moduli", got));
            }
        }
    }
    Ok(())
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
