//! From its second run on, an executor submits each segment of a plan by one call of the driver.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use cloakwork_csrc as _;
use cloakwork_devices::{
    Capabilities, Costs, Driver, Drivers, Opaque, RawDriver, RawFunctions, RawParts,
    RawSegmentFunctions,
};
use cloakwork_ir::{DType, Device, HostId, HostTensor, Shape, View, text};
use cloakwork_kernels::{RawLaunch, best_isa};
use cloakwork_plan::{Options, Plan, plan};
use cloakwork_run::{Executor, RunError, RunOptions};
use cloakwork_verify::{Verified, verify};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::ffi::{c_char, c_void};
use std::sync::Arc;

fn sim() -> &'static Driver {
    Drivers::default().of(Device::Sim(0)).0
}

fn functions() -> &'static RawFunctions {
    // SAFETY: the driver's own table.
    unsafe { sim().table().functions.as_ref() }.unwrap()
}

fn of_segments() -> &'static RawSegmentFunctions {
    // SAFETY: as above.
    unsafe { sim().table().segments.as_ref() }.unwrap()
}

/// The behaviour of the next call of a function of segments.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    Ordinary,
    BuildFails,
    BuildDeclines,
    RunFails,
}

thread_local! {
    /// Calls of the driver by this thread, in order.
    static CALLS: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
    static NEXT: Cell<Next> = const { Cell::new(Next::Ordinary) };
}

fn note(name: &'static str) {
    CALLS.with_borrow_mut(|calls| calls.push(name));
}

/// The calls since the last time.
fn calls() -> Vec<&'static str> {
    CALLS.take()
}

fn count(calls: &[&str], name: &str) -> usize {
    calls.iter().filter(|call| **call == name).count()
}

unsafe extern "C" fn reason(device: Opaque, text: *mut c_char, bytes: u64) {
    if NEXT.get() == Next::Ordinary {
        // SAFETY: the caller's promise.
        return unsafe { (functions().reason)(device, text, bytes) };
    }
    let words = c"no such thing today";
    // SAFETY: the caller has more bytes than that.
    unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), text, words.count_bytes() + 1) };
}

unsafe extern "C" fn launch(
    queue: Opaque,
    row: u32,
    launch: *const RawLaunch,
    params: u32,
    units: u64,
) -> i32 {
    note("launch");
    // SAFETY: the caller's promise.
    unsafe { (functions().launch)(queue, row, launch, params, units) }
}

unsafe extern "C" fn release(device: Opaque, at: *mut c_void) {
    note("release memory");
    // SAFETY: as above.
    unsafe { (functions().release)(device, at) }
}

unsafe extern "C" fn close_queue(queue: Opaque) {
    note("close a queue");
    // SAFETY: as above.
    unsafe { (functions().close_queue)(queue) }
}

unsafe extern "C" fn build(device: Opaque, parts: *const RawParts, to: *mut Opaque) -> i32 {
    note("build");
    match NEXT.get() {
        Next::BuildFails => 7,
        Next::BuildDeclines => 0,
        // SAFETY: as above.
        _ => unsafe { (of_segments().build)(device, parts, to) },
    }
}

unsafe extern "C" fn run_segment(queue: Opaque, segment: Opaque) -> i32 {
    note("run");
    match NEXT.get() {
        Next::RunFails => 7,
        // SAFETY: as above.
        _ => unsafe { (of_segments().run)(queue, segment) },
    }
}

unsafe extern "C" fn release_segment(device: Opaque, segment: Opaque) {
    note("release");
    // SAFETY: as above.
    unsafe { (of_segments().release)(device, segment) }
}

/// `sim` with notes of some calls.
fn noted() -> Drivers {
    let table = RawDriver {
        functions: Box::leak(Box::new(RawFunctions {
            reason,
            launch,
            release,
            close_queue,
            ..*functions()
        })),
        segments: Box::leak(Box::new(RawSegmentFunctions {
            build,
            run: run_segment,
            release: release_segment,
        })),
        ..*sim().table()
    };
    // SAFETY: the functions are those of `sim`, which keep the contract.
    let driver = unsafe { Driver::new(Box::leak(Box::new(table))) }.unwrap();
    Drivers::default().with_sim(Box::leak(Box::new(driver)))
}

fn verified(source: &str) -> Arc<Verified> {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let found = verify(Arc::new(program));
    let findings = found.findings;
    Arc::new(found.verified.unwrap_or_else(|| panic!("{findings:?}")))
}

fn planned(verified: &Arc<Verified>, device: Device, drivers: Drivers) -> Arc<Plan> {
    let options = Options {
        device,
        drivers,
        ..Options::new(best_isa(), 1)
    };
    Arc::new(plan(Arc::clone(verified), &options).unwrap_or_else(|error| panic!("{error}")))
}

type Inputs = HashMap<HostId, HostTensor>;
type Results = Result<Vec<Vec<i64>>, RunError>;

fn run(executor: &mut Executor, inputs: &Inputs, profile: bool) -> Results {
    let options = RunOptions {
        profile,
        ..RunOptions::default()
    };
    let outcome = executor.run(inputs, &options, &mut |_| true)?;
    Ok(outcome.outputs.iter().map(|o| o.tensor.words()).collect())
}

fn given() -> Inputs {
    let words = (0..16i64).flat_map(|i| (i * 7).to_le_bytes());
    let view = View::contiguous(Shape::new(&[16]).unwrap());
    let tensor = HostTensor::new(DType::I64, view, words.collect::<Vec<u8>>().into());
    HashMap::from([(HostId(0), tensor.unwrap())])
}

