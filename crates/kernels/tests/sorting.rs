//! Sorting and searching against the standard library's stable sort and plain loops.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::direct::{Launch, Tensor, Value, indices};
use crate::common::random::{INJECTIVE, LAYOUTS, Layout, Random};
use cloakwork_csrc as _;
use cloakwork_ir::{DType, NUMBER_DTYPES};
use std::cmp::Ordering;

const SHAPES: [&[i64]; 9] = [
    &[0],
    &[1],
    &[47],
    &[48],
    &[49],
    &[3000],
    &[30, 7],
    &[4, 130],
    &[5, 3, 70],
];

fn sortable() -> impl Iterator<Item = DType> {
    NUMBER_DTYPES
        .into_iter()
        .filter(|dtype| !dtype.is_complex())
}

/// Elements of all magnitudes, many of them equal, with every special one.
fn draw(dtype: DType, random: &mut Random) -> Value {
    let specials = [
        f64::NAN,
        -f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.0,
        -0.0,
    ];
    let near = random.below(9) - 4;
    let word = match random.below(3) {
        0 => random.word() as i64,
        1 => 1 << random.below(63),
        _ => near,
    };
    match dtype {
        DType::Bool => Value::Int(i128::from(random.below(2))),
        DType::F32 | DType::F64 => match random.below(4) {
            0 => Value::Real(specials[random.below(6) as usize]),
            1 => Value::Real(f64::from(near as f32)),
            _ => Value::Real(f64::from(word as f32 * 1e-9)),
        },
        _ => {
            let mut bytes = vec![];
            Value::Int(i128::from(word)).write(dtype, &mut bytes);
            Value::read(dtype, &bytes)
        }
    }
}

/// Numbers in order, equal zeros, and what is not a number last in both directions.
fn order(a: Value, b: Value, descending: bool) -> Ordering {
    let numbers = match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(&b),
        (Value::Real(a), Value::Real(b)) if a.is_nan() || b.is_nan() => {
            return a.is_nan().cmp(&b.is_nan());
        }
        (Value::Real(a), Value::Real(b)) => a.partial_cmp(&b).unwrap(),
        other => panic!("{other:?}"),
    };
    if descending {
        numbers.reverse()
    } else {
        numbers
    }
}

fn bits(value: Value, dtype: DType) -> Vec<u8> {
    let mut bytes = vec![];
    value.write(dtype, &mut bytes);
    bytes
}

fn int(value: i64) -> Value {
    Value::Int(i128::from(value))
}

fn blank(dtype: DType) -> Value {
    if matches!(dtype, DType::F32 | DType::F64) {
        Value::Real(1.0)
    } else {
        Value::Int(1)
    }
}

#[test]
fn lines_are_sorted_stably_in_both_directions() {
    let mut random = Random(80);
    for dtype in sortable() {
        for dims in SHAPES {
            for (layout, descending) in LAYOUTS.into_iter().flat_map(|l| [(l, false), (l, true)]) {
                let whole = (dims, dims.len());
                let a = Tensor::lying((dtype, layout), whole, &mut random, &mut |r| draw(dtype, r));
                let out_layout = INJECTIVE[random.below(4) as usize];
                for kernel in ["sort", "argsort"] {
                    let to = if kernel == "sort" { dtype } else { DType::I64 };
                    let types = (to, out_layout);
                    let out = Tensor::lying(types, whole, &mut random, &mut |_| blank(to));
                    check_sorted(kernel, dims, descending, [out, a.clone()]);
                }
            }
        }
    }
}

