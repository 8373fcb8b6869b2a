//! Runs an elementwise kernel's rows over layouts of every kind and compares with a function on
//! elements.

use crate::common::random::Random;
use crate::element::Element;
use cloakwork_ir::DType;
use cloakwork_kernels::{KernelRow, RawLaunch, best_isa, kernels};
use std::ffi::c_void;

/// Sizes around vectors and blocks.
const SIZES: [i64; 9] = [0, 1, 2, 15, 16, 17, 255, 257, 1000];

/// An iteration space and the strides of each operand, the result first.
#[derive(Clone, Debug)]
pub struct Case {
    pub dims: Vec<i64>,
    pub strides: Vec<Vec<i64>>,
    pub stream: bool,
}

impl Case {
    fn flat(size: i64, strides: &[i64]) -> Self {
        Self::new(
            &[size],
            &strides.iter().map(|&s| vec![s]).collect::<Vec<_>>(),
        )
    }

    fn new(dims: &[i64], strides: &[Vec<i64>]) -> Self {
        Self {
            dims: dims.to_vec(),
            strides: strides.to_vec(),
            stream: false,
        }
    }

    pub fn units(&self) -> u64 {
        self.dims.iter().product::<i64>() as u64
    }

    /// Where the elements of an operand lie in a buffer just large enough, in row-major order.
    pub fn places(&self, operand: usize) -> Vec<usize> {
        let strides = &self.strides[operand];
        let mut places = vec![self.start(operand) as i64];
        for (&dim, &stride) in self.dims.iter().zip(strides) {
            places = places
                .iter()
                .flat_map(|&place| (0..dim).map(move |i| place + i * stride))
                .collect();
        }
        places.into_iter().map(|place| place as usize).collect()
    }

    /// Of element `[0, ..., 0]`, behind one element that nothing may touch.
    pub fn start(&self, operand: usize) -> usize {
        let back = |(dim, stride): (&i64, &i64)| (-stride).max(0) * (dim - 1).max(0);
        let steps = self.dims.iter().zip(&self.strides[operand]).map(back);
        1 + steps.sum::<i64>() as usize
    }

    /// Elements of a buffer for the operand, with one to spare on either side.
    pub fn buffer(&self, operand: usize) -> usize {
        self.places(operand)
            .into_iter()
            .max()
            .unwrap_or(0)
            .max(self.start(operand))
            + 2
    }
}

/// Layouts for a result and so many inputs.
pub fn cases(inputs: usize) -> Vec<Case> {
    let mut all = vec![Case::new(&[], &vec![vec![]; inputs + 1])];
    for size in SIZES {
        for scalars in 0..1 << inputs {
            let strides: Vec<i64> = std::iter::once(1)
                .chain((0..inputs).map(|input| 1 - (scalars >> input & 1)))
                .collect();
            let mut case = Case::flat(size, &strides);
            all.push(case.clone());
            case.stream = true;
            all.push(case);
        }
    }
    let mut large = Case::flat(5000, &vec![1; inputs + 1]);
    large.stream = true;
    all.push(large);
    for (out, input) in [(1, -1), (-1, 1), (-1, -1), (2, 1), (1, 3), (2, 2), (-3, 0)] {
        for size in [1, 17, 300] {
            let mut strides = vec![input; inputs + 1];
            strides[0] = out;
            all.push(Case::flat(size, &strides));
        }
    }
    all.extend(shaped(inputs));
    all
}

/// More dimensions: inputs take their strides from the list in turn.
fn shaped(inputs: usize) -> Vec<Case> {
    let tables: [(&[i64], &[&[i64]]); 5] = [
        (&[5, 70], &[&[70, 1], &[0, 1], &[1, 0]]),
        (&[33, 40], &[&[40, 1], &[1, 33], &[40, 1], &[-1, 33]]),
        (&[33, 40], &[&[1, 33], &[40, 1], &[0, 0]]),
        (
            &[3, 4, 5],
            &[&[24, -6, 1], &[1, 3, 12], &[0, 2, 0], &[20, 5, 1]],
        ),
        (
            &[2, 3, 2, 100],
            &[&[600, 200, 100, 1], &[3, 0, -6, 12], &[0, 1, 3, 0]],
        ),
    ];
    let mut all = vec![];
    for (dims, table) in tables {
        for turn in 0..table.len() - 1 {
            let input = |i: usize| table[1 + (i + turn) % (table.len() - 1)].to_vec();
            let mut strides = vec![table[0].to_vec()];
            strides.extend((0..inputs).map(input));
            all.push(Case::new(dims, &strides));
        }
    }
    all
}

