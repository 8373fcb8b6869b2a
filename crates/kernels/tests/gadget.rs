//! g_decomp and g_decomp_full_q against shifts and the Chinese remainder theorem.
#![allow(clippy::unwrap_used)]

use crate::common::random::{INJECTIVE, LAYOUTS, Random, operand, wrap};
use crate::common::{Call, Operand};
use cloakwork_csrc as _;
use cloakwork_ir::DType;

const TYPES: [(DType, DType); 4] = [
    (DType::I32, DType::I8),
    (DType::I64, DType::I8),
    (DType::I32, DType::I32),
    (DType::I64, DType::I64),
];

/// The words of a result with a digit axis of stride `params[2]` beside the launch's axes.
fn with_digits(call: &Call, digit: impl Fn(&[i64], i64) -> i64) -> Vec<i64> {
    let mut words = call.operand(0).words.clone();
    for index in call.indices(call.split) {
        let full = [&index[..], &vec![0; call.dims.len() - call.split]].concat();
        for j in 0..call.params[1] {
            let place = call.place(0, &full) as i64 + j * call.params[2];
            words[usize::try_from(place).unwrap()] = digit(&full, j);
        }
    }
    words
}

/// A result over `dims` and a digit axis at place `at`; the digit stride comes apart.
fn result(
    dtype: DType,
    dims: &[i64],
    digits: i64,
    at: usize,
    random: &mut Random,
) -> (Operand, i64) {
    let mut all = dims.to_vec();
    all.insert(at, digits);
    let layout = INJECTIVE[random.below(4) as usize];
    let mut own = operand(dtype, &all, layout, random, &mut |r| r.below(100));
    let step = own.strides.remove(at);
    (own, step)
}

#[test]
fn digits_are_those_of_the_twos_complement_word() {
    let mut random = Random(30);
    for (input, output) in TYPES {
        for dims in [&[1][..], &[300], &[3, 40], &[5, 2, 3]] {
            for (bits, digits) in [
                (1, 64),
                (3, 3),
                (8, 8),
                (7, 10),
                (16, 5),
                (31, 3),
                (63, 2),
                (64, 2),
            ] {
                let at = random.below(dims.len() as i64 + 1) as usize;
                let (out, step) = result(output, dims, digits, at, &mut random);
                let layout = LAYOUTS[random.below(7) as usize];
                let mut word = |r: &mut Random| r.any_word(1 << 40, input);
                let a = operand(input, dims, layout, &mut random, &mut word);
                let mut call = Call::new("g_decomp", dims, vec![Some(out), Some(a)]);
                call.params = vec![bits, digits, step];
                let words = with_digits(&call, |index, j| {
                    let shifted = i128::from(call.at(1, index)) >> (j * bits).min(127);
                    wrap((shifted & ((1 << bits) - 1)) as i64, output)
                });
                call.check(&words);
            }
        }
    }
}

#[test]
fn minus_five_has_the_digits_three_seven_seven() {
    let flat = |words: Vec<i64>| Operand {
        dtype: DType::I32,
        words,
        offset: 0,
        strides: vec![1],
    };
    let operands = vec![Some(flat(vec![0; 3])), Some(flat(vec![-5]))];
    let mut call = Call::new("g_decomp", &[1], operands);
    call.params = vec![3, 3, 1];
    call.check(&[3, 7, 7]);
}

/// Unsigned numbers of any length, little-endian words.
fn multiply_add(number: &mut Vec<u64>, factor: u64, term: u64) {
    let mut carry = u128::from(term);
    for word in number.iter_mut() {
        carry += u128::from(*word) * u128::from(factor);
        *word = carry as u64;
        carry >>= 64;
    }
    if carry != 0 {
        number.push(carry as u64);
    }
}

fn remainder(number: &[u64], q: i64) -> i64 {
    number.iter().rev().fold(0u128, |rest, &word| {
        ((rest << 64) | u128::from(word)) % q as u128
    }) as i64
}

