//! Element-wise calls of a batch on few elements: they wait in a list, and are computed one after
//! the other when a result is wanted. To verify and to plan a program costs more than such calls;
//! fusing them or dividing them between threads saves nothing. Once another call comes, they are
//! steps of a program.

use crate::batch::{Awaited, Slot};
use crate::call::{Given, push};
use crate::recording::State;
use crate::{Tensor, Trace, TraceError, Traced};
use cloakwork_ir::{Arg, DType, Device, Shape, Symbol, View, shape_arg};
use cloakwork_kernels::Isa;
use cloakwork_ops::named;
use cloakwork_run::eager::{self, EagerError, Element, Ready, ReadyOperand};
use std::any::Any;
use std::sync::{Arc, Weak};

/// More elements gain from fusion.
const MOST_ELEMENTS: u64 = 4096;
/// Added to the users of a result that is wanted itself.
const WANTED: u64 = 1 << 32;

/// An operand of a call that may wait.
#[derive(Clone, Copy)]
pub enum Deferrable<'a> {
    /// The result of an earlier call of the list, by its number.
    Earlier(u32),
    /// A tensor.
    Tensor(&'a Tensor),
    /// A number, as an element of the operands' type.
    Element(Element),
}

enum Operand {
    /// Of an op of one operand, the second.
    Absent,
    Earlier(u32),
    Tensor(eager::Tensor),
    Element(Element),
}

struct Call {
    ready: &'static Ready,
    /// Of the operands.
    dtype: DType,
    operands: [Operand; 2],
    /// Of the result.
    shape: Shape,
    result: DType,
    storage: u32,
    /// Where the result is wanted in a batch.
    slot: Weak<Slot>,
}

/// Calls in their order. The result of number `i` is the symbol `i` of the program that they
/// become.
#[derive(Default)]
pub struct Deferred {
    calls: Vec<Call>,
}

