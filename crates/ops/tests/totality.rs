//! Properties that every declaration must have; each test loops over all declarations.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

use cloakwork_ir::Generation;
use cloakwork_ops::{
    ALL, Body, ContentCheck, Effect, Family, Origin, OutRule, ParamKind, Reference, VENDORS_OP,
    find, find_form,
};
use std::collections::HashSet;

#[test]
fn the_list_is_sorted_and_without_repetition() {
    assert!(ALL.windows(2).all(|pair| pair[0].name < pair[1].name));
}

#[test]
fn names_find_their_declarations() {
    for def in ALL {
        assert!(std::ptr::eq(find(def.name).unwrap(), *def));
        assert!(
            def.forms.iter().any(|form| form.name == def.name),
            "{}",
            def.name
        );
    }
}

#[test]
fn each_spelling_is_found_in_a_program_of_its_generation() {
    for def in ALL {
        for form in def.forms {
            let generations = match form.origin {
                Origin::HealOnly(generation) => vec![generation],
                _ => vec![Generation::First, Generation::Later],
            };
            for generation in generations {
                let (found, read) = find_form(form.name, form.args.len(), generation).unwrap();
                assert!(
                    std::ptr::eq(found, *def) && std::ptr::eq(read, form),
                    "{}",
                    form.name
                );
            }
        }
    }
}

#[test]
fn a_spelling_gives_each_parameter_at_most_once_and_leaves_out_only_what_has_a_default() {
    for def in ALL {
        for form in def.forms {
            let place = format!("{} of {}", form.name, def.name);
            let given: HashSet<_> = form.args.iter().collect();
            assert_eq!(given.len(), form.args.len(), "{place}");
            assert!(
                form.args.iter().all(|arg| def.param(arg).is_some()),
                "{place}"
            );
            for param in def
                .params
                .iter()
                .filter(|param| !given.contains(&param.name))
            {
                let may_be_absent =
                    matches!(param.kind, ParamKind::OptionalTensor | ParamKind::Hint);
                assert!(
                    param.default.is_some() || may_be_absent,
                    "{place} lacks {}",
                    param.name
                );
            }
            for int in form.ints.unwrap_or_default() {
                let param = &def.params[def.param(int).unwrap()];
                assert_eq!(param.kind, ParamKind::TensorOrInt, "{place}: {int}");
            }
        }
    }
}

#[test]
fn only_parameters_that_some_spelling_leaves_out_have_defaults_and_these_are_in_range() {
    for def in ALL {
        for param in def.params {
            let Some(default) = param.default else {
                continue;
            };
            let left_out = def
                .forms
                .iter()
                .any(|form| !form.args.contains(&param.name));
            // `tile` and `skip_perm` are left out in Python, where everyone says what they mean.
            let flag = param.kind == ParamKind::Bool;
            assert!(left_out || flag, "{}: {}", def.name, param.name);
            match param.kind {
                ParamKind::Int(low, high) => assert!((low..=high).contains(&default)),
                ParamKind::Bool => assert!((0..=1).contains(&default)),
                other => panic!("{}: {} is {other:?}", def.name, param.name),
            }
        }
    }
}

#[test]
fn kernels_write_one_tensor_and_views_none() {
    for def in ALL {
        let outs = def
            .params
            .iter()
            .filter(|p| p.kind == ParamKind::Out)
            .count();
        match def.body {
            Body::Kernel(_) => assert_eq!(outs, 1, "{}", def.name),
            Body::Expand(_) => assert!(outs <= 1, "{}", def.name),
            _ => assert_eq!(outs, 0, "{}", def.name),
        }
        let names: HashSet<_> = def.params.iter().map(|p| p.name).collect();
        assert_eq!(names.len(), def.params.len(), "{}", def.name);
        assert!(def.params.len() <= usize::from(u8::MAX));
    }
}

