//! Faults of a program are found all at once, each under its code.

use super::lowering::lowered;
use cloakwork_formats::zk::parse;

const HEAD: &str = "program version=1 curve=bn254\ninput x type=bn254.fr<8> device=cpu\n\
     constant k type=bn254.fr<2> values=[1, 2]\n\
     stream s device=gpu:0\nevent e kind=gpu device=gpu:0\nbudget cpu is=4096\n";

/// Codes and messages of a program with these instructions before its return.
fn found(main: &str) -> Vec<String> {
    let text = format!("{HEAD}main {{\nLoadInput src=x dst=x\n{main}\nReturn id=x\n}}");
    let parsed = parse(text.as_bytes()).unwrap();
    let lowered = lowered(&parsed.ast);
    let findings = parsed.findings.iter().chain(&lowered.findings);
    findings
        .map(|finding| format!("{} {finding}", finding.code))
        .collect()
}

fn refused(cases: &[(&str, &str)]) {
    for (main, expected) in cases {
        let found = found(main);
        assert!(
            found.len() == 1 && found[0].starts_with(expected),
            "{main}\nexpected {expected}\ngot {found:#?}"
        );
    }
}

#[test]
fn instructions_that_cannot_be_read() {
    refused(&[
        (
            "Explode id=a",
            "V01 a: `main[1].op`: expected an instruction, got \"Explode\"",
        ),
        (
            "Join thread=t x=1",
            "V01 main/1: `main[1].x`: expected a field that is known here",
        ),
        (
            "Join",
            "V01 main/1: `main[1].thread`: expected a string, got nothing",
        ),
        (
            "Join thread=5",
            "V01 main/1: `main[1].thread`: expected a string, got 5",
        ),
        (
            "Slice src=x dst=v start=-1 end=2",
            "V01 main/1: `main[1].start`: expected an integer of 0 or more, at most 2^40, got -1",
        ),
        (
            "Slice src=x dst=v start=0 end=1099511627777",
            "V01 main/1: `main[1].end`: expected an integer of 0 or more, at most 2^40",
        ),
        (
            "Slice src=x dst=v start=0 end=1e5",
            "V01 main/1: `main[1].end`: expected an integer of 0 or more, at most 2^40, got 1e5",
        ),
        (
            "Allocate id=a device=tpu typ=u64",
            "V01 main/1: `main[1].device`: expected the name",
        ),
        (
            "Allocate id=a device=cpu typ=f33",
            "V01 main/1: `main[1].typ`: expected the short form",
        ),
        (
            "Allocate id=a#b device=cpu typ=u64",
            "V01 main/1: `main[1].id`: expected a name without",
        ),
        (
            "Allocate id=a device=cpu typ={Tensor={dtype=u64, shape=[1099511627776, 2]}}",
            "V01 main/1: `main[1].typ.Tensor.shape`: expected at most 16 axes and 2^40 elements",
        ),
        (
            "View src=x dst=v kind=twist args=[]",
            "V01 main/1: `main[1].kind`: expected \"reshape\"",
        ),
        (
            "Fork new_thread=t {\nJoin\n}",
            "V01 t/0: `main[1].instructions[0].thread`: expected a string, got nothing",
        ),
    ]);
}

#[test]
fn a_register_of_an_unreadable_instruction_is_spared() {
    let found = found("Rotation src=x dst=r shift=null\nSlice src=r dst=v start=0 end=99");
    assert_eq!(found.len(), 1, "{found:#?}");
    let text = format!("{HEAD}main {{\nRotation src=x dst=r\nReturn id=r\n}}");
    let lowered = lowered(&parse(text.as_bytes()).unwrap().ast);
    assert!(cloakwork_ir::text::print(&lowered.program).contains("unknown %r"));
}

