//! Segments: graphs whose nodes are the grids of launches, after one another as the plan says.
//!
//! A graph holds the address of its queue's state, so it is made when the segment first runs: a
//! segment runs in one queue alone.

use super::api::{Address, Failure, Graph, GraphExec, GraphNode, KernelNode, Stream};
use super::gpu::Gpu;
use super::kernels::kernels;
use super::launch::{Packed, values};
use super::state::Slot;
use crate::abi::{RawNode, RawParts, node};
use cloakwork_process::Mutex;
use std::ffi::c_void;
use std::ptr::null_mut;

/// Nodes that need scratch memory share so many pieces of it, those of one piece in order.
const PIECES: usize = 4;
const ALIGNED_BYTES: u64 = 256;

/// The work of a node.
enum Work {
    /// With the piece of scratch memory that it uses, and where its spilled words are.
    Launch(Box<Packed>, Option<usize>, Address),
    /// The status word, and the number of the check.
    Check(*mut c_void, u64),
    None,
}

struct Node {
    work: Work,
    /// Nodes that are done before it begins, each once.
    after: Vec<u32>,
}

/// A graph that is ready to run.
struct Exec(GraphExec);

// SAFETY: a handle, which any thread may give to the driver.
unsafe impl Send for Exec {}

/// A segment.
pub struct Segment {
    nodes: Mutex<Vec<Node>>,
    checks: bool,
    /// Scratch memory, and where the pieces of it begin.
    scratch: Address,
    starts: [u64; PIECES],
    words: Address,
    exec: Mutex<Option<Exec>>,
}

// SAFETY: addresses of the device, which the host does not follow.
unsafe impl Send for Node {}

/// The pieces of scratch memory while nodes are taken one after another.
#[derive(Default)]
struct Pieces {
    bytes: [u64; PIECES],
    last: [Option<u32>; PIECES],
    turn: usize,
}

impl Pieces {
    /// A piece for a node, which then is after the last one that uses it.
    fn take(&mut self, number: u32, bytes: u64, after: &mut Vec<u32>) -> usize {
        // One of a node that it is after anyway delays nothing.
        let is_free = |last: &Option<u32>| last.is_none_or(|last| after.contains(&last));
        let piece = self.last.iter().position(is_free).unwrap_or_else(|| {
            self.turn = (self.turn + 1) % PIECES;
            self.turn
        });
        after.extend(self.last[piece].replace(number));
        self.bytes[piece] = self.bytes[piece].max(bytes.next_multiple_of(ALIGNED_BYTES));
        piece
    }
}

impl Segment {
    /// Copies nodes. The context is current.
    ///
    /// # Errors
    /// A node that is not to be understood; the driver's.
    ///
    /// # Safety
    /// As `device.h` says of `build`.
    pub unsafe fn of(gpu: &Gpu, parts: &RawParts) -> Result<Self, Failure> {
        // SAFETY: the caller's promise.
        let raw = unsafe { values(parts.nodes, parts.node_count as usize) };
        let mut pieces = Pieces::default();
        let mut nodes = Vec::with_capacity(raw.len());
        for (number, raw) in (0u32..).zip(raw) {
            // SAFETY: as above.
            nodes.push(unsafe { node_of(gpu, (number, raw), &mut pieces) }?);
        }
        let mut starts = [0; PIECES];
        let mut bytes = 0;
        for (start, piece) in starts.iter_mut().zip(pieces.bytes) {
            *start = bytes;
            bytes += piece;
        }
        let mut own = Self {
            checks: nodes
                .iter()
                .any(|node| matches!(node.work, Work::Check(..))),
            nodes: Mutex::default(),
            scratch: if bytes > 0 { gpu.allocate(bytes)? } else { 0 },
            starts,
            words: 0,
            exec: Mutex::default(),
        };
        if let Err(failure) = own.upload_words(gpu, &mut nodes) {
            own.release(gpu);
            return Err(failure);
        }
        own.nodes = Mutex::new(nodes);
        Ok(own)
    }

    /// Brings words that launches do not hold themselves to the device.
    fn upload_words(&mut self, gpu: &Gpu, nodes: &mut [Node]) -> Result<(), Failure> {
        let mut all: Vec<i64> = Vec::new();
        for node in nodes.iter_mut() {
            if let Work::Launch(packed, _, at) = &mut node.work {
                *at = size_of_val(all.as_slice()) as Address;
                all.extend_from_slice(&packed.spilled);
            }
        }
        if all.is_empty() {
            return Ok(());
        }
        self.words = gpu.allocate(size_of_val(all.as_slice()) as u64)?;
        for node in nodes {
            if let Work::Launch(_, _, at) = &mut node.work {
                *at += self.words;
            }
        }
        gpu.upload_now(self.words, &all)
    }

    /// Whether it holds checks.
    pub fn checks(&self) -> bool {
        self.checks
    }

    /// Runs it in a queue's stream. The context is current.
    ///
    /// # Errors
    /// The driver's.
    pub fn run(&self, gpu: &Gpu, slot: &Slot, stream: Stream) -> Result<(), Failure> {
        let mut exec = self.exec.lock();
        if exec.is_none() {
            *exec = Some(self.instantiate(gpu, slot)?);
        }
        let Some(Exec(exec)) = *exec else {
            return Ok(());
        };
        // SAFETY: the graph and the stream are this context's; the contract of `device.h`.
        unsafe { gpu.api.launch_graph(exec, stream) }
    }

