//! References of element-wise ops, sums and digits against numbers worked out by hand or by 128-bit
//! arithmetic.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

use crate::common::{Call, Sequence};
use cloakwork_ir::DType;
use cloakwork_ops::{Code, MAX_MODULUS};

const LARGE: [i64; 2] = [2_305_843_009_218_281_473, 2_305_843_009_218_936_833];

#[test]
fn sums_keep_the_sign_of_the_dividend() {
    let call = Call::new("modsum")
        .tensor("a", &[3], &[-3, 5, -10])
        .tensor("b", &[3], &[0, 0, 1])
        .int("q", 7);
    assert_eq!(call.run().unwrap(), [-3, 5, -2]);
}

#[test]
fn sums_and_products_of_extreme_words_are_exact() {
    let words = [i64::MIN, i64::MIN, i64::MAX, i64::MAX];
    let others = [i64::MIN, i64::MAX, i64::MAX, 1];
    let run = |op| {
        let call = Call::new(op)
            .tensor("a", &[4], &words)
            .tensor("b", &[4], &others);
        call.int("q", MAX_MODULUS).run().unwrap()
    };
    // 2^62 is 1 modulo 2^62 - 1. -2^64; -1; 2^64 - 2; 2^63.
    assert_eq!(run("modsum"), [-4, -1, 2, 2]);
    // 2^126; -2^126 + 2^63; 2^126 - 2^64 + 1; 2^63 - 1.
    assert_eq!(run("modmul"), [4, -2, 1, 1]);
}

#[test]
fn operands_broadcast_to_a_larger_result_and_moduli_run_along_its_last_axis() {
    let call = Call::new("modmul")
        .tensor("a", &[2, 1], &[3, 5])
        .tensor("b", &[2], &[4, 6])
        .tensor("q", &[2], &[7, 11])
        .out(DType::I64, &[2, 2, 2]);
    assert_eq!(call.run().unwrap(), [5, 7, 6, 8, 5, 7, 6, 8]);
}

#[test]
fn of_more_moduli_than_a_last_axis_of_one_the_first_counts() {
    let call = Call::new("modneg")
        .tensor("a", &[2, 1], &[3, -1])
        .tensor("q", &[3], &[5, 7, 9]);
    assert_eq!(call.run().unwrap(), [2, 1]);
    let wrong = Call::new("modneg")
        .tensor("a", &[2], &[3, -1])
        .tensor("q", &[3], &[5, 7, 9]);
    assert_eq!(wrong.infer().unwrap_err().code, Code::Shape);
}

#[test]
fn negatives_are_canonical_for_any_word() {
    let words = [0, 1, 6, 7, -1, i64::MIN, i64::MAX];
    let call = Call::new("modneg").tensor("a", &[7], &words).int("q", 7);
    // 2^63 = 8^21 = 1 mod 7.
    assert_eq!(call.run().unwrap(), [0, 6, 1, 0, 1, 1, 0]);
}

#[test]
fn remainders_have_cs_sign_and_integers_may_stand_on_either_side() {
    let call = |a: &[i64], b| {
        Call::new("mod")
            .tensor("a", &[a.len() as u64], a)
            .int("b", b)
    };
    assert_eq!(call(&[7, -7, i64::MIN], -3).run().unwrap(), [1, -1, -2]);
    assert_eq!(call(&[i64::MIN], -1).run().unwrap(), [0]);
    let left = Call::new("mod").int("a", -17).tensor("b", &[2], &[5, -6]);
    assert_eq!(left.run().unwrap(), [-2, -5]);
    let narrow = Call::new("mod")
        .tensor("a", &[2], &[1, 2])
        .tensor("b", &[1], &[2]);
    assert_eq!(narrow.infer().unwrap_err().code, Code::Shape);
    assert_eq!(call(&[1], 0).infer().unwrap_err().code, Code::Modulus);
    assert_eq!(
        Call::new("mod")
            .int("a", 1)
            .int("b", 1)
            .infer()
            .unwrap_err()
            .code,
        Code::ArgumentType
    );
}

