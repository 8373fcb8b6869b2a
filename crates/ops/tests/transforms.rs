//! References of the transforms against their definition and against tables worked out by hand.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

use crate::common::{Call, Sequence, bit_reversal, power, root, table};
use cloakwork_ir::DType;
use cloakwork_ops::Code;

const LARGE: i64 = 2_305_843_009_218_281_473;

/// Two rows [l = 2, m, r = 1, k = moduli], or the same with axis -1.
fn forward(a: &[i64], q: &[i64], m: u64, axis: i64) -> Call {
    let (k, psi) = (q.len() as u64, roots(q, m));
    let dims = if axis == -3 {
        [2, m, 1, k]
    } else {
        [2, 1, k, m]
    };
    Call::new("ntt")
        .tensor("a", &dims, a)
        .int("axis", axis)
        .tensor("perm", &[m], &bit_reversal(m))
        .tensor("q", &[k], q)
        .tensor("psi", &[k, m], &table(&psi, m, q))
}

fn roots(q: &[i64], m: u64) -> Vec<i64> {
    q.iter().map(|&q| root(m, q)).collect()
}

fn backward(a: &[i64], q: &[i64], m: u64, axis: i64) -> Call {
    let k = q.len() as u64;
    let inverses: Vec<i64> = roots(q, m)
        .iter()
        .zip(q)
        .map(|(&psi, &q)| power(psi, 2 * m as i64 - 1, q))
        .collect();
    let scales: Vec<i64> = q.iter().map(|&q| power(m as i64, q - 2, q)).collect();
    let dims = if axis == -3 {
        [2, m, 1, k]
    } else {
        [2, 1, k, m]
    };
    Call::new("intt")
        .tensor("a", &dims, a)
        .int("axis", axis)
        .tensor("perm", &[m], &bit_reversal(m))
        .tensor("q", &[k], q)
        .tensor("psi_inv", &[k, m], &table(&inverses, m, q))
        .tensor("n_inv", &[k], &scales)
}

/// `sum_i a[i] psi^(i (2 j + 1)) mod q` for each j.
fn definition(a: &[i64], psi: i64, q: i64) -> Vec<i64> {
    let term = |i: usize, j: usize| {
        let factor = power(psi, (i * (2 * j + 1)) as i64, q);
        i128::from(a[i]).rem_euclid(i128::from(q)) * i128::from(factor)
    };
    (0..a.len())
        .map(|j| (0..a.len()).fold(0, |sum, i| (sum + term(i, j)) % i128::from(q)) as i64)
        .collect()
}

#[test]
fn the_transform_is_its_definition_at_every_length_up_to_64() {
    for m in [1, 2, 4, 8, 64] {
        let mut sequence = Sequence(m);
        let q = [LARGE, 12_289];
        let a = sequence.words(4 * m);
        let got = forward(&a, &q, m, -1).run().unwrap();
        for row in 0..4 {
            let range = row * m as usize..(row + 1) * m as usize;
            let modulus = q[row % 2];
            let expected = definition(&a[range.clone()], root(m, modulus), modulus);
            assert_eq!(got[range], expected, "length {m}, row {row}");
        }
    }
}

#[test]
fn the_inverse_undoes_the_transform_in_both_layouts() {
    for (m, axis) in [(1, -1), (2, -3), (16, -3), (16, -1)] {
        let q = [LARGE, 12_289];
        let mut sequence = Sequence(3);
        let a: Vec<i64> = sequence
            .words(4 * m)
            .iter()
            .map(|word| word.rem_euclid(12_289))
            .collect();
        let values = forward(&a, &q, m, axis).run().unwrap();
        assert_eq!(
            backward(&values, &q, m, axis).run().unwrap(),
            a,
            "length {m}, axis {axis}"
        );
        assert_eq!(values == a, m == 1);
    }
}

#[test]
fn layouts_hold_the_same_rows() {
    let (m, q) = (8, [LARGE, 12_289]);
    let rows = Sequence(9).words(32);
    // [l, r, k, m] to [l, m, r, k], r = 1.
    let turned = |x: &[i64]| -> Vec<i64> {
        let at = |l: usize, i: usize, k: usize| x[(l * 2 + k) * 8 + i];
        (0..32)
            .map(|flat| at(flat / 16, flat / 2 % 8, flat % 2))
            .collect()
    };
    let last = forward(&rows, &q, m, -1).run().unwrap();
    assert_eq!(
        forward(&turned(&rows), &q, m, -3).run().unwrap(),
        turned(&last)
    );
}

/// The table is no powers of a root; the recurrence alone gives it a meaning.
fn by_hand(op: &str) -> Call {
    let (twiddles, a) = if op == "ntt" {
        ("psi", [1, 2, 3, 4])
    } else {
        ("psi_inv", [1, 2, 3, 4])
    };
    Call::new(op)
        .tensor("a", &[1, 1, 1, 4], &a)
        .int("axis", -1)
        .tensor("q", &[1], &[17])
        .tensor(twiddles, &[1, 4], &[1, 4, 16, 13])
}

