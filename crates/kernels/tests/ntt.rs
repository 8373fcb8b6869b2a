//! ntt and intt against their recurrences, and against the definition by sums.
#![allow(clippy::unwrap_used)]

use crate::common::random::{Random, wrap};
use crate::common::{Call, MODULI, Operand};
use cloakwork_csrc as _;
use cloakwork_ir::DType;

/// Where vector arithmetics end: numbers that leave no room up to 2^52, 2^50 and 2^62.
const BOUNDS: [i64; 7] = [
    (1 << 48) - 1,
    1 << 48,
    (1 << 49) - 1,
    1 << 49,
    (1 << 50) - 1,
    1 << 50,
    (1 << 62) - 1,
];

fn mul(a: i64, b: i64, q: i64) -> i64 {
    (i128::from(a) * i128::from(b)).rem_euclid(i128::from(q)) as i64
}

fn add(a: i64, b: i64, q: i64) -> i64 {
    (i128::from(a) + i128::from(b)).rem_euclid(i128::from(q)) as i64
}

fn power(mut base: i64, mut exponent: i64, q: i64) -> i64 {
    let mut result = 1 % q;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = mul(result, base, q);
        }
        base = mul(base, base, q);
        exponent >>= 1;
    }
    result
}

/// The recurrence of the forward transform with any table.
fn forward(row: &[i64], table: &[i64], q: i64) -> Vec<i64> {
    let mut x: Vec<i64> = row.iter().map(|word| word.rem_euclid(q)).collect();
    let (mut groups, mut half) = (1, x.len() / 2);
    while groups < x.len() {
        for group in 0..groups {
            for j in 2 * group * half..2 * group * half + half {
                let (u, v) = (x[j], mul(x[j + half], table[groups + group], q));
                (x[j], x[j + half]) = (add(u, v, q), add(u, -v, q));
            }
        }
        groups *= 2;
        half /= 2;
    }
    x
}

/// The recurrence of the inverse transform with any table, scaled.
fn inverse(row: &[i64], table: &[i64], scale: i64, q: i64) -> Vec<i64> {
    let mut x: Vec<i64> = row.iter().map(|word| word.rem_euclid(q)).collect();
    let (mut groups, mut half) = (x.len() / 2, 1);
    while groups > 0 {
        for group in 0..groups {
            for j in 2 * group * half..2 * group * half + half {
                let (u, v) = (x[j], x[j + half]);
                (x[j], x[j + half]) = (add(u, v, q), mul(add(u, -v, q), table[groups + group], q));
            }
        }
        groups /= 2;
        half *= 2;
    }
    x.iter().map(|&word| mul(word, scale, q)).collect()
}

/// How a transform's tensors lie: strides of (l, r, k, m).
#[derive(Clone, Copy)]
enum Order {
    /// `[l, r, k, m]`, m tight.
    SizeLast,
    /// `[l, m, r, k]`, k tight: HEAL's usual order.
    LimbsLast,
    /// `[l, r, 1, m]`: the same row for each modulus.
    Tiled,
}

fn strides(order: Order, [_, r, k, m]: [i64; 4]) -> Vec<i64> {
    match order {
        Order::SizeLast => vec![r * k * m, k * m, m, 1],
        Order::LimbsLast => vec![m * r * k, k, 1, r * k],
        Order::Tiled => vec![r * m, m, 0, 1],
    }
}

