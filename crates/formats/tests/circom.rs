//! Files of circom and snarkjs: what they hold, what is refused, and that ours read back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cloakwork_formats::circom::{
    Pairing, R1cs, R1csParts, Rows, Wtns, Zkey, ZkeyParts, parse_proof, parse_public,
    parse_verifying_key, proof_json, public_json, save_r1cs, save_wtns, save_zkey,
    verifying_key_json,
};
use cloakwork_ir::Bytes;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

fn vector(curve: Pairing, name: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/groth16");
    PathBuf::from(folder).join(curve.snarkjs_name()).join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    fs::read(vector(Pairing::Bn254, name)).unwrap()
}

#[test]
fn what_snarkjs_wrote_reads_as_it_says() {
    for curve in Pairing::ALL {
        let circuit = R1cs::open(vector(curve, "mixed.r1cs")).unwrap();
        let counts = (
            circuit.wires,
            circuit.outputs,
            circuit.public_inputs,
            circuit.private_inputs,
        );
        assert_eq!((circuit.curve, counts), (curve, (17, 2, 1, 2)));
        assert_eq!((circuit.constraints(), circuit.public()), (15, 3));
        let key = Zkey::open(vector(curve, "mixed.zkey")).unwrap();
        assert_eq!(
            (key.curve, key.wires, key.public, key.domain),
            (curve, 17, 3, 32)
        );
        // Public wires have a row each in A, behind the constraints.
        assert_eq!(key.matrices[0].entries(), circuit.matrices[0].entries() + 4);
        assert_eq!(key.matrices[0].starts[..16], circuit.matrices[0].starts);
        assert_eq!(key.matrices[1].starts[..16], circuit.matrices[1].starts);
        assert_eq!(key.matrices[1].columns, circuit.matrices[1].columns);
        for number in 1..=3 {
            let witness = Wtns::open(vector(curve, &format!("mixed{number}.wtns"))).unwrap();
            assert_eq!((witness.curve, witness.wires()), (curve, 17));
        }
    }
}

#[test]
fn private_inputs_that_circom_drops_are_no_wires() {
    for curve in Pairing::ALL {
        let circuit = R1cs::open(vector(curve, "dropped.r1cs")).unwrap();
        let counts = (circuit.wires, circuit.public(), circuit.private_inputs);
        assert_eq!((counts, circuit.labels), ((4, 2, 7), 10));
        assert_eq!(circuit.constraints(), 1);
    }
    // The prime: 4 + 32 bytes; then wires. Wires of outputs and public inputs are never dropped.
    let at = section("dropped.r1cs", 1) + 36;
    let error = patched("dropped.r1cs", at, &[2]);
    let expected = format!(
        "byte {at}: expected at least 3 wires: the constant, outputs and public inputs, got 2"
    );
    assert!(error.contains(&expected), "{error}");
    let error = patched("dropped.r1cs", at, &[3]);
    assert!(error.contains("(labels of wires)"), "{error}");
}

#[test]
fn a_proof_without_a_curve_has_that_of_its_key() {
    for curve in Pairing::ALL {
        let text = fs::read_to_string(vector(curve, "mixed1.proof.json")).unwrap();
        let whole = parse_proof(text.as_bytes(), None).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        for absent in [&["curve"][..], &["protocol"], &["curve", "protocol"]] {
            let mut value = value.clone();
            let members = value.as_object_mut().unwrap();
            absent.iter().for_each(|name| drop(members.remove(*name)));
            let bare = value.to_string();
            assert_eq!(parse_proof(bare.as_bytes(), Some(curve)).unwrap(), whole);
            assert!(parse_proof(bare.as_bytes(), None).is_err());
        }
        // What it names counts: the verifier compares it with the key's.
        for key in Pairing::ALL {
            assert_eq!(parse_proof(text.as_bytes(), Some(key)).unwrap(), whole);
        }
    }
}

#[test]
fn json_is_written_as_snarkjs_writes_it() {
    for curve in Pairing::ALL {
        let key = fs::read_to_string(vector(curve, "mixed.vkey.json")).unwrap();
        assert_eq!(
            verifying_key_json(&parse_verifying_key(key.as_bytes()).unwrap()),
            key
        );
        for number in 1..=3 {
            let text = |kind: &str| {
                fs::read_to_string(vector(curve, &format!("mixed{number}.{kind}.json"))).unwrap()
            };
            let (proof, public) = (text("proof"), text("public"));
            assert_eq!(
                proof_json(&parse_proof(proof.as_bytes(), None).unwrap()),
                proof
            );
            let signals = parse_public(public.as_bytes(), curve).unwrap();
            assert_eq!(public_json(curve, &signals), public);
        }
    }
    assert_eq!(public_json(Pairing::Bn254, &[]), "[]");
}

