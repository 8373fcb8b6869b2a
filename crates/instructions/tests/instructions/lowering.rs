//! Lowering of instructions to ops.

use cloakwork_formats::zk::{Ast, Canonical, Files, parse};
use cloakwork_instructions::{Lowered, lower};
use cloakwork_ir::{HostTensor, Shape, text};
use std::collections::HashMap;

/// Lowered without files; elements of fields are taken as they are, padded to their size.
pub fn lowered(ast: &Ast) -> Lowered {
    let files = Files::Memory(HashMap::new());
    lower(ast, &files, &|canonical: &Canonical| {
        if canonical.dtype.is_number() {
            return Ok(canonical.words.clone());
        }
        let dims = canonical.words.view().shape.dims();
        let (_, outer) = dims.split_last().unwrap();
        let elements: u64 = outer.iter().product();
        let bytes = canonical.words.bytes().as_slice();
        let each = canonical.dtype.size_bytes();
        let kept = bytes.chunks(bytes.len() / elements.max(1) as usize);
        let kept: Vec<u8> = kept.flat_map(|e| e[..each].iter().copied()).collect();
        HostTensor::from_vec(canonical.dtype, Shape::new(outer).unwrap(), kept)
            .map_err(|e| e.to_string())
    })
}

/// The lowered text of instructions over some goldilocks registers, and what is wrong.
fn text_of(main: &str) -> (String, Vec<String>) {
    let program = format!(
        "program version=1\ninput x type=goldilocks<8> device=cpu consume=true\n\
         stream s device=gpu:0\nevent e kind=thread\n\
         constant two type=goldilocks values=[2]\nmain {{\nLoadInput src=x dst=x\n{main}\n\
         Return id=x\n}}"
    );
    let parsed = parse(program.as_bytes()).unwrap();
    assert_eq!(parsed.findings, []);
    let lowered = lowered(&parsed.ast);
    let printed = text::print(&lowered.program);
    assert_eq!(text::print(&text::parse(&printed).unwrap()), printed);
    let found = lowered.findings.iter().map(|f| format!("{} {f}", f.code));
    let steps = printed
        .lines()
        .skip_while(|line| !line.contains("main/1\""));
    let steps = steps.take_while(|line| !line.contains("-> output \"x\""));
    // What is not a register's own is named after one: only its number counts here.
    let clean = |line: &str| {
        let step = line.split_once(" label ").map_or(line, |(step, _)| step);
        let parts = step.split('"').map(|part| match part.split_once("#v") {
            Some((_, number)) => format!("#{number}"),
            None => part.to_owned(),
        });
        parts.collect::<Vec<_>>().join("\"")
    };
    (
        steps.map(clean).collect::<Vec<_>>().join("\n"),
        found.collect(),
    )
}

fn becomes(main: &str, expected: &[&str]) {
    let (steps, found) = text_of(main);
    assert_eq!(
        (steps.as_str(), found),
        (expected.join("\n").as_str(), vec![]),
        "{main}"
    );
}

#[test]
fn windows_are_cut_at_their_wrap() {
    becomes(
        "Rotation src=x dst=r shift=3\nAllocate id=o device=cpu typ=goldilocks<8>\n\
         FuncCall func=add arg_mut=[o] arg=[r, x]\nDeallocate id=o",
        &[
            "%\"r#0\" = slice %x, [5:8:1]",
            "%\"r#1\" = slice %x, [0:5:1]",
            "%o = empty [8], goldilocks at \"cpu\"",
            "%\"#1\" = slice %o, [0:3:1]",
            "%\"#2\" = slice %x, [0:3:1]",
            "%\"#1\" = add %\"r#0\", %\"#2\", %\"#1\"",
            "%\"#3\" = slice %o, [3:8:1]",
            "%\"#4\" = slice %x, [3:8:1]",
            "%\"#3\" = add %\"r#1\", %\"#4\", %\"#3\"",
            "free %o",
        ],
    );
}

