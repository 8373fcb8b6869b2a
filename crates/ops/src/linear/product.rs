//! How a product of matrices is cut into blocks, and which kernels compute it.
//!
//! The cut depends on shapes and strides alone, so that results never depend on the number of
//! threads. The numbers were measured on a Zen 4 with 1 MiB of second-level cache a core.

use crate::geometry::blocks;
use crate::{Args, Code, Extents, Launch, LaunchOperand, Launches, OpError, Source};
use cloakwork_ir::{DType, View};
use smallvec::{SmallVec, smallvec};

/// Packed columns come in groups of so many (`kColumnGroup` of the kernels).
const COLUMN_GROUP: i64 = 192;
/// Bytes of a row of a block of `a`: a panel of `b` of this depth, and the block of `a`, stay in
/// the second-level cache.
const DEPTH_BYTES: i64 = 3072;
/// Most depth of a block, whatever the type.
const DEPTH: i64 = 512;
/// Rows of a block where `b` is packed, where it is read as it lies, and where each block packs it.
const ROWS: i64 = 128;
const ROWS_IN_PLACE: i64 = 64;
const ROWS_THAT_PACK: i64 = 256;
/// Columns of the widest tile of floats.
const TILE_COLUMNS: i64 = 48;
/// Bytes of `b` above which packing it once is worth a pass over it.
const PACKED_BYTES: i64 = 2 << 20;
/// Elements of `b` above which it is packed once if its rows are not dense.
const PACKED_ELEMENTS: i64 = 256 * 256;
/// Rows of a block of a product with a vector: a multiple of the lanes of every vector.
const VECTOR_ROWS: i64 = 64;
/// Most nanoseconds that a unit is said to take: enough to split for, and units times it fit.
const WEIGHT: i64 = 1 << 20;

/// One of the three matrices.
#[derive(Clone, Debug)]
struct Side {
    source: Source,
    offset: i64,
    /// Strides over the batch axes.
    batch: Extents,
    row: i64,
    column: i64,
}

impl Side {
    fn of(args: &Args, name: &'static str, batch: &[u64]) -> Result<Self, OpError> {
        let view = args.tensor(name)?.view;
        let ([.., _, _], [own @ .., row, column]) = (view.shape.dims(), &view.strides[..]) else {
            return Err(OpError::new(Code::Shape, name, "two axes or more", "fewer"));
        };
        Ok(Self {
            source: args.source(name)?,
            offset: view.offset,
            batch: batch_strides(view, own, batch),
            row: *row,
            column: *column,
        })
    }

    fn transposed(self) -> Self {
        Self {
            row: self.column,
            column: self.row,
            ..self
        }
    }

    /// As an operand; the kernel's own dimensions follow the batch.
    fn operand(&self, own_dims: usize) -> LaunchOperand {
        let mut strides = self.batch.clone();
        strides.extend(std::iter::repeat_n(0, own_dims));
        LaunchOperand {
            source: self.source,
            offset: self.offset,
            strides,
        }
    }
}

/// Strides over the batch axes of the result: 0 where the operand has no such axis, or one index.
fn batch_strides(view: &View, own: &[i64], batch: &[u64]) -> Extents {
    let missing = batch.len().saturating_sub(own.len());
    let present = own.iter().zip(view.shape.dims());
    let strides = present.map(|(&stride, &dim)| if dim == 1 { 0 } else { stride });
    std::iter::repeat_n(0, missing).chain(strides).collect()
}

/// A product of stacks of matrices.
pub struct Product {
    dtype: DType,
    batch: Extents,
    /// m, n and k.
    rows: i64,
    columns: i64,
    depth: i64,
    out: Side,
    a: Side,
    b: Side,
}

impl Product {
    /// The product that a call asks for.
    ///
    /// # Errors
    /// An operand is not a matrix.
    pub fn of(args: &Args) -> Result<Self, OpError> {
        let (a, out) = (args.tensor("a")?, args.tensor("out")?);
        let [batch @ .., rows, columns] = out.dims() else {
            return Err(OpError::new(
                Code::Shape,
                "out",
                "two axes or more",
                "fewer",
            ));
        };
        let product = Self {
            dtype: a.dtype,
            batch: batch.iter().map(|&dim| dim as i64).collect(),
            rows: *rows as i64,
            columns: *columns as i64,
            depth: a.dims().last().map_or(0, |&k| k as i64),
            out: Side::of(args, "out", batch)?,
            a: Side::of(args, "a", batch)?,
            b: Side::of(args, "b", batch)?,
        };
        Ok(product.folded().turned())
    }

