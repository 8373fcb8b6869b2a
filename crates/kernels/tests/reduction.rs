//! Reductions against sums in f64 and i128, element by element.
#![allow(clippy::unwrap_used, clippy::panic, clippy::float_cmp)]

use crate::common::direct::{Launch, Tensor, Value, indices};
use crate::common::random::{INJECTIVE, LAYOUTS, Random};
use cloakwork_csrc as _;
use cloakwork_ir::{DType, NUMBER_DTYPES};

/// Dims, and how many of the last are reduced.
const SHAPES: [(&[i64], usize); 14] = [
    (&[], 0),
    (&[1], 1),
    (&[5], 0),
    (&[37], 1),
    (&[700], 1),
    (&[9000], 1),
    (&[3, 40], 1),
    (&[40, 3], 1),
    (&[4, 5, 6], 2),
    (&[300, 20], 1),
    (&[20, 300], 1),
    (&[2, 3, 40, 50], 2),
    (&[3, 10, 90], 1),
    (&[600, 70], 1),
];

fn total_of(dtype: DType) -> DType {
    match dtype {
        DType::Bool | DType::I8 | DType::I16 | DType::I32 => DType::I64,
        DType::U8 | DType::U16 | DType::U32 => DType::U64,
        same => same,
    }
}

fn is_real(dtype: DType) -> bool {
    dtype != DType::Bool && !dtype.is_complex()
}

/// Numbers whose sums are exact in binary32, extreme ones among the integers.
fn plain(dtype: DType, random: &mut Random) -> Value {
    let small = random.below(17) - 8;
    let sparse = if random.below(3) == 0 { small } else { 0 };
    match dtype {
        DType::Bool => Value::Int(i128::from(random.below(2))),
        DType::F32 | DType::F64 => Value::Real(sparse as f64),
        DType::C64 | DType::C128 => Value::Complex(sparse as f64, (random.below(3) - 1) as f64),
        _ => {
            let mut bytes = vec![];
            let wild = [i128::from(sparse), -1, 1 << 63, (1 << 63) - 1, 127, 128];
            let choice = if random.below(4) == 0 {
                random.below(6) as usize
            } else {
                0
            };
            Value::Int(wild[choice]).write(dtype, &mut bytes);
            Value::read(dtype, &bytes)
        }
    }
}

/// The element as its result type has it, wrapped if it is an integer.
fn wrapped(value: Value, dtype: DType) -> Value {
    let mut bytes = vec![];
    value.write(dtype, &mut bytes);
    Value::read(dtype, &bytes)
}

fn add(a: Value, b: Value) -> Value {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Value::Int(a + b),
        (Value::Real(a), Value::Real(b)) => Value::Real(a + b),
        (Value::Complex(a, b), Value::Complex(c, d)) => Value::Complex(a + c, b + d),
        other => panic!("{other:?}"),
    }
}

fn multiply(a: Value, b: Value) -> Value {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Value::Int(i128::from((a as i64).wrapping_mul(b as i64))),
        (Value::Real(a), Value::Real(b)) => Value::Real(a * b),
        (Value::Complex(a, b), Value::Complex(c, d)) => {
            Value::Complex(a * c - b * d, a * d + b * c)
        }
        other => panic!("{other:?}"),
    }
}

fn number(value: i64, dtype: DType) -> Value {
    match dtype {
        DType::F32 | DType::F64 => Value::Real(value as f64),
        DType::C64 | DType::C128 => Value::Complex(value as f64, 0.0),
        _ => Value::Int(i128::from(value)),
    }
}

fn is_less(a: Value, b: Value) -> bool {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a < b,
        (Value::Real(a), Value::Real(b)) => a < b,
        other => panic!("{other:?}"),
    }
}

/// Place of the first best value; one that is not a number is best.
fn first_extreme(values: &[Value], greatest: bool) -> usize {
    let mut best = 0;
    for (i, &value) in values.iter().enumerate() {
        let old = values[best];
        let better = if greatest {
            is_less(old, value)
        } else {
            is_less(value, old)
        };
        if better || (value.is_nan() && !old.is_nan()) {
            best = i;
        }
    }
    best
}

