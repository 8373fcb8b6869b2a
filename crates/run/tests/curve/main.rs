//! Multi-scalar multiplication against schoolbook arithmetic: every group, instruction set and
//! number of threads; equal, opposite and infinite points; scalars of every kind.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod numbers;

use cloakwork_csrc as _;
use cloakwork_ir::{DType, Field, Group, HostTensor, POINT_DTYPES, Shape};
use cloakwork_kernels::available_isas;
use cloakwork_ops::{Code, find};
use cloakwork_run::eager::{EagerArg, EagerError, Tensor, call};
use numbers::{Number, Point, PointGroup, Prime, ZERO, number};

/// Number of distinct multiples of the generator from which bases are taken.
const DISTINCT: usize = 40;

fn tensor(dtype: DType, dims: &[u64], bytes: Vec<u8>) -> EagerArg {
    let host = HostTensor::from_vec(dtype, Shape::new(dims).unwrap(), bytes).unwrap();
    EagerArg::Tensor(Tensor::from_host(&host, cloakwork_kernels::best_isa()).unwrap())
}

/// A generator of words: splitmix64.
struct Random(u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, bound: u64) -> u64 {
        self.word() % bound
    }
    fn scalar(&mut self, order: &Prime) -> Number {
        let [a, b, c, d] = std::array::from_fn(|_| self.word());
        order.reduce(&[a, b, c, d, 0, 0])
    }
}

/// How scalars of a row are drawn.
#[derive(Clone, Copy)]
enum Kind {
    /// Uniform below the order.
    Full,
    /// Mostly zeros and ones.
    Bits,
    /// The same scalar everywhere.
    Same,
    /// 1, the order minus 1, and powers of two with their neighbours.
    Edges,
}
const KINDS: [Kind; 4] = [Kind::Full, Kind::Bits, Kind::Same, Kind::Edges];

/// Bases, and the multiple of the generator that each one is.
struct Bases {
    group: PointGroup,
    distinct: Vec<Point>,
    /// Index of a multiple, and whether it is negated; `None` is infinity.
    chosen: Vec<(Option<usize>, bool)>,
}

impl Bases {
    fn new(points: DType, count: usize, random: &mut Random) -> Self {
        let group = PointGroup::of(points);
        let mut distinct = vec![group.generator.clone()];
        for i in 1..DISTINCT {
            let next = group.add(&distinct[i - 1], &group.generator);
            distinct.push(next);
        }
        let chosen = (0..count).map(|i| match random.below(16) {
            0 => (None, false),
            1 => (Some(0), random.below(2) == 0),
            _ => (Some(i % DISTINCT), random.below(4) == 0),
        });
        let chosen = chosen.collect();
        Self {
            group,
            distinct,
            chosen,
        }
    }

    fn tensor(&self) -> EagerArg {
        let of = |negated| {
            let point = |point: &Point| {
                self.group.bytes(&if negated {
                    self.group.negated(point)
                } else {
                    point.clone()
                })
            };
            self.distinct.iter().map(point).collect::<Vec<_>>()
        };
        let (plain, negated) = (of(false), of(true));
        let infinite = self.group.bytes(&None);
        let bytes = self.chosen.iter().flat_map(|&(index, sign)| match index {
            None => infinite.clone(),
            Some(index) => if sign { &negated[index] } else { &plain[index] }.clone(),
        });
        tensor(
            self.group.points,
            &[self.chosen.len() as u64],
            bytes.collect(),
        )
    }

    fn scalars(&self, kind: Kind, random: &mut Random) -> Vec<Number> {
        let order = &self.group.order;
        let same = random.scalar(order);
        let draw = |_: &_| match (kind, random.below(16)) {
            (Kind::Same, _) => same,
            (Kind::Full, _) | (Kind::Bits, 0) => random.scalar(order),
            (Kind::Bits, choice) => [choice % 2, 0, 0, 0, 0, 0],
            (Kind::Edges, 0) => number("1"),
            (Kind::Edges, 1) => order.sub(&ZERO, &number("1")),
            (Kind::Edges, choice) => {
                let power = order.shifted(&number("1"), random.below(254) as usize);
                if choice < 9 {
                    order.sub(&power, &number("1"))
                } else {
                    power
                }
            }
        };
        self.chosen.iter().map(draw).collect()
    }

