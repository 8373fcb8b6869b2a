//! The driver `cuda` through its table, over a made-up driver of NVIDIA's.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod made_up;

use cloakwork_csrc as _;
use cloakwork_devices::{
    DeviceError, DeviceMemory, FailedCheck, Node, NodeWork, OpenDevice, Queue, Segment, Span,
};
use cloakwork_ir::DType;
use cloakwork_kernels::{Isa, KernelRow, LaunchShape, RawLaunch};
use made_up::MadeUp;
use std::ffi::c_void;
use std::io::Write;
use std::sync::Arc;

const COUNT: usize = 100;
const BYTES: u64 = 8 * COUNT as u64;

/// Params of a launch. With so many of them, kernels find words in memory of the device.
const FEW: &[i64] = &[0];
const MANY: &[i64] = &[0; 500];

/// Three tensors on `cuda:0`.
struct Tensors {
    device: Arc<OpenDevice>,
    memory: DeviceMemory,
    row: &'static KernelRow,
}

impl Tensors {
    fn new(made_up: &MadeUp) -> Result<Self, DeviceError> {
        let device = made_up.driver.open(0)?;
        let row = made_up
            .driver
            .select(0, ("add", [DType::I64; 2]), Isa::PORTABLE);
        Ok(Self {
            memory: device.allocate(3 * BYTES)?,
            device,
            row: row.unwrap(),
        })
    }

    fn at(&self, index: usize) -> *mut c_void {
        self.memory
            .address()
            .wrapping_byte_add(index * BYTES as usize)
    }

    fn upload(&self, queue: &mut Queue, index: usize, values: &[i64]) -> Result<(), DeviceError> {
        assert!(values.len() <= COUNT);
        // SAFETY: both have so many bytes; callers finish the queue before the values go.
        unsafe {
            queue.upload(
                self.at(index),
                values.as_ptr().cast(),
                8 * values.len() as u64,
            )
        }
    }

    /// The first number of a tensor, once the queue is done.
    fn first(&self, queue: &mut Queue, index: usize) -> Result<i64, DeviceError> {
        let mut number = i64::MIN;
        // SAFETY: the number is there until the queue is done.
        unsafe { queue.download((&raw mut number).cast(), self.at(index), 8) }?;
        finish(queue)?;
        Ok(number)
    }

    /// Calls a function with the launch `to = one + other`.
    fn sum<T>(
        &self,
        [to, one, other]: [usize; 3],
        params: &[i64],
        act: impl FnOnce((&RawLaunch, usize)) -> T,
    ) -> T {
        let shape = LaunchShape {
            dims: &[COUNT as i64],
            strides: &[1, 1, 1],
            params,
        };
        let data = [self.at(to), self.at(one), self.at(other)];
        act((
            &RawLaunch::new(&shape, &data, std::ptr::null()),
            params.len(),
        ))
    }

    fn add(&self, queue: &mut Queue, sum: [usize; 3], params: &[i64]) -> Result<(), DeviceError> {
        // SAFETY: the operands are the device's, as large as the launch.
        self.sum(sum, params, |launch| unsafe {
            queue.launch(self.row, launch, COUNT as u64)
        })
    }