#[test]
fn infinity_has_snarkjss_coordinates() {
    let text = fs::read_to_string(vector(Pairing::Bn254, "mixed1.proof.json")).unwrap();
    let mut proof = parse_proof(text.as_bytes(), None).unwrap();
    (proof.a, proof.b) = (vec![0; 64], vec![0; 128]);
    let written = proof_json(&proof);
    assert!(written.starts_with("{\n \"pi_a\": [\n  \"0\",\n  \"1\",\n  \"0\"\n ],"));
    assert_eq!(parse_proof(written.as_bytes(), None).unwrap(), proof);
}

#[test]
fn files_that_are_written_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for curve in Pairing::ALL {
        let circuit = R1cs::open(vector(curve, "mixed.r1cs")).unwrap();
        let parts = R1csParts {
            curve,
            counts: [
                circuit.wires,
                circuit.outputs,
                circuit.public_inputs,
                circuit.private_inputs,
            ],
            matrices: circuit.matrices.each_ref(),
        };
        save_r1cs(&parts, path("a.r1cs")).unwrap();
        let labels = u64::from(circuit.wires);
        assert_eq!(
            R1cs::open(path("a.r1cs")).unwrap(),
            R1cs { labels, ..circuit }
        );
        // A witness's file has no freedom: it is the same to the byte.
        let witness = vector(curve, "mixed1.wtns");
        let values = Wtns::open(&witness).unwrap().values;
        save_wtns(curve, values.as_slice(), path("a.wtns")).unwrap();
        assert_eq!(
            fs::read(path("a.wtns")).unwrap(),
            fs::read(witness).unwrap()
        );
        let original = fs::read(vector(curve, "mixed.zkey")).unwrap();
        let key = Zkey::parse(&original.clone().into()).unwrap();
        let [alpha1, beta1, beta2] = [&key.alpha1, &key.beta1, &key.beta2].map(Bytes::as_slice);
        let [gamma2, delta1, delta2] = [&key.gamma2, &key.delta1, &key.delta2].map(Bytes::as_slice);
        let points = [&key.ic, &key.a, &key.b1, &key.b2, &key.c, &key.h].map(Bytes::as_slice);
        let parts = ZkeyParts {
            curve,
            counts: [key.wires, key.public, key.domain],
            header: &[alpha1, beta1, beta2, gamma2, delta1, delta2].concat(),
            matrices: key.matrices.each_ref(),
            points,
            circuit_hash: [0; 64],
        };
        save_zkey(&parts, path("a.zkey")).unwrap();
        let written = Zkey::open(path("a.zkey")).unwrap();
        assert_eq!(everything(&written), everything(&key));
        // Sections come in another order from a ceremony; the last has its contributions.
        let size = fs::metadata(path("a.zkey")).unwrap().len();
        assert!(size > 10_000 && size <= original.len() as u64);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}

/// A digest of all points, and the matrices' entries.
fn everything(key: &Zkey) -> (Vec<u64>, [Rows; 2]) {
    let points = [
        &key.alpha1,
        &key.beta1,
        &key.beta2,
        &key.gamma2,
        &key.delta1,
        &key.delta2,
        &key.ic,
        &key.a,
        &key.b1,
        &key.b2,
        &key.c,
        &key.h,
    ];
    let digest = |points: &&Bytes| {
        let mut hasher = DefaultHasher::new();
        points.as_slice().hash(&mut hasher);
        hasher.finish()
    };
    (points.iter().map(digest).collect(), key.matrices.clone())
}

/// The errors of the three readers of binary files.
fn refusal(bytes: &[u8]) -> String {
    let bytes = Bytes::from(bytes.to_vec());
    let error = match bytes.as_slice().get(..4) {
        Some(b"r1cs") => R1cs::parse(&bytes).err(),
        Some(b"wtns") => Wtns::parse(&bytes).err(),
        _ => Zkey::parse(&bytes).err(),
    };
    error.expect("the file should be refused").to_string()
}

fn patched(name: &str, at: usize, with: &[u8]) -> String {
    let mut bytes = bytes(name);
    bytes[at..at + with.len()].copy_from_slice(with);
    refusal(&bytes)
}

/// Where a section's bytes begin, its header being before.
fn section(name: &str, wanted: u32) -> usize {
    let bytes = bytes(name);
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let mut at = 12;
    while word(at) != wanted {
        at += 12 + word(at + 4) as usize;
    }
    at + 12
}

