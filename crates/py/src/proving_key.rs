//! Checks of Groth16's proving keys, which are tensors: their memory, shown to `library`.

use crate::circom::{curve_of, malformed};
use crate::contents::row_major;
use crate::guard::{unlocked, watched};
use crate::tensor::{self, Elements};
use crate::{device, errors};
use cloakwork_ir::HostTensor;
use cloakwork_library::pairing::{self, Form, Groth16ProvingKey, Rows};
use pyo3::prelude::*;
use pyo3::types::PyList;

/// Checks that a key could have been made honestly: alpha1, beta1, delta1; beta2,
/// gamma2, delta2; IC, A, B1, C, H; B2; and the rows of A and B, three tensors each. With `groups`,
/// each point's group is checked, too. ProofError describes the defect.
#[pyfunction]
pub fn check_key(
    py: Python<'_>,
    curve: &str,
    public: usize,
    points: &Bound<'_, PyList>,
    matrices: &Bound<'_, PyList>,
    groups: bool,
) -> PyResult<()> {
    let curve = curve_of(curve)?;
    let (points, matrices) = (dense(points)?, dense(matrices)?);
    let points: Vec<&[u8]> = points.iter().map(bytes).collect();
    let matrices: Vec<&[u8]> = matrices.iter().map(bytes).collect();
    let [
        alpha1,
        beta1,
        delta1,
        beta2,
        gamma2,
        delta2,
        ic,
        a,
        b1,
        c,
        h,
        b2,
    ] = *points
    else {
        return Err(errors::internal(
            "a proving key has twelve tensors of points",
        ));
    };
    let [
        starts,
        columns,
        values,
        other_starts,
        other_columns,
        other_values,
    ] = *matrices
    else {
        return Err(errors::internal(
            "a proving key has two matrices of three tensors",
        ));
    };
    let [starts, columns, other_starts, other_columns] =
        watched(|| [starts, columns, other_starts, other_columns].map(integers))?;
    let key = Groth16ProvingKey {
        curve,
        public,
        header1: [alpha1, beta1, delta1],
        header2: [beta2, gamma2, delta2],
        g1: [ic, a, b1, c, h],
        b2,
        rows: [
            Rows {
                starts: &starts,
                columns: &columns,
                values,
            },
            Rows {
                starts: &other_starts,
                columns: &other_columns,
                values: other_values,
            },
        ],
    };
    let threads = device::threads(None)?;
    let checked = unlocked(py, || pairing::check_key(&key, groups, threads))?;
    checked.map_err(|fault| malformed(&format!("zkey, {fault}")))
}

/// Whether a point of G1 and one of G2, canonical, are the same multiple of the generators.
#[pyfunction]
pub fn same_number(py: Python<'_>, curve: &str, g1: &[u8], g2: &[u8]) -> PyResult<bool> {
    let curve = curve_of(curve)?;
    let same = unlocked(py, || pairing::same_number(curve, Form::Canonical, g1, g2))?;
    same.map_err(|fault| malformed(&fault.to_string()))
}

/// Whether the product of the pairings of canonical points, one by one, is 1.
#[pyfunction]
pub fn product_is_one(py: Python<'_>, curve: &str, g1: &[u8], g2: &[u8]) -> PyResult<bool> {
    let curve = curve_of(curve)?;
    let one = unlocked(py, || pairing::product_is_one(curve, g1, g2))?;
    one.map_err(|fault| malformed(&fault.to_string()))
}

/// Row-major tensors, shared where they are so already.
fn dense(tensors: &Bound<'_, PyList>) -> PyResult<Vec<HostTensor>> {
    let one = |tensor: &tensor::Inner| row_major(tensor.real("a part of a key")?);
    tensor::tensors(tensors)?.iter().map(one).collect()
}

fn bytes(tensor: &HostTensor) -> &[u8] {
    let start = tensor.view().offset as usize * tensor.dtype().size_bytes();
    let end = start + tensor.ty().size_bytes() as usize;
    tensor.bytes().as_slice().get(start..end).unwrap_or(&[])
}

fn integers(bytes: &[u8]) -> Vec<i64> {
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().map(|word| i64::from_le_bytes(*word)).collect()
}

/// Adds these functions to the module.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(check_key, module)?)?;
    module.add_function(wrap_pyfunction!(product_is_one, module)?)?;
    module.add_function(wrap_pyfunction!(same_number, module)?)
}
