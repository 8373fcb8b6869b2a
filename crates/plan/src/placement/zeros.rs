//! Tensors that must read as zeros on a device that cannot fill them: the host does, and uploads
//! the zeros.

use super::Lack;
use crate::Options;
use crate::unseen::{touched, unseen};
use cloakwork_ops::FILL_KERNEL;
use cloakwork_verify::{StorageOrigin, Verified};

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
    let unseen = unseen(verified);
    for (step, action) in verified.actions() {
        touched(verified, action, &mut |value, reads| {
            let Some(info) = verified.value(value) else {
                return;
            };
            let storage = info.storage.0 as usize;
            let stored = &verified.storages()[storage];
            if std::mem::replace(&mut is_touched[storage], true)
                || stored.origin != StorageOrigin::Zeros
            {
                return;
            }
            let elements = stored.root.shape.elements();
            let is_whole = info.view.shape.elements() == elements || unseen[storage];
            let is_written = !reads && is_whole;
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
        });
    }
    found
}
