//! The device through its table, as the executor uses it.
#![allow(clippy::unwrap_used)]

use super::driver;
use super::table::TABLE;
use crate::{
    DeviceError, DeviceMemory, Driver, FailedCheck, Node, NodeWork, OpenDevice, Queue, RawDriver,
    Segment, Span,
};
use cloakwork_ir::DType;
use cloakwork_kernels::{Isa, LaunchShape, RawKernelRow, RawLaunch, host_table};
use std::collections::BTreeSet;
use std::ffi::{CStr, c_void};
use std::sync::Arc;

const COUNT: usize = 1000;

/// c = a + b over i64 in the device's memory, `times` times.
fn sums(times: usize) -> Vec<i64> {
    let device = driver().open(0).unwrap();
    let memory = device.allocate(3 * 8 * COUNT as u64).unwrap();
    let (mut compute, mut moves) = (device.queue().unwrap(), device.queue().unwrap());
    let place = |index: usize| memory.address().wrapping_byte_add(index * 8 * COUNT);
    let values: Vec<i64> = (0..COUNT as i64).collect();
    let bytes = 8 * COUNT as u64;
    for operand in [1, 2] {
        // SAFETY: both have so many bytes, and live to the end.
        unsafe { moves.upload(place(operand), values.as_ptr().cast(), bytes) }.unwrap();
    }
    let uploaded = moves.record().unwrap();
    compute.wait(uploaded).unwrap();
    let row = driver().select(0, ("add", [DType::I64; 2]), Isa::PORTABLE);
    let row = row.unwrap();
    let shape = LaunchShape {
        dims: &[COUNT as i64],
        strides: &[1, 1, 1],
        params: &[0],
    };
    for time in 0..times {
        let other = if time == 0 { 2 } else { 0 };
        let data: [*mut c_void; 3] = [place(0), place(1), place(other)];
        let launch = RawLaunch::new(&shape, &data, std::ptr::null());
        // SAFETY: the operands are the device's, as large as the launch.
        unsafe { compute.launch(row, (&launch, 1), COUNT as u64) }.unwrap();
    }
    let computed = compute.record().unwrap();
    moves.wait(computed).unwrap();
    let mut result = vec![0i64; COUNT];
    // SAFETY: as above.
    unsafe { moves.download(result.as_mut_ptr().cast(), place(0), bytes) }.unwrap();
    let done = moves.record().unwrap();
    moves.finish(done).unwrap();
    result
}

#[test]
fn queues_keep_their_order_and_wait_for_one_another() {
    for times in [1, 2, 20] {
        let expected: Vec<i64> = (0..COUNT as i64).map(|i| i * (times as i64 + 1)).collect();
        assert_eq!(sums(times), expected);
    }
}

#[test]
fn its_addresses_are_no_memory_of_the_host() {
    let device = driver().open(0).unwrap();
    let memory = device.allocate(64).unwrap();
    assert!(
        memory.address() as usize >> 47 != 0,
        "a pointer may look like this"
    );
}

#[test]
fn what_leaves_an_allocation_is_refused_in_words() {
    let device = driver().open(0).unwrap();
    let memory = device.allocate(64).unwrap();
    let mut queue = device.queue().unwrap();
    let bytes = [0u8; 65];
    // SAFETY: the driver refuses what it does not have.
    unsafe { queue.upload(memory.address(), bytes.as_ptr().cast(), 65) }.unwrap();
    let event = queue.record().unwrap();
    let text = queue.finish(event).unwrap_err().to_string();
    assert!(
        text.starts_with("sim:0: cannot finish what it was given: 65 bytes at"),
        "{text}"
    );
    let text = device.allocate(1 << 60).unwrap_err().to_string();
    assert!(
        text.contains("out of memory: 1152921504606846976 bytes requested"),
        "{text}"
    );
}

/// The feature that one of the made-up driver's devices has and the others lack.
const MATRIX_UNITS: u64 = 1 << Isa::FIRST_OWN;

unsafe extern "C" fn three_rows(count: *mut u64) -> *const RawKernelRow {
    let is_add = |row: &&RawKernelRow| {
        // SAFETY: names of the table are texts.
        let symbol = unsafe { CStr::from_ptr(row.symbol) };
        symbol == c"add_i64_portable"
    };
    let portable = host_table().iter().find(is_add).unwrap();
    let row = |symbol: &'static CStr, needs, preference| RawKernelRow {
        symbol: symbol.as_ptr(),
        needs,
        preference,
        ..*portable
    };
    let rows = vec![
        row(c"plain", 0, 0),
        row(c"vector", Isa::AVX2.bits(), 1),
        row(c"matrix", MATRIX_UNITS, 2),
    ];
    // SAFETY: the caller has a number there.
    unsafe { *count = rows.len() as u64 };
    rows.leak().as_ptr()
}

unsafe extern "C" fn units_on_device_one(index: u32) -> u64 {
    Isa::AVX2.bits() | if index == 1 { MATRIX_UNITS } else { 0 }
}

