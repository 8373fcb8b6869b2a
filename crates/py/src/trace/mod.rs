//! Recording: a function runs once on tensors without elements, and each op that it calls on them
//! becomes a step of a program.

mod batch;
mod call;
mod constants;
mod parts;

pub use batch::{Slot, batch_begin, batch_end};

use crate::errors;
use crate::program::Program;
use crate::tensor::{Inner, Tensor};
use cloakwork_ir::{Builder, DType, HostSlot, Step, Symbol, Type, View};
use cloakwork_run::eager;
use cloakwork_verify::with_frees;
use constants::Constant;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

thread_local! {
    static ACTIVE: RefCell<Option<Arc<Trace>>> = const { RefCell::new(None) };
}

/// The trace that this thread is recording.
pub fn active() -> Option<Arc<Trace>> {
    ACTIVE.with(|active| active.borrow().clone())
}

/// Whether this thread is recording.
#[inline]
pub fn is_active() -> bool {
    ACTIVE.with(|active| active.borrow().is_some())
}

/// A traced tensor has left its trace.
pub fn stray() -> PyErr {
    errors::trace("a traced tensor is of use only inside the function that is being traced")
}

/// A value of a program that is being recorded.
#[derive(Clone)]
pub struct Traced {
    trace: Arc<Trace>,
    symbol: Symbol,
    storage: u32,
    /// Element type.
    pub dtype: DType,
    /// Shape, and the strides that HEAL's runtime would have.
    pub view: View,
    /// In a batch: where the result will be.
    pub slot: Option<Arc<Slot>>,
}

impl Traced {
    /// The tensor that it has become, once its batch has run.
    #[inline]
    pub fn settled(&self) -> Option<&Inner> {
        self.slot.as_ref().and_then(|slot| slot.get())
    }

    /// The same, after running the batch if it has not run; none for what is no batch's.
    pub fn settle(&self) -> PyResult<Option<&Inner>> {
        if self.slot.is_some() && self.settled().is_none() {
            Python::attach(|py| self.trace.flush(py))?;
            if self.settled().is_none() {
                return Err(errors::trace(
                    "the batch that was to compute this tensor was abandoned",
                ));
            }
        }
        Ok(self.settled())
    }

    /// Whether the two are views of one storage.
    pub fn shares_storage(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.trace, &other.trace) && self.storage == other.storage
    }
}

/// A program being recorded.
#[derive(Default)]
pub struct Trace {
    state: Mutex<State>,
    batch: bool,
}

#[derive(Default)]
struct State {
    builder: Builder,
    /// Steps that upload: they come first in the finished program.
    uploads: Vec<usize>,
    downloads: Vec<usize>,
    storages: u32,
    /// Constants by the storage and the view that they were seen through.
    constants: HashMap<(usize, View), Constant>,
    /// Parts of frozen ones, by the same.
    parts: HashMap<(usize, View), Symbol>,
    /// Tensors from outside that are inputs of the program, not constants, by their storage.
    inputs: HashMap<usize, MetInput>,
    pending: batch::Pending,
}

/// A tensor from outside that is an input once the traced function meets it.
struct MetInput {
    name: String,
    whole: eager::Tensor,
    traced: Option<Traced>,
}

impl Trace {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fresh(self: &Arc<Self>, state: &mut State, symbol: Symbol, ty: Type) -> Traced {
        let storage = state.new_storage();
        let view = View::contiguous(ty.shape);
        Traced {
            trace: Arc::clone(self),
            symbol,
            storage,
            dtype: ty.dtype,
            view,
            slot: None,
        }
    }

    /// A tensor as an output of the program.
    fn output(self: &Arc<Self>, tensor: &Inner, name: String) -> PyResult<()> {
        let mut state = self.lock();
        let symbol = match tensor {
            Inner::Traced(traced) if Arc::ptr_eq(&traced.trace, self) => traced.symbol,
            Inner::Traced(_) => return Err(stray()),
            Inner::Real(tensor) => self.constant(&mut state, tensor)?.0.symbol,
        };
        state.builder.download(symbol, HostSlot::Output { name });
        let step = state.builder.program.steps.len() - 1;
        state.downloads.push(step);
        Ok(())
    }

