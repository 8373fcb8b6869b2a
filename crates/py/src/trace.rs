//! Recording: a function runs once on tensors without elements, and each op that it calls on them
//! becomes a step of a program.

use crate::errors;
use crate::eval::Value;
use crate::program::Program;
use crate::tensor::{Inner, Tensor};
use cloakwork_ir::{
    Arg, Builder, DType, Generation, HostSlot, HostTensor, ShapeItem, Step, Symbol, Type, View,
};
use cloakwork_kernels::find_difference;
use cloakwork_ops::Value as Shown;
use cloakwork_ops::{
    Args, Body, Form, OpDef, OpError, Operand, Origin, ParamKind, Viewed, check_known,
};
use cloakwork_run::eager;
use cloakwork_verify::{check_kernel_call, result_type, with_frees};
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
}

/// A program being recorded.
pub struct Trace {
    state: Mutex<State>,
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
}

/// An eager tensor that the program holds a copy of.
struct Constant {
    /// Keeps the storage's address from being used again.
    _tensor: eager::Tensor,
    copy: HostTensor,
    traced: (Symbol, u32),
}

/// One parameter of a call: what the declaration sees, and what the program says.
enum Given {
    /// The tensor, and its contents where they are a constant.
    Tensor(Traced, Option<Box<HostTensor>>),
    Int(i64),
    Shape(Vec<ShapeItem>),
    DType(DType),
    None,
}

impl Given {
    /// What the declaration sees.
    fn shown(&self) -> Shown<'_> {
        match self {
            Self::Tensor(traced, constant) => Shown::Tensor(Operand {
                dtype: traced.dtype,
                view: &traced.view,
                constant: constant.as_deref(),
            }),
            Self::Int(value) => Shown::Int(*value),
            Self::Shape(items) => Shown::Shape(items),
            Self::DType(dtype) => Shown::DType(*dtype),
            Self::None => Shown::Absent,
        }
    }

    /// What the program says.
    fn written(&self) -> Arg {
        match self {
            Self::Tensor(traced, _) => Arg::Device(traced.symbol, None),
            Self::Int(value) => Arg::Int(*value),
            Self::Shape(items) => Arg::Shape(items.as_slice().into()),
            Self::DType(dtype) => Arg::DType(*dtype),
            Self::None => Arg::None,
        }
    }
}

impl Trace {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a call; `values` holds one value a parameter, or fewer.
    pub fn record(self: &Arc<Self>, def: &'static OpDef, values: Vec<Value>) -> PyResult<Traced> {
        let mut state = self.lock();
        let mut bound = Vec::with_capacity(def.params.len());
        let mut values = values.into_iter();
        for param in def.params {
            let value = values.next().unwrap_or(Value::None);
            bound.push(match (value, param.default) {
                (Value::None, Some(default)) => Given::Int(default),
                (value, _) => self.bind(&mut state, def, param.kind, value)?,
            });
        }
        self.give_out(&mut state, def, &mut bound)?;
        let result = self.result(&mut state, def, &bound)?;
        push(&mut state, def, &bound, &result)?;
        Ok(result)
    }

    fn bind(
        self: &Arc<Self>,
        state: &mut State,
        def: &OpDef,
        kind: ParamKind,
        value: Value,
    ) -> PyResult<Given> {
        Ok(match value {
            Value::Tensor(Inner::Traced(traced)) if Arc::ptr_eq(&traced.trace, self) => {
                Given::Tensor(traced, None)
            }
            Value::Tensor(Inner::Traced(_)) => return Err(stray()),
            Value::Tensor(Inner::Real(_)) if kind == ParamKind::Out => {
                return Err(errors::trace(format!(
                    "{}: a traced result cannot be written into a tensor from outside; make \
                     `out` inside the traced function, with cloakwork.empty",
                    def.name
                )));
            }
            Value::Tensor(Inner::Real(tensor)) => {
                let (traced, copy) = self.constant(state, &tensor)?;
                Given::Tensor(traced, Some(Box::new(copy)))
            }
            Value::Int(value) => Given::Int(value),
            Value::Shape(items) => Given::Shape(items),
            Value::DType(dtype) => Given::DType(dtype),
            Value::None => Given::None,
        })
    }

