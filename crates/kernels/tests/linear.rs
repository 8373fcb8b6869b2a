//! Matrix products against sums in wide integers: exact for integers, which wrap, and for floats
//! that hold small integers.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::Block;
use crate::common::random::Random;
use cloakwork_csrc as _;
use cloakwork_ir::DType;
use cloakwork_kernels::{KernelRow, LaunchShape, RawLaunch, available_isas, best_isa, kernels};
use std::ffi::c_void;

const DTYPES: [DType; 12] = [
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::F32,
    DType::F64,
    DType::C64,
    DType::C128,
];
/// Packed columns come in groups of so many.
const GROUP: usize = 192;
/// Bytes that no kernel may touch hold this.
const UNTOUCHED: u8 = 0xa5;

/// A complex number of small integers, or an integer.
type Number = (i128, i128);

/// How the two axes of a matrix lie in memory.
#[derive(Clone, Copy, Debug)]
enum Order {
    Rows,
    Columns,
    Backwards,
}

/// A stack of matrices: numbers by [batch][row][column], and where they lie.
struct Matrices {
    dtype: DType,
    rows: usize,
    columns: usize,
    numbers: Vec<Number>,
    order: Order,
    memory: Block,
}

impl Matrices {
    fn new(dtype: DType, [batch, rows, columns]: [usize; 3], order: Order) -> Self {
        let mut own = Self {
            dtype,
            rows,
            columns,
            numbers: vec![(0, 0); batch * rows * columns],
            order,
            memory: Block::new(0),
        };
        own.memory = Block::new((own.elements() * dtype.size_bytes()) as u64);
        own.bytes().fill(UNTOUCHED);
        own
    }

    fn filled(mut self, random: &mut Random) -> Self {
        let mut part = || match self.dtype.is_integer() {
            true => i128::from(random.word() as i64),
            false => i128::from(random.below(17) - 8),
        };
        let complex = self.dtype.is_complex();
        let numbers = (0..self.numbers.len()).map(|_| (part(), if complex { part() } else { 0 }));
        self.numbers = numbers.collect();
        for place in 0..self.numbers.len() {
            let bytes = encode(self.dtype, self.numbers[place]);
            let at = self.offset(place);
            self.bytes()[at..at + bytes.len()].copy_from_slice(&bytes);
        }
        self
    }

    /// Strides of batch, rows and columns, and the offset of the first element.
    fn layout(&self) -> ([i64; 3], i64) {
        let (rows, columns) = (self.rows as i64, self.columns as i64);
        match self.order {
            Order::Rows => ([rows * columns, columns, 1], 1),
            Order::Columns => ([rows * columns, 1, rows], 2),
            Order::Backwards => {
                let row = 3 * columns + 1;
                ([rows * row, -row, -3], (rows * row).max(1) - 1)
            }
        }
    }

    fn elements(&self) -> usize {
        let ([batch, ..], _) = self.layout();
        let count = self.numbers.len() / (self.rows * self.columns).max(1);
        batch.unsigned_abs() as usize * count + 4
    }

    /// Where the element lies in memory, in bytes.
    fn offset(&self, place: usize) -> usize {
        let (strides, first) = self.layout();
        let (row, column) = (place / self.columns % self.rows, place % self.columns);
        let index = [place / self.columns / self.rows, row, column];
        let steps: i64 = strides.iter().zip(index).map(|(s, i)| s * i as i64).sum();
        usize::try_from(first + steps).unwrap() * self.dtype.size_bytes()
    }

    fn bytes(&mut self) -> &mut [u8] {
        let bytes = self.elements() * self.dtype.size_bytes();
        // SAFETY: the block was made of this size, and nothing else refers to it now.
        unsafe { std::slice::from_raw_parts_mut(self.memory.start().cast(), bytes) }
    }

    fn start(&mut self) -> *mut c_void {
        let bytes = self.layout().1 as usize * self.dtype.size_bytes();
        self.memory.start().wrapping_byte_add(bytes)
    }
}