#[test]
fn functions_that_want_one_piece_get_a_copy_behind_their_stream() {
    becomes(
        "Rotation src=x dst=r shift=1\nFuncCall func=batch_invert arg_mut=[r] stream=s",
        &[
            "%\"r#0\" = slice %x, [7:8:1]",
            "%\"r#1\" = slice %x, [0:7:1]",
            "%\"#1\" = empty [8], goldilocks at \"cpu\"",
            "%\"#2\" = slice %\"#1\", [0:1:1]",
            "%\"#2\" = copy %\"r#0\", %\"#2\" on \"s\"",
            "%\"#3\" = slice %\"#1\", [1:8:1]",
            "%\"#3\" = copy %\"r#1\", %\"#3\" on \"s\"",
            "%\"#4\" = empty [8], goldilocks at \"cpu\"",
            "%\"#4\" = batch_invert %\"#1\", 0, %\"#4\" on \"s\"",
            "%\"#5\" = slice %\"#4\", [0:1:1]",
            "%\"r#0\" = copy %\"#5\", %\"r#0\" on \"s\"",
            "%\"#6\" = slice %\"#4\", [1:8:1]",
            "%\"r#1\" = copy %\"#6\", %\"r#1\" on \"s\"",
            "free %\"#1\" on \"s\"",
            "free %\"#4\" on \"s\"",
        ],
    );
}

#[test]
fn operands_with_a_step_are_cut_where_another_wraps() {
    becomes(
        "Rotation src=x dst=r shift=1\nSetSliceMeta src=x dst=m offset=6 len=4\n\
         Slice src=x dst=even start=0 end=8 step=2\n\
         FuncCall func=add arg_mut=[even] arg=[even, even]\n\
         Allocate id=o device=cpu typ=goldilocks<4>\n\
         FuncCall func=add arg_mut=[o] arg=[m, even]\nDeallocate id=o",
        &[
            "%\"r#0\" = slice %x, [7:8:1]",
            "%\"r#1\" = slice %x, [0:7:1]",
            "%\"m#0\" = slice %x, [6:8:1]",
            "%\"m#1\" = slice %x, [0:2:1]",
            "%even = slice %x, [0:8:2]",
            "%even = add %even, %even, %even",
            "%o = empty [4], goldilocks at \"cpu\"",
            "%\"#1\" = slice %o, [0:2:1]",
            "%\"#2\" = slice %even, [0:2:1]",
            "%\"#1\" = add %\"m#0\", %\"#2\", %\"#1\"",
            "%\"#3\" = slice %o, [2:4:1]",
            "%\"#4\" = slice %even, [2:4:1]",
            "%\"#3\" = add %\"m#1\", %\"#4\", %\"#3\"",
            "free %o",
        ],
    );
}

#[test]
fn a_scalar_in_coefficients_touches_the_first_only() {
    becomes(
        "LoadConstant src=two dst=two\n\
         FuncCall func=add arg_mut=[x] arg=[x, two] attrs={scalar_at=constant_term}\n\
         FuncCall func=sub arg_mut=[x] arg=[two, x] attrs={scalar_at=constant_term}\n\
         FuncCall func=sub arg_mut=[x] arg=[x, two] attrs={scalar_at=all}",
        &[
            "%two = host_to_device goldilocks[] {2} at \"cpu\"",
            "%\"#1\" = slice %x, [0] as \"coef\"",
            "%\"#1\" = add %\"#1\", %two, %\"#1\" as \"coef\"",
            "%x = negative %x, %x as \"coef\"",
            "%\"#2\" = slice %x, [0] as \"coef\"",
            "%\"#2\" = add %\"#2\", %two, %\"#2\" as \"coef\"",
            "%x = subtract %x, %two, %x",
        ],
    );
}