    fn instantiate(&self, gpu: &Gpu, slot: &Slot) -> Result<Exec, Failure> {
        let (mut graph, mut exec) = (null_mut(), null_mut());
        // SAFETY: the function writes the graph.
        unsafe { gpu.api.create_graph(&raw mut graph, 0) }?;
        let made = self.fill(gpu, slot, graph).and_then(|()| {
            // SAFETY: the graph is of this context; the function writes the other one.
            unsafe { gpu.api.instantiate(&raw mut exec, graph, 0) }
        });
        // SAFETY: the graph is destroyed once; what was made of it is apart.
        let _ = unsafe { gpu.api.destroy_graph(graph) };
        made.map(|()| Exec(exec))
    }

    /// Adds all nodes to a graph.
    fn fill(&self, gpu: &Gpu, slot: &Slot, graph: Graph) -> Result<(), Failure> {
        // The last of the graph's nodes for each of the segment's.
        let mut ends: Vec<GraphNode> = Vec::new();
        for node in self.nodes.lock().iter_mut() {
            let mut adding = Adding {
                gpu,
                graph,
                after: node
                    .after
                    .iter()
                    .map(|&before| ends[before as usize])
                    .collect(),
            };
            match &mut node.work {
                Work::Launch(packed, piece, words) if !packed.is_nothing() => {
                    packed.bind(slot.state, *words);
                    let scratch = piece.map_or(0, |piece| self.scratch + self.starts[piece]);
                    packed.nodes(scratch, |params| adding.kernel(params))?;
                }
                Work::Check(status, check) => adding.check(slot, *status, *check)?,
                Work::Launch(..) | Work::None => adding.nothing()?,
            }
            ends.extend(adding.after);
        }
        Ok(())
    }

    /// Gives up its graph and its memory. The context is current.
    pub fn release(&self, gpu: &Gpu) {
        if let Some(Exec(exec)) = self.exec.lock().take() {
            // SAFETY: the graph is of this context and destroyed once.
            let _ = unsafe { gpu.api.destroy_exec(exec) };
        }
        for at in [self.scratch, self.words] {
            if at != 0 {
                gpu.free(at);
            }
        }
    }
}

/// A graph while the nodes of one of the segment's are added, each after the one before.
struct Adding<'a> {
    gpu: &'a Gpu,
    graph: Graph,
    after: Vec<GraphNode>,
}

impl Adding<'_> {
    fn kernel(&mut self, params: &KernelNode) -> Result<(), Failure> {
        let mut added = null_mut();
        // SAFETY: the graph and its nodes are of this context; params are copied.
        unsafe {
            let (after, count) = (self.after.as_ptr(), self.after.len());
            self.gpu
                .api
                .add_kernel(&raw mut added, self.graph, after, count, params)?;
        }
        self.after = vec![added];
        Ok(())
    }

    fn check(&mut self, slot: &Slot, status: *mut c_void, check: u64) -> Result<(), Failure> {
        let mut call = self.gpu.own.check(slot, status, check, 0);
        let function = call.function;
        let (mut argument, mut memory) = (0, 0);
        let mut params = call.params(&mut argument, &mut memory);
        self.kernel(&KernelNode {
            function,
            blocks: [1; 3],
            threads: [1; 3],
            shared_bytes: 0,
            params: params.as_mut_ptr(),
            extra: null_mut(),
        })
    }

    fn nothing(&mut self) -> Result<(), Failure> {
        let mut added = null_mut();
        // SAFETY: as in `kernel`.
        unsafe {
            let (after, count) = (self.after.as_ptr(), self.after.len());
            self.gpu
                .api
                .add_empty(&raw mut added, self.graph, after, count)?;
        }
        self.after = vec![added];
        Ok(())
    }
}

/// A copy of a node.
///
/// # Safety
/// As `device.h` says of `build`.
unsafe fn node_of(
    gpu: &Gpu,
    (number, raw): (u32, &RawNode),
    pieces: &mut Pieces,
) -> Result<Node, Failure> {
    let refused = |words: String| Failure { code: -1, words };
    // SAFETY: the caller's promise.
    let mut after = unsafe { values(raw.after, raw.after_count as usize) }.to_vec();
    if let Some(later) = after.iter().find(|&&before| before >= number) {
        return Err(refused(format!("node {number} is after node {later}")));
    }
    let packed = |block| {
        let row = kernels().row(raw.row);
        let row = row.ok_or_else(|| refused(format!("the table has no row {}", raw.row)))?;
        let units = if raw.kind == node::PREPARE {
            1
        } else {
            raw.units
        };
        // SAFETY: as above; a launch or a prepare has one.
        unsafe { Packed::of(gpu, row, (&*raw.launch, raw.params), units, block) }
    };
    let work = match raw.kind {
        node::LAUNCH | node::PREPARE => {
            let packed = packed((raw.kind == node::PREPARE).then_some(raw.block))?;
            let bytes = packed.scratch_bytes;
            let piece = (bytes > 0).then(|| pieces.take(number, bytes, &mut after));
            Work::Launch(Box::new(packed), piece, 0)
        }
        node::CHECK => Work::Check(raw.block, raw.units),
        node::JOIN => Work::None,
        other => return Err(refused(format!("nodes of kind {other} are unknown"))),
    };
    after.sort_unstable();
    after.dedup();
    Ok(Node { work, after })
}