#[test]
fn every_shorter_file_is_refused_with_its_place() {
    for name in ["mixed.r1cs", "mixed.zkey", "mixed1.wtns"] {
        let whole = bytes(name);
        for length in 4..whole.len() {
            let error = refusal(&whole[..length]);
            assert!(error.contains(", byte "), "{name}, {length}: {error}");
        }
        let error = refusal(&[whole.as_slice(), &[0]].concat());
        assert!(
            error.contains("expected the end of the file after its last section"),
            "{error}"
        );
    }
}

#[test]
fn sections_that_lie_are_refused() {
    let huge = u64::MAX.to_le_bytes();
    let error = patched("mixed.zkey", section("mixed.zkey", 5) - 8, &huge);
    assert!(error.contains("section 5 (points of A)"), "{error}");
    assert!(
        error.contains("got a size of 18446744073709551615; the file is truncated"),
        "{error}"
    );
    let error = patched("mixed.zkey", 8, &u32::MAX.to_le_bytes());
    assert!(
        error.contains("byte 8: expected sections that fit into"),
        "{error}"
    );
    let error = patched("mixed.zkey", section("mixed.zkey", 6) - 12, &[5]);
    assert!(error.contains("expected each section once, got section 5 (points of A) again"));
    let error = patched("mixed.zkey", section("mixed.zkey", 6) - 12, &[77]);
    assert!(error.contains("expected section 6 (points of B in G1), got a file without it"));
    let error = patched("mixed.zkey", 4, &[9]);
    assert!(
        error.contains("byte 4: expected a version from 1 to 2, got 9"),
        "{error}"
    );
}

#[test]
fn numbers_of_headers_are_held_against_the_sections() {
    let at = section("mixed.zkey", 2);
    // q: 4 + 32 bytes; r: 4 + 32; then wires, public signals, domain.
    let error = patched("mixed.zkey", at + 72, &18u32.to_le_bytes());
    assert!(error.contains("section 5 (points of A), byte"), "{error}");
    assert!(
        error.contains("expected 1152 bytes: 18 points, got 1088 bytes"),
        "{error}"
    );
    let error = patched("mixed.zkey", at + 76, &17u32.to_le_bytes());
    assert!(
        error.contains("expected fewer public signals than the 17 wires, got 17"),
        "{error}"
    );
    for domain in [0, 33, 3, u32::MAX, 1 << 29] {
        let error = patched("mixed.zkey", at + 80, &domain.to_le_bytes());
        assert!(
            error.contains("expected a domain of a power of two"),
            "{error}"
        );
    }
    let error = patched("mixed.zkey", at + 80, &(1u32 << 28).to_le_bytes());
    assert!(error.contains("section 9 (points of H)"), "{error}");
    let error = patched("mixed.zkey", section("mixed.zkey", 4), &[1]);
    assert!(
        error.contains("expected 1 coefficients of 44 bytes"),
        "{error}"
    );
    let error = patched("mixed.zkey", section("mixed.zkey", 4) + 4, &[2]);
    assert!(
        error.contains("expected a matrix below 2, got 2"),
        "{error}"
    );
    let error = patched("mixed.zkey", section("mixed.zkey", 4) + 8, &[32]);
    assert!(error.contains("expected a row below 32, got 32"), "{error}");
    let error = patched("mixed.zkey", section("mixed.zkey", 4) + 12, &[17]);
    assert!(
        error.contains("expected a wire below 17, got 17"),
        "{error}"
    );
    let error = patched("mixed.zkey", section("mixed.zkey", 4) + 16, &[0xff; 32]);
    assert!(
        error.contains("expected a coefficient below the prime 2188824287183927"),
        "{error}"
    );
}

#[test]
fn other_protocols_and_primes_are_named() {
    let protocol = section("mixed.zkey", 1);
    let error = patched("mixed.zkey", protocol, &[2]);
    assert!(error.contains("expected a Groth16 key, got a PLONK key; zk.read_zkey and zk.plonk"));
    assert!(patched("mixed.zkey", protocol, &[10]).contains("got an fflonk key"));
    assert!(patched("mixed.zkey", protocol, &[7]).contains("got protocol 7"));
    for name in ["mixed.r1cs", "mixed1.wtns"] {
        let error = patched(name, section(name, 1) + 4, &[0x02]);
        assert!(
            error.contains("expected the prime of scalars of bn128 or bls12381"),
            "{error}"
        );
        let error = patched(name, section(name, 1), &[7]);
        assert!(
            error.contains("expected a width of a prime in bytes, got 7"),
            "{error}"
        );
    }
    // The primes of coordinates and of scalars must be one curve's.
    let other = fs::read(vector(Pairing::Bls12381, "mixed.r1cs")).unwrap();
    let r = &other[section("mixed.r1cs", 1)..][4..36];
    let error = patched("mixed.zkey", section("mixed.zkey", 2) + 40, r);
    assert!(error.contains("expected the prime of scalars of bn128, got another curve's"));
    assert!(refusal(b"PK\x03\x04").contains("expected the letters zkey, got \"PK"));
}