#[test]
fn registers_of_other_threads_have_their_windows() {
    becomes(
        "Fork new_thread=t {\nWait event=e\nElement src=r dst=s index=7\nDeallocate id=s\n}\n\
         Rotation src=x dst=r shift=2\nRecord event=e\nJoin thread=t\n\
         Allocate id=s device=cpu typ=goldilocks",
        &[
            "fork \"t\"",
            "%\"r#0\" = slice %x, [6:8:1]",
            "%\"r#1\" = slice %x, [0:6:1]",
            "record \"e\"",
            "join \"t\"",
            "%s = empty [], goldilocks at \"cpu\"",
        ],
    );
    let example = parse(super::changed::EXAMPLE.as_bytes()).unwrap();
    assert_eq!(lowered(&example.ast).findings, []);
}

#[test]
fn tuples_have_parts_that_stand_for_registers() {
    becomes(
        "Rotation src=x dst=r shift=2\nAssembleTuple vars=[x, r] dst=t\n\
         MoveRegister src=t.1 dst=q\nFuncCall func=mul arg_mut=[t.0] arg=[t.0, x]\n\
         RemoveRegister id=q",
        &[
            "%\"r#0\" = slice %\"x#all\", [6:8:1]",
            "%\"r#1\" = slice %\"x#all\", [0:6:1]",
            "%t.0 = slice %x, [0:8:1]",
            "%\"t.1#0\" = slice %\"r#0\", [0:2:1]",
            "%\"t.1#1\" = slice %\"r#1\", [0:6:1]",
            "move %\"t.1#0\", %\"q#0\"",
            "move %\"t.1#1\", %\"q#1\"",
            "%t.0 = multiply %t.0, %x, %t.0",
            "forget %\"q#0\"",
            "forget %\"q#1\"",
        ],
    );
}

#[test]
fn devices_that_draw_get_the_key_with_and_without_declarations_of_registers() {
    let program = |declared: &str| {
        let text = format!(
            "program version=1 curve=bn254\n{declared}main {{\n\
             Allocate id=g device=sim:1 typ=bn254.fr<4>\nRotation src=g dst=r shift=1\n\
             Blind dst=r start=0 end=4\nAllocate id=h device=sim:2 typ=bn254.fr<4>\n\
             FuncCall func=random arg_mut=[h]\nAllocate id=c device=cpu typ=bn254.fr<4>\n\
             Blind dst=c start=1 end=2\nDeallocate id=g\nDeallocate id=h\nReturn id=c\n}}"
        );
        let lowered = lowered(&parse(text.as_bytes()).unwrap().ast);
        assert_eq!(lowered.findings, []);
        text::print(&lowered.program)
    };
    let bare = program("");
    let register = |name: &str, on: &str| format!("register {name} type=bn254.fr<4> device={on}\n");
    let declared = [
        register("g", "sim:1"),
        register("r", "sim:1"),
        register("h", "sim:2"),
    ];
    assert_eq!(program(&declared.concat()), bare);
    let keys: Vec<&str> = bare
        .lines()
        .filter(|line| line.contains("input \"#key\""))
        .collect();
    assert_eq!(keys.len(), 3, "{bare}");
    for (on, key) in ["cpu", "sim:1", "sim:2"].iter().zip(keys) {
        assert!(key.contains(&format!("at \"{on}\"")), "{key}");
    }
}

#[test]
fn a_register_that_is_returned_twice_is_downloaded_once() {
    let parsed = parse(
        b"program version=1\ninput x type=goldilocks<8> device=cpu\nmain {\n\
          LoadInput src=x dst=x\nAssembleTuple vars=[x, x] dst=t\nReturn id=[t, x, t.0, t, x]\n}",
    );
    let lowered = lowered(&parsed.unwrap().ast);
    assert_eq!(lowered.findings, []);
    let printed = text::print(&lowered.program);
    for name in ["t.0", "t.1", "x"] {
        let download = format!("-> output \"{name}\"");
        assert_eq!(printed.matches(&download).count(), 1, "{printed}");
    }
}
