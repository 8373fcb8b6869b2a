//! Eager tensors that a traced function meets: the program holds a copy of them.

use super::{State, Trace, Traced, parts};
use crate::errors;
use cloakwork_ir::{Arg, HostSlot, HostTensor, Symbol, View};
use cloakwork_kernels::find_difference;
use cloakwork_run::eager;
use cloakwork_verify::upload_root;
use pyo3::prelude::*;
use std::sync::Arc;

/// What the program holds of a tensor: the tensor itself if nobody writes it and it is dense, in
/// whatever order of axes; else a copy.
fn held(tensor: &eager::Tensor) -> PyResult<HostTensor> {
    if tensor.is_frozen() {
        let host = tensor.to_host().map_err(errors::run)?;
        if upload_root(&host).strides == host.view().strides {
            return Ok(host);
        }
    }
    tensor
        .copy_to_host(crate::device::selected()?)
        .map_err(errors::eager)
}

/// An eager tensor that the program holds a copy of.
pub(super) struct Constant {
    /// Keeps the storage's address from being used again.
    _tensor: eager::Tensor,
    copy: HostTensor,
    traced: (Symbol, u32),
}

impl Trace {
    /// An eager tensor as a constant. What it merely repeats is not uploaded but expanded.
    pub(super) fn constant(
        self: &Arc<Self>,
        state: &mut State,
        tensor: &eager::Tensor,
    ) -> PyResult<(Traced, HostTensor)> {
        let (compact, repeats) = tensor.without_repeats();
        let (mut traced, mut copy) = self.whole_or_part(state, &compact)?;
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

    /// An eager tensor as it is. Of a frozen one the whole is uploaded, and its parts are parts of
    /// that.
    fn whole_or_part(
        self: &Arc<Self>,
        state: &mut State,
        tensor: &eager::Tensor,
    ) -> PyResult<(Traced, HostTensor)> {
        let Some(whole) = tensor
            .frozen_whole()
            .filter(|whole| whole.view() != tensor.view())
        else {
            return self.uploaded(state, tensor);
        };
        let host = whole.to_host().map_err(errors::run)?;
        let steps = parts::steps(&upload_root(&host), tensor.view());
        let Some(steps) = steps.filter(|_| upload_root(&host).strides == host.view().strides)
        else {
            return self.uploaded(state, tensor);
        };
        let (mut traced, _) = self.uploaded(state, &whole)?;
        let part = tensor.to_host().map_err(errors::run)?;
        let key = (tensor.storage().as_ptr() as usize, tensor.view().clone());
        for (op, args, view) in steps {
            traced.view = view;
            if !state.parts.contains_key(&key) {
                let tensor = std::iter::once(Arg::Device(traced.symbol, None));
                traced.symbol = state.builder.call(op, tensor.chain(args));
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
    ) -> PyResult<(Traced, HostTensor)> {
        if tensor.is_secret() {
            return Err(errors::secret("a secret tensor must not be traced"));
        }
        let key = (tensor.storage().as_ptr() as usize, tensor.view().clone());
        let (dtype, size) = (tensor.dtype(), tensor.dtype().size_bytes());
        let now = tensor.storage().as_ref().as_ref();
        let unchanged = |known: &&Constant| {
            if tensor.is_frozen() {
                return known.copy.dtype() == dtype;
            }
            let then = (known.copy.bytes().as_slice(), known.copy.view());
            known.copy.dtype() == dtype
                && find_difference(size, (now, tensor.view()), then).is_none()
        };
        let (symbol, storage, copy) = match state.constants.get(&key).filter(unchanged) {
            Some(known) => (known.traced.0, known.traced.1, known.copy.clone()),
            None => {
                let copy = held(tensor)?;
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
        let view = upload_root(&copy);
        Ok((
            Traced {
                trace: Arc::clone(self),
                symbol,
                storage,
                dtype,
                view,
                slot: None,
            },
            copy,
        ))
    }
}
