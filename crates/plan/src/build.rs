//! Turns actions into kernel calls, in order.

use crate::arena;
use crate::layout::Layout;
use crate::plan::{
    Address, Buffer, Check, Download, Geometry, Options, Plan, Prepared, PreparedConstant, Space,
    Step, StepCost,
};
use crate::{Memory, PlanError, lower};
use cloakwork_ir::{DType, HostId, HostSlot, View};
use cloakwork_kernels::{KernelRow, LaunchShape, select};
use cloakwork_ops::{Access, Body, Launch, LaunchInput, ParamKind, Source};
use cloakwork_verify::{
    Action, Call, StorageId, StorageInfo, StorageOrigin, ValueId, ValueInfo, Verified,
};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

/// Plans a verified program.
///
/// # Errors
/// No kernel for an op and its dtypes, or more memory than the budget.
pub fn plan(verified: Arc<Verified>, options: &Options) -> Result<Plan, PlanError> {
    let lowered = lower(verified)?;
    let verified = &lowered.verified;
    let layout = Layout::choose(verified, options)?;
    let mut builder = Builder::new(verified, &layout, options);
    for (step, action) in verified.actions() {
        builder.origin = *step;
        builder.action(action)?;
    }
    let mut plan = builder.finish(lowered.origins);
    plan.memory.arena_bytes = arena::assign(&mut plan.buffers);
    check_budget(&plan)?;
    Ok(plan)
}

fn check_budget(plan: &Plan) -> Result<(), PlanError> {
    match plan.options.memory_budget_bytes {
        Some(budget_bytes) if plan.memory.peak_bytes() > budget_bytes => Err(PlanError::Budget {
            memory: plan.memory,
            budget_bytes,
        }),
        _ => Ok(()),
    }
}

/// What a run keeps of a step beside the plan: a resolved launch.
const LAUNCH_BYTES: usize = 48;

/// Where a storage lies.
#[derive(Clone, Copy)]
enum Place {
    /// Not touched yet.
    Untouched,
    /// In the arena.
    Buffer(u32),
    /// The host's own bytes: nobody writes them and the layout is theirs.
    Host(HostId),
}

struct Builder<'a> {
    verified: &'a Arc<Verified>,
    layout: &'a Layout,
    plan: Plan,
    places: Vec<Place>,
    geometry_index: HashMap<Geometry, u32>,
    pool_index: HashMap<(DType, i64), u32>,
    prepared_index: HashMap<(usize, u32, Box<[Address]>), u32>,
    scratch_bytes: u64,
    origin: u32,
}

impl<'a> Builder<'a> {
    fn new(verified: &'a Arc<Verified>, layout: &'a Layout, options: &Options) -> Self {
        let plan = Plan {
            verified: Arc::clone(verified),
            origins: None,
            options: options.clone(),
            steps: Vec::new(),
            costs: Vec::new(),
            geometries: Vec::new(),
            addresses: Vec::new(),
            buffers: Vec::new(),
            pool: Vec::new(),
            prepared: Vec::new(),
            downloads: Vec::new(),
            checks: Vec::new(),
            limb_major_storages: layout.count() as u32,
            layout: layout.clone(),
            places: Vec::new(),
            memory: Memory::default(),
        };
        Self {
            verified,
            layout,
            plan,
            places: vec![Place::Untouched; verified.storages().len()],
            geometry_index: HashMap::new(),
            pool_index: HashMap::new(),
            prepared_index: HashMap::new(),
            scratch_bytes: 0,
            origin: 0,
        }
    }

    fn action(&mut self, action: &Action) -> Result<(), PlanError> {
        match action {
            // Storage appears when it is first touched; a view is arithmetic on strides.
            Action::Upload { .. } | Action::Allocate { .. } | Action::View { .. } => Ok(()),
            Action::Copy { source, value, .. } => self.copy(*source, *value),
            Action::Kernel { call, out } => self.kernel(call, *out),
            Action::Download { value, host } => self.download(*value, *host),
            Action::Composite { .. } => Err(self.internal("a composite op was not expanded")),
        }
    }

