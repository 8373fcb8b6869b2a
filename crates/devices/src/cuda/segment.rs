//! Segments: graphs whose nodes are the grids of launches, after one another as the plan says.
//!
//! Launches of the same function that do not depend on one another are one grid (`many.rs`).
//! A graph holds the address of its queue's state, so it is made when the segment first runs: a
//! segment runs in one queue alone.

use super::api::{Address, Failure, Graph, GraphExec, GraphNode, KernelNode, Stream};
use super::gpu::Gpu;
use super::kernels::{Limits, Member, kernels};
use super::launch::{Packed, values};
use super::many::{Alone, Gathered, Placed, as_one, gather};
use super::state::Slot;
use crate::abi::{RawNode, RawParts, node};
use cloakwork_process::Mutex;
use std::ffi::c_void;
use std::ptr::null_mut;

/// Nodes that need scratch memory share so many pieces of it, those of one piece in order.
const PIECES: usize = 4;
const ALIGNED_BYTES: u64 = 256;

/// Bytes of scratch memory with what aligns those behind them.
fn aligned(bytes: u64) -> u64 {
    bytes.next_multiple_of(ALIGNED_BYTES)
}

/// The work of a node.
enum Work {
    /// Launches after one another, with their scratch memory and where their spilled words are.
    Launches(Vec<Packed>, Address, Address),
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
    scratch: Address,
    /// Members of launches that run as one, and words that launches do not hold themselves.
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
        self.bytes[piece] = self.bytes[piece].max(bytes);
        piece
    }

    /// Where each piece begins, and where the last one ends.
    fn places(&self) -> [u64; PIECES + 1] {
        let mut places = [0; PIECES + 1];
        for (piece, bytes) in self.bytes.iter().enumerate() {
            places[piece + 1] = places[piece] + bytes;
        }
        places
    }
}

/// Device memory that nodes need, summed while they are taken one after another.
#[derive(Default)]
struct Room {
    pieces: Pieces,
    members: usize,
    words: usize,
}

impl Room {
    /// Room for a node, which may then be after another; its piece of scratch memory.
    fn take(&mut self, number: u32, works: &[Single], after: &mut Vec<u32>) -> Option<usize> {
        let mut bytes = 0;
        for work in works {
            let Single::Launch(launch) = work else {
                continue;
            };
            bytes += aligned(launch.scratch_bytes);
            if works.len() == 1 {
                self.words += launch.spilled.len();
            } else {
                self.words += launch.words().len();
                self.members += launch.grid_count();
            }
        }
        (bytes > 0).then(|| self.pieces.take(number, bytes, after))
    }
}

/// Lists that launches read in the device's memory; one copy uploads them all.
#[derive(Default)]
struct Lists {
    members_at: Address,
    words_at: Address,
    members: Vec<Member>,
    words: Vec<i64>,
}

impl Lists {
    /// The address that words will have.
    fn put(&mut self, words: &[i64]) -> Address {
        let at = self.words_at + size_of_val(self.words.as_slice()) as u64;
        self.words.extend_from_slice(words);
        at
    }

    /// The work of a node, which has scratch memory at this address.
    fn work(
        &mut self,
        gpu: &Gpu,
        works: Vec<Single>,
        mut scratch: Address,
    ) -> Result<Work, Failure> {
        let works = match <[Single; 1]>::try_from(works) {
            Ok([Single::Launch(launch)]) => {
                let words = self.put(&launch.spilled);
                return Ok(Work::Launches(vec![*launch], scratch, words));
            }
            Ok([Single::Check(status, check)]) => return Ok(Work::Check(status, check)),
            Ok([Single::None]) => return Ok(Work::None),
            Err(works) => works,
        };
        let mut placed = Vec::with_capacity(works.len());
        for work in &works {
            let Single::Launch(launch) = work else {
                continue;
            };
            placed.push(Placed {
                launch,
                words: self.put(launch.words()),
                scratch,
            });
            scratch += aligned(launch.scratch_bytes);
        }
        let at = self.members_at + size_of_val(self.members.as_slice()) as u64;
        let (launches, members) = as_one(gpu, &placed, at)?;
        self.members.extend(members);
        Ok(Work::Launches(launches, 0, 0))
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
        let mut works = Vec::with_capacity(raw.len());
        let mut alone = Vec::with_capacity(raw.len());
        for (number, raw) in (0u32..).zip(raw) {
            // SAFETY: as above.
            let (work, after) = unsafe { node_of(gpu, (number, raw)) }?;
            alone.push(work.alone(&gpu.limits, after));
            works.push(Some(work));
        }
        let mut own = Self {
            checks: works
                .iter()
                .any(|work| matches!(work, Some(Single::Check(..)))),
            nodes: Mutex::default(),
            scratch: 0,
            words: 0,
            exec: Mutex::default(),
        };
        match own.nodes(gpu, works, gather(&alone, gpu.limits.scratch_bytes)) {
            Ok(nodes) => {
                own.nodes = Mutex::new(nodes);
                Ok(own)
            }
            Err(failure) => {
                own.release(gpu);
                Err(failure)
            }
        }
    }

