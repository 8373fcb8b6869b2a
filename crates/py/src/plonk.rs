//! PLONK over snarkjs's files for Python: keys as tensors over them, their points and proofs as
//! canonical bytes, and circuits as gates.

use crate::circom::{
    all_bytes, curve_of, dtypes, integers, loaded, malformed, matrices, over, saved,
};
use crate::guard::{unlocked, watched};
use crate::tensor::Tensor;
use crate::{device, errors, files};
use cloakwork_formats::circom;
use cloakwork_formats::circom::{
    Combination, Gates, Pairing, PlonkParts, PlonkProof, PlonkVerifyingKey, PlonkZkey, Ptau, R1cs,
    parse_plonk_key, parse_plonk_proof, pending_plonk_zkey, plonk_key_json, plonk_proof_json,
};
use cloakwork_formats::files::{Access, Pending, commit};
use cloakwork_ir::{Bytes, DType};
use cloakwork_library::pairing::{self, Form};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::path::PathBuf;

/// curve, public, power, scalars (k1, k2, w), points, x2.
type KeyParts<'a> = (String, u32, u32, &'a [u8], &'a [u8], &'a [u8]);
/// curve, points, evaluations.
type ProofParts<'a> = (String, &'a [u8], &'a [u8]);

/// The system of a proving key: "groth16" or "plonk". `contents`, if given, are those of the file,
/// which `path` then names in errors.
#[pyfunction]
#[pyo3(signature = (path, contents=None))]
pub fn zkey_protocol(
    py: Python<'_>,
    path: PathBuf,
    contents: Option<&Bound<'_, PyAny>>,
) -> PyResult<&'static str> {
    let file = files::contents_or(py, &path, contents)?;
    loaded(py, &path, &file, circom::protocol)
}

/// The member `protocol` of snarkjs's JSON; None where it has none. `what` names it in errors.
#[pyfunction]
pub fn json_protocol(text: &[u8], path: PathBuf, key: bool) -> PyResult<Option<String>> {
    let what = if key { "verifying key" } else { "proof" };
    circom::protocol_of(what, text).map_err(|error| errors::load(error, &path))
}

fn wrong(py: Python<'_>, path: &std::path::Path, what: &str, fault: pairing::PointFault) -> PyErr {
    let text = format!("{}: {what}: {fault}", path.display());
    errors::make(py, "LoadError", (text,))
}

/// A PLONK proving key. The points of its header are held against their curve and group; the rest
/// is for `check_powers`. Maps have a wire a point of the domain: 0 where there is no gate.
/// `contents` are as those of `zkey_protocol`.
#[pyfunction]
#[pyo3(signature = (path, contents=None))]
pub fn read_plonk_zkey<'py>(
    py: Python<'py>,
    path: PathBuf,
    contents: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let file = files::contents_or(py, &path, contents)?;
    let key = loaded(py, &path, &file, PlonkZkey::parse)?;
    let header = [
        ("commitments", key.curve.g1(), &key.commitments),
        ("X_2", key.curve.g2(), &key.x2),
    ];
    for (name, group, points) in header {
        unlocked(py, || {
            pairing::check_points(group, Form::Montgomery, 1, points.as_slice())
        })?
        .map_err(|fault| wrong(py, &path, &format!("zkey, {name}"), fault))?;
    }
    let [scalar, g1, g2] = dtypes(key.curve);
    let out = PyDict::new(py);
    out.set_item("curve", key.curve.name())?;
    out.set_item("wires", key.wires)?;
    out.set_item("public", key.public)?;
    out.set_item("domain", key.domain)?;
    out.set_item("gates", key.gates)?;
    out.set_item("shifts", over(scalar, &[], &key.shifts)?)?;
    let canonical = |points: &Bytes| {
        let bytes = pairing::to_canonical(key.curve, points.as_slice());
        PyBytes::new(py, &bytes)
    };
    out.set_item("commitments", canonical(&key.commitments))?;
    out.set_item("x2", canonical(&key.x2))?;
    out.set_item("commitment_points", over(g1, &[], &key.commitments)?)?;
    out.set_item("x2_point", over(g2, &[], &key.x2)?)?;
    out.set_item("levels", key.levels)?;
    out.set_item(
        "sources",
        tensors(py, key.sources.iter().map(|s| integers(s)))?,
    )?;
    let factors = key.factors.map(Bytes::from);
    out.set_item(
        "factors",
        tensors(py, factors.iter().map(|f| over(scalar, &[], f)))?,
    )?;
    let maps = key.maps.map(|mut map| {
        map.resize(key.domain as usize, 0);
        map
    });
    out.set_item("maps", tensors(py, maps.iter().map(|map| integers(map)))?)?;
    let polynomials = key.polynomials.iter().map(|p| over(scalar, &[], p));
    out.set_item("polynomials", tensors(py, polynomials)?)?;
    out.set_item("tau_powers", over(g1, &[], &key.powers)?)?;
    Ok(out)
}

