//! `cloakwork.Tensor`: a strided view of elements that are there, or of what a trace will compute.

use crate::eval::{Value, layout};
use crate::trace::Traced;
use crate::{buffer, errors, index};
use cloakwork_ir::{DType, View, read_word};
use cloakwork_run::eager;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyList, PyTuple};
use std::ffi::c_int;

/// What a tensor is a view of.
#[derive(Clone)]
pub enum Inner {
    /// Elements in memory.
    Real(eager::Tensor),
    /// A value of a program that is being recorded.
    Traced(Traced),
}

impl Inner {
    /// Shape and strides.
    pub fn view(&self) -> &View {
        match self {
            Self::Real(tensor) => tensor.view(),
            Self::Traced(traced) => &traced.view,
        }
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        match self {
            Self::Real(tensor) => tensor.dtype(),
            Self::Traced(traced) => traced.dtype,
        }
    }

    /// Whether its elements must not be shown.
    pub fn is_secret(&self) -> bool {
        matches!(self, Self::Real(tensor) if tensor.is_secret())
    }

    /// The elements in memory.
    ///
    /// # Errors
    /// It is traced: there are none.
    pub fn real(&self, wish: &str) -> PyResult<&eager::Tensor> {
        match self {
            Self::Real(tensor) => Ok(tensor),
            Self::Traced(_) => Err(errors::trace(format!(
                "{wish}: a traced tensor has a shape and a dtype but no elements; a traced \
                 function cannot depend on them"
            ))),
        }
    }
}

/// A strided view of a buffer with a dtype.
///
/// Made by `cloakwork.asarray`, `empty`, `zeros` and by every op. Views made by indexing and by the
/// methods below share their elements with the tensor that they come from.
#[pyclass(frozen, module = "cloakwork", name = "Tensor")]
pub struct Tensor {
    inner: Inner,
}

impl From<Inner> for Tensor {
    fn from(inner: Inner) -> Self {
        Self { inner }
    }
}

impl Tensor {
    /// What it is a view of.
    pub fn inner(&self) -> &Inner {
        &self.inner
    }

    fn derive(
        &self,
        py: Python<'_>,
        op: &'static str,
        rest: impl IntoIterator<Item = Value>,
    ) -> PyResult<Self> {
        layout(py, op, &self.inner, rest).map(Self::from)
    }

    fn ndim(&self) -> usize {
        self.inner.view().rank()
    }

    fn elements(&self) -> u64 {
        self.inner.view().shape.elements()
    }
}

