//! Ranges, and the counter-based generator against its authors' known answers.
#![allow(clippy::unwrap_used, clippy::panic, clippy::float_cmp)]

use crate::common::direct::{Launch, Tensor, Value};
use crate::common::random::Random;
use cloakwork_csrc as _;
use cloakwork_ir::DType;

/// Philox4x32-10, word by word as in the paper.
fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let a = u64::from(counter[0]) * 0xd251_1f53;
        let c = u64::from(counter[2]) * 0xcd9e_8d57;
        counter = [
            (c >> 32) as u32 ^ counter[1] ^ key[0],
            c as u32,
            (a >> 32) as u32 ^ counter[3] ^ key[1],
            a as u32,
        ];
        key = [
            key[0].wrapping_add(0x9e37_79b9),
            key[1].wrapping_add(0xbb67_ae85),
        ];
    }
    counter
}

/// The four words of a counter as the kernels count: its number below, the second key word above.
fn words(key: [u64; 2], counter: u64) -> [u32; 4] {
    let halves = |word: u64| [word as u32, (word >> 32) as u32];
    let ([a, b], [c, d]) = (halves(counter), halves(key[1]));
    philox([a, b, c, d], halves(key[0]))
}

#[test]
fn the_generator_gives_the_known_answers_of_random123() {
    // kat_vectors of Random123 1.14, philox4x32 10.
    assert_eq!(
        philox([0; 4], [0; 2]),
        [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
    );
    assert_eq!(
        philox([u32::MAX; 4], [u32::MAX; 2]),
        [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
    );
    assert_eq!(
        philox(
            [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
            [0xa409_3822, 0x299f_31d0]
        ),
        [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
    );
}

/// `count` numbers, `gap` apart in memory.
fn generate(kernel: &str, dtype: DType, key: [u64; 2], (count, gap): (i64, i64)) -> Vec<f64> {
    let room = usize::try_from(count * gap).unwrap();
    let mut out = Tensor::dense(dtype, &[count * gap], vec![Value::Real(-7.0); room]);
    out.strides = vec![gap];
    let key = key.map(|word| Value::Int(i128::from(word)));
    let mut key = Tensor::dense(DType::U64, &[2], key);
    key.strides = vec![0];
    let operands = [out, key];
    let launch = Launch {
        kernel,
        dims: &[count],
        split: 1,
        params: &[1],
        operands: &operands,
    };
    let got = launch.run();
    let number = |i| match got.at(&[i]) {
        Value::Real(value) => value,
        other => panic!("{other:?}"),
    };
    let numbers = (0..count).map(number).collect();
    let mut beside = got.clone();
    beside.strides = vec![1];
    for i in (0..count * gap).filter(|i| i % gap != 0) {
        assert_eq!(
            beside.at(&[i]),
            Value::Real(-7.0),
            "wrote beside its results"
        );
    }
    numbers
}

fn unit_double(high: u32, low: u32) -> f64 {
    let bits = u64::from(high >> 5) << 26 | u64::from(low >> 6);
    bits as f64 / 2f64.powi(53)
}

#[test]
fn uniform_numbers_are_the_generators_first_bits_by_position() {
    let mut random = Random(90);
    let zero = generate("philox_uniform", DType::F32, [0, 0], (4, 1));
    let known = [0x0066_27e8, 0x00e1_69c5, 0x00bc_57ac, 0x009b_00db];
    assert_eq!(zero, known.map(|bits| f64::from(bits) / 2f64.powi(24)));
    for (count, gap) in [(1, 1), (3, 2), (257, 1), (1000, 3), (5001, 1)] {
        let key = [random.word(), random.word()];
        let single = generate("philox_uniform", DType::F32, key, (count, gap));
        let double = generate("philox_uniform", DType::F64, key, (count, gap));
        for (i, (single, double)) in single.into_iter().zip(double).enumerate() {
            let word = words(key, i as u64 / 4)[i % 4];
            assert_eq!(single, f64::from(word >> 8) / 2f64.powi(24), "{i}");
            let [a, b, c, d] = words(key, i as u64 / 2);
            let expected = if i % 2 == 0 {
                unit_double(a, b)
            } else {
                unit_double(c, d)
            };
            assert_eq!(double, expected, "{i}");
        }
    }
}

#[test]
fn normal_numbers_are_those_of_box_and_muller() {
    let mut random = Random(91);
    // The oracle's own angle is off by up to half a unit in its last place.
    let close = |got: f64, expected: f64, bits: i32| {
        (got - expected).abs() <= 2f64.powi(-bits) * expected.abs().max(0.5)
    };
    for (count, gap) in [(1, 1), (9, 2), (6001, 1)] {
        let key = [random.word(), random.word()];
        let single = generate("philox_normal", DType::F32, key, (count, gap));
        let double = generate("philox_normal", DType::F64, key, (count, gap));
        let pair = |u: f64, v: f64, second: bool| {
            let angle = std::f64::consts::TAU * v;
            (-2.0 * u.ln()).sqrt() * if second { angle.sin() } else { angle.cos() }
        };
        for (i, (single, double)) in single.into_iter().zip(double).enumerate() {
            let own = words(key, i as u64 / 4);
            let at = i % 4 / 2 * 2;
            let u = (f64::from(own[at]) + 0.5) / 2f64.powi(32);
            let expected = pair(u, f64::from(own[at + 1]) / 2f64.powi(32), i % 2 == 1);
            assert!(close(single, expected, 23), "{i}: {single} and {expected}");
            let [a, b, c, d] = words(key, i as u64 / 2);
            let u = unit_double(a, b) + 2f64.powi(-53);
            let expected = pair(u, unit_double(c, d), i % 2 == 1);
            assert!(close(double, expected, 48), "{i}: {double} and {expected}");
        }
    }
}

#[test]
fn normal_numbers_have_the_moments_of_the_distribution() {
    for dtype in [DType::F32, DType::F64] {
        let count = 200_000;
        let numbers = generate("philox_normal", dtype, [3, 4], (count, 1));
        let moment = |power| numbers.iter().map(|x| x.powi(power)).sum::<f64>() / count as f64;
        let sigma = (count as f64).sqrt().recip();
        for (power, expected, spread) in
            [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)]
        {
            let error = (moment(power) - expected).abs();
            assert!(
                error < 4.0 * sigma * f64::sqrt(spread),
                "moment {power} is off by {error}"
            );
        }
    }
}

#[test]
fn ranges_are_computed_from_their_start_and_integers_wrap() {
    let case = |(from, to): (DType, DType), gap: i64, start: Value, step: Value| {
        let count = 1000;
        let blank = vec![Value::Int(0); 1000 * gap.unsigned_abs() as usize];
        let blank = blank.into_iter().map(|zero| match to {
            DType::F32 | DType::F64 => Value::Real(0.0),
            _ => zero,
        });
        let mut out = Tensor::dense(to, &[count * gap.abs()], blank);
        out.strides = vec![gap];
        out.offset = if gap < 0 {
            999 * gap.unsigned_abs() as usize
        } else {
            0
        };
        let scalar = |value| Tensor {
            strides: vec![0],
            ..Tensor::dense(from, &[1], [value])
        };
        let operands = [out, scalar(start), scalar(step)];
        let launch = Launch {
            kernel: "arange",
            dims: &[count],
            split: 1,
            params: &[],
            operands: &operands,
        };
        let got = launch.run();
        let (start, step) = (operands[1].at(&[0]), operands[2].at(&[0]));
        for i in 0..count {
            let exact = match (start, step) {
                (Value::Int(a), Value::Int(b)) => Value::Int(a + i128::from(i) * b),
                (Value::Real(a), Value::Real(b)) => Value::Real(a + i as f64 * b),
                other => panic!("{other:?}"),
            };
            let mut bytes = vec![];
            exact.write(to, &mut bytes);
            assert_eq!(
                got.at(&[i]),
                Value::read(to, &bytes),
                "{from} -> {to}, element {i}"
            );
        }
    };
    use DType::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    for dtype in [I8, I16, I32, I64, U8, U16, U32, U64] {
        case((dtype, dtype), 1, Value::Int(100), Value::Int(3));
        case((dtype, dtype), -2, Value::Int(5), Value::Int(-1));
    }
    for types in [(F32, F32), (F64, F64), (F64, F32)] {
        case(types, 1, Value::Real(0.1), Value::Real(0.3));
        case(types, 3, Value::Real(1e9), Value::Real(-0.7));
    }
}