    /// The nodes of gathered ones, whose scratch memory and words are on the device.
    fn nodes(
        &mut self,
        gpu: &Gpu,
        mut works: Vec<Option<Single>>,
        gathered: Vec<Gathered>,
    ) -> Result<Vec<Node>, Failure> {
        let mut room = Room::default();
        let mut nodes = Vec::with_capacity(gathered.len());
        for (number, Gathered { members, mut after }) in (0u32..).zip(gathered) {
            let works = members
                .into_iter()
                .filter_map(|member| works[member as usize].take());
            let works: Vec<Single> = works.collect();
            let place = room.take(number, &works, &mut after);
            after.sort_unstable();
            after.dedup();
            nodes.push((works, place, after));
        }
        let scratch = room.pieces.places();
        if let Some(&bytes) = scratch.last().filter(|&&bytes| bytes > 0) {
            self.scratch = gpu.allocate(bytes)?;
        }
        let members = (size_of::<Member>() * room.members) as u64;
        let bytes = members + (size_of::<i64>() * room.words) as u64;
        if bytes > 0 {
            self.words = gpu.allocate(bytes)?;
        }
        let mut lists = Lists {
            members_at: self.words,
            words_at: self.words + members,
            ..Lists::default()
        };
        let mut found = Vec::with_capacity(nodes.len());
        for (works, place, after) in nodes {
            let at = place.map_or(0, |piece| self.scratch + scratch[piece]);
            let work = lists.work(gpu, works, at)?;
            found.push(Node { work, after });
        }
        if bytes > 0 {
            gpu.upload_now(lists.members_at, &lists.members)?;
            gpu.upload_now(lists.words_at, &lists.words)?;
        }
        Ok(found)
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
                Work::Launches(launches, scratch, words) => {
                    for launch in launches {
                        launch.bind(slot.state, *words);
                        launch.nodes(*scratch, |params| adding.kernel(params))?;
                    }
                }
                Work::Check(status, check) => adding.check(slot, *status, *check)?,
                Work::None => adding.nothing()?,
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

/// The work of a node of the plan.
enum Single {
    Launch(Box<Packed>),
    Check(*mut c_void, u64),
    None,
}

impl Single {
    fn alone(&self, limits: &Limits, after: Vec<u32>) -> Alone {
        let (grids, kind, scratch_bytes) = match self {
            Self::Launch(launch) => (
                launch.grid_count() as u32,
                launch.kind(limits),
                aligned(launch.scratch_bytes),
            ),
            Self::Check(..) => (1, None, 0),
            Self::None => (0, None, 0),
        };
        Alone {
            grids,
            kind,
            scratch_bytes,
            after,
        }
    }
}

/// A copy of a node's work, and the nodes that it is after.
///
/// # Safety
/// As `device.h` says of `build`.
unsafe fn node_of(
    gpu: &Gpu,
    (number, raw): (u32, &RawNode),
) -> Result<(Single, Vec<u32>), Failure> {
    let refused = |words: String| Failure { code: -1, words };
    // SAFETY: the caller's promise.
    let after = unsafe { values(raw.after, raw.after_count as usize) }.to_vec();
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
            match packed.is_nothing() {
                true => Single::None,
                false => Single::Launch(Box::new(packed)),
            }
        }
        node::CHECK => Single::Check(raw.block, raw.units),
        node::JOIN => Single::None,
        other => return Err(refused(format!("nodes of kind {other} are unknown"))),
    };
    Ok((work, after))
}