    /// The finished program: uploads first, then what is computed, then the outputs.
    fn finish(&self) -> cloakwork_ir::Program {
        let mut state = std::mem::take(&mut *self.lock());
        let mut program = std::mem::take(&mut state.builder.program);
        let (mut first, mut middle, mut last) = (Vec::new(), Vec::new(), Vec::new());
        for (index, step) in program.steps.drain(..).enumerate() {
            if state.uploads.binary_search(&index).is_ok() {
                first.push(step);
            } else if state.downloads.binary_search(&index).is_ok() {
                last.push(step);
            } else {
                middle.push(step);
            }
        }
        for (name, steps) in [("upload", first), ("compute", middle), ("download", last)] {
            let name = program.text(name);
            program.steps.push(Step::SegmentStart(name));
            program.steps.extend(steps);
            program.steps.push(Step::SegmentEnd);
        }
        with_frees(program)
    }
}

impl State {
    fn new_storage(&mut self) -> u32 {
        self.storages += 1;
        self.storages
    }

    fn upload(&mut self, slot: HostSlot) -> Symbol {
        self.uploads.push(self.builder.program.steps.len());
        self.builder.upload(slot)
    }
}

/// Ends the recording of this thread, also when the function raises.
struct Recording;

impl Recording {
    fn start(trace: &Arc<Trace>) -> PyResult<Self> {
        if active().is_some() {
            return Err(errors::trace(
                "a function that is being traced cannot trace another",
            ));
        }
        ACTIVE.with(|active| active.replace(Some(Arc::clone(trace))));
        Ok(Self)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        ACTIVE.with(|active| active.replace(None));
    }
}

/// A recording that goes on when this is dropped.
struct Paused(Option<Arc<Trace>>);

impl Drop for Paused {
    fn drop(&mut self) {
        ACTIVE.with(|active| active.replace(self.0.take()));
    }
}

/// Makes a frozen tensor, where the function that is being traced meets it or parts of it, an
/// input of this name instead of a constant. False outside of traces and in a batch, where it does
/// nothing.
#[pyfunction]
pub fn input_when_met(tensor: &Tensor, name: String) -> PyResult<bool> {
    let Some(trace) = active().filter(|trace| !trace.is_batch()) else {
        return Ok(false);
    };
    let tensor = tensor.inner().real("an input of a program")?;
    let whole = tensor.frozen_whole();
    let whole = whole
        .filter(|whole| whole.view().offset == 0)
        .ok_or_else(|| {
            errors::trace(format!(
                "{name}: only a frozen tensor can be met as an input"
            ))
        })?;
    let storage = whole.storage().as_ptr() as usize;
    let met = MetInput {
        name,
        whole,
        traced: None,
    };
    trace.lock().inputs.entry(storage).or_insert(met);
    Ok(true)
}

/// Calls `function` as if this thread recorded nothing: so are constants made that outlive a trace.
#[pyfunction]
pub fn unrecorded<'py>(function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let _paused = Paused(ACTIVE.with(RefCell::take));
    function.call0()
}

/// Calls `function` on tensors without elements, of the examples' types, and records what it does.
#[pyfunction]
pub fn trace<'py>(
    py: Python<'py>,
    function: &Bound<'py, PyAny>,
    examples: &Bound<'py, PyList>,
) -> PyResult<Program> {
    let trace = Arc::new(Trace::default());
    let recording = Recording::start(&trace)?;
    let mut inputs = Vec::new();
    for (index, example) in crate::tensor::tensors(examples)?.iter().enumerate() {
        let ty = Type::new(example.dtype(), example.view().shape.clone());
        let mut state = trace.lock();
        let symbol = state.upload(HostSlot::Input {
            name: format!("in{index}"),
            ty: ty.clone(),
        });
        let traced = Box::new(trace.fresh(&mut state, symbol, ty));
        inputs.push(Tensor::from(Inner::Traced(traced)));
    }
    let returned = function.call1(PyTuple::new(py, inputs)?)?;
    let single = returned.is_instance_of::<Tensor>();
    let outputs = if single {
        PyList::new(py, [&returned])?
    } else {
        as_list(&returned)?
    };
    for (index, tensor) in crate::tensor::tensors(&outputs)?.iter().enumerate() {
        trace.output(tensor, format!("out{index}"))?;
    }
    drop(recording);
    Ok(Program::new(trace.finish()))
}

/// What a traced function returned, if it is a tuple or a list of tensors.
fn as_list<'py>(returned: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    let is_sequence = returned.is_instance_of::<PyTuple>() || returned.is_instance_of::<PyList>();
    let items: Vec<Bound<'py, PyAny>> = if is_sequence {
        returned.try_iter()?.collect::<PyResult<_>>()?
    } else {
        Vec::new()
    };
    if items.is_empty() || items.iter().any(|item| !item.is_instance_of::<Tensor>()) {
        let kind = returned.get_type().name()?;
        return Err(errors::trace(format!(
            "a traced function returns a Tensor, or a tuple or list of them, not {kind}"
        )));
    }
    PyList::new(returned.py(), items)
}
