//! Nanoseconds a butterfly and an element of the kernels that matter, for each instruction set,
//! beside the rate of plain copying in the same run.
//!
//!     cargo run --release -p cloakwork-kernels --example speed
//!     cargo run --release -p cloakwork-kernels --example speed -- modmul
//!
//! Each figure is the least of many short windows: other work on the machine only adds to one.
#![allow(clippy::unwrap_used)]

use cloakwork_csrc as _;
use cloakwork_ir::DType;
use cloakwork_kernels::{KernelRow, LaunchShape, RawLaunch, available_isas, select};
use std::ffi::c_void;
use std::time::{Duration, Instant};

const Q: i64 = 2_305_843_009_218_281_473;
/// A prime below 2^50, where 52-bit multiply-add serves.
const NARROW: i64 = 1_125_899_906_826_241;
/// How long each figure is looked for.
const PATIENCE: Duration = Duration::from_millis(250);

/// One launch over i64 words: what it computes is the tests' matter.
struct Case {
    name: String,
    kernel: &'static str,
    types: (DType, DType),
    dims: Vec<i64>,
    split: usize,
    operands: Vec<Option<(Vec<i64>, Vec<i64>)>>,
    params: Vec<i64>,
    /// The work of a launch in units, and the name of the unit: times are shown per unit.
    work: u64,
    unit: &'static str,
}

fn words(count: usize) -> Vec<i64> {
    words_below(Q, count)
}

fn words_below(bound: i64, count: usize) -> Vec<i64> {
    let mut state = 1u64;
    (0..count)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 3) as i64 % bound
        })
        .collect()
}

fn least(mut body: impl FnMut()) -> f64 {
    let start = Instant::now();
    let mut best = f64::INFINITY;
    while start.elapsed() < PATIENCE || best.is_infinite() {
        let window = Instant::now();
        body();
        best = best.min(window.elapsed().as_secs_f64() * 1e9);
    }
    best
}

/// Words at a 64-byte boundary.
fn aligned(buffer: &mut [u64]) -> *mut c_void {
    let skip = buffer.as_ptr().align_offset(64);
    buffer[skip..].as_mut_ptr().cast()
}

impl Case {
    /// Nanoseconds of one run of the whole launch.
    fn time(&self, row: &KernelRow) -> f64 {
        let rank = self.dims.len();
        let strides: Vec<i64> = self
            .operands
            .iter()
            .flat_map(|o| {
                o.as_ref()
                    .map_or(vec![0; rank], |(_, strides)| strides.clone())
            })
            .collect();
        let shape = LaunchShape {
            dims: &self.dims,
            strides: &strides,
            params: &self.params,
        };
        // Constants apart along an axis are the same for each of its indices.
        let apart = row.prepared_count(&shape);
        let mut prepared = vec![0u64; row.prepared_bytes(&shape) as usize / 8 + 16];
        let mut scratch = vec![0u64; row.scratch_bytes(&shape) as usize / 8 + 16];
        let (prepared, scratch) = (aligned(&mut prepared), aligned(&mut scratch));
        let pointers = vec![prepared.cast_const(); apart.unwrap_or(1)];
        // On a cache line, as tensors are.
        let lines = |(words, _): &(Vec<i64>, Vec<i64>)| vec![0u64; words.len() + 16];
        let mut buffers: Vec<_> = self
            .operands
            .iter()
            .map(|o| o.as_ref().map(lines))
            .collect();
        let mut data: Vec<*mut c_void> = vec![];
        for (operand, buffer) in self.operands.iter().zip(&mut buffers) {
            let start = buffer.as_mut().map_or(std::ptr::null_mut(), |b| aligned(b));
            if let Some((words, _)) = operand {
                // SAFETY: the buffer has a line more than the words.
                unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), start.cast(), words.len()) };
            }
            data.push(start);
        }
        let raw = RawLaunch {
            rank: rank as u32,
            operands: data.len() as u32,
            dims: self.dims.as_ptr(),
            strides: strides.as_ptr(),
            data: data.as_ptr(),
            params: self.params.as_ptr(),
            prepared: apart.map_or(prepared.cast_const(), |_| pointers.as_ptr().cast()),
        };
        let units = self.dims[..self.split].iter().product::<i64>() as u64;
        // SAFETY: cases hold all words that their strides reach; one thread runs.
        unsafe {
            row.prepare(&raw, prepared);
            least(|| row.run(&raw, 0, units, scratch))
        }
    }
}

