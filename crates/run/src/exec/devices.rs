//! Devices with drivers while an executor uses them: their memory and queues.
//!
//! The calling thread hands out steps in their order: its own it does at once, those of a device it
//! puts into a queue, and it waits where the plan says so. Nobody else looks at a device's memory;
//! what the host is to see is downloaded.

use crate::RunError;
use crate::exec::lent::Lent;
use crate::exec::segments::Built;
use crate::exec::table::{Base, Memories, Table};
use crate::memory::Block;
use crate::sync::{Arc, Mutex, MutexGuard};
use cloakwork_devices::{
    DeviceError, DeviceMemory, Event, FailedCheck, OpenDevice, Queue, Segment,
};
use cloakwork_kernels::RawLaunch;
use cloakwork_plan::{Constant, Home, Plan, Role, Step, Wait, Way, Work};
use cloakwork_process::Once;
use std::ffi::c_void;
use std::slice;
use std::sync::PoisonError;

/// A device of a plan. What is done in its queues is done before its memory goes.
struct Own {
    arena: u16,
    /// In the order of [`Role::ALL`].
    queues: [Mutex<Queue>; 3],
    memory: DeviceMemory,
    /// Constants that the device computes once: no run changes them.
    constants: DeviceMemory,
    /// The status words of checks: zeros, until a check fails.
    statuses: DeviceMemory,
    device: Arc<OpenDevice>,
}

/// A queue that no other thread uses. Its driver may wait, so a fork does not wait for this lock:
/// the child opens its own devices.
fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The devices of a plan.
#[derive(Default)]
pub struct Devices {
    /// In the order of [`Plan::segments`]. They go before the queues and the memory of devices.
    pub(super) segments: Once<Built>,
    all: Vec<Own>,
}

