//! Resolves a plan's addresses to pointers, once before a run: nothing is looked up while it runs.

use crate::RunError;
use crate::exec::devices::Devices;
use crate::exec::hosts::Hosts;
use crate::exec::results::Room;
use crate::memory::Block;
use crate::memory::spill_file::OnDisk;
use cloakwork_kernels::{KernelRow, LaunchShape, RawLaunch};
use cloakwork_ops::COPY_KERNEL;
use cloakwork_plan::{
    Address, Candidate, Fusion, Geometry, MAX_OPERANDS, Plan, Prepared, Space, Step, Work, moves,
};
use smallvec::SmallVec;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// All memory that a run's operands lie in.
pub struct Memories<'a> {
    pub plan: &'a Plan,
    /// Where each arena begins; null for those on disk.
    pub arenas: &'a [Base],
    /// Those of them that are files.
    pub disks: &'a [OnDisk],
    pub hosts: Hosts<'a>,
    pub outputs: &'a [Room],
    pub pool: &'a [i64],
    /// The status words of checks that the host launches.
    pub statuses: &'a [AtomicU64],
    /// The memory of each of `Plan::constants`.
    pub constants: &'a [Computed],
    pub devices: &'a Devices,
}

/// A constant.
pub enum Computed {
    /// In the host's memory.
    Here(Arc<Block>),
    /// In a device's.
    There(Base),
}

impl Computed {
    fn start(&self) -> *const u8 {
        match self {
            Self::Here(block) => block.as_ptr().cast_const(),
            Self::There(Base(start)) => start.cast_const(),
        }
    }
}

/// Where an arena begins.
#[derive(Clone, Copy)]
pub struct Base(pub *mut u8);

// SAFETY: it leads to memory that the executor owns; the plan decides which step writes where.
unsafe impl Send for Base {}
// SAFETY: as above.
unsafe impl Sync for Base {}

impl Memories<'_> {
    /// The pointer of an address.
    ///
    /// # Errors
    /// The plan names memory that does not exist: a mistake of the planner.
    pub fn pointer(&self, address: &Address) -> Result<*mut c_void, RunError> {
        let index = address.index as usize;
        let base = match address.space {
            // A slot's memory is the thread's that runs the block.
            Space::Null | Space::Slot => return Ok(std::ptr::null_mut()),
            Space::Buffer => return Ok(self.offset(self.buffer(address.index), address.offset)),
            Space::Status => self.status(address.index),
            Space::Host => self.hosts.start(address.index),
            Space::Constant => self.constants.get(index).map(Computed::start),
            Space::Output => self
                .outputs
                .get(index)
                .map(|room| room.start().cast_const()),
            Space::Pool => self
                .pool
                .get(index)
                .map(|word| std::ptr::from_ref(word).cast()),
        };
        let base = base.ok_or_else(|| RunError::Internal(format!("no memory at {address:?}")))?;
        Ok(self.offset(base.cast_mut().cast(), address.offset))
    }

    /// The status word of a check.
    fn status(&self, check: u32) -> Option<*const u8> {
        let index = check as usize;
        match self.plan.checks.get(index)?.arena {
            0 => Some(self.statuses.get(index)?.as_ptr().cast_const().cast()),
            arena => self.devices.status(arena, check),
        }
    }

    /// A buffer's first byte.
    pub fn buffer(&self, index: u32) -> *mut c_void {
        let buffer = &self.plan.buffers[index as usize];
        let Base(start) = self.arenas[buffer.arena as usize];
        self.offset(start.cast(), buffer.offset as i64)
    }

    /// A copy of a device's bytes behind an address, from so many bytes off on; none where the host
    /// can look itself.
    ///
    /// # Errors
    /// The driver's.
    pub fn on_device(
        &self,
        address: &Address,
        first: i64,
        bytes: u64,
    ) -> Result<Option<Block>, RunError> {
        if !self.plan.is_away(self.plan.home_of(address)) {
            return Ok(None);
        }
        let arena = self.plan.arena_of(address);
        let from = self.offset(self.pointer(address)?, first);
        self.devices.read(arena, from, bytes).map(Some)
    }

    /// Bytes of an operand of a check that failed, from so many behind its first element on.
    ///
    /// # Errors
    /// The driver's.
    pub fn bytes(
        &self,
        address: &Address,
        first: i64,
        bytes: usize,
    ) -> Result<SmallVec<[u8; 16]>, RunError> {
        let from = self.offset(self.pointer(address)?, first);
        if self.plan.is_away(self.plan.home_of(address)) {
            let arena = self.plan.arena_of(address);
            let block = self.devices.look(arena, from, bytes as u64)?;
            return Ok(block.as_slice().into());
        }
        let start = from.cast::<u8>().cast_const();
        // SAFETY: the element is one of the operand, which lies in memory of the plan, and no
        // step writes there before the check is done.
        Ok(unsafe { std::slice::from_raw_parts(start, bytes) }.into())
    }

    fn offset(&self, base: *mut c_void, bytes: i64) -> *mut c_void {
        base.wrapping_byte_offset(bytes as isize)
    }
}