fn tensors(
    py: Python<'_>,
    all: impl Iterator<Item = PyResult<Tensor>>,
) -> PyResult<Bound<'_, PyList>> {
    PyList::new(py, all.collect::<PyResult<Vec<_>>>()?)
}

/// Powers of tau: the curve, the power, points in G1, and the first two in G2.
#[pyfunction]
pub fn read_ptau(py: Python<'_>, path: PathBuf) -> PyResult<(&'static str, u32, Tensor, Tensor)> {
    let file = files::contents_or(py, &path, None)?;
    let ptau = loaded(py, &path, &file, Ptau::parse)?;
    let [_, g1, g2] = dtypes(ptau.curve);
    Ok((
        ptau.curve.name(),
        ptau.power,
        over(g1, &[], &ptau.g1)?,
        over(g2, &[], &ptau.g2)?,
    ))
}

/// Hold points of G1, a row-major tensor, against their curve, and with `groups` their group.
#[pyfunction]
pub fn check_powers(py: Python<'_>, curve: &str, points: &Tensor, groups: bool) -> PyResult<()> {
    let curve = curve_of(curve)?;
    let bytes = crate::circom::bytes_of(points.inner())?;
    let threads = device::threads(None)?;
    let checked = unlocked(py, || {
        pairing::check_some_points(curve.g1(), Form::Montgomery, threads, (&bytes, groups))
    })?;
    checked.map_err(|fault| malformed(&format!("zkey, powers of tau: {fault}")))
}

/// Whether `high` is `low` times the number that `x2` holds; points canonical.
#[pyfunction]
pub fn follows(py: Python<'_>, curve: &str, low: &[u8], high: &[u8], x2: &[u8]) -> PyResult<bool> {
    let curve = curve_of(curve)?;
    let follows = unlocked(py, || pairing::follows(curve, low, high, x2))?;
    follows.map_err(|fault| malformed(&fault.to_string()))
}

type KeyTuple<'py> = (
    &'static str,
    u32,
    u32,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
);

/// A verifying key of snarkjs's JSON, which `path` names in errors.
#[pyfunction]
pub fn plonk_key_of<'py>(py: Python<'py>, text: &[u8], path: PathBuf) -> PyResult<KeyTuple<'py>> {
    let key = parse_plonk_key(text).map_err(|error| errors::load(error, &path))?;
    let [scalars, points, x2] = [&key.scalars, &key.points, &key.x2].map(|b| PyBytes::new(py, b));
    Ok((key.curve.name(), key.public, key.power, scalars, points, x2))
}

/// snarkjs's JSON of a verifying key.
#[pyfunction]
pub fn plonk_key_text(key: KeyParts<'_>) -> PyResult<String> {
    let (curve, public, power, scalars, points, x2) = key;
    Ok(plonk_key_json(&PlonkVerifyingKey {
        curve: curve_of(&curve)?,
        public,
        power,
        scalars: scalars.to_vec(),
        points: points.to_vec(),
        x2: x2.to_vec(),
    }))
}

