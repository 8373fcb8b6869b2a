//! Tensors on devices: where they are, how they move, and calls on them, which wait until a result
//! is wanted so that the device gets many at once.

use crate::contents::row_major;
use crate::eval::{Value, at_once, eval};
use crate::guard::{unlocked, watched};
use crate::program::Program;
use crate::tensor::{Elements, Inner, Tensor};
use crate::{device, errors, trace};
use cloakwork_devices::{Capabilities, Drivers};
use cloakwork_ir::Device;
use cloakwork_ops::{OpDef, ParamKind, named};
use cloakwork_run::{OnDevice, eager};
use cloakwork_trace::{Paused, Trace, TraceError, Within, is_active};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::cell::RefCell;
use std::sync::Arc;

/// A batch with more steps runs, or with more bytes of the host's operands, so that they do not
/// pile up.
const MOST_STEPS: usize = 1024;
const MOST_COPIED_BYTES: u64 = 64 << 20;

thread_local! {
    /// The batches of this thread, by process: one a device and instruction set.
    static LAZY: RefCell<Vec<(u64, Arc<Trace>)>> = const { RefCell::new(Vec::new()) };
}

/// Programs of lazy batches that ran last: the same calls again need no plan, and the device runs
/// their launches as segments.
const MOST_PROGRAMS: usize = 8;
/// A program that keeps more memory of its device between runs is not kept. Of it 192 MiB may be
/// memory that waits before it is used again (`crates/plan/src/graph/loosen.rs`).
const MOST_KEPT_BYTES: u64 = 448 << 20;

thread_local! {
    static RECENT: RefCell<Vec<(Device, Arc<Program>)>> = const { RefCell::new(Vec::new()) };
}

/// The program of a batch: the one that ran before, if it is the same.
pub fn known(batch: &Trace, program: cloakwork_ir::Program) -> Arc<Program> {
    let on = batch.device();
    let found = RECENT.with(|recent| {
        let mut recent = recent.borrow_mut();
        let is_it = |(device, known): &(Device, Arc<Program>)| {
            batch.is_lazy() && *device == on && known.is_same(&program)
        };
        let place = recent.iter().position(is_it);
        place.map(|place| recent.remove(place).1)
    });
    found.unwrap_or_else(|| Arc::new(Program::new(program)))
}

/// Keeps a program that ran for the same calls to come.
pub fn keep(batch: &Trace, program: Arc<Program>) {
    if !batch.is_lazy() || program.kept_bytes() > MOST_KEPT_BYTES {
        return;
    }
    let dropped = RECENT.with(|recent| {
        let mut recent = recent.borrow_mut();
        recent.push((batch.device(), program));
        (recent.len() > MOST_PROGRAMS).then(|| recent.remove(0))
    });
    drop(dropped);
}

/// Forgets the programs of this thread.
pub fn release() {
    drop(RECENT.take());
}

/// A device that can hold tensors, by its name or the file of its driver; none for the host.
///
/// # Errors
/// DeviceError for a device that does not exist, or whose memory is the host's or a disk.
pub fn holder(name: &str) -> PyResult<Option<Device>> {
    if name == device::CPU {
        return Ok(None);
    }
    let found = device::named(name)?;
    let (driver, _) = Drivers::default().of(found);
    if driver.has(Capabilities::HOST_MEMORY) {
        return Err(device::cannot_hold(name));
    }
    Ok(Some(found))
}

/// Whether the memory of a tensor can be read: of one on a device that was lost since, or was a
/// parent's of this process, it cannot.
#[pyfunction]
pub fn is_readable(tensor: &Tensor) -> bool {
    match tensor.inner() {
        Inner::Away(tensor) => tensor.is_readable(),
        _ => true,
    }
}

/// Whether a call has an operand on a device.
#[inline]
pub fn is_among(values: &[Value]) -> bool {
    let is_away =
        |value: &Value| matches!(value, Value::Tensor(tensor) if tensor.device().is_some());
    values.iter().any(is_away)
}

/// The tensor, settled if it waits in a lazy batch: other programs cannot hold a value of that.
pub fn settled(tensor: &Inner) -> PyResult<Inner> {
    match tensor {
        Inner::Traced(traced) if traced.trace().is_lazy() && traced.slot.is_some() => {
            let settled = trace::settle(traced)?;
            settled.cloned().ok_or_else(trace::stray)
        }
        other => Ok(other.clone()),
    }
}

/// Operands for a program: values of other lazy batches are settled, and those of programs that a
/// batch had before.
pub fn operands_of(trace: &Arc<Trace>, values: Vec<Value>) -> PyResult<Vec<Value>> {
    let own = |value| match value {
        Value::Tensor(Inner::Traced(traced)) if !trace.is_current(&traced) => {
            settled(&Inner::Traced(traced)).map(Value::Tensor)
        }
        other => Ok(other),
    };
    values.into_iter().map(own).collect()
}

