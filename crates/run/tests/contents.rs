//! The kernels that check contents write the status words of the rules' references, whatever the
//! layout, the instruction set, and the division of units among threads.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use cloakwork_csrc as _;
use cloakwork_ir::{ALL_DTYPES, DType, Shape, View, read_word, write_word};
use cloakwork_kernels::{KernelRow, LaunchShape, RawLaunch, available_isas, kernels, select};
use cloakwork_ops::{ALL, Checking, ContentCheck};
use std::collections::{BTreeSet, HashSet};
use std::ffi::c_void;
use std::mem::discriminant;
use std::sync::atomic::{AtomicU64, Ordering};

/// Choices that follow from a number. SplitMix64: Steele, Lea, Flood 2014.
struct Source(u64);

impl Source {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.word() % bound.max(1) as u64) as usize
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }
}

/// Rules of each kind that declarations make.
fn rules() -> Vec<ContentCheck> {
    let mut seen = HashSet::new();
    let all = ALL.iter().flat_map(|def| def.body.checks());
    all.filter(|rule| seen.insert(discriminant(*rule)))
        .copied()
        .collect()
}

/// Elements of a rule's operand.
struct Case {
    dtype: DType,
    bound: i64,
    dims: Vec<u64>,
    /// A valid word at a row-major place.
    word: fn(&Case, u64, &mut Source) -> i64,
    /// Words that are invalid, or some of them are.
    wrong: &'static [i64],
}

fn of(name: &str) -> DType {
    DType::from_name(name).unwrap_or_else(|| panic!("no dtype {name}"))
}

fn any(draw: &mut Source) -> i64 {
    draw.word() as i64 >> 3
}

fn dims(draw: &mut Source) -> Vec<u64> {
    let rank = draw.below(3);
    let mut dims: Vec<u64> = (0..rank).map(|_| 1 + draw.below(6) as u64).collect();
    if draw.chance(3) {
        dims.push(257 + draw.below(300) as u64);
    }
    if draw.chance(12) {
        dims.push(0);
    }
    dims
}

const FIELDS: [&str; 5] = [
    "bn254.fr",
    "goldilocks",
    "babybear",
    "babybear.ext4",
    "bls12_381.fq",
];
const GROUPS: [&str; 3] = ["bn254.g1", "bls12_381.g2", "pallas.g1"];
const PRIMES: [i64; 12] = [3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41];

/// Elements for a rule.
fn case(rule: ContentCheck, draw: &mut Source) -> Case {
    let residues = [DType::I32, DType::I64][draw.below(2)];
    let count = draw.below(50) as i64;
    let mut case = Case {
        dtype: DType::I64,
        bound: 0,
        dims: dims(draw),
        word: |_, _, _| 1,
        wrong: &[0],
    };
    match rule {
        ContentCheck::Modulus(_) => {
            case.dtype = residues;
            case.word = |_, _, draw| 2 + (any(draw) & 0x3FFF_FFFF);
            case.wrong = &[0, 1, -1, 1 << 62];
        }
        ContentCheck::NonZero(_) => {
            case.dtype = residues;
            case.word = |_, _, draw| any(draw) | 1;
        }
        ContentCheck::Coprime(_) => {
            case.dtype = residues;
            case.dims = vec![1 + draw.below(12) as u64];
            case.word = |_, place, _| PRIMES[place as usize % 12];
            case.wrong = &[41, -6, 0, i64::MIN];
        }
        ContentCheck::Permutation { .. } => {
            case.dtype = residues;
            case.bound = 1 + draw.below(200) as i64;
            case.dims.push(case.bound as u64);
            case.word = |case, place, _| (place as i64 + 3).rem_euclid(case.bound);
            case.wrong = &[-1, 0, 200];
        }
        ContentCheck::Starts { .. } => {
            case.dims = vec![draw.below(600) as u64];
            case.bound = case.dims[0] as i64 - 1;
            case.word = |_, place, _| place as i64;
            case.wrong = &[0, 1, -1, 700];
        }
        ContentCheck::Below { .. } | ContentCheck::LookupRows { .. } => {
            case.bound = count;
            case.word = |case, _, draw| draw.below(case.bound as usize) as i64;
            case.wrong = &[-1, -5, -70, 50, i64::MIN, i64::MAX];
        }
        ContentCheck::IndexInto { .. } => {
            case.bound = 1 + count;
            case.word = |case, _, draw| draw.below(2 * case.bound as usize) as i64 - case.bound;
            case.wrong = &[-52, 51];
        }
        ContentCheck::True(_) => case.dtype = DType::Bool,
        ContentCheck::TranscriptRoom { .. }
        | ContentCheck::ProofLength { .. }
        | ContentCheck::Canonical { .. }
        | ContentCheck::NoZeroElement { .. }
        | ContentCheck::Distinct(_)
        | ContentCheck::Finite(_) => wide(rule, &mut case, draw),
    }
    case
}

