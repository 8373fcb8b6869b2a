//! Launches over tensors of any layout, run by every row that fits, whole and in pieces, and
//! compared with a reference to the bit.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

pub mod direct;
pub mod random;

use cloakwork_ir::{DType, read_word, write_word};
use cloakwork_kernels::{KernelRow, LaunchShape, RawLaunch, best_isa, kernels};
use std::ffi::c_void;

/// Moduli at the edges of what is allowed; the last is the largest prime below 2^62.
pub const MODULI: [i64; 8] = [
    2,
    3,
    17,
    (1 << 31) - 1,
    1_125_899_906_826_241,
    2_305_843_009_218_281_473,
    2_305_843_009_218_936_833,
    (1 << 62) - 57,
];

/// A tensor operand: words in some layout, with room around them that must stay as it is.
#[derive(Clone, Debug)]
pub struct Operand {
    pub dtype: DType,
    pub words: Vec<i64>,
    pub offset: i64,
    pub strides: Vec<i64>,
}

/// One launch. `alias`: an operand that is operand 0 itself.
#[derive(Clone, Debug)]
pub struct Call {
    pub kernel: &'static str,
    pub dims: Vec<i64>,
    pub split: usize,
    pub operands: Vec<Option<Operand>>,
    pub params: Vec<i64>,
    pub alias: Option<usize>,
}

impl Call {
    pub fn new(kernel: &'static str, dims: &[i64], operands: Vec<Option<Operand>>) -> Self {
        let (dims, split) = (dims.to_vec(), dims.len());
        Self {
            kernel,
            dims,
            split,
            operands,
            params: vec![],
            alias: None,
        }
    }

    pub fn operand(&self, operand: usize) -> &Operand {
        self.operands[operand].as_ref().unwrap()
    }

    /// Where an element lies in the operand's words.
    pub fn place(&self, operand: usize, index: &[i64]) -> usize {
        let own = self.operand(operand);
        let steps: i64 = own.strides.iter().zip(index).map(|(s, i)| s * i).sum();
        usize::try_from(own.offset + steps).unwrap()
    }

    pub fn at(&self, operand: usize, index: &[i64]) -> i64 {
        self.operand(operand).words[self.place(operand, index)]
    }

    pub fn units(&self) -> u64 {
        self.dims[..self.split].iter().product::<i64>() as u64
    }

    /// Every index of the first `axes` axes, row-major.
    pub fn indices(&self, axes: usize) -> Vec<Vec<i64>> {
        let mut all = vec![vec![]];
        for &dim in &self.dims[..axes] {
            all = all
                .iter()
                .flat_map(|index| (0..dim).map(move |i| [index.clone(), vec![i]].concat()))
                .collect();
        }
        all
    }

    /// Operand 0 after `expected(index)` was written to each element.
    pub fn filled(&self, expected: impl Fn(&[i64]) -> i64) -> Vec<i64> {
        let mut words = self.operand(0).words.clone();
        for index in self.indices(self.dims.len()) {
            words[self.place(0, &index)] = expected(&index);
        }
        words
    }

    /// Runs the rows of every available instruction set, whole and in pieces, in both directions.
    pub fn check(&self, expected: &[i64]) {
        for row in self.rows() {
            let units = self.units();
            let cuts = [units / 3, units / 3 + 1, units * 2 / 3 + 1].map(|cut| cut.min(units));
            let [a, b, c] = cuts;
            self.compare(row, &[(0, units)], expected);
            self.compare(
                row,
                &[(c.max(b), units), (b, c.max(b)), (0, a), (a, b)],
                expected,
            );
            if units <= 64 {
                let single: Vec<_> = (0..units).map(|unit| (unit, unit + 1)).collect();
                self.compare(row, &single, expected);
            }
        }
    }

    /// As [`Call::check`], of a kernel with a unit for each element; and pieces alone write their
    /// own elements: another thread may be at those before them, and at those after them.
    pub fn check_with_pieces_alone(&self, expected: &[i64]) {
        self.check(expected);
        let units = self.units();
        for piece in [(units / 3, units * 2 / 3 + 1), (units * 2 / 3, units)] {
            let mut words = self.operand(0).words.clone();
            for (unit, index) in (0..).zip(self.indices(self.dims.len())) {
                if (piece.0..piece.1.min(units)).contains(&unit) {
                    let place = self.place(0, &index);
                    words[place] = expected[place];
                }
            }
            for row in self.rows() {
                self.compare(row, &[(piece.0, piece.1.min(units))], &words);
            }
        }
    }

