//! Files for Python: read, written, claimed and locked by `cloakwork_formats::files` alone.

use crate::errors;
use crate::guard::unlocked;
use crate::program::own;
use crate::tensor::{Inner, Tensor};
use cloakwork_formats::files::{self, Access, FolderLock, Pending};
use cloakwork_formats::{LoadError, Mismatch, encode_npy, parse_npy};
use cloakwork_ir::{Bytes, DType, HostTensor, Shape, View};
use cloakwork_process::Mutex;
use cloakwork_run::eager;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyIterator};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;

/// More is not copied into memory of Python's.
const MOST_COPIED_BYTES: usize = 1 << 30;

/// Calls work that may wait for others, and hears Ctrl-C meanwhile.
fn waiting<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&mut dyn FnMut() -> bool) -> T + Send,
) -> PyResult<T> {
    let mut stopped = None;
    let done = unlocked(py, || {
        work(&mut || {
            stopped = Python::attach(|py| py.check_signals()).err();
            stopped.is_none()
        })
    })?;
    stopped.map_or(Ok(done), Err)
}

/// The contents of a file.
pub fn contents(py: Python<'_>, path: &Path) -> PyResult<Bytes> {
    waiting(py, |keep_going| files::read_while(path, keep_going))?
        .map_err(|error| errors::load(error, path))
}

/// The contents of a secret file, in memory that is overwritten before it is released.
pub fn secret_contents(py: Python<'_>, path: &Path) -> PyResult<Bytes> {
    waiting(py, |keep_going| files::read_secret(path, keep_going))?
        .map_err(|error| errors::load(error, path))
}

/// Memory of Python's that nobody writes.
struct Unwritten(PyBuffer<u8>);

impl AsRef<[u8]> for Unwritten {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the buffer is held, so that its memory stays where it is; it is contiguous, and
        // its owner has made it read-only.
        unsafe { slice::from_raw_parts(self.0.buf_ptr().cast(), self.0.len_bytes()) }
    }
}

/// Contents that Python holds: where they are if they are read-only, else a copy, which nobody
/// changes while it is read.
pub fn held(contents: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    if let Ok(bytes) = contents.cast::<PyBytes>() {
        return Ok(Bytes::new(Arc::new(PyBackedBytes::from(bytes.clone()))));
    }
    let buffer = PyBuffer::<u8>::get(contents)?;
    if buffer.readonly() && buffer.is_c_contiguous() && buffer.len_bytes() != 0 {
        return Ok(Bytes::new(Arc::new(Unwritten(buffer))));
    }
    Ok(buffer.to_vec(contents.py())?.into())
}

/// The contents of a file, or these instead.
pub fn contents_or(
    py: Python<'_>,
    path: &Path,
    given: Option<&Bound<'_, PyAny>>,
) -> PyResult<Bytes> {
    given.map_or_else(|| contents(py, path), held)
}

/// A tensor of bytes, u8 `[size]`, over memory that nobody writes.
pub fn bytes_tensor(bytes: Bytes) -> PyResult<Tensor> {
    let size = bytes.as_slice().len() as u64;
    let shape = Shape::new(&[size]).map_err(|error| errors::shape(&error))?;
    let host = HostTensor::new(DType::U8, View::contiguous(shape), bytes);
    host.map(lent)
        .map_err(|error| errors::internal(error.to_string()))
}

/// How read-only bytes are lent.
pub fn read_only(bytes: &Bytes) -> eager::Lent {
    match files::is_mapped(bytes) {
        true => eager::Lent::Mapped,
        false => eager::Lent::ReadOnly,
    }
}

/// A tensor over read-only bytes that do not move.
fn lent(host: HostTensor) -> Tensor {
    let (dtype, view, bytes) = (host.dtype(), host.view().clone(), host.bytes().clone());
    let slice = bytes.as_slice();
    let memory = (slice.as_ptr().cast_mut(), slice.len(), read_only(&bytes));
    // SAFETY: the bytes stay where they are as long as their owner; a host tensor's view stays
    // inside them, they are aligned for its elements where a reader made it, and are read-only.
    let tensor = unsafe { eager::Tensor::from_foreign(dtype, view, memory, Box::new(bytes)) };
    Inner::Real(tensor).into()
}

/// A piece of a file.
#[derive(FromPyObject)]
enum Piece {
    Bytes(PyBackedBytes),
    Text(PyBackedStr),
}

impl Piece {
    fn as_slice(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Text(text) => text.as_bytes(),
        }
    }
}

