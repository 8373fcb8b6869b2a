//! Batches: calls are recorded as in a trace, and run together when the batch ends or when an
//! element of a result is wanted. Python crosses into the engine once for all of them, and what
//! computes element by element over the same elements is fused.

use super::{ACTIVE, State, Trace, Traced, active};
use crate::errors;
use crate::run::{Settings, adopt};
use crate::tensor::Inner;
use crate::{device, program};
use cloakwork_ir::{HostId, HostSlot, HostTensor, Type, View};
use cloakwork_process::Once;
use cloakwork_run::eager;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

/// Where a recorded result goes when its batch has run.
pub type Slot = Once<Inner>;

/// What a batch knows beside its program.
#[derive(Default)]
pub struct Pending {
    /// Results, while somebody holds them.
    results: Vec<(Weak<Slot>, Traced)>,
    /// Tensors that it reads, by storage and view.
    inputs: HashMap<(usize, View), (Traced, eager::Tensor)>,
    named: Vec<eager::Tensor>,
}

impl Trace {
    /// Whether calls wait to be run, and are no program of their own.
    pub fn is_batch(&self) -> bool {
        self.batch
    }

    /// A tensor that exists, as an input of the batch: read in place.
    pub(super) fn captured(
        self: &Arc<Self>,
        state: &mut State,
        tensor: &eager::Tensor,
    ) -> PyResult<Traced> {
        if tensor.is_secret() {
            return Err(errors::secret("a secret tensor cannot be part of a batch"));
        }
        let key = (tensor.storage().as_ptr() as usize, tensor.view().clone());
        let same = |found: &&(Traced, eager::Tensor)| found.1.dtype() == tensor.dtype();
        if let Some((known, _)) = state.pending.inputs.get(&key).filter(same) {
            return Ok(known.clone());
        }
        let ty = Type::new(tensor.dtype(), tensor.view().shape.clone());
        let name = format!("in{}", state.pending.named.len());
        let symbol = state.upload(HostSlot::Input {
            name,
            ty: ty.clone(),
        });
        let traced = self.fresh(state, symbol, ty);
        state.pending.named.push(tensor.clone());
        let entry = (traced.clone(), tensor.clone());
        state.pending.inputs.insert(key, entry);
        Ok(traced)
    }

    /// Gives a result its slot.
    pub(super) fn awaited(&self, state: &mut State, mut traced: Traced) -> Traced {
        if self.batch {
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

    /// Runs what waits. Where some of it fails, what does not depend on that has its results.
    ///
    /// # Errors
    /// What a run of the program says.
    pub fn flush(self: &Arc<Self>, py: Python<'_>) -> PyResult<()> {
        let pending = std::mem::take(&mut self.lock().pending);
        let mut wanted = Vec::new();
        for (slot, traced) in pending.results {
            if let Some(slot) = slot.upgrade() {
                wanted.push((slot, traced));
            }
        }
        if wanted.is_empty() {
            drop(self.finish());
            return Ok(());
        }
        for (index, (_, traced)) in wanted.iter().enumerate() {
            self.output(
                &Inner::Traced(Box::new(traced.clone())),
                format!("out{index}"),
            )?;
        }
        let made = program::Program::new(self.finish());
        let inputs = made.inputs_by_name(&pending.named)?;
        let (results, failed) = match run(py, &made, &inputs) {
            Ok(results) => (results.into_iter().map(Some).collect(), Ok(())),
            // Not where the user wants to stop.
            Err(error) if error.is_instance_of::<PyException>(py) => {
                (made.replay(py, &pending.named)?, Err(error))
            }
            Err(error) => return Err(error),
        };
        for ((slot, _), result) in wanted.into_iter().zip(results) {
            if let Some(result) = result {
                let _ = slot.set(Inner::Real(result));
            }
        }
        failed
    }
}

fn run(
    py: Python<'_>,
    program: &program::Program,
    inputs: &HashMap<HostId, HostTensor>,
) -> PyResult<Vec<eager::Tensor>> {
    let settings = Settings {
        threads: device::threads(None)?,
        ..Settings::default()
    };
    let done = crate::run::Run::start(py, program, inputs, settings)?;
    let outputs = done.into_outputs();
    Ok(outputs.into_iter().map(adopt).collect())
}

/// Starts to collect calls on this thread; false if a batch collects already.
///
/// # Errors
/// TraceError inside a function that is being traced.
#[pyfunction]
pub fn batch_begin() -> PyResult<bool> {
    match active() {
        Some(trace) if trace.is_batch() => Ok(false),
        Some(_) => Err(errors::trace(
            "a function that is being traced is one program as it is; leave the batch out",
        )),
        None => {
            let trace = Arc::new(Trace {
                batch: true,
                ..Trace::default()
            });
            ACTIVE.with(|active| active.replace(Some(trace)));
            Ok(true)
        }
    }
}

/// Ends the batch of this thread: runs what waits, unless it is abandoned.
#[pyfunction]
pub fn batch_end(py: Python<'_>, abandon: bool) -> PyResult<()> {
    let Some(trace) = active().filter(|trace| trace.is_batch()) else {
        return Ok(());
    };
    ACTIVE.with(|active| active.replace(None));
    if abandon {
        *trace.lock() = State::default();
        return Ok(());
    }
    trace.flush(py)
}