    /// The rows of every available instruction set that fit.
    fn rows(&self) -> Vec<&'static KernelRow> {
        let input = self
            .operands
            .get(1)
            .and_then(Option::as_ref)
            .unwrap_or(self.operand(0))
            .dtype;
        let output = self.operand(0).dtype;
        let isa = best_isa();
        let fitting = |row: &&'static KernelRow| {
            row.kernel == self.kernel && row.runs_on(isa) && row.fits(input, output)
        };
        let rows: Vec<_> = kernels().iter().filter(fitting).collect();
        assert!(
            !rows.is_empty(),
            "no row of {} for {input} -> {output}",
            self.kernel
        );
        rows
    }

    fn compare(&self, row: &'static KernelRow, ranges: &[(u64, u64)], expected: &[i64]) {
        let got = self.run(row, ranges);
        let wrong = got
            .iter()
            .zip(expected)
            .position(|(got, expected)| got != expected);
        if let Some(place) = wrong {
            let count = got
                .iter()
                .zip(expected)
                .filter(|(got, expected)| got != expected)
                .count();
            let strides: Vec<_> = self
                .operands
                .iter()
                .map(|o| o.as_ref().map(|o| o.strides.clone()))
                .collect();
            panic!(
                "{} over {:?} in {ranges:?}: word {place} is {}, expected {}, {count} of {} wrong; \
                 params {:?}, strides {strides:?}",
                row.symbol,
                self.dims,
                got[place],
                expected[place],
                got.len(),
                self.params,
            );
        }
    }

    /// The words of operand 0 after the kernel ran over these ranges of units.
    pub fn run(&self, row: &'static KernelRow, ranges: &[(u64, u64)]) -> Vec<i64> {
        let mut ready = self.ready(row);
        for &(begin, end) in ranges {
            ready.run(begin, end, &mut ready.scratch());
        }
        ready.words()
    }

    /// The launch in memory of its own, with its constants derived.
    pub fn ready(&self, row: &'static KernelRow) -> Ready {
        let mut stores: Vec<Option<Store>> = self
            .operands
            .iter()
            .map(|operand| operand.as_ref().map(Store::new))
            .collect();
        let mut data: Vec<*mut c_void> = stores
            .iter_mut()
            .map(|s| s.as_mut().map_or(std::ptr::null_mut(), Store::start))
            .collect();
        if let Some(alias) = self.alias {
            data[alias] = data[0];
        }
        let strides: Vec<i64> = self
            .operands
            .iter()
            .flat_map(|o| {
                o.as_ref()
                    .map_or(vec![0; self.dims.len()], |o| o.strides.clone())
            })
            .collect();
        let (dims, params) = (self.dims.clone(), self.params.clone());
        let mut ready = Ready {
            row,
            dims,
            strides,
            params,
            data,
            stores,
            prepared: Constants::default(),
        };
        ready.prepared = ready.constants();
        ready
    }
}

/// A launch with its operands in memory and its constants derived.
pub struct Ready {
    row: &'static KernelRow,
    dims: Vec<i64>,
    strides: Vec<i64>,
    params: Vec<i64>,
    data: Vec<*mut c_void>,
    stores: Vec<Option<Store>>,
    prepared: Constants,
}

/// Constants that a row derived: one block, or one an index of its `prepared_axis` and pointers to
/// them.
#[derive(Default)]
struct Constants {
    blocks: Vec<Block>,
    pointers: Vec<*const c_void>,
}

impl Constants {
    fn pointer(&mut self) -> *const c_void {
        match self.blocks.first_mut() {
            _ if !self.pointers.is_empty() => self.pointers.as_ptr().cast(),
            Some(block) => block.start().cast_const(),
            None => std::ptr::null(),
        }
    }
}

