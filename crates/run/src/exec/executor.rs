//! Runs a plan: a flat array of launches with resolved pointers, in their order or side by side.

use crate::RunError;
use crate::eager::Storage;
use crate::exec::check;
use crate::exec::clock::Clock;
use crate::exec::devices::{Devices, Flow};
use crate::exec::function::Functions;
use crate::exec::hosts::{Given, GivenTensor, HostSlots, Hosts, Inputs};
use crate::exec::in_order;
use crate::exec::launch::{Workers, split_ns};
use crate::exec::lost;
use crate::exec::pool;
use crate::exec::results::{
    Results, Room, differences, hand_out, hand_out_before, room_for_results,
};
use crate::exec::table::{Base, Computed, Memories, Table};
use crate::exec::work::{Outside, Units, weight};
use crate::memory::Block;
use crate::memory::derived;
use crate::memory::spill_file::{OnDisk, SpillFile};
use crate::memory::wiping::wipe_stacks;
use crate::report::outcome::{Outcome, Output, Profile, Progress};
use crate::schedule::{self, Record, Settings};
use cloakwork_devices::{DeviceError, at_step, watched};
use cloakwork_ir::{Device, HostTensor};
use cloakwork_kernels::RawLaunch;
use cloakwork_plan::{Address, Arena, Constant, Graph, Home, Plan, Space, Work};
use rayon::ThreadPool;
use smallvec::SmallVec;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Options of a run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Worker threads; 1 runs on the calling thread alone. Never changes a result.
    pub threads: usize,
    /// Compare each download with the value that the program expects.
    pub verify: bool,
    /// Record when each step began and ended.
    pub profile: bool,
    /// The least work, in estimated nanoseconds, that is given to a further thread.
    pub split_ns: u64,
    /// The interval at which the caller learns the progress of a run and may stop it.
    pub tick: Duration,
    /// Run tasks in a random order that follows from this number, even where steps in their order
    /// would be faster: a test that results depend on no order. Needs a plan for several threads.
    pub schedule_seed: Option<u64>,
    /// The folder for the file of a run that spills; none: the system's folder for temporary files.
    pub spill_dir: Option<PathBuf>,
    /// Leave nothing of the run in memory but its results; the spill file is encrypted.
    pub wipe: bool,
    /// The functions of the caller's that the program calls, if it does.
    pub functions: Option<Arc<dyn Functions>>,
    /// Give drivers copies of launches that are overwritten after the call: a driver that reads
    /// them later is wrong, and is seen to be. For tests of drivers.
    pub lends: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            threads: 1,
            verify: false,
            profile: false,
            split_ns: split_ns(),
            tick: TICK,
            schedule_seed: None,
            spill_dir: None,
            wipe: false,
            functions: None,
            lends: false,
        }
    }
}

/// Short enough for a progress bar and for Ctrl-C, long enough to cost nothing.
const TICK: Duration = Duration::from_millis(50);

/// Watches a run from inside: called after each planned step.
pub(crate) type Observer<'a> = &'a mut dyn FnMut(usize, &Memories) -> Result<(), RunError>;

/// A plan with its constants derived and its memory allocated: ready to run many times.
pub struct Executor {
    plan: Arc<Plan>,
    slots: HostSlots,
    /// The work of the largest step or fusion, in estimated nanoseconds.
    heaviest_ns: u64,
    /// The plan's arenas; those that are files have no bytes here.
    arenas: Vec<Block>,
    disks: Vec<OnDisk>,
    scratch: Block,
    constants: Vec<Computed>,
    devices: Devices,
    /// Integer operands, little-endian: kernels of narrower types read the low bytes.
    pool: Vec<i64>,
    /// The status words of checks that the host launches: zeros, unless a run did not end well.
    statuses: Vec<AtomicU64>,
    ended_well: bool,
    table: Option<Table>,
    /// Outputs that the last run handed out before it failed.
    before_failure: Vec<Output>,
}

