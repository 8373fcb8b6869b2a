//! Damaged files of circom and snarkjs, and the guarantees of their readers for any bytes.

use crate::{Source, mutate_bytes};
use cloakwork_formats::LoadError;
use cloakwork_formats::circom::{
    Pairing, R1cs, Rows, Wtns, Zkey, parse_proof, parse_public, parse_verifying_key, proof_json,
    public_json, verifying_key_json,
};
use cloakwork_ir::Bytes;

/// A circuit, a witness, a key, and the JSON of a verifying key, a proof and public signals, as
/// circom and snarkjs wrote them.
pub const SAMPLE_CIRCOM_FILES: [&[u8]; 6] = [
    include_bytes!("../../../tests/vectors/groth16/bls12381/mixed.r1cs"),
    include_bytes!("../../../tests/vectors/groth16/bn128/mixed1.wtns"),
    include_bytes!("../../../tests/vectors/groth16/bn128/mixed.zkey"),
    include_bytes!("../../../tests/vectors/groth16/bn128/mixed.vkey.json"),
    include_bytes!("../../../tests/vectors/groth16/bls12381/mixed1.proof.json"),
    include_bytes!("../../../tests/vectors/groth16/bn128/mixed1.public.json"),
];

/// A damaged sample: with random changes, or with one number made extreme.
#[must_use]
pub fn damaged_circom_file(source: &mut Source) -> Vec<u8> {
    let sample = SAMPLE_CIRCOM_FILES[source.below(SAMPLE_CIRCOM_FILES.len())];
    if source.chance(2) {
        return mutate_bytes(sample, source);
    }
    let mut bytes = sample.to_vec();
    for _ in 0..=source.below(3) {
        // Headers are at the start, and their numbers are sizes: half of the damage goes there.
        let reach = if source.chance(2) {
            bytes.len()
        } else {
            bytes.len().min(200)
        };
        let at = source.below(reach.saturating_sub(8).max(1));
        let value: u64 = match source.below(6) {
            0 => 0,
            1 => u64::MAX,
            2 => 1 << source.below(64),
            3 => u64::from(bytes[at]) + 1,
            4 => bytes.len() as u64,
            _ => source.word(),
        };
        let width = [1, 4, 8][source.below(3)];
        for (to, from) in bytes
            .iter_mut()
            .skip(at)
            .zip(value.to_le_bytes())
            .take(width)
        {
            *to = from;
        }
    }
    bytes
}

/// Any bytes are a valid file of one of the kinds, or give an error with a position.
///
/// # Errors
/// The guarantee that does not hold.
pub fn check_circom_bytes(bytes: &[u8]) -> Result<(), String> {
    let shared = Bytes::from(bytes.to_vec());
    let refused = |error: &LoadError| match error {
        LoadError::Binary { offset, .. } if *offset > bytes.len() as u64 => {
            Err(format!("a place outside the file: {error}"))
        }
        LoadError::Binary { .. } => Ok(()),
        other => Err(format!("an error of another kind: {other}")),
    };
    match R1cs::parse(&shared) {
        Ok(circuit) => check_circuit(&circuit)?,
        Err(error) => refused(&error)?,
    }
    match Wtns::parse(&shared) {
        Ok(witness) if witness.wires() == 0 => return Err("a witness without wires".into()),
        Ok(_) => {}
        Err(error) => refused(&error)?,
    }
    match Zkey::parse(&shared) {
        Ok(key) => check_key(&key)?,
        Err(error) => refused(&error)?,
    }
    check_json(bytes)
}

fn check_circuit(circuit: &R1cs) -> Result<(), String> {
    for rows in &circuit.matrices {
        check_rows(rows, (circuit.constraints(), circuit.wires))?;
    }
    if circuit.public() >= circuit.wires {
        return Err("more public wires than wires".into());
    }
    Ok(())
}

fn check_key(key: &Zkey) -> Result<(), String> {
    for rows in &key.matrices {
        check_rows(rows, (key.domain as usize, key.wires))?;
    }
    let points = key.a.as_slice().len() / key.curve.g1_bytes();
    if points != key.wires as usize || key.public >= key.wires {
        return Err("counts that are not those of the points".into());
    }
    Ok(())
}

fn check_rows(rows: &Rows, (count, wires): (usize, u32)) -> Result<(), String> {
    let rising = rows.starts.windows(2).all(|pair| pair[0] <= pair[1]);
    let whole = rows.starts.first() == Some(&0)
        && rows.starts.last() == Some(&(rows.entries() as u64))
        && rows.values.len() == 32 * rows.entries();
    let inside = rows.columns.iter().all(|&wire| wire < wires);
    if rows.rows() == count && rising && whole && inside {
        return Ok(());
    }
    Err("a matrix whose parts do not fit together".into())
}

/// A file that is read and written again stays the same.
fn check_json(bytes: &[u8]) -> Result<(), String> {
    let again = |same: bool| {
        if same {
            Ok(())
        } else {
            Err("JSON that changes".to_owned())
        }
    };
    if let Ok(key) = parse_verifying_key(bytes) {
        again(parse_verifying_key(verifying_key_json(&key).as_bytes()).ok() == Some(key))?;
    }
    for key in [None, Some(Pairing::Bn254), Some(Pairing::Bls12381)] {
        if let Ok(proof) = parse_proof(bytes, key) {
            again(parse_proof(proof_json(&proof).as_bytes(), None).ok() == Some(proof))?;
        }
    }
    for curve in Pairing::ALL {
        if let Ok(public) = parse_public(bytes, curve) {
            again(
                parse_public(public_json(curve, &public).as_bytes(), curve).ok() == Some(public),
            )?;
        }
    }
    Ok(())
}
