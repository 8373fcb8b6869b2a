//! Files of circom and snarkjs for Python: what lies in a file as tensors over it, points of keys
//! and proofs as canonical bytes.

use crate::contents::{frozen, host_copy};
use crate::errors;
use crate::files;
use crate::guard::{unlocked, watched};
use crate::tensor::{self, Elements, Inner, Tensor};
use cloakwork_formats::circom::{
    Groth16Proof, Pairing, R1cs, R1csParts, Rows, VerifyingKey, Wtns, Zkey, ZkeyParts, parse_proof,
    parse_public, parse_verifying_key, pending_zkey, proof_json, public_json, r1cs_bytes,
    save_r1cs, save_wtns, verifying_key_json,
};
use cloakwork_formats::files::{Access, Pending, commit};
use cloakwork_formats::{LoadError, SaveError};
use cloakwork_ir::{Bytes, DType, Shape, View};
use cloakwork_library::pairing::{self, Form};
use cloakwork_run::{Wiping, eager};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use std::path::{Path, PathBuf};

/// Words are read in place if they are aligned, else copied.
const WORD_BYTES: usize = 8;

/// A curve by any of its names.
pub fn curve_of(name: &str) -> PyResult<Pairing> {
    Pairing::from_name(name).ok_or_else(|| errors::param("curve", name, "bn254 or bls12_381"))
}

/// The dtypes of scalars, of points of G1 and of points of G2.
pub const fn dtypes(curve: Pairing) -> [DType; 3] {
    let scalar = curve.curve().facts().scalar;
    [
        DType::Field(scalar),
        DType::Point(curve.g1()),
        DType::Point(curve.g2()),
    ]
}

/// A row-major tensor over bytes that stay where they are, or over a copy if they are not aligned.
/// It is frozen, so that programs need no copy: keys are never written.
pub fn over(dtype: DType, row: &[u64], bytes: &Bytes) -> PyResult<Tensor> {
    let slice = bytes.as_slice();
    let size = dtype.size_bytes() as u64 * row.iter().product::<u64>();
    let dims = [&[slice.len() as u64 / size], row].concat();
    let shape = Shape::new(&dims).map_err(|error| errors::shape(&error))?;
    let view = View::contiguous(shape);
    let start = slice.as_ptr().cast_mut();
    let tensor = if start.align_offset(WORD_BYTES) == 0 {
        let memory = (start, slice.len(), files::read_only(bytes));
        // SAFETY: the bytes stay where they are as long as their owner, are aligned, and the view
        // has as many whole elements as they hold; they are read-only.
        let lent =
            unsafe { eager::Tensor::from_foreign(dtype, view, memory, Box::new(bytes.clone())) };
        lent.frozen_where_it_is()
    } else {
        let copy = watched(|| eager::Tensor::from_bytes(dtype, view, slice))?;
        frozen(&copy.map_err(errors::run)?)?
    };
    Ok(Inner::Real(tensor).into())
}

pub fn integers<T: Copy + Into<u64>>(values: &[T]) -> PyResult<Tensor> {
    let mut bytes = Vec::with_capacity(values.len() * 8);
    for &value in values {
        bytes.extend_from_slice(&value.into().to_le_bytes());
    }
    over(DType::I64, &[], &bytes.into())
}

/// Where rows begin, columns, and values of this dtype (rows of words, if it is `u64`).
fn rows<'py>(py: Python<'py>, rows: Rows, dtype: DType) -> PyResult<Bound<'py, PyTuple>> {
    let row: &[u64] = if dtype == DType::U64 { &[4] } else { &[] };
    let parts = [
        integers(&rows.starts)?,
        integers(&rows.columns)?,
        over(dtype, row, &rows.values.into())?,
    ];
    PyTuple::new(py, parts)
}

pub fn loaded<T: Send>(
    py: Python<'_>,
    path: &Path,
    bytes: &Bytes,
    parse: impl FnOnce(&Bytes) -> Result<T, LoadError> + Send,
) -> PyResult<T> {
    unlocked(py, || parse(bytes))?.map_err(|error| errors::load(error, path))
}

