//! The kernels that check contents: which one a rule has, and its launch over an operand.

use super::ContentCheck;
use crate::field::primes;
use crate::launch::Extents;
use crate::{Launch, LaunchOperand, MAX_MODULUS, Source};
use cloakwork_ir::{ALL_DTYPES, DType, View};
use smallvec::{SmallVec, smallvec};

/// A launch that checks contents.
#[derive(Clone, Debug)]
pub struct Checking {
    /// The launch: operand 0 is the status word, operand 1 the elements.
    pub launch: Launch,
    /// As what its kernel reads the elements.
    pub dtype: DType,
    /// About how long it takes on one core, in nanoseconds.
    pub weight_ns: u64,
}

/// About how long it takes to multiply a point by the order of its group.
const POINT_NS: u64 = 40_000;

/// A kernel, its params, and how many of the last dimensions lie inside a unit.
struct Kernel(&'static str, Extents, usize);

impl ContentCheck {
    /// The launch that holds an operand to this rule, from the view's first element on. None where
    /// there is nothing to check.
    #[must_use]
    pub fn launch(&self, bound: i64, dtype: DType, view: &View) -> Option<Checking> {
        let view = self.telling(view);
        if view.shape.elements() == 0 {
            return None;
        }
        let Kernel(kernel, params, inside) = self.kernel(bound, &view)?;
        let words = dtype.components() as i64;
        let is_wide = matches!(
            self,
            Self::NoZeroElement { .. } | Self::Distinct(_) | Self::Finite(_)
        );
        let mut dims: Extents = view.shape.dims().iter().map(|&dim| dim as i64).collect();
        let mut strides: Extents = view.strides.iter().map(|stride| stride * words).collect();
        // The words of an element, or the one number of a scalar.
        if is_wide || dims.len() < inside {
            dims.push(words);
            strides.push(1);
        }
        let split = match self {
            Self::Distinct(_) => 0,
            _ => dims.len() - inside,
        };
        let operand = |source, strides| LaunchOperand {
            source,
            offset: 0,
            strides,
        };
        let status = SmallVec::from_elem(0, dims.len());
        let launch = Launch {
            kernel,
            dims,
            split,
            operands: smallvec![
                operand(Source::Temporary(DType::U64), status),
                operand(Source::Param(0), strides)
            ],
            params,
        };
        let weight_ns = match launch.kernel {
            POINTS => launch.units().saturating_mul(POINT_NS),
            _ => launch.weight_ns() / 2,
        };
        Some(Checking {
            launch,
            dtype: dtype.component(),
            weight_ns,
        })
    }

    /// None where contents are always as demanded.
    fn kernel(&self, bound: i64, view: &View) -> Option<Kernel> {
        let range = |least: i64, count: i64| Kernel("check_range", smallvec![least, count], 0);
        Some(match self {
            Self::Modulus(_) => range(2, MAX_MODULUS - 1),
            // As words that wrap around, all but 0.
            Self::NonZero(_) | Self::True(_) => range(1, -1),
            Self::Below { .. } => range(0, bound.max(0)),
            Self::IndexInto { .. } => range(-bound, bound.wrapping_mul(2)),
            Self::LookupRows { .. } => Kernel("check_lookup_rows", smallvec![bound], 0),
            Self::Coprime(_) => Kernel("check_coprime", smallvec![], 0),
            Self::Starts { .. } => Kernel("check_starts", smallvec![bound], 0),
            Self::Permutation { .. } => {
                let length = permuted(bound, view.shape.elements());
                Kernel("check_permutation", smallvec![length as i64], 1)
            }
            Self::NoZeroElement { .. } | Self::Finite(_) => Kernel("check_nonzero", smallvec![], 1),
            Self::Distinct(_) => Kernel("check_distinct", smallvec![], 1),
            Self::Canonical { .. } => canonical(of_place(bound)?)?,
            Self::TranscriptRoom { .. } => Kernel("check_transcript", smallvec![bound, 0], 1),
            Self::ProofLength { .. } => Kernel("check_transcript", smallvec![bound, 1], 1),
        })
    }
}

const POINTS: &str = "check_points";

/// How many numbers a row of a permutation permutes.
pub(super) fn permuted(bound: i64, elements: u64) -> u64 {
    u64::try_from(bound).unwrap_or(0).min(elements)
}

/// The dtype of which a rule says the place in the list of all.
pub(super) fn of_place(bound: i64) -> Option<DType> {
    ALL_DTYPES.get(usize::try_from(bound).ok()?).copied()
}

fn canonical(dtype: DType) -> Option<Kernel> {
    if dtype.is_point() {
        let number = i64::from(dtype.number());
        return Some(Kernel(POINTS, smallvec![number], 1));
    }
    let prime = primes::modulus(dtype);
    let params = std::iter::once(prime.len() as i64).chain(prime.iter().map(|&word| word as i64));
    (!prime.is_empty()).then(|| Kernel("check_below_prime", params.collect(), 1))
}