/// The rows of a kernel for these types that this processor can run.
pub fn rows<In: Element, Out: Element>(kernel: &str) -> Vec<&'static KernelRow> {
    rows_of(kernel, In::DTYPE, Out::DTYPE)
}

fn rows_of(kernel: &str, input: DType, output: DType) -> Vec<&'static KernelRow> {
    let isa = best_isa();
    let fits =
        |row: &&KernelRow| row.kernel == kernel && row.runs_on(isa) && row.fits(input, output);
    let rows: Vec<_> = kernels().iter().filter(fits).collect();
    let types = (input, output);
    assert!(!rows.is_empty(), "no row of {kernel} for {types:?}");
    rows
}

/// Runs a row over ranges of units; `data` points at the operands' first elements.
pub fn run(row: &KernelRow, case: &Case, data: &[*mut c_void], ranges: &[(u64, u64)]) {
    let strides = case.strides.concat();
    let params = [i64::from(case.stream)];
    let raw = RawLaunch {
        rank: case.dims.len() as u32,
        operands: data.len() as u32,
        dims: case.dims.as_ptr(),
        strides: strides.as_ptr(),
        data: data.as_ptr(),
        params: params.as_ptr(),
        prepared: std::ptr::null(),
    };
    for &(begin, end) in ranges {
        // SAFETY: the callers' buffers hold all that the strides reach; one thread runs.
        unsafe { row.run(&raw, begin, end, std::ptr::null_mut()) }
    }
}

/// The whole, and pieces out of order.
pub fn divisions(units: u64) -> [Vec<(u64, u64)>; 2] {
    let (a, b) = (units / 3, (units * 2 / 3 + 1).min(units));
    [vec![(0, units)], vec![(b, units), (0, a), (a, b)]]
}

/// Elements for inputs: all pairs of edges come up in the first few hundred.
fn fill<T: Element>(length: usize, input: usize, random: &mut Random) -> Vec<T> {
    let pool = T::pool();
    let period = if input == 0 { 1 } else { pool.len() };
    let pick = |i: usize, random: &mut Random| {
        if i < pool.len() * pool.len() && random.below(4) != 0 {
            pool[i / period % pool.len()]
        } else {
            T::random(random)
        }
    };
    (0..length).map(|i| pick(i, random)).collect()
}

/// Compares every row of a kernel with `expected`, where `close` says what is right.
pub fn check_close<const N: usize, In: Element, Out: Element>(
    kernel: &str,
    expected: impl Fn([In; N]) -> Out,
    close: impl Fn([In; N], Out, Out) -> bool,
) {
    check_all(kernel, &expected, &close);
}

/// Compiled once for each combination of types: what needs none is in `check_case`.
fn check_all<const N: usize, In: Element, Out: Element>(
    kernel: &str,
    expected: &dyn Fn([In; N]) -> Out,
    close: &dyn Fn([In; N], Out, Out) -> bool,
) {
    let mut random = Random(N as u64);
    let rows = rows::<In, Out>(kernel);
    for case in cases(N) {
        let inputs: [Vec<In>; N] =
            std::array::from_fn(|i| fill(case.buffer(i + 1), i, &mut random));
        let places: [Vec<usize>; N] = std::array::from_fn(|i| case.places(i + 1));
        let arguments = |at: usize| std::array::from_fn(|i| inputs[i][places[i][at]]);
        let want: Vec<Out> = (0..case.units() as usize)
            .map(|at| expected(arguments(at)))
            .collect();
        let wrong = |got: &[u8]| {
            let mut pairs = want.iter().zip(elements::<Out>(got)).enumerate();
            let (at, (want, got)) =
                pairs.find(|&(at, (want, got))| !close(arguments(at), *want, got))?;
            Some(format!(
                "{:?} gives {got:?}, expected {want:?}",
                arguments(at)
            ))
        };
        let same = |a: &[u8], b: &[u8]| {
            let mut pairs = elements::<Out>(a).zip(elements::<Out>(b));
            pairs.all(|(a, b)| a.same(b))
        };
        let operands = Operands {
            inputs: inputs.iter().map(|own| Buffer::of(own)).collect(),
            width: size_of::<Out>(),
            is_one_type: In::DTYPE == Out::DTYPE,
        };
        check_case(&rows, &case, &operands, &wrong, &same);
    }
}

/// Inputs of one case as bytes, and the bytes of an element of the result.
struct Operands {
    inputs: Vec<Buffer>,
    width: usize,
    /// Whether a result may replace an input.
    is_one_type: bool,
}

