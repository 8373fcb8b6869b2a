//! Runs `tests/programs/**.cw`; `UPDATE_EXPECT=1` rewrites the expectations after the programs, and
//! the plans beside them. A new plan begins as an empty file.

use cloakwork_ops::{ALL, Code};
use cloakwork_testing::{FileTest, check_program};
use cloakwork_verify::FINDING_CODES;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{env, fs, io};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs")
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "cw") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// All program tests with their paths; rewrites them first, if requested.
fn tests() -> &'static [(PathBuf, FileTest)] {
    static TESTS: OnceLock<Vec<(PathBuf, FileTest)>> = OnceLock::new();
    TESTS.get_or_init(|| {
        let paths = files(&root()).unwrap_or_else(|error| unreadable(&root(), &error));
        let load = |path| (PathBuf::clone(&path), test(&path));
        paths.into_iter().map(load).collect()
    })
}

fn test(path: &Path) -> FileTest {
    let file = fs::read_to_string(path).unwrap_or_else(|error| unreadable(path, &error));
    let mut test = FileTest::new(&file);
    if env::var_os("UPDATE_EXPECT").is_some() {
        test.expected = test.actual();
        let file = test.with_expected(&test.expected);
        fs::write(path, file).unwrap_or_else(|error| unreadable(path, &error));
    }
    test
}

fn unreadable<T>(path: &Path, error: &io::Error) -> T {
    unreachable!("{} is part of the repository: {error}", path.display())
}

#[test]
fn programs_mean_what_stands_behind_them() {
    let mut wrong = Vec::new();
    for (path, test) in tests() {
        let actual = test.actual();
        if actual != test.expected {
            let (actual, expected) = (actual.join("\n"), test.expected.join("\n"));
            wrong.push(format!(
                "{}: expected\n{expected}\ngot\n{actual}\n",
                path.display()
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{}set UPDATE_EXPECT=1 to accept",
        wrong.join("\n")
    );
}

/// Programs that have a plan file, with its path.
fn planned() -> impl Iterator<Item = (PathBuf, &'static FileTest)> {
    let beside = tests()
        .iter()
        .map(|(path, test)| (path.with_extension("plan"), test));
    beside.filter(|(path, _)| path.is_file())
}

#[test]
fn plans_are_as_they_stand_beside_their_programs() {
    let mut wrong = Vec::new();
    for (path, test) in planned() {
        let actual = test
            .plan()
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        if env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&path, &actual).unwrap_or_else(|error| unreadable(&path, &error));
        }
        let expected = fs::read_to_string(&path).unwrap_or_else(|error| unreadable(&path, &error));
        if actual != expected {
            wrong.push(format!(
                "{}: expected\n{expected}\ngot\n{actual}\n",
                path.display()
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{}`python3 dev.py fix --snapshots` accepts",
        wrong.join("\n")
    );
}

#[test]
fn every_family_has_a_program_with_its_plan() {
    let shown: BTreeSet<String> = planned()
        .filter_map(|(path, _)| Some(path.parent()?.file_name()?.to_str()?.to_owned()))
        .collect();
    let families = ALL.iter().map(|def| def.family.name().to_owned());
    let bare: BTreeSet<String> = families.filter(|family| !shown.contains(family)).collect();
    assert_eq!(bare, BTreeSet::new());
}

#[test]
fn programs_keep_the_laws_of_all_programs() {
    for (path, test) in tests() {
        if let Some(program) = test.parsed() {
            assert_eq!(check_program(program), Ok(()), "{}", path.display());
        }
    }
}

#[test]
fn every_op_has_a_program() {
    let missing: Vec<String> = ALL
        .iter()
        .map(|def| format!("{}/{}.cw", def.family.name(), def.name))
        .filter(|path| !root().join(path).is_file())
        .collect();
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn every_spelling_of_every_op_is_used() {
    let used: BTreeSet<String> = tests()
        .iter()
        .flat_map(|(_, test)| {
            test.program
                .split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect();
    let spellings = ALL.iter().flat_map(|def| def.forms).map(|form| form.name);
    let unused: BTreeSet<&str> = spellings.filter(|name| !used.contains(*name)).collect();
    assert_eq!(unused, BTreeSet::new());
}

#[test]
fn every_code_is_provoked() {
    let provoked: BTreeSet<String> = tests()
        .iter()
        .flat_map(|(_, test)| test.expected.iter())
        .filter_map(|line| line.split(": ").nth(1).map(str::to_owned))
        .collect();
    let codes = FINDING_CODES
        .iter()
        .copied()
        .chain(Code::ALL.iter().map(|code| code.name()));
    let silent: Vec<&str> = codes.filter(|code| !provoked.contains(*code)).collect();
    assert_eq!(silent, Vec::<&str>::new());
}
