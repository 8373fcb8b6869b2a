//! Tensors that must read as zeros on a device that cannot fill them: the host does, and uploads
//! the zeros.

use super::Lack;
use crate::Options;
use cloakwork_ops::{Access, Body, FILL_KERNEL};
use cloakwork_verify::{Action, StorageOrigin, ValueId, Verified};
use smallvec::SmallVec;

/// Zeros that a device lacks the kernel for.
pub(super) struct Zeros {
    /// The step that first needs them.
    pub step: u32,
    pub storage: usize,
    pub lack: Lack,
}

/// All zeros that steps need before the step that first writes a tensor, or reads it.
pub(super) fn lacking(verified: &Verified, options: &Options) -> Vec<Zeros> {
    let mut is_touched = vec![false; verified.storages().len()];
    let mut found = Vec::new();
    for (step, action) in verified.actions() {
        for (value, reads) in touched(verified, action) {
            let Some(info) = verified.value(value) else {
                continue;
            };
            let storage = info.storage.0 as usize;
            let stored = &verified.storages()[storage];
            if std::mem::replace(&mut is_touched[storage], true)
                || stored.origin != StorageOrigin::Zeros
            {
                continue;
            }
            let elements = stored.root.shape.elements();
            let is_written = !reads && info.view.shape.elements() == elements;
            let device = options.device_of(stored.device);
            let dtype = stored.dtype;
            let fill = options.kernel(device, FILL_KERNEL, [dtype; 2]);
            if elements > 0 && !is_written && fill.is_none() {
                found.push(Zeros {
                    step: *step,
                    storage,
                    lack: Lack {
                        kernel: FILL_KERNEL,
                        input: dtype,
                        output: dtype,
                    },
                });
            }
        }
    }
    found
}

/// The values that a step touches, in order, and whether it reads them.
fn touched(verified: &Verified, action: &Action) -> SmallVec<[(ValueId, bool); 6]> {
    match action {
        Action::Kernel { call, out } => {
            let Body::Kernel(body) = &call.def.body else {
                return SmallVec::new();
            };
            let of = |value: ValueId| verified.value(value).map(|info| info.storage);
            let own = call.def.out();
            let params = (0..call.values.len()).filter(|&param| Some(param) != own);
            let operands = params.filter_map(|param| call.value(param));
            let mut all: SmallVec<[_; 6]> = operands.map(|value| (value, true)).collect();
            let keeps = all.iter().any(|(value, _)| of(*value) == of(*out));
            all.push((*out, keeps || body.access == Access::Accumulate));
            all
        }
        Action::Copy { source, .. } => [(*source, true)].into_iter().collect(),
        Action::Download { value, .. } => [(*value, true)].into_iter().collect(),
        _ => SmallVec::new(),
    }
}