#[test]
fn a_device_runs_the_rows_whose_needs_it_has_and_plans_withhold_features_of_processors_alone() {
    let raw = Box::leak(Box::new(RawDriver {
        kernels: three_rows,
        features: units_on_device_one,
        ..TABLE
    }));
    // SAFETY: the table is the simulated one's but for what the test does not call.
    let driver = unsafe { Driver::new(raw) }.unwrap();
    let chosen = |index, isa| {
        let row = driver.select(index, ("add", [DType::I64; 2]), isa);
        row.unwrap().symbol
    };
    assert_eq!(chosen(0, Isa::AVX512), "vector");
    assert_eq!(chosen(0, Isa::NEON), "plain");
    assert_eq!(chosen(1, Isa::AVX512), "matrix");
    assert_eq!(chosen(1, Isa::PORTABLE), "matrix");
}

/// Launches over i64 in the device's memory, for segments.
struct Sums {
    device: Arc<OpenDevice>,
    memory: DeviceMemory,
    queue: Queue,
}

/// An addition of tensors of the memory, `to = from + from`, and the nodes before it.
type Sum<'a> = (usize, usize, &'a [u32]);

impl Sums {
    fn new() -> Self {
        let device = driver().open(0).unwrap();
        let memory = device.allocate(4 * 8 * COUNT as u64).unwrap();
        let mut queue = device.queue().unwrap();
        let ones = [1i64; 4 * COUNT];
        // SAFETY: both have so many bytes, and the queue is finished before they go.
        unsafe { queue.upload(memory.address(), ones.as_ptr().cast(), memory.bytes()) }.unwrap();
        let event = queue.record().unwrap();
        queue.finish(event).unwrap();
        Self {
            device,
            memory,
            queue,
        }
    }

    fn place(&self, index: usize) -> *mut c_void {
        self.memory.address().wrapping_byte_add(index * 8 * COUNT)
    }

    /// A tensor that nodes use from one to another, as input or output.
    fn span(&self, index: usize, nodes: (u32, u32), is: &str) -> Span {
        Span {
            at: self.place(index),
            bytes: 8 * COUNT as u64,
            nodes,
            is_input: is.contains("in"),
            is_output: is.contains("out"),
            is_checked: false,
        }
    }

    fn segment(&self, sums: &[Sum], spans: &[Span]) -> Result<Segment, String> {
        let row = driver().select(0, ("add", [DType::I64; 2]), Isa::PORTABLE);
        let shape = LaunchShape {
            dims: &[COUNT as i64],
            strides: &[1, 1, 1],
            params: &[0],
        };
        let data = |&(to, from, _): &Sum| [self.place(to), self.place(from), self.place(from)];
        let data: Vec<[*mut c_void; 3]> = sums.iter().map(data).collect();
        let launches = data.iter();
        let launches = launches.map(|data| RawLaunch::new(&shape, data, std::ptr::null()));
        let launches: Vec<RawLaunch> = launches.collect();
        let nodes = launches
            .iter()
            .zip(sums)
            .map(|(launch, &(_, _, after))| Node {
                work: NodeWork::Launch {
                    row: row.unwrap(),
                    launch: (launch, 1),
                    units: COUNT as u64,
                },
                after,
            });
        let nodes: Vec<Node> = nodes.collect();
        // SAFETY: the driver refuses addresses that it does not have, and all else is in order.
        let built = unsafe { self.device.segment(&nodes, spans) };
        built.map(Option::unwrap).map_err(|error| error.to_string())
    }

    /// Runs a segment, and gives the first number of each tensor.
    fn run(&mut self, segment: &Segment) -> Result<[i64; 4], String> {
        let mut numbers = [0i64; 4 * COUNT];
        // SAFETY: the segment is of this queue's device; both have so many bytes, and the queue is
        // finished before they go.
        let event = unsafe {
            self.queue.run_segment(segment).unwrap();
            let to = numbers.as_mut_ptr().cast();
            self.queue
                .download(to, self.memory.address(), self.memory.bytes())
                .unwrap();
            self.queue.record().unwrap()
        };
        let finished = self.queue.finish(event);
        finished.map_err(|error| error.to_string())?;
        Ok([0, 1, 2, 3].map(|index| numbers[index * COUNT]))
    }
}

/// The number that overwritten undefined bytes make.
const NOISE: i64 = i64::from_ne_bytes([0xA5; 8]);

#[test]
fn a_segment_runs_again_and_leaves_nothing_but_its_outputs() {
    let mut sums = Sums::new();
    let spans = [
        sums.span(0, (0, 0), "in out"),
        sums.span(1, (0, 1), ""),
        sums.span(2, (1, 1), "out"),
    ];
    let segment = sums.segment(&[(1, 0, &[]), (2, 1, &[0])], &spans).unwrap();
    for _ in 0..3 {
        assert_eq!(sums.run(&segment), Ok([1, NOISE, 4, 1]));
    }
    // What it finds in place is not what it left there.
    let doubled = sums.segment(&[(3, 3, &[])], &[sums.span(3, (0, 0), "in out")]);
    let doubled = doubled.unwrap();
    assert_eq!(sums.run(&doubled), Ok([1, NOISE, 4, 2]));
    assert_eq!(sums.run(&doubled), Ok([1, NOISE, 4, 4]));
}