#[test]
fn absolute_values_of_all_their_dtypes() {
    let call = |dtype, words: &[i64]| {
        Call::new("abs")
            .typed("a", dtype, &[words.len() as u64], words)
            .run()
            .unwrap()
    };
    assert_eq!(call(DType::I64, &[-5, 5, i64::MIN]), [5, 5, i64::MIN]);
    let least = i64::from(i32::MIN);
    assert_eq!(call(DType::I32, &[-5, least]), [5, least]);
    let single = |x: f32| i64::from(x.to_bits());
    assert_eq!(
        call(DType::F32, &[single(-2.5), single(-0.0)]),
        [single(2.5), 0]
    );
    let double = |x: f64| x.to_bits() as i64;
    assert_eq!(call(DType::F64, &[double(-2.5)]), [double(2.5)]);
    assert_eq!(
        Call::new("abs")
            .typed("a", DType::Bool, &[1], &[1])
            .infer()
            .unwrap_err()
            .code,
        Code::Dtype
    );
}

#[test]
fn moduli_outside_their_range_are_refused() {
    for q in [0, 1, -7, MAX_MODULUS + 1, i64::MIN] {
        let int = Call::new("modneg").tensor("a", &[1], &[0]).int("q", q);
        let tensor = Call::new("modneg")
            .tensor("a", &[2], &[0, 0])
            .tensor("q", &[2], &[3, q]);
        assert_eq!(int.infer().unwrap_err().code, Code::Modulus, "{q}");
        assert_eq!(tensor.infer().unwrap_err().code, Code::Modulus, "{q}");
    }
}

#[test]
fn sums_along_an_axis_reduce_at_each_step() {
    let call = |axis| {
        Call::new("axis_modsum")
            .tensor("a", &[3, 2], &[6, -6, 6, -6, 1, 1])
            .tensor("q", &[2], &[7, 7])
            .int("axis", axis)
    };
    // 6, 12 % 7 = 5, 6; -6, -12 % 7 = -5, -4.
    assert_eq!(call(0).run().unwrap(), [6, -4]);
    assert_eq!(call(-2).run().unwrap(), [6, -4]);
    for axis in [1, -1, 2, -3] {
        assert_eq!(
            call(axis).infer().unwrap_err().code,
            Code::Axis,
            "axis {axis}"
        );
    }
}

#[test]
fn the_sum_of_nothing_is_zero_and_nothing_has_no_sums() {
    let call = |dims: [u64; 3], axis| {
        Call::new("axis_modsum")
            .tensor("a", &dims, &[])
            .tensor("q", &[1], &[7])
            .int("axis", axis)
    };
    assert_eq!(call([2, 0, 2], 1).run().unwrap(), [0, 0, 0, 0]);
    assert_eq!(call([0, 3, 2], 1).run().unwrap(), []);
    assert_eq!(call([3, 0, 2], 0).infer().unwrap().shape.dims(), [0, 2]);
}

#[test]
fn sums_of_products_are_added_to_what_is_there_in_either_layout() {
    // r = 1, s = 2, k = 2, n = 3; perm is not an involution.
    let (q, perm) = ([101, LARGE[0]], [1, 2, 0]);
    let mut sequence = Sequence(1);
    let [a, b, out] = [12, 12, 6].map(|count| sequence.words(count));
    let mut expected = vec![0; 6];
    for k in 0..2 {
        for n in 0..3 {
            let place = perm[n] as usize;
            let wide = |x: i64| i128::from(x).rem_euclid(i128::from(q[k]));
            let products =
                (0..2).map(|s| wide(a[(s * 2 + k) * 3 + n]) * wide(b[(s * 2 + k) * 3 + place]));
            let sum = products.fold(wide(out[k * 3 + place]), |sum, p| {
                (sum + p) % i128::from(q[k])
            });
            expected[k * 3 + place] = sum as i64;
        }
    }
    let call = |a: &[i64], b: &[i64], out: &[i64], axis| {
        let [da, db, dout]: [&[u64]; 3] = if axis == -1 {
            [&[1, 2, 2, 3], &[2, 2, 3], &[1, 2, 3]]
        } else {
            [&[1, 3, 2, 2], &[3, 2, 2], &[1, 3, 2]]
        };
        let call = Call::new("modmul_axis_sum")
            .tensor("a", da, a)
            .tensor("b", db, b);
        let call = call
            .tensor("out", dout, out)
            .tensor("q", &[2], &q)
            .tensor("perm", &[3], &perm);
        call.int("apply_perm", 1).int("axis", axis)
    };
    assert_eq!(call(&a, &b, &out, -1).run().unwrap(), expected);
    // [.., n] to [n, ..].
    let turned = |x: &[i64]| -> Vec<i64> {
        let rows = x.len() / 3;
        (0..3)
            .flat_map(|n| (0..rows).map(move |row| x[row * 3 + n]))
            .collect()
    };
    let got = call(&turned(&a), &turned(&b), &turned(&out), -3)
        .run()
        .unwrap();
    assert_eq!(got, turned(&expected));

    let missing = |op: &Call| op.infer().unwrap_err().code;
    let mut without = call(&a, &b, &out, -1);
    without.inputs.remove("perm");
    assert_eq!(missing(&without), Code::ArgumentType);
    assert_eq!(
        missing(&call(&a, &b, &out, -1).tensor("perm", &[3], &[0, 0, 1])),
        Code::Permutation
    );
    assert_eq!(missing(&call(&a, &b, &out, -2)), Code::Axis);
    let unused = call(&a, &b, &out, -1)
        .tensor("perm", &[3], &[0, 0, 1])
        .int("apply_perm", 0);
    assert!(unused.infer().is_ok());
}

