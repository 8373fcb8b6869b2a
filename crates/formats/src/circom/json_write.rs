//! snarkjs's JSON out, to the byte: one space a level, decimal strings, no newline at the end.

use super::{Groth16Proof, Pairing, VerifyingKey, number};
use serde_json::Value;

/// A verifying key as `snarkjs zkey export verificationkey` writes it.
#[must_use]
pub fn verifying_key_json(key: &VerifyingKey) -> String {
    let curve = key.curve;
    let mut members = vec![
        ("protocol", Value::from("groth16")),
        ("curve", Value::from(curve.snarkjs_name())),
        ("nPublic", Value::from(key.public())),
        ("vk_alpha_1", g1(curve, &key.alpha1)),
        ("vk_beta_2", g2(curve, &key.beta2)),
        ("vk_gamma_2", g2(curve, &key.gamma2)),
        ("vk_delta_2", g2(curve, &key.delta2)),
    ];
    if let Some(pairing) = &key.alphabeta12 {
        let halves = pairing.chunks(6 * curve.base_bytes());
        let half = |half: &[u8]| Value::from(pairs(curve, half));
        members.push(("vk_alphabeta_12", halves.map(half).collect()));
    }
    let ic = key.ic.chunks(curve.g1_bytes());
    members.push(("IC", ic.map(|point| g1(curve, point)).collect()));
    object(&members)
}

/// A proof as `snarkjs groth16 prove` writes it.
#[must_use]
pub fn proof_json(proof: &Groth16Proof) -> String {
    object(&[
        ("pi_a", g1(proof.curve, &proof.a)),
        ("pi_b", g2(proof.curve, &proof.b)),
        ("pi_c", g1(proof.curve, &proof.c)),
        ("protocol", Value::from("groth16")),
        ("curve", Value::from(proof.curve.snarkjs_name())),
    ])
}

/// Public signals, canonical little-endian scalars, as snarkjs writes them.
#[must_use]
pub fn public_json(curve: Pairing, signals: &[u8]) -> String {
    let mut out = String::new();
    let signals = decimals(signals, curve.scalar_bytes());
    put(&mut out, &Value::from(signals), 0);
    out
}

fn decimals(bytes: &[u8], size: usize) -> Vec<Value> {
    bytes
        .chunks(size)
        .map(|number| Value::from(number::to_decimal(number)))
        .collect()
}

pub(super) fn g1(curve: Pairing, point: &[u8]) -> Value {
    let mut coordinates = decimals(point, curve.base_bytes());
    let infinite = point.iter().all(|&byte| byte == 0);
    if infinite {
        coordinates = vec!["0".into(), "1".into()];
    }
    coordinates.push(if infinite { "0" } else { "1" }.into());
    Value::from(coordinates)
}

pub(super) fn g2(curve: Pairing, point: &[u8]) -> Value {
    let pair = |c0: &str| Value::from(vec![Value::from(c0), Value::from("0")]);
    let infinite = point.iter().all(|&byte| byte == 0);
    let mut coordinates = if infinite {
        vec![pair("0"), pair("1")]
    } else {
        pairs(curve, point)
    };
    coordinates.push(pair(if infinite { "0" } else { "1" }));
    Value::from(coordinates)
}

fn pairs(curve: Pairing, bytes: &[u8]) -> Vec<Value> {
    let pair = |pair: &[u8]| Value::from(decimals(pair, curve.base_bytes()));
    bytes.chunks(2 * curve.base_bytes()).map(pair).collect()
}

/// Members in the order given: a map of `serde_json` would sort them.
pub(super) fn object(members: &[(&str, Value)]) -> String {
    let mut out = String::from("{");
    for (at, (name, value)) in members.iter().enumerate() {
        out.push_str(if at == 0 { "\n \"" } else { ",\n \"" });
        out.push_str(name);
        out.push_str("\": ");
        put(&mut out, value, 1);
    }
    out.push_str("\n}");
    out
}

fn put(out: &mut String, value: &Value, level: usize) {
    let Some(items) = value.as_array().filter(|items| !items.is_empty()) else {
        out.push_str(&value.to_string());
        return;
    };
    out.push('[');
    for (at, item) in items.iter().enumerate() {
        out.push_str(if at == 0 { "\n" } else { ",\n" });
        out.push_str(&" ".repeat(level + 1));
        put(out, item, level + 1);
    }
    out.push('\n');
    out.push_str(&" ".repeat(level));
    out.push(']');
}
