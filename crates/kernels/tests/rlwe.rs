//! The samplers: bit for bit on given words, and their distributions on seeded ones.
#![allow(clippy::unwrap_used)]

use crate::common::random::{INJECTIVE, Layout, Random, operand, wrap};
use crate::common::{Call, MODULI, Operand};
use cloakwork_csrc as _;
use cloakwork_ir::DType;

fn flat(dtype: DType, words: Vec<i64>, stride: i64) -> Option<Operand> {
    Some(Operand {
        dtype,
        words,
        offset: 0,
        strides: vec![stride],
    })
}

/// Pairs of words over `dims`, tight.
fn pairs(dims: &[i64], words: Vec<i64>) -> Operand {
    let mut own = operand(DType::U64, dims, Layout::Dense, &mut Random(0), &mut |_| 0);
    own.offset = 0;
    own.strides.iter_mut().for_each(|stride| *stride *= 2);
    own.words = words;
    own
}

fn wide(low: i64, high: i64) -> u128 {
    u128::from(high as u64) << 64 | u128::from(low as u64)
}

#[test]
fn uniform_residues_are_pairs_of_words_reduced() {
    let mut random = Random(40);
    for q in MODULI {
        for layout in INJECTIVE {
            let dims = [3, 100];
            let words: Vec<i64> = (0..600)
                .map(|_| [0, -1, random.word() as i64][random.below(3) as usize])
                .collect();
            let out = operand(DType::I64, &dims, layout, &mut random, &mut |_| 0);
            let modulus = Operand {
                dtype: DType::I64,
                words: vec![q, 17, 3],
                offset: 0,
                strides: vec![1, 0],
            };
            let operands = vec![Some(out), Some(pairs(&dims, words.clone())), Some(modulus)];
            let mut call = Call::new("uniform_mod", &dims, operands);
            call.params = vec![1];
            let expected = call.filled(|index| {
                let at = 2 * (index[0] * 100 + index[1]) as usize;
                (wide(words[at], words[at + 1]) % call.at(2, index) as u128) as i64
            });
            call.check(&expected);
        }
    }
}

#[test]
fn ternary_samples_cut_the_words_in_thirds() {
    let third = u64::MAX / 3;
    let edges = [0, third, third + 1, 2 * third, 2 * third + 1, u64::MAX];
    let words: Vec<i64> = edges
        .iter()
        .cycle()
        .take(300)
        .map(|&word| word as i64)
        .collect();
    let call = Call::new(
        "ternary",
        &[300],
        vec![
            flat(DType::I64, vec![0; 300], 1),
            flat(DType::U64, words, 1),
        ],
    );
    // 3 * third = 2^64 - 1, so that third is still below the cut.
    let expected: Vec<i64> = [-1, -1, 0, 0, 1, 1].into_iter().cycle().take(300).collect();
    call.check(&expected);
}

/// The generated table, read from the list that the kernel includes.
fn gaussian_table() -> Vec<u128> {
    let text = include_str!("../../../csrc/kernels/rlwe/gaussian_table.inc");
    let word = |text: &str| {
        let digits = text.trim().trim_start_matches("0x").trim_end_matches('u');
        u128::from_str_radix(digits, 16).unwrap()
    };
    text.lines()
        .filter_map(|line| {
            line.strip_prefix("CW_GAUSSIAN(")?
                .strip_suffix(')')?
                .split_once(',')
        })
        .map(|(high, low)| word(high) << 64 | word(low))
        .collect()
}

fn gaussian(value: u128, table: &[u128]) -> i64 {
    let magnitude = table.iter().filter(|&&entry| entry <= value >> 1).count() as i64;
    if value & 1 == 1 {
        -magnitude
    } else {
        magnitude
    }
}

fn gaussian_call(values: &[u128]) -> Call {
    let words = values
        .iter()
        .flat_map(|&v| [v as i64, (v >> 64) as i64])
        .collect();
    let count = values.len() as i64;
    let random = flat(DType::U64, words, 2);
    let mut call = Call::new(
        "gaussian",
        &[count],
        vec![flat(DType::I64, vec![0; values.len()], 1), random],
    );
    call.params = vec![1];
    call
}

#[test]
fn gaussian_samples_follow_the_table_at_every_step_of_it() {
    let table = gaussian_table();
    assert_eq!(table.len(), 42);
    let mut values = vec![0, 1, u128::MAX, u128::MAX - 1];
    for &entry in &table {
        for uniform in [entry - 1, entry, entry + 1] {
            values.extend([uniform << 1, uniform << 1 | 1]);
        }
    }
    let expected: Vec<i64> = values
        .iter()
        .map(|&value| gaussian(value, &table))
        .collect();
    assert_eq!(expected.iter().max(), Some(&42));
    gaussian_call(&values).check(&expected);
}