/// The flat array of a plan's runs. Launches point into `pointers` and into the plan's geometries.
pub struct Table {
    pub launches: Vec<RawLaunch>,
    /// Units of each geometry.
    pub units: Vec<u64>,
    /// The operands of all steps, and the blocks that their launches find prepared.
    pub pointers: Vec<*mut c_void>,
    /// An earlier run used it.
    pub is_used: bool,
    /// Pointers that are new in each run.
    changing: Vec<Changing>,
}

/// A pointer that is new in each run.
struct Changing {
    pointer: u32,
    /// A result's number, or the place of an input among what a run is given.
    index: u32,
    is_result: bool,
    offset: i64,
}

/// Whether the steps of a fusion run one after another as they are: all elements fit into a block.
pub fn is_one_block(fusion: &Fusion) -> bool {
    fusion.elements <= fusion.block && fusion.elements <= fusion.line
}

/// Whether a step copies a result to where it already is.
pub fn moves_nothing(plan: &Plan, step: &Step) -> bool {
    let first = step.first_address as usize;
    step.row().is_some_and(|row| row.kernel == COPY_KERNEL)
        && plan.addresses[first] == plan.addresses[first + 1]
}

// SAFETY: the pointers lead to memory that the executor owns beside the table, or that a run is
// given; they are used by the kernels of that run alone.
unsafe impl Send for Table {}
// SAFETY: as above; shared references only read the table itself.
unsafe impl Sync for Table {}

impl Changing {
    /// The entry of an address whose pointer is new in each run; none for most.
    fn of(memories: &Memories, pointer: u32, address: &Address) -> Option<Self> {
        let (index, is_result) = match address.space {
            Space::Output => (address.index, true),
            Space::Host => (memories.hosts.place(address.index)?, false),
            _ => return None,
        };
        Some(Self {
            pointer,
            index,
            is_result,
            offset: address.offset,
        })
    }
}

impl Table {
    /// Resolves all steps for the first run. `scratch` is the calling thread's, in which fusions of
    /// one block have their slots.
    ///
    /// # Errors
    /// As [`Memories::pointer`].
    pub fn new(memories: &Memories, scratch: *mut u8) -> Result<Self, RunError> {
        let plan = memories.plan;
        let pointers = plan
            .addresses
            .iter()
            .map(|address| memories.pointer(address))
            .collect::<Result<Vec<_>, _>>()?;
        let pointers = with_slots(pointers, plan, scratch);
        let changing = (0u32..)
            .zip(&plan.addresses)
            .filter_map(|(pointer, address)| Changing::of(memories, pointer, address))
            .collect();
        let launch = |step: &Step| {
            let geometry = &plan.geometries[step.geometry as usize];
            let all = &pointers[plan.addresses_of(step)];
            let (operands, blocks) = all.split_at(geometry.operands());
            let shape = geometry.shape();
            let raw = |operands, prepared| RawLaunch::new(&shape, operands, prepared);
            match (step.work, step.prepared()) {
                // What it writes is not an operand of the kernel.
                (Work::Prepare { .. }, _) => raw(&operands[1..], std::ptr::null()),
                (_, Prepared::None) => raw(operands, std::ptr::null()),
                (_, Prepared::Block) => raw(operands, blocks[0].cast_const()),
                (_, Prepared::Blocks(_)) => raw(operands, blocks.as_ptr().cast()),
            }
        };
        let launches = plan.steps.iter().map(launch).collect();
        let units = plan.geometries.iter().map(Geometry::units).collect();
        Ok(Self {
            launches,
            units,
            pointers,
            is_used: false,
            changing,
        })
    }

    /// Resolves what is new in a further run.
    pub fn refresh(&mut self, memories: &Memories) {
        self.is_used = true;
        for changing in &self.changing {
            let index = changing.index as usize;
            let base = match changing.is_result {
                true => memories.outputs[index].start().cast_const(),
                false => memories.hosts.given[index].1.start(),
            };
            self.pointers[changing.pointer as usize] =
                memories.offset(base.cast_mut().cast(), changing.offset);
        }
    }
}

