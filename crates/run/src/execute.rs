//! Runs a plan: a flat array of launches with resolved pointers, in their order or side by side.

use crate::clock::Clock;
use crate::eager::Storage;
use crate::function::Functions;
use crate::hosts::{host_tensors, host_tensors_of_program};
use crate::in_order;
use crate::launch::{SPLIT_NS, Workers};
use crate::memory::Block;
use crate::outcome::{Outcome, Profile, Progress};
use crate::results::{differences, hand_out, room_for_results};
use crate::schedule::{self, Record, Settings};
use crate::table::{Memories, Pointer, Table};
use crate::tier::{OnDisk, Tier};
use crate::wiping::wipe_stacks;
use crate::work::{Outside, Units};
use crate::{RunError, derived, pool};
use cloakwork_ir::{HostId, HostTensor};
use cloakwork_plan::{Address, Graph, Plan, PreparedConstant, Relaid, Space};
use rayon::ThreadPool;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How to run.
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
    /// How often the caller is told how far a run is, and asked whether to go on.
    pub tick: Duration,
    /// Run tasks in a random order that follows from this number, even where steps in their order
    /// would be faster: a test that results depend on no order. Needs a plan for several threads.
    pub schedule_seed: Option<u64>,
    /// Where the file of a run that spills is made; none: where the system wants temporary files.
    pub spill_dir: Option<PathBuf>,
    /// Leave nothing of the run in memory but its results; what waits on disk is encrypted.
    pub wipe: bool,
    /// The functions of the caller's that the program calls, if it does.
    pub functions: Option<Arc<dyn Functions>>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            threads: 1,
            verify: false,
            profile: false,
            split_ns: SPLIT_NS,
            tick: TICK,
            schedule_seed: None,
            spill_dir: None,
            wipe: false,
            functions: None,
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
    arena: Block,
    disk: Option<OnDisk>,
    scratch: Block,
    constants: Vec<Block>,
    prepared: Vec<Arc<Block>>,
    /// Where the constants of each index of an axis are.
    units: Vec<Pointer>,
    /// Integer operands, little-endian: kernels of narrower types read the low bytes.
    pool: Vec<i64>,
    table: Option<Table>,
}

impl Executor {
    /// Allocates the arena and derives the constants.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn new(plan: Arc<Plan>) -> Result<Self, RunError> {
        let arena = Block::zeroed(plan.memory.arena_bytes)?;
        let scratch = Block::zeroed(plan.memory.scratch_bytes)?;
        let pool = plan.pool.iter().map(|value| value.to_le()).collect();
        let mut executor = Self {
            plan,
            arena,
            disk: None,
            scratch,
            constants: Vec::new(),
            prepared: Vec::new(),
            units: Vec::new(),
            pool,
            table: None,
        };
        executor.constants = executor.relay_constants()?;
        executor.prepared = executor.prepare_constants()?;
        let units = executor.plan.prepared_units.iter();
        let pointer = |&index: &u32| Pointer(executor.prepared[index as usize].as_ptr().cast());
        executor.units = units.map(pointer).collect();
        Ok(executor)
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Overwrites what runs have left in the arena and in scratch memory. Derived constants come
    /// from the program alone and stay.
    pub fn zeroize(&mut self) {
        self.arena.zeroize();
        if let Some(disk) = &self.disk {
            disk.zeroize();
        }
        self.scratch.zeroize();
    }