impl Trace {
    /// The result of an element-wise call that waits; `None` for a call to be recorded, because of
    /// its operands or of what was recorded before.
    pub fn defer(
        self: &Arc<Self>,
        ready: &'static Ready,
        dtype: DType,
        given: &[Deferrable<'_>],
    ) -> Option<Box<Traced>> {
        if !self.is_batch() || self.is_lazy() || self.device() != Device::Cpu {
            return None;
        }
        let mut state = self.lock();
        if !state.builder.program.is_blank() {
            return None;
        }
        let own = |given: &Deferrable<'_>| self.operand(&state, given);
        let operands = operands(given, own)?;
        let index = state.deferred.add(ready, dtype, operands)?;
        let storage = state.new_storage();
        let slot = Arc::new(Slot::default());
        let generation = state.generation;
        let call = state.deferred.calls.get_mut(index as usize)?;
        (call.storage, call.slot) = (storage, Arc::downgrade(&slot));
        Some(Box::new(Traced {
            trace: Arc::clone(self),
            symbol: Symbol(index),
            storage,
            generation,
            dtype: call.result,
            view: View::contiguous(call.shape.clone()),
            slot: Some(slot),
        }))
    }

    fn operand(self: &Arc<Self>, state: &State, given: &Deferrable<'_>) -> Option<Operand> {
        let Deferrable::Tensor(Tensor::Traced(traced)) = given else {
            return given.operand();
        };
        if let Some(settled) = traced.settled() {
            return Deferrable::Tensor(settled).operand();
        }
        let own = Arc::ptr_eq(&traced.trace, self) && traced.generation == state.generation;
        own.then_some(Operand::Earlier(traced.symbol.0))
    }
}

/// One operand or two.
fn operands(
    given: &[Deferrable<'_>],
    operand: impl Fn(&Deferrable<'_>) -> Option<Operand>,
) -> Option<[Operand; 2]> {
    match given {
        [a] => Some([operand(a)?, Operand::Absent]),
        [a, b] => Some([operand(a)?, operand(b)?]),
        _ => None,
    }
}

impl Deferrable<'_> {
    fn operand(&self) -> Option<Operand> {
        match self {
            Self::Earlier(index) => Some(Operand::Earlier(*index)),
            Self::Element(element) => Some(Operand::Element(*element)),
            Self::Tensor(Tensor::Real(real)) => {
                let plain = real.is_plain(MOST_ELEMENTS);
                plain.then(|| Operand::Tensor(real.clone()))
            }
            Self::Tensor(Tensor::Traced(_) | Tensor::Away(_)) => None,
        }
    }
}

impl State {
    /// Makes steps of what waits.
    pub fn record_deferred(&mut self, trace: &Arc<Trace>) -> Result<(), TraceError> {
        let calls = std::mem::take(&mut self.deferred.calls);
        // The results have the first symbols of the program.
        for _ in &calls {
            self.builder.program.fresh_symbol();
        }
        let mut results = Vec::with_capacity(calls.len());
        for call in calls {
            let result = self.record_call(trace, &call, &results)?;
            self.pending.wholes.insert(result.storage, result.symbol);
            self.pending.results.push(Awaited {
                slot: call.slot,
                symbol: result.symbol,
                storage: result.storage,
                view: result.view.clone(),
            });
            results.push(result);
        }
        Ok(())
    }

    fn record_call(
        &mut self,
        trace: &Arc<Trace>,
        call: &Call,
        results: &[Traced],
    ) -> Result<Traced, TraceError> {
        let (def, _) = call.ready.def()?;
        let mut bound = Vec::with_capacity(def.params.len());
        for operand in &call.operands {
            let traced = match operand {
                Operand::Absent => continue,
                Operand::Earlier(index) => results[*index as usize].clone(),
                Operand::Tensor(tensor) => trace.captured(self, &Tensor::Real(tensor.clone()))?,
                Operand::Element(element) => {
                    trace.captured(self, &Tensor::Real(element.tensor(call.dtype)?))?
                }
            };
            bound.push(Given::Tensor(traced, None));
        }
        let result = Traced {
            trace: Arc::clone(trace),
            symbol: Symbol(results.len() as u32),
            storage: call.storage,
            generation: self.generation,
            dtype: call.result,
            view: View::contiguous(call.shape.clone()),
            slot: None,
        };
        let empty = [shape_arg(&result.view.shape), Arg::DType(result.dtype)];
        self.builder
            .call_into(named::EMPTY.name, empty, result.symbol);
        bound.resize_with(def.params.len(), || Given::None);
        if let Some(place) = def.out() {
            bound[place] = Given::Tensor(result.clone(), None);
        }
        push(self, def, &bound, &result)?;
        Ok(result)
    }
}

impl Call {
    /// The earlier calls whose results it takes.
    fn earlier(&self) -> impl Iterator<Item = usize> {
        self.operands.iter().filter_map(|operand| match operand {
            Operand::Earlier(index) => Some(*index as usize),
            _ => None,
        })
    }

    /// Its result, in a tensor that nobody else has any more if that fits; `None` without the
    /// result of an earlier call.
    fn compute(
        &self,
        results: &[Option<eager::Tensor>],
        spare: &mut Option<eager::Tensor>,
        isa: Isa,
    ) -> Option<Result<eager::Tensor, EagerError>> {
        let [a, b] = &self.operands;
        let mut call = |given: &[ReadyOperand<'_>]| {
            let spare = spare.take();
            self.ready.call_reusing(self.dtype, given, spare, isa)
        };
        let first = a.ready(results)?;
        match b {
            Operand::Absent => Some(call(&[first])),
            b => Some(call(&[first, b.ready(results)?])),
        }
    }
}

impl Operand {
    fn ready<'a>(&'a self, results: &'a [Option<eager::Tensor>]) -> Option<ReadyOperand<'a>> {
        match self {
            Self::Absent => None,
            Self::Earlier(index) => {
                let earlier = results.get(*index as usize)?.as_ref();
                earlier.map(ReadyOperand::Tensor)
            }
            Self::Tensor(tensor) => Some(ReadyOperand::Tensor(tensor)),
            Self::Element(element) => Some(ReadyOperand::Element(element)),
        }
    }
}

impl Deferred {
    /// Adds a call; `None` for one that a list cannot have.
    #[must_use]
    pub fn call(
        &mut self,
        ready: &'static Ready,
        dtype: DType,
        given: &[Deferrable<'_>],
    ) -> Option<u32> {
        let operands = operands(given, |given| given.operand())?;
        self.add(ready, dtype, operands)
    }

    fn add(&mut self, ready: &'static Ready, dtype: DType, operands: [Operand; 2]) -> Option<u32> {
        let (_, rule) = ready.def().ok()?;
        let count = if matches!(operands[1], Operand::Absent) {
            1
        } else {
            2
        };
        if !dtype.is_number() || !rule.takes.allows(dtype) || rule.operands != count {
            return None;
        }
        let exists = |operand: &Operand| match operand {
            Operand::Earlier(earlier) => (*earlier as usize) < self.calls.len(),
            _ => true,
        };
        if !operands.iter().all(exists) {
            return None;
        }
        let shape = self.common(dtype, &operands)?.clone();
        let index = u32::try_from(self.calls.len()).ok()?;
        self.calls.push(Call {
            ready,
            dtype,
            operands,
            shape,
            result: rule.gives.of(dtype),
            storage: 0,
            slot: Weak::new(),
        });
        Some(index)
    }

    /// The shape of the result: that of all operands, of which some may have one element and no
    /// axes.
    fn common<'a>(&'a self, dtype: DType, operands: &'a [Operand; 2]) -> Option<&'a Shape> {
        let [a, b] = operands;
        let fits = |(own, shape): (DType, &'a Shape)| (own == dtype).then_some(shape);
        match (self.ty(a), self.ty(b)) {
            (Some(a), Some(b)) => match (fits(a)?, fits(b)?) {
                (a, b) if a == b || b.rank() == 0 => Some(a),
                (a, b) => (a.rank() == 0).then_some(b),
            },
            (Some(only), None) | (None, Some(only)) => fits(only),
            (None, None) => None,
        }
    }

    /// The type of an operand that is no single element.
    fn ty<'a>(&'a self, operand: &'a Operand) -> Option<(DType, &'a Shape)> {
        match operand {
            Operand::Earlier(index) => {
                let earlier = &self.calls[*index as usize];
                Some((earlier.result, &earlier.shape))
            }
            Operand::Tensor(tensor) => Some((tensor.dtype(), &tensor.view().shape)),
            Operand::Element(_) | Operand::Absent => None,
        }
    }

    /// The dtype of a result.
    #[must_use]
    pub fn dtype(&self, index: u32) -> Option<DType> {
        self.calls.get(index as usize).map(|call| call.result)
    }

    /// The number of calls.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether nothing waits.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// About how long the calls take on one core, in nanoseconds.
    #[must_use]
    pub fn weight_ns(&self) -> u64 {
        let weight = |call: &Call| 50 + call.shape.elements();
        self.calls.iter().map(weight).sum()
    }

    /// Computes the results of a batch that are referenced, and what they need.
    ///
    /// # Errors
    /// The first error of a call. Results that do not depend on a call with an error are there.
    pub fn run(&self, isa: Isa) -> Result<(), EagerError> {
        let wanted = |index: usize| self.calls[index].slot.strong_count() > 0;
        self.compute(isa, wanted, |index, made| {
            if let Some(slot) = self.calls[index].slot.upgrade() {
                slot.set(Tensor::Real(made));
            }
        })
    }

    /// Gives a reason to those who hold results that could not be computed.
    pub fn fail(&self, reason: impl Fn() -> Box<dyn Any + Send + Sync>) {
        let slots = self.calls.iter().filter_map(|call| call.slot.upgrade());
        slots.for_each(|slot| slot.fail(reason()));
    }

    /// Computes results, and gives each to `found`.
    ///
    /// # Errors
    /// As [`Deferred::run`].
    pub fn compute(
        &self,
        isa: Isa,
        wanted: impl Fn(usize) -> bool,
        mut found: impl FnMut(usize, eager::Tensor),
    ) -> Result<(), EagerError> {
        let mut users = self.users(&wanted);
        let mut results: Vec<Option<eager::Tensor>> = vec![None; self.calls.len()];
        let (mut done, mut spare) = (Ok(()), None);
        for (index, call) in self.calls.iter().enumerate() {
            if users[index] == 0 {
                continue;
            }
            let made = call.compute(&results, &mut spare, isa);
            for earlier in call.earlier() {
                users[earlier] -= 1;
                if users[earlier].is_multiple_of(WANTED) {
                    spare = results[earlier].take();
                }
            }
            match made {
                Some(Ok(made)) if users[index] == WANTED => found(index, made),
                Some(Ok(made)) => {
                    if users[index] > WANTED {
                        found(index, made.clone());
                    }
                    results[index] = Some(made);
                }
                Some(Err(error)) => done = done.and(Err(error)),
                None => {}
            }
        }
        done
    }

    /// How often each result is needed by later calls that are needed, and [`WANTED`] more where
    /// it is wanted itself.
    fn users(&self, wanted: &impl Fn(usize) -> bool) -> Vec<u64> {
        let mut users = vec![0; self.calls.len()];
        for (index, call) in self.calls.iter().enumerate().rev() {
            if wanted(index) {
                users[index] += WANTED;
            }
            if users[index] == 0 {
                continue;
            }
            for earlier in call.earlier() {
                users[earlier] += 1;
            }
        }
        users
    }
}