pub fn saved(
    py: Python<'_>,
    path: &Path,
    write: impl FnOnce(&Path) -> Result<(), SaveError> + Send,
) -> PyResult<()> {
    unlocked(py, || write(path))?.map_err(|error| errors::save(error, path))
}

/// A circuit: its counts, and A, B and C with canonical values as rows of words; and the `file`.
/// `contents`, if given, are those of the file, which `path` then names in errors.
#[pyfunction]
#[pyo3(signature = (path, contents=None))]
pub fn read_r1cs<'py>(
    py: Python<'py>,
    path: PathBuf,
    contents: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let file = files::contents_or(py, &path, contents)?;
    let circuit = loaded(py, &path, &file, R1cs::parse)?;
    let out = PyDict::new(py);
    out.set_item("file", files::bytes_tensor(file)?)?;
    out.set_item("curve", circuit.curve.name())?;
    out.set_item("wires", circuit.wires)?;
    out.set_item("outputs", circuit.outputs)?;
    out.set_item("public_inputs", circuit.public_inputs)?;
    out.set_item("private_inputs", circuit.private_inputs)?;
    out.set_item("constraints", circuit.constraints())?;
    let matrices = circuit
        .matrices
        .into_iter()
        .map(|m| rows(py, m, DType::U64));
    out.set_item(
        "matrices",
        PyTuple::new(py, matrices.collect::<PyResult<Vec<_>>>()?)?,
    )?;
    Ok(out)
}

/// A witness: its curve, and canonical values as rows of words.
#[pyfunction]
pub fn read_wtns(py: Python<'_>, path: PathBuf) -> PyResult<(&'static str, Tensor)> {
    let _wiping = Wiping::begin(1);
    let bytes = files::secret_contents(py, &path)?;
    let witness = unlocked(py, || Wtns::parse(&bytes))?;
    let witness = witness.map_err(|error| errors::load(error, &path))?;
    let row = witness.curve.scalar_prime().len() as u64;
    let words = over(DType::U64, &[row], &witness.values)?;
    if let Inner::Real(own) = words.inner() {
        own.mark_secret();
    }
    Ok((witness.curve.name(), words))
}

/// A proving key. The points of its header and of IC are held against their curve and group; the
/// rest is for `check_key`. `contents` and `file` are as those of `read_r1cs`.
#[pyfunction]
#[pyo3(signature = (path, contents=None))]
pub fn read_zkey<'py>(
    py: Python<'py>,
    path: PathBuf,
    contents: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let file = files::contents_or(py, &path, contents)?;
    let key = loaded(py, &path, &file, Zkey::parse)?;
    unlocked(py, || check_header(&key))?.map_err(|(what, fault)| {
        let text = format!("{}: zkey, {what}: {fault}", path.display());
        errors::make(py, "LoadError", (text,))
    })?;
    let [scalar, g1, g2] = dtypes(key.curve);
    let out = PyDict::new(py);
    out.set_item("file", files::bytes_tensor(file)?)?;
    out.set_item("curve", key.curve.name())?;
    out.set_item("wires", key.wires)?;
    out.set_item("public", key.public)?;
    out.set_item("domain", key.domain)?;
    out.set_item(
        "verifying_key",
        key_tuple(py, &watched(|| verifying_key(&key))?)?,
    )?;
    for (name, dtype, points) in points_of(&key, (g1, g2)) {
        out.set_item(name, over(dtype, &[], points)?)?;
    }
    let matrices = key.matrices.into_iter().map(|m| rows(py, m, scalar));
    out.set_item(
        "matrices",
        PyTuple::new(py, matrices.collect::<PyResult<Vec<_>>>()?)?,
    )?;
    Ok(out)
}

type Named<'a> = (&'static str, DType, &'a Bytes);