fn encode(dtype: DType, (re, im): Number) -> Vec<u8> {
    match dtype {
        DType::F32 => (re as f32).to_le_bytes().to_vec(),
        DType::F64 => (re as f64).to_le_bytes().to_vec(),
        DType::C64 => [(re as f32).to_le_bytes(), (im as f32).to_le_bytes()].concat(),
        DType::C128 => [(re as f64).to_le_bytes(), (im as f64).to_le_bytes()].concat(),
        _ => re.to_le_bytes()[..dtype.size_bytes()].to_vec(),
    }
}

/// One product and how it is cut.
#[derive(Clone, Copy, Debug)]
struct Case {
    dtype: DType,
    /// m, n and k.
    sizes: [usize; 3],
    /// Of rows, columns and depth.
    blocks: [usize; 3],
    orders: [Order; 3],
    /// Entries along two batch axes; a has but the second, b but the first.
    batch: [usize; 2],
    packed: bool,
}

impl Case {
    fn check(&self, random: &mut Random) {
        let ([m, n, k], [x, y]) = (self.sizes, self.batch);
        let mut a = Matrices::new(self.dtype, [y, m, k], self.orders[0]).filled(random);
        let mut b = Matrices::new(self.dtype, [x, k, n], self.orders[1]).filled(random);
        let shape = [x * y, m, n];
        let mut expected = Matrices::new(self.dtype, shape, self.orders[2]);
        for place in 0..expected.numbers.len() {
            let (batch, row, column) = (place / n / m, place / n % m, place % n);
            let a_row = &a.numbers[(batch % y * m + row) * k..][..k];
            let b_numbers = &b.numbers[batch / y * k * n..];
            let sum = product_sum(a_row, b_numbers, n, column);
            let (bytes, at) = (encode(self.dtype, sum), expected.offset(place));
            expected.bytes()[at..at + bytes.len()].copy_from_slice(&bytes);
        }
        let mut rows = 0;
        for isa in available_isas() {
            let row = |kernel: &str| {
                let fits = |row: &&KernelRow| {
                    row.kernel == kernel && row.needs == isa && row.fits(self.dtype, self.dtype)
                };
                kernels().iter().find(fits)
            };
            let Some(matmul) = row("matmul") else {
                continue;
            };
            rows += 1;
            let pack = row("matmul_pack").unwrap();
            for pieces in [1, 3, usize::MAX] {
                let mut out = Matrices::new(self.dtype, shape, self.orders[2]);
                self.run(pack, matmul, pieces, [&mut out, &mut a, &mut b]);
                let (got, expected) = (out.bytes(), expected.bytes());
                let wrong = got.iter().zip(&*expected).position(|(x, y)| x != y);
                let symbol = matmul.symbol;
                assert_eq!(wrong, None, "{symbol} in {pieces} pieces: {self:?}");
            }
        }
        assert!(rows > 0, "no row of matmul for {}", self.dtype);
    }

    fn run(&self, pack: &KernelRow, matmul: &KernelRow, pieces: usize, all: [&mut Matrices; 3]) {
        let [out, a, b] = all;
        let ([m, n, k], [x, y]) = (self.sizes, self.batch);
        let [row_blocks, column_blocks, depth_blocks] =
            [0, 1, 2].map(|axis| self.sizes[axis].div_ceil(self.blocks[axis]) as i64);
        let ([a_batch, a_row, a_column], [b_batch, b_row, b_column]) = (a.layout().0, b.layout().0);
        let [out_batch, out_row, out_column] = out.layout().0;
        let strides = [a_row, a_column, b_row, b_column, out_row, out_column];
        let cut = [m, n, k]
            .into_iter()
            .chain(self.blocks)
            .map(|size| size as i64);
        let params: Vec<i64> = cut.chain(strides).chain([i64::from(self.packed)]).collect();
        let groups = n.div_ceil(GROUP);
        let packed_entry = (groups * GROUP * k) as i64;
        let size = self.dtype.size_bytes();
        let mut packed = Block::new((x * packed_entry as usize * size) as u64);
        let mut right = (b.start(), b_batch);
        if self.packed {
            let dims = [x as i64, depth_blocks, groups as i64, 1];
            let strides = [packed_entry, 0, 0, 0, b_batch, 0, 0, 0];
            launch(
                pack,
                &dims,
                &strides,
                &params,
                &[packed.start(), b.start()],
                pieces,
            );
            right = (packed.start(), packed_entry);
        }
        let dims = [x as i64, y as i64, row_blocks, column_blocks, 1];
        let strides = [
            [out_batch * y as i64, out_batch, 0, 0, 0],
            [0, a_batch, 0, 0, 0],
            [right.1, 0, 0, 0, 0],
        ];
        let data = [out.start(), a.start(), right.0];
        launch(matmul, &dims, &strides.concat(), &params, &data, pieces);
    }
}

