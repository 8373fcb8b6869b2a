//! snarkjs's JSON in: verifying keys, proofs, public signals.

use super::{Pairing, number, strict};
use crate::{LoadError, Mismatch};
use serde_json::Value;

/// A verifying key: the JSON that `snarkjs zkey export verificationkey` writes. Points are
/// affine, canonical and little-endian, x || y (G2: x.c0, x.c1, y.c0, y.c1), infinity all zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyingKey {
    /// The curve.
    pub curve: Pairing,
    /// alpha in G1.
    pub alpha1: Vec<u8>,
    /// beta in G2.
    pub beta2: Vec<u8>,
    /// gamma in G2.
    pub gamma2: Vec<u8>,
    /// delta in G2.
    pub delta2: Vec<u8>,
    /// The pairing of alpha and beta, twelve coordinates, which snarkjs writes; it is not needed.
    pub alphabeta12: Option<Vec<u8>>,
    /// G1, one for the constant and one a public signal.
    pub ic: Vec<u8>,
}

impl VerifyingKey {
    /// Number of public signals.
    #[must_use]
    pub fn public(&self) -> usize {
        (self.ic.len() / self.curve.g1_bytes()).saturating_sub(1)
    }
}

/// A proof. Points are as in [`VerifyingKey`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groth16Proof {
    /// The curve.
    pub curve: Pairing,
    /// In G1.
    pub a: Vec<u8>,
    /// In G2.
    pub b: Vec<u8>,
    /// In G1.
    pub c: Vec<u8>,
}

/// Reads a verifying key.
///
/// # Errors
/// It is not JSON, is of another protocol or curve, some coordinate is not below the prime, or a
/// point is at infinity that no key has there.
pub fn parse_verifying_key(text: &[u8]) -> Result<VerifyingKey, LoadError> {
    let value = parse("verifying key", text)?;
    let root = Node::root("verifying key", &value);
    let curve = root.groth16(None)?;
    let points = root.member("IC")?.items(1)?;
    let ic = points.iter().map(|point| point.g1(curve));
    let ic: Vec<u8> = ic.collect::<Result<Vec<_>, _>>()?.concat();
    let count = root.member("nPublic")?;
    if count.value.as_u64() != Some(points.len() as u64 - 1) {
        let expected = format!("{}, one less than IC has points", points.len() - 1);
        return Err(count.wrong(&expected));
    }
    let pairing = root.optional("vk_alphabeta_12");
    Ok(VerifyingKey {
        curve,
        alpha1: root.member("vk_alpha_1")?.finite(Node::g1, curve)?,
        beta2: root.member("vk_beta_2")?.finite(Node::g2, curve)?,
        gamma2: root.member("vk_gamma_2")?.finite(Node::g2, curve)?,
        delta2: root.member("vk_delta_2")?.finite(Node::g2, curve)?,
        alphabeta12: pairing.map(|pairing| pairing.twelve(curve)).transpose()?,
        ic,
    })
}

/// Reads a proof. One under a `key` of a known curve needs no member `protocol` or `curve`, as
/// rapidsnark writes no `curve`; those that it has are read, and may differ from the key's.
///
/// # Errors
/// As [`parse_verifying_key`].
pub fn parse_proof(text: &[u8], key: Option<Pairing>) -> Result<Groth16Proof, LoadError> {
    let value = parse("proof", text)?;
    let root = Node::root("proof", &value);
    let curve = root.groth16(key)?;
    Ok(Groth16Proof {
        curve,
        a: root.member("pi_a")?.g1(curve)?,
        b: root.member("pi_b")?.g2(curve)?,
        c: root.member("pi_c")?.g1(curve)?,
    })
}

/// Reads public signals: canonical little-endian scalars, one after the other.
///
/// # Errors
/// They are not a JSON list of decimal strings, or one is not below the prime.
pub fn parse_public(text: &[u8], curve: Pairing) -> Result<Vec<u8>, LoadError> {
    let value = parse("public signals", text)?;
    let root = Node::root("public signals", &value);
    let signals = root.items(0)?;
    let scalar = |node: &Node<'_>| node.number(curve.scalar_prime());
    let signals: Result<Vec<_>, _> = signals.iter().map(scalar).collect();
    Ok(signals?.concat())
}

pub(super) fn parse(file: &'static str, text: &[u8]) -> Result<Value, LoadError> {
    strict::parse(text).map_err(|error| LoadError::Json {
        file,
        place: Some(format!("line {}, column {}", error.line(), error.column()).into()),
        why: Mismatch::new("JSON", problem(&error), ""),
    })
}

/// The parser's message, without the place that it appends.
fn problem(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ")
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// A value of a JSON text, with the way to it.
pub(super) struct Node<'a> {
    file: &'static str,
    path: String,
    pub(super) value: &'a Value,
}

impl<'a> Node<'a> {
    pub(super) fn root(file: &'static str, value: &'a Value) -> Self {
        let path = String::new();
        Self { file, path, value }
    }

    fn child(&self, path: String, value: &'a Value) -> Self {
        let file = self.file;
        Self { file, path, value }
    }

    fn error(&self, expected: &str, got: &str, hint: &str) -> LoadError {
        let place = (!self.path.is_empty()).then(|| self.path.as_str().into());
        LoadError::Json {
            file: self.file,
            place,
            why: Mismatch::new(expected, got, hint),
        }
    }

    pub(super) fn wrong(&self, expected: &str) -> LoadError {
        self.error(expected, &shown(self.value), "")
    }

    pub(super) fn optional(&self, name: &str) -> Option<Self> {
        let value = self.value.as_object()?.get(name)?;
        Some(self.child(name.to_owned(), value))
    }

