//! Runs the tasks of a graph side by side.
//!
//! An idle worker takes the ready task with the longest chain of successors; if no task is ready,
//! it takes pieces of a long unit that another worker has begun. No worker sleeps while either is
//! available: the worker that finishes the last piece of a long unit continues the task.
//!
//! The order of execution changes neither results nor errors: after a failure the units before the
//! failed one still run, so the first failure in the program's order is reported.

mod door;
mod ready;
mod record;
mod wide;

pub use record::Record;

use crate::RunError;
use crate::exec::clock::Clock;
use crate::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use crate::sync::{Arc, Condvar, Mutex, MutexGuard, ThreadPool, looks, spin};
use cloakwork_plan::Graph;
use door::together;
use ready::Ready;
use smallvec::SmallVec;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::PoisonError;
use std::time::Duration;
use wide::Wide;

/// How far a unit can be divided.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Independent parts.
    pub units: u64,
    /// Estimated time of all parts on one core, in nanoseconds.
    pub weight_ns: u64,
}

/// The work of a graph's units.
pub trait Body: Sync {
    /// A unit ready to compute.
    type Work: Send + Sync;

    /// Prepares a unit.
    ///
    /// # Errors
    /// The unit may not run.
    fn begin(&self, unit: u32) -> Result<(Self::Work, Extent), RunError>;

    /// Computes some parts of a unit. Any division gives the same bytes.
    fn run(&self, work: &Self::Work, parts: (u64, u64), worker: usize);

    /// Number of steps of a unit.
    fn steps(&self, unit: u32) -> usize;

    /// The step of the program that a unit belongs to.
    fn origin(&self, unit: u32) -> u32;
}

/// Settings of a run of a graph.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Number of workers, including the calling thread.
    pub threads: usize,
    /// The least work for which one more worker is used.
    pub split_ns: u64,
    /// Take ready tasks in a random order with this seed.
    pub seed: Option<u64>,
}

/// If less estimated time follows a task, it does not wake a worker.
const WAKE_NS: u64 = 20_000;
/// Number of polls before a worker sleeps: a few microseconds.
const LOOKS: u32 = 200;

enum Failure {
    Error(RunError),
    Panic(Box<dyn Any + Send>),
}

/// The next work of a worker.
enum Turn<W> {
    /// A task, starting with the unit at this index.
    Task(u32, usize),
    /// Pieces of a unit that another worker has begun.
    Help(Arc<Wide<W>>),
}

struct State<W> {
    ready: Ready,
    wides: Vec<Arc<Wide<W>>>,
    sleeping: usize,
}

impl<W> State<W> {
    fn turn(&mut self) -> Option<Turn<W>> {
        self.wides.retain(|wide| wide.is_open());
        let coin = self.ready.random().is_some_and(|word| word & 1 == 1);
        if coin && let Some(wide) = self.wides.last() {
            return Some(Turn::Help(Arc::clone(wide)));
        }
        if let Some(task) = self.ready.pop() {
            return Some(Turn::Task(task, 0));
        }
        let wide = self.wides.iter().max_by_key(|wide| wide.path_ns)?;
        Some(Turn::Help(Arc::clone(wide)))
    }
}

/// A run of a graph.
struct Schedule<'a, B: Body> {
    graph: &'a Graph,
    body: &'a B,
    settings: Settings,
    record: Option<&'a Record>,
    /// Number of unfinished predecessors of each task.
    waits: Vec<AtomicU32>,
    /// Number of unfinished tasks.
    left: AtomicUsize,
    /// Number of finished steps.
    done: AtomicUsize,
    /// Units from this one on do not run.
    bound: AtomicU32,
    /// The first unit that did not run.
    skipped: AtomicU32,
    /// Set when the caller has left.
    given_up: AtomicBool,
    /// Changes whenever new work is available.
    offers: AtomicU32,
    state: Mutex<State<B::Work>>,
    wake: Condvar,
    failure: Mutex<Option<(u32, Failure)>>,
}

