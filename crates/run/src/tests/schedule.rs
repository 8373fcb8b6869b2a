//! The scheduler, with units that only report their execution.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::RunError;
use crate::exec::clock::Clock;
use crate::exec::pool;
use crate::schedule::{Body, Extent, Settings, run};
use cloakwork_ir::text;
use cloakwork_plan::{Graph, Options, plan};
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// The graph of a program: four chains of four steps each, joined at the end.
fn graph() -> Graph {
    let mut source = String::from("%a = zeros [65536], i64\n");
    let mut outputs = String::new();
    for chain in 0..4 {
        let mut from = "a".to_owned();
        for step in 0..4 {
            // A gather is not element-wise, so each step stays a task of its own. Each has its own
            // result, so that no chain waits for the memory of another.
            let to = format!("c{chain}{step}");
            source += &format!("%{to} = empty [65536], i64\n");
            source += &format!("%{to} = take_along_axis %{from}, %a, 0, %{to}\n");
            outputs += &format!("device_to_host %{to} -> output \"{to}\"\n");
            from = to;
        }
    }
    source += "%o = empty [65536], i64\n%o = _modsum_ttc %c03, %c13, 7, %o\n";
    source += "%o = _modsum_ttc %o, %c23, 7, %o\n%o = _modsum_ttc %o, %c33, 7, %o\n";
    source += "device_to_host %o -> output \"o\"\n";
    source += &outputs;
    let program = Arc::new(text::parse(&source).unwrap());
    let verified = cloakwork_verify::verify(program).verified.unwrap();
    let options = Options {
        fuse: false,
        ..Options::new(cloakwork_kernels::Isa::PORTABLE, 4)
    };
    plan(Arc::new(verified), &options).unwrap().graph.unwrap()
}

fn settings(threads: usize, seed: Option<u64>) -> Settings {
    Settings {
        threads,
        split_ns: 10,
        seed,
    }
}

/// The behaviour of units: some fail, some panic, some wait for others to begin.
#[derive(Default)]
struct Play {
    fails: HashSet<u32>,
    panics: HashSet<u32>,
    meets: HashSet<u32>,
    met: (Mutex<usize>, Condvar),
    /// Workers block in their units until this is set.
    holds: Option<Arc<AtomicBool>>,
    parts: u64,
    log: Mutex<Vec<(u32, bool)>>,
    ran: AtomicUsize,
}

impl Play {
    fn say(&self, unit: u32, ended: bool) {
        self.log.lock().unwrap().push((unit, ended));
    }

    /// Blocks until the caller was asked, on all threads but the caller's own.
    fn hold(&self) {
        let thread = std::thread::current();
        let works = thread
            .name()
            .is_some_and(|name| name.starts_with("cloakwork-"));
        let asked = |asked: &Arc<AtomicBool>| asked.load(Ordering::Acquire);
        while works && !self.holds.as_ref().is_none_or(asked) {
            std::thread::yield_now();
        }
    }

    /// Blocks until all units of `meets` have begun. They must run side by side for that.
    fn meet(&self) {
        let (count, changed) = &self.met;
        let mut here = count.lock().unwrap();
        *here += 1;
        changed.notify_all();
        while *here < self.meets.len() {
            let (next, waited) = changed.wait_timeout(here, Duration::from_secs(60)).unwrap();
            assert!(!waited.timed_out(), "units do not run side by side");
            here = next;
        }
    }
}

impl Body for Play {
    type Work = u32;

    fn begin(&self, unit: u32) -> Result<(u32, Extent), RunError> {
        self.say(unit, false);
        if self.fails.contains(&unit) {
            return Err(RunError::Internal(unit.to_string()));
        }
        assert!(!self.panics.contains(&unit), "unit {unit}");
        if self.meets.contains(&unit) {
            self.meet();
        }
        self.hold();
        let extent = Extent {
            units: self.parts,
            weight_ns: self.parts * 10,
        };
        Ok((unit, extent))
    }

    fn run(&self, &unit: &u32, (from, to): (u64, u64), _: usize) {
        let before = self.ran.fetch_add((to - from) as usize, Ordering::AcqRel) as u64;
        if self.parts == 1 {
            assert!(before < u64::MAX);
            self.say(unit, true);
        }
    }

    fn steps(&self, _: u32) -> usize {
        1
    }

    fn origin(&self, unit: u32) -> u32 {
        unit
    }
}

fn play(graph: &Graph, body: &Play, settings: Settings) -> Result<(), RunError> {
    let mut tick = |_| true;
    let mut clock = Clock::new(1, (Instant::now(), Duration::from_millis(5)), &mut tick);
    let pool = pool::pool(settings.threads.max(2)).unwrap();
    run(graph, body, settings, Some(&pool), (&mut clock, None))
}