/// The pointers with those of the slots of fusions of one block.
fn with_slots(mut pointers: Vec<*mut c_void>, plan: &Plan, scratch: *mut u8) -> Vec<*mut c_void> {
    for fusion in plan.fusions.iter().filter(|fusion| is_one_block(fusion)) {
        for step in &plan.steps[fusion.first as usize..fusion.end as usize] {
            for at in plan.addresses_of(step) {
                let address = &plan.addresses[at];
                if address.space == Space::Slot {
                    let offset = address.index as usize * fusion.slot_bytes as usize;
                    pointers[at] = scratch.wrapping_add(offset).cast();
                }
            }
        }
    }
    pointers
}

/// A fusion ready to run: its members with what a block needs of each.
pub struct Fused<'a> {
    members: Vec<Member<'a>>,
    line: u64,
    block: u64,
    slot_bytes: usize,
}

/// How a member's operand follows the elements.
#[derive(Clone, Copy)]
enum Follows {
    /// It is in this slot of scratch memory.
    Slot(usize),
    /// By so many bytes an element.
    Steps(usize),
    /// In a line by so many bytes an element, of so many bytes; between lines by the geometry.
    Lines { step: usize, size: usize },
}

struct Member<'a> {
    row: &'static KernelRow,
    geometry: &'a Geometry,
    params: &'a [i64],
    /// Where each operand's first element is; null for one in a slot.
    pointers: &'a [*mut c_void],
    follows: [Follows; MAX_OPERANDS],
    /// Strides of the operands in a line.
    strides: [i64; MAX_OPERANDS],
    prepared: *const c_void,
    /// Bytes from the constants of one index of each dimension to those of the next; none where
    /// they are the same for all.
    prepared_strides: SmallVec<[i64; 4]>,
}

// SAFETY: as for `Table`, to whose memory the pointers lead.
unsafe impl Sync for Fused<'_> {}
// SAFETY: as above.
unsafe impl Send for Fused<'_> {}

static ZEROS: [i64; 1] = [0];

/// The offset of a row-major position under these strides.
fn offset_at(position: u64, dims: &[i64], strides: &[i64]) -> i64 {
    let mut rest = position;
    let mut offset = 0;
    for (&dim, &stride) in dims.iter().zip(strides).rev() {
        offset += (rest % dim as u64) as i64 * stride;
        rest /= dim as u64;
    }
    offset
}

/// A member at work in one line: operand i of element `at` is at `starts[i] + at * steps[i]`.
struct AtWork<'a> {
    member: &'a Member<'a>,
    starts: [*mut c_void; MAX_OPERANDS],
    steps: [usize; MAX_OPERANDS],
    prepared: *const c_void,
}

impl<'a> AtWork<'a> {
    fn new(member: &'a Member<'a>, scratch: *mut u8, slot_bytes: usize) -> Self {
        let mut starts = [std::ptr::null_mut(); MAX_OPERANDS];
        let mut steps = [0; MAX_OPERANDS];
        for (operand, &pointer) in member.pointers.iter().enumerate() {
            (starts[operand], steps[operand]) = match member.follows[operand] {
                Follows::Slot(slot) => (scratch.wrapping_add(slot * slot_bytes).cast(), 0),
                Follows::Steps(step) | Follows::Lines { step, .. } => (pointer, step),
            };
        }
        Self {
            member,
            starts,
            steps,
            prepared: member.prepared,
        }
    }

    /// Finds the operands and constants of the line in which an element is.
    fn enter(&mut self, at: u64) {
        let geometry = self.member.geometry;
        let rank = geometry.dims.len();
        for (operand, &pointer) in self.member.pointers.iter().enumerate() {
            if let Follows::Lines { step, size } = self.member.follows[operand] {
                let strides = &geometry.strides[operand * rank..][..rank];
                let offset = offset_at(at, &geometry.dims, strides) as isize * size as isize;
                let before = (step * at as usize) as isize;
                self.starts[operand] = pointer.wrapping_byte_offset(offset - before);
            }
        }
        if !self.member.prepared_strides.is_empty() {
            let offset = offset_at(at, &geometry.dims, &self.member.prepared_strides);
            self.prepared = self.member.prepared.wrapping_byte_offset(offset as isize);
        }
    }