fn ntt(kernel: &'static str, log_size: u32, permuted: bool, input: DType) -> Case {
    transform(kernel, log_size, (permuted, input, Q))
}

/// The same of a modulus below 2^50.
fn narrow_ntt(kernel: &'static str, log_size: u32) -> Case {
    transform(kernel, log_size, (false, DType::I64, NARROW))
}

fn transform(
    kernel: &'static str,
    log_size: u32,
    (permuted, input, q): (bool, DType, i64),
) -> Case {
    let m = 1i64 << log_size;
    let count = m as usize;
    let strides = |tight| vec![0, 0, 0, tight];
    let bit_reversed = (0..m as u64)
        .map(|i| (i.reverse_bits() >> (64 - log_size)) as i64)
        .collect();
    let mut operands = vec![
        Some((vec![0; count], strides(1))),
        Some((words_below(q, count), strides(1))),
        Some((vec![q], strides(0))),
        Some((words_below(q, count), strides(1))),
        permuted.then(|| (bit_reversed, strides(1))),
    ];
    if kernel == "intt" {
        operands.push(Some((vec![5], strides(0))));
    }
    Case {
        name: format!(
            "{kernel} 2^{log_size} {input}{}{}",
            if permuted { " permuted" } else { "" },
            if q == NARROW { " narrow" } else { "" }
        ),
        kernel,
        types: (input, DType::I64),
        dims: vec![1, 1, 1, m],
        split: 3,
        operands,
        params: vec![],
        work: u64::from(log_size) << (log_size - 1),
        unit: "butterfly",
    }
}

/// Row-major operands over `dims`; `last` moduli along the last axis, or one.
fn elementwise(kernel: &'static str, dims: &[i64], inputs: usize, last: bool) -> Case {
    residues(kernel, dims, (inputs, last, Q))
}

/// The same of a modulus below 2^50.
fn narrow(kernel: &'static str, dims: &[i64], inputs: usize) -> Case {
    residues(kernel, dims, (inputs, false, NARROW))
}

fn residues(kernel: &'static str, dims: &[i64], (inputs, last, q): (usize, bool, i64)) -> Case {
    let count = dims.iter().product::<i64>();
    let strides: Vec<i64> = (0..dims.len())
        .map(|axis| dims[axis + 1..].iter().product::<i64>())
        .collect();
    let mut modulus = vec![0; dims.len()];
    modulus[dims.len() - 1] = i64::from(last);
    let mut operands = vec![Some((vec![0; count as usize], strides.clone()))];
    operands.extend((0..inputs).map(|_| Some((words_below(q, count as usize), strides.clone()))));
    operands.push(Some((vec![q; 64], modulus)));
    Case {
        name: format!(
            "{kernel} {dims:?}{}{}",
            if last { " moduli last" } else { "" },
            if q == NARROW { " narrow" } else { "" }
        ),
        kernel,
        types: (DType::I64, DType::I64),
        dims: dims.to_vec(),
        split: dims.len(),
        operands,
        params: vec![],
        work: count as u64,
        unit: "element",
    }
}

/// `[r, k, n, s]`, n tight; weights vary with neither n nor k.
fn products(dims: [i64; 4], weights: bool, permuted: bool) -> Case {
    sums_of_products(dims, (weights, permuted, Q))
}

fn sums_of_products([r, k, n, s]: [i64; 4], (weights, permuted, q): (bool, bool, i64)) -> Case {
    let a = if weights {
        vec![s, 0, 0, 1]
    } else {
        vec![s * k * n, n, 1, k * n]
    };
    let a_words = if weights { r * s } else { r * s * k * n };
    let order = (0..n).map(|i| (i * 5 + 3) % n).collect();
    Case {
        name: format!(
            "modmul_axis_sum {:?}{}{}{}",
            [r, k, n, s],
            if weights { " weights" } else { "" },
            if permuted { " permuted" } else { "" },
            if q == NARROW { " narrow" } else { "" }
        ),
        kernel: "modmul_axis_sum",
        types: (DType::I64, DType::I64),
        dims: vec![r, k, n, s],
        split: 3,
        operands: vec![
            Some((vec![0; (r * k * n) as usize], vec![k * n, n, 1, 0])),
            Some((words_below(q, a_words as usize), a)),
            Some((words_below(q, (s * k * n) as usize), vec![0, n, 1, k * n])),
            Some((vec![q; k as usize], vec![0, 1, 0, 0])),
            permuted.then_some((order, vec![0, 0, 1, 0])),
        ],
        params: vec![],
        work: (r * k * n * s) as u64,
        unit: "product",
    }
}

