//! Points of the curves by schoolbook arithmetic on numbers of words: slow and simple, and it
//! shares no code with the kernels.

use cloakwork_ir::DType;
use std::cmp::Ordering;

/// A number below 2^384, the lowest word first.
pub type Number = [u64; 6];

pub const ZERO: Number = [0; 6];

pub fn number(hex: &str) -> Number {
    let mut value = ZERO;
    for (i, digit) in hex.bytes().rev().enumerate() {
        let digit = (digit as char).to_digit(16).unwrap();
        value[i / 16] |= u64::from(digit) << (i % 16 * 4);
    }
    value
}

fn less(a: &Number, b: &Number) -> bool {
    a.iter().rev().cmp(b.iter().rev()) == Ordering::Less
}

fn minus(a: &Number, b: &Number) -> Number {
    let mut borrow = false;
    std::array::from_fn(|i| {
        let (first, under) = a[i].overflowing_sub(b[i]);
        let (second, again) = first.overflowing_sub(u64::from(borrow));
        borrow = under || again;
        second
    })
}

fn plus(a: &Number, b: &Number) -> Number {
    let mut carry = 0;
    std::array::from_fn(|i| {
        let t = u128::from(a[i]) + u128::from(b[i]) + carry;
        carry = t >> 64;
        t as u64
    })
}

fn leading_zeros(a: &Number) -> usize {
    let words = a.iter().rev().take_while(|&&word| word == 0).count();
    64 * words
        + a.get(5 - words.min(5))
            .map_or(0, |word| word.leading_zeros() as usize % 64)
}

fn half(a: &Number) -> Number {
    std::array::from_fn(|i| a[i] >> 1 | a.get(i + 1).map_or(0, |above| above << 63))
}

/// Arithmetic modulo a prime below 2^383.
#[derive(Clone, Copy)]
pub struct Prime(pub Number);

impl Prime {
    pub fn add(&self, a: &Number, b: &Number) -> Number {
        let sum = plus(a, b);
        if less(&sum, &self.0) {
            sum
        } else {
            minus(&sum, &self.0)
        }
    }

    pub fn sub(&self, a: &Number, b: &Number) -> Number {
        self.add(a, &minus(&self.0, b))
    }

    pub fn mul(&self, a: &Number, b: &Number) -> Number {
        (0..384 - leading_zeros(b)).rev().fold(ZERO, |sum, bit| {
            let sum = self.add(&sum, &sum);
            if b[bit / 64] >> (bit % 64) & 1 == 1 {
                self.add(&sum, a)
            } else {
                sum
            }
        })
    }

    /// `1 / a` by the binary extended Euclidean algorithm; `a` is not 0.
    pub fn inverse(&self, a: &Number) -> Number {
        let one = number("1");
        let (mut u, mut v, mut x, mut y) = (*a, self.0, one, ZERO);
        while u != one && v != one {
            for (value, factor) in [(&mut u, &mut x), (&mut v, &mut y)] {
                while value[0] & 1 == 0 {
                    *value = half(value);
                    // p is odd, so adding it makes an odd number even.
                    *factor = half(&if factor[0] & 1 == 0 {
                        *factor
                    } else {
                        plus(factor, &self.0)
                    });
                }
            }
            if less(&u, &v) {
                (v, y) = (minus(&v, &u), self.sub(&y, &x));
            } else {
                (u, x) = (minus(&u, &v), self.sub(&x, &y));
            }
        }
        if u == one { x } else { y }
    }

    /// Montgomery form: times `2^bits`.
    pub fn shifted(&self, a: &Number, bits: usize) -> Number {
        (0..bits).fold(*a, |value, _| self.add(&value, &value))
    }

    /// A number of any words, reduced.
    pub fn reduce(&self, a: &Number) -> Number {
        self.mul(&number("1"), a)
    }
}

/// A coordinate: an element of the prime field, or the two parts of one over `u^2 = -1`.
pub type Coordinate = Vec<Number>;
/// A point, or infinity.
pub type Point = Option<[Coordinate; 2]>;

/// A group of points, as a dtype stores them.
pub struct PointGroup {
    pub points: DType,
    pub scalars: DType,
    pub base: Prime,
    pub order: Prime,
    pub generator: Point,
    words: usize,
    parts: usize,
}