fn bits_of(number: &[u64], at: i64, bits: i64) -> u64 {
    (0..bits.min(64))
        .filter(|bit| {
            let place = (at + bit) as usize;
            number
                .get(place / 64)
                .is_some_and(|word| word >> (place % 64) & 1 == 1)
        })
        .fold(0, |digit, bit| digit | 1 << bit)
}

/// The greatest primes below 2^62 and 2^31, and some small ones.
fn primes(dtype: DType, count: usize) -> Vec<i64> {
    let is_prime = |n: i64| {
        let odd = (n - 1) >> (n - 1).trailing_zeros();
        [2i64, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37]
            .into_iter()
            .all(|base| {
                if n % base == 0 {
                    return n == base;
                }
                let mul = |a: i64, b: i64| (i128::from(a) * i128::from(b) % i128::from(n)) as i64;
                let (mut x, mut factor, mut exponent) = (1, base, odd);
                while exponent > 0 {
                    if exponent & 1 == 1 {
                        x = mul(x, factor);
                    }
                    factor = mul(factor, factor);
                    exponent >>= 1;
                }
                let mut strong = x == 1;
                let mut exponent = odd;
                while exponent < n - 1 {
                    strong |= x == n - 1;
                    x = mul(x, x);
                    exponent *= 2;
                }
                strong
            })
    };
    let top = if dtype == DType::I32 {
        (1i64 << 31) - 1
    } else {
        1 << 62
    };
    let mut found: Vec<i64> = [17, 3].into_iter().take(count / 2).collect();
    let mut n = top - 1;
    while found.len() < count {
        if is_prime(n) {
            found.push(n);
        }
        n -= 1;
    }
    found
}

#[test]
fn digits_over_all_moduli_are_those_of_the_number_with_these_residues() {
    let mut random = Random(31);
    for (input, output) in TYPES {
        for limbs in [1, 2, 3, 8, 64] {
            let moduli = primes(input, limbs);
            for (bits, digits) in [(8, 10), (7, 70), (30, 5), (1, 3), (64, 4)] {
                check_crt((input, output), &moduli, (bits, digits), &mut random);
            }
        }
    }
}

fn check_crt(
    (input, output): (DType, DType),
    moduli: &[i64],
    (bits, digits): (i64, i64),
    random: &mut Random,
) {
    let limbs = moduli.len();
    let (x, y) = (1 + random.below(3), 1 + random.below(40));
    // Numbers below the product, by mixed radix; the first and last are the least and greatest.
    let numbers: Vec<Vec<u64>> = (0..x * y)
        .map(|unit| {
            moduli.iter().fold(vec![0], |mut number, &q| {
                let digit = match unit {
                    0 => 0,
                    1 => q - 1,
                    _ => random.residue(q),
                };
                multiply_add(&mut number, q as u64, digit as u64);
                number
            })
        })
        .collect();
    let dims = [x, y, limbs as i64];
    let layout = INJECTIVE[random.below(4) as usize];
    let mut a = operand(input, &dims, layout, random, &mut |_| 0);
    let call = Call::new("", &dims, vec![Some(a.clone())]);
    for index in call.indices(3) {
        let q = moduli[index[2] as usize];
        let residue = remainder(&numbers[(index[0] * y + index[1]) as usize], q);
        // Residues are reduced first: -q more is the same.
        let shifted = if random.below(4) == 0 {
            residue - q
        } else {
            residue
        };
        a.words[call.place(0, &index)] = wrap(shifted, input);
    }
    let at = random.below(3) as usize;
    let (mut out, step) = result(output, &dims[..2], digits, at, random);
    out.strides.push(0);
    let q = Operand {
        dtype: input,
        words: moduli.to_vec(),
        offset: 0,
        strides: vec![0, 0, 1],
    };
    let mut call = Call::new("g_decomp_full_q", &dims, vec![Some(out), Some(a), Some(q)]);
    call.split = 2;
    call.params = vec![bits, digits, step];
    let words = with_digits(&call, |index, j| {
        let number = &numbers[(index[0] * y + index[1]) as usize];
        wrap(bits_of(number, j * bits, bits) as i64, output)
    });
    call.check(&words);
}
