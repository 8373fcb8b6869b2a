//! Runs a plan: a flat array of launches with resolved pointers, from the first to the last.

use crate::eager::Storage;
use crate::hosts::{host_tensors, host_tensors_of_program};
use crate::launch::{SPLIT_NS, Workers};
use crate::memory::{Block, into_bytes};
use crate::outcome::{Mismatch, Outcome, Output, Profile, Progress};
use crate::table::{Memories, Pointer, Table};
use crate::{RunError, check, derived, pool};
use cloakwork_ir::{HostId, HostSlot, HostTensor, View};
use cloakwork_kernels::{Difference, find_difference};
use cloakwork_plan::{
    Address, Check, Download, Fusion, Plan, Prepared, PreparedConstant, Relaid, Space,
};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::iter::Peekable;
use std::slice;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How to run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Worker threads; 1 runs on the calling thread alone. Never changes a result.
    pub threads: usize,
    /// Compare each download with the value that the program expects.
    pub verify: bool,
    /// Record when each step ended.
    pub profile: bool,
    /// The least work, in estimated nanoseconds, that is given to a further thread.
    pub split_ns: u64,
    /// How often the caller is told how far a run is, and asked whether to go on.
    pub tick: Duration,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            threads: 1,
            verify: false,
            profile: false,
            split_ns: SPLIT_NS,
            tick: TICK,
        }
    }
}

/// Short enough for a progress bar and for Ctrl-C, long enough to cost nothing.
const TICK: Duration = Duration::from_millis(50);

/// Steps between two looks at the clock, where steps are short.
const STEPS_PER_LOOK: u32 = 4096;
/// So much work counts as a step more.
const STEP_NS: u64 = 1024;

/// Watches a run from inside: called after each planned step.
pub(crate) type Observer<'a> = &'a mut dyn FnMut(usize, &Memories) -> Result<(), RunError>;

/// A plan with its constants derived and its memory allocated: ready to run many times.
pub struct Executor {
    plan: Arc<Plan>,
    arena: Block,
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
        self.run_watched(inputs, options, tick, None)
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
        let pool = if threads > 1 {
            Some(pool::pool(threads)?)
        } else {
            None
        };
        let hosts = host_tensors(&plan, inputs)?;
        let outputs = room_for_results(&plan)?;
        let memories = Memories {
            plan: &plan,
            arena: &self.arena,
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
        let mut run = Run {
            memories: &memories,
            table: &table,
            workers: Workers::new(pool.as_deref(), &self.scratch, options.split_ns),
            checks: plan.checks.iter().peekable(),
            clock: Clock::new(plan.steps.len(), options.tick, tick),
        };
        let start = Instant::now();
        let ends_ns = run.steps(options.profile.then_some(start), observer)?;
        let wall_ns = start.elapsed().as_nanos() as u64;
        run.clock.finish();
        self.table = Some(table);
        let mismatches = if options.verify {
            differences(&plan, &outputs)
        } else {
            Vec::new()
        };
        Ok(Outcome {
            outputs: hand_out(&plan, outputs)?,
            mismatches,
            profile: options.profile.then_some(Profile { ends_ns }),
            wall_ns,
            threads,
        })
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

/// A run under way.
struct Run<'a> {
    memories: &'a Memories<'a>,
    table: &'a Table,
    workers: Workers<'a>,
    checks: Peekable<slice::Iter<'a, Check>>,
    clock: Clock<'a>,
}

impl Run<'_> {
    /// Checks what must hold before a step, or at the end.
    fn contents(&mut self, index: usize) -> Result<(), RunError> {
        while let Some(due) = self.checks.next_if(|check| check.before as usize == index) {
            check::contents(self.memories.plan, due, self.memories)?;
        }
        Ok(())
    }