/// The results of a program on the host.
fn expected(verified: &Arc<Verified>, inputs: &Inputs) -> Results {
    let plan = planned(verified, Device::Cpu, Drivers::default());
    run(&mut Executor::new(plan).unwrap(), inputs, false)
}

const STEPS: usize = 50;

/// A chain of small steps, each over the results of the two before it.
fn chain() -> Arc<Verified> {
    let mut source = "%v0 = host_to_device input \"a\" i64[16]\n".to_owned();
    for step in 0..STEPS {
        let (next, before) = (step + 1, step.saturating_sub(1));
        source += &format!("%v{next} = empty [16], i64\n");
        source += &format!("%v{next} = _modsum_ttc %v{step}, %v{before}, 1000003, %v{next}\n");
    }
    verified(&(source + &format!("device_to_host %v{STEPS} -> output \"b\"\n")))
}

#[test]
fn a_chain_is_one_segment_that_each_run_after_the_first_submits_by_one_call() {
    let verified = chain();
    let plan = planned(&verified, Device::Sim(0), noted());
    let said = format!(
        "a segment of sim:0: {STEPS} steps; ranges: 3 input, 3 output, {} temporary",
        STEPS - 1
    );
    assert!(plan.to_string().contains(&said), "{plan}");
    let given = given();
    let expected = expected(&verified, &given).unwrap();
    let mut executor = Executor::new(plan).unwrap();
    calls();
    assert_eq!(run(&mut executor, &given, false).unwrap(), expected);
    assert_eq!(calls(), ["launch"; STEPS]);
    assert_eq!(run(&mut executor, &given, false).unwrap(), expected);
    assert_eq!(calls(), ["build", "run"]);
    assert_eq!(run(&mut executor, &given, false).unwrap(), expected);
    assert_eq!(calls(), ["run"]);
    assert_eq!(run(&mut executor, &given, true).unwrap(), expected);
    assert_eq!(calls(), ["run"]);
    drop(executor);
    let last = calls();
    assert_eq!(last[0], "release");
    assert_eq!(count(&last, "release"), 1);
    assert_eq!(
        (
            count(&last, "release memory"),
            count(&last, "close a queue")
        ),
        (3, 3)
    );
}

#[test]
fn a_driver_without_segments_gets_every_launch_in_every_run() {
    let verified = chain();
    let (sim, _) = noted().of(Device::Sim(0));
    let plain = sim.varied(Costs::NONE, Capabilities::NONE, BTreeSet::new());
    let plain = Drivers::default().with_sim(Box::leak(Box::new(plain.unwrap())));
    let plan = planned(&verified, Device::Sim(0), plain);
    assert!(plan.segments.is_empty() && !plan.to_string().contains("segment"));
    let given = given();
    let expected = expected(&verified, &given).unwrap();
    let mut executor = Executor::new(plan).unwrap();
    for _ in 0..3 {
        calls();
        assert_eq!(run(&mut executor, &given, false).unwrap(), expected);
        assert_eq!(calls(), ["launch"; STEPS]);
    }
    let here = planned(&verified, Device::Cpu, Drivers::default());
    assert!(here.segments.is_empty());
}

#[test]
fn a_segment_that_cannot_be_built_is_an_error_of_the_device_in_its_words() {
    let verified = chain();
    let given = given();
    let plan = planned(&verified, Device::Sim(0), noted());
    let expected = expected(&verified, &given).unwrap();
    let mut executor = Executor::new(plan).unwrap();
    assert_eq!(run(&mut executor, &given, false).unwrap(), expected);
    NEXT.set(Next::BuildFails);
    for _ in 0..2 {
        let error = run(&mut executor, &given, false).unwrap_err().to_string();
        assert_eq!(error, "sim:0: cannot build a segment: no such thing today");
    }
    NEXT.set(Next::Ordinary);
    calls();
    assert_eq!(run(&mut executor, &given, false).unwrap(), expected);
    assert_eq!(calls(), ["build", "run"]);
}

#[test]
fn a_driver_may_prefer_to_get_launches_one_by_one() {
    let verified = chain();
    let given = given();
    let plan = planned(&verified, Device::Sim(0), noted());
    let expected = expected(&verified, &given).unwrap();
    let mut executor = Executor::new(plan).unwrap();
    NEXT.set(Next::BuildDeclines);
    calls();
    for _ in 0..3 {
        assert_eq!(run(&mut executor, &given, false).unwrap(), expected);
    }
    NEXT.set(Next::Ordinary);
    drop(executor);
    let calls = calls();
    assert_eq!((count(&calls, "build"), count(&calls, "run")), (1, 0));
    assert_eq!(
        (count(&calls, "launch"), count(&calls, "release")),
        (3 * STEPS, 0)
    );
}

#[test]
fn after_a_segment_that_failed_the_next_run_has_a_new_device() {
    let verified = chain();
    let given = given();
    let plan = planned(&verified, Device::Sim(0), noted());
    let expected = expected(&verified, &given).unwrap();
    let mut executor = Executor::new(plan).unwrap();
    for _ in 0..2 {
        assert_eq!(run(&mut executor, &given, false).unwrap(), expected);
        NEXT.set(Next::RunFails);
        let error = run(&mut executor, &given, false).unwrap_err().to_string();
        assert_eq!(error, "sim:0: cannot run a segment: no such thing today");
        NEXT.set(Next::Ordinary);
    }
    assert_eq!(run(&mut executor, &given, false).unwrap(), expected);
}
