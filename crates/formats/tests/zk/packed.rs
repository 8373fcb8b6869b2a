//! A program of the instruction set in one file.

use cloakwork_formats::zk::{Files, files_of, pack, parse, to_json, unpack};
use cloakwork_formats::{Container, save_container};
use cloakwork_ir::{Bytes, DType, HostSlot, Shape, Step, Type};
use std::collections::HashMap;

const PROGRAM: &str = r#"
program version=1 curve=bn254
constant b type=u64<1> file=second.bin offset=0 bytes=8
constant a type=u64<1> file=first.bin offset=8 bytes=8
main {
  Return id=[]
}
"#;

fn files() -> Files {
    let file = |name: &str, byte: u8| (name.to_owned(), Bytes::from(vec![byte; 16]));
    Files::Memory(HashMap::from([file("first.bin", 1), file("second.bin", 2)]))
}

#[test]
fn a_container_holds_the_program_and_the_files_that_it_names() {
    let parsed = parse(PROGRAM.trim_start().as_bytes()).unwrap();
    let packed = pack(&parsed.ast, &files()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.cwk");
    save_container(&packed, &path).unwrap();
    let read = Container::open(&path).unwrap().into_parts().0;
    let (again, own) = unpack(&read).unwrap().unwrap();
    assert_eq!(to_json(&again.ast), to_json(&parsed.ast));
    let found = files_of(&again.ast, &own).unwrap();
    let found: Vec<(&str, u8, usize)> = found
        .iter()
        .map(|(name, bytes)| (name.as_str(), bytes.as_slice()[0], bytes.as_slice().len()))
        .collect();
    assert_eq!(found, [("first.bin", 1, 16), ("second.bin", 2, 16)]);
}

#[test]
fn a_container_that_holds_other_than_the_files_is_refused() {
    let parsed = parse(PROGRAM.trim_start().as_bytes()).unwrap();
    let packed = pack(&parsed.ast, &files()).unwrap();
    let refusal = |change: &dyn Fn(&mut cloakwork_ir::Program)| {
        let mut changed = packed.clone();
        change(&mut changed);
        unpack(&changed).unwrap().err().unwrap().to_string()
    };
    let fewer = refusal(&|program| drop(program.hosts.pop()));
    assert!(fewer.contains("each of 2 files, got 1 tensors"), "{fewer}");
    let more = refusal(&|program| {
        let again = program.hosts[0].clone();
        program.push_host(again);
    });
    assert!(more.contains("each of 2 files, got 3 tensors"), "{more}");
    let steps = refusal(&|program| program.steps.push(Step::Skip));
    assert!(steps.contains("got 1 steps beside it"), "{steps}");
    let twice = refusal(&|program| {
        let names: Vec<String> = program.notes.keys().cloned().collect();
        for note in names.iter().filter(|note| note.starts_with("file ")) {
            program.notes.insert(note.clone(), "first.bin".to_owned());
        }
    });
    assert!(twice.contains("first.bin twice"), "{twice}");
    let changed = refusal(&|program| {
        let ty = Type::new(DType::U8, Shape::new(&[16]).unwrap());
        program.hosts[1] = HostSlot::Input {
            name: "x".to_owned(),
            ty,
        };
    });
    assert!(
        changed.contains("bytes of the file second.bin"),
        "{changed}"
    );
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let parsed = parse(PROGRAM.trim_start().as_bytes()).unwrap();
    let none = Files::Memory(HashMap::new());
    let found = pack(&parsed.ast, &none).unwrap_err();
    assert_eq!((found.code, found.got.as_str()), ("V18", "first.bin"));
}

#[test]
fn other_containers_hold_no_such_program() {
    assert!(unpack(&cloakwork_ir::Program::new()).is_none());
}