/// Elements of several words, and heads of transcripts.
fn wide(rule: ContentCheck, case: &mut Case, draw: &mut Source) {
    match rule {
        ContentCheck::Canonical { .. } => {
            let of_points = draw.chance(4);
            let names: &[&str] = if of_points { &GROUPS } else { &FIELDS };
            let element = of(names[draw.below(names.len())]);
            let place = ALL_DTYPES.iter().position(|&one| one == element);
            case.bound = place.unwrap() as i64;
            case.dtype = DType::U64;
            case.dims.truncate(2);
            case.dims.push(element.canonical_words() as u64);
            // Infinity is a point; the lowest words of numbers are enough.
            case.word = match of_points {
                true => |_, _, _| 0,
                false => |_, place, draw| i64::from(place % 4 == 0) * draw.below(1 << 20) as i64,
            };
            case.wrong = &[-1, 1 << 31];
        }
        ContentCheck::Finite(_) => {
            case.dtype = of(GROUPS[draw.below(3)]);
            case.bound = case.dtype.components() as i64;
            case.word = |_, _, draw| draw.below(2) as i64;
        }
        ContentCheck::NoZeroElement { .. } | ContentCheck::Distinct(_) => {
            case.dtype = of(FIELDS[draw.below(5)]);
            case.bound = case.dtype.components() as i64;
            case.word = |_, place, draw| ((place as i64) << 8) | (1 + draw.below(200) as i64);
        }
        _ => {
            case.dtype = DType::U8;
            case.dims = vec![16 + 2 * draw.below(50) as u64];
            case.bound = draw.below(4) as i64 - 1;
            case.word = |_, place, draw| i64::from(place % 8 == 0) * draw.below(3) as i64;
            case.wrong = &[255, 0, 1];
        }
    }
}

/// A view of memory with gaps, in some order of axes, some of them backwards or repeated.
fn layout(dims: &[u64], draw: &mut Source) -> (View, usize) {
    let mut order: Vec<usize> = (0..dims.len()).collect();
    if draw.chance(2) {
        order.rotate_left(draw.below(dims.len().max(1)));
    }
    let (mut strides, mut offset, mut step) = (vec![0i64; dims.len()], 0, 1i64);
    for &axis in order.iter().rev() {
        let reach = dims[axis].max(1) as i64;
        match draw.below(8) {
            0 => {}
            1 => {
                strides[axis] = -step;
                offset += step * (reach - 1);
                step *= reach;
            }
            2 => {
                strides[axis] = 2 * step;
                step *= 2 * reach;
            }
            _ => {
                strides[axis] = step;
                step *= reach;
            }
        }
    }
    let view = View {
        shape: Shape::new(dims).unwrap(),
        strides: strides.into_iter().collect(),
        offset,
    };
    (view, step as usize)
}

/// The words of a view's elements, row-major.
fn words(dtype: DType, view: &View, bytes: &[u8]) -> Vec<i64> {
    let (size, part) = (dtype.size_bytes(), dtype.component().size_bytes());
    let elements = view
        .offsets()
        .map(|at| &bytes[at as usize * size..][..size]);
    let parts = elements.flat_map(|element| element.chunks(part));
    parts.map(|word| read_word(dtype, word)).collect()
}

/// Memory with the elements of a case, of which some are wrong.
fn filled(case: &Case, view: &View, elements: usize, draw: &mut Source) -> Vec<u64> {
    let (size, part) = (case.dtype.size_bytes(), case.dtype.component().size_bytes());
    let mut memory = vec![0u64; (elements * size).div_ceil(8)];
    let total = view.shape.elements();
    let places = [
        0,
        total.saturating_sub(1),
        draw.below(total.max(1) as usize) as u64,
    ];
    let count = draw.below(3);
    let wrong: BTreeSet<u64> = (0..count).map(|_| places[draw.below(3)]).collect();
    let components = case.dtype.components() as u64;
    // SAFETY: plain bytes of the vector.
    let bytes: &mut [u8] =
        unsafe { std::slice::from_raw_parts_mut(memory.as_mut_ptr().cast(), elements * size) };
    for (place, at) in (0..).zip(view.offsets()) {
        let bad = case.wrong[draw.below(case.wrong.len())];
        for component in 0..components {
            let word = match wrong.contains(&place) {
                true => bad,
                false => (case.word)(case, place * components + component, draw),
            };
            let first = at as usize * size + component as usize * part;
            write_word(case.dtype, word, &mut bytes[first..first + part]);
        }
    }
    memory
}