    /// An eager tensor as a constant. What it merely repeats is not uploaded but expanded.
    fn constant(
        self: &Arc<Self>,
        state: &mut State,
        tensor: &eager::Tensor,
    ) -> PyResult<(Traced, HostTensor)> {
        let (compact, repeats) = tensor.without_repeats();
        let (mut traced, mut copy) = self.uploaded(state, &compact)?;
        for (axis, repeat) in repeats {
            let numbers = [axis as i64, repeat as i64].map(Arg::Int);
            let args = std::iter::once(Arg::Device(traced.symbol, None)).chain(numbers);
            traced.symbol = state.builder.call("expand", args);
            let wider = |view: &View| {
                view.expand(axis as i64, repeat)
                    .map_err(|e| errors::internal(e.to_string()))
            };
            traced.view = wider(&traced.view)?;
            copy = copy
                .with_view(wider(copy.view())?)
                .map_err(|e| errors::internal(e.to_string()))?;
        }
        Ok((traced, copy))
    }

    /// An eager tensor as it is, uploaded once, unless its elements have changed since.
    fn uploaded(
        self: &Arc<Self>,
        state: &mut State,
        tensor: &eager::Tensor,
    ) -> PyResult<(Traced, HostTensor)> {
        if tensor.is_secret() {
            return Err(errors::secret("a secret tensor must not be traced"));
        }
        let key = (tensor.storage().as_ptr() as usize, tensor.view().clone());
        let (dtype, size) = (tensor.dtype(), tensor.dtype().size_bytes());
        let now = tensor.storage().as_ref().as_ref();
        let unchanged = |known: &&Constant| {
            let then = (known.copy.bytes().as_slice(), known.copy.view());
            known.copy.dtype() == dtype
                && find_difference(size, (now, tensor.view()), then).is_none()
        };
        let (symbol, storage, copy) = match state.constants.get(&key).filter(unchanged) {
            Some(known) => (known.traced.0, known.traced.1, known.copy.clone()),
            None => {
                let copy = tensor.copy_to_host().map_err(errors::eager)?;
                let symbol = state.upload(HostSlot::Data(copy.clone()));
                let storage = state.new_storage();
                let traced = (symbol, storage);
                let constant = Constant {
                    _tensor: tensor.clone(),
                    copy: copy.clone(),
                    traced,
                };
                state.constants.insert(key, constant);
                (symbol, storage, copy)
            }
        };
        let view = View::contiguous(tensor.view().shape.clone());
        Ok((
            Traced {
                trace: Arc::clone(self),
                symbol,
                storage,
                dtype,
                view,
            },
            copy,
        ))
    }

