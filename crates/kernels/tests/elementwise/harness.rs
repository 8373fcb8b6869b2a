//! Runs an elementwise kernel's rows over layouts of every kind and compares with a function on
//! elements.

use crate::common::random::Random;
use crate::element::Element;
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
    let isa = best_isa();
    let fits = |row: &&KernelRow| {
        row.kernel == kernel && row.runs_on(isa) && row.fits(In::DTYPE, Out::DTYPE)
    };
    let rows: Vec<_> = kernels().iter().filter(fits).collect();
    let types = (In::DTYPE, Out::DTYPE);
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

/// Compiled once for each combination of types.
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
        let element = |at: usize| std::array::from_fn(|i| inputs[i][places[i][at]]);
        let want: Vec<([In; N], Out)> = (0..case.units() as usize)
            .map(|at| (element(at), expected(element(at))))
            .collect();
        let mut first: Option<Vec<Out>> = None;
        for row in &rows {
            for ranges in divisions(case.units()) {
                for alias in aliases::<N, In, Out>(&case) {
                    let got = compute::<N, In, Out>(row, &case, &inputs, alias, &ranges);
                    // The same bits by every instruction set and in any pieces.
                    let first = first.get_or_insert_with(|| got.clone());
                    let same = first.iter().zip(&got).position(|(a, b)| !a.same(*b));
                    assert_eq!(same, None, "{}: {case:?}, {ranges:?}", row.symbol);
                    for ((arguments, want), got) in want.iter().zip(got) {
                        assert!(
                            close(*arguments, *want, got),
                            "{} of {arguments:?} is {got:?}, expected {want:?}; {case:?}, \
                             {ranges:?}, alias {alias:?}",
                            row.symbol
                        );
                    }
                }
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
fn aliases<const N: usize, In: Element, Out: Element>(case: &Case) -> Vec<Option<usize>> {
    let same = In::DTYPE == Out::DTYPE;
    let may = |&i: &usize| same && case.strides[i + 1] == case.strides[0];
    std::iter::once(None)
        .chain((0..N).filter(may).map(Some))
        .collect()
}

/// The results in row-major order; elements around them must stay as they were.
fn compute<const N: usize, In: Element, Out: Element>(
    row: &KernelRow,
    case: &Case,
    inputs: &[Vec<In>; N],
    alias: Option<usize>,
    ranges: &[(u64, u64)],
) -> Vec<Out> {
    let mut inputs = inputs.clone();
    let mut out = vec![Out::canary(); case.buffer(0)];
    let places = case.places(0);
    let mut data = vec![out.as_mut_ptr().wrapping_add(case.start(0)).cast()];
    for (i, input) in inputs.iter_mut().enumerate() {
        data.push(input.as_mut_ptr().wrapping_add(case.start(i + 1)).cast());
    }
    if let Some(input) = alias {
        data[0] = data[input + 1];
    }
    run(row, case, &data, ranges);
    if let Some(input) = alias {
        let moved = |&place: &usize| Out::from_same(&inputs[input][place]);
        return places.iter().map(moved).collect();
    }
    let results = places.iter().map(|&place| out[place]).collect();
    for place in places {
        out[place] = Out::canary();
    }
    let untouched = out.iter().all(|element| element.same(Out::canary()));
    assert!(
        untouched,
        "{} wrote beside its result: {case:?}",
        row.symbol
    );
    results
}