/// A proof of snarkjs's JSON.
#[pyfunction]
pub fn plonk_proof_of<'py>(
    py: Python<'py>,
    text: &[u8],
    path: PathBuf,
) -> PyResult<(&'static str, Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
    let proof = parse_plonk_proof(text).map_err(|error| errors::load(error, &path))?;
    let [points, numbers] = [&proof.points, &proof.evaluations].map(|b| PyBytes::new(py, b));
    Ok((proof.curve.name(), points, numbers))
}

/// snarkjs's JSON of a proof.
#[pyfunction]
pub fn plonk_proof_text(proof: ProofParts<'_>) -> PyResult<String> {
    let (curve, points, evaluations) = proof;
    Ok(plonk_proof_json(&PlonkProof {
        curve: curve_of(&curve)?,
        points: points.to_vec(),
        evaluations: evaluations.to_vec(),
    }))
}

/// Whether a proof holds for canonical public signals.
#[pyfunction]
pub fn plonk_verify(
    py: Python<'_>,
    key: KeyParts<'_>,
    public: &[u8],
    proof: ProofParts<'_>,
) -> PyResult<bool> {
    let (name, count, power, scalars, own, x2) = key;
    let (other, points, evaluations) = proof;
    let curve = curve_of(&name)?;
    if curve_of(&other)? != curve {
        return Err(malformed(&format!(
            "a key over {name}, and a proof over {other}"
        )));
    }
    let key = pairing::PlonkKey {
        curve,
        public: count as usize,
        power,
        scalars,
        points: own,
        x2,
    };
    let proof = pairing::PlonkProof {
        points,
        evaluations,
    };
    let decided = unlocked(py, || pairing::verify_plonk(&key, public, &proof))?;
    decided.map_err(|error| malformed(&error.to_string()))
}

fn combinations(all: &[Combination]) -> PyResult<Tensor> {
    let flat: Vec<u64> = all.iter().flatten().copied().collect();
    over(DType::I64, &[3], &Bytes::from(words(&flat)))
}

fn words(all: &[u64]) -> Vec<u8> {
    all.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The gates of a circuit: outputs, public inputs and wires; A, B and C with canonical values.
///
/// Places in the table of the circuit's values, then 0 and 1: "terms", i64 `[.., 3]`, each x y - z.
/// Places in the table of terms: "selectors", five of the same, and "additions": two lists of
/// wires and two of factors. "maps" has the three wires of each gate.
#[pyfunction]
pub fn plonk_gates<'py>(
    py: Python<'py>,
    curve: &str,
    counts: [u32; 3],
    parts: Vec<Bound<'py, PyList>>,
) -> PyResult<Bound<'py, PyDict>> {
    let [outputs, public_inputs, wires] = counts;
    let circuit = R1cs {
        curve: curve_of(curve)?,
        wires,
        outputs,
        public_inputs,
        private_inputs: 0,
        labels: 0,
        matrices: matrices(&parts)?,
    };
    let (gates, permutation, domain) = unlocked(py, || {
        let gates = Gates::of(&circuit);
        let count = gates.maps.first().map_or(0, Vec::len);
        let domain = count.next_power_of_two().max(8);
        let permutation = gates.permutation(domain);
        (gates, permutation, domain)
    })?;
    let out = PyDict::new(py);
    out.set_item("wires", gates.wires)?;
    out.set_item("domain", domain)?;
    out.set_item("terms", watched(|| combinations(&gates.terms))??)?;
    let selectors = gates.selectors.iter().map(|all| combinations(all));
    out.set_item("selectors", tensors(py, selectors)?)?;
    let additions = gates.additions.iter().map(|all| integers(all));
    out.set_item("additions", tensors(py, additions)?)?;
    out.set_item(
        "maps",
        tensors(py, gates.maps.iter().map(|map| integers(map)))?,
    )?;
    out.set_item("permutation", integers(&permutation)?)?;
    Ok(out)
}

