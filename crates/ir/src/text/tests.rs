use super::{page, parse, print};
use crate::{Arg, HostSlot, Program, Step};

fn reprint(text: &str) -> String {
    parse(text).map_or_else(|error| error.to_string(), |program| print(&program))
}

fn data(program: &Program, index: usize) -> Vec<i64> {
    match program.hosts.get(index) {
        Some(HostSlot::Data(tensor)) => tensor.words(),
        _ => Vec::new(),
    }
}

#[test]
fn every_construct_prints_as_it_is_read() {
    let text = "\
generation first
%q = host_to_device i64[2] {17, -97}
%a = host_to_device input \"x\" i64[3, 2]
%t = host_to_device i64[2, 2] fortran {1, 2, 3, 4}
%f = host_to_device f64[4] {1.5, -0.0, 1e-300, 0x7ff0000000000000}
%long = host_to_device i32[100] fill 7
%range = host_to_device u64[4, 4] fortran iota
%o = empty [3, 2], i64
segment \"halves \\\"and\\\" more\" {
  %v = get_slice %o:i64, [0:3:2, ::, :-4:, 1, ...]
  segment \"inner\" {
    device_to_host %v, none -> i64[2] {1, 2}
  }
}
\"free\" %a, 5 -> none
%\"a name\" = \"an op\" %\"\", invalid \"why\", [invalid \"what\"]
no_arguments
skip
device_to_host %o, none -> output \"y\"
free %o
";
    assert_eq!(reprint(text), text);
}

#[test]
fn programs_of_several_threads_print_as_they_are_read() {
    let text = "\
registers
stream \"s\" at \"gpu:0\"
event \"e\" at \"gpu:0\"
event \"f\"
budget \"sim:3\" 1024
budget \"cpu\" 18446744073709551615
consume \"x\"
%a = empty [4], bn254.fr at \"gpu:0\" pool \"p\" 64 label \"first\"
copy %x, %a on \"s\"
record \"e\" on \"s\"
fork \"t\"
join \"t\"
move %a, %b
free %b
thread \"t\" {
  segment \"inner\" {
    wait \"e\"
  }
  forget %v
  record \"f\"
}
thread \"never\" {
}
thread \"u\" {
  unknown %w
}
";
    assert_eq!(reprint(text), text);
    assert_eq!(reprint("registers\nthread \"t\" {\nthread"), {
        "line 3, column 7: expected `}` of the thread before, got the end of the text"
    });
}

#[test]
fn segments_that_do_not_nest_are_spelled_out() {
    let text = "segment_end\nsegment_start \"a\"\n";
    assert_eq!(reprint(text), text);
    assert_eq!(reprint("segment \"a\" { skip }\nsegment_start \"b\""), {
        "segment_start \"a\"\nskip\nsegment_end\nsegment_start \"b\"\n"
    });
}

#[test]
fn literals_are_row_major_whatever_their_strides() {
    let text = "a i64[2, 3] fortran {1, 2, 3,\n 4, 5, 6}\nb i8[2, 3] fortran iota ; comment\n";
    let program = parse(text).unwrap_or_default();
    assert_eq!(data(&program, 0), [1, 2, 3, 4, 5, 6]);
    assert_eq!(data(&program, 1), [0, 1, 2, 3, 4, 5]);
    let Some(HostSlot::Data(tensor)) = program.hosts.first() else {
        unreachable!("the parser read two literals");
    };
    assert_eq!(tensor.view().strides.as_slice(), [1, 2]);
}

#[test]
fn words_and_booleans_are_arguments() {
    let program = parse("f true, false, none, i8, float64, -3").unwrap_or_default();
    let Some(Step::Op(op)) = program.steps.first() else {
        unreachable!("the parser read one step");
    };
    let text: Vec<String> = program
        .args(op)
        .iter()
        .map(|arg| format!("{arg:?}"))
        .collect();
    let expected = [
        "Int(1)",
        "Int(0)",
        "None",
        "DType(I8)",
        "DType(F64)",
        "Int(-3)",
    ];
    assert_eq!(text, expected);
    assert_eq!(program.args(op).first(), Some(&Arg::Int(1)));
}