    /// A reshape or `contiguous` that needs new storage: the destination is seen under the
    /// source's shape, and each element goes to its place.
    fn copy(&mut self, source: ValueId, value: ValueId) -> Result<(), PlanError> {
        let from = self.layout.view(self.verified, source).clone();
        let whole = self.layout.view(self.verified, value);
        let to = match whole.reshape(&from.shape) {
            Ok(Some(view)) => view,
            _ => return Err(self.internal("a copy whose destination has no such view")),
        };
        self.touch(value, Touch::WriteAll)?;
        self.touch(source, Touch::Read)?;
        let dtype = self.value(value)?.dtype;
        let operands = [self.address(value, &to)?, self.address(source, &from)?];
        self.copy_step(&to, &from, dtype, operands)
    }

    fn download(&mut self, value: ValueId, host: HostId) -> Result<(), PlanError> {
        let from = self.layout.view(self.verified, value).clone();
        self.touch(value, Touch::Read)?;
        let info = self.value(value)?;
        let ty = cloakwork_ir::Type::new(info.dtype, from.shape.clone());
        let index = self.plan.downloads.len() as u32;
        let to = View::contiguous(from.shape.clone());
        let output = Address {
            space: Space::Output,
            index,
            offset: 0,
        };
        let operands = [output, self.address(value, &from)?];
        self.plan.memory.output_bytes += ty.size_bytes();
        self.copy_step(&to, &from, ty.dtype, operands)?;
        let step = (self.plan.steps.len() as u32).saturating_sub(1);
        self.plan.downloads.push(Download { step, host, ty });
        Ok(())
    }

    fn copy_step(
        &mut self,
        to: &View,
        from: &View,
        dtype: DType,
        addresses: [Address; 2],
    ) -> Result<(), PlanError> {
        let based = |view: &View, param| {
            let view = View {
                offset: 0,
                ..view.clone()
            };
            LaunchInput::View(Source::Param(param), view)
        };
        let launch = Launch::elementwise("copy", &to.shape, &[based(to, 0), based(from, 1)])
            .map_err(|error| self.internal(&error.to_string()))?;
        let row = self.row("copy", dtype, dtype)?;
        let elements = to.shape.elements();
        let cost = StepCost {
            operations: elements,
            bytes: 2 * elements * dtype.size_bytes() as u64,
        };
        self.push(row, &launch, &addresses, Prepared::None, cost);
        Ok(())
    }

    fn kernel(&mut self, call: &Call, out: ValueId) -> Result<(), PlanError> {
        let Body::Kernel(body) = &call.def.body else {
            return Err(self.internal("a kernel action whose op has no kernel"));
        };
        let (layout, verified) = (self.layout, self.verified);
        let view_of = |value| layout.view(verified, value);
        let (launches, operations) = verified
            .with_args(call, view_of, |args| {
                (body.launch)(args).map(|launches| (launches, (call.def.operations)(args)))
            })
            .map_err(|error| self.internal(&error.to_string()))?;
        self.touch_operands(call, out, body.access)?;
        self.checks(call, body.checks)?;
        for launch in &launches {
            // An op of several launches does its work in the last of them.
            let last = std::ptr::eq(launch, launches.last().unwrap_or(launch));
            self.launch(call, launch, if last { operations } else { 0 })?;
        }
        Ok(())
    }

    fn touch_operands(
        &mut self,
        call: &Call,
        out: ValueId,
        access: Access,
    ) -> Result<(), PlanError> {
        let target = self.value(out)?.storage;
        let out_param = call
            .def
            .params
            .iter()
            .position(|p| p.kind == ParamKind::Out);
        let mut reads_target = access == Access::Accumulate;
        for param in 0..call.values.len() {
            let Some(value) = call.value(param) else {
                continue;
            };
            if Some(param) == out_param {
                continue;
            }
            reads_target |= self.value(value)?.storage == target;
            self.touch(value, Touch::Read)?;
        }
        self.touch(
            out,
            if reads_target {
                Touch::Read
            } else {
                Touch::WriteAll
            },
        )
    }