/// Calls an op of whose operands some are on a device: it will run there. Operands of the host are
/// brought there as they are now. A call on a secret, and one that writes to memory of the host,
/// runs on the host at once.
///
/// # Errors
/// Operands on several devices, a result to be written over a tensor on a device, or the mistakes
/// of the call.
pub fn call(py: Python<'_>, def: &'static OpDef, values: Vec<Value>) -> PyResult<Inner> {
    let on = common(def, &values)?;
    let out = def.params.iter().zip(&values);
    let out = out.filter(|(param, _)| param.kind == ParamKind::Out);
    let outs: Vec<&Inner> = out.filter_map(|(_, value)| tensor_of(value)).collect();
    if outs.iter().any(|out| out.device().is_some()) {
        return Err(not_written(&on.to_string(), def.name));
    }
    let is_secret = values.iter().filter_map(tensor_of).any(Inner::is_secret);
    if is_secret || !outs.is_empty() {
        return at_once(py, def, values);
    }
    let batch = lazy(py, on)?;
    let values = operands_of(&batch, values)?;
    let recorded = record(&batch, def, values)?;
    relieve(py, &batch)?;
    Ok(recorded)
}

/// Runs what waits in a lazy batch if that is much. Results tell their errors themselves.
fn relieve(py: Python<'_>, batch: &Arc<Trace>) -> PyResult<()> {
    let (steps, copied_bytes) = batch.waits();
    if steps <= MOST_STEPS && copied_bytes <= MOST_COPIED_BYTES {
        return Ok(());
    }
    trace::flush(py, batch).or_else(|error| match trace::is_kept(py, &error) {
        true => Ok(()),
        false => Err(error),
    })
}

/// The same for the batch of a result that was made in a scope.
pub fn relieved(py: Python<'_>, made: &Inner) -> PyResult<()> {
    match made {
        Inner::Traced(traced) if traced.trace().is_lazy() => relieve(py, traced.trace()),
        _ => Ok(()),
    }
}

/// Records a call. An operand that another thread computes meanwhile is waited for.
pub fn record(batch: &Arc<Trace>, def: &'static OpDef, mut values: Vec<Value>) -> PyResult<Inner> {
    loop {
        let given = values.clone();
        match watched(|| batch.record(def, given))? {
            Err(TraceError::Running) => {}
            done => return done.map(Inner::from).map_err(errors::traced),
        }
        for value in &mut values {
            if let Value::Tensor(Inner::Traced(traced)) = value
                && !batch.is_current(traced)
                && let Some(settled) = trace::settle(traced)?
            {
                *value = Value::Tensor(settled.clone());
            }
        }
    }
}

/// All calls until this is dropped are those of the device on which a tensor is: those that make
/// tensors of no operands, too. None if there is no such tensor, or the thread records already.
pub fn within(py: Python<'_>, tensors: &[Inner]) -> PyResult<Option<Within>> {
    let on = tensors.iter().find_map(Inner::device);
    let is_free = !is_active() && !tensors.iter().any(Inner::is_secret);
    match on.filter(|_| is_free) {
        Some(on) => Ok(Within::start(lazy(py, on)?)),
        None => Ok(None),
    }
}

/// Python's scopes of [`within`], which end in the opposite order.
#[pyclass(module = "cloakwork._core", unsendable)]
pub struct Scope {
    device: Option<Device>,
    within: Option<Within>,
}

#[pymethods]
impl Scope {
    /// A scope of the device on which the first of some tensors is that is on one. What other
    /// threads have to compute for them is computed before.
    #[new]
    #[pyo3(signature = (*tensors))]
    fn new(py: Python<'_>, tensors: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let tensors: Vec<PyRef<'_, Tensor>> = tensors.extract()?;
        let device = tensors.iter().find_map(|tensor| tensor.inner().device());
        if let Some(on) = device.filter(|_| !is_active()) {
            let batch = lazy(py, on)?;
            for tensor in &tensors {
                operands_of(&batch, vec![Value::Tensor(tensor.inner().clone())])?;
            }
        }
        Ok(Self {
            device,
            within: None,
        })
    }

    fn __enter__(&mut self, py: Python<'_>) -> PyResult<()> {
        if let Some(on) = self.device.filter(|_| !is_active()) {
            self.within = Within::start(lazy(py, on)?);
        }
        Ok(())
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&mut self, py: Python<'_>, _error: &Bound<'_, PyTuple>) -> PyResult<()> {
        match (self.within.take(), self.device) {
            (Some(within), Some(on)) => {
                drop(within);
                relieve(py, &lazy(py, on)?)
            }
            _ => Ok(()),
        }
    }
}

