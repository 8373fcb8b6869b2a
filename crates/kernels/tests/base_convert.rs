//! base_convert against 128-bit integers.
#![allow(clippy::unwrap_used)]

use crate::common::random::{INJECTIVE, Layout, Random, operand, wrap};
use crate::common::{Call, MODULI, Operand};
use cloakwork_csrc as _;
use cloakwork_ir::DType;

/// Primes below 2^50, which 52-bit multiply-add serves; the last is the largest of them.
const NARROW: [i64; 4] = [3, 65_537, 1_125_899_906_826_241, (1 << 50) - 27];

/// Parameters of one launch: `dims` are rows, coefficients, limbs from and to.
struct Case<'a> {
    dtype: DType,
    dims: [i64; 4],
    moduli: &'a [i64],
    layouts: [Layout; 2],
    scaled: bool,
    wild: bool,
}

/// A constant over the axes `kept` of the launch's four.
fn constant(dtype: DType, words: Vec<i64>, strides: [i64; 4]) -> Option<Operand> {
    Some(Operand {
        dtype,
        words,
        offset: 0,
        strides: strides.to_vec(),
    })
}

/// The tensor over rows, coefficients and one of the limb axes, along the other of which its stride
/// is 0.
fn limbs(
    case: &Case<'_>,
    axis: usize,
    random: &mut Random,
    word: &mut dyn FnMut(&mut Random) -> i64,
) -> Option<Operand> {
    let dims = [case.dims[0], case.dims[1], case.dims[axis]];
    let layout = case.layouts[usize::from(axis == 2)];
    let mut own = operand(case.dtype, &dims, layout, random, word);
    own.strides.insert(5 - axis, 0);
    Some(own)
}

fn call(case: &Case<'_>, random: &mut Random) -> Call {
    let Case { dtype, dims, .. } = *case;
    let [_, _, from, to] = dims;
    let pick = |r: &mut Random| case.moduli[r.below(case.moduli.len() as i64) as usize];
    let q: Vec<i64> = (0..from).map(|_| pick(random)).collect();
    let p: Vec<i64> = (0..to).map(|_| pick(random)).collect();
    let least = q.iter().chain(&p).copied().min().unwrap_or(2);
    let wild = case.wild;
    let mut word = move |r: &mut Random| match wild && r.below(20) == 0 {
        true => r.any_word(least, dtype),
        false => r.residue(least),
    };
    let half = |q: &i64| if wild { *q + 3 - least } else { q / 2 };
    let halves = q.iter().map(|q| wrap(half(q), dtype)).collect();
    let mut words = |count: i64| -> Vec<i64> { (0..count).map(|_| word(random)).collect() };
    let (factors, weights) = (words(from), words(from * to));
    let operands = vec![
        limbs(case, 3, random, &mut |r| r.below(9)),
        limbs(case, 2, random, &mut word),
        constant(dtype, q, [0, 0, 1, 0]),
        case.scaled
            .then(|| constant(dtype, factors, [0, 0, 1, 0]))
            .flatten(),
        constant(dtype, halves, [0, 0, 1, 0]),
        constant(dtype, weights, [0, 0, to, 1]),
        constant(dtype, p, [0, 0, 0, 1]),
    ];
    let mut call = Call::new("base_convert", &dims, operands);
    call.split = 2;
    call
}

/// The definition, one element at a time.
fn expected(call: &Call, scaled: bool, index: &[i64]) -> i64 {
    let p = i128::from(call.at(6, index));
    let mut sum = 0;
    for i in 0..call.dims[2] {
        let at = [index[0], index[1], i, index[3]];
        let word = |operand| i128::from(call.at(operand, &at));
        let (q, half) = (word(2), word(4));
        let factor = if scaled { word(3) } else { 1 };
        let digit = ((word(1) * factor).rem_euclid(q) + half).rem_euclid(q) - half;
        sum = (sum + digit.rem_euclid(p) * word(5).rem_euclid(p)).rem_euclid(p);
    }
    sum as i64
}

fn check(case: &Case<'_>, random: &mut Random) {
    let call = call(case, random);
    let mut words = call.operand(0).words.clone();
    for index in call.indices(4) {
        if index[2] == 0 {
            words[call.place(0, &index)] = expected(&call, case.scaled, &index);
        }
    }
    call.check(&words);
}

#[test]
fn sums_are_exact_in_every_layout_and_for_any_words() {
    let mut random = Random(30);
    let sizes = [
        [1, 1, 1, 1],
        [1, 90, 3, 9],
        [2, 33, 4, 3],
        [1, 300, 2, 5],
        [3, 40, 15, 2],
        [1, 70, 16, 2],
        [2, 9, 31, 3],
        [1, 100, 64, 1],
        [2, 33, 3, 40],
    ];
    for dtype in [DType::I32, DType::I64] {
        for dims in sizes {
            for round in 0..8u32 {
                let moduli: &[i64] = match (dtype, round % 2) {
                    (DType::I32, _) => &MODULI[..4],
                    (_, 0) => &NARROW,
                    _ => &MODULI,
                };
                let mut layout = || INJECTIVE[random.below(4) as usize];
                let layouts = [layout(), layout()];
                let case = Case {
                    dtype,
                    dims,
                    moduli,
                    layouts: if round < 4 {
                        [Layout::Dense; 2]
                    } else {
                        layouts
                    },
                    scaled: round % 3 != 0,
                    wild: round % 4 > 1,
                };
                check(&case, &mut random);
            }
        }
    }
}

/// The planner's layout: coefficients tight, limbs outside. Four moduli below 2^50 are the most
/// that are below 2^52 together.
#[test]
fn the_largest_residues_do_not_overflow_the_accumulators() {
    for (q, limbs) in [
        (NARROW[3], 4),
        (NARROW[3], 5),
        (NARROW[3], 64),
        (MODULI[7], 64),
    ] {
        let dims = [1, 40, limbs, 2];
        let all = |word: i64, count: i64| vec![word; count as usize];
        let operands = vec![
            constant(DType::I64, all(0, 80), [80, 1, 0, 40]),
            constant(DType::I64, all(q - 1, 40 * limbs), [0, 1, 40, 0]),
            constant(DType::I64, all(q, limbs), [0, 0, 1, 0]),
            constant(DType::I64, all(q - 1, limbs), [0, 0, 1, 0]),
            constant(DType::I64, all(q - 2, limbs), [0, 0, 1, 0]),
            constant(DType::I64, all(q - 1, 2 * limbs), [0, 0, 2, 1]),
            constant(DType::I64, all(q, 2), [0, 0, 0, 1]),
        ];
        let mut call = Call::new("base_convert", &dims, operands);
        call.split = 2;
        // y = 1 + (q - 2) = q - 1, y - half = 1; and limbs * 1 * (q - 1) = -limbs.
        call.check(&all(q - limbs, 80));
    }
}

#[test]
fn without_limbs_the_result_is_zero() {
    let dims = [1, 20, 0, 2];
    let empty = |strides| constant(DType::I64, vec![], strides);
    let operands = vec![
        constant(DType::I64, vec![7; 40], [0, 2, 0, 1]),
        empty([0, 0, 0, 0]),
        empty([0, 0, 1, 0]),
        empty([0, 0, 1, 0]),
        empty([0, 0, 1, 0]),
        empty([0, 0, 2, 1]),
        constant(DType::I64, vec![17, 5], [0, 0, 0, 1]),
    ];
    let mut call = Call::new("base_convert", &dims, operands);
    call.split = 2;
    call.check(&vec![0; 40]);
}