impl Ready {
    fn shape(&self) -> LaunchShape<'_> {
        LaunchShape {
            dims: &self.dims,
            strides: &self.strides,
            params: &self.params,
        }
    }

    fn raw(&mut self) -> RawLaunch {
        RawLaunch {
            rank: self.dims.len() as u32,
            operands: self.data.len() as u32,
            dims: self.dims.as_ptr(),
            strides: self.strides.as_ptr(),
            data: self.data.as_ptr(),
            params: self.params.as_ptr(),
            prepared: self.prepared.pointer(),
        }
    }

    fn constants(&self) -> Constants {
        let (row, shape) = (self.row, self.shape());
        let one = row.prepared_shape(&shape);
        let bytes = row.prepared_bytes(&one.shape());
        let count = row.prepared_count(&shape);
        let mut constants = Constants::default();
        for index in 0..count.unwrap_or(1) {
            let data: Vec<_> = (0..self.data.len())
                .map(|operand| self.start_of(operand, index))
                .collect();
            let raw = RawLaunch {
                rank: one.dims.len() as u32,
                operands: data.len() as u32,
                dims: one.dims.as_ptr(),
                strides: one.strides.as_ptr(),
                data: data.as_ptr(),
                params: one.params.as_ptr(),
                prepared: std::ptr::null(),
            };
            let mut block = Block::new(bytes);
            // SAFETY: operands hold all that their strides reach, the block is as large as asked
            // for.
            unsafe { row.prepare(&raw, block.start()) };
            if count.is_some() {
                constants.pointers.push(block.start().cast_const());
            }
            constants.blocks.push(block);
        }
        constants
    }

    /// Where `prepare` finds an operand for one index of the row's `prepared_axis`.
    fn start_of(&self, operand: usize, index: usize) -> *mut c_void {
        let Some(axis) = self.row.prepared_axis else {
            return self.data[operand];
        };
        match &self.stores[operand] {
            Some(store) if self.row.reads_constant(operand) => {
                let step = self.strides[operand * self.dims.len() + axis] * index as i64;
                let bytes = step as isize * store.dtype.size_bytes() as isize;
                self.data[operand].wrapping_byte_offset(bytes)
            }
            _ => std::ptr::null_mut(),
        }
    }

    /// Scratch memory for one run.
    pub fn scratch(&self) -> Block {
        Block::new(self.row.scratch_bytes(&self.shape()))
    }

    /// Runs the kernel over units.
    pub fn run(&mut self, begin: u64, end: u64, scratch: &mut Block) {
        let (row, raw) = (self.row, self.raw());
        // SAFETY: operands hold all that their strides reach, the blocks are as large as the row
        // asks for, and one thread runs.
        unsafe { row.run(&raw, begin, end, scratch.start()) }
    }

    /// The bytes of an operand.
    pub fn bytes_mut(&mut self, operand: usize) -> &mut [u8] {
        self.stores[operand].as_mut().unwrap().block.bytes_mut()
    }

    /// The words of operand 0.
    pub fn words(&self) -> Vec<i64> {
        self.stores[0].as_ref().unwrap().words()
    }
}

/// Bytes of an operand as the kernel sees them.
struct Store {
    dtype: DType,
    block: Block,
    offset_bytes: usize,
    words: usize,
}

impl Store {
    fn new(operand: &Operand) -> Self {
        let size = operand.dtype.size_bytes();
        let mut block = Block::new((operand.words.len() * size) as u64);
        for (place, &word) in block.bytes_mut().chunks_exact_mut(size).zip(&operand.words) {
            write_word(operand.dtype, word, place);
        }
        let offset_bytes = usize::try_from(operand.offset).unwrap() * size;
        Self {
            dtype: operand.dtype,
            block,
            offset_bytes,
            words: operand.words.len(),
        }
    }

    fn start(&mut self) -> *mut c_void {
        self.block.start().wrapping_byte_add(self.offset_bytes)
    }

    fn words(&self) -> Vec<i64> {
        let bytes = self.block.bytes().chunks_exact(self.dtype.size_bytes());
        bytes
            .take(self.words)
            .map(|bytes| read_word(self.dtype, bytes))
            .collect()
    }
}

/// Memory aligned to 64 bytes, of just the size that was asked for: a sanitizer sees a step beyond.
pub struct Block {
    layout: std::alloc::Layout,
    start: *mut u8,
}

impl Block {
    pub fn new(bytes: u64) -> Self {
        let layout = std::alloc::Layout::from_size_align(bytes.max(1) as usize, 64).unwrap();
        // SAFETY: the size is not zero.
        let start = unsafe { std::alloc::alloc_zeroed(layout) };
        assert!(!start.is_null());
        Self { layout, start }
    }

    pub fn start(&mut self) -> *mut c_void {
        self.start.cast()
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the block owns these bytes.
        unsafe { std::slice::from_raw_parts(self.start, self.layout.size()) }
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.layout.size()) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { std::alloc::dealloc(self.start, self.layout) }
    }
}
