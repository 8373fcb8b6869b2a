//! How a multi-scalar multiplication is cut into digits, windows and chunks of points.
//!
//! The cut depends on shapes alone, so that results never depend on the number of threads. The
//! numbers were measured on a Zen 4.

use crate::geometry::blocks;
use crate::{Args, Code, Extents, Launch, LaunchOperand, Launches, OpError, Source};
use cloakwork_ir::DType;
use smallvec::smallvec;

/// Scalars whose digits are a unit.
const DIGIT_BLOCK: i64 = 2048;
/// Most points of a unit: more are cut, and every chunk sums its own buckets.
const CHUNK: i64 = 1 << 20;
/// Window sizes that the kernels take: a bucket a lane, and digits of 16 bits.
const WINDOW_BITS: std::ops::RangeInclusive<i64> = 4..=16;
/// Adding a bucket to the running sums, in sums of two points; what a window costs beside, in the
/// same unit: inversions of batches that are never full.
const BUCKET_COST: i64 = 3;
const WINDOW_COST: i64 = 1500;
/// Most nanoseconds that a unit is said to take.
const WEIGHT: i64 = 1 << 20;

/// Multi-scalar multiplication.
pub(super) struct Product {
    points: DType,
    /// Axes of the result, and their strides in `scalars` and `out`.
    rows: Extents,
    scalar_rows: Extents,
    out_rows: Extents,
    /// Points, and strides from one to the next.
    count: i64,
    scalar_step: i64,
    base_step: i64,
    window_bits: i64,
}

impl Product {
    /// The sums that a call asks for.
    ///
    /// # Errors
    /// Scalars without an axis.
    pub(super) fn of(args: &Args) -> Result<Self, OpError> {
        let (scalars, bases) = (args.tensor("scalars")?, args.tensor("bases")?);
        let none = || OpError::new(Code::Shape, "scalars", "one axis or more", "none");
        let (count, rows) = scalars.dims().split_last().ok_or_else(none)?;
        let (scalar_step, scalar_rows) = scalars.view.strides.split_last().ok_or_else(none)?;
        let count = *count as i64;
        Ok(Self {
            points: bases.dtype,
            rows: rows.iter().map(|&dim| dim as i64).collect(),
            scalar_rows: Extents::from_slice(scalar_rows),
            out_rows: Extents::from_slice(&args.tensor("out")?.view.strides),
            count,
            scalar_step: *scalar_step,
            base_step: bases.view.strides.first().copied().unwrap_or(0),
            window_bits: window_bits(count, scalar_bits(bases.dtype)),
        })
    }

    /// Digits reach one bit beyond the scalars, which the last sign needs.
    fn windows(&self) -> i64 {
        scalar_bits(self.points) / self.window_bits + 1
    }

    fn chunks(&self) -> i64 {
        blocks(self.count, CHUNK)
    }

    /// Words of a sum: four coordinates, where a point has two.
    fn sum_words(&self) -> i64 {
        (self.points.size_bytes() / 8 * 2) as i64
    }

    /// Bytes of the sums of all windows, which lie before the digits.
    fn sum_bytes(&self) -> Option<i64> {
        let sums = self.windows().checked_mul(self.chunks())?;
        self.row_count()?
            .checked_mul(sums)?
            .checked_mul(self.sum_words() * 8)
    }

    fn row_count(&self) -> Option<i64> {
        self.rows
            .iter()
            .try_fold(1_i64, |all, &dim| all.checked_mul(dim))
    }

    /// Bytes of sums and of digits, two a digit.
    ///
    /// # Errors
    /// More than memory has.
    pub(super) fn temporary_bytes(&self) -> Result<u64, OpError> {
        let digits = self
            .row_count()
            .and_then(|rows| rows.checked_mul(self.windows()));
        let digits = digits.and_then(|all| all.checked_mul(self.count)?.checked_mul(2));
        let bytes = digits.and_then(|bytes| bytes.checked_add(self.sum_bytes()?));
        // The last launch names the memory even where there is no point.
        bytes
            .map(|bytes| bytes.unsigned_abs().max(8))
            .ok_or_else(|| {
                let got = format!("{:?} rows of {}", self.rows, self.count);
                OpError::new(Code::Shape, "scalars", "digits that fit in memory", got)
            })
    }

