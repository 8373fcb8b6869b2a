//! Program files of the instruction set: laws that hold for all bytes.

use crate::{Source, check_program, mutate_bytes};
use cloakwork_formats::zk::{Canonical, Files, parse, to_json, to_text};
use cloakwork_instructions::lower;
use std::collections::HashMap;

/// Valid programs, in both forms.
pub const SAMPLE_INSTRUCTIONS: [&str; 2] = [
    include_str!("../../../examples/zk/windows.json"),
    "program version=1\ninput x type=u64<8> device=cpu\nstream s device=sim:0\n\
     event e kind=gpu device=sim:0\nfunction own outs=[u64<8>] ins=[]\n\
     budget sim:0 is=4096\nmain {\nLoadInput src=x dst=x\nRotation src=x dst=r shift=3\n\
     Allocate id=g device=sim:0 typ=u64<8> at={pool=p, offset=64}\n\
     Transfer src_id=r dst_id=g src_device=cpu dst_device=sim:0 stream=s\n\
     FuncCall func=mul arg_mut=[g] arg=[g, g] stream=s\nRecord event=e stream=s\n\
     Fork new_thread=t {\nWait event=e\nSlice src=r dst=q start=2 end=7\n}\nJoin thread=t\n\
     AssembleTuple vars=[g, x] dst=p\nReturn id=p\n}\n",
];

/// A program with a few bytes changed.
#[must_use]
pub fn damaged_instructions(source: &mut Source) -> Vec<u8> {
    let sample = SAMPLE_INSTRUCTIONS[source.below(SAMPLE_INSTRUCTIONS.len())];
    mutate_bytes(sample.as_bytes(), source)
}

/// Any bytes are a program that both forms can express and that lowers to a program that the
/// verifier can judge; or they give an error.
///
/// # Errors
/// A law is broken.
pub fn check_instructions(bytes: &[u8]) -> Result<(), String> {
    let Ok(parsed) = parse(bytes) else {
        return Ok(());
    };
    if parsed.findings.is_empty() {
        for written in [to_json(&parsed.ast), to_text(&parsed.ast)] {
            let again = parse(written.as_bytes()).map_err(|e| format!("{e} in {written}"))?;
            if again.ast != parsed.ast {
                return Err(format!("another program comes back of {written}"));
            }
        }
    }
    let files = Files::Memory(HashMap::new());
    let convert = |canonical: &Canonical| match canonical.dtype.is_number() {
        true => Ok(canonical.words.clone()),
        false => Err("no fields here".to_owned()),
    };
    check_program(lower(&parsed.ast, &files, &convert).program)
}
