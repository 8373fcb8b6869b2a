//! snarkjs's JSON of PLONK: verifying keys and proofs, in and out, to the byte.

use super::json::{Node, parse};
use super::json_write::{g1, g2, object};
use super::{Pairing, number};
use crate::LoadError;
use serde_json::Value;

/// The commitments of a verifying key, in the order of the transcript.
pub const KEY_POINTS: [&str; 8] = ["Qm", "Ql", "Qr", "Qo", "Qc", "S1", "S2", "S3"];
/// The commitments of a proof, in snarkjs's order.
pub const PROOF_POINTS: [&str; 9] = ["A", "B", "C", "Z", "T1", "T2", "T3", "Wxi", "Wxiw"];
/// The evaluations of a proof, in snarkjs's order.
pub const PROOF_SCALARS: [&str; 6] = [
    "eval_a", "eval_b", "eval_c", "eval_s1", "eval_s2", "eval_zw",
];
const MOST_POWER: u32 = 28;

/// A verifying key. Points and scalars are canonical, as in [`super::VerifyingKey`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlonkVerifyingKey {
    /// The curve.
    pub curve: Pairing,
    /// Number of public signals.
    pub public: u32,
    /// Binary logarithm of the domain's size.
    pub power: u32,
    /// Factors of columns, k1 and k2, then the root of unity of the domain.
    pub scalars: Vec<u8>,
    /// G1, one after the other: [`KEY_POINTS`].
    pub points: Vec<u8>,
    /// tau in G2.
    pub x2: Vec<u8>,
}

/// A proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlonkProof {
    /// The curve.
    pub curve: Pairing,
    /// G1, one after the other: [`PROOF_POINTS`].
    pub points: Vec<u8>,
    /// One after the other: [`PROOF_SCALARS`].
    pub evaluations: Vec<u8>,
}

/// The member `protocol` of a verifying key or a proof, where it has one; `file` names it.
///
/// # Errors
/// It is not JSON of an object.
pub fn protocol_of(file: &'static str, text: &[u8]) -> Result<Option<String>, LoadError> {
    let value = parse(file, text)?;
    let root = Node::root(file, &value);
    let named = root.optional("protocol");
    Ok(named.and_then(|named| named.value.as_str().map(str::to_owned)))
}

fn plonk<'a>(file: &'static str, value: &'a Value) -> Result<(Node<'a>, Pairing), LoadError> {
    let root = Node::root(file, value);
    let protocol = root.member("protocol")?;
    if protocol.value.as_str() != Some("plonk") {
        return Err(protocol.wrong("plonk"));
    }
    let curve = root.member("curve")?.curve()?;
    Ok((root, curve))
}

fn points(root: &Node<'_>, names: &[&str], curve: Pairing) -> Result<Vec<u8>, LoadError> {
    let one = |name: &&str| root.member(name)?.g1(curve);
    Ok(names
        .iter()
        .map(one)
        .collect::<Result<Vec<_>, _>>()?
        .concat())
}

fn scalars(root: &Node<'_>, names: &[&str], curve: Pairing) -> Result<Vec<u8>, LoadError> {
    let one = |name: &&str| root.member(name)?.number(curve.scalar_prime());
    Ok(names
        .iter()
        .map(one)
        .collect::<Result<Vec<_>, _>>()?
        .concat())
}

/// Reads a verifying key.
///
/// # Errors
/// It is not JSON, is of another protocol or curve, or some number is not below its prime.
pub fn parse_plonk_key(text: &[u8]) -> Result<PlonkVerifyingKey, LoadError> {
    let value = parse("verifying key", text)?;
    let (root, curve) = plonk("verifying key", &value)?;
    let count = |name: &str, most: u32| {
        let node = root.member(name)?;
        let number = node.value.as_u64().and_then(|n| u32::try_from(n).ok());
        number
            .filter(|&number| number <= most)
            .ok_or_else(|| node.wrong(&format!("an integer from 0 to {most}")))
    };
    let power = count("power", MOST_POWER.min(curve.two_adicity()))?;
    Ok(PlonkVerifyingKey {
        curve,
        public: count("nPublic", 1 << power)?,
        power,
        scalars: scalars(&root, &["k1", "k2", "w"], curve)?,
        points: points(&root, &KEY_POINTS, curve)?,
        x2: root.member("X_2")?.finite(Node::g2, curve)?,
    })
}

/// Reads a proof.
///
/// # Errors
/// As [`parse_plonk_key`].
pub fn parse_plonk_proof(text: &[u8]) -> Result<PlonkProof, LoadError> {
    let value = parse("proof", text)?;
    let (root, curve) = plonk("proof", &value)?;
    Ok(PlonkProof {
        curve,
        points: points(&root, &PROOF_POINTS, curve)?,
        evaluations: scalars(&root, &PROOF_SCALARS, curve)?,
    })
}

fn decimals<'a>(
    names: &'a [&'static str],
    curve: Pairing,
    bytes: &'a [u8],
) -> impl Iterator<Item = (&'static str, Value)> + 'a {
    let numbers = bytes.chunks(curve.scalar_bytes());
    let shown = numbers.map(|number| Value::from(number::to_decimal(number)));
    names.iter().copied().zip(shown)
}

fn shown<'a>(
    names: &'a [&'static str],
    curve: Pairing,
    bytes: &'a [u8],
) -> impl Iterator<Item = (&'static str, Value)> + 'a {
    let points = bytes.chunks(curve.g1_bytes());
    names
        .iter()
        .copied()
        .zip(points.map(move |point| g1(curve, point)))
}

/// A verifying key as `snarkjs zkey export verificationkey` writes it.
#[must_use]
pub fn plonk_key_json(key: &PlonkVerifyingKey) -> String {
    let curve = key.curve;
    let mut numbers: Vec<_> = decimals(&["k1", "k2", "w"], curve, &key.scalars).collect();
    let root = numbers.pop();
    let mut members = vec![
        ("protocol", Value::from("plonk")),
        ("curve", Value::from(curve.snarkjs_name())),
        ("nPublic", Value::from(key.public)),
        ("power", Value::from(key.power)),
    ];
    members.extend(numbers);
    members.extend(shown(&KEY_POINTS, curve, &key.points));
    members.push(("X_2", g2(curve, &key.x2)));
    members.extend(root);
    object(&members)
}

/// A proof as `snarkjs plonk prove` writes it.
#[must_use]
pub fn plonk_proof_json(proof: &PlonkProof) -> String {
    let curve = proof.curve;
    let mut members: Vec<_> = shown(&PROOF_POINTS, curve, &proof.points).collect();
    members.extend(decimals(&PROOF_SCALARS, curve, &proof.evaluations));
    members.push(("protocol", Value::from("plonk")));
    members.push(("curve", Value::from(curve.snarkjs_name())));
    object(&members)
}
