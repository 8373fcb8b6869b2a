//! The table of fields and curves, as dictionaries for Python.

use cloakwork_ir::{Curve, DType, FIELD_DTYPES, Group};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt};

use crate::dtype;

/// The integer of words, the lowest first.
pub fn integer<'py>(py: Python<'py>, words: &[u64]) -> PyResult<Bound<'py, PyAny>> {
    let digits: String = words
        .iter()
        .rev()
        .map(|word| format!("{word:016x}"))
        .collect();
    parsed(py, &digits)
}

fn parsed<'py>(py: Python<'py>, digits: &str) -> PyResult<Bound<'py, PyAny>> {
    py.get_type::<PyInt>().call1((digits, 16))
}

/// Every field by name: `modulus`, and `generator`, whose powers the roots of unity are.
#[pyfunction]
pub fn fields(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    for dtype in FIELD_DTYPES {
        let Some(facts) = dtype.field_facts() else {
            continue;
        };
        let field = PyDict::new(py);
        let prime = facts.prime();
        field.set_item("modulus", integer(py, prime.modulus)?)?;
        field.set_item("generator", prime.generator)?;
        field.set_item("degree", facts.degree())?;
        let nonresidue = facts.extension().map(|extension| extension.nonresidue);
        field.set_item("nonresidue", nonresidue)?;
        field.set_item("words", dtype.canonical_words())?;
        all.set_item(facts.name, field)?;
    }
    Ok(all)
}

/// Every curve `y^2 = x^3 + b` by name: `b`, the names of its fields `fr` and `fq`, and `groups` by
/// the names of their dtypes: parts of a coordinate and the customary generator, its coordinates
/// one after another.
#[pyfunction]
pub fn curves(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    for facts in Curve::all().map(Curve::facts) {
        let curve = PyDict::new(py);
        curve.set_item("b", facts.b)?;
        curve.set_item("fr", facts.scalar.facts().name)?;
        curve.set_item("fq", facts.base.facts().name)?;
        let groups = PyDict::new(py);
        for group in [Some(facts.g1), facts.g2].into_iter().flatten() {
            groups.set_item(group.facts().name, described(py, group)?)?;
        }
        curve.set_item("groups", groups)?;
        all.set_item(facts.name, curve)?;
    }
    Ok(all)
}

fn described(py: Python<'_>, group: Group) -> PyResult<Bound<'_, PyDict>> {
    let facts = group.facts();
    let described = PyDict::new(py);
    described.set_item("dtype", dtype::object(py, DType::Point(group))?)?;
    described.set_item("parts", facts.degree)?;
    let digits = facts.generator.into_iter().flatten();
    let numbers: PyResult<Vec<_>> = digits.map(|digits| parsed(py, digits)).collect();
    described.set_item("generator", numbers?)?;
    Ok(described)
}
