//! `cloakwork.DType`: element types as objects.

use cloakwork_ir::{ALL_DTYPES, DType, FIELD_DTYPES, NUMBER_DTYPES, POINT_DTYPES};
use cloakwork_ops::promotion::promote as common;
use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyString, PyTuple, PyType};

/// An element type; equal to its names ("f32", "float32") and to NumPy's dtype of that name.
///
/// "i8" and "u8" are refused as names: they have 8 bits in programs, and 8 bytes in NumPy.
#[pyclass(frozen, module = "cloakwork", name = "DType")]
pub struct PyDType(DType);

static OBJECTS: PyOnceLock<Vec<Py<PyDType>>> = PyOnceLock::new();

/// The object of a type: one each, so that `is` works too.
pub fn object(py: Python<'_>, dtype: DType) -> PyResult<Py<PyDType>> {
    let make = || {
        ALL_DTYPES
            .into_iter()
            .map(|d| Py::new(py, PyDType(d)))
            .collect()
    };
    let objects: &Vec<Py<PyDType>> = OBJECTS.get_or_try_init(py, make)?;
    Ok(objects[dtype.index()].clone_ref(py))
}

/// An element type by its object, its names, a Python type, or a NumPy dtype or scalar type.
///
/// # Errors
/// TypeError with the names there are.
pub fn from_object(value: &Bound<'_, PyAny>) -> PyResult<DType> {
    refuse_ambiguous(value)?;
    read(value).ok_or_else(|| {
        let names: Vec<&str> = NUMBER_DTYPES.iter().map(|d| d.long_name()).collect();
        let mut names = names.join(", ") + ", or a field or curve such as bn254.fr";
        let got = value
            .repr()
            .map_or_else(|_| "something else".to_owned(), |text| text.to_string());
        if got.contains("float16") || got.contains("half") {
            names += "; there are no floats of 16 bits: convert them to float32 before";
        }
        crate::errors::dtype(&got, &names)
    })
}

/// DTypeError for the two codes that have 8 bits in programs, and 8 bytes in NumPy.
fn refuse_ambiguous(value: &Bound<'_, PyAny>) -> PyResult<()> {
    let Ok(text) = value.cast::<PyString>() else {
        return Ok(());
    };
    let kind = match &*text.to_cow()? {
        "i8" => "int",
        "u8" => "uint",
        _ => return Ok(()),
    };
    let allowed = format!("{kind}8, of 8 bits, or {kind}64, which NumPy means by it");
    Err(crate::errors::unfit_dtype(
        &text.repr()?.to_string(),
        &allowed,
    ))
}

fn read(value: &Bound<'_, PyAny>) -> Option<DType> {
    if let Ok(own) = value.cast::<PyDType>() {
        return Some(own.get().0);
    }
    if let Ok(text) = value.cast::<PyString>() {
        return named(&text.to_cow().ok()?);
    }
    if let Ok(class) = value.cast::<PyType>() {
        let py = value.py();
        let types = [
            (py.get_type::<PyBool>(), DType::Bool),
            (py.get_type::<PyInt>(), DType::I64),
            (py.get_type::<PyFloat>(), DType::F64),
            (py.get_type::<PyComplex>(), DType::C128),
        ];
        if let Some((_, dtype)) = types.into_iter().find(|(own, _)| own.is(class)) {
            return Some(dtype);
        }
        return numpy_name(&class.getattr("__name__").ok()?);
    }
    numpy_name(&value.getattr("name").ok()?)
}

/// A type by a name: what NumPy and Python have means what they mean by it. torch's `int` and
/// `float`, which have 32 bits, go by `torch.int` and `torch.float`.
fn named(name: &str) -> Option<DType> {
    match name {
        "int" => Some(DType::I64),
        "float" => Some(DType::F64),
        "complex" => Some(DType::C128),
        "np.int" | "np.float" | "numpy.int" | "numpy.float" => None,
        other => match other.strip_prefix(['<', '=', '|']) {
            Some(rest) if cfg!(target_endian = "little") => numpy_code(rest),
            _ => DType::from_name(other).or_else(|| numpy_code(other)),
        },
    }
}

/// NumPy's kind and bytes: "<i8" has 8 bytes.
fn numpy_code(code: &str) -> Option<DType> {
    let (kind, bytes) = code.split_at_checked(1)?;
    let bytes: usize = bytes.parse().ok()?;
    let fits = |d: &DType| kind_of(*d) == kind && d.size_bytes() == bytes;
    NUMBER_DTYPES.into_iter().find(fits)
}