/// Runs a reduction in every layout and compares each result with the oracle's.
fn check(
    (kernel, dtype, out_dtype): (&str, DType, DType),
    random: &mut Random,
    draw: &mut dyn FnMut(&mut Random) -> Value,
    oracle: &dyn Fn(&[Value]) -> Value,
) {
    for (dims, reduced) in SHAPES {
        if kernel.starts_with("arg") && reduced != 1 {
            continue;
        }
        let kept = dims.len() - reduced;
        // Large shapes in one layout of chance: there are many calls.
        let large = dims.iter().product::<i64>() > 3000;
        let chance = random.below(7) as usize;
        for (_, layout) in LAYOUTS
            .into_iter()
            .enumerate()
            .filter(|(i, _)| !large || *i == chance)
        {
            let out_layout = INJECTIVE[random.below(4) as usize];
            let mut blank = |_: &mut Random| number(1, out_dtype);
            let out = Tensor::lying((out_dtype, out_layout), (dims, kept), random, &mut blank);
            let a = Tensor::lying((dtype, layout), (dims, dims.len()), random, draw);
            let params = [reduced as i64];
            let operands = [out, a];
            let launch = Launch {
                kernel,
                dims,
                split: kept,
                params: &params,
                operands: &operands,
            };
            let got = launch.run();
            let [mut out, a] = operands;
            for unit in indices(&dims[..kept]) {
                let own: Vec<Value> = indices(&dims[kept..])
                    .iter()
                    .map(|rest| a.at(&[&unit[..], rest].concat()))
                    .collect();
                let place = [unit, vec![0; reduced]].concat();
                let (found, expected) = (got.at(&place), wrapped(oracle(&own), out_dtype));
                let same = found == expected || found.is_nan() && expected.is_nan();
                let what = (kernel, dtype, dims, layout, &a.strides);
                assert!(
                    same,
                    "{what:?}: {found:?} at {place:?}, expected {expected:?}"
                );
                out.set(&place, found);
            }
            assert_eq!(got.bytes, out.bytes, "{kernel} wrote beside its results");
        }
    }
}

/// Factors whose products stay exact.
fn factor(dtype: DType, random: &mut Random) -> Value {
    match plain(dtype, random) {
        Value::Real(_) => Value::Real([1.0, -1.0, 2.0, 0.5][random.below(4) as usize]),
        Value::Complex(..) => {
            let units = [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)];
            let (re, im) = units[random.below(4) as usize];
            Value::Complex(re, im)
        }
        Value::Int(0) => Value::Int(if dtype == DType::Bool { 0 } else { 3 }),
        other => other,
    }
}

#[test]
fn sums_and_products_wrap_as_integers_and_are_exact_where_floats_can_be() {
    let mut random = Random(70);
    for dtype in NUMBER_DTYPES {
        let total = total_of(dtype);
        check(
            ("sum", dtype, total),
            &mut random,
            &mut |r| plain(dtype, r),
            &|own| own.iter().fold(number(0, total), |a, &b| add(a, b)),
        );
        check(
            ("prod", dtype, total),
            &mut random,
            &mut |r| factor(dtype, r),
            &|own| own.iter().fold(number(1, total), |a, &b| multiply(a, b)),
        );
    }
}

/// Now and then not a number, an infinity, or a zero with a sign.
fn with_specials(dtype: DType, random: &mut Random) -> Value {
    let value = plain(dtype, random);
    let specials = [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0];
    match (value, random.below(300)) {
        (Value::Real(_), choice) if choice < 5 => Value::Real(specials[choice as usize]),
        _ => value,
    }
}

#[test]
fn extremes_let_what_is_not_a_number_win_and_their_index_is_the_first() {
    let mut random = Random(71);
    for dtype in NUMBER_DTYPES.into_iter().filter(|&dtype| is_real(dtype)) {
        for (kernel, index, greatest) in [("min", "argmin", false), ("max", "argmax", true)] {
            let mut draw = |r: &mut Random| with_specials(dtype, r);
            check((kernel, dtype, dtype), &mut random, &mut draw, &|own| {
                own[first_extreme(own, greatest)]
            });
            check((index, dtype, DType::I64), &mut random, &mut draw, &|own| {
                number(first_extreme(own, greatest) as i64, DType::I64)
            });
        }
    }
}