    /// Computes elements `at .. at + count` of the line.
    ///
    /// # Safety
    /// As for [`Fused::run`].
    unsafe fn run(&self, at: u64, count: u64) {
        let mut data = self.starts;
        for (start, step) in data.iter_mut().zip(self.steps) {
            *start = start.wrapping_byte_add(step * at as usize);
        }
        let shape = LaunchShape {
            dims: &[count as i64],
            strides: &self.member.strides,
            params: self.member.params,
        };
        let operands = &data[..self.member.pointers.len()];
        let launch = RawLaunch::new(&shape, operands, self.prepared);
        // SAFETY: the block lies inside what the member's whole launch may touch.
        unsafe { self.member.row.run(&launch, 0, count, std::ptr::null_mut()) };
    }
}

impl Fused<'_> {
    /// Computes elements `begin .. end`, block by block.
    ///
    /// # Safety
    /// As for `KernelRow::run`, of every member; `scratch` has room for all slots and is this
    /// call's alone.
    pub unsafe fn run(&self, begin: u64, end: u64, scratch: *mut u8) {
        let work = |member| AtWork::new(member, scratch, self.slot_bytes);
        let mut members: SmallVec<[AtWork; 8]> = self.members.iter().map(work).collect();
        let mut at = begin;
        while at < end {
            let line_end = (at - at % self.line).saturating_add(self.line).min(end);
            for member in &mut members {
                member.enter(at);
            }
            while at < line_end {
                let count = self.block.min(line_end - at);
                for member in &members {
                    // SAFETY: the caller's promise; blocks of different elements share nothing.
                    unsafe { member.run(at, count) };
                }
                at += count;
            }
        }
    }
}

/// Bytes between the constants of neighbouring indices: they lie in a list, row-major over the
/// dimensions along which the operand varies that they come from. None where it does not vary.
fn prepared_strides(geometry: &Geometry, candidate: &Candidate) -> SmallVec<[i64; 4]> {
    let Some((operand, bytes)) = candidate.constants else {
        return SmallVec::new();
    };
    let rank = geometry.dims.len();
    let own = &geometry.strides[operand as usize * rank..][..rank];
    if own.iter().all(|&stride| stride == 0) {
        return SmallVec::new();
    }
    let mut reach = i64::from(bytes);
    let mut strides = SmallVec::from_elem(0, rank);
    for ((stride, &dim), &own) in strides.iter_mut().zip(&geometry.dims).zip(own).rev() {
        if own != 0 {
            *stride = reach;
            reach *= dim;
        }
    }
    strides
}

impl Table {
    /// A fusion of the plan.
    pub fn fused<'a>(&'a self, plan: &'a Plan, fusion: &Fusion) -> Fused<'a> {
        let member = |(index, candidate): (usize, &Candidate)| {
            let step = &plan.steps[index];
            let row = step.launched()?;
            let geometry = &plan.geometries[step.geometry as usize];
            let first = step.first_address as usize;
            let count = candidate.operands as usize;
            let addresses = &plan.addresses[first..first + count];
            let rank = geometry.dims.len();
            let mut follows = [Follows::Slot(0); MAX_OPERANDS];
            // Over a single element any stride does.
            let mut strides = [1; MAX_OPERANDS];
            for (operand, address) in addresses.iter().enumerate() {
                if rank > 0 {
                    strides[operand] = geometry.strides[operand * rank + rank - 1];
                }
                let size = usize::from(candidate.sizes[operand]);
                let step = size * strides[operand] as usize;
                follows[operand] = match address.space {
                    Space::Slot => Follows::Slot(address.index as usize),
                    _ if rank < 2 || moves(geometry, operand) => Follows::Steps(step),
                    _ => Follows::Lines { step, size },
                };
            }
            // What stays in a block is not to be written past the caches.
            let inside = addresses[0].space == Space::Slot;
            Some(Member {
                row,
                geometry,
                params: match inside {
                    true => &ZEROS,
                    false => &geometry.params,
                },
                pointers: &self.pointers[first..first + count],
                follows,
                strides,
                prepared: self.launches[index].prepared,
                prepared_strides: prepared_strides(geometry, candidate),
            })
        };
        let steps = fusion.first as usize..fusion.end as usize;
        let first = fusion.first_member as usize;
        let members = steps.zip(&plan.fused[first..]);
        Fused {
            members: members
                .filter(|(index, _)| !moves_nothing(plan, &plan.steps[*index]))
                .filter_map(member)
                .collect(),
            line: fusion.line,
            block: fusion.block,
            slot_bytes: fusion.slot_bytes as usize,
        }
    }
}
