//! Resolves a plan's addresses to pointers, once before a run: nothing is looked up while it runs.

use crate::RunError;
use crate::memory::Block;
use cloakwork_ir::{HostSlot, HostTensor};
use cloakwork_kernels::{KernelRow, RawLaunch};
use cloakwork_plan::{Address, Candidate, Fusion, Geometry, Plan, Prepared, Space};
use std::ffi::c_void;
use std::sync::Arc;

/// All memory that a run's operands lie in.
pub struct Memories<'a> {
    pub plan: &'a Plan,
    pub arena: &'a Block,
    pub hosts: &'a [Option<HostTensor>],
    pub outputs: &'a [Block],
    pub pool: &'a [i64],
    pub prepared: &'a [Arc<Block>],
    /// The prepared blocks of `Plan::prepared_units`.
    pub units: &'a [Pointer],
}

/// A pointer to prepared constants.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Pointer(pub *const c_void);

// SAFETY: it leads to memory that the executor owns and that nobody writes while it runs.
unsafe impl Send for Pointer {}
// SAFETY: as above.
unsafe impl Sync for Pointer {}

impl Memories<'_> {
    /// The pointer of an address.
    ///
    /// # Errors
    /// The plan names memory that is not there: a mistake of the planner.
    pub fn pointer(&self, address: &Address) -> Result<*mut c_void, RunError> {
        let index = address.index as usize;
        let base = match address.space {
            // A slot's memory is the thread's that runs the block.
            Space::Null | Space::Slot => return Ok(std::ptr::null_mut()),
            Space::Buffer => return Ok(self.offset(self.buffer(address.index), address.offset)),
            Space::Host => self
                .hosts
                .get(index)
                .and_then(Option::as_ref)
                .map(|tensor| tensor.bytes().as_slice().as_ptr()),
            Space::Output => self
                .outputs
                .get(index)
                .map(|block| block.as_ptr().cast_const()),
            Space::Pool => self
                .pool
                .get(index)
                .map(|word| std::ptr::from_ref(word).cast()),
        };
        let base = base.ok_or_else(|| RunError::Internal(format!("no memory at {address:?}")))?;
        Ok(self.offset(base.cast_mut().cast(), address.offset))
    }

    /// A buffer's first byte.
    pub fn buffer(&self, index: u32) -> *mut c_void {
        let offset = self.plan.buffers[index as usize].offset as i64;
        self.offset(self.arena.as_ptr().cast(), offset)
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
    /// The operands of all steps.
    pointers: Vec<*mut c_void>,
    /// Those of them that are new in each run: results and inputs.
    changing: Vec<u32>,
}

// SAFETY: the pointers lead to memory that the executor owns beside the table, or that a run is
// given; they are used by the kernels of that run alone.
unsafe impl Send for Table {}

impl Table {
    /// Resolves all steps for the first run.
    ///
    /// # Errors
    /// As [`Memories::pointer`].
    pub fn new(memories: &Memories) -> Result<Self, RunError> {
        let plan = memories.plan;
        let pointers = plan
            .addresses
            .iter()
            .map(|address| memories.pointer(address))
            .collect::<Result<Vec<_>, _>>()?;
        let slots = &plan.verified.program().hosts;
        let changes = |address: &Address| match address.space {
            Space::Output => true,
            Space::Host => {
                matches!(
                    slots.get(address.index as usize),
                    Some(HostSlot::Input { .. })
                )
            }
            _ => false,
        };
        let changing = (0u32..)
            .zip(&plan.addresses)
            .filter_map(|(index, address)| changes(address).then_some(index))
            .collect();
        let launch = |step: &cloakwork_plan::Step| {
            let geometry = &plan.geometries[step.geometry as usize];
            let first = step.first_address as usize;
            let prepared = match step.prepared {
                Prepared::None => std::ptr::null(),
                Prepared::Constant(index) => memories.prepared[index as usize]
                    .as_ptr()
                    .cast_const()
                    .cast(),
                Prepared::Constants { first, .. } => {
                    std::ptr::from_ref(&memories.units[first as usize]).cast()
                }
                Prepared::Dynamic(buffer) | Prepared::Dynamics { buffer, .. } => {
                    memories.buffer(buffer).cast_const()
                }
            };
            raw_launch(
                geometry,
                &pointers[first..first + geometry.operands()],
                prepared,
            )
        };
        let launches = plan.steps.iter().map(launch).collect();
        let units = plan.geometries.iter().map(Geometry::units).collect();
        Ok(Self {
            launches,
            units,
            pointers,
            changing,
        })
    }

