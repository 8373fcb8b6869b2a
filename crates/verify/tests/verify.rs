//! Tests beside the program tests: programs made by hand, other forms of a program, and size.
#![allow(missing_docs)]

use cloakwork_ir::{
    Arg, Builder, DType, Finding, Generation, HostSlot, Program, Severity, Shape, Step, Symbol,
    text,
};
use cloakwork_verify::{MAX_FINDINGS, annotate, verify, with_frees};
use std::sync::Arc;

fn parse(source: &str) -> Program {
    text::parse(source).unwrap_or_else(|error| unreachable!("{error} in {source}"))
}

fn findings(program: Program) -> Vec<Finding> {
    verify(Arc::new(program)).findings
}

fn codes(program: Program) -> Vec<(u32, &'static str)> {
    findings(program)
        .iter()
        .map(|finding| (finding.step, finding.code))
        .collect()
}

/// The program as HEAL's form has it, and the ops that HEAL has not.
fn annotated(source: &str) -> (String, Vec<(u32, String)>) {
    let verification = verify(Arc::new(parse(source)));
    let Some(verified) = verification.verified else {
        unreachable!("{:?}", verification.findings);
    };
    let annotated = annotate(&verified, Generation::Later);
    (text::print(&annotated.program), annotated.foreign)
}

#[test]
fn heal_form_spells_ops_as_heal_does_and_names_every_dtype() {
    let (printed, foreign) = annotated(
        "%a = host_to_device i64[2] {1, 2}
         %o = empty [2], i64
         %o = modmul %a, 3, 17, %o
         %o = mod %o, %a, %o
         %d = allocate_on_hardware [2, 4], i8
         %d = g_decomposition %o, %d, 4, 2
         %o = modneg %o, 17, %o
         device_to_host %o -> output \"y\"
         free %a
         free %o
         free %d",
    );
    let expected = "\
%a:i64 = host_to_device i64[2] {1, 2}
%o:i64 = empty [2], i64
%o:i64 = _modmul_tcc %a:i64, 3, 17, %o:i64
%o:i64 = _mod_tt %o:i64, %a:i64, %o:i64
%d:i8 = empty [2, 4], i8
%d:i8 = apply_g_decomp %o:i64, 4, 2, %d:i8
%o:i64 = _modneg_tc %o:i64, 17, %o:i64
device_to_host %o:i64, none -> output \"y\"
free %a
free %o
free %d
";
    assert_eq!(printed, expected);
    assert_eq!(foreign, []);
}

#[test]
fn heal_form_is_of_the_later_generation() {
    let (printed, _) = annotated(
        "generation first
         %a = host_to_device i64[1, 2] {1, 2}
         %b = expand %a, 3, 0",
    );
    let expected = "\
%a:i64 = host_to_device i64[1, 2] {1, 2}
%b:i64 = expand %a:i64, 0, 3
";
    assert_eq!(printed, expected);
}

#[test]
fn ops_that_heal_has_not_are_listed() {
    let (printed, foreign) = annotated(
        "%a = host_to_device u64[2] {1, 2}
         %o = empty [2], i64
         %o = ternary %a, %o",
    );
    assert!(printed.contains("%o:i64 = ternary %a:u64, %o:i64"));
    assert_eq!(foreign, [(2, "ternary".to_owned())]);
}

#[test]
fn frees_stand_behind_last_uses_and_only_where_they_lack() {
    let program = parse(
        "%a = host_to_device i64[2] {1, 2}
         %b = reshape %a, [2]
         free %b
         %b = reshape %a, [1, 2]
         skip",
    );
    let expected = "\
%a = host_to_device i64[2] {1, 2}
%b = reshape %a, [2]
free %b
%b = reshape %a, [1, 2]
free %a
free %b
skip
";
    let freed = with_frees(program);
    assert_eq!(text::print(&freed), expected);
    assert_eq!(findings(freed), []);
}

#[test]
fn findings_beyond_the_limit_are_counted() {
    let mut program = Program::new();
    for _ in 0..2 * MAX_FINDINGS {
        program.push_op("nothing_like_it", [], None);
    }
    let findings = findings(program);
    assert_eq!(findings.len(), MAX_FINDINGS + 1);
    let last = findings.last().expect("there are findings");
    let words = (last.code, last.severity, last.got.as_str());
    assert_eq!(words, ("limits", Severity::Warning, "20000"));
}

#[test]
fn symbols_and_hosts_that_are_not_there_are_findings() {
    let mut program = Program::new();
    let stranger = Symbol(u32::MAX);
    let args = [Arg::Device(stranger, None), Arg::Shape([].into())];
    program.push_op("reshape", args, Some(Arg::Device(stranger, None)));
    program.push_op("host_to_device", [Arg::Host(cloakwork_ir::HostId(7))], None);
    program.steps.push(Step::Free(stranger));
    let expected = [
        (0, "undefined-name"),
        (1, "argument-type"),
        (2, "undefined-name"),
    ];
    assert_eq!(codes(program), expected);
}

#[test]
fn contents_are_known_until_something_writes_them() {
    let program = parse(
        "%q = host_to_device i64[2] {17, 19}
         %a = host_to_device i64[2] {1, 2}
         %v = get_slice %q, [1:2:1]
         %a = _modsum_ttt %a, %a, %v, %a
         %q = set_const_val %q, 5
         %a = _modsum_ttt %a, %a, %v, %a",
    );
    let verified = verify(Arc::new(program)).verified.expect("no errors");
    let constants: Vec<Option<Vec<i64>>> = verified
        .actions()
        .iter()
        .filter_map(|(_, action)| action.call().filter(|call| call.def.name == "modsum"))
        .map(|call| {
            let q = call.def.param("q").expect("modsum has moduli");
            verified.constant(call, q).map(|tensor| tensor.words())
        })
        .collect();
    assert_eq!(constants, [Some(vec![19]), None]);
}

#[test]
fn segments_are_known_by_step() {
    let program = parse("skip\nsegment \"a\" {\nsegment \"b\" { skip }\nskip }\nskip");
    let verified = verify(Arc::new(program)).verified.expect("no errors");
    let name = |step| {
        verified
            .segment_of(step)
            .map(|text| verified.program().text_name(text))
    };
    let names: Vec<Option<&str>> = (0..8).map(name).collect();
    let (a, b) = (Some("a"), Some("b"));
    assert_eq!(names, [None, a, b, b, b, a, a, None]);
}

/// Were each step to look at the permutation of 2^12, this test would take minutes.
#[test]
fn large_constants_are_looked_at_once() {
    let mut builder = Builder::new();
    builder.program.generation = Generation::Later;
    let source = "f i64[4096] iota, i64[1] {12289}, i64[1, 4096] iota, i64[1, 1, 1, 4096] iota";
    let hosts = parse(source).hosts;
    let uploads: Vec<Symbol> = hosts
        .into_iter()
        .map(|slot: HostSlot| builder.upload(slot))
        .collect();
    let [perm, q, psi, a] = uploads[..] else {
        unreachable!("there are four literals");
    };
    let shape = Shape::new(&[1, 1, 1, 4096]).expect("a small shape");
    let out = builder.empty(DType::I64, &shape);
    let device = |symbol| Arg::Device(symbol, None);
    for _ in 0..100_000 {
        let args = [
            device(a),
            Arg::Int(-1),
            device(perm),
            Arg::None,
            device(q),
            Arg::None,
            Arg::None,
            device(psi),
            device(out),
            Arg::Int(0),
            Arg::Int(0),
        ];
        builder.call_into("ntt", args, out);
    }
    assert!(verify(Arc::new(builder.program)).verified.is_some());
}