#[pymethods]
impl Tensor {
    /// Sizes of the axes, outermost first.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.inner.view().shape.dims())
    }

    /// Number of axes.
    #[getter(ndim)]
    fn get_ndim(&self) -> usize {
        self.ndim()
    }

    /// Element type by its short name, such as "i64".
    #[getter]
    fn dtype(&self) -> &'static str {
        self.inner.dtype().name()
    }

    /// Number of elements.
    #[getter]
    fn size(&self) -> u64 {
        self.elements()
    }

    /// Bytes of its elements, without gaps.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.elements() * self.inner.dtype().size_bytes() as u64
    }

    /// Distance between neighbours along each axis, in bytes.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let size = self.inner.dtype().size_bytes() as i64;
        PyTuple::new(
            py,
            self.inner.view().strides.iter().map(|stride| stride * size),
        )
    }

    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Self> {
        index::get_item(py, &self.inner, key).map(Self::from)
    }

    /// The same elements in row-major order under another shape; one size may be -1.
    ///
    /// A view wherever strides can say it, otherwise a copy.
    #[pyo3(signature = (*shape))]
    fn reshape(&self, py: Python<'_>, shape: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let sizes = index::sizes(shape, self.elements())?;
        self.derive(py, "reshape", [Value::Shape(sizes)])
    }

    /// A view in which axis `source` has become axis `destination`.
    fn moveaxis(&self, py: Python<'_>, source: i64, destination: i64) -> PyResult<Self> {
        self.derive(
            py,
            "moveaxis",
            [Value::Int(source), Value::Int(destination)],
        )
    }

    /// A view without `axis`, whose size is 1.
    fn squeeze(&self, py: Python<'_>, axis: i64) -> PyResult<Self> {
        self.derive(py, "squeeze", [Value::Int(axis)])
    }

    /// A view with an axis of size 1 inserted, which is then axis `axis`.
    fn unsqueeze(&self, py: Python<'_>, axis: i64) -> PyResult<Self> {
        self.derive(py, "unsqueeze", [Value::Int(axis)])
    }

    /// A view in which `axis`, of size 1, repeats `repeat` times.
    fn expand(&self, py: Python<'_>, axis: i64, repeat: i64) -> PyResult<Self> {
        self.derive(py, "expand", [Value::Int(axis), Value::Int(repeat)])
    }

    /// The axes from `start` to `end`, both included, merged into one.
    #[pyo3(signature = (start=0, end=-1), text_signature = "($self, start=0, end=-1)")]
    fn flatten(&self, py: Python<'_>, start: i64, end: i64) -> PyResult<Self> {
        self.derive(py, "flatten", [Value::Int(start), Value::Int(end)])
    }

    /// The same tensor if its elements lie row-major without gaps, else a copy that does.
    fn contiguous(&self, py: Python<'_>) -> PyResult<Self> {
        self.derive(py, "contiguous", [])
    }

    fn __len__(&self) -> PyResult<usize> {
        let first = self.inner.view().shape.dims().first();
        first
            .map(|&size| size as usize)
            .ok_or_else(|| PyTypeError::new_err("len() of a tensor without axes"))
    }

    fn __iter__(slf: &Bound<'_, Self>) -> PyResult<Rows> {
        let count = slf
            .get()
            .__len__()
            .map_err(|_| PyTypeError::new_err("iteration over a tensor without axes"))?;
        Ok(Rows {
            tensor: slf.clone().unbind(),
            next: 0,
            count,
        })
    }

    /// The only element.
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let word = self.only("item()")?;
        match self.inner.dtype() {
            DType::Bool => (word != 0).into_bound_py_any(py),
            DType::U64 => (word as u64).into_bound_py_any(py),
            DType::F32 => Ok(PyFloat::new(py, f64::from(f32::from_bits(word as u32))).into_any()),
            DType::F64 => Ok(PyFloat::new(py, f64::from_bits(word as u64)).into_any()),
            _ => Ok(PyInt::new(py, word).into_any()),
        }
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        if self.inner.is_secret() {
            return Err(errors::secret(
                "the truth of a secret tensor must not steer a program",
            ));
        }
        self.only("bool()")?;
        self.item(py)?.is_truthy()
    }

    /// A NumPy array with a copy of the elements; `numpy.asarray` shares them instead.
    fn numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.get().inner.real("numpy()")?;
        slf.py().import("numpy")?.call_method1("array", (slf,))
    }

    /// What NumPy calls where it finds no buffer.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        slf.get().inner.real("a NumPy array of it")?;
        let memory = py.import("builtins")?.call_method1("memoryview", (slf,))?;
        let options = PyDict::new(py);
        options.set_item("dtype", dtype)?;
        options.set_item("copy", copy)?;
        py.import("numpy")?
            .call_method("array", (memory,), Some(&options))
    }

    /// Mark the elements, and with them every view of them, as secret.
    ///
    /// They are zeroed when released, and never printed, pickled or traced.
    fn mark_secret(&self) -> PyResult<()> {
        self.inner
            .real("mark_secret()")
            .map(eager::Tensor::mark_secret)
    }

    /// Whether its elements are marked as secret.
    #[getter]
    fn is_secret(&self) -> bool {
        self.inner.is_secret()
    }

    /// Overwrite the elements, and those of every view that shares their storage, with zeros.
    fn zeroize(&self, py: Python<'_>) -> PyResult<()> {
        let tensor = self.inner.real("zeroize()")?;
        crate::guard::unlocked(py, || tensor.zeroize())
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let tensor = slf.get();
        let elements = match &tensor.inner {
            Inner::Traced(_) => "<traced>".to_owned(),
            Inner::Real(real) if real.is_secret() => "<secret>".to_owned(),
            Inner::Real(_) => rows(slf)?,
        };
        let shape = tensor.shape(slf.py())?.repr()?;
        Ok(format!(
            "Tensor({elements}, shape={shape}, dtype={})",
            tensor.dtype()
        ))
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(if self.inner.is_secret() {
            "a secret tensor is neither copied nor pickled"
        } else {
            "a Tensor is neither copied nor pickled: use numpy() and cloakwork.asarray"
        }))
    }

    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let Inner::Real(tensor) = slf.get().inner.clone() else {
            return Err(PyBufferError::new_err("a traced tensor has no elements"));
        };
        // SAFETY: Python hands a valid place for the description.
        unsafe { buffer::export(slf.into_any(), &tensor, view, flags) }
    }

    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: Python gives back what `__getbuffer__` filled.
        unsafe { buffer::release(view) }
    }
}

impl Tensor {
    /// The only element, as a word.
    fn only(&self, wish: &str) -> PyResult<i64> {
        let tensor = self.inner.real(wish)?;
        if self.elements() != 1 {
            let text = format!(
                "{wish} needs one element, this tensor has {}",
                self.elements()
            );
            return Err(PyValueError::new_err(text));
        }
        let (view, size) = (tensor.view(), tensor.dtype().size_bytes());
        let bytes: &[u8] = tensor.storage().as_ref().as_ref();
        let start = view.offset as usize * size;
        Ok(bytes
            .get(start..start + size)
            .map_or(0, |bytes| read_word(tensor.dtype(), bytes)))
    }
}

/// The elements as NumPy prints them, summarised where there are many.
fn rows(tensor: &Bound<'_, Tensor>) -> PyResult<String> {
    let py = tensor.py();
    let numpy = py.import("numpy")?;
    let options = PyDict::new(py);
    options.set_item("separator", ", ")?;
    options.set_item("prefix", "Tensor(")?;
    options.set_item("threshold", 64)?;
    let array = numpy.call_method1("asarray", (tensor,))?;
    numpy
        .call_method("array2string", (array,), Some(&options))?
        .extract()
}

/// Iterates over a tensor's first axis.
#[pyclass(module = "cloakwork._core")]
pub struct Rows {
    tensor: Py<Tensor>,
    next: usize,
    count: usize,
}

#[pymethods]
impl Rows {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Tensor>> {
        if self.next >= self.count {
            return Ok(None);
        }
        let key = PyInt::new(py, self.next).into_any();
        self.next += 1;
        index::get_item(py, self.tensor.get().inner(), &key).map(|inner| Some(inner.into()))
    }
}

/// Tensors of a Python list.
pub fn tensors(list: &Bound<'_, PyList>) -> PyResult<Vec<Inner>> {
    let inner = |item: Bound<'_, PyAny>| {
        let tensor = item.cast::<Tensor>().map_err(PyErr::from)?;
        Ok(tensor.get().inner().clone())
    };
    list.iter().map(inner).collect()
}
