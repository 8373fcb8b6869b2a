//! The scheduler, the door and `share` under loom: every interleaving of their threads and every
//! visibility of writes, up to a number of preemptions. The sources are the crate's own; they
//! synchronise through `sync`, which is loom's here.
//!
//! Loom finds unordered accesses to a result, results that are touched after the call has returned,
//! and threads that wait forever: naps and timeouts never end by themselves here.
#![allow(dead_code, reason = "the sources have more than the models use")]
#![allow(
    clippy::duplicate_mod,
    reason = "the door is modelled alone and within the scheduler"
)]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::expect_used)]

#[path = "../../src/schedule/door.rs"]
mod door;
#[path = "../../src/schedule/mod.rs"]
mod schedule;
#[path = "../../src/share.rs"]
mod share;
mod sync;

/// The items that the sources import from their own crate.
mod exec {
    pub mod clock;
    pub mod launch;
}

mod report {
    pub mod outcome {
        pub use cloakwork_run::{Help, Span};

        /// A model's run is not recorded.
        pub struct Profile;

        impl Profile {
            pub fn apart(_: &cloakwork_plan::Plan, _: Vec<Span>, _: Vec<Help>) -> Self {
                Self
            }
        }
    }
}
use cloakwork_csrc as _;
use cloakwork_run::RunError;

use cloakwork_ir::text;
use cloakwork_plan::{Graph, Options, plan};
use exec::clock::Clock;
use loom::cell::UnsafeCell;
use schedule::{Body, Extent, Settings};
use std::sync::Arc;
use sync::ThreadPool;

/// Tries all interleavings with at most `preemptions` preemptions.
fn model(preemptions: usize, run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(run);
}

/// Results that threads write: loom reports accesses that are not ordered.
struct Cells(Vec<UnsafeCell<u32>>);

// SAFETY: the models test these accesses: loom checks each.
unsafe impl Sync for Cells {}
// SAFETY: as above.
unsafe impl Send for Cells {}

impl Cells {
    fn new(count: usize) -> Self {
        Self((0..count).map(|_| UnsafeCell::new(0)).collect())
    }

    fn add(&self, at: usize, value: u32) {
        // SAFETY: loom checks that this thread has the cell exclusively.
        self.0[at].with_mut(|cell| unsafe { *cell += value });
    }

    fn get(&self, at: usize) -> u32 {
        // SAFETY: loom checks that no thread writes the cell.
        self.0[at].with(|cell| unsafe { *cell })
    }
}

#[test]
fn pieces_are_done_once_and_seen_by_the_caller() {
    model(3, || {
        let (pool, cells) = (ThreadPool::new(), Cells::new(3));
        share::share(&pool, 2, 3, &|piece, thread| {
            assert!(thread <= 2);
            cells.add(piece as usize, 1);
        });
        // No other thread accesses the cells any more.
        (0..3).for_each(|at| cells.add(at, 1));
        assert!((0..3).all(|at| cells.get(at) == 2));
        drop(cells);
        pool.join();
    });
}

#[test]
fn who_comes_in_is_waited_for_and_who_comes_late_turns_back() {
    model(3, || {
        let (pool, cells) = (ThreadPool::new(), Cells::new(3));
        let work = |worker: usize| cells.add(worker, 1);
        let given = door::together(&pool, 2, &work, || 7);
        assert_eq!(given, 7);
        (0..3).for_each(|at| cells.add(at, 1));
        assert!((1..3).all(|at| (1..=2).contains(&cells.get(at))));
        drop(cells);
        pool.join();
    });
}

/// Two chains, and the task that joins them.
fn graph() -> Graph {
    let sum = "%o = empty [65536], i64\n%o = _modsum_ttc %b, %c, 7, %o\n";
    planned(&["b", "c"], sum, &["o", "b", "c"])
}

/// Chains that read the same, a last step, and what is given out.
fn planned(chains: &[&str], last: &str, outputs: &[&str]) -> Graph {
    let mut source = String::from("%a = zeros [65536], i64\n");
    for name in chains {
        source += &format!("%{name} = empty [65536], i64\n");
        source += &format!("%{name} = take_along_axis %a, %a, 0, %{name}\n");
    }
    source += last;
    for name in outputs {
        source += &format!("device_to_host %{name} -> output \"{name}\"\n");
    }
    let verified = cloakwork_verify::verify(Arc::new(text::parse(&source).unwrap())).verified;
    let options = Options {
        fuse: false,
        ..Options::new(cloakwork_kernels::Isa::PORTABLE, 2)
    };
    plan(Arc::new(verified.unwrap()), &options)
        .unwrap()
        .graph
        .unwrap()
}