/// Write a PLONK key: wires, public signals, domain, additions, gates; the bytes of its header;
/// wires of additions and gates as i64, factors as scalars; then what the Lagrange polynomials of
/// section 13 follow from (`PlonkParts`: first, inverses), and sections 7 to 12 and 14.
/// Texts `beside` it belong to it.
#[pyfunction]
pub fn write_plonk_zkey(
    py: Python<'_>,
    path: PathBuf,
    facts: (String, [u32; 5]),
    header: &Bound<'_, PyList>,
    gates: (Bound<'_, PyList>, Bound<'_, PyList>, Bound<'_, PyList>),
    rest: &Bound<'_, PyList>,
    beside: Vec<(PathBuf, String)>,
) -> PyResult<()> {
    let ((curve, counts), (sources, factors, maps)) = (facts, gates);
    let curve: Pairing = curve_of(&curve)?;
    let header = all_bytes(header)?.concat();
    let [left, right]: [Vec<u32>; 2] = indices(&sources)?;
    let maps: [Vec<u32>; 3] = indices(&maps)?;
    let count = || errors::internal("a part of a key has another number of tensors");
    let factors: [Vec<u8>; 2] = all_bytes(&factors)?.try_into().map_err(|_| count())?;
    let [first, inverses, rest @ ..]: [Vec<u8>; 9] =
        all_bytes(rest)?.try_into().map_err(|_| count())?;
    let parts = PlonkParts {
        curve,
        counts,
        header: &header,
        sources: [&left, &right],
        factors: factors.each_ref().map(Vec::as_slice),
        maps: maps.each_ref().map(Vec::as_slice),
        rest: rest.each_ref().map(Vec::as_slice),
        inverses: &inverses,
        first: &first,
    };
    saved(py, &path, |path| {
        let mut pending = vec![pending_plonk_zkey(&parts, path)?];
        for (path, text) in &beside {
            let text = text.as_bytes();
            pending.push(Pending::of_bytes(path, Access::Shared, &[text])?);
        }
        commit(pending)
    })
}

/// Tensors of i64 as numbers of wires.
fn indices<const N: usize>(list: &Bound<'_, PyList>) -> PyResult<[Vec<u32>; N]> {
    let one = |bytes: Vec<u8>| {
        let words = bytes.chunks_exact(8);
        let word = |word: &[u8]| word.try_into().map_or(0, u64::from_le_bytes) as u32;
        words.map(word).collect()
    };
    let all: Vec<Vec<u32>> = all_bytes(list)?.into_iter().map(one).collect();
    all.try_into()
        .map_err(|_| errors::internal("a part of a key has another number of tensors"))
}

/// Adds all of these functions to the module.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(check_powers, module)?)?;
    module.add_function(wrap_pyfunction!(follows, module)?)?;
    module.add_function(wrap_pyfunction!(json_protocol, module)?)?;
    module.add_function(wrap_pyfunction!(plonk_gates, module)?)?;
    module.add_function(wrap_pyfunction!(plonk_key_of, module)?)?;
    module.add_function(wrap_pyfunction!(plonk_key_text, module)?)?;
    module.add_function(wrap_pyfunction!(plonk_proof_of, module)?)?;
    module.add_function(wrap_pyfunction!(plonk_proof_text, module)?)?;
    module.add_function(wrap_pyfunction!(plonk_verify, module)?)?;
    module.add_function(wrap_pyfunction!(read_plonk_zkey, module)?)?;
    module.add_function(wrap_pyfunction!(read_ptau, module)?)?;
    module.add_function(wrap_pyfunction!(write_plonk_zkey, module)?)?;
    module.add_function(wrap_pyfunction!(zkey_protocol, module)?)
}
