//! Objects of one instruction set may export their kernels and nothing else: a weak symbol among
//! them could replace the portable copy when the program is linked, and stop older processors.
#![allow(clippy::unwrap_used, clippy::panic)]

use cloakwork_csrc::{COMPILER, OBJECTS, SOURCES};
use cloakwork_kernels::{FEATURES, Isa};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

fn run(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?} failed: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Compiles without optimisation, where templates and inline functions are all emitted.
fn symbols_of(source: &str, flags: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../csrc");
    let name = source.replace('/', "_");
    let object =
        std::env::temp_dir().join(format!("cloakwork_symbols_{}_{name}.o", std::process::id()));
    let mut compiler = Command::new(COMPILER);
    compiler
        .args(["-std=c++17", "-O0", "-fno-exceptions", "-fno-rtti", "-w"])
        .args(flags);
    compiler
        .arg("-I")
        .arg(&root)
        .arg("-I")
        .arg(root.join("include"));
    run(compiler
        .arg("-c")
        .arg(root.join(source))
        .arg("-o")
        .arg(&object));
    let symbols = run(Command::new("nm").arg(&object));
    std::fs::remove_file(&object).unwrap();
    symbols
}

/// Functions that are instructions once optimised, and those whose rare arguments are left to them.
const ANYWHERE: [&str; 10] = [
    "ceil",
    "floor",
    "nearbyint",
    "rint",
    "sqrt",
    "trunc",
    "sin",
    "cos",
    "tan",
    "pow",
];
/// Of real numbers, and with a `c` before it of complex ones.
const FUNCTIONS: [&str; 19] = [
    "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh",
    "acosh", "atanh", "pow", "sqrt", "abs", "log10", "log2",
];
const REAL_FUNCTIONS: [&str; 6] = ["expm1", "log1p", "fmod", "atan2", "nextafter", "fma"];

/// Whether a kernel may call the function: those that nobody compiles to instructions stand in
/// portable objects alone.
fn is_of_libm(name: &str, isa: &str) -> bool {
    let base = name.strip_suffix('f').unwrap_or(name);
    let known = |list: &[&str], base: &str| list.contains(&base);
    known(&ANYWHERE, base)
        || isa == "portable"
            && (known(&FUNCTIONS, base)
                || known(&REAL_FUNCTIONS, base)
                || base
                    .strip_prefix('c')
                    .is_some_and(|base| known(&FUNCTIONS, base)))
}

/// The faults of an object's symbols.
fn findings(isa: &str, symbols: &str) -> Vec<String> {
    let mut wrong = vec![];
    for line in symbols.lines() {
        let mut words = line.split_whitespace().rev();
        let (Some(name), Some(kind)) = (words.next(), words.next()) else {
            continue;
        };
        let own = name.starts_with("cw_") && name.ends_with(&format!("_{isa}"));
        // What GCC may call whatever the source says, freestanding too.
        let runtime = matches!(name, "memcpy" | "memmove" | "memset" | "memcmp")
            || name.starts_with("__") && name.ends_with("ti3")
            || is_of_libm(name, isa);
        let fine = match kind {
            "t" | "r" | "d" | "b" => true,
            "T" => own,
            "U" => runtime || name == "_GLOBAL_OFFSET_TABLE_",
            _ => false,
        };
        if !fine {
            wrong.push(format!("{kind} {name}"));
        }
    }
    wrong
}

/// The set and the symbols of each object of this build.
fn built() -> Vec<(&'static str, String)> {
    let objects = OBJECTS.split(';').map(|line| line.split_once(' ').unwrap());
    let symbols = |(isa, object)| (isa, run(Command::new("nm").arg(object)));
    objects.map(symbols).collect()
}

fn is_whole() -> bool {
    std::env::var_os("CLOAKWORK_TEST_ALL").is_some()
}

/// The sets that lines begin with.
fn sets_of(lines: &'static str) -> BTreeSet<&'static str> {
    let names = lines.split(';').map(|line| line.split(' ').next().unwrap());
    names.collect()
}

/// Sources by their set, of the sets that this build does not have: of all in a whole run, else of
/// the one with the most.
fn foreign() -> BTreeMap<&'static str, Vec<&'static str>> {
    let own = sets_of(OBJECTS);
    let mut found: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in SOURCES.split(';') {
        let isa = line.split(' ').next().unwrap();
        if !own.contains(isa) {
            found.entry(isa).or_default().push(line);
        }
    }
    if !is_whole() {
        let most = found.values().map(Vec::len).max();
        let first = found.iter().find(|(_, lines)| Some(lines.len()) == most);
        found = first
            .map(|(isa, lines)| (*isa, lines.clone()))
            .into_iter()
            .collect();
    }
    found
}

/// The sets and symbols of foreign sources, compiled here on all cores.
fn not_built() -> Vec<(&'static str, String)> {
    let lines: Vec<_> = foreign().into_values().flatten().collect();
    let compiled = |line: &&'static str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [isa, source, flags @ ..] = &words[..] else {
            panic!("no source in {line:?}")
        };
        (*isa, symbols_of(source, flags))
    };
    let share = lines
        .len()
        .max(1)
        .div_ceil(std::thread::available_parallelism().unwrap().get());
    std::thread::scope(|scope| {
        let work = |part: &'_ [&'static str]| part.iter().map(compiled).collect::<Vec<_>>();
        let threads: Vec<_> = lines
            .chunks(share)
            .map(|part| scope.spawn(move || work(part)))
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    })
}

#[test]
fn objects_of_one_instruction_set_export_their_kernels_alone() {
    let objects = [built(), not_built()].concat();
    for (isa, symbols) in &objects {
        assert_eq!(findings(isa, symbols), Vec::<String>::new(), "in {isa}");
    }
    let exported: usize = objects
        .iter()
        .map(|(_, symbols)| symbols.matches(" T cw_").count())
        .sum();
    assert!(exported > 2000, "{exported}");
    let seen: BTreeSet<&str> = objects.iter().map(|&(isa, _)| isa).collect();
    let (all, own) = (sets_of(SOURCES), sets_of(OBJECTS));
    let is_enough = seen == all || !is_whole() && seen.len() == own.len() + 1;
    assert!(is_enough, "{seen:?} of {all:?}, built: {own:?}");
}

#[test]
fn files_of_an_instruction_set_are_compiled_for_the_features_that_its_rows_need() {
    for line in SOURCES.split(';') {
        let words: Vec<&str> = line.split(' ').collect();
        let isa = Isa::from_name(words[0]).unwrap();
        let needed = FEATURES
            .iter()
            .filter(|&&(_, feature)| isa.includes(Isa::of(&[feature])));
        let expected: BTreeSet<String> = needed.map(|(name, _)| format!("-m{name}")).collect();
        let flags: BTreeSet<String> = words[2..].iter().map(|flag| (*flag).to_owned()).collect();
        assert_eq!(flags, expected, "{line}");
    }
}

#[test]
fn a_weak_or_foreign_symbol_is_found() {
    let symbols = "\
0000000000000000 T cw_copy_b8_avx2
0000000000000010 t _ZN2cw12_GLOBAL__N_13AddEm
                 U memcpy
                 U __modti3
0000000000000020 W _ZN2cw3AddEm
0000000000000030 T cw_copy_b8_portable
                 U malloc
                 U sqrtf
                 U cexpf
";
    let expected = [
        "W _ZN2cw3AddEm",
        "T cw_copy_b8_portable",
        "U malloc",
        "U cexpf",
    ];
    assert_eq!(findings("avx2", symbols), expected);
}