    pub(super) fn member(&self, name: &str) -> Result<Self, LoadError> {
        if self.value.as_object().is_none() {
            return Err(self.wrong("an object"));
        }
        self.optional(name)
            .ok_or_else(|| self.error(&format!("a member {name}"), "none", ""))
    }

    /// The curve, after the protocol. What a proof does not name, its key has.
    fn groth16(&self, key: Option<Pairing>) -> Result<Pairing, LoadError> {
        let protocol = match (self.optional("protocol"), key) {
            (None, Some(_)) => None,
            _ => Some(self.member("protocol")?),
        };
        if let Some(protocol) = protocol {
            match protocol.value.as_str() {
                Some("groth16") => {}
                Some("plonk") => {
                    let hint = "zk.plonk and cloakwork verify take this";
                    return Err(protocol.error("groth16", &shown(protocol.value), hint));
                }
                Some("fflonk") => {
                    let hint = "Groth16 and PLONK are verified here; snarkjs verifies this";
                    return Err(protocol.error("groth16", &shown(protocol.value), hint));
                }
                _ => return Err(protocol.wrong("groth16")),
            }
        }
        let curve = self.optional("curve").map(|curve| curve.curve());
        curve.transpose()?.or(key).ok_or_else(|| {
            let hint = match self.file {
                "proof" => "rapidsnark's proofs do not name it: name the curve of the key",
                _ => "",
            };
            self.error("a member curve", "none", hint)
        })
    }

    pub(super) fn curve(&self) -> Result<Pairing, LoadError> {
        let known = self.value.as_str().and_then(Pairing::from_name);
        known.ok_or_else(|| self.wrong("bn128 or bls12381"))
    }

    fn items(&self, least: usize) -> Result<Vec<Self>, LoadError> {
        let Some(items) = self.value.as_array().filter(|items| items.len() >= least) else {
            return Err(self.wrong(&format!("a list of at least {least}")));
        };
        let child = |(at, value)| self.child(format!("{}[{at}]", self.path), value);
        Ok(items.iter().enumerate().map(child).collect())
    }

    fn exactly<const N: usize>(&self) -> Result<[Self; N], LoadError> {
        let items = self.items(0)?;
        items
            .try_into()
            .map_err(|_| self.wrong(&format!("a list of {N}")))
    }

    pub(super) fn number(&self, prime: &[u64]) -> Result<Vec<u8>, LoadError> {
        let digits = self.value.as_str();
        digits
            .and_then(|digits| number::from_decimal(digits, prime))
            .ok_or_else(|| {
                let limit = number::to_decimal(&number::prime_bytes(prime));
                self.wrong(&format!("a decimal string below {limit}, of digits alone"))
            })
    }

    /// A point of a verifying key, which is not at infinity.
    pub(super) fn finite(
        &self,
        read: fn(&Self, Pairing) -> Result<Vec<u8>, LoadError>,
        curve: Pairing,
    ) -> Result<Vec<u8>, LoadError> {
        let point = read(self, curve)?;
        if point.iter().all(|&byte| byte == 0) {
            let hint = "the maker of this key can prove false statements";
            return Err(self.error("a point other than infinity", "infinity", hint));
        }
        Ok(point)
    }

    /// x, y and 1, or 0, 1 and 0 for infinity.
    pub(super) fn g1(&self, curve: Pairing) -> Result<Vec<u8>, LoadError> {
        let coordinates: [Node<'_>; 3] = self.exactly()?;
        let parts = coordinates
            .iter()
            .map(|node| node.number(curve.base_prime()));
        self.affine(parts.collect::<Result<_, _>>()?)
    }

    pub(super) fn g2(&self, curve: Pairing) -> Result<Vec<u8>, LoadError> {
        let coordinates: [Node<'_>; 3] = self.exactly()?;
        let parts = coordinates.iter().map(|node| node.pair(curve));
        self.affine(parts.collect::<Result<_, _>>()?)
    }

    fn pair(&self, curve: Pairing) -> Result<Vec<u8>, LoadError> {
        let [c0, c1]: [Node<'_>; 2] = self.exactly()?;
        Ok([
            c0.number(curve.base_prime())?,
            c1.number(curve.base_prime())?,
        ]
        .concat())
    }

    fn affine(&self, projective: Vec<Vec<u8>>) -> Result<Vec<u8>, LoadError> {
        let is = |part: Option<&Vec<u8>>, value: u8| {
            let mut bytes = part.into_iter().flatten();
            bytes.next() == Some(&value) && bytes.all(|&byte| byte == 0)
        };
        let z = projective.get(2);
        if is(z, 1) {
            return Ok(projective.into_iter().take(2).flatten().collect());
        }
        let infinite = is(projective.first(), 0) && is(projective.get(1), 1) && is(z, 0);
        if infinite {
            let size = projective.iter().take(2).map(Vec::len).sum();
            return Ok(vec![0; size]);
        }
        Err(self.wrong("a point with a last coordinate of 1, or infinity: 0, 1, 0"))
    }

    fn twelve(&self, curve: Pairing) -> Result<Vec<u8>, LoadError> {
        let halves: [Node<'_>; 2] = self.exactly()?;
        let mut bytes = Vec::new();
        for half in &halves {
            let pairs: [Node<'_>; 3] = half.exactly()?;
            for pair in &pairs {
                bytes.extend(pair.pair(curve)?);
            }
        }
        Ok(bytes)
    }
}

/// A value in an error: what it is, or the beginning of it.
fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::String(text) if text.chars().count() > 100 => {
            format!("a string of {} bytes", text.len())
        }
        other => other.to_string(),
    }
}
