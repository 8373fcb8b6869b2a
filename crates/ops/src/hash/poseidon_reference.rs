//! Poseidon by its definition: every round adds constants, raises to the fifth power and multiplies
//! by the matrix. Nothing is moved between rounds.

use super::poseidon::inputs;
use crate::reference::number::exact;
use crate::reference::prime::Prime;
use crate::reference::{Broadcast, Contents, Expected, Number};
use crate::{Args, OpError};
use cloakwork_ir::{DType, Field};
use num_bigint::BigUint;

const FULL_ROUNDS: usize = 8;
/// Of widths 2, 3, and so on: circomlib's, from the paper's script.
const PARTIAL_ROUNDS: [usize; 16] = [
    56, 57, 56, 60, 60, 63, 64, 63, 60, 66, 60, 65, 70, 60, 64, 68,
];
const BITS: u32 = 254;

/// Hashes that a reference computes.
const MOST_HASHES: u64 = 1 << 10;

/// The LFSR of the paper's appendix F: the oldest bit first.
struct Grain(std::collections::VecDeque<bool>);

impl Grain {
    fn new(width: usize, partial: usize) -> Self {
        let fields = [
            (1, 2),
            (0, 4),
            (u64::from(BITS), 12),
            (width as u64, 12),
            (FULL_ROUNDS as u64, 10),
            (partial as u64, 10),
            ((1 << 30) - 1, 30),
        ];
        let bits =
            |(value, count): (u64, u32)| (0..count).rev().map(move |at| value >> at & 1 == 1);
        let mut grain = Self(fields.into_iter().flat_map(bits).collect());
        for _ in 0..160 {
            grain.step();
        }
        grain
    }

    fn step(&mut self) -> bool {
        let next = [0, 13, 23, 38, 51, 62]
            .into_iter()
            .fold(false, |sum, at| sum ^ self.0[at]);
        self.0.pop_front();
        self.0.push_back(next);
        next
    }

    /// Of pairs of bits whose first is 1 the second.
    fn bit(&mut self) -> bool {
        loop {
            let (chosen, bit) = (self.step(), self.step());
            if chosen {
                return bit;
            }
        }
    }

    /// The highest bit first.
    fn number(&mut self) -> BigUint {
        (0..BITS).fold(BigUint::ZERO, |number, _| {
            (number << 1u8) + u8::from(self.bit())
        })
    }

    fn below(&mut self, prime: &Prime) -> BigUint {
        loop {
            let number = self.number();
            if number < prime.modulus {
                return number;
            }
        }
    }
}

/// Constants of each round, and the Cauchy matrix `1 / (x_i + y_j)`.
fn constants(prime: &Prime, width: usize) -> (Vec<Vec<BigUint>>, Vec<Vec<BigUint>>) {
    let partial = PARTIAL_ROUNDS[width - 2];
    let mut grain = Grain::new(width, partial);
    let mut round = |_| (0..width).map(|_| grain.below(prime)).collect();
    let rounds = (0..FULL_ROUNDS + partial).map(&mut round).collect();
    let drawn: Vec<BigUint> = (0..2 * width)
        .map(|_| grain.number() % &prime.modulus)
        .collect();
    let (xs, ys) = drawn.split_at(width);
    let row = |x: &BigUint| ys.iter().map(|y| prime.inverse(&prime.add(x, y))).collect();
    (rounds, xs.iter().map(row).collect())
}

fn permuted(prime: &Prime, mut state: Vec<BigUint>) -> Vec<BigUint> {
    let (rounds, matrix) = constants(prime, state.len());
    let half = FULL_ROUNDS / 2;
    let full = |round: usize| round < half || round >= rounds.len() - half;
    for (round, constants) in rounds.iter().enumerate() {
        for (at, (element, constant)) in state.iter_mut().zip(constants).enumerate() {
            *element = prime.add(element, constant);
            if at == 0 || full(round) {
                *element = prime.power(element, &5u8.into());
            }
        }
        let product = |row: &Vec<BigUint>| {
            let terms = row.iter().zip(&state).map(|(a, b)| prime.multiply(a, b));
            terms.fold(BigUint::ZERO, |sum, term| prime.add(&sum, &term))
        };
        state = matrix.iter().map(product).collect();
    }
    state
}

/// Element 0 of the permutation of 0 and each row.
pub(super) fn values(args: &Args, contents: &dyn Contents) -> Result<Expected, OpError> {
    let (rows, width) = inputs(args.tensor("a")?)?;
    if rows.iter().product::<u64>() > MOST_HASHES {
        return Ok(Expected::TooLarge);
    }
    let prime = Prime::of(DType::Field(Field::BN254_FR));
    let a = Broadcast::own(args, contents, "a")?.numbers();
    let hash = |row: &[Number]| {
        let inputs = row.iter().map(Number::residue);
        let state = std::iter::once(BigUint::ZERO).chain(inputs).collect();
        Number::Element(vec![permuted(prime, state).swap_remove(0)])
    };
    Ok(exact(
        DType::Field(Field::BN254_FR),
        a.chunks(width as usize - 1).map(hash),
    ))
}
