//! A program being recorded, and the values of it.

use crate::batch::{Pending, Slot};
use crate::call::real;
use crate::constants::Constant;
use crate::{Tensor, TraceError};
use cloakwork_ir::{Arg, Builder, DType, Device, HostSlot, Program, Step, Symbol, Type, View};
use cloakwork_kernels::Isa;
use cloakwork_ops::OpDef;
use cloakwork_run::eager;
use cloakwork_verify::with_frees;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A value of a program that is being recorded.
#[derive(Clone)]
pub struct Traced {
    pub(crate) trace: Arc<Trace>,
    pub(crate) symbol: Symbol,
    pub(crate) storage: u32,
    /// The program of the trace that it is a value of: a batch has one after another.
    pub(crate) generation: u64,
    /// Element type.
    pub dtype: DType,
    /// Shape, and the strides that HEAL's runtime would have.
    pub view: View,
    /// It is of a view that repeats elements: one write to it would change several of that one.
    pub repeats: bool,
    /// In a batch: where the result will be.
    pub slot: Option<Arc<Slot>>,
}

impl Traced {
    /// The tensor that it has become, once its batch has run.
    #[inline]
    #[must_use]
    pub fn settled(&self) -> Option<&Tensor> {
        self.slot.as_ref().and_then(|slot| slot.get())
    }

    /// The trace that it is a value of.
    #[must_use]
    pub const fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    /// Whether the two are views of one storage.
    #[must_use]
    pub fn shares_storage(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.trace, &other.trace) && self.storage == other.storage
    }
}

/// A program being recorded.
pub struct Trace {
    state: Mutex<State>,
    batch: bool,
    lazy: bool,
    device: Device,
    /// The thread in whose scope it is; 0 for none.
    pub(crate) holder: AtomicU64,
    /// Whether anybody looked at the state since it was last taken: if not, nothing waits.
    touched: AtomicBool,
    pub(crate) isa: Isa,
}

#[derive(Default)]
pub(crate) struct State {
    pub builder: Builder,
    /// Steps that upload: they come first in the finished program.
    uploads: Vec<usize>,
    downloads: Vec<usize>,
    storages: u32,
    /// Constants by the storage and the view that they were seen through.
    pub constants: HashMap<(usize, View), Constant>,
    /// Parts of frozen ones, by the same.
    pub parts: HashMap<(usize, View), Symbol>,
    /// Tensors from outside that are inputs of the program, not constants, by their storage.
    pub inputs: HashMap<usize, MetInput>,
    pub pending: Pending,
    /// How many programs were taken from it.
    pub generation: u64,
}

/// A tensor from outside that is an input once the traced function meets it.
pub(crate) struct MetInput {
    pub name: String,
    pub whole: eager::Tensor,
    pub traced: Option<Traced>,
}

impl Trace {
    /// A program without steps. Constants are copied with these instructions.
    #[must_use]
    pub fn new(isa: Isa) -> Self {
        Self {
            state: Mutex::default(),
            batch: false,
            lazy: false,
            device: Device::Cpu,
            holder: AtomicU64::new(0),
            touched: AtomicBool::new(false),
            isa,
        }
    }

    /// A batch: its calls wait to be run on a device, and are no program of their own.
    pub(crate) fn batch(isa: Isa, device: Device) -> Self {
        Self {
            batch: true,
            device,
            ..Self::new(isa)
        }
    }

    /// A batch that nobody begins or ends: of calls on tensors that a device holds. It keeps copies
    /// of operands of the host, which may change before it runs, and its results stay there.
    #[must_use]
    pub fn lazy(isa: Isa, device: Device) -> Self {
        Self {
            lazy: true,
            ..Self::batch(isa, device)
        }
    }

    /// The instructions with which operands are copied.
    #[must_use]
    pub const fn isa(&self) -> Isa {
        self.isa
    }

    /// Whether it is a batch of calls on tensors that a device holds.
    #[must_use]
    pub const fn is_lazy(&self) -> bool {
        self.lazy
    }

    /// Whether a value of it is one of the program that is being recorded.
    #[must_use]
    pub fn is_current(self: &Arc<Self>, traced: &Traced) -> bool {
        Arc::ptr_eq(&traced.trace, self) && traced.generation == self.lock().generation
    }

    /// How many steps wait in it, and the bytes of operands that it has copied for them.
    #[must_use]
    pub fn waits(&self) -> (usize, u64) {
        let state = self.lock();
        let steps = state.builder.program.steps.len();
        (steps, state.pending.copied_bytes)
    }

    /// Where the calls of a batch run.
    #[must_use]
    pub const fn device(&self) -> Device {
        self.device
    }