impl Devices {
    /// Opens a plan's devices and allocates their arenas, and a block each for constants.
    ///
    /// # Errors
    /// A driver's.
    pub fn of(plan: &Plan) -> Result<Self, RunError> {
        let mut all = Vec::new();
        for (index, arena) in (0u16..).zip(&plan.arenas) {
            let Home::Device(device) = arena.home else {
                continue;
            };
            if !plan.is_away(arena.home) {
                continue;
            }
            let (driver, number) = plan.options.drivers.of(device);
            // Memory that a run finds or leaves there is that of an opening.
            let is_shared = plan.options.resident.devices().any(|one| one == device);
            let device = match is_shared {
                true => driver.shared(number)?,
                false => driver.open(number)?,
            };
            let queue = || device.queue().map(Mutex::new);
            all.push(Own {
                arena: index,
                queues: [queue()?, queue()?, queue()?],
                memory: device.allocate(arena.bytes)?,
                constants: device.allocate(arena.constant_bytes)?,
                statuses: device.allocate(arena.status_bytes)?,
                device,
            });
        }
        Ok(Self {
            segments: Once::new(),
            all,
        })
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether this process opened them, and none was lost since.
    pub fn are_here(&self) -> bool {
        self.all.iter().all(|own| own.device.serves())
    }

    fn own(&self, arena: u16) -> Result<&Own, RunError> {
        let found = self.all.iter().find(|own| own.arena == arena);
        found.ok_or_else(|| RunError::Internal(format!("arena {arena} has no device")))
    }

    /// Whether a device was opened for this.
    pub fn has(&self, device: &Arc<OpenDevice>) -> bool {
        self.all.iter().any(|own| Arc::ptr_eq(&own.device, device))
    }

    /// Memory for a result that the device of an arena keeps.
    ///
    /// # Errors
    /// The driver's.
    pub fn room(&self, arena: u16, bytes: u64) -> Result<DeviceMemory, RunError> {
        Ok(self.own(arena)?.device.allocate(bytes)?)
    }

    /// The device of an arena.
    pub(super) fn device(&self, arena: u16) -> Result<&Arc<OpenDevice>, RunError> {
        Ok(&self.own(arena)?.device)
    }

    /// Where an arena begins, if it is a device's.
    pub fn base(&self, arena: u16) -> Option<*mut u8> {
        let own = self.own(arena).ok()?;
        Some(own.memory.address().cast())
    }

    /// Where a device has the status word of a check.
    pub fn status(&self, arena: u16, check: u32) -> Option<*const u8> {
        let start = self.own(arena).ok()?.statuses.address().cast::<u8>();
        let offset = check as usize * size_of::<u64>();
        Some(start.wrapping_add(offset).cast_const())
    }

    /// Where a device's constant lies.
    ///
    /// # Errors
    /// The arena is no device's.
    pub fn constant(&self, constant: &Constant) -> Result<Base, RunError> {
        let start = self.own(constant.arena)?.constants.address();
        Ok(Base(
            start.wrapping_byte_add(constant.offset as usize).cast(),
        ))
    }

    /// Brings their constants to devices: what is uploaded first, and then what is prepared there.
    ///
    /// # Errors
    /// A driver's, or not enough memory.
    pub fn compute_constants(&self, memories: &Memories) -> Result<(), RunError> {
        // It outlives the transfers, also where a driver refuses one.
        let mut gathered = Vec::new();
        let _draining = self.draining();
        for own in &self.all {
            let constants = memories.plan.constants.iter();
            let constants: Vec<&Constant> = constants.filter(|c| c.arena == own.arena).collect();
            gathered.push(self.upload_together(memories, own, &constants)?);
            for constant in &constants {
                self.compute(memories, own, constant)?;
            }
        }
        self.finish()
    }

    /// Copies small constants into one memory and uploads that. It must outlive the transfer.
    fn upload_together(
        &self,
        memories: &Memories,
        own: &Own,
        constants: &[&Constant],
    ) -> Result<Block, RunError> {
        let small = || constants.iter().filter(|constant| constant.is_gathered());
        let end = small()
            .map(|constant| constant.offset + constant.bytes)
            .max();
        let block = Block::zeroed(end.unwrap_or(0))?;
        for constant in small() {
            let from = memories.pointer(&constant.operands[0])?.cast::<u8>();
            let to = block.as_ptr().wrapping_add(constant.offset as usize);
            // SAFETY: the constant's source has so many bytes; the block reaches to the last of
            // these places.
            unsafe { std::ptr::copy_nonoverlapping(from, to, constant.bytes as usize) };
        }
        if let Some(bytes) = end {
            let mut queue = lock(&own.queues[Role::Computes as usize]);
            let start = own.constants.address();
            // SAFETY: both have so many bytes; the caller keeps the block until the queue is done.
            unsafe { queue.upload(start, block.as_ptr().cast(), bytes) }?;
        }
        Ok(block)
    }

    /// Uploads a large constant, or prepares one.
    fn compute(&self, memories: &Memories, own: &Own, constant: &Constant) -> Result<(), RunError> {
        let Base(at) = self.constant(constant)?;
        let geometry = &memories.plan.geometries[constant.geometry as usize];
        let operands = constant.operands.iter().map(|at| memories.pointer(at));
        let operands: Vec<*mut c_void> = operands.collect::<Result<_, _>>()?;
        let mut queue = lock(&own.queues[Role::Computes as usize]);
        // SAFETY: the plan's geometry comes from a verified program, and its operands are tensors
        // of the program, or constants made of them, where the step expects them.
        unsafe {
            match constant.work {
                Work::Transfer(_) if constant.is_gathered() => {}
                Work::Transfer(_) => queue.upload(at.cast(), operands[0], constant.bytes)?,
                Work::Prepare { row } => {
                    let launch = RawLaunch::new(&geometry.shape(), &operands, std::ptr::null());
                    queue.prepare(row, (&launch, geometry.params.len()), at.cast())?;
                }
                Work::Launch { .. } | Work::Check(_) | Work::Function(_) => {
                    let text = "a constant that no device computes";
                    return Err(RunError::Internal(text.into()));
                }
            }
        }
        Ok(())
    }

    /// Waits until all that was given to queues is done.
    ///
    /// # Errors
    /// What went wrong: of several failed checks the first of the plan, else what a driver says.
    pub fn finish(&self) -> Result<(), RunError> {
        let mut wrong: Result<(), DeviceError> = Ok(());
        for queue in self.all.iter().flat_map(|own| &own.queues) {
            let mut queue = lock(queue);
            let done = queue.record().and_then(|event| queue.finish(event));
            wrong = match (check_of(&wrong), check_of(&done)) {
                (None, Some(_)) => done,
                (Some(known), Some(found)) if found < known => done,
                _ => wrong.and(done),
            };
        }
        Ok(wrong?)
    }

    /// Finishes when it goes.
    pub fn draining(&self) -> Draining<'_> {
        Draining(self)
    }