#[test]
fn an_empty_sum_of_products_reduces_what_is_there() {
    let call = Call::new("modmul_axis_sum")
        .tensor("a", &[1, 0, 1, 2], &[])
        .tensor("b", &[0, 1, 2], &[])
        .tensor("out", &[1, 1, 2], &[-1, 15])
        .tensor("q", &[1], &[7])
        .int("apply_perm", 0);
    assert_eq!(call.run().unwrap(), [6, 1]);
}

#[test]
fn digits_of_a_negative_word_are_its_bits() {
    let call = |words: &[i64], digits, bits| {
        let call = Call::new("g_decomp").tensor("a", &[words.len() as u64], words);
        call.int("g_exp", digits).int("g_base_bits", bits)
    };
    assert_eq!(call(&[-5], 3, 3).run().unwrap(), [3, 7, 7]);
    assert_eq!(call(&[0x1234], 3, 4).run().unwrap(), [4, 3, 2]);
    // Beyond the word there is nothing but its sign.
    assert_eq!(call(&[-1, 5], 40, 2).run().unwrap()[38..42], [3, 3, 1, 1]);
    let byte = call(&[200, 300], 2, 8).out(DType::I8, &[2, 2]);
    assert_eq!(byte.run().unwrap(), [-56, 0, 44, 1]);
    let wide = call(&[200], 2, 9).out(DType::I8, &[1, 2]);
    assert_eq!(wide.infer().unwrap_err().code, Code::Range);
    assert_eq!(call(&[], 2, 9).run().unwrap(), []);
}

#[test]
fn digits_of_residues_are_those_of_the_number() {
    let product = LARGE[0] as u128 * LARGE[1] as u128;
    let numbers = [0, 1, product - 1, product / 3, 1 << 100];
    let mut residues = vec![];
    for q in LARGE {
        residues.extend(numbers.map(|x| (x % q as u128) as i64));
    }
    // An unreduced residue counts as what it is modulo q.
    residues[4] -= LARGE[0];
    let call = Call::new("g_decomp_full_q").tensor("a", &[1, 2, 5], &residues);
    let call = call
        .tensor("q", &[2], &LARGE)
        .int("g_exp", 32)
        .int("g_base_bits", 4);
    let digits = call.clone().out(DType::I8, &[1, 32, 5]).run().unwrap();
    for (y, x) in numbers.into_iter().enumerate() {
        for j in 0..32 {
            assert_eq!(
                digits[j * 5 + y] as u128,
                (x >> (4 * j)) & 15,
                "digit {j} of {x}"
            );
        }
    }
    let shared = call.tensor("q", &[2], &[15, 21]);
    assert_eq!(shared.infer().unwrap_err().code, Code::Modulus);
}

#[test]
fn without_moduli_every_digit_is_zero() {
    let call = Call::new("g_decomp_full_q")
        .tensor("a", &[2, 0, 1], &[])
        .tensor("q", &[0], &[]);
    assert_eq!(
        call.int("g_exp", 2).int("g_base_bits", 3).run().unwrap(),
        [0; 4]
    );
    let call = Call::new("g_decomp_full_q")
        .tensor("a", &[2, 1, 0], &[])
        .tensor("q", &[1], &[7]);
    assert_eq!(
        call.int("g_exp", 2).int("g_base_bits", 3).run().unwrap(),
        []
    );
}