    /// Batch axes along which `b` stays and the others continue their rows become rows.
    fn folded(mut self) -> Self {
        while let (Some(&dim), Some(0)) = (self.batch.last(), self.b.batch.last()) {
            let continues =
                |side: &Side| side.batch.last() == Some(&self.rows.wrapping_mul(side.row));
            if !continues(&self.a) || !continues(&self.out) {
                break;
            }
            self.rows *= dim;
            self.batch.pop();
            for side in [&mut self.a, &mut self.b, &mut self.out] {
                side.batch.pop();
            }
        }
        self
    }

    /// Kernels write dense rows: a result of dense columns is the transposed product.
    fn turned(self) -> Self {
        if self.out.column == 1 || self.out.row != 1 {
            return self;
        }
        Self {
            rows: self.columns,
            columns: self.rows,
            out: self.out.transposed(),
            a: self.b.transposed(),
            b: self.a.transposed(),
            ..self
        }
    }

    fn size(&self) -> i64 {
        self.dtype.size_bytes() as i64
    }

    /// Whether a kernel can read `b` as it lies.
    fn is_read_in_place(&self) -> bool {
        self.b.column == 1 && !self.dtype.is_complex()
    }

    /// Whether the first launch packs `b`.
    fn packs(&self) -> bool {
        let elements = self.depth.saturating_mul(self.columns);
        let large = if self.is_read_in_place() {
            elements.saturating_mul(self.size()) > PACKED_BYTES
        } else {
            elements > PACKED_ELEMENTS
        };
        large && self.rows > ROWS && self.columns > 1
    }

    /// Columns of a packed `b`.
    fn packed_columns(&self) -> i64 {
        blocks(self.columns, COLUMN_GROUP) * COLUMN_GROUP
    }