#[test]
fn truth_is_not_being_zero_and_what_is_not_a_number_is_true() {
    let mut random = Random(72);
    for dtype in NUMBER_DTYPES {
        // Almost no, about half and almost all elements are true.
        for share in [1, 150, 299] {
            let mut draw = |r: &mut Random| match (with_specials(dtype, r), r.below(300) < share) {
                (Value::Real(value), true) if value != 0.0 => Value::Real(value),
                (Value::Complex(..), true) => Value::Complex(0.0, 1.0),
                (_, truth) => number(i64::from(truth), dtype),
            };
            let types = |out| (dtype, out);
            let (a, b) = types(DType::Bool);
            check(("any", a, b), &mut random, &mut draw, &|own| {
                number(i64::from(own.iter().any(|v| v.is_true())), b)
            });
            check(("all", a, b), &mut random, &mut draw, &|own| {
                number(i64::from(own.iter().all(|v| v.is_true())), b)
            });
            check(
                ("count_nonzero", a, DType::I64),
                &mut random,
                &mut draw,
                &|own| {
                    number(
                        own.iter().filter(|v| v.is_true()).count() as i64,
                        DType::I64,
                    )
                },
            );
        }
    }
}

/// The tree of docs/kernels.md for binary32 along a reduction.
fn tree(values: &[f32]) -> f32 {
    let block = |own: &[f32]| {
        let mut lanes = [0.0f32; 32];
        for (i, value) in own.iter().enumerate() {
            lanes[i % 32] += value;
        }
        lanes
    };
    let mut level: Vec<(u32, [f32; 32])> = vec![];
    let join = |a: [f32; 32], b: [f32; 32]| std::array::from_fn(|i| a[i] + b[i]);
    for own in values.chunks(512) {
        let mut next = (0, block(own));
        while level.last().is_some_and(|last| last.0 == next.0) {
            let (height, left) = level.pop().unwrap();
            next = (height + 1, join(left, next.1));
        }
        level.push(next);
    }
    let (_, mut lanes) = level.pop().unwrap();
    while let Some((_, left)) = level.pop() {
        lanes = join(left, lanes);
    }
    for width in [16, 8, 4, 2, 1] {
        for i in 0..width {
            lanes[i] += lanes[i + width];
        }
    }
    lanes[0]
}

fn wild_floats(count: usize, random: &mut Random) -> Vec<f32> {
    let one =
        |r: &mut Random| (r.below(1 << 24) - (1 << 23)) as f32 * 2f32.powi(r.below(20) as i32);
    (0..count).map(|_| one(random)).collect()
}

#[test]
fn a_sum_follows_its_tree_whatever_lies_between_its_elements() {
    let mut random = Random(73);
    for count in [1, 31, 32, 33, 512, 513, 5000, 512 * 7 + 100, 70_000] {
        let values = wild_floats(count as usize, &mut random);
        for gap in [1i64, 3, -1] {
            let spread = |i: usize| {
                if gap < 0 {
                    values.len() - 1 - i
                } else {
                    i / gap as usize
                }
            };
            let room = values.len() * gap.unsigned_abs() as usize;
            let spread = (0..room).map(|i| Value::Real(f64::from(values[spread(i)])));
            let mut a = Tensor::dense(DType::F32, &[count], spread);
            a.strides = vec![gap];
            a.offset = if gap < 0 { values.len() - 1 } else { 0 };
            let mut out = Tensor::dense(DType::F32, &[1], [Value::Real(0.0)]);
            out.strides = vec![0];
            let (dims, operands) = ([count], [out, a]);
            let launch = Launch {
                kernel: "sum",
                dims: &dims,
                split: 0,
                params: &[1],
                operands: &operands,
            };
            let expected = Value::Real(f64::from(tree(&values)));
            assert_eq!(
                launch.run().at(&[0]),
                expected,
                "{count} elements {gap} apart"
            );
        }
    }
}