#[test]
fn samples_are_what_their_random_words_say() {
    let pairs = [0, 0, 5, 0, 0, 1, -1, -1];
    let uniform = Call::new("uniform_mod").typed("random", DType::U64, &[4, 2], &pairs);
    // 2^64 = 2 mod 7 and 2^128 - 1 = 3 mod 7.
    assert_eq!(uniform.clone().int("q", 7).run().unwrap(), [0, 5, 2, 3]);
    assert_eq!(uniform.int("q", 0).infer().unwrap_err().code, Code::Modulus);
    let third = 0x5555_5555_5555_5555;
    let words = [0, third, third + 1, -third - 1, -third, -1];
    let ternary = Call::new("ternary").typed("random", DType::U64, &[6], &words);
    assert_eq!(ternary.run().unwrap(), [-1, -1, 0, 0, 1, 1]);
    let odd = Call::new("gaussian").typed("random", DType::U64, &[2, 3], &[0; 6]);
    assert_eq!(odd.infer().unwrap_err().code, Code::Shape);
}

#[test]
fn a_product_and_a_sum_are_reduced_one_after_the_other() {
    let call = Call::new("modmuladd")
        .tensor("a", &[2, 1], &[3, -5])
        .tensor("b", &[2], &[4, 6])
        .int("c", 9)
        .tensor("q", &[2], &[7, 11]);
    // 12 % 7 = 5 and 18 % 11 = 7; -20 % 7 = -6 and -30 % 11 = -8.
    assert_eq!(call.run().unwrap(), [0, 5, 3, 1]);
    let wrong = Call::new("modmuladd")
        .tensor("a", &[2], &[3, -5])
        .int("b", 1)
        .tensor("c", &[3], &[0; 3])
        .int("q", 7);
    assert_eq!(wrong.run().unwrap_err().code, Code::Shape);
}

/// 1000 and -2 modulo 5, 7 and 11, whose product is 385: 1000 is 230, of least magnitude -155.
#[test]
fn a_change_of_base_is_off_by_few_multiples_of_the_product() {
    let convert = |half: &[i64], hat_inv: Option<&[i64]>, a: &[i64]| {
        let call = Call::new("base_convert")
            .tensor("a", &[2, 3], a)
            .tensor("q", &[3], &[5, 7, 11])
            .tensor("half", &[3], half)
            // 77, 55 and 35 modulo 13 and 1009.
            .tensor("hat", &[3, 2], &[12, 77, 3, 55, 9, 35])
            .tensor("p", &[2], &[13, 1009]);
        match hat_inv {
            Some(words) => call.tensor("hat_inv", &[3], words),
            None => call,
        }
        .run()
        .unwrap()
    };
    let residues = [0, 6, 10, 3, 5, 9];
    // 77^-1 = 3 mod 5, 55^-1 = 6 mod 7, 35^-1 = 6 mod 11. Digits 0, 1, 5 and 4, 2, 10:
    // 55 + 175 = 230; 308 + 110 + 350 = 768 = -2 + 2 * 385.
    let inverses: &[i64] = &[3, 6, 6];
    let plain = [230 % 13, 230, 768 % 13, 768];
    assert_eq!(convert(&[0; 3], Some(inverses), &residues), plain);
    // Centred digits 0, 1, 5 and -1, 2, -1: 230 and -77 + 110 - 35 = -2.
    let centred = [230 % 13, 230, 11, 1007];
    assert_eq!(convert(&[2, 3, 5], Some(inverses), &residues), centred);
    // The digits themselves, and digits that are no residues.
    assert_eq!(convert(&[2, 3, 5], None, &[0, 1, 5, 4, 2, 10]), centred);
    assert_eq!(convert(&[2, 3, 5], None, &[-5, 8, 16, -1, 9, -1]), centred);
}

#[test]
fn an_automorphism_picks_along_the_axis_before_the_last() {
    let call = Call::new("automorphism")
        .tensor("a", &[2, 3, 2], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
        .tensor("index", &[3], &[2, 0, 1]);
    let expected = [5, 6, 1, 2, 3, 4, 11, 12, 7, 8, 9, 10];
    assert_eq!(call.run().unwrap(), expected);
}