impl Executor {
    /// Allocates the arena and derives the constants.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn new(plan: Arc<Plan>) -> Result<Self, RunError> {
        let made = Self::made(&plan);
        made.map_err(|error| lost::named(&plan, error, || Self::made(&plan)))
    }

    fn made(plan: &Arc<Plan>) -> Result<Self, RunError> {
        let plan = Arc::clone(plan);
        let devices = Devices::of(&plan)?;
        let elsewhere =
            |index: u16, arena: &Arena| arena.home.is_file() || devices.base(index).is_some();
        let in_memory = |(index, arena): (u16, &Arena)| match elsewhere(index, arena) {
            true => Block::zeroed(0),
            false => Block::zeroed(arena.bytes),
        };
        let arenas = (0u16..).zip(&plan.arenas).map(in_memory);
        let arenas = arenas.collect::<Result<_, _>>()?;
        let scratch = Block::zeroed(plan.memory.scratch_bytes)?;
        let pool = plan.pool.iter().map(|value| value.to_le()).collect();
        let mut executor = Self {
            slots: HostSlots::of(&plan),
            heaviest_ns: heaviest_ns(&plan),
            plan,
            arenas,
            disks: Vec::new(),
            scratch,
            constants: Vec::new(),
            devices,
            pool,
            statuses: Vec::new(),
            ended_well: true,
            table: None,
            before_failure: Vec::new(),
        };
        let checks = executor.plan.checks.iter();
        executor.statuses = checks.map(|_| AtomicU64::new(0)).collect();
        executor.compute_constants()?;
        Ok(executor)
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Takes the outputs that the last run handed out before the step at which it failed.
    pub fn take_outputs_before_failure(&mut self) -> Vec<Output> {
        std::mem::take(&mut self.before_failure)
    }

    /// Overwrites the arena and scratch memory. Derived constants come
    /// from the program alone and stay.
    pub fn zeroize(&mut self) {
        if self.devices.zeroize().is_err() {
            // What a device does not overwrite goes with its memory.
            self.devices = Devices::default();
        }
        self.arenas.iter().for_each(Block::zeroize);
        self.disks.iter().for_each(OnDisk::zeroize);
        self.scratch.zeroize();
    }

    /// Runs the program once. `tick` gets its progress and returns whether to continue.
    ///
    /// # Errors
    /// A missing or wrong input, contents that an op does not take, or the caller's wish to stop.
    pub fn run(
        &mut self,
        inputs: &impl Inputs,
        options: &RunOptions,
        tick: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Outcome, RunError> {
        self.before_failure.clear();
        let mut ran = self.run_watched(inputs, options, tick, None);
        // What the caller's functions do is not done twice.
        if let Err(error) = &ran
            && self.plan.calls.is_empty()
        {
            let (plan, error) = (Arc::clone(&self.plan), error.clone());
            let again = || {
                let ran = self.run_watched(inputs, options, tick, None);
                if options.wipe {
                    self.zeroize();
                }
                self.devices = Devices::default();
                self.table = None;
                // What was handed out belongs to an error that is not given.
                self.before_failure.clear();
                ran
            };
            ran = Err(lost::named(&plan, error, again));
        }
        if options.wipe {
            self.zeroize();
            wipe_stacks(options.threads.clamp(1, self.plan.options.threads.max(1)));
        }
        ran
    }

    pub(crate) fn run_watched(
        &mut self,
        inputs: &dyn Inputs,
        options: &RunOptions,
        tick: &mut dyn FnMut(Progress) -> bool,
        observer: Option<Observer>,
    ) -> Result<Outcome, RunError> {
        let given = self.slots.given(&self.plan, inputs)?;
        self.run_given(&given, options, tick, observer)
    }

    fn run_given(
        &mut self,
        given: &Given,
        options: &RunOptions,
        tick: &mut dyn FnMut(Progress) -> bool,
        observer: Option<Observer>,
    ) -> Result<Outcome, RunError> {
        let plan = Arc::clone(&self.plan);
        let threads = options.threads.clamp(1, plan.options.threads.max(1));
        let graph = graph(&plan, options, threads).filter(|_| observer.is_none());
        // Steps of which none is worth a further thread need no pool.
        let shared = graph.is_some() || self.heaviest_ns >= options.split_ns;
        let pool = pool_of(if shared { threads } else { 1 })?;
        self.clear_statuses();
        let bases = self.open(options.spill_dir.as_deref())?;
        self.refuse_other_openings(given)?;
        let outputs = room_for_results(&plan, &self.devices)?;
        let outside = outside(&plan, options)?;
        // Also where a panic unwinds, queues are done before the memory goes that they use.
        let draining = self.devices.draining();
        let memories = Memories {
            plan: &plan,
            arenas: &bases,
            disks: &self.disks,
            hosts: Hosts::of(&plan, given),
            outputs: &outputs,
            pool: &self.pool,
            statuses: &self.statuses,
            constants: &self.constants,
            devices: &self.devices,
        };
        let table = resolved(self.table.take(), &memories, self.scratch.as_ptr())?;
        let start = Instant::now();
        let mut clock = Clock::new(plan.steps.len(), (start, options.tick), tick);
        let workers = Workers::new(pool.as_deref(), &self.scratch, options.split_ns);
        let run = Way {
            memories: &memories,
            table: &table,
            workers: &workers,
            outside: &outside,
            start,
            threads,
        };
        let ran = match graph {
            Some(graph) => run.side_by_side(graph, options, pool.as_deref(), &mut clock),
            None => run.in_order(options, &mut clock, observer),
        };
        let finished = finish_watched(&memories, &mut clock);
        let wall_ns = start.elapsed().as_nanos() as u64;
        let devices_do = finished.is_ok();
        let ran = first_error(&memories, ran, finished);
        drop(draining);
        if ran.is_ok() {
            clock.finish();
        }
        let outcome = match ran {
            Ok(profile) => self
                .ended(outputs, options, profile)
                .map(|outcome| Outcome {
                    wall_ns,
                    threads,
                    ..outcome
                }),
            Err(error) => Err(self.failed(lost::placed(&plan, error), outputs)),
        };
        self.keep(table, devices_do);
        outcome
    }

    /// The outcome of a run that ended well, without its time.
    fn ended(
        &mut self,
        outputs: Vec<Room>,
        options: &RunOptions,
        profile: Profile,
    ) -> Result<Outcome, RunError> {
        self.ended_well = true;
        let compared = options.verify.then(|| differences(&self.plan, &outputs));
        let Results { outputs, kept } = hand_out(&self.plan, &self.devices, outputs)?;
        Ok(Outcome {
            outputs,
            kept: kept.into_iter().map(Arc::new).collect(),
            mismatches: compared.unwrap_or_default(),
            profile: options.profile.then_some(profile),
            wall_ns: 0,
            threads: 0,
        })
    }

    /// Refuses tensors on a device that was opened anew since they were made.
    fn refuse_other_openings(&self, given: &Given) -> Result<(), RunError> {
        for (_, tensor) in given {
            let GivenTensor::There(tensor) = tensor else {
                continue;
            };
            if !self.devices.has(tensor.open()) {
                let device = tensor.device();
                return Err(RunError::Input {
                    name: format!("a tensor on {device}"),
                    expected: "one of the device as it is open now".into(),
                    got: "one from before the device was lost; make it again".into(),
                });
            }
        }
        Ok(())
    }

    /// Makes all status words 0, unless they are from a run that ended well.
    fn clear_statuses(&mut self) {
        if !std::mem::replace(&mut self.ended_well, false) {
            let words = self.statuses.iter();
            words.for_each(|status| status.store(0, Ordering::Relaxed));
        }
    }

    /// Opens what is not open from a run before, and says where each arena begins.
    fn open(&mut self, directory: Option<&Path>) -> Result<SmallVec<[Base; 2]>, RunError> {
        self.open_disks(directory)?;
        self.open_devices()?;
        Ok(self.bases())
    }

    /// Keeps what a run handed out before it failed.
    fn failed(&mut self, error: RunError, outputs: Vec<Room>) -> RunError {
        let before = error
            .step()
            .map(|step| hand_out_before(&self.plan, outputs, step));
        match before.transpose() {
            Ok(outputs) => {
                self.before_failure = outputs.unwrap_or_default();
                error
            }
            Err(internal) => internal,
        }
    }

    /// Keeps what the next run can use.
    fn keep(&mut self, table: Table, devices_do: bool) {
        self.disks.iter().for_each(OnDisk::leave_memory);
        if devices_do {
            self.table = Some(table);
        } else {
            // A queue in which something failed does nothing any more: the next run opens others.
            self.devices = Devices::default();
        }
    }

    /// Makes the files of what the program puts on disks, where they are not in this directory.
    fn open_disks(&mut self, directory: Option<&Path>) -> Result<(), RunError> {
        let is_file = |arena: &Arena| matches!(arena.home, Home::Device(Device::Disk(_)));
        if !self.plan.arenas.iter().any(is_file) {
            return Ok(());
        }
        if self.disks.is_empty() || self.disks.iter().any(|disk| !disk.is_in(directory)) {
            self.disks = OnDisk::of(&self.plan, directory)?;
            // Its pointers lead into other files.
            self.table = None;
        }
        Ok(())
    }

    /// Opens devices anew where they were lost, or are a parent's of this process.
    fn open_devices(&mut self) -> Result<(), RunError> {
        let wanted = !self.plan.queues.is_empty();
        if wanted && (self.devices.is_empty() || !self.devices.are_here()) {
            self.constants.clear();
            self.devices = Devices::of(&self.plan)?;
            self.table = None;
            let computed = self.compute_constants();
            if computed.is_err() {
                self.devices = Devices::default();
            }
            computed?;
        }
        Ok(())
    }

    /// Where each arena begins.
    fn bases(&self) -> SmallVec<[Base; 2]> {
        let homes = self.plan.arenas.iter().zip(&self.arenas);
        let mut bases: SmallVec<[Base; 2]> = homes
            .map(|(arena, block)| match arena.home.is_file() {
                true => Base(std::ptr::null_mut()),
                false => Base(block.as_ptr()),
            })
            .collect();
        for (index, base) in (0..).zip(&mut bases) {
            if let Some(start) = self.devices.base(index) {
                *base = Base(start);
            }
        }
        for disk in &self.disks {
            bases[disk.arena as usize] = Base(disk.as_ptr());
        }
        bases
    }

    /// Computes the constants in order: each may read those before it.
    fn compute_constants(&mut self) -> Result<(), RunError> {
        let plan = Arc::clone(&self.plan);
        let hosts = Hosts::of(&plan, &[]);
        for constant in &plan.constants {
            let memories = self.before_runs(&plan, hosts);
            let computed = compute(&memories, constant)?;
            self.constants.push(computed);
        }
        let memories = self.before_runs(&plan, hosts);
        self.devices.compute_constants(&memories)
    }

    /// The memories that constants are computed from.
    fn before_runs<'a>(&'a self, plan: &'a Plan, hosts: Hosts<'a>) -> Memories<'a> {
        Memories {
            plan,
            arenas: &[],
            disks: &[],
            hosts,
            outputs: &[],
            pool: &self.pool,
            statuses: &self.statuses,
            constants: &self.constants,
            devices: &self.devices,
        }
    }
}

