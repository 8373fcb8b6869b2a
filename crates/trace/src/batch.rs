//! Batches: calls are recorded as in a trace, and run together when the batch ends or when an
//! element of a result is wanted, so that what computes element by element over the same elements
//! is fused.

use crate::recording::State;
use crate::{Tensor, Trace, TraceError, Traced};
use cloakwork_ir::{Program, Type, View};
use cloakwork_process::Once;
use cloakwork_run::eager;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

/// Where a recorded result goes when its batch has run.
pub type Slot = Once<Tensor>;

/// What a batch knows beside its program.
#[derive(Default)]
pub(crate) struct Pending {
    /// Results, while they are referenced.
    results: Vec<(Weak<Slot>, Traced)>,
    /// Tensors that it reads, by storage and view.
    inputs: HashMap<(usize, View), (Traced, eager::Tensor)>,
    named: Vec<eager::Tensor>,
}

/// What waited in a batch.
pub struct Waiting {
    /// The program that computes it.
    pub program: Program,
    /// Tensors for its inputs, which are called `in0`, `in1`, ...
    pub inputs: Vec<eager::Tensor>,
    /// Where its outputs go, in order.
    pub slots: Vec<Arc<Slot>>,
}

impl Trace {
    /// A tensor that exists, as an input of the batch: read in place.
    pub(crate) fn captured(
        self: &Arc<Self>,
        state: &mut State,
        tensor: &eager::Tensor,
    ) -> Result<Traced, TraceError> {
        if tensor.is_secret() {
            let text = "a secret tensor cannot be part of a batch";
            return Err(TraceError::Secret(text.to_owned()));
        }
        let key = (tensor.storage().as_ptr() as usize, tensor.view().clone());
        let same = |found: &&(Traced, eager::Tensor)| found.1.dtype() == tensor.dtype();
        if let Some((known, _)) = state.pending.inputs.get(&key).filter(same) {
            return Ok(known.clone());
        }
        let ty = Type::new(tensor.dtype(), tensor.view().shape.clone());
        let name = format!("in{}", state.pending.named.len());
        let traced = self.upload_input(state, name, ty);
        state.pending.named.push(tensor.clone());
        let entry = (traced.clone(), tensor.clone());
        state.pending.inputs.insert(key, entry);
        Ok(traced)
    }

    /// Gives a result its slot.
    pub(crate) fn awaited(&self, state: &mut State, mut traced: Traced) -> Traced {
        if self.is_batch() {
            let slot = Arc::new(Slot::new());
            let plain = Traced {
                slot: None,
                ..traced.clone()
            };
            state.pending.results.push((Arc::downgrade(&slot), plain));
            traced.slot = Some(slot);
        }
        traced
    }

    /// What waits in a batch, which is empty from now on; none if no result is referenced.
    ///
    /// # Errors
    /// A result is a value of another program.
    pub fn waiting(self: &Arc<Self>) -> Result<Option<Waiting>, TraceError> {
        let pending = std::mem::take(&mut self.lock().pending);
        let mut slots = Vec::new();
        for (slot, traced) in pending.results {
            if let Some(slot) = slot.upgrade() {
                self.output(&traced.into(), format!("out{}", slots.len()))?;
                slots.push(slot);
            }
        }
        let program = self.finish();
        Ok((!slots.is_empty()).then_some(Waiting {
            program,
            inputs: pending.named,
            slots,
        }))
    }
}
