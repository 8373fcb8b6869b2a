//! The tables of a plan: steps, iteration spaces, integers, buffers.

use super::Builder;
use crate::arena;
use crate::fuse::{Candidate, MAX_OPERANDS};
use crate::graph::Reach;
use crate::plan::{Address, Buffer, Geometry, Home, Space, Step, StepCost, Work};
use cloakwork_devices::{Capabilities, Driver};
use cloakwork_ir::{DType, Lifetime};
use cloakwork_kernels::{KernelRow, LaunchShape};
use cloakwork_ops::Launch;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

impl<'a> Builder<'a> {
    /// Adds a step: its operands, followed by the blocks that are prepared for its launch. Its
    /// weight is its operations, or the time that the declaration states, whichever is longer.
    pub(super) fn push(
        &mut self,
        work: Work,
        geometry: u32,
        operands: &[(Address, Reach)],
        cost: StepCost,
        declared_ns: u64,
    ) {
        let first = operands.first().map_or(Address::NULL, |(at, _)| *at);
        let side = self.side(&first);
        // A driver has its own scratch memory.
        if let (Work::Launch { row, .. }, Home::HOST) = (work, side) {
            let scratch = row.scratch_bytes(&self.shape(geometry));
            self.scratch_bytes = self.scratch_bytes.max(scratch);
        }
        let computing = cost.operations.max(declared_ns);
        let costs = self.driver(side).costs();
        let weight_ns = costs.launch_ns(computing, cost.bytes);
        self.push_weighed(work, geometry, operands, (cost, weight_ns));
    }

    /// Adds a step whose weight is known.
    #[inline]
    pub(super) fn push_weighed(
        &mut self,
        work: Work,
        geometry: u32,
        operands: &[(Address, Reach)],
        (cost, weight_ns): (StepCost, u64),
    ) {
        let index = self.plan.steps.len() as u32;
        for (address, _) in operands {
            if address.space == Space::Buffer {
                self.plan.buffers[address.index as usize].life.extend(index);
            }
        }
        let first_address = self.plan.addresses.len() as u32;
        self.plan.addresses.extend(operands.iter().map(|o| o.0));
        self.reaches.extend(operands.iter().map(|o| o.1));
        let origin = self.origin;
        self.plan.steps.push(Step {
            work,
            origin,
            geometry,
            first_address,
            weight: weight_ns.min(u64::from(u32::MAX)) as u32,
            queue: 0,
        });
        self.plan.costs.push(cost);
        self.candidates.push(Candidate::default());
        let first = operands.first().map_or(Address::NULL, |(at, _)| *at);
        self.shared.note(index, work, &first);
    }

    /// Whether the operand's device wants fused launches.
    fn fuses(&self, address: &Address) -> bool {
        let driver = self.driver(self.plan.home_of(address));
        driver.has(Capabilities::FUSES)
    }

    /// The driver of a memory.
    fn driver(&self, home: Home) -> &'static Driver {
        match home {
            Home::HOST => self.host,
            _ => self.plan.driver(home),
        }
    }

    /// The arena of an address; 0 for memory that the host reaches.
    pub(super) fn arena_of(&self, address: &Address) -> u16 {
        match self.side(address) {
            Home::HOST => 0,
            Home::Device(_) | Home::Spill => self.plan.arena_of(address),
        }
    }

    /// The facts that fusion needs about an element-wise launch, if it may be fused.
    pub(super) fn candidate(
        &self,
        row: &'static KernelRow,
        geometry: u32,
        dtypes: &[DType],
    ) -> Candidate {
        let mut candidate = Candidate::default();
        if dtypes.len() > candidate.sizes.len() {
            return candidate;
        }
        for (own, dtype) in candidate.sizes.iter_mut().zip(dtypes) {
            *own = dtype.size_bytes() as u8;
        }
        candidate.operands = dtypes.len() as u8;
        candidate.constants = constants_apart(row, &self.shape(geometry), dtypes.len());
        candidate
    }

    /// Allows the fusion of the step just pushed, if all of its operands may lie in a fusion's
    /// blocks.
    pub(super) fn may_fuse(&mut self, candidate: Candidate) {
        let (Some(step), Some(last)) =
            (self.plan.steps.last(), self.candidates.len().checked_sub(1))
        else {
            return;
        };
        let operands = &self.plan.addresses[self.plan.addresses_of(step)];
        if candidate.operands > 0 && operands.iter().all(|at| self.fuses(at)) {
            self.candidates[last] = candidate;
        }
    }

    /// The index of a launch's iteration space.
    pub(super) fn geometry(&mut self, launch: &Launch) -> u32 {
        let strides = launch
            .operands
            .iter()
            .flat_map(|o| o.strides.iter().copied());
        self.intern(Geometry {
            dims: launch.dims.as_slice().into(),
            split: launch.split as u32,
            operands: launch.operands.len() as u32,
            strides: strides.collect(),
            params: launch.params.as_slice().into(),
        })
    }

    /// The index of an iteration space; equal ones are one.
    pub(super) fn intern(&mut self, geometry: Geometry) -> u32 {
        let mut hasher = FxHasher::default();
        geometry.hash(&mut hasher);
        let alike = self.geometry_index.entry(hasher.finish()).or_default();
        let known = &self.plan.geometries;
        let same = |&&index: &&u32| known.get(index as usize) == Some(&geometry);
        if let Some(&index) = alike.iter().find(same) {
            return index;
        }
        let index = self.plan.geometries.len() as u32;
        alike.push(index);
        self.plan.geometries.push(geometry);
        index
    }

    pub(super) fn shape(&self, geometry: u32) -> LaunchShape<'_> {
        self.plan.geometries[geometry as usize].shape()
    }

    pub(super) fn pool_address(&mut self, dtype: DType, value: i64) -> Address {
        let next = self.plan.pool.len() as u32;
        let index = *self.pool_index.entry((dtype, value)).or_insert(next);
        if index == next {
            self.plan.pool.push(value);
        }
        Address {
            space: Space::Pool,
            index,
            offset: 0,
        }
    }

    pub(super) fn buffer(&mut self, bytes: u64, first: u32) -> u32 {
        let arena = arena::of(&mut self.plan.arenas, Home::Device(self.device));
        self.plan.buffers.push(Buffer {
            bytes,
            offset: 0,
            life: Lifetime::at(first),
            arena,
        });
        self.plan.buffers.len() as u32 - 1
    }
}

/// The operand that an element-wise kernel derives constants from, and their bytes per element, if
/// they are laid out as `kernel.h` says.
fn constants_apart(row: &KernelRow, shape: &LaunchShape<'_>, operands: usize) -> Option<(u8, u32)> {
    let mut sources = (0..operands).filter(|&operand| row.reads_constant(operand));
    let (source, None) = (sources.next()?, sources.next()) else {
        return None;
    };
    let single = LaunchShape {
        dims: &[1],
        strides: &[0; MAX_OPERANDS][..operands],
        params: shape.params,
    };
    let bytes = row.prepared_bytes(&single);
    let rank = shape.dims.len();
    let strides = &shape.strides[source * rank..][..rank];
    let varying = shape
        .dims
        .iter()
        .zip(strides)
        .filter(|&(_, &stride)| stride != 0);
    let elements: u64 = varying.map(|(&dim, _)| dim as u64).product();
    (row.prepared_bytes(shape) == bytes * elements).then_some((source as u8, bytes as u32))
}