    /// Runs all steps and looks at what must hold at the end. Says when each step ended, where the
    /// run's start is given.
    fn steps(
        &mut self,
        start: Option<Instant>,
        mut observer: Option<Observer>,
    ) -> Result<Vec<u64>, RunError> {
        let plan = self.memories.plan;
        let now = |start: Instant| start.elapsed().as_nanos() as u64;
        let mut ends_ns = Vec::with_capacity(start.map_or(0, |_| plan.steps.len()));
        let mut fusions = plan.fusions.iter().peekable();
        let mut index = 0;
        while index < plan.steps.len() {
            if let Some(fusion) = fusions.next_if(|fusion| fusion.first as usize == index) {
                let begun = start.map(now);
                self.fused(fusion)?;
                if let (Some(begun), Some(ended)) = (begun, start.map(now)) {
                    share(plan, fusion, (begun, ended), &mut ends_ns);
                }
                index = fusion.end as usize;
                continue;
            }
            self.step(index)?;
            ends_ns.extend(start.map(now));
            if let Some(watch) = observer.as_mut() {
                watch(index, self.memories)?;
            }
            index += 1;
        }
        self.contents(plan.steps.len())?;
        Ok(ends_ns)
    }

    /// Runs the steps of a fusion together.
    fn fused(&mut self, fusion: &Fusion) -> Result<(), RunError> {
        let plan = self.memories.plan;
        let first = fusion.first as usize;
        let members = &plan.steps[first..fusion.end as usize];
        let weight: u64 = members.iter().map(|step| u64::from(step.weight)).sum();
        let interrupted = || RunError::Interrupted {
            step: plan.program_step(members[0].origin),
        };
        let steps = members.len() as u64;
        let shown = weight
            .saturating_add(STEP_NS * (steps - 1))
            .min(u64::from(u32::MAX));
        if !self.clock.step(first, shown as u32) {
            return Err(interrupted());
        }
        self.contents(first)?;
        let fused = self.table.fused(plan, fusion);
        let clock = &mut self.clock;
        let mut go_on = || clock.look(first);
        // SAFETY: as for a single step; scratch memory was planned for the slots, and blocks of
        // different elements share nothing else.
        let run = |from, to, scratch: *mut std::ffi::c_void| unsafe {
            fused.run(from, to, scratch.cast());
        };
        let done = self.workers.each(fusion.elements, weight, &run, &mut go_on);
        if done { Ok(()) } else { Err(interrupted()) }
    }

    /// Runs one planned step: what only now can be checked, what must be derived now, the kernel.
    fn step(&mut self, index: usize) -> Result<(), RunError> {
        let plan = self.memories.plan;
        let (step, launch) = (&plan.steps[index], &self.table.launches[index]);
        let interrupted = || RunError::Interrupted {
            step: plan.program_step(step.origin),
        };
        if !self.clock.step(index, step.weight) {
            return Err(interrupted());
        }
        self.contents(index)?;
        match step.prepared {
            Prepared::Dynamic(buffer) => {
                // SAFETY: the buffer lives during this step and has the row's prepared size.
                unsafe { step.row.prepare(launch, self.memories.buffer(buffer)) };
            }
            Prepared::Dynamics {
                buffer,
                first,
                count,
            } => {
                let parts = &plan.dynamic[first as usize..(first + count) as usize];
                // SAFETY: the buffer lives during this step and was planned for these parts, whose
                // operands the step has.
                unsafe { derived::now(parts, self.memories, self.memories.buffer(buffer)) }?;
            }
            _ => {}
        }
        let units = self.table.units[step.geometry as usize];
        let clock = &mut self.clock;
        let mut go_on = || clock.look(index);
        // SAFETY: the plan's offsets keep live buffers apart, and its geometry comes from a
        // verified program.
        let done = unsafe {
            self.workers
                .run(step.row, launch, units, u64::from(step.weight), &mut go_on)
        };
        if done { Ok(()) } else { Err(interrupted()) }
    }
}