/// Resources of a run beside its memory.
fn outside<'a>(plan: &Plan, options: &'a RunOptions) -> Result<Outside<'a>, RunError> {
    let directory = options.spill_dir.as_deref();
    Ok(Outside {
        spill_file: SpillFile::of(plan, directory, options.wipe)?,
        functions: options.functions.as_ref(),
    })
}

/// A run that stopped at a step of the plan.
struct Stopped {
    at: usize,
    error: RunError,
}

/// Waits for all queues, unless the caller stops a driver that waits.
fn finish_watched(memories: &Memories, clock: &mut Clock<'_>) -> Result<(), RunError> {
    let steps = memories.plan.steps.len();
    let mut stopped = false;
    let mut go_on = || {
        stopped = !clock.look(steps);
        !stopped
    };
    at_step(None);
    let finished = watched(&mut go_on, || memories.devices.finish());
    match (stopped, memories.plan.steps.last()) {
        (true, Some(last)) => Err(RunError::Interrupted {
            step: memories.plan.program_step(last.origin),
        }),
        _ => finished,
    }
}

/// The result of a run: of all errors on the host and on devices the first in the plan's order.
fn first_error(
    memories: &Memories,
    ran: Result<Profile, Stopped>,
    finished: Result<(), RunError>,
) -> Result<Profile, RunError> {
    if matches!(
        ran,
        Err(Stopped {
            error: RunError::Interrupted { .. },
            ..
        })
    ) {
        return ran.map_err(|stopped| stopped.error);
    }
    let failed = match finished {
        Err(RunError::Device(DeviceError::Check { failed, .. })) => failed,
        Err(error) => return Err(error),
        Ok(()) => return ran.map_err(|stopped| stopped.error),
    };
    let check = failed.check as u32;
    match (ran, memories.plan.step_of_check(check)) {
        (Err(stopped), Some(step)) if stopped.at < step => Err(stopped.error),
        _ => Err(check::refused(memories, check, failed.status)),
    }
}