fn axis_modsum(n: i64, s: i64) -> Case {
    Case {
        name: format!("axis_modsum [{n}, {s}]"),
        kernel: "axis_modsum",
        types: (DType::I64, DType::I64),
        dims: vec![n, s],
        split: 1,
        operands: vec![
            Some((vec![0; n as usize], vec![1, 0])),
            Some((words((n * s) as usize), vec![1, n])),
            Some((vec![Q], vec![0, 0])),
        ],
        params: vec![],
        work: (n * s) as u64,
        unit: "term",
    }
}

/// Rows and columns exchanged.
fn transpose(rows: i64, columns: i64) -> Case {
    let count = (rows * columns) as usize;
    Case {
        name: format!("copy transposed [{rows}, {columns}]"),
        kernel: "copy",
        types: (DType::I64, DType::I64),
        dims: vec![rows, columns],
        split: 2,
        operands: vec![
            Some((vec![0; count], vec![columns, 1])),
            Some((words(count), vec![1, rows])),
        ],
        params: vec![],
        work: count as u64,
        unit: "element",
    }
}

/// Limb-major: `[2, n]` rows, from some limbs to others, below 2^50 or not.
fn convert(n: i64, [from, to]: [i64; 2], q: i64) -> Case {
    let moduli = |count| Some(vec![q; count as usize]);
    let inputs = |words: Option<Vec<i64>>| words.map(|words| (words, vec![0, 0, 1, 0]));
    Case {
        name: format!(
            "base_convert {from} -> {to} n={n}{}",
            if q == NARROW { " narrow" } else { "" }
        ),
        kernel: "base_convert",
        types: (DType::I64, DType::I64),
        dims: vec![2, n, from, to],
        split: 2,
        operands: vec![
            Some((vec![0; (2 * n * to) as usize], vec![to * n, 1, 0, n])),
            Some((
                words_below(q, (2 * n * from) as usize),
                vec![from * n, 1, n, 0],
            )),
            inputs(moduli(from)),
            inputs(Some(words_below(q, from as usize))),
            inputs(Some(vec![q / 2; from as usize])),
            Some((words_below(q, (from * to) as usize), vec![0, 0, to, 1])),
            Some((vec![q; to as usize], vec![0, 0, 0, 1])),
        ],
        params: vec![],
        work: (2 * n * from * to) as u64,
        unit: "product",
    }
}

/// Rows of n places under the map of `X -> X^5` in bit-reversed order.
fn automorphism(rows: i64, log_size: u32) -> Case {
    let n = 1i64 << log_size;
    let reversed = |i: i64| ((i as u64).reverse_bits() >> (64 - log_size)) as i64;
    let index = |i| reversed((5 * (2 * reversed(i) + 1) % (2 * n)) / 2);
    Case {
        name: format!("automorphism {rows} 2^{log_size}"),
        kernel: "automorphism",
        types: (DType::I64, DType::I64),
        dims: vec![rows, n],
        split: 2,
        operands: vec![
            Some((vec![0; (rows * n) as usize], vec![n, 1])),
            Some((words((rows * n) as usize), vec![n, 1])),
            Some(((0..n).map(index).collect(), vec![0, 1])),
        ],
        params: vec![],
        work: (rows * n) as u64,
        unit: "element",
    }
}

fn decompose(limbs: i64, n: i64, digits: i64) -> Case {
    Case {
        name: format!("g_decomp_full_q k={limbs} n={n} digits={digits}"),
        kernel: "g_decomp_full_q",
        types: (DType::I64, DType::I8),
        dims: vec![1, n, limbs],
        split: 2,
        operands: vec![
            Some((vec![0; (n * digits) as usize / 8 + 1], vec![0, 1, 0])),
            Some((words((n * limbs) as usize), vec![0, 1, n])),
            Some(((0..limbs).map(|i| Q - 2 * i).collect(), vec![0, 0, 1])),
        ],
        params: vec![7, digits, n],
        work: (n * digits) as u64,
        unit: "digit",
    }
}

fn sampler(kernel: &'static str, words_each: i64) -> Case {
    let n = 1i64 << 16;
    let mut operands = vec![
        Some((vec![0; n as usize], vec![1])),
        Some((words((n * words_each) as usize), vec![words_each])),
    ];
    if kernel == "uniform_mod" {
        operands.push(Some((vec![Q], vec![0])));
    }
    Case {
        name: kernel.into(),
        kernel,
        types: (DType::U64, DType::I64),
        dims: vec![n],
        split: 1,
        operands,
        params: vec![1],
        work: n as u64,
        unit: "sample",
    }
}