    /// Runs the program once. `tick` hears how far it is and says whether to go on.
    ///
    /// # Errors
    /// A missing or wrong input, contents that an op does not take, or the caller's wish to stop.
    pub fn run(
        &mut self,
        inputs: &HashMap<HostId, HostTensor>,
        options: &RunOptions,
        tick: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Outcome, RunError> {
        let ran = self.run_watched(inputs, options, tick, None);
        if options.wipe {
            self.zeroize();
            wipe_stacks(options.threads.clamp(1, self.plan.options.threads.max(1)));
        }
        ran
    }

    pub(crate) fn run_watched(
        &mut self,
        inputs: &HashMap<HostId, HostTensor>,
        options: &RunOptions,
        tick: &mut dyn FnMut(Progress) -> bool,
        observer: Option<Observer>,
    ) -> Result<Outcome, RunError> {
        let plan = Arc::clone(&self.plan);
        let threads = options.threads.clamp(1, plan.options.threads.max(1));
        let pool = (threads > 1).then(|| pool::pool(threads)).transpose()?;
        let hosts = host_tensors(&plan, inputs)?;
        let outputs = room_for_results(&plan)?;
        let directory = options.spill_dir.as_deref();
        self.open_disk(directory)?;
        let outside = Outside {
            tier: Tier::of(&plan, directory, options.wipe)?,
            functions: options.functions.as_ref(),
        };
        let memories = Memories {
            plan: &plan,
            arena: &self.arena,
            disk: self.disk.as_ref(),
            hosts: &hosts,
            outputs: &outputs,
            pool: &self.pool,
            constants: &self.constants,
            prepared: &self.prepared,
            units: &self.units,
        };
        let table = match self.table.take() {
            Some(mut table) => {
                table.refresh(&memories)?;
                table
            }
            None => Table::new(&memories)?,
        };
        let mut clock = Clock::new(plan.steps.len(), options.tick, tick);
        let start = Instant::now();
        let workers = Workers::new(pool.as_deref(), &self.scratch, options.split_ns);
        let run = Way {
            memories: &memories,
            table: &table,
            workers: &workers,
            outside: &outside,
            start,
            threads,
        };
        let ran = match graph(&plan, options, threads).filter(|_| observer.is_none()) {
            Some(graph) => run.side_by_side(graph, options, pool.as_deref(), &mut clock),
            None => run.in_order(options, &mut clock, observer),
        };
        let wall_ns = start.elapsed().as_nanos() as u64;
        self.table = Some(table);
        if let Some(disk) = &self.disk {
            disk.leave_memory();
        }
        let profile = ran?;
        clock.finish();
        let mismatches = match options.verify {
            true => differences(&plan, &outputs),
            false => Vec::new(),
        };
        Ok(Outcome {
            outputs: hand_out(&plan, outputs)?,
            mismatches,
            profile: options.profile.then_some(profile),
            wall_ns,
            threads,
        })
    }

    /// Makes the file of what the program puts on disk, where it is not in this directory.
    fn open_disk(&mut self, directory: Option<&Path>) -> Result<(), RunError> {
        if self.disk.as_ref().is_none_or(|disk| !disk.is_in(directory)) {
            self.disk = OnDisk::of(&self.plan, directory)?;
            if self.disk.is_some() {
                // Its pointers lead into another file.
                self.table = None;
            }
        }
        Ok(())
    }

    /// Copies the program's tensors that steps read in another layout.
    fn relay_constants(&self) -> Result<Vec<Block>, RunError> {
        let hosts = host_tensors_of_program(&self.plan);
        let memories = self.before_runs(&hosts);
        let relay = |constant: &Relaid| {
            let block = Block::uninit(constant.bytes)?;
            let pointers = [block.as_ptr().cast(), memories.pointer(&constant.source)?];
            let geometry = &self.plan.geometries[constant.geometry as usize];
            let launch = crate::table::raw_launch(geometry, &pointers, std::ptr::null());
            // SAFETY: the block has the bytes that the copy reaches, the tensor those of its view.
            unsafe {
                constant
                    .row
                    .run(&launch, 0, geometry.units(), std::ptr::null_mut());
            }
            Ok(block)
        };
        self.plan.constants.iter().map(relay).collect()
    }

    /// What there is of memory before a run.
    fn before_runs<'a>(&'a self, hosts: &'a [Option<HostTensor>]) -> Memories<'a> {
        Memories {
            plan: &self.plan,
            arena: &self.arena,
            disk: self.disk.as_ref(),
            hosts,
            outputs: &[],
            pool: &self.pool,
            constants: &self.constants,
            prepared: &[],
            units: &[],
        }
    }

    fn prepare_constants(&self) -> Result<Vec<Arc<Block>>, RunError> {
        let hosts = host_tensors_of_program(&self.plan);
        let memories = self.before_runs(&hosts);
        let owners: Vec<_> = hosts.iter().map(|host| frozen(host.as_ref())).collect();
        let derive = |constant: &PreparedConstant| {
            let operand = |address: &Address| {
                let frozen = match address.space {
                    Space::Host => owners.get(address.index as usize).and_then(Option::as_ref),
                    _ => None,
                };
                memories.pointer(address).map(|start| (start, frozen))
            };
            let operands = constant.addresses.iter().map(operand);
            let operands = operands.collect::<Result<SmallVec<[_; 6]>, _>>()?;
            let geometry = &self.plan.geometries[constant.geometry as usize];
            // SAFETY: the operands that `prepare` reads are host tensors of this geometry.
            unsafe { derived::planned(constant, geometry, &operands) }
        };
        self.plan.prepared.iter().map(derive).collect()
    }
}

/// What a host tensor is a view of, if nobody writes it.
fn frozen(host: Option<&HostTensor>) -> Option<Arc<Storage>> {
    let storage = host?.bytes().owner::<Storage>()?;
    storage.derived().is_some().then_some(storage)
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
    ) -> Result<Profile, RunError> {
        let mut run = in_order::Run {
            memories: self.memories,
            table: self.table,
            workers: self.workers,
            outside: self.outside,
            checks: self.memories.plan.checks.iter().peekable(),
            clock,
        };
        let ends_ns = run.steps(options.profile.then_some(self.start), observer)?;
        Ok(Profile::in_order(ends_ns))
    }

    fn side_by_side(
        &self,
        graph: &Graph,
        options: &RunOptions,
        pool: Option<&ThreadPool>,
        clock: &mut Clock<'_>,
    ) -> Result<Profile, RunError> {
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
        schedule::run(graph, &units, settings, pool, (clock, record.as_ref()))?;
        Ok(record.map_or_else(Profile::default, |record| record.profile(plan)))
    }
}
