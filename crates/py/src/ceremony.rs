//! Files of ceremonies for Python: their sections, points in their bytes, their hashes and checks.

use crate::circom::{curve_of, malformed};
use crate::contents::{host_copy, row_major};
use crate::guard::unlocked;
use crate::tensor::{Elements, Inner, Tensor};
use crate::{device, dtype, errors, files};
use cloakwork_formats::circom::{Pairing, Placed, ceremony_sections};
use cloakwork_ir::{DType, HostTensor, Shape, View};
use cloakwork_library::pairing::{self, Drawn, Form};
use cloakwork_library::{Blake2b, STATE_BYTES};
use cloakwork_run::eager;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;

/// The sections of a powers-of-tau file, or of a proving key: number, start and size of each.
#[pyfunction]
fn ceremony_file(py: Python<'_>, path: PathBuf, powers: bool) -> PyResult<Vec<Placed>> {
    let bytes = files::contents(py, &path)?;
    unlocked(py, || ceremony_sections(&bytes, powers))?.map_err(|error| errors::load(error, &path))
}

fn view_of(tensor: &HostTensor) -> &[u8] {
    let start = tensor.view().offset as usize * tensor.dtype().size_bytes();
    let end = start + tensor.ty().size_bytes() as usize;
    tensor.bytes().as_slice().get(start..end).unwrap_or(&[])
}

/// Elements in Montgomery form, as files have them, from bytes. They are NOT checked.
#[pyfunction]
fn elements_of_file(
    py: Python<'_>,
    bytes: &Tensor,
    element: &Bound<'_, PyAny>,
) -> PyResult<Tensor> {
    let element = dtype::from_object(element)?;
    let bytes = row_major(bytes.inner().real("bytes of a file")?)?;
    let slice = view_of(&bytes);
    let size = element.size_bytes();
    if !slice.len().is_multiple_of(size) {
        let text = format!(
            "expected elements of {size} bytes, got {} bytes",
            slice.len()
        );
        return Err(PyValueError::new_err(text));
    }
    let shape = Shape::new(&[(slice.len() / size) as u64]);
    let view = View::contiguous(shape.map_err(|error| errors::shape(&error))?);
    let made = unlocked(py, || eager::Tensor::from_bytes(element, view, slice))?;
    Ok(Inner::Real(made.map_err(errors::run)?).into())
}

/// The bytes of a tensor's elements, row-major, in Montgomery form.
#[pyfunction]
fn file_bytes<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyBytes>> {
    let host = host_copy(tensor.inner().real("a part of a file")?)?;
    Ok(PyBytes::new(py, view_of(&host)))
}

/// Raise ProofError with the first point that is not in its group.
#[pyfunction]
fn check_points(py: Python<'_>, points: &Tensor) -> PyResult<()> {
    let host = row_major(points.inner().real("points")?)?;
    let DType::Point(group) = host.dtype() else {
        return Err(PyValueError::new_err("expected points"));
    };
    let threads = device::threads(None)?;
    let checked = unlocked(py, || {
        pairing::check_points(group, Form::Montgomery, threads, view_of(&host))
    })?;
    checked.map_err(|fault| malformed(&fault.to_string()))
}

/// Whether two points of G1 and two of G2, bytes in Montgomery form, have the same ratio.
#[pyfunction]
fn same_ratio(
    py: Python<'_>,
    curve: &str,
    g1: (Vec<u8>, Vec<u8>),
    g2: (Vec<u8>, Vec<u8>),
) -> PyResult<bool> {
    let curve = curve_of(curve)?;
    let same = unlocked(py, || {
        pairing::same_ratio(curve, [&g1.0, &g1.1], [&g2.0, &g2.1])
    })?;
    same.map_err(|fault| malformed(&fault.to_string()))
}

/// Canonical scalars (`r`) and points of G1 (`1`) and G2 (`2`) that follow from a seed of 32 bytes.
#[pyfunction]
fn drawn_from_seed<'py>(
    py: Python<'py>,
    curve: &str,
    seed: [u8; 32],
    kinds: &str,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let curve = curve_of(curve)?;
    let kinds: Vec<Drawn> = kinds
        .chars()
        .map(|kind| match kind {
            'r' => Drawn::Scalar,
            '1' => Drawn::G1,
            _ => Drawn::G2,
        })
        .collect();
    let drawn = unlocked(py, || pairing::draw(curve, seed, &kinds))?;
    Ok(drawn.iter().map(|bytes| PyBytes::new(py, bytes)).collect())
}

/// BLAKE2b of 64 bytes, whose state a file of a ceremony holds.
#[pyclass(module = "cloakwork._core", frozen)]
struct CeremonyHash(cloakwork_process::Mutex<Blake2b>);

#[pymethods]
impl CeremonyHash {
    #[new]
    #[pyo3(signature = (state=None))]
    fn new(state: Option<&[u8]>) -> PyResult<Self> {
        let hash = match state {
            None => Some(Blake2b::default()),
            Some(state) => {
                let state: Option<&[u8; STATE_BYTES]> = state.try_into().ok();
                state.and_then(Blake2b::resume)
            }
        };
        let wrong = || PyValueError::new_err("expected the state of a BLAKE2b hash");
        Ok(Self(cloakwork_process::Mutex::new(hash.ok_or_else(wrong)?)))
    }

    fn update(&self, data: &[u8]) {
        self.0.lock().update(data);
    }

    /// Take points as transcripts hash them, in one piece.
    #[pyo3(signature = (canonical, curve, group, *, compressed=false))]
    fn points(
        &self,
        py: Python<'_>,
        canonical: &Tensor,
        curve: &str,
        group: u32,
        compressed: bool,
    ) -> PyResult<()> {
        let host = row_major(canonical.inner().real("points")?)?;
        let group = group_of(curve_of(curve)?, group);
        unlocked(py, || {
            let bytes = pairing::hashed_bytes(group, view_of(&host), compressed);
            self.0.lock().update(&bytes);
        })
    }

    fn copy(&self) -> Self {
        Self(cloakwork_process::Mutex::new(self.0.lock().clone()))
    }

    fn state<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.lock().state())
    }

    fn digest<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.lock().digest())
    }
}

const fn group_of(curve: Pairing, group: u32) -> cloakwork_ir::Group {
    if group == 1 { curve.g1() } else { curve.g2() }
}

/// Adds all of these to the module.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<CeremonyHash>()?;
    module.add_function(wrap_pyfunction!(ceremony_file, module)?)?;
    module.add_function(wrap_pyfunction!(check_points, module)?)?;
    module.add_function(wrap_pyfunction!(drawn_from_seed, module)?)?;
    module.add_function(wrap_pyfunction!(elements_of_file, module)?)?;
    module.add_function(wrap_pyfunction!(file_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(same_ratio, module)?)
}