fn check_sorted(kernel: &str, dims: &[i64], descending: bool, operands: [Tensor; 2]) {
    let split = dims.len() - 1;
    let params = [i64::from(descending)];
    let got = Launch {
        kernel,
        dims,
        split,
        params: &params,
        operands: &operands,
    }
    .run();
    let [mut out, a] = operands;
    for unit in indices(&dims[..split]) {
        let at = |i: i64| [&unit[..], &[i]].concat();
        let mut expected: Vec<i64> = (0..dims[split]).collect();
        expected.sort_by(|&i, &j| order(a.at(&at(i)), a.at(&at(j)), descending));
        for (i, from) in expected.into_iter().enumerate() {
            let value = if kernel == "sort" {
                a.at(&at(from))
            } else {
                int(from)
            };
            out.set(&at(i as i64), value);
        }
    }
    assert_eq!(
        got.bytes, out.bytes,
        "{kernel} {} {dims:?} {descending}",
        a.dtype
    );
}

#[test]
fn searches_find_the_first_or_last_place_that_keeps_the_order() {
    let mut random = Random(81);
    for dtype in sortable().filter(|&dtype| dtype != DType::Bool) {
        for size in [0, 1, 2, 7, 300] {
            for (gap, right) in [(1, 0), (1, 1), (2, 1), (-1, 0)] {
                let mut line: Vec<Value> = (0..size).map(|_| draw(dtype, &mut random)).collect();
                line.sort_by(|&a, &b| order(a, b, false));
                let room = (size * 2).max(1);
                let spread = (0..room).map(|i| {
                    let place = if gap < 0 { size - 1 - i } else { i / gap };
                    line.get(usize::try_from(place).unwrap_or(usize::MAX))
                        .copied()
                });
                let spread: Vec<Value> = spread
                    .map(|value| value.unwrap_or_else(|| blank(dtype)))
                    .collect();
                let dims = [3, 100];
                let mut sorted = Tensor::dense(dtype, &[room], spread);
                sorted.strides = vec![0, 0];
                sorted.offset = if gap < 0 && size > 0 {
                    size as usize - 1
                } else {
                    0
                };
                let layout = LAYOUTS[random.below(7) as usize];
                let own = &mut |r: &mut Random| {
                    let i = r.below(2 * size + 1) as usize;
                    line.get(i).copied().unwrap_or_else(|| draw(dtype, r))
                };
                let values = Tensor::lying((dtype, layout), (&dims, 2), &mut random, own);
                let to = (DType::I64, INJECTIVE[random.below(4) as usize]);
                let out = Tensor::lying(to, (&dims, 2), &mut random, &mut |_| int(-1));
                let params = [size, gap, right];
                let operands = [out, values, sorted];
                let kernel = "searchsorted";
                let launch = Launch {
                    kernel,
                    dims: &dims,
                    split: 2,
                    params: &params,
                    operands: &operands,
                };
                let got = launch.run();
                let [mut out, values, _] = operands;
                for index in indices(&dims) {
                    let value = values.at(&index);
                    let stays = |&own: &Value| match order(own, value, false) {
                        Ordering::Less => true,
                        Ordering::Equal => right == 1,
                        Ordering::Greater => false,
                    };
                    out.set(&index, int(line.partition_point(stays) as i64));
                }
                assert_eq!(
                    got.bytes, out.bytes,
                    "{dtype} in {size} {gap} apart, {right}"
                );
            }
        }
    }
}

