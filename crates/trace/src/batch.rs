//! Batches: calls are recorded as in a trace, and run together when the batch ends or when an
//! element of a result is wanted, so that what computes element by element over the same elements
//! is fused.

use crate::recording::State;
use crate::{Tensor, Trace, TraceError, Traced};
use cloakwork_ir::{Program, Symbol, Type, View};
use cloakwork_process::Once;
use cloakwork_run::{RunError, eager};
use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

/// Operands of a lazy batch with at most so many bytes are constants.
const SMALL_BYTES: u64 = 64;

/// Where a recorded result goes when its batch has run, or the reason why it has none.
#[derive(Default)]
pub struct Slot {
    tensor: Once<Tensor>,
    failure: Once<Box<dyn Any + Send + Sync>>,
}

impl Slot {
    /// The result.
    #[inline]
    #[must_use]
    pub fn get(&self) -> Option<&Tensor> {
        self.tensor.get()
    }

    /// Gives the result; a second one is dropped.
    pub fn set(&self, tensor: Tensor) {
        let _ = self.tensor.set(tensor);
    }

    /// Says why there is no result; only the first reason counts.
    pub fn fail(&self, reason: Box<dyn Any + Send + Sync>) {
        let _ = self.failure.set(reason);
    }

    /// Why there is no result.
    #[must_use]
    pub fn failure(&self) -> Option<&(dyn Any + Send + Sync)> {
        self.failure.get().map(|reason| &**reason)
    }
}

/// State of a batch beside its program.
#[derive(Default)]
pub(crate) struct Pending {
    /// Results, while they are referenced.
    pub results: Vec<Awaited>,
    /// The row-major tensor of which the tensors of a storage are views, by storage.
    pub wholes: HashMap<u32, Symbol>,
    /// Tensors that it reads, by storage and view.
    inputs: HashMap<(usize, View), (Traced, Tensor)>,
    named: Vec<Tensor>,
    /// Bytes of the operands that it has copied.
    pub copied_bytes: u64,
}

/// A result that somebody waits for.
pub(crate) struct Awaited {
    pub slot: Weak<Slot>,
    pub symbol: Symbol,
    pub storage: u32,
    pub view: View,
}

/// Where an output of a batch's program goes.
pub struct Place {
    slot: Arc<Slot>,
    /// The part of the output that it is; all of it without one.
    view: Option<View>,
}

impl Place {
    /// Gives the result, or its part of it.
    ///
    /// # Errors
    /// The part lies outside: an internal error.
    pub fn set(&self, result: &Tensor) -> Result<(), RunError> {
        self.slot.set(match (&self.view, result) {
            (Some(view), Tensor::Real(whole)) => Tensor::Real(whole.view_as(view.clone())?),
            _ => result.clone(),
        });
        Ok(())
    }

    /// Says why there is no result.
    pub fn fail(&self, reason: Box<dyn Any + Send + Sync>) {
        self.slot.fail(reason);
    }
}

/// A program of a batch.
pub struct Steps {
    /// The program that computes it.
    pub program: Program,
    /// Tensors for its inputs, which are called `in0`, `in1`, ...
    pub inputs: Vec<Tensor>,
    /// Where its outputs go, in order: tensors that share memory are views of one output.
    pub places: Vec<Vec<Place>>,
}

impl Trace {
    /// Whether a tensor is a constant of a batch rather than an input: in a lazy one, a tensor of
    /// the host that never changes, or that is small. Data derived from constants are derived once
    /// for all programs that have the same.
    pub(crate) fn holds(&self, tensor: &Tensor) -> bool {
        let Tensor::Real(tensor) = tensor else {
            return false;
        };
        let is_small = || tensor.ty().size_bytes() <= SMALL_BYTES;
        self.is_lazy() && !tensor.is_secret() && (tensor.is_frozen() || is_small())
    }

