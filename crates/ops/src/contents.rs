//! Demands on what operands contain. The verifier applies them to what it knows before the run;
//! the rest is checked by kernels before the launch (`contents/launch.rs`), which write status
//! words (`contents/status.rs`).

mod launch;
mod status;

pub use launch::Checking;

use crate::hash::transcript::{self, Appends};
use crate::{Args, OpError, Value};
use cloakwork_ir::{ALL_DTYPES, HostTensor, MAX_RANK, Shape, View};
use smallvec::SmallVec;

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
        /// The operand whose first axis they end at.
        of: &'static str,
    },
    /// Indices into the first axis of another operand, from 0.
    Below {
        /// The indices.
        indices: &'static str,
        /// The operand that they index.
        operand: &'static str,
    },
    /// Rows of a table as `lookup_rows` finds them: below 0 is an input that the table lacks.
    LookupRows {
        /// The rows.
        rows: &'static str,
        /// The operand whose first axis they index.
        table: &'static str,
    },
    /// Indices into an axis of another operand; negative ones count from the end.
    IndexInto {
        /// The indices.
        indices: &'static str,
        /// The operand that they index.
        operand: &'static str,
        /// Parameter that says which axis.
        axis: &'static str,
    },
    /// A transcript that has room for what the call appends.
    TranscriptRoom {
        /// The transcript.
        transcript: &'static str,
        /// The bytes that the call appends.
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
        let Some(status) = self.status(bound, words) else {
            return Ok(());
        };
        let count = words.len() as u64;
        let named = self.named(bound, status, count).into_iter();
        let named = named.filter_map(|place| words.get(usize::try_from(place).ok()?).copied());
        let named: SmallVec<[i64; 16]> = named.collect();
        Err(self.refusal(bound, (status, count), &named))
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