/// Sum of (observed - expected)^2 / expected.
fn chi_square(observed: &[u64], expected: &[f64]) -> f64 {
    observed
        .iter()
        .zip(expected)
        .map(|(&o, e)| (o as f64 - e).powi(2) / e)
        .sum()
}

#[test]
fn gaussian_samples_have_the_density_of_width_three_point_two() {
    let mut random = Random(41);
    let count = 200_000;
    let values: Vec<u128> = (0..count)
        .map(|_| wide(random.word() as i64, random.word() as i64))
        .collect();
    let samples: Vec<i64> = values
        .iter()
        .map(|&value| gaussian(value, &gaussian_table()))
        .collect();
    gaussian_call(&values).check(&samples);
    let density = |x: i64| (-(x * x) as f64 / (2.0 * 3.2 * 3.2)).exp();
    let total: f64 = (-60..=60).map(density).sum();
    let expected: Vec<f64> = (-10..=10)
        .map(|x| f64::from(count) * density(x) / total)
        .collect();
    let mut observed = [0u64; 21];
    for sample in samples.iter().filter(|sample| sample.abs() <= 10) {
        observed[(sample + 10) as usize] += 1;
    }
    // 20 degrees of freedom: above 45.3 in one of a thousand; the words are fixed.
    assert!(chi_square(&observed, &expected) < 45.3, "{observed:?}");
}

#[test]
fn ternary_and_uniform_samples_fall_evenly() {
    let mut random = Random(42);
    let count = 90_000;
    let words: Vec<i64> = (0..2 * count).map(|_| random.word() as i64).collect();
    let ternary: Vec<i64> = (0..count)
        .map(|i| ((wide(words[i], 0) * 3) >> 64) as i64 - 1)
        .collect();
    let call = Call::new(
        "ternary",
        &[count as i64],
        vec![
            flat(DType::I64, vec![0; count], 1),
            flat(DType::U64, words.clone(), 1),
        ],
    );
    call.check(&ternary);
    let uniform: Vec<i64> = (0..count)
        .map(|i| (wide(words[2 * i], words[2 * i + 1]) % 17) as i64)
        .collect();
    let mut call = Call::new(
        "uniform_mod",
        &[count as i64],
        vec![
            flat(DType::I64, vec![0; count], 1),
            flat(DType::U64, words, 2),
        ],
    );
    call.params = vec![1];
    call.operands.push(flat(DType::I64, vec![17], 0));
    call.check(&uniform);
    let tally = |samples: &[i64], low: i64, bins: usize| {
        let mut observed = vec![0u64; bins];
        samples
            .iter()
            .for_each(|sample| observed[(sample - low) as usize] += 1);
        chi_square(&observed, &vec![samples.len() as f64 / bins as f64; bins])
    };
    // One of a thousand: 13.8 for 2 degrees of freedom, 39.3 for 16.
    assert!(tally(&ternary, -1, 3) < 13.8);
    assert!(tally(&uniform, 0, 17) < 39.3);
}

/// `[row, n]` of an automorphism: the map `X -> X^g` in bit-reversed order, or any permutation.
fn automorphism(dtype: DType, dims: [i64; 2], index: &[i64], layouts: [Layout; 2]) {
    let mut random = Random(70);
    let mut word = |r: &mut Random| wrap(r.word() as i64, dtype);
    let out = operand(dtype, &dims, layouts[0], &mut random, &mut word);
    let a = operand(dtype, &dims, layouts[1], &mut random, &mut word);
    let spread = Operand {
        dtype: DType::I64,
        words: index.iter().flat_map(|&place| [place, -1]).collect(),
        offset: 0,
        strides: vec![0, 2],
    };
    let call = Call::new(
        "automorphism",
        &dims,
        vec![Some(out), Some(a), Some(spread)],
    );
    let words = call.filled(|at| call.at(1, &[at[0], index[at[1] as usize]]));
    call.check(&words);
}

#[test]
fn places_are_exchanged_by_any_permutation_in_every_layout() {
    let mut random = Random(71);
    for n in [1i64, 2, 8, 16, 37, 64, 256] {
        let log_size = n.ilog2();
        let reversed = |i: i64| match log_size {
            0 => 0,
            bits => ((i as u64).reverse_bits() >> (64 - bits)) as i64,
        };
        let mut maps = vec![random.permutation(n), (0..n).collect()];
        if n.count_ones() == 1 {
            let image = |g: i64| move |i| reversed((g * (2 * reversed(i) + 1) % (2 * n)) / 2);
            maps.extend([3, 5, 2 * n - 1].map(|g| (0..n).map(image(g)).collect()));
        }
        for index in &maps {
            for dtype in [DType::I32, DType::I64] {
                for out in INJECTIVE {
                    for a in [Layout::Dense, Layout::Shuffled] {
                        automorphism(dtype, [3, n], index, [out, a]);
                    }
                }
            }
        }
    }
}
