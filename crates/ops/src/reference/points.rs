//! Points of `y^2 = x^3 + b` in affine coordinates, by the chord and the tangent. The curve is the
//! one that the points lie on: b is not needed.

use super::prime::{self, Prime};
use crate::field::primes;
use cloakwork_ir::{DType, Field};
use num_bigint::BigUint;

/// An element of a prime field (one part) or of its extension by `u^2 = -1` (two).
pub type Coordinate = Vec<BigUint>;

/// x and y; `None` is infinity.
pub type Point = Option<[Coordinate; 2]>;

/// The arithmetic of coordinates of a curve's points.
#[derive(Clone, Copy)]
pub struct Curve {
    base: &'static Prime,
}

impl Curve {
    /// Of points of a dtype.
    #[must_use]
    pub fn of(points: DType) -> Self {
        Self {
            base: Prime::of(points.base_field().unwrap_or(points)),
        }
    }

    fn zip(
        &self,
        a: &Coordinate,
        b: &Coordinate,
        f: fn(&Prime, &BigUint, &BigUint) -> BigUint,
    ) -> Coordinate {
        a.iter().zip(b).map(|(a, b)| f(self.base, a, b)).collect()
    }

    fn minus(&self, a: &Coordinate, b: &Coordinate) -> Coordinate {
        self.zip(a, b, Prime::subtract)
    }

    fn plus(&self, a: &Coordinate, b: &Coordinate) -> Coordinate {
        self.zip(a, b, Prime::add)
    }

    fn times(&self, a: &Coordinate, b: &Coordinate) -> Coordinate {
        let p = self.base;
        match (&a[..], &b[..]) {
            ([a, c], [b, d]) => vec![
                p.subtract(&p.multiply(a, b), &p.multiply(c, d)),
                p.add(&p.multiply(a, d), &p.multiply(c, b)),
            ],
            _ => self.zip(a, b, Prime::multiply),
        }
    }

    /// `1 / (a + c u) = (a - c u) / (a^2 + c^2)`.
    fn inverse(&self, a: &Coordinate) -> Coordinate {
        let p = self.base;
        match &a[..] {
            [a, c] => {
                let norm = p.inverse(&p.add(&p.multiply(a, a), &p.multiply(c, c)));
                let negative = p.subtract(&BigUint::ZERO, c);
                vec![p.multiply(a, &norm), p.multiply(&negative, &norm)]
            }
            _ => a.iter().map(|a| p.inverse(a)).collect(),
        }
    }

    /// `-a`.
    #[must_use]
    pub fn negative(&self, a: &Point) -> Point {
        let zero = |y: &Coordinate| vec![BigUint::ZERO; y.len()];
        a.as_ref()
            .map(|[x, y]| [x.clone(), self.minus(&zero(y), y)])
    }

    /// `a + b`.
    #[must_use]
    pub fn add(&self, a: &Point, b: &Point) -> Point {
        let (Some([ax, ay]), Some([bx, by])) = (a, b) else {
            return a.clone().or_else(|| b.clone());
        };
        let zero = vec![BigUint::ZERO; ay.len()];
        if ax == bx && self.plus(ay, by) == zero {
            return None;
        }
        let slope = if ax == bx {
            let square = self.times(ax, ax);
            let three = self.plus(&self.plus(&square, &square), &square);
            self.times(&three, &self.inverse(&self.plus(ay, ay)))
        } else {
            self.times(&self.minus(by, ay), &self.inverse(&self.minus(bx, ax)))
        };
        let x = self.minus(&self.minus(&self.times(&slope, &slope), ax), bx);
        let y = self.minus(&self.times(&slope, &self.minus(ax, &x)), ay);
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

/// Coordinates of a point, as base field elements: those of x, then those of y.
fn parts(points: DType) -> (DType, usize) {
    let base = points.base_field().unwrap_or(DType::Field(Field::BN254_FQ));
    (base, points.size_bytes() / base.size_bytes())
}

/// The point whose words these are: all zeros are infinity.
#[must_use]
pub fn decode(points: DType, words: &[i64]) -> Point {
    if words.iter().all(|&word| word == 0) {
        return None;
    }
    let (base, count) = parts(points);
    let prime = Prime::of(base);
    let mut all = words.chunks(base.components()).map(|own| prime.decode(own));
    let mut take = || all.by_ref().take(count / 2).collect();
    Some([take(), take()])
}

/// Appends the words of a point.
pub fn encode(points: DType, point: &Point, words: &mut Vec<i64>) {
    let prime = Prime::of(parts(points).0);
    match point {
        None => words.extend(std::iter::repeat_n(0, points.components())),
        Some(coordinates) => {
            for part in coordinates.iter().flatten() {
                prime.encode(part, words);
            }
        }
    }
}

/// Appends the canonical words of a point's coordinates.
pub fn canonical_words(points: DType, point: &Point, words: &mut Vec<i64>) {
    let count = primes::canonical_words(points);
    match point {
        None => words.extend(std::iter::repeat_n(0, count)),
        Some(coordinates) => {
            let each = primes::canonical_words(parts(points).0);
            for part in coordinates.iter().flatten() {
                words.extend(prime::to_words(part, 64, each));
            }
        }
    }
}

/// The point of canonical words.
#[must_use]
pub fn from_canonical(points: DType, words: &[i64]) -> Point {
    if words.iter().all(|&word| word == 0) {
        return None;
    }
    let (base, count) = parts(points);
    let number = |own: &[i64]| {
        let words: Vec<u64> = own.iter().map(|&word| word as u64).collect();
        prime::from_words(&words, 64)
    };
    let mut all = words.chunks(primes::canonical_words(base)).map(number);
    let mut take = || all.by_ref().take(count / 2).collect();
    Some([take(), take()])
}
