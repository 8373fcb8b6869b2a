//! Tensors as text.

use super::{Inner, Tensor};
use pyo3::prelude::*;

/// As NumPy shows an array, with the device if it is not the host.
pub fn repr(tensor: &Bound<'_, Tensor>) -> PyResult<String> {
    let show = tensor.py().import("cloakwork.tensors.printing")?;
    let own = tensor.get().inner();
    let is_traced = matches!(own, Inner::Traced(_)) && own.device().is_none();
    show.getattr("tensor")?
        .call1((tensor, is_traced))?
        .extract()
}

/// The only element of a tensor without axes by a format, else the text of the tensor.
pub fn format(tensor: &Bound<'_, Tensor>, spec: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let builtins = tensor.py().import("builtins")?;
    let own = tensor.get().inner();
    let has_one = own.has_elements() || own.device().is_some();
    let shown = match own.view().rank() == 0 && has_one && !own.is_secret() {
        true => Tensor::item(tensor)?,
        false => tensor.str()?.into_any(),
    };
    Ok(builtins.call_method1("format", (shown, spec))?.unbind())
}
