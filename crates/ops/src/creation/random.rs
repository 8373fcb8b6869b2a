//! Random numbers that a key determines: not for cryptography, which has its own module.

use crate::op::{Param, ParamKind};
use crate::reference::number::{epsilon, expected};
use crate::reference::{Contents, Expected, Number, Slack};
use crate::{Args, Body, Launch, Launches, OpError, Reference, rules};
use cloakwork_ir::{DType, Type, View};
use smallvec::{SmallVec, smallvec};

macro_rules! random {
    ($name:ident, $text:literal, $doc:literal, $numbers:expr) => {
        #[doc = concat!("`", $text, "`.")]
        pub static $name: $crate::OpDef = $crate::OpDef {
            name: $text,
            family: $crate::Family::Creation,
            doc: $doc,
            params: &[
                Param::tensor("key", "u64 `[2]`"),
                Param::new("shape", ParamKind::Shape, "sizes of 0 or more, at most 16"),
                Param::new("dtype", ParamKind::DType, "f32 or f64"),
                Param::out("the shape"),
            ],
            forms: &[$crate::Form::own($text, &["key", "shape", "dtype", "out"])],
            body: Body::kernel(
                infer,
                |args| launch($text, args),
                Reference::Values(|args, contents| reference(args, contents, $numbers)),
            ),
            operations: rules::out_elements,
            laws: &[$crate::Law::Effect($crate::Effect::Draws)],
        };
    };
}

random!(
    UNIFORM,
    "philox_uniform",
    "Uniform numbers in [0, 1): Philox 4x32-10 of the key, counted by the row-major position.",
    uniform
);
random!(
    NORMAL,
    "philox_normal",
    "Normally distributed numbers of mean 0 and variance 1: Box and Muller's transform of Philox \
     4x32-10 of the key, counted by the row-major position.",
    normal
);

fn infer(args: &Args) -> Result<Type, OpError> {
    let (key, dtype) = (args.tensor("key")?, args.dtype("dtype")?);
    rules::dtype_in("key", key, &[DType::U64])?;
    rules::shape_is("key", key, &[2])?;
    if !dtype.is_real_float() {
        return Err(OpError::dtype("dtype", "f32 or f64", dtype));
    }
    Ok(Type::new(dtype, args.shape("shape")?))
}

/// One launch over the shape: out, key, whose second word lies `params[0]` after the first.
fn launch(kernel: &'static str, args: &Args) -> Result<Launches, OpError> {
    let out = args.tensor("out")?;
    let order = View::contiguous(out.shape().clone());
    let dims: SmallVec<[i64; 4]> = if *order.strides == *out.view.strides {
        smallvec![out.shape().elements() as i64]
    } else {
        out.dims().iter().map(|&dim| dim as i64).collect()
    };
    let dense = [1];
    let strides: &[i64] = if dims.len() == 1 && out.view.rank() != 1 {
        &dense
    } else {
        &out.view.strides
    };
    let still = vec![0; dims.len()];
    Ok(smallvec![Launch {
        kernel,
        split: dims.len(),
        operands: smallvec![args.operand("out", strides)?, args.operand("key", &still)?],
        params: smallvec![args.tensor("key")?.view.strides[0]],
        dims,
    }])
}

/// Philox4x32-10: four words of a counter of 128 bits under a key of 64 (Salmon, Moraes, Dror and
/// Shaw, SC 2011).
fn philox(key: u64, counter: u128) -> [u32; 4] {
    let mut words = [0, 32, 64, 96].map(|shift| (counter >> shift) as u32);
    let (mut left, mut right) = (key as u32, (key >> 32) as u32);
    for _ in 0..10 {
        let [a, b, c, d] = words;
        let (first, second) = (u64::from(a) * 0xd251_1f53, u64::from(c) * 0xcd9e_8d57);
        let high = |product: u64| (product >> 32) as u32;
        words = [
            high(second) ^ b ^ left,
            second as u32,
            high(first) ^ d ^ right,
            first as u32,
        ];
        left = left.wrapping_add(0x9e37_79b9);
        right = right.wrapping_add(0xbb67_ae85);
    }
    words
}

/// The numbers that a counter's words are, with their slack.
type Numbers = fn(DType, [u32; 4]) -> Vec<(Number, Slack)>;

fn reference(args: &Args, contents: &dyn Contents, numbers: Numbers) -> Result<Expected, OpError> {
    let (dtype, count) = (args.dtype("dtype")?, args.shape("shape")?.elements());
    let key = contents.words("key")?;
    let (low, high) = (key[0] as u64, u128::from(key[1] as u64) << 64);
    let all = (0..count).flat_map(|block| numbers(dtype, philox(low, high | u128::from(block))));
    Ok(expected(dtype, all.take(count as usize)))
}

/// The first 27 bits of one word and 26 of the next.
fn unit(high: u32, low: u32) -> f64 {
    (f64::from(high >> 5) * 2f64.powi(26) + f64::from(low >> 6)) * 2f64.powi(-53)
}

fn uniform(dtype: DType, words: [u32; 4]) -> Vec<(Number, Slack)> {
    let [a, b, c, d] = words;
    let values = match dtype {
        DType::F32 => words
            .map(|word| f64::from(word >> 8) * 2f64.powi(-24))
            .to_vec(),
        _ => vec![unit(a, b), unit(c, d)],
    };
    let exact = |value| (Number::Real(value), Slack::Bits);
    values.into_iter().map(exact).collect()
}

/// Box and Muller's pairs. Series of the kernel and functions here are each within some units of
/// the radius, which bounds both numbers.
fn normal(dtype: DType, words: [u32; 4]) -> Vec<(Number, Slack)> {
    let [a, b, c, d] = words;
    let parts = match dtype {
        DType::F32 => {
            let scale = 2f64.powi(-32);
            let pair = |u, v| ((f64::from(u) + 0.5) * scale, f64::from(v) * scale);
            vec![pair(a, b), pair(c, d)]
        }
        _ => vec![(unit(a, b) + 2f64.powi(-53), unit(c, d))],
    };
    let pairs = parts.into_iter().flat_map(|(u, v)| {
        let (radius, angle) = ((-2.0 * u.ln()).sqrt(), std::f64::consts::TAU * v);
        let slack = Slack::Within(8.0 * radius * epsilon(dtype));
        [angle.cos(), angle.sin()].map(|part| (Number::Real(radius * part), slack))
    });
    pairs.collect()
}
