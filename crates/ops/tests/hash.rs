//! Demands of transcripts and draws, and the ranges that their launches write.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

use crate::common::{Call, Input};
use cloakwork_ir::{DType, Field, Group, ShapeItem};
use cloakwork_ops::{Code, OpError, Source};

fn transcript(capacity: u64, absorbed: u64, proven: u64) -> Vec<i64> {
    let head = [absorbed, proven].map(u64::to_le_bytes).concat();
    let mut bytes: Vec<i64> = head.into_iter().map(i64::from).collect();
    bytes.resize(16 + 2 * capacity as usize, 0);
    bytes
}

fn on(op: &str, capacity: u64, (absorbed, proven): (u64, u64)) -> Call {
    let bytes = transcript(capacity, absorbed, proven);
    Call::new(op).typed("transcript", DType::U8, &[16 + 2 * capacity], &bytes)
}

fn refused(call: &Call) -> OpError {
    call.infer().unwrap_err()
}

#[test]
fn a_transcript_takes_what_it_has_room_for() {
    let absorb = |absorbed, proven| {
        on("absorb", 40, (absorbed, proven)).typed(
            "value",
            DType::Field(Field::BN254_FR),
            &[1],
            &[0; 4],
        )
    };
    assert!(absorb(7, 7).infer().is_ok());
    for (absorbed, proven) in [(8, 0), (0, 8), (u64::MAX, 0)] {
        let error = refused(&absorb(absorbed, proven));
        assert_eq!(
            (error.code, error.operand),
            (Code::Transcript, "transcript")
        );
        assert!(error.hint.contains("larger capacity"), "{error}");
    }
    assert!(on("transcript_squeeze", 40, (39, 0)).infer().is_ok());
    refused(&on("transcript_squeeze", 40, (40, 0)));
    let tiny = on("absorb", 4, (0, 0)).typed("value", DType::Field(Field::BN254_FR), &[1], &[0; 4]);
    assert!(refused(&tiny).expected.contains("room"));
}

#[test]
fn a_proof_has_the_length_that_is_said() {
    assert!(
        on("transcript_finish", 40, (40, 3))
            .int("length", 3)
            .infer()
            .is_ok()
    );
    let other = on("transcript_finish", 40, (40, 3)).int("length", 4);
    assert!(refused(&other).expected.contains("4 bytes"));
    let beyond = on("transcript_finish", 40, (40, 3)).int("length", 41);
    assert_eq!(refused(&beyond).operand, "length");
}

#[test]
fn no_point_at_infinity_is_absorbed() {
    let points = |words: &[i64]| {
        let call = on("absorb_write", 400, (0, 0));
        call.typed("value", DType::Point(Group::BN254_G1), &[2], words)
    };
    let mut words = [0; 16];
    words[7] = 5;
    words[8] = 1;
    assert!(points(&words).infer().is_ok());
    words[8] = 0;
    let error = refused(&points(&words));
    assert_eq!((error.code, error.operand), (Code::Element, "value"));
    assert!(error.got.contains("place 1"), "{error}");
    // The zero of a field is a scalar like any other.
    let zero =
        on("absorb", 400, (0, 0)).typed("value", DType::Field(Field::BN254_FR), &[1], &[0; 4]);
    assert!(zero.infer().is_ok());
}

#[test]
fn a_challenge_passes_its_digest_through_memory_of_its_own() {
    let call = on("challenge", 40, (0, 0))
        .int("hash", 1)
        .with("dtype", Input::DType(DType::Field(Field::GOLDILOCKS)));
    let call = call.completed().unwrap();
    let launches = call.launches();
    assert_eq!(launches[0].operands[0].source, Source::Temporary(DType::U8));
    assert_eq!(launches[1].operands[1].source, Source::Temporary(DType::U8));
    assert_eq!(*launches[0].params, [96, 1, 1]);
}

#[test]
fn blinding_writes_its_range_alone() {
    let call = Call::new("blind")
        .typed("a", DType::Field(Field::GOLDILOCKS), &[9], &[0; 9])
        .typed("key", DType::U8, &[32], &[0; 32])
        .int("start", 4)
        .int("end", 7)
        .int("domain", -2);
    let launch = call.launches().remove(0);
    assert_eq!((&*launch.dims, launch.operands[0].offset), (&[3][..], 4));
    assert_eq!(*launch.params, [1, -2]);
    for (start, end) in [(5, 4), (0, 10)] {
        let wrong = call.clone().int("start", start).int("end", end);
        assert_eq!(refused(&wrong).code, Code::Range);
    }
}

#[test]
fn draws_are_of_fields_and_hashes_of_one_to_sixteen() {
    let draw = |dtype| {
        Call::new("uniform_field")
            .typed("key", DType::U8, &[32], &[0; 32])
            .with("shape", Input::Shape(vec![ShapeItem::Int(3)]))
            .with("dtype", Input::DType(dtype))
            .int("domain", 0)
    };
    assert!(draw(DType::Field(Field::BABYBEAR)).infer().is_ok());
    assert_eq!(refused(&draw(DType::U64)).code, Code::Dtype);
    for (count, fits) in [(0, false), (1, true), (16, true), (17, false)] {
        let words = vec![0; 8 * count as usize];
        let call =
            Call::new("poseidon").typed("a", DType::Field(Field::BN254_FR), &[2, count], &words);
        assert_eq!(call.infer().is_ok(), fits, "{count}");
    }
}