/// Write files, each of its pieces one after the other, that appear together; `private`: for their
/// owner alone. A piece is asked for once those before it are written, so that large files need no
/// memory; where asking fails, nothing is written.
#[pyfunction]
#[pyo3(signature = (files, private=false))]
fn write_files(
    py: Python<'_>,
    files: Vec<(PathBuf, Bound<'_, PyAny>)>,
    private: bool,
) -> PyResult<()> {
    let access = if private {
        Access::Private
    } else {
        Access::Shared
    };
    let iterators = files.iter().map(|(path, pieces)| {
        let pieces = pieces.try_iter()?;
        Ok((path.as_path(), pieces.unbind()))
    });
    let iterators: Vec<(&Path, Py<PyIterator>)> = iterators.collect::<PyResult<_>>()?;
    let mut failed = None;
    let written = unlocked(py, || {
        let mut pending = Vec::with_capacity(iterators.len());
        for (path, pieces) in &iterators {
            pending.push(Pending::of_stream(path, access, |out| {
                while let Some(piece) = next_piece(pieces).map_err(|error| {
                    failed = Some(error);
                    io::Error::other("its contents could not be made")
                })? {
                    out.write_all(piece.as_slice())?;
                }
                Ok(())
            })?);
        }
        files::commit(pending)
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    let first = files.first().map_or(Path::new(""), |(path, _)| path);
    written.map_err(|error| errors::save(error, first))
}

fn next_piece(pieces: &Py<PyIterator>) -> PyResult<Option<Piece>> {
    Python::attach(|py| {
        let piece = pieces.bind(py).clone().next();
        piece.map(|piece| piece?.extract()).transpose()
    })
}

/// Let the pages of a file that `map_file` mapped go from memory; they come back when they are
/// read. Other tensors stay as they are.
#[pyfunction]
fn leave_memory(mapped: &Bound<'_, Tensor>) {
    if let Inner::Real(tensor) = mapped.get().inner()
        && let Some(bytes) = tensor.storage().lender::<Bytes>()
    {
        files::leave_memory(bytes);
    }
}

/// Refuse outputs that must not be written: before any work.
#[pyfunction]
fn claim_files(py: Python<'_>, outputs: Vec<PathBuf>, inputs: Vec<PathBuf>) -> PyResult<()> {
    let claimed = unlocked(py, || files::claim(&outputs, &inputs))?;
    claimed.map_err(|error| errors::save(error, Path::new("")))
}

/// A file's bytes, in memory of Python's.
#[pyfunction]
fn read_file(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyBytes>> {
    let bytes = contents(py, &path)?;
    let watch = files::Watch::start();
    let slice = bytes.as_slice();
    if slice.len() > MOST_COPIED_BYTES {
        let expected = format!("at most {} MiB", MOST_COPIED_BYTES >> 20);
        let got = format!("{} bytes", slice.len());
        let why = Mismatch::new(expected, got, "it is not a file of this kind");
        return Err(errors::load(LoadError::Source(why), &path));
    }
    let copied = PyBytes::new(py, slice);
    watch.end().map_err(|error| errors::load(error, &path))?;
    Ok(copied)
}

/// A file's bytes where they are: mapped if the file is large.
#[pyfunction]
fn map_file(py: Python<'_>, path: PathBuf) -> PyResult<Tensor> {
    bytes_tensor(contents(py, &path)?)
}

/// A tensor over a `.npy` file.
#[pyfunction]
fn load_npy(py: Python<'_>, path: PathBuf) -> PyResult<Tensor> {
    let bytes = contents(py, &path)?;
    tensor_of(py, &bytes, &path)
}

/// A tensor of the contents of a `.npy` file, which `name` stands for in errors.
#[pyfunction]
fn npy_of(py: Python<'_>, contents: &[u8], name: PathBuf) -> PyResult<Tensor> {
    tensor_of(py, &contents.to_vec().into(), &name)
}

fn tensor_of(py: Python<'_>, bytes: &Bytes, path: &Path) -> PyResult<Tensor> {
    let parsed = unlocked(py, || parse_npy(bytes))?;
    let parsed = parsed.map_err(|source| LoadError::Tensor {
        path: path.to_owned(),
        source,
    });
    parsed.map(lent).map_err(|error| errors::load(error, path))
}

/// The contents of a `.npy` file of a tensor.
#[pyfunction]
fn npy_bytes<'py>(py: Python<'py>, tensor: &Bound<'py, Tensor>) -> PyResult<Bound<'py, PyBytes>> {
    let inner = tensor.get().inner();
    if inner.is_secret() {
        return Err(errors::secret(
            "a secret tensor cannot be written to a file",
        ));
    }
    let host = own(inner)?;
    let bytes = unlocked(py, || encode_npy(&host))?;
    Ok(PyBytes::new(py, &bytes))
}

/// A folder held while its files are read as one.
#[pyclass(frozen, name = "FolderLock", module = "cloakwork._core")]
struct Lock(Mutex<Option<FolderLock>>);

#[pymethods]
impl Lock {
    #[new]
    fn new(py: Python<'_>, folder: PathBuf) -> PyResult<Self> {
        let taken = waiting(py, |keep_going| {
            FolderLock::take(&folder, false, keep_going)
        })?;
        let lock = taken.map_err(|error| errors::system(&error, &folder))?;
        Ok(Self(Mutex::new(Some(lock))))
    }

    const fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, pyo3::types::PyTuple>) {
        let held = self.0.lock().take();
        drop(held);
    }
}

/// Adds all of these to the module.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Lock>()?;
    module.add_function(wrap_pyfunction!(claim_files, module)?)?;
    module.add_function(wrap_pyfunction!(load_npy, module)?)?;
    module.add_function(wrap_pyfunction!(leave_memory, module)?)?;
    module.add_function(wrap_pyfunction!(map_file, module)?)?;
    module.add_function(wrap_pyfunction!(npy_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(npy_of, module)?)?;
    module.add_function(wrap_pyfunction!(read_file, module)?)?;
    module.add_function(wrap_pyfunction!(write_files, module)?)
}
