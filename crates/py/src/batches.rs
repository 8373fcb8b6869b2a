//! Lists of operations that are computed in one crossing.

use crate::guard::called;
use crate::numbers::TABLE;
use crate::scalar::Number;
use crate::tensor::{Inner, Tensor};
use crate::{device, errors};
use cloakwork_ir::DType;
use cloakwork_ops::promotion::{Operand as Promoted, common};
use cloakwork_process::Once;
use cloakwork_run::eager::Ready;
use cloakwork_trace::{Deferrable, Deferred, is_active};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple, PyType};
use rustc_hash::FxHashMap;

/// The operations so far, and whether each is an operand of another.
#[derive(Default)]
struct Operations {
    calls: Deferred,
    taken: Vec<bool>,
}

/// An argument of an operation.
enum Argument<'a, 'py> {
    /// Of an op of one operand, the second.
    Absent,
    Slot(u32),
    Tensor(&'a Tensor),
    Number(Number<'a, 'py>),
}

/// The results that no other operation uses; None where an operation is not element-wise, or its
/// operands are not of one type and shape: then a batch computes or refuses the operations.
#[pyfunction]
pub fn execute_elementwise(
    py: Python<'_>,
    operations: &Bound<'_, PyAny>,
    slot: &Bound<'_, PyType>,
) -> PyResult<Option<Vec<Tensor>>> {
    let Ok(list) = operations.cast::<PyList>() else {
        return Ok(None);
    };
    if is_active() {
        return Ok(None);
    }
    let mut made = Operations::default();
    for operation in list.iter() {
        if made.add(&operation, slot)?.is_none() {
            return Ok(None);
        }
    }
    let Operations { calls, taken } = made;
    let isa = device::isa(py)?;
    let results = called(py, Some(calls.weight_ns()), false, |_| {
        let mut results = Vec::new();
        let found = |_, made| results.push(Tensor::from(Inner::Real(made)));
        calls.compute(isa, |index| !taken[index], found)?;
        Ok(results)
    })?;
    results.map(Some).map_err(errors::eager)
}

impl Operations {
    /// Adds an operation, if it is one of those that need no program.
    fn add(
        &mut self,
        operation: &Bound<'_, PyAny>,
        slot: &Bound<'_, PyType>,
    ) -> PyResult<Option<()>> {
        let Ok(operation) = operation.cast::<PyTuple>() else {
            return Ok(None);
        };
        if !(2..=3).contains(&operation.len()) {
            return Ok(None);
        }
        let (name, a) = (operation.get_item(0)?, operation.get_item(1)?);
        let name = name.cast::<PyString>().ok().map(|name| name.to_str());
        let (Some(ready), Some(a)) = (name.transpose()?.and_then(by_name), Argument::of(&a, slot)?)
        else {
            return Ok(None);
        };
        if operation.len() == 2 {
            return Ok(self.call(ready, &a, &Argument::Absent));
        }
        let b = operation.get_item(2)?;
        let b = Argument::of(&b, slot)?;
        Ok(b.and_then(|b| self.call(ready, &a, &b)))
    }

    fn call(
        &mut self,
        ready: &'static Ready,
        a: &Argument<'_, '_>,
        b: &Argument<'_, '_>,
    ) -> Option<()> {
        let (_, rule) = ready.def().ok()?;
        let given = match (self.promoted(a)?, self.promoted(b)) {
            (Promoted::Tensor(a), None) => a,
            (a, Some(b)) => common(a, b).ok()?,
            (Promoted::Number(_), None) => return None,
        };
        let dtype = rule.takes.computes_in(given);
        let index = match b {
            Argument::Absent => self.calls.call(ready, dtype, &[a.operand(dtype)?]),
            b => self
                .calls
                .call(ready, dtype, &[a.operand(dtype)?, b.operand(dtype)?]),
        };
        index?;
        self.taken.push(false);
        for argument in [a, b] {
            if let Argument::Slot(earlier) = argument {
                *self.taken.get_mut(*earlier as usize)? = true;
            }
        }
        Some(())
    }

    fn promoted(&self, argument: &Argument<'_, '_>) -> Option<Promoted> {
        Some(match argument {
            Argument::Absent => return None,
            Argument::Slot(earlier) => Promoted::Tensor(self.calls.dtype(*earlier)?),
            Argument::Tensor(tensor) => Promoted::Tensor(tensor.inner().dtype()),
            Argument::Number(number) => Promoted::Number(number.weak()),
        })
    }
}

impl<'a, 'py> Argument<'a, 'py> {
    fn of(object: &'a Bound<'py, PyAny>, slot: &Bound<'_, PyType>) -> PyResult<Option<Self>> {
        if let Ok(tensor) = object.cast::<Tensor>() {
            return Ok(Some(Self::Tensor(tensor.get())));
        }
        if object.get_type().is(slot) {
            let index = object.getattr(intern!(object.py(), "index"))?;
            return Ok(index.extract().ok().map(Self::Slot));
        }
        Ok(Number::of(object).map(Self::Number))
    }

    /// The operand of a call; `None` where the dtype does not hold the number.
    fn operand(&self, dtype: DType) -> Option<Deferrable<'_>> {
        Some(match self {
            Self::Absent => return None,
            Self::Slot(earlier) => Deferrable::Earlier(*earlier),
            Self::Tensor(tensor) => Deferrable::Tensor(tensor.inner()),
            Self::Number(number) if dtype.is_number() => {
                Deferrable::Element(number.element(dtype).ok()?)
            }
            Self::Number(_) => return None,
        })
    }
}

/// The op of this name.
fn by_name(name: &str) -> Option<&'static Ready> {
    static BY_NAME: Once<FxHashMap<&'static str, &'static Ready>> = Once::new();
    BY_NAME
        .get_or_init(|| TABLE.iter().copied().collect())
        .get(name)
        .copied()
}