#[test]
fn calls_that_no_signature_fits() {
    let mul = |arg: &str| format!("FuncCall func=mul arg_mut=[x] arg=[{arg}]");
    let scaled = "FuncCall func=add arg_mut=[x] arg=[x, s]";
    let scalar = "Allocate id=s device=cpu typ=bn254.fr\n";
    refused(&[
        (
            "FuncCall func=mull arg_mut=[x]",
            "V07 main/1: FuncCall mull: expected a function that is",
        ),
        (
            &mul("x"),
            "V07 main/1: FuncCall mul: `arg`: expected mul(a, b), got 1 operands, 1 results",
        ),
        (
            &format!("LoadConstant src=k dst=k\n{}", mul("x, k")),
            "V07 main/2: FuncCall mul: `k`: expected bn254.fr[8], got bn254.fr[2]",
        ),
        (
            "FuncCall func=mul arg_mut=[x] arg=[x, x] attrs={fast=true}",
            "V07 main/1: FuncCall mul: `attrs`: expected attributes of mul: []",
        ),
        (
            "FuncCall func=ntt arg_mut=[x] attrs={scale=1}",
            "V07 main/1: FuncCall ntt: `attrs.scale`: expected bool, got 1",
        ),
        (
            "FuncCall func=scalar_pow arg_mut=[x]",
            "V07 main/1: FuncCall scalar_pow: `attrs`: expected the attribute exponent (int)",
        ),
        (
            &format!("{scalar}{scaled}"),
            "V07 main/2: FuncCall add: expected the attribute scalar_at",
        ),
        (
            "FuncCall func=fused arg_mut=[x] arg=[x] attrs={expr=[[add, in0, t0]], outs=[t0]}",
            "V07 main/1: FuncCall fused: `attrs.expr[0]`: expected [\"add\"",
        ),
    ]);
}

#[test]
fn views_out_of_bounds() {
    refused(&[
        (
            "Slice src=x dst=v start=3 end=9",
            "V10 main/1: Slice: `x`: expected 0 <= start",
        ),
        (
            "Slice src=x dst=v start=4 end=3",
            "V10 main/1: Slice: `x`: expected 0 <= start",
        ),
        (
            "Slice src=x dst=v start=1 end=3\nRotation src=v dst=w shift=1",
            "V10 main/2: Rotation: `v`: expected a whole tensor of one axis, got a part",
        ),
        (
            "SetSliceMeta src=x dst=v offset=1 len=9",
            "V10 main/1: SetSliceMeta: `x`: expected at most",
        ),
        (
            "View src=x dst=v kind=reshape args=[3, 3]",
            "V10 main/1: View: `x`: expected axes",
        ),
        (
            "View src=x dst=v kind=permute args=[1]",
            "V10 main/1: View: `x`: expected axes",
        ),
        (
            "Rotation src=x dst=r shift=1\nView src=r dst=v kind=reshape args=[2, 4]",
            "V10 main/2: View: `r`: expected a register that does not wrap around",
        ),
        (
            "Allocate id=el device=cpu typ=bn254.fr\nElement src=x dst=el index=8",
            "V10 main/2: Element: `x`: expected an index below 8, got 8",
        ),
    ]);
}

#[test]
fn what_only_lowering_sees() {
    refused(&[
        (
            "SetSliceMeta src=x dst=m offset=6 len=4\nSlice src=m dst=v start=0 end=4 step=2",
            "V10 main/2: Slice: `m`: expected a step of 1 in a window that wraps around, got \
             another slice; transfer the window into an allocated register, and slice that",
        ),
        (
            "Allocate id=o device=cpu typ=bn254.fr<8>\nSlice src=x dst=v start=0 end=4\n\
             FuncCall func=add arg_mut=[o] arg=[x, v]\nDeallocate id=o",
            "V07 main/3: FuncCall add: `v`: expected bn254.fr[8], got bn254.fr[4]; lengthen \
             coefficients by a Transfer with pad: \"zero\"",
        ),
        (
            "Allocate id=o device=cpu typ=bn254.fr<4>\n\
             FuncCall func=add arg_mut=[o] arg=[x, o]\nDeallocate id=o",
            "V07 main/2: FuncCall add: `x`: expected bn254.fr[4], got bn254.fr[8]; sizes are \
             equal, or one operand is a scalar",
        ),
        (
            "Blind dst=x start=5 end=9",
            "V11 main/1: Blind: `x`: expected 0 <= start",
        ),
        (
            "LoadInput src=z dst=z",
            "V18 main/1: LoadInput: expected a declared input, got \"z\"",
        ),
        (
            "LoadConstant src=z dst=z",
            "V18 main/1: LoadConstant: expected a declared constant",
        ),
        (
            "Store src=x output=z",
            "V18 main/1: Store: expected a declared output, got \"z\"",
        ),
        (
            "Transfer src_id=x dst_id=x src_device=gpu:0 dst_device=cpu",
            "V08 main/1: Transfer: `x`: expected on gpu:0, got cpu",
        ),
        (
            "Rotation src=x dst=r shift=1\nFuncCall func=add arg_mut=[x] arg=[x, r]",
            "V09 main/2: FuncCall add: `arg`: expected operands that share no bytes",
        ),
        (
            "Allocate id=a device=cpu typ=u64<8> at={pool=cpu, offset=24}",
            "V16 main/1: Allocate: `at.offset`: expected an offset that 64 divides, got 24",
        ),
        (
            "Allocate id=a device=cpu typ=u64<8> at={pool=cpu, offset=4096}",
            "V16 main/1: Allocate: expected a place within 4096 bytes",
        ),
        (
            "Wait event=e slave=gpu:0",
            "V12 main/1: Wait: expected a stream of gpu:0, got none",
        ),
        (
            "RemoveRegister id=nobody",
            "V02 main/1: RemoveRegister: `nobody`: expected a register",
        ),
        (
            "AssembleTuple vars=[x] dst=t\nDeallocate id=t",
            "V05 main/2: Deallocate: `t`: expected a register that owns its memory, got a tuple",
        ),
    ]);
}