/// The status word that a row writes where so many threads share its units.
fn status(row: &KernelRow, checking: &Checking, first: *const u8, threads: u64) -> u64 {
    let launch = &checking.launch;
    let strides: Vec<i64> = launch
        .operands
        .iter()
        .flat_map(|o| o.strides.clone())
        .collect();
    let shape = LaunchShape {
        dims: &launch.dims,
        strides: &strides,
        params: &launch.params,
    };
    let status = AtomicU64::new(0);
    let data: [*mut c_void; 2] = [status.as_ptr().cast(), first.cast_mut().cast()];
    let raw = RawLaunch::new(&shape, &data, std::ptr::null());
    let units = launch.units();
    let run = |part: u64| {
        let bytes = row.scratch_bytes(&shape).div_ceil(8) as usize;
        let mut scratch = vec![u64::MAX; bytes];
        let (from, to) = (units * part / threads, units * (part + 1) / threads);
        // SAFETY: the launch is one of the kernel over the operand's elements.
        unsafe { row.run(&raw, from, to, scratch.as_mut_ptr().cast()) };
    };
    let run = &run;
    std::thread::scope(|scope| {
        for part in 1..threads {
            scope.spawn(move || run(part));
        }
        run(0);
    });
    status.load(Ordering::Relaxed)
}

#[test]
fn rows_write_the_status_of_the_reference_whatever_the_layout_and_threads() {
    let mut used = BTreeSet::new();
    let (mut held, mut failed) = (0, 0);
    for rule in rules() {
        let mut outcomes = [0; 2];
        for number in 0..60 {
            let draw = &mut Source(number);
            let case = case(rule, draw);
            let (view, elements) = layout(&case.dims, draw);
            let memory = filled(&case, &view, elements, draw);
            let size = case.dtype.size_bytes();
            // SAFETY: plain bytes of the vector.
            let bytes = unsafe {
                std::slice::from_raw_parts(memory.as_ptr().cast::<u8>(), elements * size)
            };
            let told = words(case.dtype, &rule.telling(&view), bytes);
            let expected = rule.status(case.bound, &told);
            let all = words(case.dtype, &view, bytes);
            let is_wide = matches!(
                rule,
                ContentCheck::TranscriptRoom { .. } | ContentCheck::ProofLength { .. }
            );
            if !is_wide && view.strides.iter().all(|&stride| stride != 0) {
                assert_eq!(expected, rule.status(case.bound, &all), "{rule:?}");
            }
            outcomes[usize::from(expected.is_some())] += 1;
            let Some(checking) = rule.launch(case.bound, case.dtype, &view) else {
                assert_eq!(expected, None, "{rule:?} {view:?}");
                continue;
            };
            let first = bytes[view.offset as usize * size..].as_ptr();
            for isa in available_isas() {
                let kernel = checking.launch.kernel;
                let row = select(kernel, checking.dtype, DType::U64, isa).unwrap();
                used.insert(row.symbol);
                for threads in 1..4 {
                    let got = status(row, &checking, first, threads);
                    assert_eq!(
                        got,
                        expected.unwrap_or(0),
                        "{rule:?} number {number}, {} on {threads}, {view:?}",
                        row.symbol
                    );
                }
            }
        }
        held += outcomes[0];
        failed += outcomes[1];
        assert!(
            outcomes.iter().all(|&times| times > 5),
            "{rule:?} {outcomes:?}"
        );
    }
    assert!(held > 250 && failed > 250, "{held} {failed}");
    // A row that checks names a rule.
    let rows = kernels()
        .iter()
        .filter(|row| row.kernel.starts_with("check_"));
    let best = |row: &&KernelRow| available_isas().into_iter().any(|isa| row.runs_on(isa));
    for row in rows.filter(best) {
        assert!(used.contains(row.symbol), "{} checks no rule", row.symbol);
    }
}
