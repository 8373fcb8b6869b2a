//! Facts that decide where a program's steps run: their operations, reads and writes, and the
//! kernels that devices have.

use super::zeros::{self, Zeros};
use super::{Elsewhere, Lack, Suited, Why, is_away};
use crate::graph::Reach;
use crate::layout::Layout;
use crate::{Options, PlanError};
use cloakwork_ir::{DType, Device, HostSlot, View};
use cloakwork_ops::{Access, Body, COPY_KERNEL, FUNCTION, Launch, Source};
use cloakwork_verify::{Action, Call, StorageId, StorageOrigin, ValueId, Verified};
use smallvec::SmallVec;

/// Source of a storage's initial contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Steps write them.
    Steps,
    /// A run uploads them from the host.
    Run,
    /// They are uploaded once for each plan.
    Plan,
}

/// A storage.
#[derive(Debug)]
pub(super) struct Stored {
    /// Whether it may lie on the host or on the device for which the program is planned.
    pub is_free: bool,
    /// Whether it lies in memory that only a driver reaches.
    pub away: bool,
    pub origin: Origin,
    /// The device that is wanted for it.
    pub device: Device,
    pub bytes: u64,
    /// The most bytes that a step reads of it.
    pub read_bytes: u64,
    /// The tasks that write it.
    pub writers: SmallVec<[u32; 1]>,
    /// Number of tasks that read it on the host, and on the device.
    pub readers: [u32; 2],
}

/// A step of the program that computes.
#[derive(Debug)]
pub(super) struct Task {
    pub step: u32,
    pub result: usize,
    /// Storages that it reads beside its result.
    pub reads: SmallVec<[usize; 4]>,
    /// Whether it reads the previous contents of its result.
    pub keeps: bool,
    /// Estimated time on one core of the host, and on the wanted device.
    pub host_ns: u64,
    pub device_ns: u64,
    /// Its launches.
    pub launches: u64,
    /// Whether it does nothing but copy.
    pub moves: bool,
    /// The kernel that the device lacks.
    lack: Option<Lack>,
    /// Whether it is the caller's own code, which runs only on the host.
    is_host_only: bool,
    /// Whether only the device has its kernel.
    pub is_device_only: bool,
}

impl Task {
    /// Whether it can run on the device, if its result lies there.
    pub fn can_leave(&self) -> bool {
        self.lack.is_none() && !self.is_host_only
    }
}

/// A check of a step's contents for which the device of its operand has no kernel.
#[derive(Debug)]
struct HostCheck {
    step: u32,
    operand: usize,
    lack: Lack,
}

pub(crate) struct Facts {
    pub(super) storages: Vec<Stored>,
    pub(super) tasks: Vec<Task>,
    checks: Vec<HostCheck>,
    zeros: Vec<Zeros>,
}

impl Facts {
    pub fn of(verified: &Verified, layout: &Layout, options: &Options) -> Result<Self, PlanError> {
        let program = Program {
            verified,
            layout,
            options,
        };
        let ids = 0..verified.storages().len() as u32;
        let storages = ids.filter_map(|id| program.stored(StorageId(id)));
        let mut facts = Self {
            storages: storages.collect(),
            tasks: Vec::new(),
            checks: Vec::new(),
            zeros: zeros::lacking(verified, options),
        };
        for (step, action) in verified.actions() {
            let task = match action {
                Action::Kernel { call, out } => {
                    for (value, lack) in program.checked_here(call) {
                        facts.check(&program, *step, (value, lack));
                    }
                    program.kernel(*step, call, *out)?
                }
                Action::Copy { source, value, .. } => program.copy(*step, *source, *value),
                Action::Download { value, .. } => {
                    facts.read(&program, *value, options.resident.outputs.is_some());
                    continue;
                }
                _ => continue,
            };
            facts.add(&program, task, action);
        }
        Ok(facts)
    }