    /// The kernel calls.
    ///
    /// # Errors
    /// The digits do not fit in memory.
    pub(super) fn launches(&self, args: &Args) -> Result<Launches, OpError> {
        self.temporary_bytes()?;
        let sums = self.sum_bytes().unwrap_or(0);
        let digits = self.temporary(DType::I16, sums / 2, self.windows() * self.count);
        let parts = self.windows() * self.chunks() * self.sum_words();
        let parts = self.temporary(DType::U64, 0, parts);
        Ok(smallvec![
            self.cut(args, &digits)?,
            self.sum(args, &digits, &parts)?,
            self.combine(args, &parts)?,
        ])
    }

    /// Memory of the call's own: `row` elements for each row, from `offset` on.
    fn temporary(&self, dtype: DType, offset: i64, row: i64) -> LaunchOperand {
        let mut strides = Extents::from_elem(row, self.rows.len());
        for axis in (1..self.rows.len()).rev() {
            strides[axis - 1] = strides[axis] * self.rows[axis];
        }
        LaunchOperand {
            source: Source::Temporary(dtype),
            offset,
            strides,
        }
    }

    /// An operand's strides over the rows, and then its own.
    fn with(operand: &LaunchOperand, own: &[i64]) -> LaunchOperand {
        let strides = operand.strides.iter().chain(own).copied().collect();
        LaunchOperand {
            strides,
            ..operand.clone()
        }
    }

    fn dims(&self, own: &[i64]) -> Extents {
        self.rows.iter().chain(own).copied().collect()
    }

    fn bases(&self, args: &Args, own: &[i64]) -> Result<LaunchOperand, OpError> {
        let strides: Extents = self.rows.iter().map(|_| 0).collect();
        Ok(Self::with(&args.operand("bases", &strides)?, own))
    }

    /// Scalars into digits. A scalar takes about 50 ns.
    fn cut(&self, args: &Args, digits: &LaunchOperand) -> Result<Launch, OpError> {
        let block = DIGIT_BLOCK.min(self.count);
        let scalars = args.operand("scalars", &self.scalar_rows)?;
        Ok(Launch {
            kernel: "msm_digits",
            dims: self.dims(&[blocks(self.count, DIGIT_BLOCK), block * 50]),
            split: self.rows.len() + 1,
            operands: smallvec![
                Self::with(digits, &[DIGIT_BLOCK, 0]),
                Self::with(&scalars, &[DIGIT_BLOCK * self.scalar_step, 0]),
                self.bases(args, &[DIGIT_BLOCK * self.base_step, 0])?,
            ],
            params: smallvec![
                self.count,
                DIGIT_BLOCK,
                self.window_bits,
                self.windows(),
                (self.points.size_bytes() / 8) as i64,
                self.scalar_step,
                self.base_step,
            ],
        })
    }

    /// Digits and bases into a sum a window and chunk. A point takes about 60 ns.
    fn sum(
        &self,
        args: &Args,
        digits: &LaunchOperand,
        parts: &LaunchOperand,
    ) -> Result<Launch, OpError> {
        let (windows, chunks, words) = (self.windows(), self.chunks(), self.sum_words());
        let weight = (self.count.min(CHUNK) * 60 + 10_000).min(WEIGHT);
        Ok(Launch {
            kernel: "msm_windows",
            dims: self.dims(&[windows, chunks, weight]),
            split: self.rows.len() + 2,
            operands: smallvec![
                Self::with(parts, &[chunks * words, words, 0]),
                self.bases(args, &[0, CHUNK * self.base_step, 0])?,
                Self::with(digits, &[self.count, CHUNK, 0]),
            ],
            params: smallvec![self.count, CHUNK, self.window_bits, self.base_step],
        })
    }

    /// Sums of windows into results.
    fn combine(&self, args: &Args, parts: &LaunchOperand) -> Result<Launch, OpError> {
        let out = args.operand("out", &self.out_rows)?;
        Ok(Launch {
            kernel: "msm_combine",
            dims: self.dims(&[100_000]),
            split: self.rows.len(),
            operands: smallvec![Self::with(&out, &[0]), Self::with(parts, &[0])],
            params: smallvec![self.windows(), self.chunks(), self.window_bits],
        })
    }
}

/// Bits of a scalar of a group's order.
fn scalar_bits(points: DType) -> i64 {
    let scalars = points.scalar_field().and_then(DType::field_facts);
    scalars.map_or(0, |facts| i64::from(facts.prime().bits()))
}

/// The window size that costs least.
fn window_bits(count: i64, scalar_bits: i64) -> i64 {
    let cost = |bits: &i64| {
        let chunks = blocks(count, CHUNK).max(1);
        let buckets = chunks * ((BUCKET_COST << (bits - 1)) + WINDOW_COST);
        (scalar_bits / bits + 1) * (count + buckets)
    };
    WINDOW_BITS.min_by_key(cost).unwrap_or(4)
}