#[test]
fn the_indices_of_true_elements_come_in_order() {
    let mut random = Random(82);
    let shapes: [&[i64]; 7] = [
        &[0],
        &[700],
        &[20, 30],
        &[300, 2],
        &[4, 0, 3],
        &[3, 4, 5, 6],
        &[1],
    ];
    for dtype in NUMBER_DTYPES {
        for dims in shapes {
            for (layout, share) in LAYOUTS.into_iter().zip([0, 1, 5, 8, 9, 10, 5]) {
                let whole = (dims, dims.len());
                let mut pick = |r: &mut Random| {
                    let truth = r.below(10) < share;
                    match dtype {
                        DType::F32 | DType::F64 => Value::Real(if truth {
                            [f64::NAN, 0.5][r.below(2) as usize]
                        } else {
                            -0.0
                        }),
                        DType::C64 | DType::C128 => {
                            Value::Complex(0.0, if truth { -1.0 } else { -0.0 })
                        }
                        _ => Value::Int(i128::from(truth)),
                    }
                };
                let a = Tensor::lying((dtype, layout), whole, &mut random, &mut pick);
                let found: Vec<_> = indices(dims)
                    .into_iter()
                    .filter(|index| a.at(index).is_true())
                    .collect();
                let rank = dims.len() as i64;
                let count = found.len() as i64;
                let (row, column) = if share % 2 == 0 {
                    (rank, 1)
                } else {
                    (1, count)
                };
                let room = vec![int(-1); found.len() * dims.len()];
                let mut out = Tensor::dense(DType::I64, &[count * rank], room);
                out.strides = vec![0; dims.len()];
                let operands = [out, a];
                let params = [row, column, count];
                let kernel = "nonzero";
                let launch = Launch {
                    kernel,
                    dims,
                    split: 0,
                    params: &params,
                    operands: &operands,
                };
                let mut got = launch.run();
                got.strides = vec![row, column];
                for (i, index) in found.iter().enumerate() {
                    for (axis, &at) in index.iter().enumerate() {
                        assert_eq!(
                            got.at(&[i as i64, axis as i64]),
                            int(at),
                            "{dtype} {dims:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn values_are_scattered_in_order_and_the_last_one_stays() {
    let mut random = Random(83);
    let shapes: [&[i64]; 6] = [
        &[5],
        &[40, 9],
        &[3, 50, 4],
        &[2, 30, 3, 5],
        &[600, 3],
        &[7, 0],
    ];
    for dtype in NUMBER_DTYPES {
        for dims in shapes {
            for case in 0..12 {
                scatter_once(dtype, dims, case, &mut random);
            }
        }
    }
}

fn scatter_once(dtype: DType, dims: &[i64], case: i64, random: &mut Random) {
    let last = dims.len() - 1;
    let size = 1 + random.below(9);
    let source = [&dims[..last], &[size]].concat();
    let layout = INJECTIVE[random.below(4) as usize];
    let mut any = |r: &mut Random| match dtype {
        DType::C64 | DType::C128 => Value::Complex(r.below(99) as f64, r.below(99) as f64),
        DType::F32 | DType::F64 => Value::Real(r.below(99) as f64),
        _ => int(r.below(2)),
    };
    let mut out = Tensor::lying((dtype, layout), (&source, last + 1), random, &mut any);
    let whole = (dims, dims.len());
    let value_layout = LAYOUTS[random.below(7) as usize];
    let mut values = Tensor::lying((dtype, value_layout), whole, random, &mut any);
    // An index of its own for each unit, or one list for all of them, as `out[list] = values` has.
    let index_layout = LAYOUTS[random.below(7) as usize];
    let mut index = |r: &mut Random| int(r.below(2 * size) - size);
    let mut list = Tensor::lying((DType::I64, index_layout), whole, random, &mut index);
    if case % 3 == 0 {
        list.strides[..last].fill(0);
        if list.strides[last] < 0 {
            list.strides[last] = 0;
        }
        list.offset = 0;
        values = Tensor::lying((dtype, Layout::Reversed), whole, random, &mut any);
        if last > 0 {
            out = Tensor::lying(
                (dtype, Layout::Reversed),
                (&source, last + 1),
                random,
                &mut any,
            );
        }
    }
    let stride = out.strides[last];
    let mut target = out.clone();
    target.strides[last] = 0;
    let params = [stride, size];
    let operands = [target, values, list];
    let launch = Launch {
        kernel: "scatter",
        dims,
        split: last,
        params: &params,
        operands: &operands,
    };
    let got = launch.run();
    for at in indices(dims) {
        let Value::Int(index) = operands[2].at(&at) else {
            panic!()
        };
        let place = [&at[..last], &[(index as i64).rem_euclid(size)]].concat();
        let value = operands[1].at(&at);
        assert_eq!(bits(value, dtype).len(), dtype.size_bytes());
        out.set(&place, value);
    }
    assert_eq!(got.bytes, out.bytes, "{dtype} {dims:?} {params:?}");
}