#[test]
fn sums_are_as_accurate_as_a_tree_makes_them_in_every_geometry() {
    let mut random = Random(74);
    for (dims, kept) in [(&[3, 30_000], 1), (&[30_000, 30], 1), (&[7, 5], 1)] {
        for transposed in [false, true] {
            let count = dims.iter().product::<i64>() as usize;
            let values = wild_floats(count, &mut random);
            let reals = values.iter().map(|&value| Value::Real(f64::from(value)));
            let mut a = Tensor::dense(DType::F32, dims, reals);
            if transposed {
                a.strides = vec![1, dims[0]];
            }
            let mut out = Tensor::dense(DType::F32, &dims[..kept], vec![Value::Real(0.0); count]);
            out.strides.push(0);
            let operands = [out, a];
            let launch = Launch {
                kernel: "sum",
                dims,
                split: kept,
                params: &[1],
                operands: &operands,
            };
            let got = launch.run();
            for unit in 0..dims[0] {
                let own = (0..dims[1]).map(|i| match operands[1].at(&[unit, i]) {
                    Value::Real(value) => value,
                    other => panic!("{other:?}"),
                });
                let (exact, size) = own.fold((0.0, 0.0), |(a, b), v| (a + v, b + v.abs()));
                let Value::Real(found) = got.at(&[unit, 0]) else {
                    panic!()
                };
                let error = (found - exact).abs();
                let bound = 40.0 * f64::from(f32::EPSILON) / 2.0 * size;
                assert!(error <= bound, "{found} instead of {exact} in {dims:?}");
            }
        }
    }
}

#[test]
fn a_reduction_of_nothing_is_the_identity() {
    for (kernel, dtype, expected) in [
        ("sum", DType::F32, Value::Real(0.0)),
        ("sum", DType::C128, Value::Complex(0.0, 0.0)),
        ("prod", DType::F64, Value::Real(1.0)),
        ("prod", DType::C64, Value::Complex(1.0, 0.0)),
        ("prod", DType::U8, Value::Int(1)),
        ("any", DType::I16, Value::Int(0)),
        ("all", DType::C64, Value::Int(1)),
        ("count_nonzero", DType::Bool, Value::Int(0)),
    ] {
        let out_dtype = match kernel {
            "any" | "all" => DType::Bool,
            "count_nonzero" => DType::I64,
            _ => total_of(dtype),
        };
        for dims in [[20, 0], [1, 0]] {
            let mut out = Tensor::dense(out_dtype, &dims[..1], vec![number(7, out_dtype); 20]);
            out.strides.push(0);
            let a = Tensor::dense(dtype, &dims, []);
            let operands = [out, a];
            let launch = Launch {
                kernel,
                dims: &dims,
                split: 1,
                params: &[1],
                operands: &operands,
            };
            let got = launch.run();
            for unit in 0..dims[0] {
                assert_eq!(got.at(&[unit, 0]), expected, "{kernel} of {dtype}");
            }
        }
    }
}

#[test]
fn cumulative_sums_and_products_go_from_one_element_to_the_next() {
    let mut random = Random(75);
    for dtype in NUMBER_DTYPES {
        let total = total_of(dtype);
        for (kernel, is_sum) in [("cumulative_sum", true), ("cumulative_prod", false)] {
            for dims in [
                &[1i64][..],
                &[400],
                &[5, 60],
                &[60, 5],
                &[4, 30, 20],
                &[3, 300, 2],
            ] {
                let layout = LAYOUTS[random.below(7) as usize];
                let out_layout = INJECTIVE[random.below(4) as usize];
                let whole = (dims, dims.len());
                let mut draw = |r: &mut Random| {
                    if is_sum {
                        plain(dtype, r)
                    } else {
                        factor(dtype, r)
                    }
                };
                let a = Tensor::lying((dtype, layout), whole, &mut random, &mut draw);
                let mut blank = |_: &mut Random| number(1, total);
                let out = Tensor::lying((total, out_layout), whole, &mut random, &mut blank);
                let operands = [out, a];
                let split = dims.len() - 1;
                let launch = Launch {
                    kernel,
                    dims,
                    split,
                    params: &[1],
                    operands: &operands,
                };
                let got = launch.run();
                let [mut out, a] = operands;
                for unit in indices(&dims[..split]) {
                    let mut running = number(i64::from(!is_sum), total);
                    for at in 0..dims[split] {
                        let place = [&unit[..], &[at]].concat();
                        let own = a.at(&place);
                        running = if is_sum {
                            add(running, own)
                        } else {
                            multiply(running, own)
                        };
                        running = wrapped(running, total);
                        assert_eq!(
                            got.at(&place),
                            running,
                            "{kernel} {dtype} {dims:?} {layout:?}"
                        );
                        out.set(&place, got.at(&place));
                    }
                }
                assert_eq!(got.bytes, out.bytes, "{kernel} wrote beside its results");
            }
        }
    }
}
