//! Bad transcripts: each error names the place, what was expected and what came.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common::{assert_refused, fixture};
use cloakwork_formats::{LoadError, load, parse_heal, save_heal};
use cloakwork_ir::{Arg, Builder, DType, HostSlot, Program, Shape, ShapeItem, Type};
use std::fs;

#[test]
fn malformed_json_is_refused_with_line_and_column() {
    for (text, parts) in [
        ("", &["line 1, column 1", "a value", "end of the file"][..]),
        (
            "[\n  {\"name\": ?}]",
            &["line 2, column 12", "step 0", "`?`"],
        ),
        (
            "[[null, null],\n]",
            &[
                "line 2, column 1",
                "step 1".split_at(0).0,
                "a comma may not",
            ],
        ),
        ("[[null, null]", &["`,` or `]`", "cut short"]),
        ("[[null, null] [null, null]]", &["`,` or `]`", "an array"]),
        ("[[null, null]] x", &["the end of the file", "`x`"]),
        ("[{'name': 1}]", &["a key in double quotes", "`'`"]),
        ("[{\"name\" 1}]", &["`:`", "the number 1"]),
        ("[{\"name\": \"abc", &["a string that ends", "cut short"]),
        ("[{\"name\": \"a\nb\"}]", &["control characters", "\\n"]),
        ("[{\"name\": \"a\\qb\"}]", &["an escape of JSON", "`\\qb`"]),
        ("[{\"name\": \"\\ud800\"}]", &["an escape of JSON"]),
        ("[{\"name\": nil}]", &["a string", "`nil`"]),
        (
            "[{\"name\": \"x\", \"args\": [ ... ]}]",
            &["excerpt", "must be whole"],
        ),
        ("[{\"x\": 01}]", &["a number", "`0`"]),
        ("[{\"x\": 1.}]", &["a number"]),
        ("[{\"x\": NaN}]", &["a value", "`NaN`"]),
        ("[/* no */]", &["`/`"]),
    ] {
        assert_refused(parse_heal(text.as_bytes()), parts);
    }
    assert_refused(parse_heal(b"[{\"name\": \"\xff\"}]"), &["UTF-8", "byte 11"]);
}

#[test]
fn entries_of_no_known_kind_are_refused_with_their_step() {
    let prefix = "[[null, null], ";
    for (entry, parts) in [
        ("7", &["step 1", "[1]", "an entry", "the number 7"][..]),
        ("[]", &["step 1", "two values", "0 values"]),
        ("[null]", &["1 values"]),
        ("[null, null, null]", &["[1][2]", "two values", "`null`"]),
        (
            "[\"DEVICE_OPS\", {}]",
            &["[1][0]", "DEVICE_OP, FREE", "\"DEVICE_OPS\""],
        ),
        (
            "[{\"__type__\": \"Other\", \"value\": \"DEVICE_OP\"}, {}]",
            &["ExecutionTranscriptOpType"],
        ),
        (
            "[\"DEVICE_OP\", null]",
            &["an object with name, args and out"],
        ),
        ("[\"DEVICE_OP\", {\"args\": []}]", &["the key name"]),
        ("[\"DEVICE_OP\", {\"name\": \"x\"}]", &["the key args"]),
        (
            "[\"DEVICE_OP\", {\"name\": 1, \"args\": []}]",
            &["[1][1].name", "a string"],
        ),
        (
            "[\"DEVICE_OP\", {\"name\": \"x\", \"args\": {}}]",
            &["[1][1].args", "an array"],
        ),
        ("[\"FREE_DEVICE_TENSOR\", {}]", &["tensor_name"]),
        (
            "[\"FREE_DEVICE_TENSOR\", null]",
            &["a tensor's name", "`null`"],
        ),
        ("[\"SEGMENT_START\", 1]", &["a string", "the number 1"]),
        ("{}", &["the key type"]),
        (
            "{\"type\": \"FREE_DEVICE_TENSOR\"}",
            &["the key tensor_name"],
        ),
        (
            "{\"name\": \"x\", \"args\": [], \"output\": [null, null]}",
            &["one result"],
        ),
    ] {
        assert_refused(parse_heal(format!("{prefix}{entry}]").as_bytes()), parts);
    }
}

#[test]
fn objects_that_hold_no_transcript_are_refused() {
    for (text, parts) in [
        ("{}", &["the key transcript"][..]),
        (
            "{\"__type__\": \"DeviceOp\", \"transcript\": []}",
            &["\"ExecutionTranscript\"", "\"DeviceOp\""],
        ),
        ("{\"transcript\": 3}", &["transcript:", "an array"]),
        (
            "{\"transcript\": [], \"transcript\": []}",
            &["one transcript"],
        ),
        (
            "{\"name\": \"x\", \"args\": []}",
            &["the key transcript", "list of entries"],
        ),
        ("3", &["a transcript"]),
    ] {
        assert_refused(parse_heal(text.as_bytes()), parts);
    }
}