/// Each text is refused with these words.
fn refused(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(reprint(text), *expected, "{text:?}");
    }
}

#[test]
fn mistakes_in_steps_are_told_with_their_place() {
    refused(&[
        (
            "%a = \n",
            "line 1, column 6: expected the name of an op, got the end of the line",
        ),
        (
            "skip skip",
            "line 1, column 6: expected the end of the line, got `skip`",
        ),
        (
            "skip\n  free a",
            "line 2, column 8: expected the name of a tensor, got `a`",
        ),
        ("f %a, ?", "line 1, column 7: expected an argument, got `?`"),
        (
            "f %a,",
            "line 1, column 6: expected an argument, got the end of the text",
        ),
        (
            "f complex256",
            "line 1, column 3: expected an argument, got `complex256`",
        ),
        ("f 99999999999999999999", {
            "line 1, column 3: expected an integer of 64 bits, got `99999999999999999999`"
        }),
        (
            "segment \"a\" {\nskip",
            "line 2, column 5: expected `}` of a segment or thread, got the end of the \
                                   text",
        ),
        ("}", "line 1, column 1: expected a step, got `}`"),
        (
            "f \"open",
            "line 1, column 3: expected an argument, got quotes that do not close, or an \
                      unknown escape",
        ),
        (
            "generation second",
            "line 1, column 12: expected `first` or `later`, got `second`",
        ),
    ]);
}

#[test]
fn mistakes_in_host_tensors_are_told_with_their_place() {
    refused(&[
        (
            "f i64[2] {1}",
            "line 1, column 13: expected 2 elements, got 1",
        ),
        (
            "f i64[1] {1, 2}",
            "line 1, column 15: expected 1 elements, got more",
        ),
        (
            "f i8[1] {128}",
            "line 1, column 10: expected an element of type i8, got `128`",
        ),
        (
            "f i64[2 3] iota",
            "line 1, column 9: expected `,` or `]`, got `3`",
        ),
        (
            "f i64[-1] iota",
            "line 1, column 7: expected sizes of 0 or more, got `-1`",
        ),
        ("f i8[99999999999] iota", {
            "line 1, column 19: expected at most 4194304 elements, got i8[99999999999]"
        }),
        ("f i8[9999999999999999, 9] iota", {
            "line 1, column 6: expected a shape, got shape [9999999999999999, 9], of more than \
             2^48 elements"
        }),
    ]);
}

#[test]
fn elements_of_several_words_follow_a_rule_only_where_the_other_words_are_zero() {
    for (elements, rule) in [
        ("7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7", false),
        ("0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11", false),
        (
            "9223372036854775808, 0, 0, 0, 9223372036854775808, 0, 0, 0, \
             9223372036854775808, 0, 0, 0",
            true,
        ),
        ("5, 0, 0, 0, 5, 0, 0, 0, 5, 0, 0, 0", true),
        ("0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0", true),
        ("0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 1", false),
    ] {
        let Ok(program) = parse(&format!("f bn254.fr[3] {{{elements}}}")) else {
            panic!("{elements}");
        };
        let printed = print(&program);
        assert_eq!(!printed.contains('{'), rule, "{printed}");
        let Ok(back) = parse(&printed) else {
            panic!("{printed}");
        };
        assert_eq!(data(&back, 0), data(&program, 0), "{printed}");
    }
}

#[test]
fn a_page_has_the_first_and_last_steps_and_no_long_data() {
    let lines: Vec<String> = (0..100).map(|i| format!("free %a{i}")).collect();
    let text = format!(
        "%q = host_to_device i64[9] {{1, 2, 3, 4, 5, 6, 7, 8, 7}}\n{}\n",
        lines.join("\n")
    );
    let program = parse(&text).unwrap_or_default();
    let found = page(&program, 6);
    let expected = "\
%q = host_to_device i64[9] ...
free %a0
free %a1
free %a2
... 95 steps left out
free %a98
free %a99
";
    assert_eq!(found, expected);
    assert!(parse(&found).is_err());
    let short = "free %a\nfree %b\n";
    assert_eq!(page(&parse(short).unwrap_or_default(), 2), short);
}
