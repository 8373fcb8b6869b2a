//! Demands on what operands contain. The verifier applies them to what it knows before the run,
//! the executor to the rest before the launch: one rule, one place.

use crate::{Args, Code, OpError, Value};
use cloakwork_ir::{HostTensor, MAX_RANK, Shape, View};
use smallvec::SmallVec;

/// The largest modulus: lazy butterflies need `4 q < 2^64`, so 2^62 itself is none.
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
    /// Indices into an axis of another operand; negative ones count from the end.
    IndexInto {
        /// The indices.
        indices: &'static str,
        /// What they index.
        operand: &'static str,
        /// Parameter that says which axis.
        axis: &'static str,
    },
}

impl ContentCheck {
    /// The parameter whose contents are checked.
    #[must_use]
    pub const fn operand(&self) -> &'static str {
        match self {
            Self::Modulus(name) | Self::Coprime(name) | Self::NonZero(name) => name,
            Self::Permutation { operand, .. } => operand,
            Self::IndexInto { indices, .. } => indices,
        }
    }

    /// Whether kernels go by the operand's elements to places in memory. What was checked must then
    /// be what they read, even if a thread of the caller's writes the tensor meanwhile.
    #[must_use]
    pub const fn guards_memory(&self) -> bool {
        matches!(self, Self::Permutation { .. } | Self::IndexInto { .. })
    }

    /// The number that [`ContentCheck::check`] needs: a permutation's length, an axis' size, else
    /// 0. `None` where this call makes no such demand.
    ///
    /// # Errors
    /// The call's operands are not what the op takes.
    pub fn bound(&self, args: &Args) -> Result<Option<i64>, OpError> {
        if matches!(args.value(self.operand())?, Value::Absent) {
            return Ok(None);
        }
        match *self {
            Self::Modulus(_) | Self::Coprime(_) | Self::NonZero(_) => Ok(Some(0)),
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
            Self::IndexInto { operand, axis, .. } => {
                let operand = args.tensor(operand)?;
                let axis = args.axis(axis, operand.view.rank())?;
                Ok(Some(operand.dims()[axis] as i64))
            }
        }
    }

    /// A view that tells all that this demand asks of an operand's elements, without their
    /// repeats: a view of one word may claim more of them than there is memory.
    #[must_use]
    pub fn telling(&self, view: &View) -> View {
        // Two of a kind are enough to be no permutation and not coprime.
        let kept = |axis| 1 + u64::from(axis + 1 == view.rank());
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
        match self {
            Self::Modulus(name) => {
                let wrong = words.iter().find(|word| !(2..=MAX_MODULUS).contains(*word));
                refuse(wrong, Code::Modulus, name, "a modulus from 2 to 2^62 - 1")
            }
            Self::Coprime(name) => coprime(name, words),
            Self::NonZero(name) => {
                let wrong = words.iter().find(|word| **word == 0);
                refuse(wrong, Code::Modulus, name, "a divisor other than 0")
            }
            Self::Permutation { operand, .. } => permutations(operand, bound, words),
            Self::IndexInto { indices, .. } => {
                let wrong = words.iter().find(|word| !(-bound..bound).contains(*word));
                refuse(
                    wrong,
                    Code::Range,
                    indices,
                    format!("indices from -{bound} to {}", bound - 1),
                )
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
    expected: impl Into<String>,
) -> Result<(), OpError> {
    wrong.map_or(Ok(()), |word| {
        Err(OpError::new(code, name, expected, word.to_string()))
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
