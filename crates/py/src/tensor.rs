//! `cloakwork.Tensor`: a strided view of elements in memory, or of a value that a trace will
//! compute.

mod inner;
mod layouts;
mod only;
mod operators;
mod protocols;
mod rows;
mod shown;

pub use inner::{Elements, Inner, shares, tensors};
pub use layouts::at_once as reshaped_at_once;

use crate::dtype::{PyDType, object};
use crate::eval::{Value, layout};
use crate::numbers;
use crate::scalar::Number;
use crate::{buffer, contents, dlpack, dtype, errors, field, index, on_device, operand};
use cloakwork_ops::{OpDef, named};
use operators::{assign_product, compare, operator, power, product, quotient_and_rest};
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use rows::Rows;
use std::ffi::c_int;

/// A strided view of a buffer with a dtype.
///
/// `Tensor(data, dtype=None, device=None)` copies `data`, as `cloakwork.tensor` does; `asarray`
/// shares memory where it can. Views made by indexing and by the
/// methods below share their elements with the tensor that they come from.
#[pyclass(frozen, weakref, module = "cloakwork", name = "Tensor")]
pub struct Tensor {
    inner: Inner,
}

impl From<Inner> for Tensor {
    fn from(inner: Inner) -> Self {
        Self { inner }
    }
}

impl Tensor {
    /// The tensor of the engine, settled if its batch has run.
    #[inline]
    pub fn inner(&self) -> &Inner {
        match &self.inner {
            Inner::Traced(traced) => traced.settled().unwrap_or(&self.inner),
            real => real,
        }
    }

    fn derive(
        &self,
        py: Python<'_>,
        op: &'static OpDef,
        rest: impl IntoIterator<Item = Value>,
    ) -> PyResult<Self> {
        layout(py, op, self.inner(), rest).map(Self::from)
    }

    fn ndim(&self) -> usize {
        self.inner().view().rank()
    }

    fn elements(&self) -> u64 {
        self.inner().view().shape.elements()
    }
}

#[pymethods]
impl Tensor {
    #[new]
    #[pyo3(signature = (data, dtype=None, device=None))]
    fn new(
        data: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
        device: Option<&str>,
    ) -> PyResult<Self> {
        operand::tensor_with(data, dtype, device).map(Self::from)
    }

