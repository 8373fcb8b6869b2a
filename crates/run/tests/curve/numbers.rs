//! Points of the curves by schoolbook arithmetic on numbers of words: slow, obvious, and nothing
//! that kernels share.

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
                    // p is odd: a multiple of 2 comes by adding it.
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

    /// Any words, reduced.
    pub fn reduce(&self, a: &Number) -> Number {
        self.mul(&number("1"), a)
    }
}

/// A coordinate: an element of the prime field, or its two parts with `u^2 = -1`.
pub type Coordinate = Vec<Number>;
/// A point, or infinity.
pub type Point = Option<[Coordinate; 2]>;

/// A group of points, as a dtype has them.
pub struct Group {
    pub points: DType,
    pub scalars: DType,
    pub base: Prime,
    pub order: Prime,
    pub generator: Point,
    words: usize,
}

impl Group {
    /// The generators are those of EIP-197 and of the IETF's pairing-friendly-curves draft.
    pub fn of(points: DType) -> Self {
        let hex = |texts: &[&str]| texts.iter().map(|text| number(text)).collect();
        let (x, y): (Coordinate, Coordinate) = match points {
            DType::Bn254G1 => (hex(&["1"]), hex(&["2"])),
            DType::Bn254G2 => (
                hex(&[
                    "1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed",
                    "198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2",
                ]),
                hex(&[
                    "12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa",
                    "090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b",
                ]),
            ),
            DType::Bls381G1 => (
                hex(&[
                    "17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac58\
                       6c55e83ff97a1aeffb3af00adb22c6bb",
                ]),
                hex(&[
                    "08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3ed\
                       d03cc744a2888ae40caa232946c5e7e1",
                ]),
            ),
            _ => (
                hex(&[
                    "024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d177\
                     0bac0326a805bbefd48056c8c121bdb8",
                    "13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049\
                     334cf11213945d57e5ac7d055d042b7e",
                ]),
                hex(&[
                    "0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c\
                     923ac9cc3baca289e193548608b82801",
                    "0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab\
                     3f370d275cec1da1aaa9075ff05f79be",
                ]),
            ),
        };
        let bn254 = matches!(points, DType::Bn254G1 | DType::Bn254G2);
        let (base, order) = if bn254 {
            (
                "30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47",
                "30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001",
            )
        } else {
            (
                "1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffff\
                 b9feffffffffaaab",
                "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001",
            )
        };
        Self {
            points,
            scalars: if bn254 {
                DType::Bn254Fr
            } else {
                DType::Bls381Fr
            },
            base: Prime(number(base)),
            order: Prime(number(order)),
            generator: Some([x, y]),
            words: if bn254 { 4 } else { 6 },
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

    /// A point as memory has it.
    pub fn bytes(&self, point: &Point) -> Vec<u8> {
        let parts = if matches!(self.points, DType::Bn254G2 | DType::Bls381G2) {
            2
        } else {
            1
        };
        let none = || [vec![ZERO; parts], vec![ZERO; parts]];
        let coordinates = point.clone().unwrap_or_else(none);
        let numbers = coordinates.iter().flatten();
        let form = numbers.map(|part| self.base.shifted(part, 64 * self.words));
        form.flat_map(|part| bytes_of(&part[..self.words]))
            .collect()
    }

    /// A scalar as memory has it.
    pub fn scalar_bytes(&self, scalar: &Number) -> Vec<u8> {
        bytes_of(&self.order.shifted(scalar, 256)[..4])
    }
}

fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
