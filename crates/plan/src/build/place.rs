//! Where storages lie, and their initial contents.

use super::{Builder, Place, Touch, device_named};
use crate::PlanError;
use crate::graph::Reach;
use crate::plan::{Address, Constant, Home, Prepared, Space, StepCost, Work};
use cloakwork_ir::{Device, HostId, HostSlot, View};
use cloakwork_ops::{COPY_KERNEL, FILL_KERNEL, Launch, LaunchInput, Source};
use cloakwork_verify::{StorageId, StorageInfo, StorageOrigin, ValueId, ValueInfo};

impl<'a> Builder<'a> {
    pub(super) fn value(&self, id: ValueId) -> Result<&'a ValueInfo, PlanError> {
        self.verified
            .value(id)
            .ok_or_else(|| self.internal("no such value"))
    }

    pub(super) fn storage(&self, id: StorageId) -> Result<&'a StorageInfo, PlanError> {
        self.verified
            .storage(id)
            .ok_or_else(|| self.internal("no such storage"))
    }

    /// Where a storage lies.
    pub(super) fn device_of(&self, id: StorageId) -> Device {
        let wanted = self.plan.options.device_of(device_named(self.verified, id));
        self.placement.home(id, wanted)
    }

    /// Whether a host tensor may be read in place with the layout of this root view.
    pub(super) fn host_strides_are(&self, host: HostId, root: &View) -> bool {
        match self.verified.program().host(host) {
            Some(HostSlot::Data(tensor)) => tensor.view().strides == root.strides,
            _ => true,
        }
    }

    /// Whether a storage is a host tensor in place: no step writes it, and the layout is its own.
    pub(super) fn is_in_place(&self, id: StorageId, storage: &StorageInfo) -> bool {
        let StorageOrigin::Upload(host) = storage.origin else {
            return false;
        };
        let as_it_is = storage.last_write.is_none() && !self.layout.is_limb_major(id);
        as_it_is && self.host_strides_are(host, &storage.root)
    }

    pub(super) fn host_start_bytes(&self, host: HostId) -> i64 {
        match self.verified.program().host(host) {
            Some(HostSlot::Data(tensor)) => {
                tensor.view().offset * tensor.dtype().size_bytes() as i64
            }
            _ => 0,
        }
    }

    pub(super) fn address(&self, value: ValueId, view: &View) -> Result<Address, PlanError> {
        let info = self.value(value)?;
        let offset = view.offset * info.dtype.size_bytes() as i64;
        self.storage_address(info.storage, offset)
    }

    pub(super) fn storage_address(
        &self,
        storage: StorageId,
        offset: i64,
    ) -> Result<Address, PlanError> {
        match self.places[storage.0 as usize] {
            Place::Buffer(index) => Ok(Address {
                space: Space::Buffer,
                index,
                offset,
            }),
            Place::Host(host) => {
                let start = self.host_start_bytes(host);
                Ok(Address {
                    space: Space::Host,
                    index: host.0,
                    offset: start + offset,
                })
            }
            Place::Constant(index) => Ok(Address {
                space: Space::Constant,
                index,
                offset,
            }),
            Place::Output(index) => Ok(Address {
                space: Space::Output,
                index,
                offset,
            }),
            Place::Lent(start) => Ok(Address {
                offset: start.offset + offset,
                ..start
            }),
            Place::Untouched => Err(self.internal("an operand without a place")),
        }
    }

    /// Places a storage and sets its initial contents when a step first needs it.
    pub(super) fn touch(&mut self, value: ValueId, touch: Touch) -> Result<(), PlanError> {
        let id = self.value(value)?.storage;
        if !matches!(self.places[id.0 as usize], Place::Untouched) {
            return Ok(());
        }
        let storage = self.storage(id)?;
        if let StorageOrigin::Upload(host) = storage.origin
            && storage.last_write.is_none()
        {
            if self.is_in_place(id, storage) {
                self.places[id.0 as usize] = Place::Host(host);
                return Ok(());
            }
            if let Some(HostSlot::Data(_)) = self.verified.program().host(host)
                && !self.is_streamed(host, id)
            {
                return self.relay(id, host);
            }
        }
        self.device = self.device_of(id);
        self.places[id.0 as usize] = match self.results.get(&id) {
            Some(&index) => Place::Output(index),
            None => {
                let (_, extent) = storage.root.bounds();
                let bytes = extent.max(0) as u64 * storage.dtype.size_bytes() as u64;
                Place::Buffer(self.buffer(bytes, self.plan.steps.len() as u32))
            }
        };
        match storage.origin {
            StorageOrigin::Upload(host) => self.upload(id, host),
            StorageOrigin::Copy => Ok(()),
            StorageOrigin::Zeros => {
                let whole = self.verified.view(value).shape.elements();
                let is_all = whole == storage.root.shape.elements() || self.unseen[id.0 as usize];
                if touch == Touch::WriteAll && is_all {
                    return Ok(());
                }
                self.fill_zeros(id)
            }
        }
    }

    pub(super) fn upload(&mut self, id: StorageId, host: HostId) -> Result<(), PlanError> {
        let storage = self.storage(id)?;
        let (to, from, source) = self.upload_views(id, host)?;
        let offset = to.offset * storage.dtype.size_bytes() as i64;
        let target = self.storage_address(id, offset)?;
        self.copy_step(&to, &from, storage.dtype, [target, source])
    }

    /// Changes the layout of a tensor once, if no run changes the tensor.
    fn relay(&mut self, id: StorageId, host: HostId) -> Result<(), PlanError> {
        let storage = self.storage(id)?;
        let (to, from, source) = self.upload_views(id, host)?;
        let launch = self.copy_launch(&to, &from)?;
        let (_, extent) = to.bounds();
        let bytes = extent.max(0) as u64 * storage.dtype.size_bytes() as u64;
        let row = self.row(COPY_KERNEL, storage.dtype, storage.dtype, Home::HOST)?;
        let geometry = self.geometry(&launch);
        let prepared = Prepared::None;
        self.places[id.0 as usize] = Place::Constant(self.constant(Constant {
            work: Work::Launch { row, prepared },
            geometry,
            operands: [source].into(),
            bytes,
            arena: 0,
            offset: 0,
        }));
        Ok(())
    }

    /// The physical view of an uploaded storage, the view of the host's tensor, and its address.
    fn upload_views(
        &self,
        id: StorageId,
        host: HostId,
    ) -> Result<(View, View, Address), PlanError> {
        let storage = self.storage(id)?;
        let to = self.layout.root(self.verified, id);
        let from = match self.verified.program().host(host) {
            Some(HostSlot::Data(tensor)) => tensor.view().clone(),
            _ => storage.root.clone(),
        };
        let source = Address {
            space: Space::Host,
            index: host.0,
            offset: from.offset * storage.dtype.size_bytes() as i64,
        };
        Ok((to, from, source))
    }

    pub(super) fn fill_zeros(&mut self, id: StorageId) -> Result<(), PlanError> {
        let storage = self.storage(id)?;
        let (root, dtype) = (self.layout.root(self.verified, id), storage.dtype);
        let elements = root.shape.elements();
        if elements == 0 {
            return Ok(());
        }
        let input = LaunchInput::View(Source::Param(0), root.clone());
        let mut launch = Launch::elementwise(FILL_KERNEL, &root.shape, &[input])
            .map_err(|error| self.internal(&error.to_string()))?;
        // One word for each word of the widest element.
        launch.params.extend([0, 0]);
        let target = self.storage_address(id, 0)?;
        let reach = Reach::of(&root, 0, dtype.size_bytes());
        if self.lacks(FILL_KERNEL, [dtype; 2], &target) {
            return self.lent(id, (&reach, false), |builder| builder.fill_zeros(id));
        }
        let row = self.row(FILL_KERNEL, dtype, dtype, self.side(&target))?;
        let bytes = elements * dtype.size_bytes() as u64;
        let cost = StepCost {
            operations: elements,
            bytes,
        };
        let geometry = self.geometry(&launch);
        let weight_ns = launch.weight_ns();
        let prepared = Prepared::None;
        let work = Work::Launch { row, prepared };
        self.push(work, geometry, &[(target, reach)], cost, weight_ns);
        Ok(())
    }
}