/// Ends of a fusion's steps: they ran together, so that each has its share by weight.
fn share(plan: &Plan, fusion: &Fusion, (begun, ended): (u64, u64), ends_ns: &mut Vec<u64>) {
    let members = &plan.steps[fusion.first as usize..fusion.end as usize];
    let weights = members.iter().map(|step| u64::from(step.weight).max(1));
    let total: u64 = weights.clone().sum();
    let mut done = 0;
    for weight in weights {
        done += weight;
        let part = u128::from(ended - begun) * u128::from(done) / u128::from(total);
        ends_ns.push(begun + part as u64);
    }
}

/// Compares a download with the value that the program expects, to the bit.
fn compare(plan: &Plan, download: &Download, got: &Block) -> Option<Mismatch> {
    let program = plan.verified.program();
    let Some(HostSlot::Data(expected)) = program.host(download.host) else {
        return None;
    };
    let view = View::contiguous(download.ty.shape.clone());
    let difference = if expected.ty() == download.ty {
        let (bytes, wanted) = (got.as_slice(), expected.bytes().as_slice());
        let size_bytes = download.ty.dtype.size_bytes();
        find_difference(size_bytes, (bytes, &view), (wanted, expected.view()))?
    } else {
        Difference {
            first: 0,
            count: download.ty.shape.elements(),
        }
    };
    Some(Mismatch::new(
        plan,
        download,
        &difference,
        got.as_slice(),
        expected,
    ))
}

fn room_for_results(plan: &Plan) -> Result<Vec<Block>, RunError> {
    // A download writes all of it.
    let room = |download: &Download| Block::uninit(download.ty.size_bytes());
    plan.downloads.iter().map(room).collect()
}

fn differences(plan: &Plan, outputs: &[Block]) -> Vec<Mismatch> {
    let results = plan.downloads.iter().zip(outputs);
    results
        .filter_map(|(download, block)| compare(plan, download, block))
        .collect()
}

fn hand_out(plan: &Plan, outputs: Vec<Block>) -> Result<Vec<Output>, RunError> {
    let results = plan.downloads.iter().zip(outputs);
    results
        .map(|(download, block)| output(plan, download, block))
        .collect()
}

fn output(plan: &Plan, download: &Download, block: Block) -> Result<Output, RunError> {
    let view = View::contiguous(download.ty.shape.clone());
    let tensor = HostTensor::new(download.ty.dtype, view, into_bytes(block))
        .map_err(|error| RunError::Internal(error.to_string()))?;
    let name = match plan.verified.program().host(download.host) {
        Some(HostSlot::Output { name }) => Some(name.clone()),
        _ => None,
    };
    Ok(Output {
        name,
        step: plan.program_step(download.origin),
        tensor,
    })
}

/// Asks the caller at a steady pace, however long or short steps are.
struct Clock<'a> {
    total: usize,
    every: Duration,
    tick: &'a mut dyn FnMut(Progress) -> bool,
    last: Instant,
    since_look: u32,
}

impl<'a> Clock<'a> {
    fn new(total: usize, every: Duration, tick: &'a mut dyn FnMut(Progress) -> bool) -> Self {
        Self {
            total,
            every,
            tick,
            last: Instant::now(),
            since_look: 0,
        }
    }

    /// Before a step: looks at the clock only now and then. False if the caller wants to stop.
    fn step(&mut self, done: usize, weight_ns: u32) -> bool {
        self.since_look = self
            .since_look
            .saturating_add(1 + weight_ns / STEP_NS as u32);
        if self.since_look < STEPS_PER_LOOK {
            return true;
        }
        self.since_look = 0;
        self.look(done)
    }

    fn look(&mut self, done: usize) -> bool {
        if self.last.elapsed() < self.every {
            return true;
        }
        self.last = Instant::now();
        (self.tick)(Progress {
            done,
            total: self.total,
        })
    }

    fn finish(&mut self) {
        (self.tick)(Progress {
            done: self.total,
            total: self.total,
        });
    }
}
