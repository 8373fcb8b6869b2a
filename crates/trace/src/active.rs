//! The recording of each thread.

use crate::{Trace, TraceError};
use cloakwork_ir::Device;
use cloakwork_kernels::Isa;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    static ACTIVE: RefCell<Option<Arc<Trace>>> = const { RefCell::new(None) };
}

/// The trace that this thread is recording.
#[must_use]
pub fn active() -> Option<Arc<Trace>> {
    ACTIVE.with(|active| active.borrow().clone())
}

/// Whether this thread is recording.
#[inline]
#[must_use]
pub fn is_active() -> bool {
    ACTIVE.with(|active| active.borrow().is_some())
}

/// Whether this thread records nothing that has to stay in order with a call: a call on few
/// elements is computed at once.
#[inline]
#[must_use]
pub fn computes_small_calls() -> bool {
    ACTIVE.with(|active| match &*active.borrow() {
        None => true,
        Some(trace) => trace.may_compute(),
    })
}

/// A recording of this thread, which ends when this is dropped.
pub struct Recording(());

impl Recording {
    /// Begins.
    ///
    /// # Errors
    /// This thread is recording.
    pub fn start(trace: &Arc<Trace>) -> Result<Self, TraceError> {
        if is_active() {
            return Err(TraceError::unrecordable(
                "a function that is being traced cannot trace another",
            ));
        }
        ACTIVE.with(|active| active.replace(Some(Arc::clone(trace))));
        Ok(Self(()))
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        ACTIVE.with(|active| active.replace(None));
    }
}

/// A recording that goes on when this is dropped.
pub struct Paused(Option<Arc<Trace>>);

impl Paused {
    /// Pauses the recording of this thread, if there is one.
    #[must_use]
    pub fn start() -> Self {
        Self(ACTIVE.with(RefCell::take))
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        ACTIVE.with(|active| active.replace(self.0.take()));
    }
}

/// A number of this thread, above 0.
fn own_number() -> u64 {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NUMBER: u64 = COUNT.fetch_add(1, Ordering::Relaxed);
    }
    NUMBER.with(|number| *number)
}

/// Calls of this thread are steps of a batch until this is dropped: also those that make tensors of
/// no operands, and those that write to these.
pub struct Within(Arc<Trace>);

impl Within {
    /// Begins, unless this thread records something already.
    #[must_use]
    pub fn start(batch: Arc<Trace>) -> Option<Self> {
        if is_active() {
            return None;
        }
        ACTIVE.with(|active| active.replace(Some(Arc::clone(&batch))));
        batch.holder.store(own_number(), Ordering::Release);
        Some(Self(batch))
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        self.0.holder.store(0, Ordering::Release);
        ACTIVE.with(|active| active.replace(None));
    }
}

impl Trace {
    /// Whether another thread is within a scope of it, and writes to tensors that it has made
    /// there: to run it now would end their program.
    #[must_use]
    pub fn is_held_elsewhere(&self) -> bool {
        let holder = self.holder.load(Ordering::Acquire);
        holder != 0 && holder != own_number()
    }
}

/// Starts to collect calls on this thread, which run on a device, or where the batch around does;
/// false if a batch collects already.
///
/// # Errors
/// A function is being traced, or the batch around runs on another device.
pub fn begin_batch(isa: Isa, device: Option<Device>) -> Result<bool, TraceError> {
    match active() {
        Some(trace) if trace.is_batch() => match device.filter(|own| *own != trace.device()) {
            None => Ok(false),
            Some(own) => Err(TraceError::unrecordable(format!(
                "a batch on {own} inside a batch on {}: its calls are part of that batch; end it \
                 first",
                trace.device()
            ))),
        },
        Some(_) => Err(TraceError::unrecordable(
            "a function that is being traced is already one program; remove the batch",
        )),
        None => {
            let batch = Trace::batch(isa, device.unwrap_or_default());
            ACTIVE.with(|active| active.replace(Some(Arc::new(batch))));
            Ok(true)
        }
    }
}

/// Ends the batch of this thread, and gives it back if there was one: what waits in it is not run.
#[must_use]
pub fn end_batch() -> Option<Arc<Trace>> {
    let trace = active().filter(|trace| trace.is_batch())?;
    ACTIVE.with(|active| active.replace(None));
    Some(trace)
}