#[test]
fn nodes_run_in_any_order_that_their_edges_allow() {
    let mut sums = Sums::new();
    let spans = [
        sums.span(0, (0, 1), "in out"),
        sums.span(1, (0, 1), "in out"),
    ];
    let fresh = [
        sums.span(0, (0, 0), "out"),
        sums.span(1, (1, 1), "out"),
        sums.span(2, (0, 1), "in out"),
    ];
    let fresh = sums.segment(&[(0, 2, &[]), (1, 2, &[])], &fresh).unwrap();
    for (edges, orders) in [(&[][..], 2), (&[0][..], 1)] {
        let segment = sums.segment(&[(1, 0, &[]), (0, 1, edges)], &spans).unwrap();
        let mut found = BTreeSet::new();
        for _ in 0..32 {
            assert_eq!(sums.run(&fresh), Ok([2, 2, 1, 1]));
            found.insert(sums.run(&segment).unwrap());
        }
        assert_eq!(found.len(), orders, "{found:?}");
    }
}

#[test]
fn a_segment_that_says_what_cannot_be_is_refused_in_words() {
    let sums = Sums::new();
    let (whole, first) = (sums.span(0, (0, 1), "in out"), sums.span(1, (0, 0), ""));
    let outside = Span {
        at: sums.place(9),
        ..whole
    };
    let refused = [
        (
            &[(1, 0, &[][..]), (1, 0, &[])][..],
            &[whole, first][..],
            "in no range that is in use",
        ),
        (
            &[(0, 0, &[1]), (0, 0, &[])],
            &[whole],
            "node 0 is after node 1",
        ),
        (&[(0, 0, &[])], &[whole, whole], "are in use at node 0"),
        (
            &[(0, 0, &[])],
            &[whole, outside],
            "are not memory of the device",
        ),
    ];
    for (nodes, spans, words) in refused {
        let text = sums.segment(nodes, spans).unwrap_err();
        assert!(
            text.starts_with("sim:0: cannot build a segment: "),
            "{text}"
        );
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn a_segment_whose_memory_is_gone_fails_its_queue() {
    let mut sums = Sums::new();
    let segment = sums.segment(&[(0, 0, &[])], &[sums.span(0, (0, 0), "in out")]);
    let segment = segment.unwrap();
    sums.memory = sums.device.allocate(4 * 8 * COUNT as u64).unwrap();
    let text = sums.run(&segment).unwrap_err();
    let words =
        "sim:0: cannot finish what it was given: memory of a segment was released before it";
    assert_eq!(text, words);
}

#[test]
fn a_queue_stops_at_a_check_and_what_was_done_before_counts() {
    let device = driver().open(0).unwrap();
    let memory = device.allocate(64).unwrap();
    let (status, result) = (memory.address(), memory.address().wrapping_byte_add(8));
    for word in [0u64, 7] {
        let mut queues = [(); 3].map(|()| device.queue().unwrap());
        let [compute, moves, late] = &mut queues;
        let mut read = [u64::MAX; 2];
        let (values, end) = ([word, 11], 5u64);
        // SAFETY: the memory has these words, which live until the queues are done.
        unsafe {
            compute.upload(status, values.as_ptr().cast(), 16).unwrap();
            let before = compute.record().unwrap();
            compute.check(status, 3).unwrap();
            compute.upload(result, (&raw const end).cast(), 8).unwrap();
            let after = compute.record().unwrap();
            moves.wait(before).unwrap();
            moves
                .download((&raw mut read[0]).cast(), status, 8)
                .unwrap();
            let seen = moves.record().unwrap();
            moves.finish(seen).unwrap();
            late.wait(after).unwrap();
            late.download((&raw mut read[1]).cast(), result, 8).unwrap();
        }
        assert_eq!(read[0], word);
        let last = late.record().unwrap();
        let (own, waited) = (compute.record().unwrap(), late.finish(last));
        let own = compute.finish(own);
        if word == 0 {
            assert_eq!((own, waited, read[1]), (Ok(()), Ok(()), 5));
            continue;
        }
        let failed = FailedCheck {
            check: 3,
            status: word,
        };
        let device = "sim:0".to_owned();
        let expected = Err(DeviceError::Check { device, failed });
        assert_eq!((&own, &waited), (&expected, &expected));
        assert_eq!(read[1], u64::MAX);
    }
    // What came behind the check was not done.
    let mut queue = device.queue().unwrap();
    let mut word = 0u64;
    // SAFETY: as above.
    unsafe { queue.download((&raw mut word).cast(), result, 8) }.unwrap();
    let event = queue.record().unwrap();
    queue.finish(event).unwrap();
    assert_eq!(word, 11);
}