    /// Bytes of a device's memory, when all that was given to queues is done.
    ///
    /// # Errors
    /// A driver's.
    pub fn read(&self, arena: u16, from: *const c_void, bytes: u64) -> Result<Block, RunError> {
        self.finish()?;
        let block = Block::uninit(bytes)?;
        let _draining = self.draining();
        let mut queue = lock(&self.own(arena)?.queues[Role::Downloads as usize]);
        // SAFETY: the block has so many bytes, and lives until the queue is past this.
        unsafe { queue.download(block.as_ptr().cast(), from, bytes) }?;
        let done = queue.record()?;
        queue.finish(done)?;
        drop(queue);
        Ok(block)
    }

    /// Bytes of a device's memory, also where its queues have failed: what the host looks at to
    /// say why.
    ///
    /// # Errors
    /// A driver's.
    pub fn look(&self, arena: u16, from: *const c_void, bytes: u64) -> Result<Block, RunError> {
        let block = Block::uninit(bytes)?;
        let mut queue = self.own(arena)?.device.queue()?;
        // SAFETY: the block has so many bytes, and lives until the queue is past this.
        unsafe { queue.download(block.as_ptr().cast(), from, bytes) }?;
        let done = queue.record()?;
        queue.finish(done)?;
        Ok(block)
    }

    /// Overwrites what runs have left in the arenas.
    ///
    /// # Errors
    /// A driver's, or not enough memory.
    pub fn zeroize(&self) -> Result<(), RunError> {
        self.finish()?;
        for own in &self.all {
            let bytes = own.memory.bytes();
            let zeros = Block::zeroed(bytes)?;
            let _draining = self.draining();
            let mut queue = lock(&own.queues[Role::Uploads as usize]);
            // SAFETY: both have so many bytes; the block lives until the queue is past this.
            unsafe { queue.upload(own.memory.address(), zeros.as_ptr().cast(), bytes) }?;
            let done = queue.record()?;
            queue.finish(done)?;
        }
        Ok(())
    }
}

/// The check at which a queue failed, if it did at one.
fn check_of(done: &Result<(), DeviceError>) -> Option<FailedCheck> {
    match done {
        Err(DeviceError::Check { failed, .. }) => Some(*failed),
        _ => None,
    }
}

/// Waits for all queues when it goes: what they use outlives it.
pub struct Draining<'a>(&'a Devices);

impl Drop for Draining<'_> {
    fn drop(&mut self) {
        // The error was queried before.
        let _ = self.0.finish();
    }
}

/// How far a run with devices is.
pub struct Flow<'a> {
    devices: &'a Devices,
    plan: &'a Plan,
    waits: std::iter::Peekable<slice::Iter<'a, Wait>>,
    /// Events that were recorded, in the plan's order.
    recorded: Vec<Event>,
    /// Segments that are submitted at once, in the plan's order, and how many of them were passed.
    segments: &'a [Option<Segment>],
    passed: usize,
    /// Copies of launches that drivers get, if they get copies.
    lent: Option<Lent>,
    /// Each step or segment is finished before the next is submitted, so that its time is known.
    timed: bool,
}

impl<'a> Flow<'a> {
    /// The flow of a run; none for a plan without devices.
    pub fn of(plan: &'a Plan, devices: &'a Devices, timed: bool) -> Option<Self> {
        if devices.is_empty() {
            return None;
        }
        Some(Self {
            devices,
            plan,
            waits: plan.waits.iter().peekable(),
            recorded: Vec::with_capacity(plan.events.len()),
            segments: &[],
            passed: 0,
            lent: None,
            timed,
        })
    }

    /// The same; with segments, those that were built are submitted at once.
    pub fn submitting(mut self, segments: bool) -> Self {
        let built = self.devices.segments.get().filter(|_| segments);
        self.segments = built.map_or(&[], Vec::as_slice);
        self
    }

    /// The same; with `lends`, drivers get copies of launches that are overwritten after the call.
    pub fn lending(mut self, lends: bool) -> Self {
        self.lent = lends.then(Lent::default);
        self
    }

    /// Whether a segment begins at a step that was built.
    pub fn begins_segment(&mut self, index: usize) -> bool {
        let (Some(segment), Some(built)) = (
            self.plan.segments.get(self.passed),
            self.segments.get(self.passed),
        ) else {
            return false;
        };
        let is_here = segment.first as usize == index;
        if is_here && built.is_none() {
            self.passed += 1;
        }
        is_here && built.is_some()
    }