/// NumPy's letter of a kind of elements; V for those that it does not know.
fn kind_of(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "b",
        d if d.is_signed_integer() => "i",
        d if d.is_integer() => "u",
        d if d.is_complex() => "c",
        d if d.is_real_float() => "f",
        _ => "V",
    }
}

/// `float32`, `bool_`; not the names that only Cloakwork gives.
fn numpy_name(name: &Bound<'_, PyAny>) -> Option<DType> {
    let name: String = name.extract().ok()?;
    let bare = name.strip_suffix('_').unwrap_or(&name);
    NUMBER_DTYPES.into_iter().find(|d| d.long_name() == bare)
}

#[pymethods]
impl PyDType {
    /// The long name, such as "float32".
    #[getter]
    fn name(&self) -> &'static str {
        self.0.long_name()
    }

    /// The name in the text of programs, such as "f32".
    #[getter]
    fn code(&self) -> &'static str {
        self.0.name()
    }

    /// Bytes of an element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.0.size_bytes()
    }

    /// NumPy's letter: b(ool), i(nteger), u(nsigned), f(loat) or c(omplex); V for an element of a
    /// field or a point, which NumPy does not know.
    #[getter]
    fn kind(&self) -> &'static str {
        kind_of(self.0)
    }

    /// NumPy's dtype of that name; AttributeError for an element of a field and a point.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if !self.0.is_number() {
            let text = format!("NumPy has no dtype {}", self.0.long_name());
            return Err(PyAttributeError::new_err(text));
        }
        py.import("numpy")?
            .call_method1("dtype", (self.0.long_name(),))
    }

    /// NumPy's letter of the dtype, as SciPy's sparse matrices ask for it; see `dtype`.
    #[getter]
    fn char<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.dtype(py)?.getattr("char")
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        refuse_ambiguous(other)?;
        Ok(read(other) == Some(self.0))
    }

    fn __hash__(&self) -> u64 {
        self.0.index() as u64
    }

    fn __repr__(&self) -> String {
        format!("cloakwork.{}", identifier(self.0))
    }

    /// The short name, but for those of 8 bits, which are refused as names.
    fn __str__(&self) -> &'static str {
        match self.0 {
            DType::I8 | DType::U8 => self.0.long_name(),
            other => other.name(),
        }
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let function = py.import("cloakwork._core")?.getattr("dtype")?;
        let args = PyTuple::new(py, [self.0.long_name()])?;
        PyTuple::new(py, [function, args.into_any()])
    }
}

/// The element type that something names.
#[pyfunction]
pub fn dtype(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<Py<PyDType>> {
    object(py, from_object(value)?)
}

/// The element type that something names, where names are those of programs: "u8" has 8 bits.
#[pyfunction]
pub fn element_type(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<Py<PyDType>> {
    let text = value.cast::<PyString>().ok();
    match text.and_then(|text| text.to_cow().ok()).as_deref() {
        Some("i8") => object(py, DType::I8),
        Some("u8") => object(py, DType::U8),
        _ => dtype(py, value),
    }
}

/// The type that two types have in common.
#[pyfunction]
pub fn promote(
    py: Python<'_>,
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
) -> PyResult<Py<PyDType>> {
    let both = common(from_object(a)?, from_object(b)?);
    object(py, both.map_err(|e| PyTypeError::new_err(e.to_string()))?)
}

/// The long name as Python writes names: `float32`, `bn254_fr`.
fn identifier(dtype: DType) -> String {
    dtype.long_name().replace('.', "_")
}

/// Adds an attribute a type of numbers, and the lists of all types.
pub fn add_constants(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyDType>()?;
    for dtype in NUMBER_DTYPES {
        let name = match dtype {
            DType::Bool => "bool_".to_owned(),
            other => identifier(other),
        };
        module.add(name, object(module.py(), dtype)?)?;
    }
    let kinds = [
        ("DTYPES", &NUMBER_DTYPES[..]),
        ("FIELD_DTYPES", &FIELD_DTYPES[..]),
        ("POINT_DTYPES", &POINT_DTYPES[..]),
    ];
    for (name, dtypes) in kinds {
        let objects = dtypes.iter().map(|&d| object(module.py(), d));
        let objects = objects.collect::<PyResult<Vec<_>>>()?;
        module.add(name, PyTuple::new(module.py(), objects)?)?;
    }
    Ok(())
}