/// Sum over k of `a_row[k] * b[k, column]`.
fn product_sum(a_row: &[Number], b: &[Number], n: usize, column: usize) -> Number {
    let mut sum = (0i128, 0i128);
    for (k, &(ar, ai)) in a_row.iter().enumerate() {
        let (br, bi) = b[k * n + column];
        // Only integers are large, and they have no imaginary part.
        sum.0 = sum.0.wrapping_add(ar.wrapping_mul(br)) - ai * bi;
        sum.1 += ar * bi + ai * br;
    }
    sum
}

/// A matrix times a vector, by every row of `matvec`.
fn check_vector(dtype: DType, [m, k]: [usize; 2], orders: [Order; 3], random: &mut Random) {
    let batch = 2;
    let mut a = Matrices::new(dtype, [batch, m, k], orders[0]).filled(random);
    let mut x = Matrices::new(dtype, [batch, k, 1], orders[1]).filled(random);
    let mut expected = Matrices::new(dtype, [batch, m, 1], orders[2]);
    for place in 0..expected.numbers.len() {
        let sum = product_sum(
            &a.numbers[place * k..][..k],
            &x.numbers[place / m * k..],
            1,
            0,
        );
        let (bytes, at) = (encode(dtype, sum), expected.offset(place));
        expected.bytes()[at..at + bytes.len()].copy_from_slice(&bytes);
    }
    let isa = best_isa();
    let fits =
        |row: &&KernelRow| row.kernel == "matvec" && row.runs_on(isa) && row.fits(dtype, dtype);
    let rows: Vec<_> = kernels().iter().filter(fits).collect();
    assert!(!rows.is_empty(), "no row of matvec for {dtype}");
    for row in rows {
        for pieces in [1, 3, usize::MAX] {
            let mut out = Matrices::new(dtype, [batch, m, 1], orders[2]);
            let all = [out.layout().0, a.layout().0, x.layout().0];
            let sizes = [m as i64, k as i64, 64];
            let params = [&sizes[..], &[all[1][1], all[1][2], all[2][1], all[0][1]]].concat();
            let dims = [batch as i64, m.div_ceil(64) as i64, 1];
            let strides = all.map(|[batch, ..]| [batch, 0, 0]).concat();
            let data = [out.start(), a.start(), x.start()];
            launch(row, &dims, &strides, &params, &data, pieces);
            let same = out.bytes() == expected.bytes();
            assert!(
                same,
                "{} of {m} x {k}, {orders:?}, {pieces} pieces",
                row.symbol
            );
        }
    }
}

/// Runs all units, from the last piece to the first.
fn launch(
    row: &KernelRow,
    dims: &[i64],
    strides: &[i64],
    params: &[i64],
    data: &[*mut c_void],
    pieces: usize,
) {
    let shape = LaunchShape {
        dims,
        strides,
        params,
    };
    let raw = RawLaunch {
        rank: dims.len() as u32,
        operands: data.len() as u32,
        dims: dims.as_ptr(),
        strides: strides.as_ptr(),
        data: data.as_ptr(),
        params: params.as_ptr(),
        prepared: std::ptr::null(),
    };
    let units = dims[..dims.len() - 1].iter().product::<i64>() as u64;
    let pieces = (pieces as u64).min(units);
    for piece in (0..pieces).rev() {
        let mut scratch = Block::new(row.scratch_bytes(&shape));
        // SAFETY: operands hold all that their strides reach, the scratch is as large as the row
        // asks for, and one thread runs.
        unsafe {
            row.run(
                &raw,
                units * piece / pieces,
                units * (piece + 1) / pieces,
                scratch.start(),
            );
        }
    }
}

