//! Memory that a program leaves allocated is freed where its last use is sure.

use cloakwork_formats::zk::{parse, to_text};
use cloakwork_instructions::with_frees;

/// The instructions of `main`, a line each, once frees are put in.
fn freed(main: &str) -> Vec<String> {
    let program = format!(
        "program version=1\ninput x type=u64<8> device=cpu\nstream s device=gpu:0\n\
         main {{\nLoadInput src=x dst=x\n{main}\nReturn id=x\n}}"
    );
    let parsed = parse(program.as_bytes()).unwrap();
    assert_eq!(parsed.findings, []);
    let text = to_text(&with_frees(parsed.ast));
    let body = text.split("main {").nth(1).unwrap();
    let lines = body.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

fn place(lines: &[String], start: &str) -> usize {
    let found = lines.iter().position(|line| line.starts_with(start));
    assert!(found.is_some(), "no {start} in {lines:#?}");
    found.unwrap()
}

#[test]
fn memory_of_one_thread_is_freed_behind_its_last_use_also_through_views() {
    let lines = freed(
        "Allocate id=a device=cpu typ=u64<8>\nSlice src=a dst=v start=0 end=4\n\
         AssembleTuple vars=[v] dst=t\nPrint id=t label=p\nPrint id=x label=q",
    );
    assert_eq!(
        place(&lines, "Deallocate id=a"),
        place(&lines, "Print id=t") + 1
    );
}

#[test]
fn moved_memory_is_freed_under_its_last_name() {
    let lines = freed(
        "Allocate id=a device=cpu typ=u64<8>\nSlice src=a dst=v start=0 end=4\n\
         MoveRegister src=a dst=b\nPrint id=v label=p",
    );
    assert_eq!(
        place(&lines, "Deallocate id=b"),
        place(&lines, "Print id=v") + 1
    );
}

#[test]
fn memory_of_streams_and_of_several_threads_is_freed_at_the_end_of_main() {
    let lines = freed(
        "Allocate id=a device=gpu:0 typ=u64<8>\nAllocate id=b device=cpu typ=u64<8>\n\
         Transfer src_id=x dst_id=a src_device=cpu dst_device=gpu:0 stream=s\n\
         Fork new_thread=t {\nPrint id=b label=p\n}\nJoin thread=t",
    );
    let end = place(&lines, "Return");
    assert_eq!(lines[end - 2..end], ["Deallocate id=a", "Deallocate id=b"]);
}

#[test]
fn what_is_freed_stored_or_returned_stays_as_it_is() {
    let lines = freed("Allocate id=a device=cpu typ=u64<8>\nDeallocate id=a");
    assert_eq!(
        lines
            .iter()
            .filter(|line| line.contains("Deallocate"))
            .count(),
        1
    );
    let lines = freed("Allocate id=a device=cpu typ=u64<8>\nStore src=a output=o");
    assert!(
        lines.iter().all(|line| !line.contains("Deallocate")),
        "{lines:#?}"
    );
}
