//! Lists of operations that are computed in one crossing.

use crate::guard::called;
use crate::numbers::{self, TABLE};
use crate::scalar::Number;
use crate::tensor::{Inner, Tensor};
use crate::{device, errors};
use cloakwork_ir::DType;
use cloakwork_ops::promotion::{Operand as Promoted, common};
use cloakwork_process::Once;
use cloakwork_run::eager::{CallList, Listed, Ready};
use cloakwork_trace::is_active;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple, PyType};
use rustc_hash::FxHashMap;

/// The operations so far.
#[derive(Default)]
struct Operations(CallList);

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
    let Operations(calls) = made;
    let isa = device::isa(py)?;
    let results = called(py, Some(calls.weight_ns()), false, |_| calls.compute(isa))?;
    let results = results.map_err(errors::eager)?.into_iter();
    Ok(Some(results.map(|made| Inner::Real(made).into()).collect()))
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
        if let (Some(Promoted::Tensor(dtype)), Argument::Number(exponent)) = (self.promoted(a), b)
            && numbers::is_squared(ready, dtype, exponent)
        {
            return self.call(&numbers::SQUARE, a, &Argument::Absent);
        }
        let (_, rule) = ready.def().ok()?;
        let given = match (self.promoted(a)?, self.promoted(b)) {
            (Promoted::Tensor(a), None) => a,
            (a, Some(b)) => common(a, b).ok()?,
            (Promoted::Number(_), None) => return None,
        };
        let dtype = rule.takes.computes_in(given);
        let second = match b {
            Argument::Absent => None,
            b => Some(b.operand(dtype)?),
        };
        let operands = (a.operand(dtype)?, second);
        self.0.call(ready, dtype, operands).map(|_| ())
    }

    fn promoted(&self, argument: &Argument<'_, '_>) -> Option<Promoted> {
        Some(match argument {
            Argument::Absent => return None,
            Argument::Slot(earlier) => Promoted::Tensor(self.0.dtype(*earlier)?),
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

    /// The operand of a call; `None` for one that no list has.
    fn operand(&self, dtype: DType) -> Option<Listed> {
        Some(match self {
            Self::Slot(earlier) => Listed::Earlier(*earlier),
            Self::Tensor(tensor) => match tensor.inner() {
                Inner::Real(real) => Listed::Tensor(real.clone()),
                Inner::Traced(_) | Inner::Away(_) => return None,
            },
            Self::Number(number) if dtype.is_number() => {
                Listed::Element(number.element(dtype).ok()?)
            }
            Self::Number(_) | Self::Absent => return None,
        })
    }
}

/// The op of this name.
fn by_name(name: &str) -> Option<&'static Ready> {
    static BY_NAME: Once<FxHashMap<&'static str, &'static Ready>> = Once::new();
    BY_NAME
        .get_or_init(|| {
            TABLE
                .iter()
                .map(|&(name, ready, _)| (name, ready))
                .collect()
        })
        .get(name)
        .copied()
}