    /// Sizes of the axes, outermost first.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.inner().view().shape.dims())
    }

    /// Number of axes.
    #[getter(ndim)]
    fn get_ndim(&self) -> usize {
        self.ndim()
    }

    /// Element type, such as `cloakwork.int64`; equal to its names, "i64" and "int64".
    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<Py<PyDType>> {
        object(py, self.inner().dtype())
    }

    /// Where its elements are: "cpu", or a device such as "sim:0".
    #[getter]
    fn device(&self, py: Python<'_>) -> Py<PyString> {
        let name = match self.inner().device() {
            None => intern!(py, "cpu").clone(),
            Some(device) => PyString::new(py, &device.to_string()),
        };
        name.unbind()
    }

    /// Number of elements.
    #[getter]
    fn size(&self) -> u64 {
        self.elements()
    }

    /// Bytes of an element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.inner().dtype().size_bytes()
    }

    /// Bytes of its elements, without gaps.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.elements() * self.inner().dtype().size_bytes() as u64
    }

    /// Distance between neighbours along each axis, in bytes.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let size = self.inner().dtype().size_bytes() as i64;
        PyTuple::new(
            py,
            self.inner()
                .view()
                .strides
                .iter()
                .map(|stride| stride * size),
        )
    }

    /// The transpose of a matrix: a view.
    #[getter(T)]
    fn transposed(&self, py: Python<'_>) -> PyResult<Self> {
        layouts::transposed(py, self.inner(), true).map(Self::from)
    }

    /// The transpose of each matrix: a view with the last two axes swapped.
    #[getter(mT)]
    fn matrix_transposed(&self, py: Python<'_>) -> PyResult<Self> {
        layouts::transposed(py, self.inner(), false).map(Self::from)
    }

    fn __getitem__(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        index::get_item(slf.py(), slf, key)
    }

    fn __setitem__(
        slf: &Bound<'_, Self>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        index::set_item(slf.py(), slf, key, value)
    }

    /// The same elements in row-major order under another shape; one size may be -1.
    ///
    /// A view wherever strides can say it, otherwise a copy; with `copy` True always a copy, with
    /// False never one: ValueError if it would take one.
    #[pyo3(signature = (*shape, copy=None))]
    fn reshape(
        &self,
        py: Python<'_>,
        shape: &Bound<'_, PyTuple>,
        copy: Option<bool>,
    ) -> PyResult<Self> {
        layouts::reshaped(py, self.inner(), shape, copy).map(Self::from)
    }

    /// A view in which axis `source` has become axis `destination`.
    fn moveaxis(&self, py: Python<'_>, source: i64, destination: i64) -> PyResult<Self> {
        self.derive(
            py,
            &named::MOVEAXIS,
            [Value::Int(source), Value::Int(destination)],
        )
    }

    /// A view without `axis`, whose size is 1.
    fn squeeze(&self, py: Python<'_>, axis: i64) -> PyResult<Self> {
        self.derive(py, &named::SQUEEZE, [Value::Int(axis)])
    }

    /// A view with an axis of size 1 inserted, which is then axis `axis`.
    fn unsqueeze(&self, py: Python<'_>, axis: i64) -> PyResult<Self> {
        self.derive(py, &named::UNSQUEEZE, [Value::Int(axis)])
    }

    /// A view in which `axis`, of size 1, repeats `repeat` times.
    fn expand(&self, py: Python<'_>, axis: i64, repeat: i64) -> PyResult<Self> {
        self.derive(py, &named::EXPAND, [Value::Int(axis), Value::Int(repeat)])
    }

    /// The axes from `start` to `end`, both included, merged into one.
    #[pyo3(signature = (start=0, end=-1), text_signature = "($self, start=0, end=-1)")]
    fn flatten(&self, py: Python<'_>, start: i64, end: i64) -> PyResult<Self> {
        self.derive(py, &named::FLATTEN, [Value::Int(start), Value::Int(end)])
    }

    /// The same tensor if its elements are row-major without gaps, else a row-major copy.
    fn contiguous(&self, py: Python<'_>) -> PyResult<Self> {
        self.derive(py, &named::CONTIGUOUS, [])
    }

    /// A row-major copy.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        self.derive(py, &named::COPY, [])
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        self.refuse_secret("copied")?;
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.__copy__(py)
    }

    /// The elements as another type; see `cloakwork.astype`.
    #[pyo3(signature = (dtype, *, copy=true))]
    fn astype(slf: &Bound<'_, Self>, dtype: &Bound<'_, PyAny>, copy: bool) -> PyResult<Py<Self>> {
        let (py, own) = (slf.py(), slf.get().inner());
        let dtype = dtype::from_object(dtype)?;
        if dtype == own.dtype() {
            return match copy {
                true => Py::new(py, slf.get().copy(py)?),
                false => Ok(slf.clone().unbind()),
            };
        }
        Py::new(py, Self::from(numbers::recast(py, own, dtype)?))
    }

    /// The tensor on another device: "cpu", "cuda:0", the file of a driver.
    ///
    /// This tensor if it is there, else a copy. Calls on tensors of a device run there, and their
    /// results stay there; operands of the host are brought there. They wait until an element is
    /// wanted, so that the device gets many at once: what is wrong with contents is told then.
    /// Tensors on a device are not written in place, by `x += y`, `x[0] = y` or `out=`.
    ///
    /// DeviceError for a device that does not exist or holds no tensors, SecretError for a secret
    /// tensor: it stays in the host's memory.
    #[pyo3(signature = (device, /))]
    fn to(slf: &Bound<'_, Self>, device: &str) -> PyResult<Py<Self>> {
        on_device::to(slf, device)
    }

    /// The array API's name for `to`; ValueError for a `stream`: copies wait for none.
    #[pyo3(signature = (device, /, *, stream=None))]
    fn to_device(
        slf: &Bound<'_, Self>,
        device: &str,
        stream: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Py<Self>> {
        on_device::to_without_stream(slf, device, stream)
    }

    fn __len__(&self) -> PyResult<usize> {
        let first = self.inner().view().shape.dims().first();
        first
            .map(|&size| size as usize)
            .ok_or_else(|| PyTypeError::new_err("len() of a tensor without axes"))
    }

    fn __iter__(slf: &Bound<'_, Self>) -> PyResult<Rows> {
        let count = slf
            .get()
            .__len__()
            .map_err(|_| PyTypeError::new_err("iteration over a tensor without axes"))?;
        Ok(Rows::new(slf, count))
    }

    fn __contains__(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        operators::contains(slf, value)
    }

    /// The only element.
    fn item<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let only = slf.get().only("item()")?;
        if slf.get().is_of_numbers() {
            return only.object(slf.py());
        }
        field::call(slf.py(), "item", (slf,))
    }

    /// The canonical words of elements of a field or of points, u64 `[.., w]`, the lowest first.
    fn to_words(slf: &Bound<'_, Self>) -> PyResult<Self> {
        field::tensor(slf.py(), "to_words", (slf,)).map(Self::from)
    }

    /// The canonical bytes of elements of a field or of points, little-endian, row-major.
    fn to_bytes<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        field::call(slf.py(), "to_bytes", (slf,))
    }

    /// The elements as nested lists; of a tensor without axes, its element.
    fn tolist<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.get().inner().real("tolist()")?;
        let numpy = slf.py().import("numpy")?;
        numpy
            .call_method1("asarray", (slf,))?
            .call_method0("tolist")
    }

    fn __bool__(&self) -> PyResult<bool> {
        if self.inner().is_secret() {
            return Err(errors::secret(
                "a program must not branch on a secret tensor",
            ));
        }
        Ok(self.only("bool()")?.is_true())
    }

    fn __float__(&self) -> PyResult<f64> {
        self.numeric("float()")?.float()
    }

    fn __int__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (own, py) = (slf.get(), slf.py());
        if own.inner().dtype().is_prime_field() {
            own.scalar("int()")?;
            return field::call(py, "item", (slf,));
        }
        own.numeric("int()")?.int(py)
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.numeric("complex()")?.complex(py)
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if !self.inner().dtype().is_integer() {
            let text = format!(
                "an index is an integer, got {}",
                self.inner().dtype().long_name()
            );
            return Err(PyTypeError::new_err(text));
        }
        self.scalar("an index")?.int(py)
    }

    /// A NumPy array with a copy of the elements; `numpy.asarray` shares them instead.
    fn numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.get().inner().real("numpy()")?;
        slf.py().import("numpy")?.call_method1("array", (slf,))
    }

    /// NumPy's conversion of objects that have no buffer.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        slf.get().inner().real("a NumPy array of it")?;
        if !slf.get().is_of_numbers() {
            if copy == Some(false) {
                return Err(PyValueError::new_err(
                    "NumPy has no such dtype, only Python objects, which copy=False forbids",
                ));
            }
            let objects = field::call(py, "objects", (slf,))?;
            return match dtype {
                Some(dtype) => objects.call_method1("astype", (dtype,)),
                None => Ok(objects),
            };
        }
        let memory = py.import("builtins")?.call_method1("memoryview", (slf,))?;
        let options = PyDict::new(py);
        options.set_item("dtype", dtype)?;
        options.set_item("copy", copy)?;
        py.import("numpy")?
            .call_method("array", (memory,), Some(&options))
    }

    /// NumPy's universal functions on tensors: the results are tensors.
    #[pyo3(signature = (ufunc, method, *inputs, **options))]
    fn __array_ufunc__<'py>(
        slf: &Bound<'py, Self>,
        ufunc: &Bound<'py, PyAny>,
        method: &str,
        inputs: &Bound<'py, PyTuple>,
        options: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = options.unwrap_or_else(|| PyDict::new(slf.py()));
        protocols::call(slf.py(), "apply_ufunc", (ufunc, method, inputs, options))
    }

    /// NumPy's other functions on tensors: the results are tensors.
    fn __array_function__<'py>(
        slf: &Bound<'py, Self>,
        function: &Bound<'py, PyAny>,
        types: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        options: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        protocols::call(slf.py(), "apply_function", (function, types, args, options))
    }

    /// The namespace of its functions: `cloakwork`.
    #[pyo3(signature = (*, api_version=None))]
    fn __array_namespace__<'py>(
        &self,
        py: Python<'py>,
        api_version: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        protocols::namespace(py, api_version)
    }

    /// A capsule with its memory, for `from_dlpack` of other libraries.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // Elements on a GPU are there for every stream.
        if let Some(stream) = stream {
            dlpack::check_stream(self.inner(), &stream)?;
        }
        dlpack::export(py, self.inner(), max_version, dl_device, copy)
    }

    /// DLPack's name of the device: (2, i) for cuda:i, else (1, 0), the CPU, which gets copies.
    fn __dlpack_device__(&self) -> (i32, i32) {
        dlpack::device_of(self.inner())
    }

    fn __add__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operator(&numbers::ADD, slf.as_any(), other)
    }
    fn __radd__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operator(&numbers::ADD, other, slf.as_any())
    }
    fn __iadd__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        numbers::assign(py, &numbers::ADD, self.inner(), other)
    }
    fn __sub__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operator(&numbers::SUBTRACT, slf.as_any(), other)
    }
    fn __rsub__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operator(&numbers::SUBTRACT, other, slf.as_any())
    }
    fn __isub__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        numbers::assign(py, &numbers::SUBTRACT, self.inner(), other)
    }
    fn __mul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operator(&numbers::MULTIPLY, slf.as_any(), other)
    }
    fn __rmul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operator(&numbers::MULTIPLY, other, slf.as_any())
    }
    fn __imul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        numbers::assign(py, &numbers::MULTIPLY, self.inner(), other)
    }
    fn __truediv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operator(&numbers::DIVIDE, slf.as_any(), other)
    }
    fn __rtruediv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operator(&numbers::DIVIDE, other, slf.as_any())
    }
    fn __itruediv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        numbers::assign(py, &numbers::DIVIDE, self.inner(), other)
    }
    fn __floordiv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operator(&numbers::FLOOR_DIVIDE, slf.as_any(), other)
    }
    fn __rfloordiv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operator(&numbers::FLOOR_DIVIDE, other, slf.as_any())
    }
    fn __ifloordiv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        numbers::assign(py, &numbers::FLOOR_DIVIDE, self.inner(), other)
    }
    fn __mod__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operator(&numbers::REMAINDER, slf.as_any(), other)
    }
    fn __rmod__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operator(&numbers::REMAINDER, other, slf.as_any())
    }
    fn __imod__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        numbers::assign(py, &numbers::REMAINDER, self.inner(), other)
    }
    fn __and__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operator(&numbers::BITWISE_AND, slf.as_any(), other)
    }
    fn __rand__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operator(&numbers::BITWISE_AND, other, slf.as_any())
    }
    fn __iand__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        numbers::assign(py, &numbers::BITWISE_AND, self.inner(), other)
    }
    fn __or__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operator(&numbers::BITWISE_OR, slf.as_any(), other)
    }
    fn __ror__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operator(&numbers::BITWISE_OR, other, slf.as_any())
    }
    fn __ior__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        numbers::assign(py, &numbers::BITWISE_OR, self.inner(), other)
    }
    fn __xor__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operator(&numbers::BITWISE_XOR, slf.as_any(), other)
    }
    fn __rxor__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operator(&numbers::BITWISE_XOR, other, slf.as_any())
    }
    fn __ixor__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        numbers::assign(py, &numbers::BITWISE_XOR, self.inner(), other)
    }
    fn __lshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operator(&numbers::BITWISE_LEFT_SHIFT, slf.as_any(), other)
    }
    fn __rlshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operator(&numbers::BITWISE_LEFT_SHIFT, other, slf.as_any())
    }
    fn __ilshift__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        numbers::assign(py, &numbers::BITWISE_LEFT_SHIFT, self.inner(), other)
    }
    fn __rshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operator(&numbers::BITWISE_RIGHT_SHIFT, slf.as_any(), other)
    }
    fn __rrshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operator(&numbers::BITWISE_RIGHT_SHIFT, other, slf.as_any())
    }
    fn __irshift__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        numbers::assign(py, &numbers::BITWISE_RIGHT_SHIFT, self.inner(), other)
    }
    fn __pow__(
        slf: &Bound<'_, Self>,
        other: &Bound<'_, PyAny>,
        modulo: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        power(slf.as_any(), other, modulo)
    }
    fn __rpow__(
        slf: &Bound<'_, Self>,
        other: &Bound<'_, PyAny>,
        modulo: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        power(other, slf.as_any(), modulo)
    }
    fn __ipow__(
        slf: &Bound<'_, Self>,
        other: &Bound<'_, PyAny>,
        _modulo: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let own = slf.get().inner();
        let is_squared = Number::of(other)
            .is_some_and(|exponent| numbers::is_squared(&numbers::POW, own.dtype(), &exponent));
        let (ready, other) = match is_squared {
            true => (&numbers::MULTIPLY, slf.as_any()),
            false => (&numbers::POW, other),
        };
        numbers::assign(slf.py(), ready, own, other)
    }
    fn __matmul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        product(slf.as_any(), other)
    }
    fn __rmatmul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        product(other, slf.as_any())
    }
    fn __imatmul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        assign_product(slf, other)
    }
    fn __neg__(&self, py: Python<'_>) -> PyResult<Self> {
        numbers::of_one(py, &numbers::NEGATIVE, self.inner())
    }
    fn __pos__(&self, py: Python<'_>) -> PyResult<Self> {
        numbers::of_one(py, &numbers::POSITIVE, self.inner())
    }
    fn __abs__(&self, py: Python<'_>) -> PyResult<Self> {
        numbers::of_one(py, &numbers::ABS, self.inner())
    }
    fn __divmod__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        quotient_and_rest(slf.as_any(), other)
    }
    fn __rdivmod__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        quotient_and_rest(other, slf.as_any())
    }
    /// To so many decimals; without them to integers, which stay of their dtype.
    #[pyo3(signature = (ndigits=None, /))]
    fn __round__<'py>(
        slf: &Bound<'py, Self>,
        ndigits: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        protocols::call(slf.py(), "rounded", (slf, ndigits))
    }
    fn __invert__(&self, py: Python<'_>) -> PyResult<Self> {
        numbers::of_one(py, &numbers::BITWISE_INVERT, self.inner())
    }

    fn __richcmp__(
        slf: &Bound<'_, Self>,
        other: &Bound<'_, PyAny>,
        op: CompareOp,
    ) -> PyResult<Py<PyAny>> {
        compare(op, slf.as_any(), other)
    }

    /// A frozen tensor with these elements: this one if nothing else shares its
    /// memory, else a copy with the axes in the same order.
    ///
    /// Ops derive what they need of such a tensor (tables of a transform, checks of a permutation)
    /// once and keep it; a traced program holds it without a copy.
    fn freeze(slf: &Bound<'_, Self>) -> PyResult<Py<Self>> {
        // Nothing writes to a tensor on a device.
        if slf.get().inner().device().is_some() {
            return Ok(slf.clone().unbind());
        }
        let tensor = slf.get().inner().real("freeze()")?;
        let frozen = contents::frozen(tensor)?;
        if frozen.data() == tensor.data() {
            return Ok(slf.clone().unbind());
        }
        Py::new(slf.py(), Self::from(Inner::Real(frozen)))
    }

    /// Whether it is frozen.
    #[getter]
    fn is_frozen(&self) -> bool {
        let own = self.inner();
        own.device().is_some() || matches!(own, Inner::Real(tensor) if tensor.is_frozen())
    }

    /// Mark the elements, and with them every view of them, as secret.
    ///
    /// They are zeroed when released, and never printed, pickled or traced.
    fn mark_secret(&self) -> PyResult<()> {
        on_device::secret(self.inner())
    }

    /// Whether its elements are marked as secret.
    #[getter]
    fn is_secret(&self) -> bool {
        self.inner().is_secret()
    }

    /// Overwrite the elements, and those of every view that shares their storage, with zeros.
    ///
    /// Raises ParamError for a frozen tensor, which ops and programs rely on, and for read-only
    /// memory.
    fn zeroize(&self, py: Python<'_>) -> PyResult<()> {
        contents::zeroized(py, self.inner().real("zeroize()")?)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        shown::repr(slf)
    }

    fn __format__(slf: &Bound<'_, Self>, spec: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        shown::format(slf, spec)
    }

    fn __reduce_ex__<'py>(slf: &Bound<'py, Self>, protocol: i64) -> PyResult<Bound<'py, PyTuple>> {
        slf.get().refuse_secret("pickled")?;
        slf.get().inner().real("pickling")?;
        crate::copies::reduced(slf, protocol)
    }

    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let tensor = slf.get().inner().real("memory of it");
        let tensor = tensor
            .map_err(|e| PyBufferError::new_err(e.to_string()))?
            .clone();
        // SAFETY: Python hands a valid place for the description.
        unsafe { buffer::export(slf.into_any(), &tensor, view, flags) }
    }

    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: Python gives back what `__getbuffer__` filled.
        unsafe { buffer::release(view) }
    }
}