    fn launch(&mut self, call: &Call, launch: &Launch, operations: u64) -> Result<(), PlanError> {
        let mut addresses = SmallVec::<[Address; 6]>::new();
        let mut dtypes = SmallVec::<[DType; 6]>::new();
        let result = launch
            .operands
            .first()
            .and_then(|o| self.dtype_of(call, o.source));
        let result = result.ok_or_else(|| self.internal("a launch without a result"))?;
        let mut bytes = 0;
        for operand in &launch.operands {
            let dtype = self.dtype_of(call, operand.source).unwrap_or(result);
            let size = dtype.size_bytes() as i64;
            addresses.push(match operand.source {
                Source::Param(param) => {
                    let value = call.value(param as usize);
                    let value = value.ok_or_else(|| self.internal("no such operand"))?;
                    let storage = self.value(value)?.storage;
                    self.storage_address(storage, operand.offset * size)?
                }
                Source::Int(value) => self.pool_address(dtype, value),
                Source::Null => Address::NULL,
            });
            if operand.source != Source::Null {
                bytes += touched(&launch.dims, &operand.strides) * size as u64;
            }
            dtypes.push(dtype);
        }
        let input = dtypes.get(1).copied().unwrap_or(result);
        let row = self.row(launch.kernel, input, result)?;
        if launch.units() == 0 {
            return Ok(());
        }
        let prepared = self.prepare(call, launch, row, &addresses)?;
        self.push(
            row,
            launch,
            &addresses,
            prepared,
            StepCost { operations, bytes },
        );
        Ok(())
    }

    fn dtype_of(&self, call: &Call, source: Source) -> Option<DType> {
        match source {
            Source::Param(param) => {
                let value = call.value(param as usize)?;
                self.verified.value(value).map(|info| info.dtype)
            }
            _ => None,
        }
    }

