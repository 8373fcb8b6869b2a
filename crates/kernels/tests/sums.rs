//! axis_modsum and modmul_axis_sum against 128-bit integers.
#![allow(clippy::unwrap_used)]

use crate::common::random::{INJECTIVE, LAYOUTS, Layout, Random, operand, wrap};
use crate::common::{Call, MODULI, Operand};
use cloakwork_csrc as _;
use cloakwork_ir::DType;

/// An operand over all axes but some, along which its stride is 0.
fn over(
    dtype: DType,
    dims: &[i64],
    without: &[usize],
    layout: Layout,
    random: &mut Random,
    word: &mut dyn FnMut(&mut Random) -> i64,
) -> Operand {
    let kept: Vec<i64> = dims
        .iter()
        .enumerate()
        .filter(|(axis, _)| !without.contains(axis))
        .map(|(_, &d)| d)
        .collect();
    let mut own = operand(dtype, &kept, layout, random, word);
    for &axis in without {
        own.strides.insert(axis, 0);
    }
    own
}

fn moduli_for(dtype: DType) -> Vec<i64> {
    MODULI
        .into_iter()
        .filter(|&q| dtype != DType::I32 || q < 1 << 31)
        .collect()
}

#[test]
fn a_sum_along_an_axis_follows_the_recurrence_for_any_words() {
    let mut random = Random(10);
    let shapes: [&[i64]; 7] = [
        &[5],
        &[40, 3],
        &[3, 2, 300],
        &[300, 20],
        &[2, 50, 2, 7],
        &[70, 2, 4],
        &[2, 1],
    ];
    for dtype in [DType::I32, DType::I64] {
        let moduli = moduli_for(dtype);
        for dims in shapes {
            for (out, wild) in INJECTIVE
                .into_iter()
                .flat_map(|out| [(out, false), (out, true)])
            {
                let last = dims.len() - 1;
                let q = moduli[random.below(moduli.len() as i64) as usize];
                let mut word = move |r: &mut Random| {
                    if wild && r.below(50) == 0 {
                        r.any_word(q, dtype)
                    } else {
                        r.residue(q)
                    }
                };
                let inputs = LAYOUTS[random.below(7) as usize];
                let operands = vec![
                    Some(over(dtype, dims, &[last], out, &mut random, &mut |_| 5)),
                    Some(operand(dtype, dims, inputs, &mut random, &mut word)),
                    Some(over(
                        dtype,
                        dims,
                        &[last],
                        LAYOUTS[4],
                        &mut random,
                        &mut |_| q,
                    )),
                ];
                let mut call = Call::new("axis_modsum", dims, operands);
                call.split = last;
                let words = call.filled(|index| {
                    let terms =
                        (0..dims[last]).map(|s| call.at(1, &[&index[..last], &[s]].concat()));
                    terms.fold(0, |sum, term| {
                        wrap(
                            ((i128::from(sum) + i128::from(term)) % i128::from(q)) as i64,
                            dtype,
                        )
                    })
                });
                call.check(&words);
            }
        }
    }
}

/// The planner's layout of r, k, n, s: n tightest, s outside.
fn planned(
    dtype: DType,
    dims: &[i64; 4],
    without: &[usize],
    random: &mut Random,
    word: &mut dyn FnMut(&mut Random) -> i64,
) -> Operand {
    let [r, k, n, s] = *dims;
    let mut without: Vec<usize> = without.iter().map(|axis| (axis + 1) % 4).collect();
    without.sort_unstable();
    let mut own = over(dtype, &[s, r, k, n], &without, Layout::Dense, random, word);
    own.strides.rotate_left(1);
    own
}

struct Products<'a> {
    dtype: DType,
    dims: &'a [i64; 4],
    permuted: bool,
    wild: bool,
    a_without: &'a [usize],
    /// None: the planner's.
    layouts: [Option<Layout>; 3],
}