/// The table of a run: that of the previous run, updated.
fn resolved(
    table: Option<Table>,
    memories: &Memories,
    scratch: *mut u8,
) -> Result<Table, RunError> {
    match table {
        Some(mut table) => {
            table.refresh(memories);
            Ok(table)
        }
        None => Table::new(memories, scratch),
    }
}

/// Computes a constant, or finds what was prepared before from the same tensors.
fn compute(memories: &Memories, constant: &Constant) -> Result<Computed, RunError> {
    if constant.arena > 0 {
        return memories.devices.constant(constant).map(Computed::There);
    }
    let operand = |address: &Address| {
        let frozen = match address.space {
            Space::Host => frozen(memories.hosts.data(address.index)),
            _ => None,
        };
        memories.pointer(address).map(|start| (start, frozen))
    };
    let operands = constant.operands.iter().map(operand);
    let operands = operands.collect::<Result<SmallVec<[_; 6]>, _>>()?;
    let geometry = &memories.plan.geometries[constant.geometry as usize];
    match constant.work {
        Work::Launch { row, .. } => {
            let block = Block::uninit(constant.bytes)?;
            let starts = operands.iter().map(|(start, _)| *start);
            let pointers: SmallVec<[_; 6]> = std::iter::once(block.as_ptr().cast())
                .chain(starts)
                .collect();
            let launch = RawLaunch::new(&geometry.shape(), &pointers, std::ptr::null());
            // SAFETY: the block has the bytes that the launch reaches, its operands are tensors of
            // the program under this geometry.
            unsafe { row.run(&launch, 0, geometry.units(), std::ptr::null_mut()) };
            Ok(Computed::Here(Arc::new(block)))
        }
        // SAFETY: the operands that `prepare` reads are tensors of the program of this geometry.
        Work::Prepare { row } => unsafe {
            derived::planned((row, constant.bytes), geometry, &operands).map(Computed::Here)
        },
        Work::Transfer(_) | Work::Check(_) | Work::Function(_) => Err(RunError::Internal(
            "a constant that nothing computes".into(),
        )),
    }
}

