//! Python's numbers as elements: weak, so that they take the type of the tensor that they meet.

use crate::tensor::{Inner, Tensor};
use crate::{dtype, errors};
use cloakwork_ir::{DType, Shape, View};
use cloakwork_ops::promotion::Weak;
use cloakwork_run::eager::{self, Element};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyComplexMethods, PyFloat, PyInt, PyList};

/// A number of Python's.
pub enum Number<'a, 'py> {
    Bool(bool),
    Int(&'a Bound<'py, PyAny>),
    Float(f64),
    Complex(f64, f64),
}

impl<'a, 'py> Number<'a, 'py> {
    /// The number that a value is, if it is one of Python's.
    pub fn of(value: &'a Bound<'py, PyAny>) -> Option<Self> {
        if let Ok(float) = value.cast::<PyFloat>() {
            return Some(Self::Float(float.extract().ok()?));
        }
        if let Ok(truth) = value.cast::<PyBool>() {
            return Some(Self::Bool(truth.is_true()));
        }
        if value.is_instance_of::<PyInt>() {
            return Some(Self::Int(value));
        }
        let complex = value.cast::<PyComplex>().ok()?;
        Some(Self::Complex(complex.real(), complex.imag()))
    }

    /// Its kind, which decides its dtype in a call with a tensor.
    pub const fn weak(&self) -> Weak {
        match self {
            Self::Bool(_) => Weak::Bool,
            Self::Int(_) => Weak::Int,
            Self::Float(_) => Weak::Float,
            Self::Complex(..) => Weak::Complex,
        }
    }

    /// The number as an element of a type that [`Weak::meets`] gave.
    ///
    /// # Errors
    /// OverflowError if an integer does not fit.
    pub fn element(&self, dtype: DType) -> PyResult<Element> {
        let mut bytes = [0; 16];
        match self {
            Self::Int(value) if dtype.is_integer() => {
                bytes[..8].copy_from_slice(&integer(value, dtype)?);
            }
            Self::Bool(truth) if dtype.is_integer() || dtype == DType::Bool => {
                bytes[0] = u8::from(*truth);
            }
            _ => {
                let (re, im) = self.parts()?;
                if dtype.component() == DType::F32 {
                    bytes[..4].copy_from_slice(&(re as f32).to_le_bytes());
                    bytes[4..8].copy_from_slice(&(im as f32).to_le_bytes());
                } else {
                    bytes[..8].copy_from_slice(&re.to_le_bytes());
                    bytes[8..].copy_from_slice(&im.to_le_bytes());
                }
            }
        }
        Ok(Element(bytes))
    }

    /// The number as a tensor without axes.
    ///
    /// # Errors
    /// As [`Number::element`].
    pub fn tensor(&self, dtype: DType) -> PyResult<Inner> {
        let tensor = self.element(dtype)?.tensor(dtype);
        tensor.map(Inner::Real).map_err(errors::eager)
    }

    /// Whether a type of floats surely has the number as NumPy would round it: exactly, or a float
    /// that stays finite.
    pub fn is_held_by(&self, dtype: DType) -> bool {
        const EXACT: i64 = 1 << 24;
        match self {
            Self::Int(value) if !dtype.is_integer() => {
                let small = value.extract::<i64>();
                small.is_ok_and(|value| (-EXACT..=EXACT).contains(&value))
            }
            Self::Float(value) => {
                dtype.component() != DType::F32 || !value.is_finite() || {
                    (*value as f32).is_finite()
                }
            }
            Self::Bool(_) | Self::Int(_) => true,
            Self::Complex(..) => dtype == DType::C128,
        }
    }

    fn parts(&self) -> PyResult<(f64, f64)> {
        Ok(match self {
            Self::Bool(truth) => (f64::from(u8::from(*truth)), 0.0),
            Self::Int(value) => {
                let beyond = |_| PyOverflowError::new_err("the integer is out of range for floats");
                (value.extract().map_err(beyond)?, 0.0)
            }
            Self::Float(value) => (*value, 0.0),
            Self::Complex(re, im) => (*re, *im),
        })
    }
}

/// A flat list of floats, or of integers of 64 bits, as a tensor; None for other lists.
#[pyfunction]
pub fn numbers(list: &Bound<'_, PyList>) -> PyResult<Option<Tensor>> {
    let mut bytes = Vec::with_capacity(8 * list.len());
    let of_floats = list
        .get_item(0)
        .is_ok_and(|first| first.is_exact_instance_of::<PyFloat>());
    for item in list.iter() {
        let word = if of_floats {
            let float = item.cast_exact::<PyFloat>().ok();
            float.map(|float| float.value().to_le_bytes())
        } else {
            let integer = item.cast_exact::<PyInt>().ok();
            integer.and_then(|integer| Some(integer.extract::<i64>().ok()?.to_le_bytes()))
        };
        match word {
            Some(word) => bytes.extend_from_slice(&word),
            None => return Ok(None),
        }
    }
    if bytes.is_empty() {
        return Ok(None);
    }
    let dtype = if of_floats { DType::F64 } else { DType::I64 };
    let shape = Shape::new(&[bytes.len() as u64 / 8]).map_err(|error| errors::shape(&error))?;
    let tensor = eager::Tensor::from_bytes(dtype, View::contiguous(shape), &bytes);
    Ok(Some(Inner::Real(tensor.map_err(errors::run)?).into()))
}

/// A number of Python's as a tensor without axes; None where the conversion to a dtype may change
/// it: a conversion that checks more reports the error.
#[pyfunction]
pub fn number(
    value: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Tensor>> {
    let Some(number) = Number::of(value) else {
        return Ok(None);
    };
    let weak = number.weak();
    let dtype = dtype.map_or(Ok(weak.dtype()), dtype::from_object)?;
    if !dtype.is_number() || weak.meets(dtype) != dtype || !number.is_held_by(dtype) {
        return Ok(None);
    }
    Ok(number.tensor(dtype).ok().map(Tensor::from))
}

/// Whether an integer is above all that a type of integers holds, or below; `None` if it is held.
pub fn is_beyond(value: &Bound<'_, PyAny>, dtype: DType) -> PyResult<Option<bool>> {
    if !dtype.is_integer() || integer(value, dtype).is_ok() {
        return Ok(None);
    }
    value.gt(0).map(Some)
}

/// The greatest integer that a type of integers holds, or the least.
pub fn bound(dtype: DType, is_greatest: bool) -> Element {
    let bits = dtype.size_bytes() * 8;
    let ones = u64::MAX >> (64 - bits);
    let bound = match (dtype.is_signed_integer(), is_greatest) {
        (true, true) => ones >> 1,
        (true, false) => !(ones >> 1),
        (false, true) => ones,
        (false, false) => 0,
    };
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&bound.to_le_bytes());
    Element(bytes)
}

fn integer(value: &Bound<'_, PyAny>, dtype: DType) -> PyResult<[u8; 8]> {
    let beyond = || {
        let text = format!(
            "the integer {value} is out of range for {}",
            dtype.long_name()
        );
        PyOverflowError::new_err(text)
    };
    if dtype == DType::U64 {
        return Ok(value.extract::<u64>().map_err(|_| beyond())?.to_le_bytes());
    }
    let number: i64 = value.extract().map_err(|_| beyond())?;
    let bits = dtype.size_bytes() * 8;
    let fits = if dtype.is_signed_integer() {
        bits == 64 || (-(1i64 << (bits - 1))..1i64 << (bits - 1)).contains(&number)
    } else {
        (0..1i64 << bits).contains(&number)
    };
    fits.then(|| number.to_le_bytes()).ok_or_else(beyond)
}