    fn add(&mut self, program: &Program, task: Option<Task>, action: &Action) {
        let Some(task) = task else { return };
        let away = self.storages[task.result].away && task.can_leave();
        for value in operands(action) {
            if program.storage_of(value) != Some(task.result) {
                self.note_bytes(program, value);
            }
        }
        for &operand in &task.reads {
            self.storages[operand].readers[usize::from(away)] += 1;
        }
        let number = self.tasks.len() as u32;
        self.storages[task.result].writers.push(number);
        self.tasks.push(task);
    }

    /// Records a read that belongs to no task: by the host, or by the device.
    fn read(&mut self, program: &Program, value: ValueId, there: bool) {
        self.note_bytes(program, value);
        if let Some(storage) = program.storage_of(value) {
            self.storages[storage].readers[usize::from(there)] += 1;
        }
    }

    /// Records a check that the host does because the device has no kernel for it.
    fn check(&mut self, program: &Program, step: u32, (value, lack): (ValueId, Lack)) {
        self.read(program, value, false);
        if let Some(operand) = program.storage_of(value) {
            self.checks.push(HostCheck {
                step,
                operand,
                lack,
            });
        }
    }

    fn note_bytes(&mut self, program: &Program, value: ValueId) {
        let (Some(storage), Some(info)) =
            (program.storage_of(value), program.verified.value(value))
        else {
            return;
        };
        let reach = Reach::of(program.view(value), 0, info.dtype.size_bytes());
        let stored = &mut self.storages[storage];
        stored.read_bytes = stored.read_bytes.max(reach.bytes());
    }

    /// Whether a task runs on the device.
    pub(super) fn is_away(&self, task: &Task) -> bool {
        self.storages[task.result].away && task.can_leave()
    }

    /// The tasks that run on the host although a device was wanted, the checks that the host does
    /// of contents which lie on a device, and the zeros that it makes for a device.
    pub fn elsewhere(&self, suited: &Suited, options: &Options) -> Vec<Elsewhere> {
        let verified = &suited.verified;
        let here = self.tasks.iter().filter(|task| !self.is_away(task));
        let entries = here.filter_map(|task| {
            let device = options.device_of(verified.storages()[task.result].device);
            let moved = is_away(options, device) && !task.is_host_only;
            moved.then(|| Elsewhere {
                origin: task.step,
                device,
                why: match task.lack {
                    None => Why::Cheaper,
                    Some(lack) => Why::NoKernel {
                        lack,
                        expands: suited.dearer.contains(&task.step),
                    },
                },
            })
        });
        let checks = self.checks.iter().filter_map(|check| {
            let stored = &self.storages[check.operand];
            stored.away.then_some(Elsewhere {
                origin: check.step,
                device: stored.device,
                why: Why::NoCheck(check.lack),
            })
        });
        let zeros = self.zeros.iter().filter_map(|zeros| {
            let stored = &self.storages[zeros.storage];
            stored.away.then_some(Elsewhere {
                origin: zeros.step,
                device: stored.device,
                why: Why::NoFill(zeros.lack),
            })
        });
        let mut all: Vec<Elsewhere> = checks.chain(zeros).chain(entries).collect();
        all.sort_by_key(|entry| entry.origin);
        all.dedup();
        all
    }
}

fn operands(action: &Action) -> SmallVec<[ValueId; 4]> {
    match action {
        Action::Kernel { call, .. } => {
            let params = 0..call.values.len();
            params.filter_map(|param| call.value(param)).collect()
        }
        Action::Copy { source, .. } => [*source].into_iter().collect(),
        _ => SmallVec::new(),
    }
}

struct Program<'a> {
    verified: &'a Verified,
    layout: &'a Layout,
    options: &'a Options,
}