fn cases() -> Vec<Case> {
    let mut cases = vec![];
    for log_size in [10, 12, 13, 14, 15, 16] {
        cases.push(ntt("ntt", log_size, false, DType::I64));
    }
    for log_size in [12, 13, 14, 15, 16] {
        cases.push(narrow_ntt("ntt", log_size));
        cases.push(narrow_ntt("intt", log_size));
    }
    cases.push(ntt("ntt", 12, true, DType::I64));
    cases.push(ntt("ntt", 12, false, DType::I8));
    cases.push(ntt("intt", 12, false, DType::I64));
    cases.push(ntt("intt", 12, true, DType::I64));
    cases.push(ntt("intt", 14, false, DType::I64));
    cases.push(elementwise("modmul", &[1 << 20], 2, false));
    cases.push(elementwise("modmul", &[1 << 12], 2, false));
    cases.push(elementwise("modmul", &[1 << 19, 2], 2, true));
    cases.push(narrow("modmul", &[1 << 20], 2));
    cases.push(narrow("modmul", &[1 << 12], 2));
    cases.push(narrow("modmul", &[1 << 10], 2));
    cases.push(narrow("modsum", &[1 << 10], 2));
    cases.push(narrow("modneg", &[1 << 10], 1));
    cases.push(elementwise("modmuladd", &[1 << 12], 3, false));
    cases.push(narrow("modmuladd", &[1 << 20], 3));
    cases.push(narrow("modmuladd", &[1 << 12], 3));
    cases.push(elementwise("modsum", &[1 << 20], 2, false));
    cases.push(elementwise("modsum", &[1 << 12], 2, false));
    cases.push(elementwise("modneg", &[1 << 12], 1, false));
    cases.push(elementwise("mod", &[1 << 12], 1, false));
    cases.push(axis_modsum(4096, 100));
    cases.push(products([50, 1, 4096, 98], true, false));
    cases.push(products([1, 1, 4096, 784], true, false));
    cases.push(products([2, 2, 4096, 32], false, false));
    cases.push(products([2, 2, 4096, 32], false, true));
    // The key of a hybrid key switch at degree 2^15: three and four digits of 14 limbs.
    for (rows, terms) in [(1, 3), (1, 4), (2, 4)] {
        cases.push(sums_of_products(
            [rows, 14, 1 << 15, terms],
            (false, false, NARROW),
        ));
    }
    cases.push(sums_of_products([2, 2, 4096, 32], (false, false, NARROW)));
    cases.push(sums_of_products([2, 2, 4096, 32], (false, true, NARROW)));
    cases.push(sums_of_products([50, 1, 4096, 98], (true, false, NARROW)));
    cases.push(convert(1 << 15, [4, 11], NARROW));
    cases.push(convert(1 << 15, [3, 11], NARROW));
    cases.push(convert(1 << 15, [1, 10], NARROW));
    cases.push(convert(1 << 15, [20, 20], NARROW));
    cases.push(convert(1 << 15, [4, 11], Q));
    cases.push(automorphism(22, 15));
    cases.push(automorphism(2, 12));
    cases.push(transpose(1024, 1024));
    cases.push(transpose(2, 1 << 19));
    cases.push(decompose(2, 4096, 18));
    cases.push(decompose(8, 4096, 70));
    cases.push(sampler("gaussian", 2));
    cases.push(sampler("uniform_mod", 2));
    cases.push(sampler("ternary", 1));
    cases
}

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    for log_words in [12, 20] {
        let source = words(1 << log_words);
        let mut target = vec![0i64; 1 << log_words];
        let ns = least(|| target.copy_from_slice(std::hint::black_box(&source)));
        println!(
            "plain copy of 2^{log_words} words: {:.3} ns a word",
            ns / f64::from(1 << log_words)
        );
    }
    let isas = available_isas();
    for case in cases() {
        if !case.name.contains(&wanted) {
            continue;
        }
        let mut line = format!("{:45} ns a {:10}", case.name, case.unit);
        let mut seen = vec![];
        for &isa in &isas {
            let row = select(case.kernel, case.types.0, case.types.1, isa).unwrap();
            if seen.contains(&row.symbol) {
                continue;
            }
            seen.push(row.symbol);
            line += &format!("  {} {:.3}", row.needs, case.time(row) / case.work as f64);
        }
        println!("{line}");
    }
}