fn points_of(key: &Zkey, (g1, g2): (DType, DType)) -> [Named<'_>; 12] {
    [
        ("alpha1", g1, &key.alpha1),
        ("beta1", g1, &key.beta1),
        ("beta2", g2, &key.beta2),
        ("gamma2", g2, &key.gamma2),
        ("delta1", g1, &key.delta1),
        ("delta2", g2, &key.delta2),
        ("ic", g1, &key.ic),
        ("a", g1, &key.a),
        ("b1", g1, &key.b1),
        ("b2", g2, &key.b2),
        ("c", g1, &key.c),
        ("h", g1, &key.h),
    ]
}

fn check_header(key: &Zkey) -> Result<(), (&'static str, pairing::PointFault)> {
    let [_, g1, g2] = dtypes(key.curve);
    for (name, dtype, points) in points_of(key, (g1, g2)).into_iter().take(7) {
        let group = if dtype == g2 {
            key.curve.g2()
        } else {
            key.curve.g1()
        };
        pairing::check_points(group, Form::Montgomery, 1, points.as_slice())
            .map_err(|fault| (name, fault))?;
    }
    Ok(())
}

fn verifying_key(key: &Zkey) -> VerifyingKey {
    let canonical = |points: &Bytes| pairing::to_canonical(key.curve, points.as_slice());
    VerifyingKey {
        curve: key.curve,
        alpha1: canonical(&key.alpha1),
        beta2: canonical(&key.beta2),
        gamma2: canonical(&key.gamma2),
        delta2: canonical(&key.delta2),
        alphabeta12: None,
        ic: canonical(&key.ic),
    }
}

/// curve, alpha1, beta2, gamma2, delta2, ic.
type KeyParts<'a> = (String, &'a [u8], &'a [u8], &'a [u8], &'a [u8], &'a [u8]);
/// curve, a, b, c.
type ProofParts<'a> = (String, &'a [u8], &'a [u8], &'a [u8]);

fn key_tuple<'py>(py: Python<'py>, key: &VerifyingKey) -> PyResult<Bound<'py, PyTuple>> {
    let bytes = |bytes: &[u8]| PyBytes::new(py, bytes);
    let parts = [&key.alpha1, &key.beta2, &key.gamma2, &key.delta2, &key.ic].map(|p| bytes(p));
    let [alpha1, beta2, gamma2, delta2, ic] = parts;
    (key.curve.name(), alpha1, beta2, gamma2, delta2, ic).into_pyobject(py)
}

/// snarkjs's JSON of a verifying key. The pairing in it takes a millisecond.
#[pyfunction]
pub fn verifying_key_text(key: KeyParts<'_>) -> PyResult<String> {
    let (curve, alpha1, beta2, gamma2, delta2, ic) = key;
    let curve = curve_of(&curve)?;
    let pairing = pairing::pairing(curve, alpha1, beta2);
    let pairing = pairing.map_err(|fault| malformed(&format!("alpha1, beta2: {fault}")))?;
    Ok(verifying_key_json(&VerifyingKey {
        curve,
        alpha1: alpha1.to_vec(),
        beta2: beta2.to_vec(),
        gamma2: gamma2.to_vec(),
        delta2: delta2.to_vec(),
        alphabeta12: Some(pairing),
        ic: ic.to_vec(),
    }))
}

/// A verifying key of snarkjs's JSON, which `path` names in errors.
#[pyfunction]
pub fn verifying_key_of<'py>(
    py: Python<'py>,
    text: &[u8],
    path: PathBuf,
) -> PyResult<Bound<'py, PyTuple>> {
    let key = parse_verifying_key(text).map_err(|error| errors::load(error, &path))?;
    key_tuple(py, &key)
}

/// A proof of snarkjs's JSON, or of rapidsnark's, which does not name the curve.
#[pyfunction]
#[pyo3(signature = (text, path, curve=None))]
pub fn proof_of<'py>(
    py: Python<'py>,
    text: &[u8],
    path: PathBuf,
    curve: Option<&str>,
) -> PyResult<Bound<'py, PyTuple>> {
    let key = curve.map(curve_of).transpose()?;
    let proof = parse_proof(text, key).map_err(|error| errors::load(error, &path))?;
    let [a, b, c] = [&proof.a, &proof.b, &proof.c].map(|part| PyBytes::new(py, part));
    (proof.curve.name(), a, b, c).into_pyobject(py)
}

