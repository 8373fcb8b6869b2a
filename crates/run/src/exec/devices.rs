//! Devices with drivers while an executor uses them: their memory and queues.
//!
//! The calling thread hands out steps in their order: its own it does at once, those of a device it
//! puts into a queue, and it waits where the plan says so. Nobody else looks at a device's memory;
//! what the host is to see is downloaded.

use crate::RunError;
use crate::exec::table::Table;
use crate::memory::Block;
use cloakwork_devices::{DeviceMemory, Event, OpenDevice, Queue};
use cloakwork_kernels::RawLaunch;
use cloakwork_plan::{Constant, Geometry, Home, Plan, Step, Wait, Way, Work};
use cloakwork_process::Mutex;
use std::ffi::c_void;
use std::slice;
use std::sync::Arc;

/// A device of a plan. What is done in its queues is done before its memory goes.
struct Own {
    arena: u16,
    /// Computes, moves: in the order of [`Plan::queues`].
    queues: [Mutex<Queue>; 2],
    memory: DeviceMemory,
    device: Arc<OpenDevice>,
}

/// The devices of a plan.
#[derive(Default)]
pub struct Devices {
    all: Vec<Own>,
}

impl Devices {
    /// Opens a plan's devices and allocates their arenas.
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
            let device = driver.open(number)?;
            all.push(Own {
                arena: index,
                queues: [Mutex::new(device.queue()?), Mutex::new(device.queue()?)],
                memory: device.allocate(arena.bytes)?,
                device,
            });
        }
        Ok(Self { all })
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether this process opened them.
    pub fn are_here(&self) -> bool {
        self.all.iter().all(|own| own.device.is_here())
    }

    fn own(&self, arena: u16) -> Result<&Own, RunError> {
        let found = self.all.iter().find(|own| own.arena == arena);
        found.ok_or_else(|| RunError::Internal(format!("arena {arena} has no device")))
    }

    /// Where an arena begins, if it is a device's.
    pub fn base(&self, arena: u16) -> Option<*mut u8> {
        let own = self.own(arena).ok()?;
        Some(own.memory.address().cast())
    }

    /// Computes a constant in a device's memory.
    ///
    /// # Errors
    /// The driver's.
    pub fn compute(
        &self,
        constant: &Constant,
        geometry: &Geometry,
        operands: &[*mut c_void],
    ) -> Result<DeviceMemory, RunError> {
        let own = self.own(constant.arena)?;
        let memory = own.device.allocate(constant.bytes)?;
        let _draining = self.draining();
        let mut queue = own.queues[0].lock();
        let at = memory.address();
        // SAFETY: the plan's geometry comes from a verified program, and its operands are tensors
        // of the program, or constants made of them, where the step expects them.
        unsafe {
            match constant.work {
                Work::Transfer(_) => queue.upload(at, operands[0], constant.bytes)?,
                Work::Prepare { row } => {
                    let launch = RawLaunch::new(&geometry.shape(), operands, std::ptr::null());
                    queue.prepare(row, (&launch, geometry.params.len()), at)?;
                }
                Work::Launch { .. } | Work::Host(_) => {
                    return Err(RunError::Internal(
                        "a constant that no device computes".into(),
                    ));
                }
            }
        }
        let done = queue.record()?;
        queue.finish(done)?;
        drop(queue);
        Ok(memory)
    }

    /// Waits until all that was given to queues is done.
    ///
    /// # Errors
    /// What went wrong in one.
    pub fn finish(&self) -> Result<(), RunError> {
        let mut wrong = Ok(());
        for queue in self.all.iter().flat_map(|own| &own.queues) {
            let mut queue = queue.lock();
            let done = queue.record().and_then(|event| queue.finish(event));
            wrong = wrong.and(done);
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
        let mut queue = self.own(arena)?.queues[1].lock();
        // SAFETY: the block has so many bytes, and lives until the queue is past this.
        unsafe { queue.download(block.as_ptr().cast(), from, bytes) }?;
        let done = queue.record()?;
        queue.finish(done)?;
        drop(queue);
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
            let mut queue = own.queues[1].lock();
            // SAFETY: both have so many bytes; the block lives until the queue is past this.
            unsafe { queue.upload(own.memory.address(), zeros.as_ptr().cast(), bytes) }?;
            let done = queue.record()?;
            queue.finish(done)?;
        }
        Ok(())
    }
}

/// Waits for all queues when it goes: what they use outlives it.
pub struct Draining<'a>(&'a Devices);

impl Drop for Draining<'_> {
    fn drop(&mut self) {
        // Who wants to know what went wrong has asked before.
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
    /// Each step is finished before the next is given out, so that its time can be told.
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
            timed,
        })
    }

    fn queue(&self, index: u16) -> Result<&'a Mutex<Queue>, RunError> {
        let queue = &self.plan.queues[index as usize];
        let own = self.devices.own(queue.arena)?;
        Ok(&own.queues[usize::from(queue.moves)])
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
                self.queue(waiting.queue)?.lock().wait(event)?;
            } else {
                // What runs next is not given out before.
                self.queue(behind.queue)?.lock().finish(event)?;
            }
        }
        Ok(())
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
        let mut queue = self.queue(step.queue)?.lock();
        // SAFETY: the plan's offsets keep live buffers apart, its waits keep apart what runs at a
        // time, and its geometry comes from a verified program; host memory outlives the run,
        // which ends when all queues are done.
        unsafe {
            match step.work {
                Work::Launch { row, .. } => {
                    queue.launch(row, launch, table.units[step.geometry as usize])?;
                }
                Work::Prepare { row } => queue.prepare(row, launch, pointers[0])?,
                Work::Transfer(Way::Download) => {
                    queue.download(pointers[0], pointers[1], geometry.dims[0] as u64)?;
                }
                Work::Transfer(_) => {
                    queue.upload(pointers[0], pointers[1], geometry.dims[0] as u64)?;
                }
                Work::Host(_) => {
                    return Err(RunError::Internal("a device does no host call".into()));
                }
            }
        }
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
}
