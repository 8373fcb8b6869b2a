//! Lists of element-wise calls on few elements, computed one after the other: to verify and to plan
//! a program costs more than such calls, and fusing them or dividing them between threads saves
//! nothing.

use super::{EagerError, Element, Ready, ReadyOperand, Tensor};
use cloakwork_ir::{DType, Shape};
use cloakwork_kernels::Isa;

/// The most elements of an operand: more gain from fusion.
pub const FEW_ELEMENTS: u64 = 4096;

/// An operand of a call.
pub enum Listed {
    /// The result of an earlier call of the list, by its number.
    Earlier(u32),
    /// A tensor.
    Tensor(Tensor),
    /// A number, as an element of the operands' type.
    Element(Element),
}

struct Call {
    ready: &'static Ready,
    /// Of the operands.
    dtype: DType,
    first: Listed,
    second: Option<Listed>,
    /// Of the result.
    shape: Shape,
    result: DType,
    /// How many later calls take its result.
    users: u32,
}

/// Calls in their order.
#[derive(Default)]
pub struct CallList {
    calls: Vec<Call>,
}

impl Call {
    fn operands(&self) -> impl Iterator<Item = &Listed> {
        std::iter::once(&self.first).chain(&self.second)
    }

    /// Its result, in a tensor that nobody else has any more if that fits; `None` without the
    /// result of an earlier call.
    fn compute(
        &self,
        results: &[Option<Tensor>],
        spare: &mut Option<Tensor>,
        isa: Isa,
    ) -> Option<Result<Tensor, EagerError>> {
        let mut call = |given: &[ReadyOperand<'_>]| {
            let spare = spare.take();
            self.ready.call_reusing(self.dtype, given, spare, isa)
        };
        let first = self.first.ready(results)?;
        match &self.second {
            None => Some(call(&[first])),
            Some(second) => Some(call(&[first, second.ready(results)?])),
        }
    }
}

impl Listed {
    fn ready<'a>(&'a self, results: &'a [Option<Tensor>]) -> Option<ReadyOperand<'a>> {
        match self {
            Self::Earlier(index) => {
                let earlier = results.get(*index as usize)?.as_ref();
                earlier.map(ReadyOperand::Tensor)
            }
            Self::Tensor(tensor) => Some(ReadyOperand::Tensor(tensor)),
            Self::Element(element) => Some(ReadyOperand::Element(element)),
        }
    }
}

impl CallList {
    /// Adds a call of one operand or two of type `dtype`, and gives its number; `None` for a call
    /// that a list cannot have.
    #[must_use]
    pub fn call(
        &mut self,
        ready: &'static Ready,
        dtype: DType,
        (first, second): (Listed, Option<Listed>),
    ) -> Option<u32> {
        let (_, rule) = ready.def().ok()?;
        let count = 1 + usize::from(second.is_some());
        if !dtype.is_number() || !rule.takes.allows(dtype) || rule.operands != count {
            return None;
        }
        let shape = self.common(dtype, &first, second.as_ref())?.clone();
        let index = u32::try_from(self.calls.len()).ok()?;
        for operand in std::iter::once(&first).chain(&second) {
            if let Listed::Earlier(earlier) = operand {
                self.calls[*earlier as usize].users += 1;
            }
        }
        self.calls.push(Call {
            ready,
            dtype,
            first,
            second,
            shape,
            result: rule.gives.of(dtype),
            users: 0,
        });
        Some(index)
    }

    /// The shape of the result: that of all operands, of which some may have one element and no
    /// axes.
    fn common<'a>(
        &'a self,
        dtype: DType,
        first: &'a Listed,
        second: Option<&'a Listed>,
    ) -> Option<&'a Shape> {
        // Outer: an operand that no list can have. Inner: none for a single element.
        let fits = |operand: &'a Listed| match operand {
            Listed::Earlier(index) => {
                let earlier = self.calls.get(*index as usize)?;
                (earlier.result == dtype).then_some(Some(&earlier.shape))
            }
            Listed::Tensor(tensor) => {
                let plain = tensor.dtype() == dtype && tensor.is_plain(FEW_ELEMENTS);
                plain.then(|| Some(&tensor.view().shape))
            }
            Listed::Element(_) => Some(None),
        };
        let second = match second {
            Some(second) => fits(second)?,
            None => None,
        };
        match (fits(first)?, second) {
            (Some(a), Some(b)) if a == b || b.rank() == 0 => Some(a),
            (Some(a), Some(b)) => (a.rank() == 0).then_some(b),
            (one, other) => one.or(other),
        }
    }

    /// The dtype of a result.
    #[must_use]
    pub fn dtype(&self, index: u32) -> Option<DType> {
        self.calls.get(index as usize).map(|call| call.result)
    }

    /// About how long the calls take on one core, in nanoseconds.
    #[must_use]
    pub fn weight_ns(&self) -> u64 {
        let weight = |call: &Call| 50 + call.shape.elements();
        self.calls.iter().map(weight).sum()
    }

    /// The results that no other call takes, in their order.
    ///
    /// # Errors
    /// The first error of a call.
    pub fn compute(&self, isa: Isa) -> Result<Vec<Tensor>, EagerError> {
        let mut users: Vec<u32> = self.calls.iter().map(|call| call.users).collect();
        let mut results: Vec<Option<Tensor>> = vec![None; self.calls.len()];
        let mut spare = None;
        for (index, call) in self.calls.iter().enumerate() {
            let made = call.compute(&results, &mut spare, isa);
            results[index] = made.transpose()?;
            for operand in call.operands() {
                if let Listed::Earlier(earlier) = operand {
                    let earlier = *earlier as usize;
                    users[earlier] -= 1;
                    if users[earlier] == 0 {
                        spare = results[earlier].take();
                    }
                }
            }
        }
        Ok(results.into_iter().flatten().collect())
    }
}