    /// Makes the tensor that an op writes, where the caller gave none.
    fn give_out(
        self: &Arc<Self>,
        state: &mut State,
        def: &'static OpDef,
        bound: &mut [Given],
    ) -> PyResult<()> {
        let Some(place) = def
            .params
            .iter()
            .position(|param| param.kind == ParamKind::Out)
        else {
            return Ok(());
        };
        if !matches!(bound.get(place), Some(Given::None)) {
            return Ok(());
        }
        let ty = with_args(def, bound, |args| result_type(def, args))?;
        let symbol = state.builder.empty(ty.dtype, &ty.shape);
        let made = self.fresh(state, symbol, ty);
        if let Some(out) = bound.get_mut(place) {
            *out = Given::Tensor(made, None);
        }
        Ok(())
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
        }
    }

    /// Checks a call as the verifier will, and says what its result is.
    fn result(
        self: &Arc<Self>,
        state: &mut State,
        def: &'static OpDef,
        bound: &[Given],
    ) -> PyResult<Traced> {
        let out = def
            .params
            .iter()
            .zip(bound)
            .find(|(param, _)| param.kind == ParamKind::Out);
        let out = out.and_then(|(_, value)| match value {
            Given::Tensor(traced, _) => Some(traced.clone()),
            _ => None,
        });
        if let (Body::Kernel(body), Some(out)) = (&def.body, &out) {
            let shares = |param: usize| {
                matches!(bound.get(param), Some(Given::Tensor(operand, _))
                    if operand.storage == out.storage)
            };
            with_args(def, bound, |args| {
                check_kernel_call(def, body, args, &shares)?;
                check_known(args)
            })?;
        }
        if let Some(out) = out {
            return Ok(out);
        }
        if let (Body::View(view), Some(Given::Tensor(source, _))) = (&def.body, bound.first())
            && let Viewed::View(view) = with_args(def, bound, view)?
        {
            let symbol = state.builder.program.fresh_symbol();
            return Ok(Traced {
                symbol,
                view,
                ..source.clone()
            });
        }
        let ty = with_args(def, bound, |args| result_type(def, args))?;
        let symbol = state.builder.program.fresh_symbol();
        Ok(self.fresh(state, symbol, ty))
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

/// Appends the call to the program.
fn push(state: &mut State, def: &'static OpDef, bound: &[Given], result: &Traced) -> PyResult<()> {
    let form = canonical(def, bound)
        .ok_or_else(|| errors::trace(format!("{}: no spelling says this call", def.name)))?;
    let given = |name: &&str| bound.get(def.param(name)?);
    let arg = |name| given(name).map_or(Arg::None, Given::written);
    let args: Vec<Arg> = form.args.iter().map(arg).collect();
    state.builder.call_into(form.name, args, result.symbol);
    Ok(())
}

/// The spelling of an op by its own name, in the later generation, that can say a call.
fn canonical(def: &'static OpDef, bound: &[Given]) -> Option<&'static Form> {
    let first = Origin::HealOnly(Generation::First);
    let says_all = |form: &&Form| {
        let mut params = def.params.iter().zip(bound);
        params.all(|(param, given)| {
            form.args.contains(&param.name)
                || match given {
                    Given::None => true,
                    Given::Int(value) => param.default == Some(*value),
                    _ => param.kind == ParamKind::Hint,
                }
        })
    };
    let own = |form: &&Form| form.name == def.name && form.origin != first;
    def.forms.iter().filter(own).find(says_all)
}

fn with_args<R>(
    def: &'static OpDef,
    bound: &[Given],
    f: impl FnOnce(&Args) -> Result<R, OpError>,
) -> PyResult<R> {
    let args = Args {
        def,
        values: bound.iter().map(Given::shown).collect(),
    };
    f(&args).map_err(|error| errors::op(def.name, &error))
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

/// Calls `function` on tensors without elements, of the examples' types, and records what it does.
///
/// Returns the program and whether the function returned one tensor alone.
#[pyfunction]
pub fn trace<'py>(
    py: Python<'py>,
    function: &Bound<'py, PyAny>,
    examples: &Bound<'py, PyList>,
) -> PyResult<(Program, bool)> {
    let trace = Arc::new(Trace {
        state: Mutex::default(),
    });
    let recording = Recording::start(&trace)?;
    let mut inputs = Vec::new();
    for (index, example) in crate::tensor::tensors(examples)?.iter().enumerate() {
        let ty = Type::new(example.dtype(), example.view().shape.clone());
        let mut state = trace.lock();
        let symbol = state.upload(HostSlot::Input {
            name: format!("in{index}"),
            ty: ty.clone(),
        });
        inputs.push(Tensor::from(Inner::Traced(
            trace.fresh(&mut state, symbol, ty),
        )));
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
    Ok((Program::new(trace.finish()), single))
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
