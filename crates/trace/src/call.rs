//! One call becomes a step: its operands bound, its result made, its mistakes found at the call.

use crate::recording::State;
use crate::{Tensor, Trace, TraceError, Traced, Value};
use cloakwork_ir::{Arg, DType, Generation, HostTensor, ShapeItem};
use cloakwork_ops::Value as Shown;
use cloakwork_ops::{
    Args, Body, Code, Form, OpDef, OpError, Operand, Origin, ParamKind, Viewed, check_known,
};
use cloakwork_run::eager;
use cloakwork_verify::{check_call, result_type};
use std::sync::Arc;

/// One parameter of a call, as the declaration reads it and as the program writes it.
pub(crate) enum Given {
    /// The tensor, and its contents where they are a constant.
    Tensor(Traced, Option<Box<HostTensor>>),
    Int(i64),
    Shape(Vec<ShapeItem>),
    DType(DType),
    None,
}

impl Given {
    /// The operand as the op's declaration reads it.
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

    /// The argument as the program writes it.
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
    /// Records a call; `values` holds one value a parameter, or fewer.
    ///
    /// # Errors
    /// The declaration refuses the call, or a program cannot say it.
    pub fn record(
        self: &Arc<Self>,
        def: &'static OpDef,
        values: Vec<Value>,
    ) -> Result<Traced, TraceError> {
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
        Ok(self.awaited(&mut state, result))
    }

    fn bind(
        self: &Arc<Self>,
        state: &mut State,
        def: &OpDef,
        kind: ParamKind,
        value: Value,
    ) -> Result<Given, TraceError> {
        Ok(match value {
            Value::Tensor(Tensor::Traced(traced)) if traced.settled().is_some() => {
                let inner = traced.settled().cloned().unwrap_or(Tensor::Traced(traced));
                return self.bind(state, def, kind, Value::Tensor(inner));
            }
            Value::Tensor(Tensor::Traced(traced)) if Arc::ptr_eq(&traced.trace, self) => {
                // Another thread runs the program that it is a value of.
                if traced.generation != state.generation && traced.slot.is_some() {
                    return Err(TraceError::Running);
                }
                Given::Tensor(*traced, None)
            }
            Value::Tensor(Tensor::Traced(_)) => return Err(TraceError::stray()),
            Value::Tensor(Tensor::Real(_) | Tensor::Away(_)) if kind == ParamKind::Out => {
                return Err(TraceError::unrecordable(format!(
                    "{}: a traced result cannot be written into a tensor from outside; make \
                     `out` inside the traced function, with cloakwork.empty",
                    def.name
                )));
            }
            Value::Tensor(tensor) if self.is_batch() && !self.holds(&tensor) => {
                Given::Tensor(self.captured(state, &tensor)?, None)
            }
            Value::Tensor(tensor) => {
                let (traced, copy) = self.constant(state, real(&tensor)?)?;
                Given::Tensor(traced, copy.map(Box::new))
            }
            Value::Int(value) => Given::Int(value),
            Value::Shape(items) => Given::Shape(items),
            Value::DType(dtype) => Given::DType(dtype),
            Value::None => Given::None,
        })
    }

    /// Makes the tensor that an op writes, where the caller gave none.
    fn give_out(
        self: &Arc<Self>,
        state: &mut State,
        def: &'static OpDef,
        bound: &mut [Given],
    ) -> Result<(), TraceError> {
        let Some(place) = def.out() else {
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

    /// Checks a call as the verifier will, and says what its result is.
    fn result(
        self: &Arc<Self>,
        state: &mut State,
        def: &'static OpDef,
        bound: &[Given],
    ) -> Result<Traced, TraceError> {
        let out = def.out().and_then(|place| bound.get(place));
        let out = out.and_then(|value| match value {
            Given::Tensor(traced, _) => Some(traced.clone()),
            _ => None,
        });
        if let (Body::Kernel(_), Some(out)) = (&def.body, &out) {
            let shares = |param: usize| {
                matches!(bound.get(param), Some(Given::Tensor(operand, _))
                    if operand.storage == out.storage)
            };
            with_args(def, bound, |args| {
                check_call(def, args, &shares)?;
                check_known(args)?;
                let found = "a view that repeats elements, so that one write would change several";
                let wanted = "memory that may be written";
                let refused = || OpError::new(Code::Aliasing, "out", wanted, found);
                if out.repeats { Err(refused()) } else { Ok(()) }
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
                repeats: source.repeats || source.view.overlaps_itself(),
                slot: None,
                ..source.clone()
            });
        }
        let ty = with_args(def, bound, |args| result_type(def, args))?;
        let symbol = state.builder.program.fresh_symbol();
        Ok(self.fresh(state, symbol, ty))
    }
}

/// The elements of a tensor for the host.
pub(crate) fn real(tensor: &Tensor) -> Result<&eager::Tensor, TraceError> {
    match tensor {
        Tensor::Real(tensor) => Ok(tensor),
        Tensor::Away(tensor) => tensor.on_host().map_err(TraceError::Run),
        Tensor::Traced(_) => Err(TraceError::stray()),
    }
}

/// Appends the call to the program.
pub(crate) fn push(
    state: &mut State,
    def: &'static OpDef,
    bound: &[Given],
    result: &Traced,
) -> Result<(), TraceError> {
    let form = canonical(def, bound).ok_or_else(|| {
        let text = "no form of the op has these arguments";
        TraceError::unrecordable(format!("{}: {text}", def.name))
    })?;
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
) -> Result<R, TraceError> {
    let args = Args {
        def,
        values: bound.iter().map(Given::shown).collect(),
    };
    f(&args).map_err(|error| TraceError::Op {
        op: def.name,
        error,
    })
}
