//! Steps that the host runs for a device that lacks their kernel: on copies, and the result is
//! written back.

use super::calls::Made;
use super::{Builder, Place};
use crate::PlanError;
use crate::graph::Reach;
use crate::plan::{Address, Home, Way};
use cloakwork_ir::DType;
use cloakwork_ops::FUNCTION;
use cloakwork_verify::{StorageId, ValueId};
use std::ops::Range;

impl Builder<'_> {
    /// Whether the device of a step's result lacks the kernel that the step needs.
    pub(super) fn lacks(&self, kernel: &str, types: [DType; 2], result: &Address) -> bool {
        let side = self.side(result);
        side != Home::HOST && self.plan.kernel(side, kernel, types).is_none()
    }

    /// Whether the device lacks the kernel of any launch of an op.
    pub(super) fn lacks_any(&self, made: &Made, result: StorageId) -> Result<bool, PlanError> {
        if self.placement.is_here() {
            return Ok(false);
        }
        let result = self.storage_address(result, 0)?;
        Ok(made.launches.iter().any(|made| {
            let kernel = made.launch.kernel;
            let computes = kernel != FUNCTION && made.launch.units() > 0;
            computes && self.lacks(kernel, made.types(), &result)
        }))
    }

    /// The bytes that a step may touch of its result's storage, from the storage's start, and
    /// whether it writes all of them and reads none.
    pub(super) fn written(&self, out: ValueId, keeps: bool) -> Result<(Reach, bool), PlanError> {
        let info = self.value(out)?;
        let view = self.layout.view(self.verified, out);
        let size = info.dtype.size_bytes();
        if keeps {
            let root = self.layout.root(self.verified, info.storage);
            return Ok((Reach::of(&root, 0, size), false));
        }
        let reach = Reach::of(view, 0, size);
        let dense = view.shape.elements() * size as u64 == reach.bytes();
        Ok((reach, dense))
    }

    /// Plans steps on a host copy of a storage, and writes the copy back afterwards.
    pub(super) fn lent(
        &mut self,
        id: StorageId,
        (reach, is_written): (&Reach, bool),
        steps: impl FnOnce(&mut Self) -> Result<(), PlanError>,
    ) -> Result<(), PlanError> {
        let target = self.storage_address(id, 0)?;
        let here = self.lend(target, reach, is_written);
        let place = std::mem::replace(&mut self.places[id.0 as usize], Place::Lent(here));
        let done = steps(self);
        self.places[id.0 as usize] = place;
        self.give_back(target, here, reach);
        done
    }

    /// Host memory for a result that lies on a device. It has the current contents unless the step
    /// writes all of it.
    pub(super) fn lend(&mut self, target: Address, reach: &Reach, is_written: bool) -> Address {
        if !is_written && reach.bytes() > 0 {
            return self.staged(target, reach, Home::HOST);
        }
        let buffer = self.buffer_at(Home::HOST, reach.bytes());
        Address {
            offset: -reach.low(),
            ..Address::of_buffer(buffer)
        }
    }

    /// Writes a host copy back to the device. The host memory remains a valid copy.
    pub(super) fn give_back(&mut self, target: Address, here: Address, reach: &Reach) {
        let range = |at: &Address| -> Range<i64> {
            let low = at.offset + reach.low();
            low..low + reach.bytes() as i64
        };
        let start = |at: Address| Address {
            offset: range(&at).start,
            ..at
        };
        if reach.bytes() > 0 {
            let operands = [start(target), start(here)];
            self.transfer(Way::Upload, operands, reach.bytes());
            // A recorded copy begins where its buffer does.
            if operands[1].offset == 0 {
                let copy = (Home::HOST, here.index);
                self.note_copy(&target, range(&target), copy);
            }
        }
    }
}
