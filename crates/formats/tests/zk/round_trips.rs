//! A program reads back unchanged from each form that it is written in.

use cloakwork_formats::zk::{parse, to_json, to_text};
use proptest::prelude::*;

const EXAMPLE: &str = include_str!("../../../../examples/zk/windows.json");

/// Every instruction with every field, in the text form.
const EVERYTHING: &str = include_str!("../fixtures/instructions.txt");

#[test]
fn everything_reads_without_a_finding() {
    for text in [EVERYTHING, EXAMPLE] {
        let parsed = parse(text.as_bytes()).unwrap();
        let found: Vec<String> = parsed.findings.iter().map(ToString::to_string).collect();
        assert_eq!(found, Vec::<String>::new());
    }
}

#[test]
fn both_forms_hold_all_of_a_program() {
    for text in [EVERYTHING, EXAMPLE] {
        let ast = parse(text.as_bytes()).unwrap().ast;
        for written in [to_json(&ast), to_text(&ast)] {
            let again = parse(written.as_bytes()).unwrap();
            assert_eq!(again.findings, []);
            assert_eq!(again.ast, ast, "{written}");
            assert_eq!(to_json(&again.ast), to_json(&ast));
            assert_eq!(to_text(&again.ast), to_text(&ast));
        }
    }
}

fn names() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z][a-z0-9_.]{0,6}",
        "[ -\"$&-~é\\n]{1,8}",
        Just("true".to_owned())
    ]
}

proptest! {
    #[test]
    fn names_and_numbers_of_any_kind_come_back(
        name in names(), label in ".{0,12}", shift in -(1i64 << 40)..1 << 40,
        sizes in proptest::collection::vec(0u64..9, 0..4), flag: bool,
    ) {
        let text = |text: &str| serde_json::to_string(text).unwrap();
        let json = format!(
            r#"{{"format": "program", "version": 1, "registers": {{{}: {{"type":
               {{"Tensor": {{"dtype": "u64", "shape": {sizes:?}}}}}}}}}, "main": [
               {{"op": "Rotation", "src": {}, "dst": "b", "shift": {shift}, "track": {}}},
               {{"op": "FuncCall", "func": "f", "attrs": {{"x": {flag}, "y": {}}}}}]}}"#,
            text(&name), text(&name), text(&label), text(&label)
        );
        let parsed = parse(json.as_bytes()).unwrap();
        prop_assert_eq!(&parsed.findings, &[]);
        for written in [to_json(&parsed.ast), to_text(&parsed.ast)] {
            let again = parse(written.as_bytes()).unwrap();
            prop_assert_eq!(&again.ast, &parsed.ast, "{}", written);
        }
    }

    #[test]
    fn no_change_of_a_file_panics(
        at in 0usize..5000, byte: u8, cut in 0usize..5000, form in 0usize..2,
    ) {
        let mut bytes = [EVERYTHING, EXAMPLE][form].as_bytes().to_vec();
        let length = bytes.len();
        bytes[at % length] = byte;
        if cut % 3 == 0 {
            bytes.truncate(cut % length);
        }
        if let Ok(parsed) = parse(&bytes) {
            let _ = parse(to_json(&parsed.ast).as_bytes()).unwrap();
        }
    }
}
