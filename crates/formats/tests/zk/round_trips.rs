//! What is written reads back the same, whichever form it is written in.

use cloakwork_formats::zk::{parse, to_json, to_text};
use proptest::prelude::*;

pub const EXAMPLE: &str = include_str!("../../../../examples/zk/windows.json");

/// Every instruction with every field, in the text form.
pub const EVERYTHING: &str = r#"
program version=1 curve=bls12_381 ; all there is
register a type=bls12_381.fr<8>:coef device=gpu:0
register t type=[bls12_381.fr<8>, [u64, bytes<3>]] device=cpu
register ts type=transcript<64>:keccak256:bn254 device=cpu
input "the witness" type=bn254.fr<2x4> device=cpu consume=true
constant g type=bls12_381.g2<3> device=cpu file=points.bin offset=64 bytes=576
constant v type=u64<2> device=cpu values=[1, "0x10"]
event e kind=thread
event f kind=gpu device=gpu:0
stream s device=gpu:0
output proof is=bytes
output rest is=[bn254.g1, bn254.g1<4>]
budget cpu is=1024
functions is=[ntt]
main {
  Allocate id=a device=gpu:0 typ=bls12_381.fr<8>:coef at={pool=gpu:0, offset=64} zero=true
  Transfer src_id=w dst_id=a src_device=cpu dst_device=gpu:0 stream=s pad=zero id=here
  LoadConstant src=g dst=g
  LoadInput src="the witness" dst=w src_loc="prove.py:3" track=load
  MoveRegister src=w dst=v
  Fork new_thread=t1 {
    Wait event=f slave=gpu:0 stream=s
    Fork new_thread=t2 {
    }
    FuncCall func=ntt arg_mut=[a] arg=[] attrs={scale=false, list=[1, [2], {k=-3}]} stream=s
  }
  Rotation src=a dst=r shift=-3
  Slice src=r dst=x start=1 end=7 step=2
  Slice src=r dst=y entries=[0, [1, 2], [1, 5, 2], ...]
  SetSliceMeta src=a dst=z offset=-2 len=5
  View src=x dst=x1 kind=reshape args=[2, 4]
  View src=x dst=x2 kind=permute args=[1, 0]
  View src=x dst=x3 kind=expand args=[0, 5]
  View src=x dst=x4 kind=broadcast args=[3, 8]
  AssembleTuple vars=[a, x] dst=t
  Element src=a dst=el index=3 stream=s
  Blind dst=a start=5 end=8 domain=rows
  AssertEq value=a expected=x msg="they \"differ\""
  Print id=a label="12"
  SegmentStart name=prove
  Record event=f stream=s
  Join thread=t1
  SegmentEnd name=prove
  Store src=a output=proof
  RemoveRegister id=r
  Deallocate id=a
  Return id=[a, x]
}
"#;

#[test]
fn everything_reads_without_a_finding() {
    for text in [EVERYTHING, EXAMPLE] {
        let parsed = parse(text.as_bytes()).unwrap();
        let found: Vec<String> = parsed.findings.iter().map(ToString::to_string).collect();
        assert_eq!(found, Vec::<String>::new());
    }
}

#[test]
fn both_forms_hold_all_of_a_program() {
    for text in [EVERYTHING, EXAMPLE] {
        let ast = parse(text.as_bytes()).unwrap().ast;
        for written in [to_json(&ast), to_text(&ast)] {
            let again = parse(written.as_bytes()).unwrap();
            assert_eq!(again.findings, []);
            assert_eq!(again.ast, ast, "{written}");
            assert_eq!(to_json(&again.ast), to_json(&ast));
            assert_eq!(to_text(&again.ast), to_text(&ast));
        }
    }
}

fn names() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z][a-z0-9_.]{0,6}",
        "[ -\"$&-~é\\n]{1,8}",
        Just("true".to_owned())
    ]
}

proptest! {
    #[test]
    fn names_and_numbers_of_any_kind_come_back(
        name in names(), label in ".{0,12}", shift in -(1i64 << 40)..1 << 40,
        sizes in proptest::collection::vec(0u64..9, 0..4), flag: bool,
    ) {
        let text = |text: &str| serde_json::to_string(text).unwrap();
        let json = format!(
            r#"{{"format": "program", "version": 1, "registers": {{{}: {{"type":
               {{"Tensor": {{"dtype": "u64", "shape": {sizes:?}}}}}}}}}, "main": [
               {{"op": "Rotation", "src": {}, "dst": "b", "shift": {shift}, "track": {}}},
               {{"op": "FuncCall", "func": "f", "attrs": {{"x": {flag}, "y": {}}}}}]}}"#,
            text(&name), text(&name), text(&label), text(&label)
        );
        let parsed = parse(json.as_bytes()).unwrap();
        prop_assert_eq!(&parsed.findings, &[]);
        for written in [to_json(&parsed.ast), to_text(&parsed.ast)] {
            let again = parse(written.as_bytes()).unwrap();
            prop_assert_eq!(&again.ast, &parsed.ast, "{}", written);
        }
    }

    #[test]
    fn no_change_of_a_file_panics(
        at in 0usize..5000, byte: u8, cut in 0usize..5000, form in 0usize..2,
    ) {
        let mut bytes = [EVERYTHING, EXAMPLE][form].as_bytes().to_vec();
        let length = bytes.len();
        bytes[at % length] = byte;
        if cut % 3 == 0 {
            bytes.truncate(cut % length);
        }
        if let Ok(parsed) = parse(&bytes) {
            super::lowering::lowered(&parsed.ast);
            let _ = parse(to_json(&parsed.ast).as_bytes()).unwrap();
        }
    }
}