/// snarkjs's JSON of a proof.
#[pyfunction]
pub fn proof_text(proof: ProofParts<'_>) -> PyResult<String> {
    let (curve, a, b, c) = proof;
    let [a, b, c] = [a, b, c].map(<[u8]>::to_vec);
    let curve = curve_of(&curve)?;
    Ok(proof_json(&Groth16Proof { curve, a, b, c }))
}

/// Canonical scalars of snarkjs's JSON of public signals.
#[pyfunction]
pub fn public_of<'py>(
    py: Python<'py>,
    text: &[u8],
    curve: &str,
    path: PathBuf,
) -> PyResult<Bound<'py, PyBytes>> {
    let signals = parse_public(text, curve_of(curve)?);
    let signals = signals.map_err(|error| errors::load(error, &path))?;
    Ok(PyBytes::new(py, &signals))
}

/// snarkjs's JSON of canonical scalars.
#[pyfunction]
pub fn public_text(curve: &str, signals: &[u8]) -> PyResult<String> {
    Ok(public_json(curve_of(curve)?, signals))
}

/// Whether a proof holds for canonical public signals.
#[pyfunction]
pub fn groth16_verify(
    py: Python<'_>,
    key: KeyParts<'_>,
    public: &[u8],
    proof: ProofParts<'_>,
) -> PyResult<bool> {
    let (name, alpha1, beta2, gamma2, delta2, ic) = key;
    let (other, a, b, c) = proof;
    let curve = curve_of(&name)?;
    if curve_of(&other)? != curve {
        return Err(malformed(&format!(
            "a key over {name}, and a proof over {other}"
        )));
    }
    let key = pairing::Groth16Key {
        curve,
        alpha1,
        beta2,
        gamma2,
        delta2,
        ic,
    };
    let proof = pairing::Groth16Proof { a, b, c };
    let decided = unlocked(py, || pairing::verify(&key, public, &proof))?;
    decided.map_err(|error| malformed(&error.to_string()))
}

pub fn malformed(text: &str) -> PyErr {
    Python::attach(|py| errors::make(py, "ProofError", (text,)))
}

/// The bytes of a tensor's elements, row-major.
pub fn bytes_of(tensor: &Inner) -> PyResult<Vec<u8>> {
    let host = host_copy(tensor.real("a part of a file")?)?;
    let size = host.ty().size_bytes() as usize;
    let bytes = host.bytes().as_slice();
    Ok(bytes.get(..size).unwrap_or(bytes).to_vec())
}

pub fn all_bytes(tensors: &Bound<'_, PyList>) -> PyResult<Vec<Vec<u8>>> {
    tensor::tensors(tensors)?.iter().map(bytes_of).collect()
}

/// Matrices of triples as `rows` makes them.
pub fn matrices<const N: usize>(list: &[Bound<'_, PyList>]) -> PyResult<[Rows; N]> {
    let matrix = |list: &Bound<'_, PyList>| {
        let parts: [Vec<u8>; 3] = all_bytes(list)?
            .try_into()
            .map_err(|_| errors::internal("a matrix is three tensors"))?;
        let [starts, columns, values] = parts;
        let words = |bytes: &[u8]| -> Vec<u64> {
            let words = bytes
                .chunks_exact(8)
                .map(|word| word.try_into().map(u64::from_le_bytes));
            words.map(Result::unwrap_or_default).collect()
        };
        let columns = words(&columns)
            .into_iter()
            .map(|column| column as u32)
            .collect();
        let starts = words(&starts);
        Ok(Rows {
            starts,
            columns,
            values,
        })
    };
    let made: Vec<Rows> = list.iter().map(matrix).collect::<PyResult<_>>()?;
    made.try_into()
        .map_err(|_| errors::internal("a file has another number of matrices"))
}

