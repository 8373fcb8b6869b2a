//! The only element of a tensor, as Python's numbers.

use crate::contents::with_bytes;
use cloakwork_ir::{DType, View, components};
use cloakwork_run::eager;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyFloat, PyInt};

/// One element.
pub struct Only {
    dtype: DType,
    /// Its components, as 64-bit words.
    words: [i64; 2],
}

impl Only {
    /// The first element of a tensor that has one.
    pub fn of(tensor: &eager::Tensor) -> PyResult<Self> {
        with_bytes(tensor, |bytes| {
            Self::within(tensor.view(), tensor.dtype(), bytes)
        })
    }

    fn within(view: &View, dtype: DType, bytes: &[u8]) -> Self {
        let start = view.offset as usize * dtype.size_bytes();
        let element = bytes
            .get(start..start + dtype.size_bytes())
            .unwrap_or(&[0; 16]);
        let mut words = [0; 2];
        if !dtype.is_number() {
            // The zero of a field and the point at infinity are all zeros, and nothing else is.
            words[0] = i64::from(element.iter().any(|&byte| byte != 0));
            return Self { dtype, words };
        }
        for (word, part) in words.iter_mut().zip(components(dtype, element)) {
            *word = part;
        }
        Self { dtype, words }
    }

    fn real(&self, word: i64) -> f64 {
        match self.dtype.component() {
            DType::F32 => f64::from(f32::from_bits(word as u32)),
            DType::F64 => f64::from_bits(word as u64),
            DType::U64 => word as u64 as f64,
            _ => word as f64,
        }
    }

    fn parts(&self) -> (f64, f64) {
        let imaginary = if self.dtype.is_complex() {
            self.real(self.words[1])
        } else {
            0.0
        };
        (self.real(self.words[0]), imaginary)
    }

    /// Whether it is not 0.
    pub fn is_true(&self) -> bool {
        if self.dtype.is_integer() || self.dtype == DType::Bool || !self.dtype.is_number() {
            return self.words[0] != 0;
        }
        let (re, im) = self.parts();
        re != 0.0 || im != 0.0
    }

    /// As the Python type of its kind.
    pub fn object<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.dtype {
            DType::Bool => self.is_true().into_bound_py_any(py),
            dtype if dtype.is_integer() => self.int(py),
            dtype if dtype.is_complex() => self.complex(py),
            _ => Ok(PyFloat::new(py, self.parts().0).into_any()),
        }
    }

    /// As an int; a float without its fraction.
    pub fn int<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.dtype {
            DType::U64 => (self.words[0] as u64).into_bound_py_any(py),
            dtype if dtype.is_integer() || dtype == DType::Bool => {
                Ok(PyInt::new(py, self.words[0]).into_any())
            }
            _ => PyFloat::new(py, self.float()?).call_method0("__int__"),
        }
    }

    /// As a float.
    pub fn float(&self) -> PyResult<f64> {
        if self.dtype.is_complex() {
            return Err(PyTypeError::new_err(
                "a complex number is not a float; take its real part, cloakwork.real",
            ));
        }
        Ok(self.parts().0)
    }

    /// As a complex number.
    pub fn complex<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (re, im) = self.parts();
        Ok(PyComplex::from_doubles(py, re, im).into_any())
    }
}
