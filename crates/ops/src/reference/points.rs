//! Points of `y^2 = x^3 + b` in affine coordinates, by the chord and the tangent. The curve is the
//! one that the points lie on: b is not needed.

use super::field::{Element, Field};
use cloakwork_ir::DType;
use num_bigint::BigUint;

/// x and y; `None` is infinity.
pub type Point = Option<[Element; 2]>;

/// The arithmetic of a curve's points.
#[derive(Clone, Copy)]
pub struct Curve {
    /// Of coordinates.
    field: Field,
}

impl Curve {
    /// Of points of a dtype.
    #[must_use]
    pub fn of(points: DType) -> Self {
        Self {
            field: Field::of(points),
        }
    }

    /// `-a`.
    #[must_use]
    pub fn negative(&self, a: &Point) -> Point {
        a.as_ref().map(|[x, y]| [x.clone(), self.field.negative(y)])
    }

    /// `a + b`.
    #[must_use]
    pub fn add(&self, a: &Point, b: &Point) -> Point {
        let (Some([ax, ay]), Some([bx, by])) = (a, b) else {
            return a.clone().or_else(|| b.clone());
        };
        let field = &self.field;
        if ax == bx && field.add(ay, by) == field.zero() {
            return None;
        }
        let slope = if ax == bx {
            let square = field.multiply(ax, ax);
            let three = field.add(&field.add(&square, &square), &square);
            field.multiply(&three, &field.inverse(&field.add(ay, ay)))
        } else {
            let inverse = field.inverse(&field.subtract(bx, ax));
            field.multiply(&field.subtract(by, ay), &inverse)
        };
        let square = field.multiply(&slope, &slope);
        let x = field.subtract(&field.subtract(&square, ax), bx);
        let y = field.subtract(&field.multiply(&slope, &field.subtract(ax, &x)), ay);
        Some([x, y])
    }

    /// `scalar * a`, by doubling and adding.
    #[must_use]
    pub fn multiple(&self, scalar: &BigUint, a: &Point) -> Point {
        (0..scalar.bits()).rev().fold(None, |sum, bit| {
            let sum = self.add(&sum, &sum);
            if scalar.bit(bit) {
                self.add(&sum, a)
            } else {
                sum
            }
        })
    }
}

/// The point whose words these are: all zeros are infinity.
#[must_use]
pub fn decode(points: DType, words: &[i64]) -> Point {
    let field = Field::of(points);
    read(words, |coordinate| field.decode(coordinate))
}

/// Appends the words of a point.
pub fn encode(points: DType, point: &Point, words: &mut Vec<i64>) {
    let field = Field::of(points);
    let zeros = points.components();
    write(point, zeros, words, |part, to| field.encode(part, to));
}

/// Appends the canonical words of a point's coordinates.
pub fn canonical_words(points: DType, point: &Point, words: &mut Vec<i64>) {
    let field = Field::of(points);
    let zeros = points.canonical_words();
    write(point, zeros, words, |part, to| {
        field.canonical_words(part, to);
    });
}

/// The point of canonical words.
#[must_use]
pub fn from_canonical(points: DType, words: &[i64]) -> Point {
    let field = Field::of(points);
    read(words, |coordinate| field.from_canonical(coordinate))
}

fn read(words: &[i64], coordinate: impl Fn(&[i64]) -> Element) -> Point {
    if words.iter().all(|&word| word == 0) {
        return None;
    }
    let (x, y) = words.split_at(words.len() / 2);
    Some([coordinate(x), coordinate(y)])
}

fn write(
    point: &Point,
    zeros: usize,
    words: &mut Vec<i64>,
    coordinate: impl Fn(&Element, &mut Vec<i64>),
) {
    match point {
        None => words.extend(std::iter::repeat_n(0, zeros)),
        Some([x, y]) => {
            coordinate(x, words);
            coordinate(y, words);
        }
    }
}