fn units(graph: &Graph) -> Vec<u32> {
    let tasks = graph.tasks().iter();
    tasks.flat_map(|task| graph.units(task).to_vec()).collect()
}

#[test]
fn every_unit_runs_once_and_after_those_it_waits_for() {
    let graph = graph();
    assert!(graph.tasks().len() > 8, "{graph}");
    for threads in [1, 2, 3, 8] {
        for seed in (0..20).map(Some).chain([None]) {
            let body = Play {
                parts: 1,
                ..Play::default()
            };
            play(&graph, &body, settings(threads, seed)).unwrap();
            let log = body.log.into_inner().unwrap();
            let place = |entry| log.iter().position(|known| *known == entry).unwrap();
            assert_eq!(log.len(), 2 * units(&graph).len());
            for task in graph.tasks() {
                let Some(&last) = graph.units(task).last() else {
                    continue;
                };
                for &next in graph.successors(task) {
                    let begins = graph.units(&graph.tasks()[next as usize]).first();
                    assert!(begins.is_none_or(|&next| place((last, true)) < place((next, false))));
                }
            }
        }
    }
}

#[test]
fn all_parts_of_long_units_are_run_once() {
    let graph = graph();
    for threads in [1, 2, 8] {
        let body = Play {
            parts: 1000,
            ..Play::default()
        };
        play(&graph, &body, settings(threads, None)).unwrap();
        let expected = 1000 * units(&graph).len();
        assert_eq!(body.ran.into_inner(), expected);
    }
}

#[test]
fn units_of_independent_branches_run_at_the_same_time() {
    let graph = graph();
    // The first units of the chains all wait for each other: run one after another, they would
    // block forever.
    let root = graph
        .tasks()
        .iter()
        .max_by_key(|task| graph.successors(task).len());
    let chains = graph.successors(root.unwrap()).iter();
    let chains = chains.map(|&task| &graph.tasks()[task as usize]);
    let chains = chains.filter(|task| task.waits == 1).take(2);
    let body = Play {
        parts: 1,
        meets: chains.map(|task| graph.units(task)[0]).collect(),
        ..Play::default()
    };
    assert_eq!(body.meets.len(), 2, "{graph}");
    play(&graph, &body, settings(2, None)).unwrap();
}

#[test]
fn of_several_errors_the_first_in_the_programs_order_is_told() {
    let graph = graph();
    let all = units(&graph);
    for threads in [1, 2, 8] {
        for seed in 0..50 {
            let body = Play {
                parts: 1,
                fails: all.iter().copied().filter(|unit| unit % 3 == 2).collect(),
                ..Play::default()
            };
            let first = body.fails.iter().min().unwrap().to_string();
            let outcome = play(&graph, &body, settings(threads, Some(seed)));
            assert_eq!(outcome, Err(RunError::Internal(first)), "{threads}, {seed}");
        }
    }
}

#[test]
fn a_panic_reaches_the_caller_and_the_workers_live_on() {
    let graph = graph();
    let last = units(&graph).into_iter().max().unwrap();
    for threads in [1, 2, 8] {
        let body = Play {
            parts: 1,
            panics: [last].into(),
            ..Play::default()
        };
        let run = AssertUnwindSafe(|| play(&graph, &body, settings(threads, None)));
        let payload = catch_unwind(run).unwrap_err();
        assert_eq!(
            payload.downcast_ref::<String>(),
            Some(&format!("unit {last}"))
        );
        let body = Play {
            parts: 1,
            ..Play::default()
        };
        play(&graph, &body, settings(threads, None)).unwrap();
    }
}

#[test]
fn a_run_stops_when_its_caller_says_so() {
    let graph = graph();
    for threads in [1, 2, 8] {
        let heard = Arc::new(AtomicBool::new(false));
        let body = Play {
            parts: 1,
            holds: Some(Arc::clone(&heard)),
            ..Play::default()
        };
        let mut asked = 0;
        let mut tick = |_| {
            asked += 1;
            heard.store(true, Ordering::Release);
            false
        };
        let mut clock = Clock::new(1, (Instant::now(), Duration::ZERO), &mut tick);
        let pool = pool::pool(threads.max(2)).unwrap();
        let settings = settings(threads, None);
        let outcome = run(&graph, &body, settings, Some(&pool), (&mut clock, None));
        assert_eq!(asked, 1);
        assert!(
            matches!(outcome, Err(RunError::Interrupted { .. })),
            "{outcome:?}"
        );
    }
}