#[test]
fn values_of_witnesses_and_circuits_are_canonical() {
    let values = section("mixed1.wtns", 2);
    let error = patched("mixed1.wtns", values + 3 * 32, &[0xff; 32]);
    assert!(error.contains(&format!("byte {}", values + 96)), "{error}");
    assert!(
        error.contains("expected a value below the prime"),
        "{error}"
    );
    let error = patched("mixed1.wtns", values, &[2]);
    assert!(error.contains("expected 1, the value of wire 0"), "{error}");
    let error = patched("mixed1.wtns", section("mixed1.wtns", 1) + 36, &[16]);
    assert!(error.contains("expected 512 bytes: 16 values, as the header says, got 544 bytes"));
    let constraints = section("mixed.r1cs", 2);
    let error = patched("mixed.r1cs", constraints + 4, &[17]);
    assert!(
        error.contains("expected a wire below 17, got 17"),
        "{error}"
    );
    let error = patched("mixed.r1cs", constraints + 8, &[0xff; 32]);
    assert!(
        error.contains("expected a coefficient below the prime"),
        "{error}"
    );
    let error = patched("mixed.r1cs", constraints, &u32::MAX.to_le_bytes());
    assert!(error.contains("expected terms that fit into"), "{error}");
    let error = patched("mixed.r1cs", section("mixed.r1cs", 1) + 60, &[0xff; 4]);
    assert!(
        error.contains("expected 4294967295 constraints, as the header says"),
        "{error}"
    );
}

#[test]
fn json_that_is_wrong_is_refused_with_the_way_to_it() {
    let refused = |text: &str| {
        parse_verifying_key(text.as_bytes())
            .unwrap_err()
            .to_string()
    };
    let key = fs::read_to_string(vector(Pairing::Bn254, "mixed.vkey.json")).unwrap();
    let value: serde_json::Value = serde_json::from_str(&key).unwrap();
    let changed = |pointer: &str, to: serde_json::Value| {
        let mut value = value.clone();
        *value.pointer_mut(pointer).unwrap() = to;
        refused(&value.to_string())
    };
    assert_eq!(
        changed(
            "/IC/1/0",
            "21888242871839275222246405745257275088696311157297823662689037894645226208583".into()
        ),
        "verifying key, IC[1][0]: expected a decimal string below \
         21888242871839275222246405745257275088696311157297823662689037894645226208583, of \
         digits alone, got \
         \"21888242871839275222246405745257275088696311157297823662689037894645226208583\""
    );
    assert!(changed("/vk_beta_2/0/1", "-5".into()).contains("vk_beta_2[0][1]: expected a decimal"));
    assert!(changed("/vk_beta_2/0", 7.into()).contains("vk_beta_2[0]: expected a list of"));
    assert!(changed("/vk_alpha_1/2", "2".into()).contains("a last coordinate of 1, or infinity"));
    assert!(changed("/protocol", "plonk".into()).contains("zk.plonk and cloakwork verify"));
    assert!(changed("/curve", "pallas".into()).contains("expected bn128 or bls12381, got"));
    assert!(changed("/nPublic", 9.into()).contains("nPublic: expected 3, one less than IC has"));
    assert_eq!(
        refused("[]"),
        "verifying key: expected an object, got a list of 0"
    );
    assert_eq!(
        refused("{}"),
        "verifying key: expected a member protocol, got none"
    );
    assert_eq!(
        refused("{\n \"a\":"),
        "verifying key, line 2, column 5: expected JSON, got EOF while parsing a value"
    );
    // A bomb of brackets is refused, not followed.
    assert!(refused(&"[".repeat(1_000_000)).contains("recursion limit exceeded"));
    let public = |text: &str| {
        parse_public(text.as_bytes(), Pairing::Bn254)
            .unwrap_err()
            .to_string()
    };
    assert!(public("[\"1\", \"x\"]").starts_with("public signals, [1]: expected a decimal string"));
    assert!(public("[1]").starts_with("public signals, [0]: expected a decimal string"));
    assert!(public(&format!("[\"{}\"]", "1".repeat(200))).ends_with("got a string of 200 bytes"));
}
