//! The forms of a transcript, and what stays in a program that makes no sense.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common::{assert_refused, assert_same, described, fixture};
use cloakwork_formats::{load, parse_heal, save_heal};
use cloakwork_ir::{Arg, DType, Generation, HostSlot, Program, ShapeItem, Step};
use std::fs;

fn parse(text: &str) -> Program {
    parse_heal(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

/// The arguments of the only step, whose JSON is given.
fn args(args: &str) -> Vec<Arg> {
    let program = parse(&format!(r#"[{{"name": "x", "args": [{args}]}}]"#));
    let [Step::Op(op)] = program.steps.as_slice() else {
        panic!("not one step")
    };
    program.args(op).to_vec()
}

fn invalid(json: &str) -> String {
    match args(json).as_slice() {
        [Arg::Invalid(said)] => said.to_string(),
        [Arg::Shape(items)] => match &**items {
            [ShapeItem::Invalid(said)] => said.to_string(),
            other => panic!("{json} was understood as {other:?}"),
        },
        other => panic!("{json} was understood as {other:?}"),
    }
}

#[test]
fn what_python_wrote_saves_back_byte_for_byte() {
    let program = load(fixture("typed.json")).unwrap();
    let copy = tempfile::tempdir().unwrap();
    let copy = copy.path().join("copy.json");
    save_heal(&program, &copy).unwrap();
    let (got, expected) = (
        fs::read_to_string(copy),
        fs::read_to_string(fixture("typed.json")),
    );
    assert_eq!(got.unwrap(), expected.unwrap());
}

#[test]
fn the_typed_form_is_read_as_python_wrote_it() {
    let program = load(fixture("typed.json")).unwrap();
    let said = described(&program);
    assert_eq!(said.len(), 17);
    assert_eq!(said[0], "segment upload é 𝄞 \"quoted\"");
    assert_eq!(
        said[1],
        "%1:Some(I64) = host_to_device(Some(Data(HostTensor(i64[3, 2]))))"
    );
    assert_eq!(said[6], "skip");
    assert_eq!(
        said[8],
        "%4:Some(I64) = empty(Shape([Int(3), Int(2)]), DType(I64))"
    );
    assert_eq!(said[9], "%5:Some(I8) = empty(Shape([]), DType(I8))");
    let slice = "Slice { start: Some(0), stop: Some(2), step: Some(1) }";
    assert_eq!(
        said[10],
        format!("%-6:Some(I64) = get_slice(%4:Some(I64), Shape([{slice}, Int(1)]))")
    );
    assert!(said[11].contains("Int(2305843009213693953)"));
    assert!(said[12].ends_with("%4:Some(I64), Int(0), Int(1))"));
    assert_eq!(
        said[14],
        "Some(Data(HostTensor(i32[0, 2]))) = device_to_host(%4:Some(I64), None)"
    );
    assert_eq!(said[16], "free psi");
    let HostSlot::Data(psi) = &program.hosts[2] else {
        panic!("no data")
    };
    assert_eq!(psi.words(), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(psi.view().strides.as_slice(), [1, 2]);
}

#[test]
fn the_documents_form_says_the_same_without_dtypes() {
    let typed = described(&load(fixture("typed.json")).unwrap());
    let simplified = described(&load(fixture("simplified.json")).unwrap());
    let without: Vec<String> = typed
        .iter()
        .map(|step| {
            step.replace(":Some(I64)", ":None")
                .replace(":Some(I8)", ":None")
        })
        .collect();
    assert_eq!(simplified, without);
}

#[test]
fn equal_payloads_share_their_bytes() {
    let program = load(fixture("typed.json")).unwrap();
    let data = |host: usize| match &program.hosts[host] {
        HostSlot::Data(tensor) => tensor.bytes().as_slice().as_ptr(),
        other => panic!("{other:?}"),
    };
    assert_eq!(data(0), data(3));
    assert_ne!(data(0), data(1));
}

#[test]
fn entries_may_be_calls_by_themselves() {
    let program = parse(
        r#"[
        {"name": "a", "args": [], "out": {"arg_type": "DEVICE_TENSOR", "value": 5}},
        {"op": "b", "args": [{"arg_type": "INT", "value": 1}],
         "output": [{"value": {"inf_name": "x"}, "arg_type": "DEVICE_TENSOR"}]},
        {"op": "c", "args": [], "output": []},
        {"op": {"name": "d", "args": []}, "type": "DEVICE_OP"},
        {"tensor_name": 5, "type": "FREE_DEVICE_TENSOR"},
        {"type": "SEGMENT_START", "segment": "s"}, {"type": "SEGMENT_END"},
        [null, {"anything": [1]}], ["SEGMENT_START", "t"], ["FREE_DEVICE_TENSOR", "x"]
    ]"#,
    );
    assert_eq!(
        described(&program),
        [
            "%5:None = a()",
            "%x:None = b(Int(1))",
            "nothing = c()",
            "nothing = d()",
            "free 5",
            "segment s",
            "end",
            "skip",
            "segment t",
            "free x"
        ]
    );
}

#[test]
fn an_object_may_hold_more_than_the_transcript() {
    let program =
        parse(r#"{"meta": {"a": [1, {"b": null}]}, "transcript": [[null, null]], "z": 1}"#);
    assert_eq!(program.steps, [Step::Skip]);
    assert_eq!(parse("\u{feff}[] // done").steps, []);
}

#[test]
fn keys_come_in_any_order() {
    let straight = r#"{"arg_type": "HOST_TENSOR",
        "value": {"tensor_base64": {"type": "numpy", "data": "DATA"}}}"#;
    let reversed = r#"{"value": {"tensor_base64": {"data": "DATA", "type": "numpy"}},
        "arg_type": "HOST_TENSOR"}"#;
    let file = fs::read(fixture("negative.npy")).unwrap();
    let data = base64_simd::STANDARD.encode_to_string(&file);
    let program = |arg: &str| {
        parse(&format!(
            r#"[{{"name": "x", "args": [{}]}}]"#,
            arg.replace("DATA", &data)
        ))
    };
    assert_same(&program(reversed), &program(straight));
    // Escapes are allowed in JSON, and some encoders write `/` so.
    assert!(data.contains('/'), "the payload must have a slash");
    let escaped = straight.replace(
        "DATA",
        &data.replace('/', "\\/").replacen('A', "\\u0041", 1),
    );
    assert_same(&program(&escaped), &program(straight));
}

#[test]
fn arguments_are_read_by_their_type() {
    let typed = |ty: &str, value: &str| format!(r#"{{"arg_type": "{ty}", "value": {value}}}"#);
    for (ty, value, expected) in [
        ("INT", "-9223372036854775808", Arg::Int(i64::MIN)),
        ("INT", "true", Arg::Int(1)),
        ("NONE", "null", Arg::None),
        (
            "TENSOR_TYPE",
            r#"{"__type__": "dtype", "value": "float32"}"#,
            Arg::DType(DType::F32),
        ),
        ("TENSOR_TYPE", r#""torch.int8""#, Arg::DType(DType::I8)),
        ("SHAPE", "[]", Arg::Shape([].into())),
        (
            "SHAPE",
            "[2, 3]",
            Arg::Shape([ShapeItem::Int(2), ShapeItem::Int(3)].into()),
        ),
    ] {
        assert_eq!(args(&typed(ty, value)), [expected]);
    }
    let item = r#"{"arg_type": "SLICE", "value": {"start": null, "stop": 4}},
        {"arg_type": "ELLIPSIS", "value": {}}"#;
    let slice = ShapeItem::Slice {
        start: None,
        stop: Some(4),
        step: None,
    };
    let expected = Arg::Shape([slice, ShapeItem::Ellipsis].into());
    assert_eq!(args(&typed("SHAPE", &format!("[{item}]"))), [expected]);
    assert_eq!(args("null"), [Arg::None]);
}

/// Arguments, and words that stand for them.
const WITHOUT_SENSE: &[(&str, &str)] = &[
    (
        r#"{"arg_type": "TENSOR", "value": 1}"#,
        r#"the argument type "TENSOR""#,
    ),
    (
        r#"{"arg_type": "HostTensor", "value": 1}"#,
        r#"the argument type "HostTensor""#,
    ),
    (r#"{"value": 1}"#, "an object without arg_type"),
    (r#"{"arg_type": "INT"}"#, "of type INT without value"),
    (
        r#"{"arg_type": null, "value": 1}"#,
        "the argument type null",
    ),
    (
        r#"{"arg_type": 3, "value": 1}"#,
        r#"the argument type "the number 3""#,
    ),
    (
        r#"{"__type__": "DeviceTensorPointer", "inf_name": 3}"#,
        r#"__type__ "DeviceTensorPointer""#,
    ),
    ("7", "the number 7 by itself"),
    ("true", "a bare `true`"),
    (r#"{"arg_type": "INT", "value": 1.5}"#, "the number 1.5"),
    (
        r#"{"arg_type": "INT", "value": 9223372036854775808}"#,
        "9223372036854775808",
    ),
    (
        r#"{"arg_type": "INT", "value": null}"#,
        "null where an integer",
    ),
    (r#"{"arg_type": "INT", "value": "1"}"#, r#"the string "1""#),
    (r#"{"arg_type": "NONE", "value": 0}"#, "the number 0"),
    (
        r#"{"arg_type": "TENSOR_TYPE", "value": "float16"}"#,
        r#"the dtype "float16""#,
    ),
    (
        r#"{"arg_type": "TENSOR_TYPE", "value": 64}"#,
        "the number 64 as dtype",
    ),
    (r#"{"arg_type": "SLICE", "value": {}}"#, "outside a SHAPE"),
    (
        r#"{"arg_type": "SHAPE", "value": 3}"#,
        "the number 3 as SHAPE",
    ),
    (r#"{"arg_type": "SHAPE", "value": [1.5]}"#, "the number 1.5"),
    (
        r#"{"arg_type": "SHAPE", "value": [{"arg_type": "SHAPE", "value": []}]}"#,
        "in a SHAPE",
    ),
    (
        r#"{"arg_type": "SHAPE", "value": [{"arg_type": "SLICE", "value": {"start": "0"}}]}"#,
        r#"the string "0""#,
    ),
    (
        r#"{"arg_type": "DEVICE_TENSOR", "value": {}}"#,
        "without inf_name",
    ),
    (
        r#"{"arg_type": "DEVICE_TENSOR", "value": {"inf_name": 1.0}}"#,
        "1.0 as the name",
    ),
    (
        r#"{"arg_type": "DEVICE_TENSOR",
                "value": {"inf_name": 1, "dtype": "torch.float16"}}"#,
        r#""torch.float16""#,
    ),
    (
        r#"{"arg_type": "HOST_TENSOR", "value": null}"#,
        "`null` as HOST_TENSOR",
    ),
    (
        r#"{"arg_type": "HOST_TENSOR", "value": {"tensor_base64": null}}"#,
        "without type",
    ),
    (
        r#"{"arg_type": "HOST_TENSOR", "value": {"type": "jax", "data": ""}}"#,
        r#""jax""#,
    ),
    (
        r#"{"arg_type": "HOST_TENSOR", "value": {"type": "torch"}}"#,
        "without data",
    ),
];

#[test]
fn arguments_without_sense_stay_in_words_for_the_verifier() {
    for (json, words) in WITHOUT_SENSE {
        let said = invalid(json);
        assert!(said.contains(words), "{json}: \"{said}\" lacks \"{words}\"");
    }
}

#[test]
fn bare_ids_of_the_overview_are_refused_because_they_could_be_constants() {
    let text = r#"[{"op": "modmul", "args": [1, 2, 7], "output": [3]}]"#;
    assert_refused(
        parse_heal(text.as_bytes()),
        &["step 0", "the number 1 by itself", "constant"],
    );
}

#[test]
fn the_generation_follows_from_the_forms_used() {
    let ntt = |count: usize| {
        let args = vec![r#"{"arg_type": "NONE", "value": null}"#; count].join(",");
        format!(r#"{{"name": "ntt", "args": [{args}]}}"#)
    };
    let generation = |entries: &[String]| parse(&format!("[{}]", entries.join(","))).generation;
    let flatten = r#"{"name": "flatten", "args": []}"#.to_owned();
    let int8 = r#"{"name": "empty", "args": [{"arg_type": "TENSOR_TYPE", "value": "int8"}]}"#;
    assert_eq!(generation(&[]), Generation::Later);
    assert_eq!(generation(&[ntt(10)]), Generation::First);
    assert_eq!(generation(&[ntt(11)]), Generation::Later);
    assert_eq!(generation(&[ntt(10), flatten]), Generation::Later);
    assert_eq!(generation(&[ntt(10), int8.to_owned()]), Generation::Later);
}

#[test]
fn the_text_form_is_a_file_too_and_what_is_wrong_with_it_has_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.cw");
    let written = "; a program\n%a = host_to_device i64[2] {3, 4}\n\
                   device_to_host %a, none -> output \"y\"\nfree %a\n";
    std::fs::write(&path, written).unwrap();
    let printed = cloakwork_ir::text::print(&load(&path).unwrap());
    assert!(written.ends_with(&printed), "{printed}");
    for (text, expected) in [
        (
            "%a = = copy\n",
            "line 1, column 6 (byte 5): expected the name of an op",
        ),
        ("; é\n%é = copy %a [\n", "line 2"),
    ] {
        std::fs::write(&path, text).unwrap();
        let error = load(&path).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    std::fs::write(&path, b"%a = copy %b\n\xff").unwrap();
    let error = load(&path).unwrap_err().to_string();
    assert!(
        error.contains("line 2, column 1 (byte 13): expected text in UTF-8"),
        "{error}"
    );
    std::fs::write(&path, "a note of somebody's\n").unwrap();
    assert!(load(&path).is_err());
}