#[test]
fn everything_wrong_is_found_at_once() {
    let found = found(
        "Blind dst=x start=5 end=9\nJoin\nSlice src=x dst=v start=3 end=9\n\
         FuncCall func=f arg_mut=[x]\nSlice src=v dst=w start=0 end=99",
    );
    let codes: Vec<&str> = found.iter().map(|text| &text[..3]).collect();
    assert_eq!(codes, ["V01", "V11", "V10", "V07"]);
}

#[test]
fn constants_are_checked() {
    let with = |constant: &str| {
        let text = format!("program version=1\nconstant k {constant}\nmain {{\nReturn id=[]\n}}");
        let lowered = lowered(&parse(text.as_bytes()).unwrap().ast);
        let found: Vec<String> = lowered.findings.iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!(lowered.findings[0].code, "V18");
        found[0].clone()
    };
    assert!(with("type=u64<2> values=[1]").contains("expected 2 integers, got 1"));
    assert!(with("type=u64 values=[\"0x10000000000000000\"]").contains("at most 64 bits"));
    assert!(with("type=i64 values=[1.5]").contains("got 1.5"));
    assert!(with("type=u64 file=\"../a\" bytes=8").contains("one of the files"));
    assert!(with("type=u64 file=a bytes=9").contains("expected 8 bytes, got 9"));
}

#[test]
fn files_of_constants_stay_in_their_folder_and_are_what_was_written() {
    use cloakwork_formats::zk::Files;
    use cloakwork_instructions::lower;
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("program");
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(folder.path().join("secret"), [1; 64]).unwrap();
    std::fs::write(inner.join("data"), [2; 64]).unwrap();
    std::os::unix::fs::symlink(folder.path().join("secret"), inner.join("link")).unwrap();
    let sum = "5c".repeat(32);
    for (constant, expected) in [
        (
            "file=\"../secret\" bytes=64".to_owned(),
            "expected a file in the program's folder",
        ),
        (
            "file=link bytes=64".to_owned(),
            "expected a file in the program's folder",
        ),
        (
            "file=\"/etc/hosts\" bytes=64".to_owned(),
            "expected a file in the program's folder",
        ),
        (
            "file=none bytes=64".to_owned(),
            "expected a file that can be read",
        ),
        (
            "file=data offset=8 bytes=64".to_owned(),
            "expected 64 bytes from byte 8 on, got 64",
        ),
        (
            format!("file=data bytes=64 sha256={sum}"),
            "expected contents of SHA-256 5c5c",
        ),
    ] {
        let text = format!(
            "program version=1\nconstant k type=u64<8> {constant}\nmain {{\nReturn id=[]\n}}"
        );
        let ast = parse(text.as_bytes()).unwrap().ast;
        let lowered = lower(&ast, &Files::Folder(inner.clone()), &|c| {
            Ok(c.words.clone())
        });
        let found: Vec<String> = lowered.findings.iter().map(ToString::to_string).collect();
        assert!(
            found.len() == 1 && found[0].contains(expected),
            "{constant}: {found:#?}"
        );
    }
}
