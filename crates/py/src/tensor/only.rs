//! A tensor's only element, where Python asks for one.

use super::{Elements, Tensor};
use crate::{element, errors};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

impl Tensor {
    /// The only element.
    pub(super) fn only(&self, wish: &str) -> PyResult<element::Only> {
        let tensor = self.inner().real(wish)?;
        if self.elements() != 1 {
            let text = format!(
                "{wish} needs one element, this tensor has {}",
                self.elements()
            );
            return Err(PyValueError::new_err(text));
        }
        element::Only::of(tensor)
    }

    /// The element of a tensor without axes.
    pub(super) fn scalar(&self, wish: &str) -> PyResult<element::Only> {
        if self.ndim() != 0 {
            let text = format!(
                "{wish} needs a tensor without axes, this one has {}",
                self.ndim()
            );
            return Err(PyTypeError::new_err(text));
        }
        self.only(wish)
    }

    /// The element of a tensor of numbers without axes.
    pub(super) fn numeric(&self, wish: &str) -> PyResult<element::Only> {
        let dtype = self.inner().dtype();
        if dtype.is_number() {
            return self.scalar(wish);
        }
        let text = format!("{wish} of {dtype}: not a number; item() returns a Python object");
        Err(PyTypeError::new_err(text))
    }

    pub(super) fn is_of_numbers(&self) -> bool {
        self.inner().dtype().is_number()
    }

    pub(super) fn refuse_secret(&self, deed: &str) -> PyResult<()> {
        if self.inner().is_secret() {
            return Err(errors::secret(format!("a secret tensor is not {deed}")));
        }
        Ok(())
    }
}
