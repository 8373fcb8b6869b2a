//! Eager tensors that a traced function meets: the program holds a copy of them.

use crate::recording::State;
use crate::{Trace, TraceError, Traced, parts};
use cloakwork_ir::{Arg, HostSlot, HostTensor, Symbol, Type, View};
use cloakwork_kernels::{Isa, find_difference};
use cloakwork_ops::named;
use cloakwork_run::eager::{self, EagerError};
use cloakwork_verify::upload_root;
use std::sync::Arc;

/// The constant that a program holds for a tensor: the tensor itself if it is frozen and dense, in
/// whatever order of axes; else a copy.
///
/// # Errors
/// There is no memory for a copy.
pub fn held(tensor: &eager::Tensor, isa: Isa) -> Result<HostTensor, EagerError> {
    if tensor.is_frozen() {
        let host = tensor.to_host()?;
        if upload_root(&host).strides == host.view().strides {
            return Ok(host);
        }
    }
    tensor.copy_to_host(isa)
}

/// An eager tensor that the program holds a copy of.
pub(crate) struct Constant {
    /// Keeps the storage's address from being used again.
    _tensor: eager::Tensor,
    copy: HostTensor,
    traced: (Symbol, u32),
}

impl Trace {
    /// An eager tensor as a constant. What it merely repeats is not uploaded but expanded.
    pub(crate) fn constant(
        self: &Arc<Self>,
        state: &mut State,
        tensor: &eager::Tensor,
    ) -> Result<(Traced, Option<HostTensor>), TraceError> {
        let (compact, repeats) = tensor.without_repeats();
        let (mut traced, mut copy) = match self.as_input(state, &compact)? {
            Some(traced) => (traced, None),
            None => {
                let (traced, copy) = self.whole_or_part(state, &compact)?;
                (traced, Some(copy))
            }
        };
        for (axis, repeat) in repeats {
            let numbers = [axis as i64, repeat as i64].map(Arg::Int);
            traced.symbol = state.apply(&named::EXPAND, traced.symbol, numbers);
            let wider = |view: &View| {
                view.expand(axis as i64, repeat)
                    .map_err(TraceError::internal)
            };
            traced.view = wider(&traced.view)?;
            copy = match copy {
                Some(copy) => {
                    let view = wider(copy.view())?;
                    let wide = copy.with_view(view);
                    Some(wide.map_err(TraceError::internal)?)
                }
                None => None,
            };
        }
        Ok((traced, copy))
    }

    /// A part of a tensor that is an input of the program, if it is one of such: see
    /// [`Trace::input_when_met`].
    fn as_input(
        self: &Arc<Self>,
        state: &mut State,
        tensor: &eager::Tensor,
    ) -> Result<Option<Traced>, TraceError> {
        let storage = tensor.storage().as_ptr() as usize;
        let Some(met) = state.inputs.get(&storage) else {
            return Ok(None);
        };
        let (name, whole) = (met.name.clone(), met.whole.clone());
        let ty = Type::new(whole.dtype(), whole.view().shape.clone());
        let steps = if tensor.view() == whole.view() {
            Some(Vec::new())
        } else {
            parts::steps(whole.view(), tensor.view())
        };
        // Other parts would be arbitrary data.
        let steps = steps
            .filter(|_| tensor.dtype() == ty.dtype)
            .ok_or_else(|| {
                let text = "is used in parts that slices cannot express";
                TraceError::unrecordable(format!("{name} {text}"))
            })?;
        let met = state.inputs.get(&storage);
        let mut traced = match met.and_then(|met| met.traced.clone()) {
            Some(traced) => traced,
            None => {
                let fresh = self.upload_input(state, name, ty);
                if let Some(met) = state.inputs.get_mut(&storage) {
                    met.traced = Some(fresh.clone());
                }
                fresh
            }
        };
        let key = (storage, tensor.view().clone());
        // An input is row-major, whatever order the axes of this tensor lie in.
        traced.view = parts::replayed(&traced.view, &steps)
            .ok_or_else(|| TraceError::internal("slices of a tensor that another has not"))?;
        if let Some(known) = state.parts.get(&key) {
            traced.symbol = *known;
            return Ok(Some(traced));
        }
        for (op, args, _) in steps {
            traced.symbol = state.apply(op, traced.symbol, args);
        }
        state.parts.insert(key, traced.symbol);
        Ok(Some(traced))
    }

    /// An eager tensor as it is. Of a frozen one the whole is uploaded, and its parts are parts of
    /// that.
    fn whole_or_part(
        self: &Arc<Self>,
        state: &mut State,
        tensor: &eager::Tensor,
    ) -> Result<(Traced, HostTensor), TraceError> {
        let Some(whole) = tensor
            .frozen_whole()
            .filter(|whole| whole.view() != tensor.view())
        else {
            return self.uploaded(state, tensor);
        };
        let host = whole.to_host()?;
        let steps = parts::steps(&upload_root(&host), tensor.view());
        let Some(steps) = steps.filter(|_| upload_root(&host).strides == host.view().strides)
        else {
            return self.uploaded(state, tensor);
        };
        let (mut traced, _) = self.uploaded(state, &whole)?;
        let part = tensor.to_host()?;
        let key = (tensor.storage().as_ptr() as usize, tensor.view().clone());
        for (op, args, view) in steps {
            traced.view = view;
            if !state.parts.contains_key(&key) {
                traced.symbol = state.apply(op, traced.symbol, args);
            }
        }
        traced.symbol = *state.parts.entry(key).or_insert(traced.symbol);
        Ok((traced, part))
    }

    /// An eager tensor as it is, uploaded once, unless its elements have changed since.
    fn uploaded(
        self: &Arc<Self>,
        state: &mut State,
        tensor: &eager::Tensor,
    ) -> Result<(Traced, HostTensor), TraceError> {
        if tensor.is_secret() {
            let text = "a secret tensor must not be traced";
            return Err(TraceError::Secret(text.to_owned()));
        }
        let key = (tensor.storage().as_ptr() as usize, tensor.view().clone());
        let (dtype, size) = (tensor.dtype(), tensor.dtype().size_bytes());
        let unchanged = |now: &[u8], known: &Constant| {
            if tensor.is_frozen() {
                return known.copy.dtype() == dtype;
            }
            let then = (known.copy.bytes().as_slice(), known.copy.view());
            known.copy.dtype() == dtype
                && find_difference(size, (now, tensor.view()), then).is_none()
        };
        let known = state.constants.get(&key);
        let now: &[u8] = tensor.storage().as_ref().as_ref();
        let known = known.filter(|known| unchanged(now, known));
        let (symbol, storage, copy) = match known {
            Some(known) => (known.traced.0, known.traced.1, known.copy.clone()),
            None => {
                let copy = held(tensor, self.isa)?;
                let symbol = state.upload(HostSlot::Data(copy.clone()));
                let storage = state.new_storage();
                let constant = Constant {
                    _tensor: tensor.clone(),
                    copy: copy.clone(),
                    traced: (symbol, storage),
                };
                state.constants.insert(key, constant);
                (symbol, storage, copy)
            }
        };
        let traced = Traced {
            trace: Arc::clone(self),
            symbol,
            storage,
            generation: state.generation,
            dtype,
            view: upload_root(&copy),
            repeats: tensor.repeats(),
            slot: None,
        };
        Ok((traced, copy))
    }
}