#[test]
fn every_kernel_has_a_reference_but_the_callers_own_code() {
    let bare = ALL.iter().filter(|def| match &def.body {
        Body::Kernel(body) => matches!(body.reference, Reference::Callers),
        _ => false,
    });
    let bare: Vec<&str> = bare.map(|def| def.name).collect();
    assert_eq!(bare, ["call_function"]);
    let judged = ALL.iter().filter(|def| match &def.body {
        Body::Kernel(body) => matches!(body.reference, Reference::Judge(_)),
        _ => false,
    });
    // Factorisations have several right results; everything else has one.
    assert!(judged.clone().all(|def| def.family == Family::Linear));
    assert_eq!(judged.count(), 11);
}

#[test]
fn views_have_their_operand_first() {
    for def in ALL.iter().filter(|def| matches!(def.body, Body::View(_))) {
        assert!(def.params[0].name == "a" && def.params[0].kind == ParamKind::Tensor);
    }
}

#[test]
fn what_takes_random_words_or_a_transcript_says_its_effect() {
    let named = |name: &str| matches!(name, "random" | "transcript");
    for def in ALL {
        let takes = def.params.iter().any(|param| named(param.name));
        let keyed = def.params.iter().any(|param| param.name == "key")
            && matches!(def.family, Family::Creation | Family::Hash);
        assert_eq!(
            def.effect().is_some(),
            takes || keyed || def.calls_back() || def.effect() == Some(Effect::Asserts),
            "{}",
            def.name
        );
    }
}

#[test]
fn everything_is_documented() {
    for def in ALL {
        assert!(
            def.doc.len() > 8 && def.doc.ends_with(['.', ')']),
            "{}",
            def.name
        );
        assert!(
            def.params.iter().all(|param| !param.doc.is_empty()),
            "{}",
            def.name
        );
    }
}

#[test]
fn checks_name_parameters() {
    for def in ALL {
        let Body::Kernel(body) = &def.body else {
            continue;
        };
        for check in body.checks {
            let mut names = vec![check.operand()];
            match *check {
                ContentCheck::Permutation {
                    flag: Some((flag, _)),
                    ..
                } => names.push(flag),
                ContentCheck::IndexInto { operand, axis, .. } => names.extend([operand, axis]),
                ContentCheck::LookupRows { table, .. } => names.push(table),
                _ => {}
            }
            assert!(
                names.iter().all(|name| def.param(name).is_some()),
                "{}",
                def.name
            );
        }
        let moduli = def.params.iter().any(|param| param.name == "q");
        let checked = body.checks.contains(&ContentCheck::Modulus("q"));
        assert_eq!(moduli, checked, "{}: moduli are always checked", def.name);
    }
}

/// Every name that a program may use for an op, and its numbers of arguments.
const NAMES: [(&str, &[usize]); 60] = [
    ("_mod_ct", &[3]),
    ("_mod_tc", &[3]),
    ("_mod_tt", &[3]),
    ("_modmul_tcc", &[4]),
    ("_modmul_tct", &[4]),
    ("_modmul_ttc", &[4]),
    ("_modmul_ttt", &[4]),
    ("_modneg_tc", &[3]),
    ("_modneg_tt", &[3]),
    ("_modsum_tcc", &[4]),
    ("_modsum_tct", &[4]),
    ("_modsum_ttc", &[4]),
    ("_modsum_ttt", &[4]),
    ("abs", &[2]),
    ("allocate_on_hardware", &[2]),
    ("apply_g_decomp", &[4]),
    ("apply_g_decomp_relative_to_full_q", &[8]),
    ("axis_modsum", &[4]),
    ("contiguous", &[1]),
    ("device_to_host", &[1, 2]),
    ("empty", &[2]),
    ("expand", &[3]),
    ("flatten", &[3]),
    ("g_decomposition", &[4]),
    ("get_slice", &[2]),
    ("host_to_device", &[1]),
    ("intt", &[10]),
    ("key_switch", &[11]),
    ("make_contiguous", &[1]),
    ("modmul", &[4]),
    ("modmul_axis_sum", &[8, 9]),
    ("modneg_tc", &[3]),
    ("modneg_tt", &[3]),
    ("modsum", &[4]),
    ("moveaxis", &[3]),
    ("new_reference", &[1]),
    ("ntt", &[10, 11]),
    ("pad_single_axis", &[4]),
    ("permute", &[5]),
    ("repeat_interleave", &[3]),
    ("reshape", &[2]),
    ("set_const_val", &[2]),
    ("squeeze", &[2]),
    ("take_along_axis", &[4]),
    ("unsqueeze", &[2]),
    ("zeros", &[2]),
    // Cloakwork's own.
    ("automorphism", &[3]),
    ("base_convert", &[7]),
    ("copy", &[2]),
    ("g_decomp", &[4]),
    ("g_decomp_full_q", &[8]),
    ("gaussian", &[2]),
    ("hybrid_key_switch", &[13]),
    ("mod_down", &[10]),
    ("mod_up", &[10]),
    ("modmuladd", &[5]),
    ("relinearize", &[12]),
    ("rescale", &[10]),
    ("ternary", &[2]),
    ("uniform_mod", &[3]),
];