#[test]
fn the_recurrence_defines_any_table() {
    // Stage 1, twiddle 4: 1 + 3 * 4, 2 + 4 * 4, 1 - 12, 2 - 16 = 13, 1, 6, 3.
    // Stage 2, twiddles 16 and 13: 13 + 16, 13 - 16, 6 + 39, 6 - 39 = 12, 14, 11, 1.
    assert_eq!(by_hand("ntt").run().unwrap(), [12, 14, 11, 1]);
    let permuted = by_hand("ntt").tensor("perm", &[4], &[0, 2, 1, 3]);
    assert_eq!(permuted.run().unwrap(), [12, 11, 14, 1]);
    assert_eq!(permuted.int("skip_perm", 1).run().unwrap(), [12, 14, 11, 1]);
    // Half 2, twiddles 16 and 13: 1 + 2, -16, 3 + 4, -13 = 3, 1, 7, 4. Half 1, twiddle 4:
    // 3 + 7, 1 + 4, (3 - 7) * 4, (1 - 4) * 4 = 10, 5, 1, 5. Times 2: 3, 10, 2, 10.
    let inverse = by_hand("intt").tensor("n_inv", &[1], &[2]);
    assert_eq!(inverse.run().unwrap(), [3, 10, 2, 10]);
}

#[test]
fn a_permutation_gathers_and_need_be_no_involution() {
    let cycle = [1, 2, 3, 0];
    let call = by_hand("ntt").tensor("perm", &[4], &cycle);
    assert_eq!(call.run().unwrap(), [14, 11, 1, 12]);
    // y = 2, 3, 4, 1: 5, -16, 5, 39; 10, 22, 0, (1 - 39) * 4.
    let inverse = by_hand("intt")
        .tensor("n_inv", &[1], &[1])
        .tensor("perm", &[4], &cycle);
    assert_eq!(inverse.run().unwrap(), [10, 6, 0, 4 * (1 - 5) + 17]);
}

#[test]
fn digits_are_tiled_over_the_moduli_and_keep_their_sign() {
    let q = [17, 97];
    let call = |dtype, words: &[i64]| {
        Call::new("ntt")
            .typed("a", dtype, &[1, 4, 1, 1], words)
            .tensor("q", &[2], &q)
            .tensor("psi", &[2, 4], &table(&roots(&q, 4), 4, &q))
            .tensor("perm", &[4], &bit_reversal(4))
            .int("tile", 1)
    };
    let words = [-1, 7, -128, 127];
    let got = call(DType::I8, &words).run().unwrap();
    for (k, modulus) in q.into_iter().enumerate() {
        let column: Vec<i64> = got.iter().copied().skip(k).step_by(2).collect();
        assert_eq!(column, definition(&words, root(4, modulus), modulus));
    }
    assert_eq!(got, call(DType::I64, &words).run().unwrap());
    let two = Call {
        def: call(DType::I8, &words).def,
        ..call(DType::I8, &words)
    };
    let two = two.typed("a", DType::I8, &[1, 4, 1, 2], &[0; 8]);
    assert_eq!(two.infer().unwrap_err().code, Code::Shape);
}

#[test]
fn there_may_be_no_rows_and_no_moduli() {
    let empty = |dims: &[u64], q: &[i64]| {
        let k = q.len() as u64;
        let psi = table(&roots(q, 4), 4, q);
        let call = Call::new("ntt").tensor("a", dims, &[]).tensor("q", &[k], q);
        call.tensor("psi", &[k, 4], &psi)
    };
    assert_eq!(empty(&[0, 4, 1, 1], &[17]).run().unwrap(), []);
    assert_eq!(empty(&[2, 4, 3, 0], &[]).run().unwrap(), []);
}

#[test]
fn wrong_operands_are_told_apart() {
    let code = |call: Call| call.infer().unwrap_err().code;
    let call = || forward(&[0; 8], &[17], 4, -1);
    assert_eq!(code(call().int("axis", -2)), Code::Axis);
    assert_eq!(
        code(call().tensor("perm", &[4], &[0, 1, 1, 2])),
        Code::Permutation
    );
    assert_eq!(
        code(call().tensor("perm", &[4], &[0, 1, 2, -1])),
        Code::Permutation
    );
    assert!(
        call()
            .tensor("perm", &[4], &[0; 4])
            .int("skip_perm", 1)
            .infer()
            .is_ok()
    );
    assert_eq!(
        code(call().tensor("a", &[2, 1, 1, 3], &[0; 6])),
        Code::TransformLength
    );
    assert_eq!(
        code(call().tensor("a", &[2, 1, 1, 0], &[])),
        Code::TransformLength
    );
    assert_eq!(code(call().tensor("a", &[2, 1, 4], &[0; 8])), Code::Shape);
    assert_eq!(code(call().tensor("psi", &[4], &[0; 4])), Code::Shape);
    assert_eq!(code(call().tensor("q", &[1], &[0])), Code::Modulus);
    assert_eq!(
        code(call().typed("a", DType::I32, &[2, 1, 1, 4], &[0; 8])),
        Code::Dtype
    );
    assert_eq!(
        code(backward(&[0; 8], &[17], 4, -1).tensor("n_inv", &[2], &[1, 1])),
        Code::Shape
    );
}