    /// Submits the segment that begins at a step. Gives the first step behind it.
    ///
    /// # Errors
    /// A driver's.
    pub fn submit(&mut self, index: usize) -> Result<usize, RunError> {
        let built = self.segments.get(self.passed).and_then(Option::as_ref);
        let built =
            built.ok_or_else(|| RunError::Internal("a segment that is not built".into()))?;
        let end = self.plan.segments[self.passed].end as usize;
        self.passed += 1;
        self.before(index + 1)?;
        let mut queue = lock(self.queue(self.plan.steps[index].queue)?);
        // SAFETY: the segment is of this queue's device and runs in no other queue; the plan's
        // waits keep apart what runs at a time, and its memory outlives the run.
        unsafe { queue.run_segment(built) }?;
        self.behind(&mut queue, end - 1)?;
        Ok(end)
    }

    /// Records the event behind a step, if the plan has one there, and finishes what is timed.
    fn behind(&mut self, queue: &mut Queue, index: usize) -> Result<(), RunError> {
        let next = self.plan.events.get(self.recorded.len());
        if next.is_some_and(|&step| step as usize == index) {
            self.recorded.push(queue.record()?);
        }
        if self.timed {
            let done = queue.record()?;
            queue.finish(done)?;
        }
        Ok(())
    }

    fn queue(&self, index: u16) -> Result<&'a Mutex<Queue>, RunError> {
        let queue = &self.plan.queues[index as usize];
        let own = self.devices.own(queue.arena)?;
        Ok(&own.queues[queue.role as usize])
    }

    /// Waits for what steps before this one wait for: the host itself, or the queue of the step.
    ///
    /// # Errors
    /// A driver's.
    pub fn before(&mut self, end: usize) -> Result<(), RunError> {
        while let Some(wait) = self.waits.next_if(|wait| (wait.before as usize) < end) {
            let event = self.recorded[wait.event as usize];
            let behind = self.plan.events[wait.event as usize];
            let (waiting, behind) = (
                &self.plan.steps[wait.before as usize],
                &self.plan.steps[behind as usize],
            );
            let arena = |step: &Step| self.plan.queues[step.queue as usize].arena;
            if arena(waiting) == arena(behind) {
                lock(self.queue(waiting.queue)?).wait(event)?;
            } else {
                // What runs next is not given out before.
                lock(self.queue(behind.queue)?).finish(event)?;
            }
        }
        Ok(())
    }

    /// Waits for the checks in queues, before the caller's code runs, which may have side effects.
    ///
    /// # Errors
    /// A failed check; a driver's.
    pub fn before_function(&self) -> Result<(), RunError> {
        match self.plan.checks.iter().any(|check| check.arena > 0) {
            true => self.devices.finish(),
            false => Ok(()),
        }
    }

    /// Gives a step to its queue.
    ///
    /// # Errors
    /// A driver's.
    pub fn give(&mut self, table: &Table, index: usize) -> Result<(), RunError> {
        let step = &self.plan.steps[index];
        let geometry = &self.plan.geometries[step.geometry as usize];
        let pointers = &table.pointers[self.plan.addresses_of(step)];
        let launch = (&table.launches[index], geometry.params.len());
        let mut queue = lock(self.queue(step.queue)?);
        // SAFETY: the plan's offsets keep live buffers apart, its waits keep apart what runs at a
        // time, and its geometry comes from a verified program; host memory outlives the run,
        // which ends when all queues are done.
        unsafe {
            match step.work {
                // Drivers get no launches without units.
                Work::Launch { .. } if table.units[step.geometry as usize] == 0 => {}
                Work::Launch { row, .. } => {
                    let units = table.units[step.geometry as usize];
                    let operands = &pointers[..geometry.operands()];
                    match &mut self.lent {
                        None => queue.launch(row, launch, units)?,
                        Some(lent) => lent.call(geometry, (operands, launch.0), |copy| {
                            queue.launch(row, (copy, launch.1), units)
                        })?,
                    }
                }
                Work::Prepare { row } => queue.prepare(row, launch, pointers[0])?,
                Work::Transfer(Way::Download) => {
                    queue.download(pointers[0], pointers[1], geometry.dims[0] as u64)?;
                }
                Work::Transfer(_) => {
                    queue.upload(pointers[0], pointers[1], geometry.dims[0] as u64)?;
                }
                Work::Check(check) => queue.check(pointers[0], u64::from(check))?,
                Work::Function(_) => {
                    return Err(RunError::Internal("a device calls no function".into()));
                }
            }
        }
        self.behind(&mut queue, index)
    }
}