    /// Whether calls wait to be run, and are no program of their own.
    #[must_use]
    pub const fn is_batch(&self) -> bool {
        self.batch
    }

    /// Whether nothing waits in a batch of the host: then a call may be computed now instead, in
    /// the same order with all others.
    #[must_use]
    pub fn may_compute(&self) -> bool {
        let own = self.batch && !self.lazy && self.device == Device::Cpu;
        let is_new = || !self.touched.load(Ordering::Relaxed);
        own && (is_new() || self.lock().builder.program.is_blank())
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.touched.store(true, Ordering::Relaxed);
        state
    }

    pub(crate) fn fresh(self: &Arc<Self>, state: &mut State, symbol: Symbol, ty: Type) -> Traced {
        let storage = state.new_storage();
        if self.batch {
            state.pending.wholes.insert(storage, symbol);
        }
        let view = View::contiguous(ty.shape);
        Traced {
            trace: Arc::clone(self),
            symbol,
            storage,
            generation: state.generation,
            dtype: ty.dtype,
            view,
            repeats: false,
            slot: None,
        }
    }

    /// An input of the program.
    pub fn input(self: &Arc<Self>, name: String, ty: Type) -> Traced {
        self.upload_input(&mut self.lock(), name, ty)
    }

    pub(crate) fn upload_input(
        self: &Arc<Self>,
        state: &mut State,
        name: String,
        ty: Type,
    ) -> Traced {
        let input = ty.clone();
        let symbol = state.upload(HostSlot::Input { name, ty: input });
        self.fresh(state, symbol, ty)
    }

    /// Makes a frozen tensor, where the function that is being traced meets it or parts of it, an
    /// input of this name instead of a constant.
    ///
    /// # Errors
    /// The tensor is not frozen.
    pub fn input_when_met(&self, tensor: &eager::Tensor, name: String) -> Result<(), TraceError> {
        let whole = tensor.frozen_whole();
        let whole = whole
            .filter(|whole| whole.view().offset == 0)
            .ok_or_else(|| {
                TraceError::unrecordable(format!(
                    "{name}: only a frozen tensor can become an input"
                ))
            })?;
        let storage = whole.storage().as_ptr() as usize;
        let met = MetInput {
            name,
            whole,
            traced: None,
        };
        self.lock().inputs.entry(storage).or_insert(met);
        Ok(())
    }

    /// A tensor as an output of the program.
    ///
    /// # Errors
    /// It is a value of another program, or cannot be a constant.
    pub fn output(self: &Arc<Self>, tensor: &Tensor, name: String) -> Result<(), TraceError> {
        let mut state = self.lock();
        let symbol = match tensor {
            Tensor::Traced(traced) if Arc::ptr_eq(&traced.trace, self) => traced.symbol,
            Tensor::Traced(_) => return Err(TraceError::stray()),
            tensor => self.constant(&mut state, real(tensor)?)?.0.symbol,
        };
        state.output(symbol, name);
        Ok(())
    }

    /// Forgets what was recorded.
    pub fn abandon(&self) {
        drop(self.taken());
    }

    /// Takes the recorded state; the trace begins anew. Values of it are none of the next program.
    pub(crate) fn taken(&self) -> State {
        let mut state = self.lock();
        let fresh = State {
            generation: state.generation + 1,
            ..State::default()
        };
        self.touched.store(false, Ordering::Relaxed);
        std::mem::replace(&mut state, fresh)
    }

    /// The finished program: uploads first, then what is computed, then the outputs.
    #[must_use]
    pub fn finish(&self) -> Program {
        self.taken().finished()
    }
}

impl State {
    /// A value as an output.
    pub fn output(&mut self, symbol: Symbol, name: String) {
        self.builder.download(symbol, HostSlot::Output { name });
        self.downloads.push(self.builder.program.steps.len() - 1);
    }

    /// See [`Trace::finish`].
    pub fn finished(mut self) -> Program {
        let state = &mut self;
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

    /// Calls an op on a tensor.
    pub fn apply(
        &mut self,
        op: &OpDef,
        tensor: Symbol,
        args: impl IntoIterator<Item = Arg>,
    ) -> Symbol {
        let tensor = std::iter::once(Arg::Device(tensor, None));
        self.builder.call(op.name, tensor.chain(args))
    }

    pub fn new_storage(&mut self) -> u32 {
        self.storages += 1;
        self.storages
    }

    pub fn upload(&mut self, slot: HostSlot) -> Symbol {
        self.uploads.push(self.builder.program.steps.len());
        self.builder.upload(slot)
    }
}