const PLAIN: Case = Case {
    dtype: DType::F32,
    sizes: [5, 7, 3],
    blocks: [64, GROUP, 256],
    orders: [Order::Rows; 3],
    batch: [1, 1],
    packed: false,
};
const ORDERS: [Order; 3] = [Order::Rows, Order::Columns, Order::Backwards];

#[test]
fn every_dtype_in_every_order_of_memory() {
    let mut random = Random(41);
    for dtype in DTYPES {
        for choice in 0..27 {
            let orders = [1, 3, 9].map(|place| ORDERS[choice / place % 3]);
            for packed in [false, true] {
                let sizes = [17, 45, 21];
                let blocks = [11, GROUP, 8];
                let case = Case {
                    dtype,
                    sizes,
                    blocks,
                    orders,
                    packed,
                    ..PLAIN
                };
                case.check(&mut random);
            }
        }
    }
}

#[test]
fn sizes_around_the_edges_of_tiles() {
    let mut random = Random(42);
    for dtype in DTYPES {
        for rows in 1..=17 {
            let columns = 1 + random.below(150) as usize;
            let depth = 1 + random.below(40) as usize;
            let packed = random.below(2) == 1;
            let case = Case {
                dtype,
                sizes: [rows, columns, depth],
                packed,
                ..PLAIN
            };
            case.check(&mut random);
        }
        for columns in [1, 8, 16, 24, 32, 47, 48, 49, 95, 96, 97, 191, 192, 193, 300] {
            let sizes = [9, columns, 10];
            for packed in [false, true] {
                Case {
                    dtype,
                    sizes,
                    packed,
                    ..PLAIN
                }
                .check(&mut random);
            }
        }
    }
}

#[test]
fn blocks_of_rows_columns_and_depth_meet_without_gaps() {
    let mut random = Random(43);
    for dtype in DTYPES {
        for choice in 0..4 {
            let orders = [ORDERS[choice % 2], ORDERS[choice / 2], Order::Rows];
            for packed in [false, true] {
                let sizes = [70, 600, 50];
                let blocks = [32, GROUP, 20];
                Case {
                    dtype,
                    sizes,
                    blocks,
                    orders,
                    packed,
                    ..PLAIN
                }
                .check(&mut random);
            }
        }
    }
}

#[test]
fn batches_broadcast() {
    let mut random = Random(44);
    for dtype in DTYPES {
        for packed in [false, true] {
            let batch = [2, 3];
            let blocks = [4, GROUP, 4];
            Case {
                dtype,
                batch,
                blocks,
                packed,
                ..PLAIN
            }
            .check(&mut random);
        }
    }
}

#[test]
fn without_depth_the_result_is_zero() {
    let mut random = Random(45);
    for dtype in DTYPES {
        for order in ORDERS {
            let orders = [order; 3];
            let sizes = [9, 50, 0];
            Case {
                dtype,
                sizes,
                orders,
                ..PLAIN
            }
            .check(&mut random);
        }
    }
}

#[test]
fn a_matrix_times_a_vector_in_every_order_of_memory() {
    let mut random = Random(46);
    for dtype in DTYPES {
        for choice in 0..27 {
            let orders = [1, 3, 9].map(|place| ORDERS[choice / place % 3]);
            for sizes in [[1, 1], [5, 300], [200, 9], [67, 0]] {
                check_vector(dtype, sizes, orders, &mut random);
            }
        }
        // Longer than what is copied or summed in the cache at once.
        check_vector(dtype, [17000, 9], [Order::Columns; 3], &mut random);
        let orders = [Order::Rows, Order::Backwards, Order::Rows];
        check_vector(dtype, [3, 17000], orders, &mut random);
    }
}
