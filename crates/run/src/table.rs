//! Resolves a plan's addresses to pointers, once before a run: nothing is looked up while it runs.

use crate::RunError;
use crate::memory::Block;
use cloakwork_ir::{HostSlot, HostTensor};
use cloakwork_kernels::RawLaunch;
use cloakwork_plan::{Address, Geometry, Plan, Prepared, Space};
use std::ffi::c_void;

/// All memory that a run's operands lie in.
pub struct Memories<'a> {
    pub plan: &'a Plan,
    pub arena: &'a Block,
    pub hosts: &'a [Option<HostTensor>],
    pub outputs: &'a [Block],
    pub pool: &'a [i64],
    pub prepared: &'a [Block],
}

impl Memories<'_> {
    /// The pointer of an address.
    ///
    /// # Errors
    /// The plan names memory that is not there: a mistake of the planner.
    pub fn pointer(&self, address: &Address) -> Result<*mut c_void, RunError> {
        let index = address.index as usize;
        let base = match address.space {
            Space::Null => return Ok(std::ptr::null_mut()),
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
                Prepared::Dynamic(buffer) => memories.buffer(buffer).cast_const(),
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
