//! Data of a program and inputs of a run are checked against their dtype.
#![allow(clippy::unwrap_used)]

use cloakwork_csrc as _;
use cloakwork_formats::{load, save_container};
use cloakwork_ir::{DType, Field, HostId, HostTensor, Program, Shape, text};
use cloakwork_kernels::best_isa;
use cloakwork_plan::{Options, plan};
use cloakwork_run::{Executor, RunOptions};
use cloakwork_verify::verify;
use std::collections::HashMap;
use std::sync::Arc;

/// Invalid elements, and the messages for them.
const NOT_ELEMENTS: [(&str, &str); 4] = [
    (
        "goldilocks[3] {0, 1, 18446744073709551615}",
        "element 2, which is not below the prime",
    ),
    (
        "babybear[2] {0, 2013265921}",
        "element 1, which is not below the prime",
    ),
    (
        "bn254.g1[2] {0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}",
        "element 1, which is not on the curve",
    ),
    (
        "bn254.g1[1] {4332616871279656263, 10917124144477883021, 13281191951274694749, \
         3486998266802970665, 0, 0, 0, 0}",
        "element 0, which has a coordinate that is not below the prime",
    ),
];

/// The verifier's findings on the elements of a program.
fn refusals(program: Program) -> Vec<String> {
    let found = verify(Arc::new(program));
    assert!(found.verified.is_none());
    let elements = found.findings.iter().filter(|f| f.code == "element");
    elements.map(|finding| finding.got.clone()).collect()
}

#[test]
fn data_of_text_and_of_containers_is_held_to_its_dtype() {
    let name = format!("cloakwork-elements-{}.cwk", std::process::id());
    let path = std::env::temp_dir().join(name);
    for (data, why) in NOT_ELEMENTS {
        let written = format!("%a = host_to_device {data}\n%b = copy %a\nfree %a\nfree %b\n");
        let program = text::parse(&written).unwrap();
        // Its checksums are valid: they were computed from this data.
        save_container(&program, &path).unwrap();
        let loaded = load(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        for program in [program, loaded] {
            assert_eq!(refusals(program), [why]);
        }
    }
}

#[test]
fn inputs_of_a_run_are_held_to_their_dtype_unless_they_are_known() {
    let written = "%a = host_to_device input \"x\" goldilocks[2]\n\
                   device_to_host %a -> output \"y\"\nfree %a\n";
    let program = text::parse(written).unwrap();
    let verified = verify(Arc::new(program)).verified.unwrap();
    let plan = plan(Arc::new(verified), &Options::new(best_isa(), 1)).unwrap();
    let mut executor = Executor::new(Arc::new(plan)).unwrap();
    let mut run = |words: [u64; 2]| {
        let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let shape = Shape::new(&[2]).unwrap();
        let given = HostTensor::from_vec(DType::Field(Field::GOLDILOCKS), shape, bytes).unwrap();
        let inputs = HashMap::from([(HostId(0), given)]);
        let done = executor.run(&inputs, &RunOptions::default(), &mut |_| true);
        done.map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(run([0, u64::MAX - (1 << 32) + 1]), Ok(()));
    let error = run([5, u64::MAX]).unwrap_err();
    assert!(error.contains("element 1, which is not below"), "{error}");
    assert!(error.contains('x'), "{error}");
}