/// Every row in any pieces gives the same bits, and the first result is right.
fn check_case(
    rows: &[&KernelRow],
    case: &Case,
    operands: &Operands,
    wrong: &dyn Fn(&[u8]) -> Option<String>,
    same: &dyn Fn(&[u8], &[u8]) -> bool,
) {
    let mut first: Option<Vec<u8>> = None;
    for row in rows {
        for ranges in divisions(case.units()) {
            for alias in aliases(case, operands) {
                let got = compute(row, case, operands, alias, &ranges);
                let finding = match &first {
                    Some(first) if *first == got => None,
                    Some(first) if !same(first, &got) => Some("other bits than before".to_owned()),
                    _ => wrong(&got),
                };
                assert_eq!(
                    finding, None,
                    "{}: {case:?}, {ranges:?}, alias {alias:?}",
                    row.symbol
                );
                first.get_or_insert(got);
            }
        }
    }
}

/// As [`check_close`], to the bit but for the bits of what is not a number.
pub fn check<const N: usize, In: Element, Out: Element>(
    kernel: &str,
    expected: impl Fn([In; N]) -> Out,
) {
    check_close(kernel, expected, |_, want: Out, got| want.same(got));
}

/// No alias, and each input that may be the result itself.
fn aliases(case: &Case, operands: &Operands) -> Vec<Option<usize>> {
    let may = |&i: &usize| operands.is_one_type && case.strides[i + 1] == case.strides[0];
    std::iter::once(None)
        .chain((0..operands.inputs.len()).filter(may).map(Some))
        .collect()
}

/// The results in row-major order; what is around them must stay as it was.
fn compute(
    row: &KernelRow,
    case: &Case,
    operands: &Operands,
    alias: Option<usize>,
    ranges: &[(u64, u64)],
) -> Vec<u8> {
    let mut inputs = operands.inputs.clone();
    let mut out = Buffer::of(&vec![CANARY; case.buffer(0) * operands.width]);
    out.width = operands.width;
    let places = case.places(0);
    let mut data = vec![out.at(case.start(0))];
    for (i, input) in inputs.iter_mut().enumerate() {
        data.push(input.at(case.start(i + 1)));
    }
    if let Some(input) = alias {
        data[0] = data[input + 1];
    }
    run(row, case, &data, ranges);
    if let Some(input) = alias {
        return inputs[input].take(&places);
    }
    let results = out.take(&places);
    let is_untouched = out.bytes().iter().all(|&byte| byte == CANARY);
    assert!(
        is_untouched,
        "{} wrote beside its result: {case:?}",
        row.symbol
    );
    results
}

/// The byte that fills the memory around a result.
const CANARY: u8 = 0xa5;

/// Elements as bytes, aligned for every type.
#[derive(Clone)]
struct Buffer {
    words: Vec<u128>,
    bytes: usize,
    width: usize,
}

impl Buffer {
    fn of<T: Copy>(elements: &[T]) -> Self {
        let bytes = size_of_val(elements);
        let mut words = vec![0u128; bytes.div_ceil(16)];
        // SAFETY: the words hold as many bytes, and elements of tests have no padding.
        unsafe {
            let from: *const u8 = elements.as_ptr().cast();
            from.copy_to_nonoverlapping(words.as_mut_ptr().cast(), bytes);
        }
        Self {
            words,
            bytes,
            width: size_of::<T>(),
        }
    }

    fn at(&mut self, element: usize) -> *mut c_void {
        let start: *mut u8 = self.words.as_mut_ptr().cast();
        start.wrapping_add(element * self.width).cast()
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the words hold as many bytes.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.bytes) }
    }

    /// The elements at these places, which become the canary's bytes.
    fn take(&mut self, places: &[usize]) -> Vec<u8> {
        let width = self.width;
        let bytes = self.bytes();
        let mut taken = Vec::with_capacity(places.len() * width);
        for place in places {
            taken.extend_from_slice(&bytes[place * width..(place + 1) * width]);
        }
        for place in places {
            bytes[place * width..(place + 1) * width].fill(CANARY);
        }
        taken
    }
}

/// The elements that stand in these bytes.
fn elements<T: Element>(bytes: &[u8]) -> impl Iterator<Item = T> {
    let read = |chunk: &[u8]| {
        // SAFETY: a chunk has the bytes of an element, and any bits are one.
        unsafe { chunk.as_ptr().cast::<T>().read_unaligned() }
    };
    bytes.chunks_exact(size_of::<T>()).map(read)
}
