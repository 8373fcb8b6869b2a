//! Ring learning with errors: automorphisms, key switching and sampling.

pub mod automorphism;
pub mod gaussian;
mod gaussian_table;
pub mod hybrid_key_switch;
pub mod key_switch;
pub mod relinearize;
pub mod ternary;
pub mod uniform_mod;

use crate::{Args, Launch, LaunchInput, OpError, geometry, rules};
use cloakwork_ir::{DType, Shape};

/// Random words are u64, samples i64.
const DTYPES: &[(DType, DType)] = &[(DType::U64, DType::I64)];

/// The shape of samples that take one random word each.
fn shape_of_words(args: &Args) -> Result<Shape, OpError> {
    let random = args.tensor("random")?;
    rules::dtype_in("random", random, &[DType::U64])?;
    Ok(random.shape().clone())
}

/// The shape of samples that take two random words each, along the last axis.
fn shape_of_pairs(args: &Args) -> Result<Shape, OpError> {
    let shape = shape_of_words(args)?;
    match shape.dims().split_last() {
        Some((2, rest)) => geometry::shape("random", rest),
        _ => {
            let expected = "a last axis of size 2";
            Err(OpError::new(
                crate::Code::Shape,
                "random",
                expected,
                shape.to_string(),
            ))
        }
    }
}

/// Pairs of random words as an operand: the first word of each, the second lies behind it.
fn pairs_input(args: &Args) -> Result<LaunchInput, OpError> {
    let random = args.tensor("random")?.view;
    let first = geometry::without_axis(random, random.rank().saturating_sub(1))?;
    Ok(LaunchInput::View(args.source("random")?, first))
}

/// A launch over the shape of `out`, with the distance between the words of a pair.
fn launch_pairs(
    kernel: &'static str,
    args: &Args,
    more: Option<LaunchInput>,
) -> Result<Launch, OpError> {
    let mut operands = vec![args.input("out")?, pairs_input(args)?];
    operands.extend(more);
    let mut launch = Launch::elementwise(kernel, args.tensor("out")?.shape(), &operands)?;
    launch
        .params
        .extend(args.tensor("random")?.view.strides.last().copied());
    Ok(launch)
}

/// The 128-bit numbers of row-major pairs, the low word first.
fn pairs(words: &[i64]) -> impl Iterator<Item = u128> + '_ {
    words
        .chunks_exact(2)
        .map(|pair| u128::from(pair[1] as u64) << 64 | u128::from(pair[0] as u64))
}