/// Write a circuit: wires, outputs, public and private inputs; A, B and C as `read_r1cs` has them.
#[pyfunction]
pub fn write_r1cs(
    py: Python<'_>,
    path: PathBuf,
    curve: &str,
    counts: [u32; 4],
    parts: Vec<Bound<'_, PyList>>,
) -> PyResult<()> {
    let [a, b, c] = matrices(&parts)?;
    let (curve, matrices) = (curve_of(curve)?, [&a, &b, &c]);
    let parts = R1csParts {
        curve,
        counts,
        matrices,
    };
    saved(py, &path, |path| save_r1cs(&parts, path))
}

/// The bytes that `write_r1cs` writes.
#[pyfunction]
pub fn r1cs_of<'py>(
    py: Python<'py>,
    curve: &str,
    counts: [u32; 4],
    parts: Vec<Bound<'py, PyList>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let [a, b, c] = matrices(&parts)?;
    let (curve, matrices) = (curve_of(curve)?, [&a, &b, &c]);
    let parts = R1csParts {
        curve,
        counts,
        matrices,
    };
    let bytes = unlocked(py, || r1cs_bytes(&parts))?;
    Ok(PyBytes::new(py, &bytes))
}

/// Write a witness of canonical values.
#[pyfunction]
pub fn write_wtns(py: Python<'_>, path: PathBuf, curve: &str, values: &[u8]) -> PyResult<()> {
    let curve = curve_of(curve)?;
    saved(py, &path, |path| save_wtns(curve, values, path))
}

/// Write a proving key: wires, public signals and domain; alpha1, beta1, beta2, gamma2, delta1,
/// delta2, IC, A, B1, B2, C and H; A and B as `read_zkey` has them. Texts `beside` it belong to it;
/// with them comes the hash of the circuit, zeros without a ceremony.
#[pyfunction]
pub fn write_zkey(
    py: Python<'_>,
    path: PathBuf,
    curve: &str,
    counts: [u32; 3],
    points: &Bound<'_, PyList>,
    parts: Vec<Bound<'_, PyList>>,
    rest: (Vec<(PathBuf, String)>, [u8; 64]),
) -> PyResult<()> {
    let (beside, circuit_hash) = rest;
    let [a, b] = matrices(&parts)?;
    let points = all_bytes(points)?;
    let (header, points) = points.split_at(points.len().min(6));
    let [ic, pa, pb1, pb2, pc, ph] = points else {
        return Err(errors::internal(
            "a key has six points and six lists of points",
        ));
    };
    let parts = ZkeyParts {
        curve: curve_of(curve)?,
        counts,
        header: &header.concat(),
        matrices: [&a, &b],
        points: [ic, pa, pb1, pb2, pc, ph],
        circuit_hash,
    };
    saved(py, &path, |path| {
        let mut pending = vec![pending_zkey(&parts, path)?];
        for (path, text) in &beside {
            let text = text.as_bytes();
            pending.push(Pending::of_bytes(path, Access::Shared, &[text])?);
        }
        commit(pending)
    })
}

/// Adds all of these functions to the module.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(groth16_verify, module)?)?;
    module.add_function(wrap_pyfunction!(proof_of, module)?)?;
    module.add_function(wrap_pyfunction!(proof_text, module)?)?;
    module.add_function(wrap_pyfunction!(public_of, module)?)?;
    module.add_function(wrap_pyfunction!(public_text, module)?)?;
    module.add_function(wrap_pyfunction!(r1cs_of, module)?)?;
    module.add_function(wrap_pyfunction!(read_r1cs, module)?)?;
    module.add_function(wrap_pyfunction!(read_wtns, module)?)?;
    module.add_function(wrap_pyfunction!(read_zkey, module)?)?;
    module.add_function(wrap_pyfunction!(verifying_key_of, module)?)?;
    module.add_function(wrap_pyfunction!(verifying_key_text, module)?)?;
    module.add_function(wrap_pyfunction!(write_r1cs, module)?)?;
    module.add_function(wrap_pyfunction!(write_wtns, module)?)?;
    module.add_function(wrap_pyfunction!(write_zkey, module)?)
}