    /// The sum, computed as one multiple of the generator.
    fn sum(&self, scalars: &[Number]) -> Point {
        let order = &self.group.order;
        let mut of_each = vec![ZERO; DISTINCT];
        for (&(index, negated), scalar) in self.chosen.iter().zip(scalars) {
            let Some(index) = index else { continue };
            let scalar = if negated {
                order.sub(&ZERO, scalar)
            } else {
                *scalar
            };
            of_each[index] = order.add(&of_each[index], &scalar);
        }
        let terms = of_each.iter().enumerate();
        let total = terms.fold(ZERO, |sum, (i, scalar)| {
            order.add(&sum, &order.mul(scalar, &[i as u64 + 1, 0, 0, 0, 0, 0]))
        });
        self.group.times(&total, &self.group.generator)
    }
}

fn run(scalars: &EagerArg, bases: &EagerArg, expected: &[u8], dims: &[u64], what: &str) {
    for isa in available_isas() {
        for threads in 1..=3 {
            let args = vec![scalars.clone(), bases.clone()];
            let result = call(find("msm").unwrap(), args, threads, isa).unwrap();
            let host = result.to_host().unwrap();
            assert_eq!(host.view().shape.dims(), dims);
            let got: Vec<u8> = host
                .words()
                .iter()
                .flat_map(|word| word.to_le_bytes())
                .collect();
            assert!(got == expected, "{what}, {isa:?}, {threads} threads");
        }
    }
}

/// A row of each kind of scalars.
fn check(points: DType, count: usize) {
    let mut random = Random(count as u64);
    let bases = Bases::new(points, count, &mut random);
    let rows: Vec<Vec<Number>> = KINDS
        .iter()
        .map(|&kind| bases.scalars(kind, &mut random))
        .collect();
    let bytes = |rows: &[Vec<Number>]| -> Vec<u8> {
        let all = rows.iter().flatten();
        all.flat_map(|scalar| bases.group.scalar_bytes(scalar))
            .collect()
    };
    let sums: Vec<Vec<u8>> = rows
        .iter()
        .map(|row| bases.group.bytes(&bases.sum(row)))
        .collect();
    let (tensor_of, what) = (bases.tensor(), format!("{points} of {count}"));
    let dims = [rows.len() as u64, count as u64];
    let batch = tensor(bases.group.scalars, &dims, bytes(&rows));
    run(&batch, &tensor_of, &sums.concat(), &dims[..1], &what);
    // A single row, and the batch as columns of another tensor.
    let alone = tensor(bases.group.scalars, &dims[1..], bytes(&rows[..1]));
    run(&alone, &tensor_of, &sums[0], &[], &what);
    let columns: Vec<Vec<Number>> = (0..count)
        .map(|i| rows.iter().map(|row| row[i]).collect())
        .collect();
    let turned = [dims[1], dims[0]];
    let columns = tensor(bases.group.scalars, &turned, bytes(&columns));
    let args = vec![columns, EagerArg::Int(0), EagerArg::Int(1)];
    let view = call(find("moveaxis").unwrap(), args, 1, available_isas()[0]).unwrap();
    run(
        &EagerArg::Tensor(view),
        &tensor_of,
        &sums.concat(),
        &dims[..1],
        &what,
    );
}

#[test]
fn sums_of_few_points_are_those_of_schoolbook_arithmetic() {
    for points in POINT_DTYPES {
        for count in [1, 3, 20] {
            check(points, count);
        }
    }
}

#[test]
fn sums_of_many_points_are_those_of_schoolbook_arithmetic() {
    for points in POINT_DTYPES {
        check(points, 200);
    }
    check(DType::Point(Group::BN254_G1), 9_000);
}