/// Runs all tasks of a graph on the calling thread and the workers of a pool. `clock` asks the
/// caller at intervals whether to continue.
///
/// # Errors
/// The error of the first unit that failed, or that the caller cancelled.
pub fn run<B: Body>(
    graph: &Graph,
    body: &B,
    settings: Settings,
    pool: Option<&ThreadPool>,
    (clock, record): (&mut Clock<'_>, Option<&Record>),
) -> Result<(), RunError> {
    let schedule = Schedule::new(graph, body, settings, record);
    let mut caller = || {
        let ending = Ending(&schedule);
        schedule.work(0, Some(clock));
        drop(ending);
    };
    match pool {
        Some(pool) if settings.threads > 1 => {
            let work = |worker| schedule.work(worker, None);
            together(pool, settings.threads - 1, &work, caller);
        }
        _ => caller(),
    }
    schedule.outcome()
}

/// Stops the workers when the caller leaves, even by a panic of its own.
struct Ending<'s, 'a, B: Body>(&'s Schedule<'a, B>);

impl<B: Body> Drop for Ending<'_, '_, B> {
    fn drop(&mut self) {
        self.0.bound.store(0, Ordering::Release);
        self.0.given_up.store(true, Ordering::Release);
        self.0.call_all();
    }
}

impl<'a, B: Body> Schedule<'a, B> {
    fn new(graph: &'a Graph, body: &'a B, settings: Settings, record: Option<&'a Record>) -> Self {
        let tasks = graph.tasks();
        let mut ready = Ready::new(settings.seed);
        for (index, task) in (0u32..).zip(tasks).filter(|(_, task)| task.waits == 0) {
            ready.push(index, task.path_ns);
        }
        Self {
            graph,
            body,
            settings,
            record,
            waits: tasks
                .iter()
                .map(|task| AtomicU32::new(task.waits))
                .collect(),
            left: AtomicUsize::new(tasks.len()),
            done: AtomicUsize::new(0),
            bound: AtomicU32::new(u32::MAX),
            skipped: AtomicU32::new(u32::MAX),
            given_up: AtomicBool::new(false),
            offers: AtomicU32::new(0),
            state: Mutex::new(State {
                ready,
                wides: Vec::new(),
                sleeping: 0,
            }),
            wake: Condvar::new(),
            failure: Mutex::new(None),
        }
    }

    fn outcome(self) -> Result<(), RunError> {
        let failure = self
            .failure
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        match failure {
            Some((_, Failure::Error(error))) => Err(error),
            Some((_, Failure::Panic(payload))) => resume_unwind(payload),
            None => match self.skipped.load(Ordering::Relaxed) {
                u32::MAX => Ok(()),
                unit => Err(RunError::Interrupted {
                    step: self.body.origin(unit),
                }),
            },
        }
    }

    fn state(&self) -> MutexGuard<'_, State<B::Work>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works until no work is left.
    fn work(&self, worker: usize, mut clock: Option<&mut Clock<'_>>) {
        let mut turn = None;
        while let Some(now) = turn.or_else(|| self.wait(clock.as_deref_mut())) {
            self.look(clock.as_deref_mut());
            turn = match now {
                Turn::Task(task, unit) => self.task(worker, task, unit, clock.as_deref_mut()),
                Turn::Help(wide) => self.help(worker, &wide, clock.as_deref_mut()),
            };
        }
    }

    /// Asks the caller whether to continue.
    fn look(&self, clock: Option<&mut Clock<'_>>) {
        let Some(clock) = clock else { return };
        let going = self.bound.load(Ordering::Relaxed) > 0;
        if going && !clock.look(self.done.load(Ordering::Relaxed)) {
            self.bound.store(0, Ordering::Release);
        }
    }

    /// Runs a task, starting with unit `from`.
    fn task(
        &self,
        worker: usize,
        task: u32,
        from: usize,
        mut clock: Option<&mut Clock<'_>>,
    ) -> Option<Turn<B::Work>> {
        let units = self.graph.units(&self.graph.tasks()[task as usize]);
        for (place, &unit) in units.iter().enumerate().skip(from) {
            if unit >= self.bound.load(Ordering::Acquire) {
                self.skipped.fetch_min(unit, Ordering::Relaxed);
                break;
            }
            if let Some(record) = self.record {
                record.begin(unit, worker);
            }
            let Some((work, extent)) = self.guard(unit, || self.body.begin(unit)) else {
                break;
            };
            let division = wide::divide(extent, &self.settings);
            if division.pieces > 1 {
                let path_ns = self.graph.tasks()[task as usize].path_ns;
                let wide = Wide::new(
                    (task, place),
                    unit,
                    work,
                    extent,
                    (division.pieces, path_ns),
                );
                let wide = Arc::new(wide);
                self.publish(&wide, division.helpers);
                return self.help(worker, &wide, clock);
            }
            if extent.units > 0 {
                let run = || {
                    self.body.run(&work, (0, extent.units), worker);
                    Ok(())
                };
                if self.guard(unit, run).is_none() {
                    break;
                }
            }
            self.ended(unit);
            self.look(clock.as_deref_mut());
        }
        self.complete(task)
    }

    /// Runs work that may fail. Returns `None` if it failed.
    fn guard<T>(&self, unit: u32, work: impl FnOnce() -> Result<T, RunError>) -> Option<T> {
        let failure = match catch_unwind(AssertUnwindSafe(work)) {
            Ok(Ok(done)) => return Some(done),
            Ok(Err(error)) => Failure::Error(error),
            Err(payload) => Failure::Panic(payload),
        };
        let mut first = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(known, _)| unit < *known) {
            *first = Some((unit, failure));
        }
        self.bound.fetch_min(unit, Ordering::AcqRel);
        None
    }

    fn ended(&self, unit: u32) {
        if let Some(record) = self.record {
            record.end(unit);
        }
        self.done
            .fetch_add(self.body.steps(unit), Ordering::Relaxed);
    }

    /// Computes pieces of a unit until all are taken. The worker that finishes the last piece
    /// continues the task.
    fn help(
        &self,
        worker: usize,
        wide: &Wide<B::Work>,
        mut clock: Option<&mut Clock<'_>>,
    ) -> Option<Turn<B::Work>> {
        let begun_ns = self.record.map(Record::helps);
        let mut helped = false;
        let mut last = false;
        while let Some(parts) = wide.take() {
            helped = true;
            if wide.unit < self.bound.load(Ordering::Acquire) {
                let run = || {
                    self.body.run(&wide.work, parts, worker);
                    Ok(())
                };
                let _ = self.guard(wide.unit, run);
            } else {
                self.skipped.fetch_min(wide.unit, Ordering::Relaxed);
            }
            last |= wide.done();
            self.look(clock.as_deref_mut());
        }
        if let (Some(record), Some(begun_ns), true) = (self.record, begun_ns, helped) {
            record.helped(wide.unit, worker, begun_ns);
        }
        if !last {
            return None;
        }
        self.ended(wide.unit);
        let (task, place) = wide.task;
        Some(Turn::Task(task, place + 1))
    }

    /// Offers the pieces of a unit to other workers.
    fn publish(&self, wide: &Arc<Wide<B::Work>>, helpers: usize) {
        if helpers == 0 {
            return;
        }
        let mut state = self.state();
        state.wides.push(Arc::clone(wide));
        self.call(state, helpers);
    }

    /// Records that a task is done, and returns the next work.
    fn complete(&self, task: u32) -> Option<Turn<B::Work>> {
        let tasks = self.graph.tasks();
        let successors = self.graph.successors(&tasks[task as usize]).iter();
        let freed = |next: &&u32| self.waits[**next as usize].fetch_sub(1, Ordering::AcqRel) == 1;
        let freed: SmallVec<[u32; 8]> = successors.filter(freed).copied().collect();
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.call_all();
            return None;
        }
        let mut state = self.state();
        let mut worth_waking = 0;
        for next in freed {
            let path_ns = tasks[next as usize].path_ns;
            worth_waking += usize::from(path_ns >= WAKE_NS);
            state.ready.push(next, path_ns);
        }
        let turn = state.turn();
        let surplus = state.ready.len().min(worth_waking);
        self.call(state, surplus);
        turn
    }

    /// Wakes `count` sleeping workers.
    fn call(&self, state: MutexGuard<'_, State<B::Work>>, count: usize) {
        let sleeping = state.sleeping;
        if count > 0 {
            self.offers.fetch_add(1, Ordering::Release);
        }
        drop(state);
        for _ in 0..count.min(sleeping) {
            self.wake.notify_one();
        }
    }

    fn call_all(&self) {
        let state = self.state();
        self.offers.fetch_add(1, Ordering::Release);
        drop(state);
        self.wake.notify_all();
    }

    fn is_over(&self) -> bool {
        self.left.load(Ordering::Acquire) == 0 || self.given_up.load(Ordering::Acquire)
    }

    /// Waits for work; `None` when all tasks are done. The caller is asked at intervals.
    fn wait(&self, mut clock: Option<&mut Clock<'_>>) -> Option<Turn<B::Work>> {
        loop {
            let known = self.offers.load(Ordering::Acquire);
            let mut state = self.state();
            if self.is_over() {
                return None;
            }
            if let Some(turn) = state.turn() {
                return Some(turn);
            }
            drop(state);
            for _ in 0..looks(LOOKS) {
                if self.offers.load(Ordering::Acquire) != known {
                    break;
                }
                spin();
            }
            self.sleep(known, clock.as_deref_mut());
        }
    }

    /// Sleeps until work is offered; the calling thread also wakes to ask the caller.
    fn sleep(&self, known: u32, clock: Option<&mut Clock<'_>>) {
        let rest = clock
            .as_ref()
            .map(|clock| clock.rest().max(Duration::from_micros(100)));
        let mut state = self.state();
        if self.offers.load(Ordering::Acquire) == known {
            state.sleeping += 1;
            state = match rest {
                Some(rest) => {
                    let waited = self.wake.wait_timeout(state, rest);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self
                    .wake
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
            };
            state.sleeping -= 1;
        }
        drop(state);
        self.look(clock);
    }
}