impl PointGroup {
    /// The group of a dtype, from the table of groups.
    pub fn of(points: DType) -> Self {
        let DType::Point(group) = points else {
            panic!("{points} has no points");
        };
        let facts = group.facts();
        let curve = facts.curve.facts();
        let hex = |digits: &[&str]| digits.iter().map(|text| number(text)).collect();
        let [x, y] = facts.generator.map(hex);
        let prime = |words: &[u64]| {
            let digits: String = words
                .iter()
                .rev()
                .map(|word| format!("{word:016x}"))
                .collect();
            Prime(number(&digits))
        };
        Self {
            points,
            scalars: DType::Field(curve.scalar),
            base: prime(curve.base.facts().prime().modulus),
            order: prime(curve.scalar.facts().prime().modulus),
            generator: Some([x, y]),
            words: curve.base.facts().prime().modulus.len(),
            parts: facts.degree as usize,
        }
    }

    fn zip(a: &Coordinate, b: &Coordinate, f: impl Fn(&Number, &Number) -> Number) -> Coordinate {
        a.iter().zip(b).map(|(a, b)| f(a, b)).collect()
    }
    fn sub(&self, a: &Coordinate, b: &Coordinate) -> Coordinate {
        Self::zip(a, b, |a, b| self.base.sub(a, b))
    }
    fn plus(&self, a: &Coordinate, b: &Coordinate) -> Coordinate {
        Self::zip(a, b, |a, b| self.base.add(a, b))
    }
    fn mul(&self, a: &Coordinate, b: &Coordinate) -> Coordinate {
        let p = &self.base;
        match (&a[..], &b[..]) {
            ([a], [b]) => vec![p.mul(a, b)],
            ([a, c], [b, d]) => vec![
                p.sub(&p.mul(a, b), &p.mul(c, d)),
                p.add(&p.mul(a, d), &p.mul(c, b)),
            ],
            _ => unreachable!("one part or two"),
        }
    }
    fn inverse(&self, a: &Coordinate) -> Coordinate {
        let p = &self.base;
        match &a[..] {
            [a] => vec![p.inverse(a)],
            [a, b] => {
                let norm = p.inverse(&p.add(&p.mul(a, a), &p.mul(b, b)));
                vec![p.mul(a, &norm), p.sub(&ZERO, &p.mul(b, &norm))]
            }
            _ => unreachable!("one part or two"),
        }
    }

    pub fn negated(&self, a: &Point) -> Point {
        let zero = |y: &Coordinate| vec![ZERO; y.len()];
        a.as_ref().map(|[x, y]| [x.clone(), self.sub(&zero(y), y)])
    }

    pub fn add(&self, a: &Point, b: &Point) -> Point {
        let (Some([x1, y1]), Some([x2, y2])) = (a, b) else {
            return a.clone().or_else(|| b.clone());
        };
        let slope = if x1 != x2 {
            self.mul(&self.sub(y2, y1), &self.inverse(&self.sub(x2, x1)))
        } else if y1 == y2 {
            let square = self.mul(x1, x1);
            let thrice = self.plus(&self.plus(&square, &square), &square);
            self.mul(&thrice, &self.inverse(&self.plus(y1, y1)))
        } else {
            return None;
        };
        let x = self.sub(&self.sub(&self.mul(&slope, &slope), x1), x2);
        let y = self.sub(&self.mul(&slope, &self.sub(x1, &x)), y1);
        Some([x, y])
    }

    pub fn times(&self, scalar: &Number, a: &Point) -> Point {
        (0..384 - leading_zeros(scalar))
            .rev()
            .fold(None, |sum: Point, bit| {
                let sum = self.add(&sum, &sum);
                if scalar[bit / 64] >> (bit % 64) & 1 == 1 {
                    self.add(&sum, a)
                } else {
                    sum
                }
            })
    }

    /// The bytes of a point in memory.
    pub fn bytes(&self, point: &Point) -> Vec<u8> {
        let parts = self.parts;
        let none = || [vec![ZERO; parts], vec![ZERO; parts]];
        let coordinates = point.clone().unwrap_or_else(none);
        let numbers = coordinates.iter().flatten();
        let form = numbers.map(|part| self.base.shifted(part, 64 * self.words));
        form.flat_map(|part| bytes_of(&part[..self.words]))
            .collect()
    }

    /// The bytes of a scalar in memory.
    pub fn scalar_bytes(&self, scalar: &Number) -> Vec<u8> {
        bytes_of(&self.order.shifted(scalar, 256)[..4])
    }
}

fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