    /// A segment: tensor 1 = 0 + 0, a check of the first word of tensor 2, tensor 1 += 1.
    fn segment(&self) -> Result<Segment, DeviceError> {
        let span = Span {
            at: self.memory.address(),
            bytes: self.memory.bytes(),
            nodes: (0, 2),
            is_input: true,
            is_output: true,
            is_checked: true,
        };
        fn work<'a>(row: &'static KernelRow, launch: (&'a RawLaunch, usize)) -> NodeWork<'a> {
            let units = COUNT as u64;
            NodeWork::Launch { row, launch, units }
        }
        fn node<'a>(work: NodeWork<'a>, after: &'a [u32]) -> Node<'a> {
            Node { work, after }
        }
        let check = NodeWork::Check {
            status: self.at(2),
            check: 9,
        };
        self.sum([1, 0, 0], MANY, |first| {
            self.sum([1, 1, 1], FEW, |second| {
                let nodes = [
                    node(work(self.row, first), &[]),
                    node(check, &[0]),
                    node(work(self.row, second), &[1]),
                ];
                // SAFETY: nodes are after what they need, the span holds everything.
                let built = unsafe { self.device.segment(&nodes, &[span]) };
                built.map(Option::unwrap)
            })
        })
    }
}

fn finish(queue: &mut Queue) -> Result<(), DeviceError> {
    let event = queue.record()?;
    queue.finish(event)
}

fn wrong(check: u64, status: u64) -> Result<i64, DeviceError> {
    let device = "cuda:0".to_owned();
    let failed = FailedCheck { check, status };
    Err(DeviceError::Check { device, failed })
}

#[test]
fn queues_keep_their_order_and_wait_for_one_another() {
    let made_up = MadeUp::new("seed=5");
    let tensors = Tensors::new(&made_up).unwrap();
    for params in [FEW, MANY] {
        let (mut compute, mut moves) = (
            tensors.device.queue().unwrap(),
            tensors.device.queue().unwrap(),
        );
        tensors.upload(&mut moves, 1, &[1; COUNT]).unwrap();
        tensors.upload(&mut moves, 0, &[0; COUNT]).unwrap();
        let uploaded = moves.record().unwrap();
        compute.wait(uploaded).unwrap();
        for _ in 0..20 {
            tensors.add(&mut compute, [0, 0, 1], params).unwrap();
        }
        let computed = compute.record().unwrap();
        moves.wait(computed).unwrap();
        assert_eq!(tensors.first(&mut moves, 0), Ok(20));
    }
}

#[test]
fn its_addresses_are_no_memory_of_the_host() {
    let made_up = MadeUp::new("");
    let tensors = Tensors::new(&made_up).unwrap();
    // SAFETY: nobody follows the address but the system, which refuses it.
    let bytes = unsafe { std::slice::from_raw_parts(tensors.at(0).cast::<u8>(), 8) };
    let written = std::io::pipe().unwrap().1.write(bytes);
    assert_eq!(written.unwrap_err().raw_os_error(), Some(14), "EFAULT");
}

#[test]
fn large_transfers_go_in_pieces_and_arrive_whole() {
    let made_up = MadeUp::new("seed=7");
    let device = made_up.driver.open(0).unwrap();
    let values: Vec<u64> = (0..1_300_001u64)
        .map(|i| i.wrapping_mul(0x9E37_79B9))
        .collect();
    let bytes = 8 * values.len() as u64;
    let memory = device.allocate(bytes).unwrap();
    let mut queue = device.queue().unwrap();
    let mut read = vec![0u64; values.len()];
    // SAFETY: all have so many bytes until the queue is done.
    unsafe {
        queue
            .upload(memory.address(), values.as_ptr().cast(), bytes)
            .unwrap();
        queue
            .download(read.as_mut_ptr().cast(), memory.address(), bytes)
            .unwrap();
    }
    finish(&mut queue).unwrap();
    assert!(read == values);
}

#[test]
fn bytes_that_a_queue_downloads_are_those_that_it_uploads_from_there_later() {
    let made_up = MadeUp::new("seed=11");
    let tensors = Tensors::new(&made_up).unwrap();
    let mut queue = tensors.device.queue().unwrap();
    tensors.upload(&mut queue, 0, &[7]).unwrap();
    let mut passed = 0i64;
    // SAFETY: the number is there until the queue is done.
    unsafe {
        let at = (&raw mut passed).cast();
        queue.download(at, tensors.at(0), 8).unwrap();
        queue.upload(tensors.at(1), at, 8).unwrap();
    }
    assert_eq!(tensors.first(&mut queue, 1), Ok(7));
}

#[test]
fn an_event_tells_of_the_downloads_of_queues_that_its_own_waited_for() {
    let made_up = MadeUp::new("seed=13");
    let tensors = Tensors::new(&made_up).unwrap();
    let (mut one, mut other) = (
        tensors.device.queue().unwrap(),
        tensors.device.queue().unwrap(),
    );
    tensors.upload(&mut one, 0, &[5]).unwrap();
    let mut number = 0i64;
    // SAFETY: the number is there until both queues are done.
    unsafe { one.download((&raw mut number).cast(), tensors.at(0), 8) }.unwrap();
    let downloaded = one.record().unwrap();
    other.wait(downloaded).unwrap();
    finish(&mut other).unwrap();
    assert_eq!(number, 5);
    finish(&mut one).unwrap();
}

#[test]
fn a_queue_stops_at_a_check_and_what_was_done_before_counts() {
    for seed in 0..20 {
        let made_up = MadeUp::new(&format!("seed={seed}"));
        let tensors = Tensors::new(&made_up).unwrap();
        for word in [0i64, 7] {
            let mut queues = [(); 3].map(|()| tensors.device.queue().unwrap());
            let [compute, moves, late] = &mut queues;
            tensors.upload(compute, 0, &[word, 11]).unwrap();
            tensors.upload(compute, 1, &[1; COUNT]).unwrap();
            let before = compute.record().unwrap();
            // SAFETY: the first word of the tensor.
            unsafe { compute.check(tensors.at(0), 3) }.unwrap();
            tensors.add(compute, [1, 1, 1], FEW).unwrap();
            tensors.add(compute, [1, 1, 1], MANY).unwrap();
            tensors.upload(compute, 2, &[2; COUNT]).unwrap();
            let after = compute.record().unwrap();
            moves.wait(before).unwrap();
            assert_eq!(tensors.first(moves, 0), Ok(word));
            late.wait(after).unwrap();
            let inherited = tensors.first(late, 1);
            let own = finish(compute).map(|()| 0);
            if word == 0 {
                assert_eq!((inherited, own), (Ok(4), Ok(0)));
                continue;
            }
            let expected = wrong(3, word as u64);
            assert_eq!((&inherited, &own), (&expected, &expected), "{seed}");
            // What came behind the check was not done.
            let mut fresh = tensors.device.queue().unwrap();
            assert_eq!(tensors.first(&mut fresh, 1), Ok(1));
            assert_eq!(tensors.first(&mut fresh, 2), Ok(2), "of the run before");
        }
    }
}

#[test]
fn a_queue_that_waits_for_a_closed_one_fails_as_that_did() {
    let made_up = MadeUp::new("");
    let tensors = Tensors::new(&made_up).unwrap();
    let mut closed = tensors.device.queue().unwrap();
    tensors.upload(&mut closed, 0, &[4]).unwrap();
    let before = closed.record().unwrap();
    // SAFETY: the first word of the tensor.
    unsafe { closed.check(tensors.at(0), 1) }.unwrap();
    let after = closed.record().unwrap();
    drop(closed);
    let mut queue = tensors.device.queue().unwrap();
    queue.wait(before).unwrap();
    assert_eq!(tensors.first(&mut queue, 0), Ok(4));
    queue.wait(after).unwrap();
    assert_eq!(finish(&mut queue).map(|()| 0), wrong(1, 4));
}

#[test]
fn a_segment_runs_again_until_a_check_of_it_fails() {
    let made_up = MadeUp::new("seed=17");
    let tensors = Tensors::new(&made_up).unwrap();
    let segment = tensors.segment().unwrap();
    let mut queue = tensors.device.queue().unwrap();
    tensors.upload(&mut queue, 0, &[3; COUNT]).unwrap();
    tensors.upload(&mut queue, 2, &[0]).unwrap();
    for _ in 0..3 {
        // SAFETY: the segment is of this queue's device and runs in no other queue.
        unsafe { queue.run_segment(&segment) }.unwrap();
        assert_eq!(tensors.first(&mut queue, 1), Ok(12));
    }
    tensors.upload(&mut queue, 2, &[8]).unwrap();
    for _ in 0..2 {
        // SAFETY: as above.
        unsafe { queue.run_segment(&segment) }.unwrap();
    }
    assert_eq!(finish(&mut queue).map(|()| 0), wrong(9, 8));
    let mut fresh = tensors.device.queue().unwrap();
    assert_eq!(
        tensors.first(&mut fresh, 1),
        Ok(6),
        "the node behind the check"
    );
}

#[test]
fn memory_is_zeroed_and_what_does_not_fit_is_refused_in_words() {
    let made_up = MadeUp::new("memory=1000000");
    let device = made_up.driver.open(0).unwrap();
    let mut queue = device.queue().unwrap();
    for bytes in [0u64, 1, 4096, 100_000] {
        let memory = device.allocate(bytes).unwrap();
        assert_eq!(memory.address() as usize % 64, 0);
        let mut read = vec![1u8; bytes as usize];
        // SAFETY: both have so many bytes.
        unsafe { queue.download(read.as_mut_ptr().cast(), memory.address(), bytes) }.unwrap();
        finish(&mut queue).unwrap();
        assert!(read.iter().all(|byte| *byte == 0), "{bytes}");
    }
    let text = device.allocate(1 << 40).unwrap_err().to_string();
    let words = "cuda:0: cannot allocate memory: out of memory: 1099511627776 bytes requested, ";
    assert!(
        text.starts_with(words) && text.ends_with(" of 1000000 are free"),
        "{text}"
    );
}

#[test]
fn a_driver_without_pools_serves_too() {
    let made_up = MadeUp::new("devices=3 pools=0");
    let device = made_up.driver.open(2).unwrap();
    let memory = device.allocate(64).unwrap();
    let mut queue = device.queue().unwrap();
    let mut word = 1u64;
    // SAFETY: both have so many bytes.
    unsafe { queue.download((&raw mut word).cast(), memory.address(), 8) }.unwrap();
    finish(&mut queue).unwrap();
    assert_eq!(word, 0);
}

#[test]
fn a_device_that_cannot_be_had_says_why() {
    let reasons = [
        ("devices=1", 5, "there is one GPU, cuda:0"),
        ("devices=2", 5, "there are 2 GPUs, cuda:0 to cuda:1"),
        (
            "devices=8 capability=7.5",
            5,
            "its compute capability is 7.5, and this build's kernels need 8.0",
        ),
        (
            "devices=8 load=222 version=12040",
            5,
            "the NVIDIA driver, of CUDA 12.4, cannot load this build's kernels for compute \
             capability 9.0: install a newer driver; cuModuleLoadDataEx: \
             CUDA_ERROR_UNSUPPORTED_PTX_VERSION (some error); ptxas : some words of the compiler",
        ),
        (
            "devices=8 fail=cuDevicePrimaryCtxRetain:1:2",
            5,
            "the GPU has no memory left: cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY (out \
             of memory)",
        ),
        (
            "devices=8 fail=cuModuleGetFunction:1:500",
            5,
            "cuModuleGetFunction: error 500 of cw_cuda_check",
        ),
    ];
    let made_up = MadeUp::new("");
    for (settings, index, reason) in reasons {
        made_up.set(settings);
        let text = made_up.driver.open(index).unwrap_err().to_string();
        assert_eq!(text, format!("cuda:5: cannot open the device: {reason}"));
    }
}

/// All that a device does, and the result.
fn everything(made_up: &MadeUp) -> Result<[i64; 2], DeviceError> {
    let tensors = Tensors::new(made_up)?;
    let segment = tensors.segment()?;
    let (mut compute, mut moves) = (tensors.device.queue()?, tensors.device.queue()?);
    tensors.upload(&mut moves, 0, &[1; COUNT])?;
    tensors.upload(&mut moves, 2, &[0])?;
    let uploaded = moves.record()?;
    compute.wait(uploaded)?;
    // SAFETY: the segment is of this queue's device and runs in no other queue.
    unsafe { compute.run_segment(&segment) }?;
    tensors.add(&mut compute, [0, 1, 1], MANY)?;
    let computed = compute.record()?;
    moves.wait(computed)?;
    Ok([tensors.first(&mut moves, 1)?, tensors.first(&mut moves, 0)?])
}

/// A segment of two launches that do not depend on one another: tensors 1 and 2 are 0 + 0.
fn pair(tensors: &Tensors, params: [&[i64]; 2]) -> Result<Segment, DeviceError> {
    let span = Span {
        at: tensors.memory.address(),
        bytes: tensors.memory.bytes(),
        nodes: (0, 1),
        is_input: true,
        is_output: true,
        is_checked: false,
    };
    let (row, units) = (tensors.row, COUNT as u64);
    tensors.sum([1, 0, 0], params[0], |first| {
        tensors.sum([2, 0, 0], params[1], |second| {
            let nodes = [first, second].map(|launch| Node {
                work: NodeWork::Launch { row, launch, units },
                after: &[],
            });
            // SAFETY: nodes are after what they need, the span holds everything.
            let built = unsafe { tensors.device.segment(&nodes, &[span]) };
            built.map(Option::unwrap)
        })
    })
}

/// The first numbers of both sums.
fn both(made_up: &MadeUp, params: [&[i64]; 2]) -> Result<[i64; 2], DeviceError> {
    let tensors = Tensors::new(made_up)?;
    let segment = pair(&tensors, params)?;
    let mut queue = tensors.device.queue()?;
    tensors.upload(&mut queue, 0, &[2; COUNT])?;
    // SAFETY: the segment is of this queue's device and runs in no other queue.
    unsafe { queue.run_segment(&segment) }?;
    Ok([tensors.first(&mut queue, 1)?, tensors.first(&mut queue, 2)?])
}

#[test]
fn independent_launches_of_a_segment_are_one() {
    let made_up = MadeUp::new("");
    let all = [[FEW, FEW], [FEW, MANY], [MANY, FEW], [MANY, MANY]];
    for params in all {
        // Each launch is two grids: a third node of the graph, which would fail, is not there.
        made_up.set("fail=cuGraphAddKernelNode:3:999");
        assert_eq!(both(&made_up, params), Ok([4, 4]));
    }
    let live = made_up.live();
    for (function, params) in [
        "cuMemAllocFromPoolAsync",
        "cuMemcpyHtoDAsync",
        "cuGraphLaunch",
    ]
    .into_iter()
    .flat_map(|function| all.map(|params| (function, params)))
    {
        let mut refused = 0;
        for nth in 1..=6 {
            made_up.set(&format!("fail={function}:{nth}:999"));
            match both(&made_up, params) {
                Ok(found) => assert_eq!(found, [4, 4]),
                Err(_) => refused += 1,
            }
            made_up.set("");
            let now = made_up.live();
            assert_eq!(
                (now.allocations, now.graphs),
                (live.allocations, live.graphs),
                "{function}:{nth}"
            );
        }
        assert!(refused > 0, "{function} is never called");
    }
}

#[test]
fn each_error_of_the_driver_is_a_reason_and_leaks_nothing() {
    let made_up = MadeUp::new("");
    assert_eq!(everything(&made_up), Ok([4, 8]));
    let live = made_up.live();
    let functions = [
        "cuCtxPushCurrent",
        "cuMemAllocFromPoolAsync",
        "cuMemsetD8Async",
        "cuMemcpyHtoDAsync",
        "cuMemcpyDtoHAsync",
        "cuStreamSynchronize",
        "cuStreamWaitEvent",
        "cuEventRecord",
        "cuEventSynchronize",
        "cuLaunchKernel",
        "cuGraphCreate",
        "cuGraphAddKernelNode",
        "cuGraphInstantiateWithFlags",
        "cuGraphLaunch",
    ];
    for function in functions {
        let mut refused = 0;
        for nth in 1..=12 {
            made_up.set(&format!("fail={function}:{nth}:999 seed={nth}"));
            match everything(&made_up) {
                Ok(result) => assert_eq!(result, [4, 8], "{function}:{nth}"),
                Err(error) => {
                    refused += 1;
                    let words = format!("{function}: CUDA_ERROR_UNKNOWN (some error)");
                    let text = error.to_string();
                    assert!(text.replace("_v2", "").contains(&words), "{nth}: {text}");
                }
            }
            made_up.set("");
            // Streams and events are used again: as many are there as were needed at a time.
            let now = made_up.live();
            assert_eq!(
                (now.allocations, now.graphs),
                (live.allocations, live.graphs),
                "{function}:{nth}"
            );
            assert!(now.streams <= live.streams, "{function}:{nth}");
            assert!(now.events <= MOST_EVENTS, "{function}:{nth}");
        }
        assert!(refused > 0, "{function} is never called");
    }
}

/// As many as the queues of `everything` need at a time, whatever the order.
const MOST_EVENTS: u64 = 16;

#[test]
fn queues_use_the_streams_and_events_of_those_before() {
    let made_up = MadeUp::new("");
    assert_eq!(everything(&made_up), Ok([4, 8]));
    for function in ["cuStreamCreate", "cuEventCreate"] {
        made_up.set(&format!("fail={function}:1:999"));
        assert_eq!(everything(&made_up), Ok([4, 8]), "{function} is not called");
        made_up.set("");
    }
    // More than there were at a time.
    let device = made_up.driver.open(0).unwrap();
    let mut queues: Vec<Queue> = (0..200).map(|_| device.queue().unwrap()).collect();
    made_up.set("fail=cuStreamCreate:1:999");
    let text = device.queue().unwrap_err().to_string();
    assert!(
        text.contains("cuStreamCreate: CUDA_ERROR_UNKNOWN"),
        "{text}"
    );
    made_up.set("fail=cuEventCreate:1:999");
    let events: Vec<_> = queues.iter_mut().map(|queue| queue.record()).collect();
    let mut events = queues.iter_mut().zip(events);
    let failed = events.find_map(|(queue, event)| queue.finish(event.unwrap()).err());
    let text = failed.unwrap().to_string();
    assert!(text.contains("cuEventCreate: CUDA_ERROR_UNKNOWN"), "{text}");
    made_up.set("");
    drop(queues);
    so_many_queues_and_no_more_are_open_at_a_time(&made_up);
}

/// Behind what counts streams: all of these are there for later queues.
fn so_many_queues_and_no_more_are_open_at_a_time(made_up: &MadeUp) {
    let device = made_up.driver.open(0).unwrap();
    let mut queues = Vec::new();
    let refused = loop {
        match device.queue() {
            Ok(queue) => queues.push(queue),
            Err(error) => break error.to_string(),
        }
    };
    let words = "cuda:0: cannot open a queue: 1024 queues are open: close others first";
    assert_eq!((queues.len(), refused.as_str()), (1024, words));
    queues.pop();
    assert!(device.queue().is_ok());
}

#[test]
fn an_error_of_a_kernel_is_told_where_somebody_waits() {
    let made_up = MadeUp::new("");
    let tensors = Tensors::new(&made_up).unwrap();
    let mut queue = tensors.device.queue().unwrap();
    tensors.upload(&mut queue, 0, &[1; COUNT]).unwrap();
    tensors.upload(&mut queue, 1, &[1; COUNT]).unwrap();
    finish(&mut queue).unwrap();
    made_up.set("break=2:700");
    for _ in 0..3 {
        tensors.add(&mut queue, [0, 0, 1], FEW).unwrap();
    }
    let event = queue.record().unwrap();
    let text = queue.finish(event).unwrap_err().to_string();
    // Rows are in one of two modules by turns.
    let modules = ["even", "odd"];
    let module = modules
        .into_iter()
        .find(|name| text.contains(&format!(" of {name};")));
    let module = module.unwrap_or_default();
    let expected = format!(
        "cuda:0: cuEventSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (some error); the last kernel of \
         the queue was add_i64_portable of {module}; it does nothing more for this process: start \
         another one, with `--isolate` (`isolate=True`) to have the kernel and the step named"
    );
    assert_eq!(text, expected);
    drop(queue);
    made_up.set("");
}
