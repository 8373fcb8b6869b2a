//! Products of matrices, as `@` and `cloakwork.matmul` have them: vectors are rows on the left and
//! columns on the right, and operands are brought to one type.

use crate::errors;
use crate::eval::{Value, eval};
use crate::index::{with_axis, without_axis};
use crate::numbers::convert;
use crate::tensor::{Inner, Tensor};
use cloakwork_ops::named;
use cloakwork_ops::promotion::promote;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// The product of two tensors; see `cloakwork.matmul`.
#[pyfunction]
pub fn matmul(py: Python<'_>, a: &Tensor, b: &Tensor) -> PyResult<Tensor> {
    product(py, a.inner(), b.inner()).map(Tensor::from)
}

/// The product of two tensors, as `cloakwork.matmul` defines it.
///
/// # Errors
/// ValueError for a tensor without axes, and for shapes that do not fit; TypeError for types that
/// have nothing in common.
pub fn product(py: Python<'_>, a: &Inner, b: &Inner) -> PyResult<Inner> {
    let ranks = [a.view().rank(), b.view().rank()];
    if ranks.contains(&0) {
        let shown = |x: &Inner| PyTuple::new(py, x.view().shape.dims())?.str();
        let got = format!("shapes {} and {}", shown(a)?, shown(b)?);
        let allowed = "one axis or more each; numbers are multiplied with *";
        return Err(errors::param(named::MATMUL.name, got, allowed));
    }
    let dtype = promote(a.dtype(), b.dtype()).map_err(|e| PyTypeError::new_err(e.to_string()))?;
    let (mut a, mut b) = (a.clone(), b.clone());
    if ranks[0] == 1 {
        a = with_axis(py, &a, 0)?;
    }
    if ranks[1] == 1 {
        b = with_axis(py, &b, 1)?;
    }
    let operands = [convert(py, &a, dtype)?, convert(py, &b, dtype)?];
    let mut product = eval(py, &named::MATMUL, operands.map(Value::Tensor).into())?;
    if ranks[0] == 1 {
        product = without_axis(py, &product, product.view().rank() - 2)?;
    }
    if ranks[1] == 1 {
        product = without_axis(py, &product, product.view().rank() - 1)?;
    }
    Ok(product)
}