    fn row(
        &self,
        kernel: &'static str,
        input: DType,
        output: DType,
    ) -> Result<&'static KernelRow, PlanError> {
        select(kernel, input, output, self.plan.options.isa).ok_or_else(|| PlanError::NoKernel {
            step: self.origin,
            kernel: kernel.to_owned(),
            input,
            output,
        })
    }

    /// Constants that a kernel derives: once, where their operands never change, else each time.
    fn prepare(
        &mut self,
        call: &Call,
        launch: &Launch,
        row: &'static KernelRow,
        addresses: &[Address],
    ) -> Result<Prepared, PlanError> {
        let geometry = self.geometry(launch);
        let shape = self.shape(geometry);
        let bytes = row.prepared_bytes(&shape);
        if bytes == 0 {
            return Ok(Prepared::None);
        }
        let constant = launch
            .operands
            .iter()
            .zip(addresses)
            .enumerate()
            .all(|(i, (o, at))| {
                let read = row.constant_operands & (1 << i) != 0;
                let known = match o.source {
                    Source::Param(param) => call.is_constant(param as usize),
                    _ => true,
                };
                !read || (known && at.space != Space::Buffer)
            });
        if !constant {
            let first = self.plan.steps.len() as u32;
            let buffer = self.buffer(bytes, first);
            return Ok(Prepared::Dynamic(buffer));
        }
        // Only what `prepare` reads tells two of them apart.
        let read: Box<[Address]> = addresses
            .iter()
            .enumerate()
            .map(|(i, at)| {
                if row.constant_operands & (1 << i) != 0 {
                    *at
                } else {
                    Address::NULL
                }
            })
            .collect();
        let key = (std::ptr::from_ref(row) as usize, geometry, read);
        if let Some(&index) = self.prepared_index.get(&key) {
            return Ok(Prepared::Constant(index));
        }
        let index = self.plan.prepared.len() as u32;
        let addresses = key.2.clone();
        self.plan.prepared.push(PreparedConstant {
            row,
            geometry,
            addresses,
            bytes,
        });
        self.plan.memory.prepared_bytes += bytes.next_multiple_of(arena::ALIGNMENT_BYTES);
        self.prepared_index.insert(key, index);
        Ok(Prepared::Constant(index))
    }

    fn checks(
        &mut self,
        call: &Call,
        rules: &'static [cloakwork_ops::ContentCheck],
    ) -> Result<(), PlanError> {
        for rule in rules {
            let Some(param) = call.def.param(rule.operand()) else {
                continue;
            };
            let Some(value) = call.value(param) else {
                continue;
            };
            if call.is_constant(param) {
                continue;
            }
            let (layout, verified) = (self.layout, self.verified);
            let bound = verified
                .with_args(call, |v| layout.view(verified, v), |args| rule.bound(args))
                .map_err(|error| self.internal(&error.to_string()))?;
            let Some(bound) = bound else { continue };
            let view = layout.view(verified, value).clone();
            let address = self.address(value, &view)?;
            self.plan.checks.push(Check {
                before: self.plan.steps.len() as u32,
                origin: self.origin,
                rule: *rule,
                address,
                dtype: self.value(value)?.dtype,
                view,
                bound,
            });
        }
        Ok(())
    }

    fn push(
        &mut self,
        row: &'static KernelRow,
        launch: &Launch,
        addresses: &[Address],
        prepared: Prepared,
        cost: StepCost,
    ) {
        let geometry = self.geometry(launch);
        let scratch = row.scratch_bytes(&self.shape(geometry));
        self.scratch_bytes = self.scratch_bytes.max(scratch);
        let index = self.plan.steps.len() as u32;
        for address in addresses {
            if address.space == Space::Buffer {
                let buffer = &mut self.plan.buffers[address.index as usize];
                buffer.first = buffer.first.min(index);
                buffer.last = buffer.last.max(index);
            }
        }
        // Memory moves at some ten bytes a nanosecond and core; arithmetic takes about one.
        let weight = (cost.bytes / 8)
            .max(cost.operations)
            .min(u64::from(u32::MAX)) as u32;
        let first_address = self.plan.addresses.len() as u32;
        self.plan.addresses.extend_from_slice(addresses);
        let origin = self.origin;
        self.plan.steps.push(Step {
            origin,
            geometry,
            first_address,
            weight,
            prepared,
            row,
        });
        self.plan.costs.push(cost);
    }

    fn geometry(&mut self, launch: &Launch) -> u32 {
        let geometry = Geometry {
            dims: launch.dims.as_slice().into(),
            split: launch.split as u32,
            strides: launch
                .operands
                .iter()
                .flat_map(|o| o.strides.iter().copied())
                .collect(),
            params: launch.params.as_slice().into(),
        };
        if let Some(&index) = self.geometry_index.get(&geometry) {
            return index;
        }
        let index = self.plan.geometries.len() as u32;
        self.plan.geometries.push(geometry.clone());
        self.geometry_index.insert(geometry, index);
        index
    }

    fn shape(&self, geometry: u32) -> LaunchShape<'_> {
        let geometry = &self.plan.geometries[geometry as usize];
        LaunchShape {
            dims: &geometry.dims,
            strides: &geometry.strides,
            params: &geometry.params,
        }
    }

    fn pool_address(&mut self, dtype: DType, value: i64) -> Address {
        let next = self.plan.pool.len() as u32;
        let index = *self.pool_index.entry((dtype, value)).or_insert(next);
        if index == next {
            self.plan.pool.push(value);
        }
        Address {
            space: Space::Pool,
            index,
            offset: 0,
        }
    }

    fn buffer(&mut self, bytes: u64, first: u32) -> u32 {
        self.plan.buffers.push(Buffer {
            bytes,
            offset: 0,
            first,
            last: first,
        });
        self.plan.buffers.len() as u32 - 1
    }

    fn address(&self, value: ValueId, view: &View) -> Result<Address, PlanError> {
        let info = self.value(value)?;
        let offset = view.offset * info.dtype.size_bytes() as i64;
        self.storage_address(info.storage, offset)
    }

    fn storage_address(&self, storage: StorageId, offset: i64) -> Result<Address, PlanError> {
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
            Place::Untouched => Err(self.internal("an operand without a place")),
        }
    }

    /// Gives a storage its place and first contents when a step first needs it.
    fn touch(&mut self, value: ValueId, touch: Touch) -> Result<(), PlanError> {
        let id = self.value(value)?.storage;
        if !matches!(self.places[id.0 as usize], Place::Untouched) {
            return Ok(());
        }
        let storage = self.storage(id)?;
        let limb_major = self.layout.is_limb_major(id);
        if let StorageOrigin::Upload(host) = storage.origin
            && !storage.written
            && !limb_major
            && self.host_strides_are(host, &storage.root)
        {
            self.places[id.0 as usize] = Place::Host(host);
            return Ok(());
        }
        let (_, extent) = storage.root.bounds();
        let bytes = extent.max(0) as u64 * storage.dtype.size_bytes() as u64;
        let buffer = self.buffer(bytes, self.plan.steps.len() as u32);
        self.places[id.0 as usize] = Place::Buffer(buffer);
        match storage.origin {
            StorageOrigin::Upload(host) => self.upload(id, host),
            StorageOrigin::Copy => Ok(()),
            StorageOrigin::Zeros => {
                let whole = self.verified.view(value).shape.elements();
                if touch == Touch::WriteAll && whole == storage.root.shape.elements() {
                    return Ok(());
                }
                self.fill_zeros(id)
            }
        }
    }

    fn upload(&mut self, id: StorageId, host: HostId) -> Result<(), PlanError> {
        let storage = self.storage(id)?;
        let to = self.layout.root(self.verified, id);
        let from = match self.verified.program().host(host) {
            Some(HostSlot::Data(tensor)) => tensor.view().clone(),
            _ => storage.root.clone(),
        };
        let dtype = storage.dtype;
        let source = Address {
            space: Space::Host,
            index: host.0,
            offset: from.offset * dtype.size_bytes() as i64,
        };
        let offset = to.offset * dtype.size_bytes() as i64;
        let target = self.storage_address(id, offset)?;
        self.copy_step(&to, &from, dtype, [target, source])
    }

    fn fill_zeros(&mut self, id: StorageId) -> Result<(), PlanError> {
        let storage = self.storage(id)?;
        let (root, dtype) = (self.layout.root(self.verified, id), storage.dtype);
        let elements = root.shape.elements();
        if elements == 0 {
            return Ok(());
        }
        let input = LaunchInput::View(Source::Param(0), root.clone());
        let mut launch = Launch::elementwise("fill", &root.shape, &[input])
            .map_err(|error| self.internal(&error.to_string()))?;
        launch.params.push(0);
        let row = self.row("fill", dtype, dtype)?;
        let target = self.storage_address(id, 0)?;
        let bytes = elements * dtype.size_bytes() as u64;
        let cost = StepCost {
            operations: elements,
            bytes,
        };
        self.push(row, &launch, &[target], Prepared::None, cost);
        Ok(())
    }

    /// Whether a host tensor may be read in place as a storage of this root.
    fn host_strides_are(&self, host: HostId, root: &View) -> bool {
        match self.verified.program().host(host) {
            Some(HostSlot::Data(tensor)) => tensor.view().strides == root.strides,
            _ => true,
        }
    }

    fn host_start_bytes(&self, host: HostId) -> i64 {
        match self.verified.program().host(host) {
            Some(HostSlot::Data(tensor)) => {
                tensor.view().offset * tensor.dtype().size_bytes() as i64
            }
            _ => 0,
        }
    }

    fn value(&self, id: ValueId) -> Result<&'a ValueInfo, PlanError> {
        self.verified
            .value(id)
            .ok_or_else(|| self.internal("no such value"))
    }

    fn storage(&self, id: StorageId) -> Result<&'a StorageInfo, PlanError> {
        self.verified
            .storage(id)
            .ok_or_else(|| self.internal("no such storage"))
    }

    fn internal(&self, message: &str) -> PlanError {
        PlanError::Internal {
            step: self.origin,
            message: message.to_owned(),
        }
    }

    fn finish(mut self, origins: Option<Arc<[u32]>>) -> Plan {
        // A dynamic constant lives while its step runs.
        for (index, step) in self.plan.steps.iter().enumerate() {
            if let Prepared::Dynamic(buffer) = step.prepared {
                let buffer = &mut self.plan.buffers[buffer as usize];
                (buffer.first, buffer.last) = (index as u32, index as u32);
            }
        }
        self.plan.memory.scratch_bytes =
            self.scratch_bytes.next_multiple_of(arena::ALIGNMENT_BYTES)
                * self.plan.options.threads.max(1) as u64;
        self.plan.memory.table_bytes = (self.plan.steps.len() * size_of::<Step>()
            + self.plan.steps.len() * LAUNCH_BYTES
            + self.plan.addresses.len() * (size_of::<Address>() + size_of::<usize>())
            + self.plan.costs.len() * size_of::<StepCost>())
            as u64;
        self.plan.origins = origins;
        let storages = 0..self.places.len() as u32;
        let places = storages
            .map(|id| self.storage_address(StorageId(id), 0).ok())
            .collect();
        self.plan.places = places;
        self.plan
    }
}

/// How a step meets a storage.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Touch {
    /// Some element may be read.
    Read,
    /// Every element of the view is written and none is read.
    WriteAll,
}

/// Elements that an operand touches: dimensions of stride zero count once.
fn touched(dims: &[i64], strides: &[i64]) -> u64 {
    let moving = dims.iter().zip(strides).filter(|&(_, &stride)| stride != 0);
    moving.map(|(&dim, _)| dim as u64).product()
}
