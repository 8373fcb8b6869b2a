//! How references go through operands: element by element, along an axis, over what axes reduce.

use super::number::{Accuracy, expected};
use super::{Broadcast, Contents, Expected, Number, Slack};
use crate::{Args, OpError};
use cloakwork_ir::DType;

/// An op's function of one element each, and how far floats may be from it.
#[derive(Clone, Copy, Debug)]
pub struct Scalar {
    /// The result of an element of each operand, given the dtype of the operands.
    pub of: fn(DType, &[Number]) -> Number,
    /// The slack of its results.
    pub accuracy: Accuracy,
}

/// The reference of an op that is declared as data: its function over its operands.
///
/// # Errors
/// The op is not declared so.
pub fn elementwise(args: &Args, contents: &dyn Contents) -> Result<Expected, OpError> {
    let scalar = crate::elementwise::rule(args)?.scalar;
    let names: Vec<_> = crate::elementwise::operands(args).collect();
    map(args, contents, &names, scalar)
}

/// A function over operands that broadcast to `out`; their dtype is the first one's.
///
/// # Errors
/// An operand does not broadcast.
pub fn map(
    args: &Args,
    contents: &dyn Contents,
    names: &[&'static str],
    scalar: Scalar,
) -> Result<Expected, OpError> {
    let out = args.tensor("out")?;
    let operands: Vec<Broadcast> = names
        .iter()
        .map(|&name| Broadcast::new(args, contents, name, out.shape()))
        .collect::<Result<_, _>>()?;
    let dtype = operands.first().map_or(out.dtype, Broadcast::dtype);
    let numbers = (0..out.shape().elements()).map(|index| {
        let given: Vec<Number> = operands.iter().map(|own| own.number(index)).collect();
        let number = (scalar.of)(dtype, &given);
        let slack = scalar.accuracy.slack(out.dtype, &number, &given);
        (number, slack)
    });
    Ok(expected(out.dtype, numbers))
}

/// A function of a line of numbers: it gives a result with its slack for each place of `out`'s
/// line. The dtype is the operand's.
pub type LineFn<'a> = &'a dyn Fn(DType, &[Number]) -> Vec<(Number, Slack)>;

/// A function of each line of `a` along an axis.
///
/// # Errors
/// No such operand or axis.
pub fn along(
    args: &Args,
    contents: &dyn Contents,
    axis: usize,
    line: LineFn,
) -> Result<Expected, OpError> {
    let a = Broadcast::own(args, contents, "a")?;
    let dims = args.tensor("a")?.dims();
    let inner: u64 = dims.iter().skip(axis + 1).product();
    let outer: u64 = dims.iter().take(axis).product();
    let length = dims.get(axis).copied().unwrap_or(1);
    let mut results = vec![];
    for start in 0..outer {
        let lines: Vec<_> = (0..inner)
            .map(|lane| {
                let at = |i| a.number((start * length + i) * inner + lane);
                line(a.dtype(), &(0..length).map(at).collect::<Vec<_>>())
            })
            .collect();
        let kept = lines.first().map_or(0, Vec::len);
        for place in 0..kept {
            results.extend(lines.iter().map(|own| own[place].clone()));
        }
    }
    Ok(expected(args.tensor("out")?.dtype, results))
}

/// A function of the elements that fall on each element of the result when the axes marked in
/// `reduced` go, in row-major order.
///
/// # Errors
/// No such operand.
pub fn reduce(
    args: &Args,
    contents: &dyn Contents,
    reduced: &[bool],
    fold: fn(DType, &[Number]) -> (Number, Slack),
) -> Result<Expected, OpError> {
    let a = Broadcast::own(args, contents, "a")?;
    let dims = args.tensor("a")?.dims();
    let axes = || dims.iter().zip(reduced);
    let kept: u64 = axes()
        .filter(|(_, gone)| !**gone)
        .map(|(dim, _)| dim)
        .product();
    let mut groups = vec![vec![]; kept as usize];
    for (index, number) in a.numbers().into_iter().enumerate() {
        let (mut rest, mut place, mut step) = (index as u64, 0, 1);
        for (&dim, &gone) in axes().rev() {
            if !gone {
                place += rest % dim * step;
                step *= dim;
            }
            rest /= dim;
        }
        groups[place as usize].push(number);
    }
    let results = groups.iter().map(|group| fold(a.dtype(), group));
    Ok(expected(args.tensor("out")?.dtype, results))
}

/// The sum of numbers. Of floats: any order of n additions is within `n eps sum |x|`; the sum here
/// keeps what additions lose. Where partial sums may overflow, all is open.
#[must_use]
pub fn sum(dtype: DType, numbers: &[Number]) -> (Number, Slack) {
    if !(dtype.is_real_float() || dtype.is_complex()) {
        let zero = zero(dtype);
        let add = |sum, x: &Number| super::arithmetic::add(dtype, &sum, x);
        return (numbers.iter().fold(zero, add), Slack::Bits);
    }
    let re = real_sum(dtype, numbers.iter().map(Number::real));
    if dtype.is_real_float() {
        return re.map_or((Number::Open, Slack::Open), |(re, slack)| {
            (Number::Real(re), Slack::Within(slack))
        });
    }
    let im = real_sum(dtype, numbers.iter().map(Number::imaginary));
    match (re, im) {
        (Some((re, a)), Some((im, b))) => (Number::Complex(re, im), Slack::Within(a.max(b))),
        _ => (Number::Open, Slack::Open),
    }
}

/// The sum of floats, and the bound of its error; `None` where it is open.
fn real_sum(dtype: DType, values: impl Iterator<Item = f64> + Clone) -> Option<(f64, f64)> {
    if values.clone().any(|x| !x.is_finite()) {
        return Some((values.sum(), 0.0));
    }
    let magnitude: f64 = values.clone().map(f64::abs).sum();
    if magnitude >= super::number::largest(dtype) {
        return None;
    }
    let count = values.clone().count() as f64;
    let (mut sum, mut lost) = (0.0, 0.0);
    for value in values {
        let next: f64 = sum + value;
        lost += if f64::abs(sum) >= f64::abs(value) {
            (sum - next) + value
        } else {
            (value - next) + sum
        };
        sum = next;
    }
    Some((
        sum + lost,
        count * super::number::epsilon(dtype) * magnitude,
    ))
}

/// The product of numbers. Of floats: any order is within `4 n eps` of the magnitude; where partial
/// products may leave the range, all is open.
#[must_use]
pub fn product(dtype: DType, numbers: &[Number]) -> (Number, Slack) {
    let multiply = |product, x: &Number| {
        // Between operations binary32 has binary64 here.
        let dtype = if dtype == DType::F32 {
            DType::F64
        } else {
            dtype
        };
        super::arithmetic::multiply(dtype, &product, x)
    };
    let product = numbers.iter().fold(one(dtype), multiply);
    if !(dtype.is_real_float() || dtype.is_complex()) {
        return (product, Slack::Bits);
    }
    let logs = numbers.iter().map(|x| x.magnitude().log2());
    let above: f64 = logs.clone().filter(|&log| log > 0.0).sum();
    let below: f64 = logs.filter(|&log| log < 0.0).sum();
    let range = super::number::largest(dtype).log2() - 2.0;
    let special = numbers
        .iter()
        .any(|x| !x.magnitude().is_finite() || !x.is_true());
    if special && dtype.is_real_float() && above < range && below > -range {
        return (product, Slack::Within(0.0));
    }
    if special || above >= range || below <= -range {
        return (Number::Open, Slack::Open);
    }
    let slack = 4.0 * numbers.len() as f64 * super::number::epsilon(dtype) * product.magnitude();
    (product, Slack::Within(slack))
}

/// 0 of a dtype.
#[must_use]
pub fn zero(dtype: DType) -> Number {
    match dtype {
        _ if dtype.is_field() => Number::Element(super::field::Field::of(dtype).zero()),
        _ if dtype.is_point() => Number::Point(None),
        _ if dtype.is_complex() => Number::Complex(0.0, 0.0),
        _ if dtype.is_real_float() => Number::Real(0.0),
        _ => Number::Int(0),
    }
}

/// 1 of a dtype that has one.
#[must_use]
pub fn one(dtype: DType) -> Number {
    match zero(dtype) {
        Number::Element(_) => Number::Element(super::field::Field::of(dtype).one()),
        Number::Complex(..) => Number::Complex(1.0, 0.0),
        Number::Real(_) => Number::Real(1.0),
        Number::Int(_) => Number::Int(1),
        other => other,
    }
}