#[test]
fn multiples_of_each_point_and_of_one_point() {
    for points in POINT_DTYPES {
        let group = PointGroup::of(points);
        let mut random = Random(7);
        let order = &group.order;
        let numbers: Vec<Number> = (0..600_u64)
            .map(|i| match i % 4 {
                0 => [i / 4, 0, 0, 0, 0, 0],
                1 => order.sub(&ZERO, &[i / 4, 0, 0, 0, 0, 0]),
                _ => random.scalar(order),
            })
            .collect();
        let all: Vec<u8> = numbers.iter().flat_map(|n| group.scalar_bytes(n)).collect();
        // Multiples of one point, enough for a table; a few are computed with schoolbook
        // arithmetic.
        let scalars = tensor(group.scalars, &[600], all.clone());
        let one = tensor(points, &[1], group.bytes(&group.generator));
        let results = multiples(&scalars, &one);
        for i in [0, 1, 4, 5, 8, 599] {
            let expected = group.bytes(&group.times(&numbers[i], &group.generator));
            assert!(results[i] == expected, "{points}: multiple {i}");
        }
        // Single calls give the same; a multiple of infinity is infinity.
        for i in 0..10 {
            let scalar = group.scalar_bytes(&numbers[i]);
            let got = multiples(&tensor(group.scalars, &[1], scalar), &one);
            assert!(got[0] == results[i], "{points}: multiple {i} alone");
        }
        let none = tensor(points, &[], group.bytes(&None));
        for scalars in [scalars, tensor(group.scalars, &[9], all[..288].to_vec())] {
            assert!(
                multiples(&scalars, &none)
                    .iter()
                    .all(|p| *p == group.bytes(&None))
            );
        }
    }
}

/// `curve_mul`, with equal results for every instruction set and number of threads; returns the
/// bytes of each point.
fn multiples(scalars: &EagerArg, points: &EagerArg) -> Vec<Vec<u8>> {
    let mut results: Option<Vec<Vec<u8>>> = None;
    for isa in available_isas() {
        for threads in 1..=3 {
            let args = vec![scalars.clone(), points.clone()];
            let result = call(find("curve_mul").unwrap(), args, threads, isa).unwrap();
            let host = result.to_host().unwrap();
            let bytes: Vec<u8> = host
                .words()
                .iter()
                .flat_map(|word| word.to_le_bytes())
                .collect();
            let size = host.dtype().size_bytes();
            let got: Vec<Vec<u8>> = bytes.chunks(size).map(<[u8]>::to_vec).collect();
            let first = results.get_or_insert_with(|| got.clone());
            assert!(*first == got, "{isa:?}, {threads} threads");
        }
    }
    results.unwrap()
}

#[test]
fn points_that_are_the_same_are_equal() {
    for points in POINT_DTYPES {
        let group = PointGroup::of(points);
        let (one, two) = (
            &group.generator,
            &group.add(&group.generator, &group.generator),
        );
        let bytes = |all: [&Point; 3]| all.iter().flat_map(|p| group.bytes(p)).collect();
        let a = tensor(points, &[3], bytes([one, two, &None]));
        let b = tensor(points, &[3], bytes([one, &group.negated(two), &None]));
        for (op, expected) in [("equal", [1, 0, 1]), ("not_equal", [0, 1, 0])] {
            let args = vec![a.clone(), b.clone()];
            let result = call(find(op).unwrap(), args, 1, available_isas()[0]).unwrap();
            assert_eq!(result.to_host().unwrap().words(), expected);
        }
    }
}

#[test]
fn a_sum_of_nothing_is_the_point_at_infinity() {
    for points in POINT_DTYPES {
        let group = PointGroup::of(points);
        let scalars = tensor(group.scalars, &[2, 0], Vec::new());
        let bases = tensor(points, &[0], Vec::new());
        run(
            &scalars,
            &bases,
            &group.bytes(&None).repeat(2),
            &[2],
            "nothing",
        );
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let group = PointGroup::of(DType::Point(Group::BN254_G1));
    let scalars = |dtype, count: u64| tensor(dtype, &[count], vec![0; 32 * count as usize]);
    let bases = tensor(group.points, &[3], vec![0; 192]);
    for (scalars, code) in [
        (scalars(DType::Field(Field::BN254_FR), 4), Code::Shape),
        (scalars(DType::Field(Field::BLS12_381_FR), 3), Code::Dtype),
        (scalars(DType::Field(Field::BN254_FQ), 3), Code::Dtype),
    ] {
        let error = call(
            find("msm").unwrap(),
            vec![scalars, bases.clone()],
            1,
            available_isas()[0],
        );
        match error.map(|_| ()) {
            Err(EagerError::Call { error, .. }) => assert_eq!(error.code, code),
            other => panic!("{other:?}"),
        }
    }
}