impl Program<'_> {
    fn storage_of(&self, value: ValueId) -> Option<usize> {
        let info = self.verified.value(value)?;
        Some(info.storage.0 as usize)
    }

    fn view(&self, value: ValueId) -> &View {
        self.layout.view(self.verified, value)
    }

    fn stored(&self, id: StorageId) -> Option<Stored> {
        let info = self.verified.storage(id)?;
        let (slot, host) = match info.origin {
            StorageOrigin::Upload(slot) => (Some(slot), self.verified.program().host(slot)),
            _ => (None, None),
        };
        let holder = slot.and_then(|slot| self.options.resident.input(slot));
        // A tensor that no task writes is read in the host's memory, or its layout is changed there
        // once.
        let is_data = matches!(host, Some(HostSlot::Data(_)));
        let in_place = info.last_write.is_none() && (is_data || !self.layout.is_limb_major(id));
        let stays = host.is_some() && in_place;
        let wanted = self.options.device_of(info.device);
        let device = holder.filter(|_| stays).unwrap_or(wanted);
        let away = is_away(self.options, device) && (!stays || holder.is_some());
        let by_word = info.device != Device::Cpu || (stays && holder.is_some());
        let origin = match (host.is_some() && holder.is_none(), stays && is_data) {
            (false, _) => Origin::Steps,
            (true, true) => Origin::Plan,
            (true, false) => Origin::Run,
        };
        let (_, extent) = info.root.bounds();
        Some(Stored {
            is_free: away && !by_word,
            away,
            origin,
            device,
            bytes: extent.max(0) as u64 * info.dtype.size_bytes() as u64,
            read_bytes: 0,
            writers: SmallVec::new(),
            readers: [0; 2],
        })
    }

    /// The operands whose elements the host checks because the device has no kernel for it.
    fn checked_here(&self, call: &Call) -> impl Iterator<Item = (ValueId, Lack)> {
        let rules = call.def.body.checks().iter();
        rules.filter_map(|rule| {
            let param = call.def.param(rule.operand())?;
            let value = call.value(param).filter(|_| !call.is_constant(param))?;
            let view_of = |value| self.view(value);
            let bound = self
                .verified
                .with_views(call, view_of, |args| rule.bound(args));
            let info = self.verified.value(value)?;
            let checking = rule.launch(bound.ok()??, info.dtype, self.view(value))?;
            let device = self.verified.storage(info.storage)?.device;
            let types = [checking.dtype, DType::U64];
            let device = self.options.device_of(device);
            let kernel = checking.launch.kernel;
            let row = self.options.kernel(device, kernel, types);
            let [input, output] = types;
            let lack = Lack {
                kernel,
                input,
                output,
            };
            row.is_none().then_some((value, lack))
        })
    }

    fn kernel(&self, step: u32, call: &Call, out: ValueId) -> Result<Option<Task>, PlanError> {
        let Body::Kernel(body) = &call.def.body else {
            return Ok(None);
        };
        let (verified, view_of) = (self.verified, |value| self.view(value));
        let found = verified.with_views(call, view_of, |args| {
            (body.launch)(args).map(|launches| (launches, (call.def.operations)(args)))
        });
        let (launches, operations) = found.map_err(|error| PlanError::Internal {
            step,
            message: error.to_string(),
        })?;
        let values = (0..call.values.len()).filter_map(|param| call.value(param));
        let Some(mut task) = self.task(step, values, out) else {
            return Ok(None);
        };
        task.keeps |= body.access == Access::Accumulate;
        task.moves = launches.iter().all(|launch| launch.kernel == COPY_KERNEL);
        self.weigh(&mut task, call, (&launches, operations));
        Ok(Some(task))
    }

    fn task(&self, step: u32, values: impl Iterator<Item = ValueId>, out: ValueId) -> Option<Task> {
        let result = self.storage_of(out)?;
        let mut reads = SmallVec::new();
        let mut keeps = false;
        for value in values {
            match self.storage_of(value) {
                Some(storage) if storage == result => keeps |= value != out,
                Some(storage) if !reads.contains(&storage) => reads.push(storage),
                _ => {}
            }
        }
        Some(Task {
            step,
            result,
            reads,
            keeps,
            host_ns: 0,
            device_ns: 0,
            launches: 0,
            moves: false,
            lack: None,
            is_host_only: false,
            is_device_only: false,
        })
    }

    /// Adds the time of launches, and the kernel that the wanted device lacks.
    fn weigh(&self, task: &mut Task, call: &Call, (launches, operations): (&[Launch], u64)) {
        for (index, launch) in launches.iter().enumerate() {
            task.is_host_only |= launch.kernel == FUNCTION;
            let last = index + 1 == launches.len();
            let operations = if last { operations } else { 0 };
            let bytes = launch.operands.iter().map(|operand| {
                let dtype = dtype_of(self.verified, call, operand.source);
                let size = dtype.map_or(0, DType::size_bytes) as u64;
                touched(&launch.dims, &operand.strides).saturating_mul(size)
            });
            let bytes = bytes.fold(0, u64::saturating_add);
            let types = launch_types(self.verified, call, launch);
            let on_host =
                types.and_then(|types| self.options.kernel(Device::Cpu, launch.kernel, types));
            task.is_device_only |= call.def.custom().is_some() && on_host.is_none();
            self.launch(task, (launch, types), operations, bytes);
        }
    }

    fn launch(
        &self,
        task: &mut Task,
        (launch, types): (&Launch, Option<[DType; 2]>),
        operations: u64,
        bytes: u64,
    ) {
        let device = self.verified.storages()[task.result].device;
        let (driver, _) = self.options.drivers.of(self.options.device_of(device));
        let (host, _) = self.options.drivers.of(Device::Cpu);
        let computing = operations.max(launch.weight_ns());
        task.launches += 1;
        task.host_ns += host.costs().launch_ns(computing, bytes);
        task.device_ns += driver.costs().launch_ns(computing, bytes);
        let Some(types) = types else { return };
        let wanted = self.options.device_of(device);
        let known = self.options.kernel(wanted, launch.kernel, types);
        if known.is_none() && launch.units() > 0 && launch.kernel != FUNCTION {
            task.lack = task.lack.or(Some(Lack {
                kernel: launch.kernel,
                input: types[0],
                output: types[1],
            }));
        }
    }

    fn copy(&self, step: u32, source: ValueId, value: ValueId) -> Option<Task> {
        let mut task = self.task(step, std::iter::once(source), value)?;
        task.moves = true;
        let dtype = self.verified.value(value)?.dtype;
        let elements = self.view(value).shape.elements();
        let launch = Launch {
            kernel: COPY_KERNEL,
            dims: SmallVec::from_slice(&[elements as i64]),
            split: 1,
            operands: SmallVec::new(),
            params: SmallVec::new(),
        };
        let bytes = 2 * elements * dtype.size_bytes() as u64;
        self.launch(&mut task, (&launch, Some([dtype; 2])), elements, bytes);
        Some(task)
    }
}

/// The type of an operand of a launch.
pub(crate) fn dtype_of(verified: &Verified, call: &Call, source: Source) -> Option<DType> {
    match source {
        Source::Param(param) => {
            let value = call.value(param as usize)?;
            verified.value(value).map(|info| info.dtype)
        }
        Source::Temporary(dtype) => Some(dtype),
        _ => None,
    }
}

/// The types that select a launch's kernel: of its first operand and of its result.
pub(super) fn launch_types(
    verified: &Verified,
    call: &Call,
    launch: &Launch,
) -> Option<[DType; 2]> {
    let of = |operand: usize| {
        let operand = launch.operands.get(operand)?;
        dtype_of(verified, call, operand.source)
    };
    let result = of(0)?;
    Some([of(1).unwrap_or(result), result])
}

/// Number of elements that an operand touches: dimensions of stride zero count once.
pub(crate) fn touched(dims: &[i64], strides: &[i64]) -> u64 {
    let moving = dims.iter().zip(strides).filter(|&(_, &stride)| stride != 0);
    moving.map(|(&dim, _)| dim as u64).product()
}