    /// A tensor that exists, as an input of the batch: read in place. A lazy batch copies elements
    /// that the host may change before it runs.
    pub(crate) fn captured(
        self: &Arc<Self>,
        state: &mut State,
        tensor: &Tensor,
    ) -> Result<Traced, TraceError> {
        if tensor.is_secret() {
            let text = "a secret tensor cannot be part of a batch";
            return Err(TraceError::Secret(text.to_owned()));
        }
        let start = match tensor {
            Tensor::Real(tensor) => tensor.storage().as_ptr() as usize,
            Tensor::Away(tensor) if self.is_lazy() && tensor.device() != self.device() => {
                return Err(TraceError::Devices(self.device(), tensor.device()));
            }
            Tensor::Away(tensor) => Arc::as_ptr(tensor) as usize,
            Tensor::Traced(_) => return Err(TraceError::stray()),
        };
        let key = (start, tensor.view().clone());
        let same = |found: &&(Traced, Tensor)| found.1.dtype() == tensor.dtype();
        if let Some((known, _)) = state.pending.inputs.get(&key).filter(same) {
            return Ok(known.clone());
        }
        let copy = match tensor {
            Tensor::Real(tensor) if self.is_lazy() => {
                let host = tensor.to_host().map_err(TraceError::Run)?;
                let copy = eager::Tensor::from_host(&host, self.isa);
                Some(Tensor::Real(copy.map_err(TraceError::Elements)?))
            }
            _ => None,
        };
        let is_copy = copy.is_some();
        let bytes = copy.as_ref().map_or(0, |copy| copy.ty().size_bytes());
        state.pending.copied_bytes = state.pending.copied_bytes.saturating_add(bytes);
        let tensor = copy.as_ref().unwrap_or(tensor);
        let ty = Type::new(tensor.dtype(), tensor.view().shape.clone());
        let name = format!("in{}", state.pending.named.len());
        let traced = self.upload_input(state, name, ty);
        state.pending.named.push(tensor.clone());
        if !is_copy {
            let entry = (traced.clone(), tensor.clone());
            state.pending.inputs.insert(key, entry);
        }
        Ok(traced)
    }

    /// Gives a result its slot.
    pub(crate) fn awaited(&self, state: &mut State, mut traced: Traced) -> Traced {
        if self.is_batch() {
            let slot = Arc::new(Slot::default());
            state.pending.results.push(Awaited {
                slot: Arc::downgrade(&slot),
                symbol: traced.symbol,
                storage: traced.storage,
                view: traced.view.clone(),
            });
            traced.slot = Some(slot);
        }
        traced
    }

    /// Takes the steps that wait in a batch, which is empty from now on; none if no result is
    /// referenced.
    #[must_use]
    pub fn waiting(&self) -> Option<Steps> {
        // At once: what other threads record from now on is of the next program.
        let mut state = self.taken();
        let Pending {
            results,
            wholes,
            named,
            ..
        } = std::mem::take(&mut state.pending);
        let held = results.into_iter();
        let held = held.filter_map(|result| Some((result.slot.upgrade()?, result)));
        let held: Vec<(Arc<Slot>, Awaited)> = held.collect();
        let mut sharing: HashMap<u32, usize> = HashMap::new();
        for (_, result) in &held {
            *sharing.entry(result.storage).or_default() += 1;
        }
        let mut places: Vec<Vec<Place>> = Vec::new();
        let mut shared: HashMap<u32, usize> = HashMap::new();
        for (slot, result) in held {
            // On a device tensors are not written in place, so that none has to share.
            let whole = wholes.get(&result.storage).copied();
            let whole = whole.filter(|_| sharing[&result.storage] > 1 && !self.is_lazy());
            let output = match whole.and_then(|_| shared.get(&result.storage)) {
                Some(&output) => output,
                None => {
                    let symbol = whole.unwrap_or(result.symbol);
                    state.output(symbol, format!("out{}", places.len()));
                    shared.insert(result.storage, places.len());
                    places.push(Vec::new());
                    places.len() - 1
                }
            };
            let view = whole.map(|_| result.view);
            places[output].push(Place { slot, view });
        }
        let steps = Steps {
            program: state.finished(),
            inputs: named,
            places,
        };
        (!steps.places.is_empty()).then_some(steps)
    }
}