    /// Resolves what is new in a further run.
    ///
    /// # Errors
    /// As [`Memories::pointer`].
    pub fn refresh(&mut self, memories: &Memories) -> Result<(), RunError> {
        for &index in &self.changing {
            let address = &memories.plan.addresses[index as usize];
            self.pointers[index as usize] = memories.pointer(address)?;
        }
        Ok(())
    }
}

/// The C form of a launch; it borrows from the geometry and from the pointers.
pub fn raw_launch(
    geometry: &Geometry,
    pointers: &[*mut c_void],
    prepared: *const c_void,
) -> RawLaunch {
    RawLaunch {
        rank: geometry.dims.len() as u32,
        operands: pointers.len() as u32,
        dims: geometry.dims.as_ptr(),
        strides: geometry.strides.as_ptr(),
        data: pointers.as_ptr(),
        params: geometry.params.as_ptr(),
        prepared,
    }
}

/// A fusion ready to run: its members with what a block needs of each.
pub struct Fused<'a> {
    members: Vec<Member<'a>>,
    block: u64,
    slot_bytes: usize,
}

struct Member<'a> {
    row: &'static KernelRow,
    strides: *const i64,
    params: *const i64,
    operands: u32,
    /// Where each operand's first element is; null for one in a slot.
    pointers: &'a [*mut c_void],
    /// Bytes from an element to the next; of one in a slot, the slot.
    steps: [usize; 4],
}

// SAFETY: as for `Table`, to whose memory the pointers lead.
unsafe impl Sync for Fused<'_> {}

/// Strides of an operand list over a single element: any do.
static ONES: [i64; 4] = [1; 4];
static ZEROS: [i64; 1] = [0];

impl Fused<'_> {
    /// Computes elements `begin .. end`, block by block.
    ///
    /// # Safety
    /// As for `KernelRow::run`, of every member; `scratch` has room for all slots and is this
    /// call's alone.
    pub unsafe fn run(&self, begin: u64, end: u64, scratch: *mut u8) {
        let mut at = begin;
        while at < end {
            let count = self.block.min(end - at);
            let dims = [count as i64];
            for member in &self.members {
                let mut data: [*mut c_void; 4] = [std::ptr::null_mut(); 4];
                for (operand, pointer) in member.pointers.iter().enumerate() {
                    let step = member.steps[operand];
                    data[operand] = if pointer.is_null() {
                        scratch.wrapping_add(step * self.slot_bytes).cast()
                    } else {
                        pointer.wrapping_byte_add(step * at as usize)
                    };
                }
                let launch = RawLaunch {
                    rank: 1,
                    operands: member.operands,
                    dims: dims.as_ptr(),
                    strides: member.strides,
                    data: data.as_ptr(),
                    params: member.params,
                    prepared: std::ptr::null(),
                };
                // SAFETY: the block lies inside what the member's whole launch may touch.
                unsafe { member.row.run(&launch, 0, count, std::ptr::null_mut()) };
            }
            at += count;
        }
    }
}

impl Table {
    /// A fusion of the plan.
    pub fn fused<'a>(&'a self, plan: &'a Plan, fusion: &Fusion) -> Fused<'a> {
        let member = |(step, candidate): (&cloakwork_plan::Step, &Candidate)| {
            let geometry = &plan.geometries[step.geometry as usize];
            let first = step.first_address as usize;
            let count = candidate.operands as usize;
            let addresses = &plan.addresses[first..first + count];
            let mut steps = [0; 4];
            for (operand, address) in addresses.iter().enumerate() {
                let moves = geometry.dims.is_empty() || geometry.strides[operand] != 0;
                steps[operand] = match address.space {
                    Space::Slot => address.index as usize,
                    _ if moves => usize::from(candidate.sizes[operand]),
                    _ => 0,
                };
            }
            let flat = geometry.dims.is_empty();
            Member {
                row: step.row,
                strides: if flat {
                    ONES.as_ptr()
                } else {
                    geometry.strides.as_ptr()
                },
                // What stays in a block is not to be written past the caches.
                params: if addresses[0].space == Space::Slot {
                    ZEROS.as_ptr()
                } else {
                    geometry.params.as_ptr()
                },
                operands: count as u32,
                pointers: &self.pointers[first..first + count],
                steps,
            }
        };
        let steps = &plan.steps[fusion.first as usize..fusion.end as usize];
        let first = fusion.first_member as usize;
        // What was to be copied to a result is that result.
        let moves_nothing = |step: &cloakwork_plan::Step| {
            let first = step.first_address as usize;
            step.row.kernel == "copy" && plan.addresses[first] == plan.addresses[first + 1]
        };
        let members = steps.iter().zip(&plan.fused[first..]);
        let members = members.filter(|(step, _)| !moves_nothing(step));
        Fused {
            members: members.map(member).collect(),
            block: fusion.block,
            slot_bytes: fusion.slot_bytes as usize,
        }
    }
}
