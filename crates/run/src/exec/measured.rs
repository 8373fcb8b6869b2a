//! Measured kernel calls of a thread: those of eager calls, and the steps of programs and batches
//! that it runs meanwhile.

use crate::report::outcome::Outcome;
use crate::report::totals;
use cloakwork_kernels::KernelRow;
use cloakwork_plan::Plan;
use std::cell::{Cell, RefCell};
use std::time::Instant;

/// A kernel call that was measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The op of a program's step; of an eager call what the kernel computes.
    pub op: String,
    /// The kernel; empty for a step that runs none.
    pub kernel: &'static str,
    /// Nanoseconds from the start of the outermost measurement.
    pub start_ns: u64,
    /// Nanoseconds that it took.
    pub nanoseconds: u64,
    /// Bytes of its operands.
    pub bytes: u64,
    /// Threads that could share it, or its run.
    pub threads: usize,
}

/// Measurements of a thread, one inside another.
struct Open {
    start: Instant,
    depth: usize,
    calls: Vec<Measured>,
}

thread_local! {
    /// Apart from the calls, as each launch asks.
    static IS_MEASURED: Cell<bool> = const { Cell::new(false) };
    static OPEN: RefCell<Option<Open>> = const { RefCell::new(None) };
}

/// Whether this thread's calls are measured.
#[inline]
#[must_use]
pub fn is_measured() -> bool {
    IS_MEASURED.with(Cell::get)
}

/// Starts to measure this thread's calls; returns the place of the first one.
#[must_use]
pub fn begin() -> usize {
    IS_MEASURED.with(|own| own.set(true));
    OPEN.with_borrow_mut(|open| {
        let open = open.get_or_insert_with(|| Open {
            start: Instant::now(),
            depth: 0,
            calls: Vec::new(),
        });
        open.depth += 1;
        open.calls.len()
    })
}

/// Ends the measurement that began at a place, and returns its calls.
#[must_use]
pub fn end(first: usize) -> Vec<Measured> {
    OPEN.with_borrow_mut(|opened| {
        let Some(open) = opened else {
            return Vec::new();
        };
        let calls = open.calls.get(first..).unwrap_or_default().to_vec();
        open.depth -= 1;
        if open.depth == 0 {
            *opened = None;
            IS_MEASURED.with(|own| own.set(false));
        }
        calls
    })
}

/// Runs a kernel of this thread, and measures it.
pub(crate) fn kernel<T>(
    row: &'static KernelRow,
    threads: usize,
    bytes: u64,
    run: impl FnOnce() -> T,
) -> T {
    let start = Instant::now();
    let done = run();
    let took = start.elapsed();
    add(start, |start_ns| {
        vec![Measured {
            op: row.kernel.to_owned(),
            kernel: row.symbol,
            start_ns,
            nanoseconds: took.as_nanos() as u64,
            bytes,
            threads,
        }]
    });
    done
}

/// Adds the steps of a program that this thread has run.
pub fn add_run(start: Instant, plan: &Plan, outcome: &Outcome) {
    add(start, |start_ns| {
        let steps = totals::measured(plan, outcome);
        steps
            .map(|step| Measured {
                start_ns: start_ns + step.start_ns,
                ..step
            })
            .collect()
    });
}

fn add(start: Instant, calls: impl FnOnce(u64) -> Vec<Measured>) {
    OPEN.with_borrow_mut(|open| {
        if let Some(open) = open {
            let since = start.saturating_duration_since(open.start);
            open.calls.extend(calls(since.as_nanos() as u64));
        }
    });
}