struct Transform {
    kernel: &'static str,
    types: (DType, DType),
    dims: [i64; 4],
    orders: (Order, Order),
    permutation: Permutation,
    wild: bool,
    alias: bool,
    /// Of all limbs; else any of `MODULI`.
    modulus: Option<i64>,
    /// Words and twiddles at their bounds.
    extreme: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Permutation {
    None,
    Identity,
    Reversal,
    Any,
}

/// Neither wild nor in place, over any moduli.
const PLAIN: Transform = Transform {
    kernel: "ntt",
    types: (DType::I64, DType::I64),
    dims: [1; 4],
    orders: (Order::SizeLast, Order::SizeLast),
    permutation: Permutation::None,
    wild: false,
    alias: false,
    modulus: None,
    extreme: false,
};

impl Transform {
    fn check(&self, random: &mut Random) {
        let [l, r, k, m] = self.dims;
        let (input, output) = self.types;
        let fits = |q: &i64| output != DType::I32 || *q < 1 << 31;
        let moduli: Vec<i64> = MODULI.into_iter().filter(fits).collect();
        let q_list: Vec<i64> = match self.modulus {
            Some(q) => vec![q; k as usize],
            None => (0..k)
                .map(|_| moduli[random.below(moduli.len() as i64) as usize])
                .collect(),
        };
        let least = *q_list.iter().min().unwrap();
        let word = |r: &mut Random| match input {
            _ if self.extreme => least - 1,
            DType::I8 => wrap(r.word() as i64, DType::I8),
            _ if self.wild && r.below(9) == 0 => r.any_word(least, input),
            _ => r.residue(least),
        };
        let rows = (l * r * k * m) as usize;
        let tensor = |dtype, words, strides| {
            Some(Operand {
                dtype,
                words,
                offset: 0,
                strides,
            })
        };
        let a: Vec<i64> = (0..rows).map(|_| word(random)).collect();
        let out = if self.alias { a.clone() } else { vec![0; rows] };
        let factor = |r: &mut Random| match r.below(3) {
            _ if !self.extreme => r.any_word(least, output),
            0 => least / 2,
            1 => least / 2 + 1,
            _ => least - 1,
        };
        let table = (0..k * m).map(|_| factor(random)).collect();
        let order = match self.permutation {
            Permutation::Identity => (0..m).collect(),
            Permutation::Reversal => (0..m).map(|i| bit_reverse(i, m.trailing_zeros())).collect(),
            _ => random.permutation(m),
        };
        let mut operands = vec![
            tensor(output, out, strides(self.orders.0, self.dims)),
            tensor(input, a, strides(self.orders.1, self.dims)),
            tensor(output, q_list, vec![0, 0, 1, 0]),
            tensor(output, table, vec![0, 0, 1, k]),
            if self.permutation == Permutation::None {
                None
            } else {
                tensor(DType::I64, order, vec![0, 0, 0, 1])
            },
        ];
        if self.kernel == "intt" {
            let scales = (0..k).map(|_| random.any_word(least, output)).collect();
            operands.push(tensor(output, scales, vec![0, 0, 1, 0]));
        }
        let mut call = Call::new(self.kernel, &self.dims, operands);
        call.split = 3;
        call.alias = self.alias.then_some(1);
        call.check(&self.expected(&call));
    }