/// Two steps; the second argument of the second is a tensor with this base64.
fn with_payload(data: &str) -> String {
    let int = r#"{"arg_type": "INT", "value": 1}"#;
    let tensor = format!(r#"{{"tensor_base64": {{"type": "numpy", "data": "{data}"}}}}"#);
    let host = format!(r#"{{"arg_type": "HOST_TENSOR", "value": {tensor}}}"#);
    format!("[[null, null],\n{{\"name\": \"x\", \"args\": [{int}, {host}]}}]")
}

#[test]
fn payloads_that_cannot_be_decoded_are_refused_with_step_argument_and_place() {
    let text = with_payload("k05VTVBZ!AAA");
    let at = text.find('!').unwrap() as u64;
    match parse_heal(text.as_bytes()).unwrap_err() {
        LoadError::Payload {
            place,
            step: 1,
            path,
            ..
        } => {
            assert_eq!((place.line, place.offset, &*path), (2, at, "args[1]"));
        }
        other => panic!("{other}"),
    }
    assert_refused(parse_heal(text.as_bytes()), &["base64, character 8", "`!`"]);
    assert_refused(
        parse_heal(with_payload("k05V").as_bytes()),
        &["step 1, args[1]", "magic"],
    );
    assert_refused(parse_heal(with_payload("").as_bytes()), &["magic"]);
    assert_refused(
        parse_heal(with_payload("k05VTV").as_bytes()),
        &["multiple of 4"],
    );
    let out = with_payload("").replace("\"args\": [", "\"args\": [], \"output\": [");
    let out = out.replace("{\"arg_type\": \"INT\", \"value\": 1}, ", "");
    assert_refused(parse_heal(out.as_bytes()), &["step 1, out", "magic"]);
}

#[test]
fn nesting_without_end_is_refused_at_once() {
    // Each takes microseconds; what follows the nesting would take days.
    for (open, parts) in [
        ("[", &["an array"][..]),
        ("{\"transcript\":", &[]),
        ("[{\"x\":", &["128 levels"]),
        ("{\"x\":", &["128 levels"]),
        ("[[null,", &[]),
        (
            "[{\"name\":\"x\",\"args\":[{\"arg_type\":\"SHAPE\",\"value\":[",
            &[],
        ),
        ("[[null,[[[", &["128 levels"]),
    ] {
        assert_refused(
            parse_heal(open.repeat(10_000_000 / open.len()).as_bytes()),
            parts,
        );
    }
}

#[test]
fn every_prefix_of_a_transcript_is_refused() {
    for name in ["typed.json", "simplified.json"] {
        let text = fs::read(fixture(name)).unwrap();
        let end = text.iter().rposition(|&c| c == b']' || c == b'}').unwrap();
        for length in (0..=end).step_by(7) {
            assert!(
                parse_heal(&text[..length]).is_err(),
                "{length} bytes of {name} were enough"
            );
        }
    }
}

#[test]
fn other_kinds_of_file_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for (contents, parts) in [
        (&b""[..], "an empty file"),
        (b"\x1f\x8b\x08\x00", "a gzip file"),
        (b"\x00\x01", "`\\0`"),
    ] {
        let path = folder.path().join("file.json");
        fs::write(&path, contents).unwrap();
        assert_refused(load(&path), &[parts]);
    }
}

/// A program that the transcript form cannot say, and the message.
fn unsayable(build: impl FnOnce(&mut Builder)) -> String {
    let mut builder = Builder::new();
    builder.program.steps.push(cloakwork_ir::Step::Skip);
    build(&mut builder);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.json");
    fs::write(&path, "before").unwrap();
    let message = save_heal(&builder.program, &path).unwrap_err().to_string();
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "before",
        "the file was touched"
    );
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "something was left behind"
    );
    message
}

#[test]
fn saving_what_a_transcript_cannot_say_names_the_step_and_leaves_nothing() {
    let ty = Type::new(DType::I64, Shape::scalar());
    let input = HostSlot::Input {
        name: "image".to_owned(),
        ty,
    };
    let message = unsayable(|b| _ = b.upload(input));
    assert!(
        message.contains("step 1 (host_to_device), args[0]"),
        "{message}"
    );
    assert!(
        message.contains("the input \"image\"") && message.contains("container"),
        "{message}"
    );
    let message = unsayable(|b| _ = b.empty(DType::I64, &Shape::scalar()));
    assert!(message.contains("step 1 (empty), out"), "{message}");
    assert!(message.contains("dtype"), "{message}");
    let message = unsayable(|b| {
        b.program
            .push_op("x", [Arg::Invalid("the sea".into())], None)
    });
    assert!(
        message.contains("step 1 (x), args[0]") && message.contains("the sea"),
        "{message}"
    );
    let item = ShapeItem::Invalid("the sky".into());
    let message = unsayable(|b| b.program.push_op("x", [Arg::Shape([item].into())], None));
    assert!(message.contains("the sky"), "{message}");
}

#[test]
fn saving_to_nowhere_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing").join("out.json");
    let message = save_heal(&Program::new(), missing).unwrap_err().to_string();
    assert!(
        message.starts_with("cannot write") && message.contains("out.json"),
        "{message}"
    );
    let message = save_heal(&Program::new(), "/").unwrap_err().to_string();
    assert!(message.contains("file name"), "{message}");
}