/// Units that read the results of the units before them.
struct Play {
    graph: Arc<Graph>,
    cells: Cells,
    /// The predecessors of each unit.
    before: Vec<Vec<usize>>,
    parts: u64,
    fails: Option<u32>,
}

impl Play {
    fn new(graph: &Arc<Graph>, parts: u64, fails: Option<u32>) -> Self {
        let units: usize = graph
            .tasks()
            .iter()
            .map(|task| graph.units(task).len())
            .sum();
        let mut before = vec![vec![]; units];
        for task in graph.tasks() {
            let own = graph.units(task);
            for pair in own.windows(2) {
                before[pair[1] as usize].push(pair[0] as usize);
            }
            for &next in graph.successors(task) {
                let first = graph.units(&graph.tasks()[next as usize])[0];
                before[first as usize].push(*own.last().unwrap() as usize);
            }
        }
        Self {
            graph: Arc::clone(graph),
            cells: Cells::new(units * parts as usize),
            before,
            parts,
            fails,
        }
    }

    fn cell(&self, unit: usize, part: u64) -> usize {
        unit * self.parts as usize + part as usize
    }
}

impl Body for Play {
    type Work = u32;

    fn begin(&self, unit: u32) -> Result<(u32, Extent), RunError> {
        for &earlier in &self.before[unit as usize] {
            for part in 0..self.parts {
                assert_eq!(
                    self.cells.get(self.cell(earlier, part)),
                    1,
                    "{unit} before {earlier}"
                );
            }
        }
        if self.fails == Some(unit) {
            return Err(RunError::Internal(format!("unit {unit}")));
        }
        let extent = Extent {
            units: self.parts,
            weight_ns: 100 * self.parts,
        };
        Ok((unit, extent))
    }

    fn run(&self, unit: &u32, parts: (u64, u64), _: usize) {
        for part in parts.0..parts.1 {
            self.cells.add(self.cell(*unit as usize, part), 1);
        }
    }

    fn steps(&self, _: u32) -> usize {
        1
    }

    fn origin(&self, unit: u32) -> u32 {
        unit
    }
}

/// Runs the graph on the caller and `workers` workers; returns the failure, if one is reported.
fn play(graph: &Arc<Graph>, workers: usize, parts: u64, fails: Option<u32>) -> Option<RunError> {
    let (pool, body) = (ThreadPool::new(), Play::new(graph, parts, fails));
    let settings = Settings {
        threads: workers + 1,
        split_ns: 1,
        seed: None,
    };
    let told = schedule::run(
        &body.graph,
        &body,
        settings,
        Some(&pool),
        (&mut Clock::new(), None),
    );
    for (at, cell) in body.cells.0.iter().enumerate() {
        // SAFETY: loom checks that the caller has the cell exclusively.
        cell.with_mut(|cell| unsafe {
            assert!(told.is_err() || *cell == 1, "part {at} ran {} times", *cell);
        });
    }
    drop(body);
    pool.join();
    told.err()
}

#[test]
fn tasks_run_once_each_after_those_that_they_wait_for() {
    let graph = Arc::new(graph());
    assert!(graph.tasks().len() >= 3, "{graph:?}");
    model(2, move || assert_eq!(play(&graph, 1, 1, None), None));
}

#[test]
fn parts_of_a_wide_task_are_shared_and_its_task_goes_on_once() {
    // Two chains take minutes.
    let graph = Arc::new(match cloakwork_testing::is_whole() {
        true => graph(),
        false => planned(&["b"], "", &["b"]),
    });
    assert!(graph.tasks().len() >= 3, "{graph:?}");
    model(2, move || assert_eq!(play(&graph, 1, 2, None), None));
}

#[test]
fn the_failure_of_a_unit_ends_all_threads_and_is_told() {
    let graph = Arc::new(graph());
    let first = graph.units(&graph.tasks()[0])[0];
    model(2, move || {
        let told = play(&graph, 1, 1, Some(first));
        assert_eq!(told, Some(RunError::Internal(format!("unit {first}"))));
    });
}