fn check_products(case: &Products<'_>, random: &mut Random) {
    let Products {
        dtype, dims, wild, ..
    } = *case;
    let moduli = moduli_for(dtype);
    let q_list: Vec<i64> = (0..dims[1])
        .map(|_| moduli[random.below(moduli.len() as i64) as usize])
        .collect();
    let least = *q_list.iter().min().unwrap();
    let mut word = move |r: &mut Random| {
        if wild && r.below(100) == 0 {
            r.any_word(least, dtype)
        } else {
            r.residue(least)
        }
    };
    let mut tensor = |operand: usize, without: &[usize]| {
        Some(match case.layouts[operand] {
            Some(layout) => over(dtype, dims, without, layout, random, &mut word),
            None => planned(dtype, dims, without, random, &mut word),
        })
    };
    let mut operands = vec![
        tensor(0, &[3]),
        tensor(1, case.a_without),
        tensor(2, &[0]),
        Some(Operand {
            dtype,
            words: q_list.clone(),
            offset: 0,
            strides: vec![0, 1, 0, 0],
        }),
        None,
    ];
    let order = match random.below(4) {
        0 => (0..dims[2]).collect(),
        _ => random.permutation(dims[2]),
    };
    if case.permuted {
        let words: Vec<i64> = order.iter().flat_map(|&n| [n, -1]).collect();
        operands[4] = Some(Operand {
            dtype: DType::I64,
            words,
            offset: 0,
            strides: vec![0, 0, 2, 0],
        });
    }
    let mut call = Call::new("modmul_axis_sum", dims, operands);
    call.split = 3;
    let mut words = call.operand(0).words.clone();
    for index in call.indices(3) {
        let (r, k, n) = (index[0], index[1], index[2]);
        let p = if case.permuted { order[n as usize] } else { n };
        let q = i128::from(q_list[k as usize]);
        let mut sum = i128::from(call.at(0, &[r, k, p, 0]));
        for s in 0..dims[3] {
            let product =
                i128::from(call.at(1, &[r, k, n, s])) * i128::from(call.at(2, &[r, k, p, s]));
            sum = (sum % q + product % q) % q;
        }
        words[call.place(0, &[r, k, p, 0])] = wrap(sum.rem_euclid(q) as i64, dtype);
    }
    call.check(&words);
}

#[test]
fn products_add_up_exactly_in_every_layout_and_for_any_words() {
    let mut random = Random(11);
    let shapes: [[i64; 4]; 12] = [
        [1, 1, 1, 1],
        [2, 2, 130, 5],
        [2, 1, 1100, 3],
        [1, 2, 530, 17],
        [2, 1, 64, 4],
        [3, 1, 8, 16],
        [1, 2, 33, 31],
        [2, 1, 260, 15],
        [5, 2, 7, 2],
        [2, 3, 64, 47],
        [1, 1, 300, 100],
        [4, 2, 16, 1],
    ];
    for dtype in [DType::I32, DType::I64] {
        for dims in &shapes {
            for round in 0..12u32 {
                let case = Products {
                    dtype,
                    dims,
                    permuted: round % 2 == 1,
                    wild: round % 4 >= 2,
                    a_without: [&[][..], &[2], &[1, 2]][random.below(3) as usize],
                    layouts: match round {
                        0..6 => [None; 3],
                        _ => [(); 3].map(|()| Some(INJECTIVE[random.below(4) as usize])),
                    },
                };
                check_products(&case, &mut random);
            }
        }
    }
}

/// The planner's layout, n tight, s and k outside: of moduli that have a way of their own, the
/// largest, and the largest words that it takes.
#[test]
fn the_largest_residues_do_not_overflow_the_accumulators() {
    for (q, largest) in [
        (MODULI[7], (1i64 << 62) - 1),
        ((1 << 50) - 27, (1 << 50) - 1),
    ] {
        let dims = [2, 1, 40, 64];
        let tight = |words: Vec<i64>, strides: [i64; 4]| {
            Some(Operand {
                dtype: DType::I64,
                words,
                offset: 0,
                strides: strides.to_vec(),
            })
        };
        let call = |word: i64| {
            let operands = vec![
                tight(vec![word; 80], [40, 40, 1, 0]),
                tight(vec![word; 40 * 64], [0, 0, 1, 40]),
                tight(vec![word; 40 * 64], [0, 0, 1, 40]),
                tight(vec![q], [0, 0, 0, 0]),
                None,
            ];
            let mut call = Call::new("modmul_axis_sum", &dims, operands);
            call.split = 3;
            call
        };
        // (q - 1) + 64 (q - 1)^2 = 63.
        call(q - 1).check(&vec![63; 80]);
        let (word, modulus) = (i128::from(largest), i128::from(q));
        let expected = (word + 64 * (word * word % modulus)) % modulus;
        call(largest).check(&vec![expected as i64; 80]);
    }
}

#[test]
fn without_terms_the_result_is_reduced() {
    let dims = [1, 1, 20, 0];
    let words: Vec<i64> = (0..20).map(|i| i * 7 - 50).collect();
    let dense = |words: Vec<i64>, stride| {
        Some(Operand {
            dtype: DType::I64,
            words,
            offset: 0,
            strides: vec![0, 0, stride, 0],
        })
    };
    let operands = vec![
        dense(words.clone(), 1),
        dense(vec![0; 20], 1),
        dense(vec![0; 20], 1),
        dense(vec![17], 0),
        None,
    ];
    let mut call = Call::new("modmul_axis_sum", &dims, operands);
    call.split = 3;
    call.check(
        &words
            .iter()
            .map(|word| word.rem_euclid(17))
            .collect::<Vec<_>>(),
    );
}