    /// Axes of the batch along which `b` has more than one matrix.
    fn batch_of_b(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.batch.len()).filter(|&axis| self.b.batch[axis] != 0)
    }

    /// Bytes of a packed `b`.
    ///
    /// # Errors
    /// More than memory has.
    pub fn temporary_bytes(&self) -> Result<u64, OpError> {
        if !self.packs() {
            return Ok(0);
        }
        let matrices = self.batch_of_b().map(|axis| self.batch[axis]);
        let entry = self.depth.checked_mul(self.packed_columns());
        let elements = matrices.fold(entry, |product, dim| product?.checked_mul(dim));
        let bytes = elements.and_then(|count| count.checked_mul(self.size()));
        bytes.map(i64::unsigned_abs).ok_or_else(|| {
            let got = format!("{:?} of {} x {}", self.batch, self.depth, self.columns);
            OpError::new(Code::Shape, "b", "matrices that fit in memory", got)
        })
    }

    /// The kernel calls.
    ///
    /// # Errors
    /// `b` does not fit in memory.
    pub fn launches(&self) -> Result<Launches, OpError> {
        if self.rows == 1 && self.columns != 1 {
            return Ok(smallvec![
                self.by_vector(&self.b.clone().transposed(), true)
            ]);
        }
        if self.columns == 1 {
            return Ok(smallvec![self.by_vector(&self.a, false)]);
        }
        if !self.packs() {
            return Ok(smallvec![self.multiply(self.b.operand(3))]);
        }
        self.temporary_bytes()?;
        let packed = self.packed_operand();
        Ok(smallvec![self.pack(&packed), self.multiply(packed)])
    }

    /// The packed `b` over the batch of the result.
    fn packed_operand(&self) -> LaunchOperand {
        let mut strides = Extents::from_elem(0, self.batch.len() + 3);
        let mut reach = self.depth * self.packed_columns();
        let axes: SmallVec<[usize; 16]> = self.batch_of_b().collect();
        for &axis in axes.iter().rev() {
            strides[axis] = reach;
            reach *= self.batch[axis];
        }
        LaunchOperand {
            source: Source::Temporary(self.dtype),
            offset: 0,
            strides,
        }
    }

    fn depth_block(&self) -> i64 {
        let most = (DEPTH_BYTES / self.size()).min(DEPTH);
        let count = blocks(self.depth, most).max(1);
        blocks(self.depth, count).max(1)
    }

    fn row_block(&self) -> i64 {
        let most = match (self.packs(), self.is_read_in_place()) {
            (true, _) => ROWS,
            (false, true) => ROWS_IN_PLACE,
            (false, false) => ROWS_THAT_PACK,
        };
        let count = blocks(self.rows, most).max(1);
        // A multiple of every tile's rows.
        (blocks(self.rows, count).max(1) + 7) / 8 * 8
    }

    /// Whole groups of a packed `b`, else even shares of the columns in whole tiles.
    fn column_block(&self) -> i64 {
        if self.packs() {
            return COLUMN_GROUP;
        }
        let share = blocks(self.columns, blocks(self.columns, COLUMN_GROUP).max(1));
        blocks(share, TILE_COLUMNS).max(1) * TILE_COLUMNS
    }

    fn params(&self, packed: bool) -> Extents {
        smallvec![
            self.rows,
            self.columns,
            self.depth,
            self.row_block(),
            self.column_block(),
            self.depth_block(),
            self.a.row,
            self.a.column,
            self.b.row,
            self.b.column,
            self.out.row,
            self.out.column,
            i64::from(packed),
        ]
    }

    fn pack(&self, packed: &LaunchOperand) -> Launch {
        let axes: SmallVec<[usize; 16]> = self.batch_of_b().collect();
        let along = |strides: &[i64]| -> Extents {
            let batch = axes.iter().map(|&axis| strides[axis]);
            batch.chain([0, 0, 0]).collect()
        };
        let own = [
            blocks(self.depth, self.depth_block()),
            blocks(self.columns, COLUMN_GROUP),
            // About one nanosecond for eight elements.
            self.depth_block() * COLUMN_GROUP / 8,
        ];
        let batch = axes.iter().map(|&axis| self.batch[axis]);
        Launch {
            kernel: "matmul_pack",
            dims: batch.chain(own).collect(),
            split: axes.len() + 2,
            operands: smallvec![
                LaunchOperand {
                    strides: along(&packed.strides),
                    ..packed.clone()
                },
                LaunchOperand {
                    strides: along(&self.b.batch),
                    ..self.b.operand(0)
                },
            ],
            params: self.params(true),
        }
    }

    fn multiply(&self, b: LaunchOperand) -> Launch {
        let packed = matches!(b.source, Source::Temporary(_));
        let block = self.row_block().min(self.rows) * self.column_block().min(self.columns);
        let own = [
            blocks(self.rows, self.row_block()),
            blocks(self.columns, self.column_block()),
            (block.saturating_mul(self.depth) / self.products_a_nanosecond()).clamp(1, WEIGHT),
        ];
        Launch {
            kernel: "matmul",
            dims: self.batch.iter().copied().chain(own).collect(),
            split: self.batch.len() + 2,
            operands: smallvec![self.out.operand(3), self.a.operand(3), b],
            params: self.params(packed),
        }
    }

    /// About how many products of elements a core sums in a nanosecond.
    fn products_a_nanosecond(&self) -> i64 {
        match self.dtype {
            DType::F32 => 50,
            DType::F64 | DType::I16 | DType::U16 | DType::I32 | DType::U32 => 25,
            _ => 8,
        }
    }

    /// `matrix` times a column of `b`, or, `turned`, times a row of `a`.
    fn by_vector(&self, matrix: &Side, turned: bool) -> Launch {
        let (rows, vector, step, out) = if turned {
            (self.columns, &self.a, self.a.column, self.out.column)
        } else {
            (self.rows, &self.b, self.b.row, self.out.row)
        };
        // Memory gives about sixteen bytes a nanosecond.
        let elements = VECTOR_ROWS.min(rows).saturating_mul(self.depth);
        let weight = (elements / (16 / self.size())).clamp(1, WEIGHT);
        let own = [blocks(rows, VECTOR_ROWS), weight];
        Launch {
            kernel: "matvec",
            dims: self.batch.iter().copied().chain(own).collect(),
            split: self.batch.len() + 1,
            operands: smallvec![self.out.operand(2), matrix.operand(2), vector.operand(2)],
            params: smallvec![
                rows,
                self.depth,
                VECTOR_ROWS,
                matrix.row,
                matrix.column,
                step,
                out
            ],
        }
    }
}