/// Marks a tensor as secret.
///
/// # Errors
/// It lies on a device, or is traced.
pub fn secret(tensor: &Inner) -> PyResult<()> {
    if let Some(device) = tensor.device() {
        let text = format!("secrets stay in the host's memory: the elements lie on {device}");
        return Err(errors::secret(text));
    }
    tensor.real("mark_secret()").map(eager::Tensor::mark_secret)
}

/// Refuses to write a tensor on a device in place.
pub fn not_written(device: &str, action: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "{action}: tensors on {device} are not written in place; make a new one, as in x = x + y, \
         or write on the host: x.to(\"cpu\")"
    ))
}

fn tensor_of(value: &Value) -> Option<&Inner> {
    match value {
        Value::Tensor(tensor) => Some(tensor),
        _ => None,
    }
}

/// The device of a call's operands.
fn common(def: &OpDef, values: &[Value]) -> PyResult<Device> {
    let mut found = None;
    for tensor in values.iter().filter_map(tensor_of) {
        match (found, tensor.device()) {
            (Some(first), Some(other)) if first != other => {
                return Err(errors::two_devices(def.name, first, other));
            }
            (None, Some(first)) => found = Some(first),
            _ => {}
        }
    }
    found.ok_or_else(|| errors::internal("no operand on a device"))
}

/// This thread's batch of a device.
fn lazy(py: Python<'_>, on: Device) -> PyResult<Arc<Trace>> {
    let isa = device::isa(py)?;
    Ok(LAZY.with(|all| {
        let mut all = all.borrow_mut();
        let process = cloakwork_process::generation();
        // What waits in a parent's batch is the parent's.
        all.retain(|(own, _)| *own == process);
        let is_it = |(_, batch): &&(u64, Arc<Trace>)| batch.device() == on && batch.isa() == isa;
        if let Some((_, batch)) = all.iter().find(is_it) {
            return Arc::clone(batch);
        }
        let made = Arc::new(Trace::lazy(isa, on));
        all.push((process, Arc::clone(&made)));
        made
    }))
}

/// [`to`] by the array API's name, whose `stream` is refused.
pub fn to_without_stream(
    tensor: &Bound<'_, Tensor>,
    device: &str,
    stream: Option<Bound<'_, PyAny>>,
) -> PyResult<Py<Tensor>> {
    match stream {
        None => to(tensor, device),
        Some(_) => Err(PyValueError::new_err(
            "to_device: copies wait for no stream; leave stream out",
        )),
    }
}

/// `tensor.to(device)`: this tensor if it is there.
///
/// # Errors
/// As [`holder`] and [`moved`].
pub fn to(tensor: &Bound<'_, Tensor>, device: &str) -> PyResult<Py<Tensor>> {
    let (py, own) = (tensor.py(), tensor.get().inner());
    let holder = holder(device)?;
    if holder == own.device() && own.has_elements() {
        return Ok(tensor.clone().unbind());
    }
    Py::new(py, Tensor::from(moved(py, own, holder)?))
}

/// A copy of a tensor on its device, which is there already.
///
/// # Errors
/// What the driver says.
pub fn copied(py: Python<'_>, tensor: &Inner) -> PyResult<Inner> {
    let _paused = Paused::start();
    settled(&eval(
        py,
        &named::COPY,
        vec![Value::Tensor(tensor.clone())],
    )?)
}

/// The tensor on a device, or on the host: this one if it is there, else a copy.
///
/// # Errors
/// A secret tensor, a traced one, or what the driver says.
pub fn moved(py: Python<'_>, tensor: &Inner, to: Option<Device>) -> PyResult<Inner> {
    if tensor.device() == to && !matches!(tensor, Inner::Traced(_)) {
        return Ok(tensor.clone());
    }
    if tensor.is_secret() {
        return Err(errors::secret("a secret tensor stays in the host's memory"));
    }
    let here = settled(tensor)?;
    if here.device() == to && !matches!(here, Inner::Traced(_)) {
        return Ok(here);
    }
    match (&here, to) {
        (Inner::Away(away), None) => {
            let copy = unlocked(py, || away.download())?;
            copy.map(Inner::Real).map_err(errors::run)
        }
        (other, None) => other.real("to(\"cpu\")").cloned().map(Inner::Real),
        (other, Some(device)) => {
            let host = row_major(other.real("a tensor on a device")?)?;
            let made = unlocked(py, || OnDevice::upload(&host, device))?;
            made.map(|made| Inner::Away(Arc::new(made)))
                .map_err(errors::run)
        }
    }
}
