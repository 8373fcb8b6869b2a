//! modmul, modmuladd, modsum, mod and modneg against 128-bit integers.
#![allow(clippy::unwrap_used)]

use crate::common::random::{INJECTIVE, LAYOUTS, Layout, Random, operand, wrap};
use crate::common::{Call, MODULI};
use cloakwork_csrc as _;
use cloakwork_ir::DType;

/// Sizes around vectors and blocks, ranks one to four.
const SHAPES: [&[i64]; 12] = [
    &[1],
    &[7],
    &[8],
    &[33],
    &[300],
    &[1, 1],
    &[40, 2],
    &[3, 50],
    &[2, 3, 37],
    &[5, 4, 2],
    &[2, 2, 3, 40],
    &[700, 3],
];

fn fitting(q: i64, dtype: DType) -> bool {
    dtype != DType::I32 || q < 1 << 31
}

const KERNELS: [&str; 5] = ["modmul", "modmuladd", "modsum", "mod", "modneg"];

/// How many operands an element comes from, but for its modulus.
fn inputs(kernel: &str) -> usize {
    match kernel {
        "modmuladd" => 3,
        "modmul" | "modsum" => 2,
        _ => 1,
    }
}

fn expected(kernel: &str, [a, b, c, q]: [i64; 4]) -> i64 {
    let [a, b, c, q] = [a, b, c, q].map(i128::from);
    let exact = match kernel {
        "modmuladd" => ((a * b) % q + c) % q,
        "modmul" => (a * b) % q,
        "modsum" => (a + b) % q,
        "mod" => a % q,
        "modneg" => (-a).rem_euclid(q),
        other => unreachable!("{other}"),
    };
    exact as i64
}

/// A launch whose inputs are words of `a` and whose moduli all fit `q`.
struct Setup<'a> {
    kernel: &'static str,
    dtype: DType,
    dims: &'a [i64],
    out: Layout,
    inputs: Layout,
    moduli: Layout,
    wild: bool,
}

fn check(setup: &Setup<'_>, choices: &[i64], random: &mut Random) {
    let Setup {
        kernel,
        dtype,
        dims,
        ..
    } = *setup;
    let moduli: Vec<i64> = choices
        .iter()
        .copied()
        .filter(|&q| fitting(q, dtype))
        .collect();
    let mut pick = |r: &mut Random| moduli[r.below(moduli.len() as i64) as usize];
    let q = operand(dtype, dims, setup.moduli, random, &mut pick);
    let least = *q.words.iter().min().unwrap();
    let wild = setup.wild;
    // Few wild words, so that exact and fast vectors alternate.
    let mut word = move |r: &mut Random| {
        if wild && r.below(10) == 0 {
            r.any_word(least, dtype)
        } else {
            r.residue(least)
        }
    };
    let mut operands = vec![Some(operand(dtype, dims, setup.out, random, &mut |r| {
        r.below(9)
    }))];
    for _ in 0..inputs(kernel) {
        operands.push(Some(operand(dtype, dims, setup.inputs, random, &mut word)));
    }
    operands.push(Some(q));
    let call = Call::new(kernel, dims, operands);
    let last = call.operands.len() - 1;
    let words = call.filled(|index| {
        let input = |operand| match operand <= inputs(kernel) {
            true => call.at(operand, index),
            false => 0,
        };
        let words = [input(1), input(2), input(3), call.at(last, index)];
        wrap(expected(kernel, words), dtype)
    });
    call.check(&words);
}

