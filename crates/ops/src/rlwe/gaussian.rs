//! `gaussian`: the discrete Gaussian of standard deviation 3.2.

use super::gaussian_table::CUMULATIVE;
use crate::op::{Body, Effect, Family, Form, KernelBody, Law, OpDef, Param};
use crate::{Reference, rules};
use cloakwork_ir::{DType, Type};
use smallvec::smallvec;

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "gaussian",
    family: Family::Rlwe,
    doc: "Samples of the discrete Gaussian on the integers of standard deviation 3.2, each from \
          `v = random[.., 1] * 2^64 + random[.., 0]`.\n\n\
          Bit 0 of v is the sign; the magnitude is the number of entries of the cumulative table \
          `round(2^127 P(|X| <= i))` that are at most the other 127 bits. Every entry is compared \
          for every sample, so that neither time nor addresses depend on the words.",
    params: &[
        Param::tensor("random", "u64, the shape of `out` and a last axis of 2"),
        Param::out("i64; at most 42 in magnitude"),
    ],
    forms: &[Form::own("gaussian", &["random", "out"])],
    body: Body::Kernel(KernelBody {
        dtypes: super::DTYPES,
        ..KernelBody::new(
            |args| Ok(Type::new(DType::I64, super::shape_of_pairs(args)?)),
            |args| Ok(smallvec![super::launch_pairs("gaussian", args, None)?]),
            Reference::Values(|_, contents| {
                let samples = super::pairs(contents.words("random")?).map(sample);
                Ok(samples.collect::<Vec<i64>>().into())
            }),
        )
    }),
    operations: rules::out_elements,
    laws: &[Law::Effect(Effect::Draws)],
};

fn sample(pair: u128) -> i64 {
    let magnitude = CUMULATIVE
        .iter()
        .filter(|&&entry| entry <= pair >> 1)
        .count() as i64;
    if pair & 1 == 1 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_that_of_standard_deviation_3_2() {
        // Probabilities of the magnitudes 0, 1, ... are the steps of the table.
        let mut below = 0;
        let (mut total, mut second_moment) = (0.0, 0.0);
        for (magnitude, &entry) in CUMULATIVE.iter().chain([&(1 << 127)]).enumerate() {
            assert!(entry > below);
            let probability = (entry - below) as f64 / (1u128 << 127) as f64;
            let doubled = if magnitude == 0 { 1.0 } else { 2.0 };
            let squared = (magnitude * magnitude) as f64;
            let density = (-squared / 20.48f64).exp() / (3.2 * std::f64::consts::TAU.sqrt());
            assert!(
                (probability - doubled * density).abs() < 1e-12,
                "magnitude {magnitude}"
            );
            total += probability;
            second_moment += squared * probability;
            below = entry;
        }
        assert!((total - 1.0).abs() < 1e-15);
        assert!((second_moment.sqrt() - 3.2).abs() < 1e-12);
    }

    #[test]
    fn extreme_words_give_the_smallest_and_the_largest_magnitude() {
        assert_eq!(
            [
                sample(0),
                sample(1),
                sample(u128::MAX - 1),
                sample(u128::MAX)
            ],
            [0, 0, 42, -42]
        );
        let first = CUMULATIVE[0];
        assert_eq!(
            [
                sample(2 * first - 1),
                sample(2 * first),
                sample(2 * first + 1)
            ],
            [0, 1, -1]
        );
    }
}