#[test]
fn every_name_of_heals_interface_and_documents_is_there() {
    for (name, arg_counts) in NAMES {
        for &count in arg_counts {
            for generation in [Generation::First, Generation::Later] {
                assert!(
                    find_form(name, count, generation).is_ok(),
                    "{name} with {count}"
                );
            }
        }
    }
    let known: HashSet<_> = NAMES.iter().map(|(name, _)| *name).collect();
    // HEAL knows nothing of the families of numbers but `abs`, and nothing of proofs.
    let of_heal = ALL
        .iter()
        .filter(|def| !def.family.is_of_numbers() && !def.family.is_of_proofs());
    for form in of_heal.flat_map(|def| def.forms) {
        let own = matches!(
            form.name,
            "mod" | "modneg" | "slice" | "transpose" | "broadcast_to"
        );
        assert!(
            known.contains(form.name) || own,
            "{} is in no document",
            form.name
        );
    }
}

#[test]
fn generations_differ_in_the_order_of_expand_and_in_the_arguments_of_ntt() {
    let args = |name, count, generation| find_form(name, count, generation).unwrap().1.args;
    assert_eq!(
        args("expand", 3, Generation::First),
        ["a", "repeat", "axis"]
    );
    assert_eq!(
        args("expand", 3, Generation::Later),
        ["a", "axis", "repeat"]
    );
    assert!(!args("ntt", 10, Generation::First).contains(&"axis"));
    assert_eq!(args("ntt", 11, Generation::Later)[1], "axis");
}

#[test]
fn wrong_names_and_counts_say_what_would_be_right() {
    let message = |name, count| {
        find_form(name, count, Generation::Later)
            .err()
            .map(|error| error.to_string())
            .unwrap()
    };
    assert_eq!(
        message("_modmul_tt", 4),
        "unknown op `_modmul_tt`; did you mean `_modmul_tct`?"
    );
    assert_eq!(
        message("completely_else", 1),
        format!("unknown op `completely_else`; {VENDORS_OP}")
    );
    assert!(VENDORS_OP.contains("CLOAKWORK_DRIVERS"));
    assert_eq!(message("ntt", 3), "`ntt` takes 10 or 11 arguments, got 3");
}

#[test]
fn what_broadcasts_to_its_result_may_also_be_exact() {
    for def in ALL {
        let Body::Kernel(body) = &def.body else {
            continue;
        };
        let broadcasts = [
            "modmul",
            "modmuladd",
            "modsum",
            "modneg",
            "copy",
            "take_along_axis",
        ];
        let listed = broadcasts.contains(&def.name) || def.name == "astype";
        let elementwise = body.elementwise.is_some() && def.name != "abs";
        assert_eq!(
            body.out == OutRule::Broadcast,
            listed || elementwise,
            "{}",
            def.name
        );
    }
}