/// The storage of a host tensor, if it is frozen.
fn frozen(host: Option<&HostTensor>) -> Option<Arc<Storage>> {
    let storage = host?.bytes().owner::<Storage>()?;
    storage.derived().is_some().then_some(storage)
}

/// The workers beside the calling thread, if there are to be any.
fn pool_of(threads: usize) -> Result<Option<Arc<ThreadPool>>, RunError> {
    (threads > 1).then(|| pool::pool(threads)).transpose()
}

/// The work of a plan's largest step or fusion.
fn heaviest_ns(plan: &Plan) -> u64 {
    let steps = plan.steps.iter().map(|step| u64::from(step.weight));
    let fusions = plan.fusions.iter().map(|fusion| weight(plan, fusion));
    steps.chain(fusions).max().unwrap_or(0)
}

/// The graph of a plan, if its tasks are to run side by side.
fn graph<'a>(plan: &'a Plan, options: &RunOptions, threads: usize) -> Option<&'a Graph> {
    let graph = plan.graph.as_ref()?;
    let wanted = threads > 1 && graph.pays();
    (wanted || options.schedule_seed.is_some()).then_some(graph)
}

/// A run with all that it needs.
struct Way<'a> {
    memories: &'a Memories<'a>,
    table: &'a Table,
    workers: &'a Workers<'a>,
    outside: &'a Outside<'a>,
    start: Instant,
    threads: usize,
}

impl Way<'_> {
    fn in_order(
        &self,
        options: &RunOptions,
        clock: &mut Clock<'_>,
        observer: Option<Observer>,
    ) -> Result<Profile, Stopped> {
        let Self {
            memories, table, ..
        } = *self;
        // A plan that runs again is worth building its segments. Steps that are watched are
        // submitted one by one.
        let by_segments = table.is_used && observer.is_none();
        if by_segments {
            let built = memories.devices.build_segments(memories, table);
            built.map_err(|error| Stopped { at: 0, error })?;
        }
        let flow = Flow::of(memories.plan, memories.devices, options.profile);
        let mut run = in_order::Run {
            memories,
            table,
            workers: self.workers,
            outside: self.outside,
            flow: flow.map(|flow| flow.submitting(by_segments).lending(options.lends)),
            at: 0,
            clock,
        };
        let ran = run.steps(options.profile.then_some(self.start), observer);
        let stopped = |error| Stopped { at: run.at, error };
        ran.map(Profile::in_order).map_err(stopped)
    }

    fn side_by_side(
        &self,
        graph: &Graph,
        options: &RunOptions,
        pool: Option<&ThreadPool>,
        clock: &mut Clock<'_>,
    ) -> Result<Profile, Stopped> {
        let plan = self.memories.plan;
        let units = Units {
            memories: self.memories,
            table: self.table,
            workers: self.workers,
            outside: self.outside,
        };
        let settings = Settings {
            threads: self.threads,
            split_ns: options.split_ns,
            seed: options.schedule_seed,
        };
        let record = options
            .profile
            .then(|| Record::new(self.start, plan.steps.len()));
        // Plans with a graph have no devices: nothing else can fail first.
        schedule::run(graph, &units, settings, pool, (clock, record.as_ref()))
            .map_err(|error| Stopped { at: 0, error })?;
        Ok(record.map_or_else(Profile::default, |record| record.profile(plan)))
    }
}