#[test]
fn every_layout_of_every_operand_gives_exact_results() {
    let mut random = Random(1);
    for kernel in KERNELS {
        for dtype in [DType::I32, DType::I64] {
            for dims in SHAPES {
                for out in INJECTIVE {
                    for inputs in LAYOUTS {
                        let moduli = LAYOUTS[random.below(7) as usize];
                        let setup = Setup {
                            kernel,
                            dtype,
                            dims,
                            out,
                            inputs,
                            moduli,
                            wild: false,
                        };
                        check(&setup, &MODULI, &mut random);
                        check(
                            &Setup {
                                wild: true,
                                ..setup
                            },
                            &MODULI,
                            &mut random,
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn each_modulus_gives_exact_results_on_dense_rows() {
    let mut random = Random(2);
    for kernel in KERNELS {
        for dtype in [DType::I32, DType::I64] {
            for q in MODULI.into_iter().filter(|&q| fitting(q, dtype)) {
                for (dims, moduli) in [(&[1031][..], Layout::Scalar), (&[3, 500], Layout::NoLast)] {
                    for wild in [false, true] {
                        let (out, inputs) = (Layout::Dense, Layout::Dense);
                        let setup = Setup {
                            kernel,
                            dtype,
                            dims,
                            out,
                            inputs,
                            moduli,
                            wild,
                        };
                        check(&setup, &[q], &mut random);
                    }
                }
            }
        }
    }
}

#[test]
fn barrett_is_exact_for_every_size_of_modulus_at_its_worst_products() {
    let mut random = Random(3);
    for bits in 2..=62 {
        // The last: 2^(bits + 62) / q is then as far above its floor as can be.
        let (half, whole) = (1i64 << (bits - 1), 1i64 << bits);
        let worst = whole - (1 << (bits / 2)) + 1;
        for q in [half, half + 1, whole - 1, (whole - 1) / 3 * 2, worst] {
            let q = q.max(2);
            let words: Vec<i64> = (0..256)
                .map(|i| {
                    if i < 128 {
                        (q - 1 - i % 16).max(0)
                    } else {
                        random.below(q)
                    }
                })
                .collect();
            let flat = |words: Vec<i64>| crate::common::Operand {
                dtype: DType::I64,
                words,
                offset: 0,
                strides: vec![1],
            };
            let turned: Vec<i64> = words.iter().rev().copied().collect();
            let mut moduli = flat(vec![q]);
            moduli.strides = vec![0];
            let operands = vec![
                Some(flat(vec![0; 256])),
                Some(flat(words)),
                Some(flat(turned)),
            ];
            let mut call = Call::new("modmul", &[256], operands);
            call.operands.push(Some(moduli));
            let expected = call
                .filled(|index| expected("modmul", [call.at(1, index), call.at(2, index), 0, q]));
            call.check(&expected);
        }
    }
}

#[test]
fn the_result_may_be_an_operand_itself() {
    let mut random = Random(4);
    let q = MODULI[5];
    for alias in [1, 2] {
        for layout in INJECTIVE {
            let dims = [3, 5, 60];
            let mut word = |r: &mut Random| r.residue(q);
            let out = operand(DType::I64, &dims, layout, &mut random, &mut word);
            let other = operand(DType::I64, &dims, Layout::Broadcast, &mut random, &mut word);
            let modulus = operand(DType::I64, &dims, Layout::Scalar, &mut random, &mut |_| q);
            let mut operands = vec![
                Some(out.clone()),
                Some(other.clone()),
                Some(other),
                Some(modulus),
            ];
            operands[alias] = Some(out);
            let mut call = Call::new("modmul", &dims, operands);
            call.alias = Some(alias);
            let words = call.filled(|i| expected("modmul", [call.at(1, i), call.at(2, i), 0, q]));
            call.check(&words);
        }
    }
}

#[test]
fn a_remainder_by_any_divisor_but_zero_is_that_of_c() {
    let edges = [i64::MIN, i64::MIN + 1, -7, -1, 0, 1, 7, i64::MAX];
    for divisor in [
        i64::MIN,
        -(1 << 62),
        -7,
        -1,
        1,
        2,
        1 << 61,
        (1 << 62) - 1,
        1 << 62,
        i64::MAX,
    ] {
        let row: Vec<i64> = edges.iter().cycle().take(40).copied().collect();
        let flat = |words: Vec<i64>, stride| {
            Some(crate::common::Operand {
                dtype: DType::I64,
                words,
                offset: 0,
                strides: vec![stride],
            })
        };
        let operands = vec![flat(vec![0; 40], 1), flat(row, 1), flat(vec![divisor], 0)];
        let call = Call::new("mod", &[40], operands);
        call.check(&call.filled(|index| expected("mod", [call.at(1, index), 0, 0, divisor])));
    }
}