    fn expected(&self, call: &Call) -> Vec<i64> {
        let mut words = call.operand(0).words.clone();
        let m = self.dims[3];
        for index in call.indices(3) {
            let at = |operand, i| call.at(operand, &[&index[..], &[i]].concat());
            let column = |operand| (0..m).map(|i| at(operand, i)).collect::<Vec<_>>();
            let order = if self.permutation == Permutation::None {
                (0..m).collect()
            } else {
                column(4)
            };
            let (q, table) = (at(2, 0), column(3));
            let row = column(1);
            let result = if self.kernel == "ntt" {
                let y = forward(&row, &table, q);
                order.iter().map(|&u| y[u as usize]).collect()
            } else {
                let y: Vec<i64> = order.iter().map(|&u| row[u as usize]).collect();
                inverse(&y, &table, at(5, 0), q)
            };
            for (i, word) in (0..m).zip(result) {
                words[call.place(0, &[&index[..], &[i]].concat())] = word;
            }
        }
        words
    }
}

const TYPES: [(DType, DType); 4] = [
    (DType::I64, DType::I64),
    (DType::I32, DType::I32),
    (DType::I8, DType::I64),
    (DType::I8, DType::I32),
];

#[test]
fn any_table_and_any_words_follow_the_recurrence_in_every_layout() {
    let mut random = Random(20);
    let orders = [
        (Order::SizeLast, Order::SizeLast),
        (Order::LimbsLast, Order::LimbsLast),
        (Order::SizeLast, Order::LimbsLast),
        (Order::LimbsLast, Order::Tiled),
        (Order::SizeLast, Order::Tiled),
    ];
    for log_size in 0..=9 {
        for (kernel, types) in TYPES.map(|types| ("ntt", types)).into_iter().chain([
            ("intt", (DType::I64, DType::I64)),
            ("intt", (DType::I32, DType::I32)),
        ]) {
            for orders in orders {
                for (permutation, wild) in [
                    (Permutation::None, false),
                    (Permutation::Identity, false),
                    (Permutation::Reversal, true),
                    (Permutation::Any, false),
                    (Permutation::Any, true),
                ] {
                    let dims = [2, 1 + random.below(2), 1 + random.below(3), 1 << log_size];
                    Transform {
                        kernel,
                        types,
                        dims,
                        orders,
                        permutation,
                        wild,
                        ..PLAIN
                    }
                    .check(&mut random);
                }
            }
        }
    }
}

#[test]
fn long_rows_that_are_done_quarter_by_quarter_follow_the_recurrence() {
    let mut random = Random(21);
    for kernel in ["ntt", "intt"] {
        for log_size in 10..=15 {
            for (permutation, wild) in [
                (Permutation::None, false),
                (Permutation::Reversal, false),
                (Permutation::Any, true),
            ] {
                for modulus in [None, Some((1 << 50) - 27)] {
                    Transform {
                        kernel,
                        dims: [1, 1, 1, 1 << log_size],
                        permutation,
                        wild,
                        modulus,
                        ..PLAIN
                    }
                    .check(&mut random);
                }
            }
        }
    }
}

#[test]
fn numbers_stay_in_range_where_moduli_words_and_twiddles_are_greatest() {
    let mut random = Random(24);
    for kernel in ["ntt", "intt"] {
        for modulus in BOUNDS {
            for log_size in [3, 6, 7, 8, 11, 12, 13] {
                for extreme in [false, true] {
                    Transform {
                        kernel,
                        dims: [1, 1, 1, 1 << log_size],
                        modulus: Some(modulus),
                        extreme,
                        ..PLAIN
                    }
                    .check(&mut random);
                }
            }
        }
    }
}

#[test]
fn a_transform_in_place_gives_the_same() {
    let mut random = Random(22);
    for kernel in ["ntt", "intt"] {
        for log_size in [0, 1, 3, 5, 8, 12] {
            for permutation in [
                Permutation::None,
                Permutation::Identity,
                Permutation::Reversal,
                Permutation::Any,
            ] {
                for order in [Order::SizeLast, Order::LimbsLast] {
                    Transform {
                        kernel,
                        dims: [2, 1, 2, 1 << log_size],
                        orders: (order, order),
                        permutation,
                        alias: true,
                        ..PLAIN
                    }
                    .check(&mut random);
                }
            }
        }
    }
}

/// An element of order `order` modulo a prime.
fn root_of_unity(order: i64, q: i64) -> i64 {
    (2..)
        .map(|base| power(base, (q - 1) / order, q))
        .find(|&root| power(root, order / 2, q) == q - 1)
        .unwrap()
}

fn bit_reverse(i: i64, bits: u32) -> i64 {
    if bits == 0 {
        0
    } else {
        ((i as u64).reverse_bits() >> (64 - bits)) as i64
    }
}

fn transform(kernel: &'static str, row: &[i64], table: &[i64], scale: i64, q: i64) -> Call {
    let m = row.len() as i64;
    let order = (0..m).map(|i| bit_reverse(i, m.trailing_zeros())).collect();
    let tensor = |words: Vec<i64>, tight| {
        Some(Operand {
            dtype: DType::I64,
            words,
            offset: 0,
            strides: vec![0, 0, 0, tight],
        })
    };
    let mut operands = vec![
        tensor(vec![0; row.len()], 1),
        tensor(row.to_vec(), 1),
        tensor(vec![q], 0),
        tensor(table.to_vec(), 1),
        tensor(order, 1),
    ];
    if kernel == "intt" {
        operands.push(tensor(vec![scale], 0));
    }
    let mut call = Call::new(kernel, &[1, 1, 1, m], operands);
    call.split = 3;
    call
}

#[test]
fn with_powers_of_psi_it_evaluates_at_odd_powers_and_the_inverse_undoes_it() {
    let mut random = Random(23);
    let q = 2_305_843_009_218_281_473;
    for log_size in 1..=8u32 {
        let m = 1i64 << log_size;
        let psi = root_of_unity(2 * m, q);
        let table: Vec<i64> = (0..m)
            .map(|i| power(psi, bit_reverse(i, log_size), q))
            .collect();
        let row: Vec<i64> = (0..m).map(|_| random.residue(q)).collect();
        let values: Vec<i64> = (0..m)
            .map(|j| {
                let point = power(psi, 2 * j + 1, q);
                row.iter()
                    .rev()
                    .fold(0, |sum, &word| add(mul(sum, point, q), word, q))
            })
            .collect();
        transform("ntt", &row, &table, 1, q).check(&values);
        let back: Vec<i64> = table.iter().map(|&w| power(w, q - 2, q)).collect();
        transform("intt", &values, &back, power(m, q - 2, q), q).check(&row);
    }
}

#[test]
fn the_table_of_four_modulo_seventeen_follows_the_recurrence() {
    let table = [1, 4, 16, 13];
    let row = [3, 5, 7, 11];
    // Half 2, twiddle 4: (3 + 28, 5 + 44, 3 - 28, 5 - 44) = (14, 15, 9, 12). Half 1: twiddles 16
    // and 13: (14 + 240, 14 - 240, 9 + 156, 9 - 156) = (16, 12, 12, 6), then bit-reversed.
    assert_eq!(forward(&row, &table, 17), [16, 12, 12, 6]);
    transform("ntt", &row, &table, 1, 17).check(&[16, 12, 12, 6]);
}
