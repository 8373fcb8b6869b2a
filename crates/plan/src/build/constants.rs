//! Blocks that kernels prepare from operands: constants if the operands never change, else steps
//! before the launch.

use super::calls::WithRow;
use super::{Builder, ConstantKey};
use crate::arena;
use crate::graph::Reach;
use crate::plan::{Address, Constant, Geometry, Plan, Prepared, Space, StepCost, Work};
use cloakwork_ir::DType;
use cloakwork_kernels::KernelRow;
use cloakwork_ops::{Launch, Source};
use cloakwork_verify::Call;
use rustc_hash::FxHasher;
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};

/// Address of each operand of a launch, the bytes that may be touched, and its type.
pub(super) type Operands = SmallVec<[(Address, Reach, DType); 6]>;

/// Addresses of the blocks that are prepared for a launch.
type Places = SmallVec<[(Address, Reach); 1]>;

/// Blocks that a kernel prepares for a launch.
pub(super) struct Blocks {
    /// Number of blocks, if there is one for each index of an axis.
    count: Option<usize>,
    /// Bytes of each block.
    bytes: u64,
    /// The iteration space of a preparation.
    geometry: u32,
}

impl Builder<'_> {
    /// The blocks that a kernel prepares for a launch over an iteration space, if it prepares any.
    pub(super) fn blocks(&mut self, row: &'static KernelRow, geometry: u32) -> Option<Blocks> {
        let shape = self.shape(geometry);
        let (one, count) = (row.prepared_shape(&shape), row.prepared_count(&shape));
        let bytes = row.prepared_bytes(&one.shape());
        if bytes == 0 {
            return None;
        }
        let whole = &self.plan.geometries[geometry as usize];
        let part = Geometry {
            dims: one.dims.as_slice().into(),
            split: whole.split,
            // The block itself has no strides.
            operands: whole.operands + 1,
            strides: one.strides.as_slice().into(),
            params: one.params.as_slice().into(),
        };
        let geometry = if count == Some(0) {
            0
        } else {
            self.intern(part)
        };
        Some(Blocks {
            count,
            bytes,
            geometry,
        })
    }

    /// The blocks that are prepared for a launch, and their addresses.
    pub(super) fn prepare(
        &mut self,
        call: &Call,
        launch: &Launch,
        with_row: &WithRow,
        operands: &Operands,
    ) -> (Prepared, Places) {
        let WithRow { row, .. } = *with_row;
        let Some(blocks) = &with_row.blocks else {
            return (Prepared::None, Places::new());
        };
        let fixed = are_constant(call, launch, row, operands);
        let mut places = Places::new();
        for index in 0..blocks.count.unwrap_or(1) {
            let (part, reaches) = self.part(with_row, blocks, index, operands);
            let at = match fixed {
                true => Address {
                    space: Space::Constant,
                    index: self.constant(part),
                    offset: 0,
                },
                false => self.prepare_now(part, &reaches),
            };
            places.push((at, Reach::whole(blocks.bytes, 0)));
        }
        let count = blocks.count;
        let prepared = count.map_or(Prepared::Block, |count| Prepared::Blocks(count as u32));
        (prepared, places)
    }

    /// A block for the next launch: one that an earlier step prepared, or a new one.
    fn prepare_now(&mut self, part: Constant, reaches: &[Reach]) -> Address {
        let key = key_of(&part);
        if let Some(block) = self.prepared_before(&key) {
            return block;
        }
        let home = self.plan.arenas[part.arena as usize].home;
        let block = Address::of_buffer(self.buffer_at(home, part.bytes));
        let result = (block, Reach::whole(part.bytes, 0));
        let operands = part.operands.iter().copied().zip(reaches.iter().copied());
        let operands: SmallVec<[_; 6]> = std::iter::once(result).chain(operands).collect();
        let cost = StepCost {
            operations: 0,
            bytes: part.bytes,
        };
        self.will_prepare(key, block);
        self.push(part.work, part.geometry, &operands, cost, 0);
        block
    }

    /// The operands that `prepare` reads for one index: these alone identify a block.
    fn part(
        &self,
        &WithRow { row, geometry, .. }: &WithRow,
        blocks: &Blocks,
        index: usize,
        operands: &Operands,
    ) -> (Constant, SmallVec<[Reach; 6]>) {
        let whole = &self.plan.geometries[geometry as usize];
        let step = |operand: usize| {
            let axis = row.prepared_axis?;
            whole.strides.get(operand * whole.dims.len() + axis)
        };
        let starts = operands.iter().enumerate().map(|(i, &(at, reach, dtype))| {
            if !row.reads_constant(i) || at.space == Space::Null {
                return (Address::NULL, Reach::default());
            }
            let elements = step(i).copied().unwrap_or(0) * index as i64;
            let bytes = elements * dtype.size_bytes() as i64;
            let offset = at.offset + bytes;
            (Address { offset, ..at }, reach.from(bytes))
        });
        let (starts, reaches): (Vec<Address>, _) = starts.unzip();
        let start = operands.first().map_or(Address::NULL, |(at, ..)| *at);
        let part = Constant {
            arena: self.arena_of(&start),
            work: Work::Prepare { row },
            geometry: blocks.geometry,
            operands: starts.into(),
            bytes: blocks.bytes,
            offset: 0,
        };
        (part, reaches)
    }

    /// The index of a constant; equal ones are one.
    pub(super) fn constant(&mut self, constant: Constant) -> u32 {
        let mut hasher = FxHasher::default();
        identity(&constant).hash(&mut hasher);
        let alike = self.constant_index.entry(hasher.finish()).or_default();
        let known = &self.plan.constants;
        let same = |&&index: &&u32| {
            let known = known.get(index as usize).map(identity);
            known == Some(identity(&constant))
        };
        if let Some(&index) = alike.iter().find(same) {
            return index;
        }
        let index = self.plan.constants.len() as u32;
        let memory = &mut self.plan.memory;
        let padded = constant.bytes.next_multiple_of(arena::ALIGNMENT_BYTES);
        memory.prepared_bytes = memory.prepared_bytes.saturating_add(padded);
        alike.push(index);
        self.plan.constants.push(constant);
        index
    }
}

/// Assigns the constants of each device offsets in one block: first the small ones that are
/// uploaded together, then the others that are uploaded, then those that are prepared from them.
pub(super) fn assign(plan: &mut Plan) {
    let kind = |constant: &Constant| match constant.work {
        Work::Transfer(_) if constant.is_gathered() => 0,
        Work::Transfer(_) => 1,
        _ => 2,
    };
    let mut order: Vec<usize> = (0..plan.constants.len()).collect();
    order.sort_by_key(|&index| kind(&plan.constants[index]));
    for index in order {
        let constant = &mut plan.constants[index];
        if constant.arena > 0 {
            let arena = &mut plan.arenas[constant.arena as usize];
            constant.offset = arena.constant_bytes;
            let padded = constant.bytes.next_multiple_of(arena::ALIGNMENT_BYTES);
            arena.constant_bytes = arena.constant_bytes.saturating_add(padded);
        }
    }
}

/// The identity of a prepared block, as an owned key.
fn key_of(part: &Constant) -> ConstantKey {
    let (row, geometry, arena, operands) = identity(part);
    (row, geometry, arena, operands.into())
}

/// The identity of a constant: the row, the geometry, the arena, the operands.
fn identity(constant: &Constant) -> (usize, u32, u16, &[Address]) {
    let row = match constant.work {
        Work::Launch { row, .. } | Work::Prepare { row } => std::ptr::from_ref(row) as usize,
        Work::Transfer(_) | Work::Check(_) | Work::Function(_) => 0,
    };
    (row, constant.geometry, constant.arena, &constant.operands)
}

/// Whether the operands that `prepare` reads stay the same in all runs.
fn are_constant(
    call: &Call,
    launch: &Launch,
    row: &'static KernelRow,
    operands: &Operands,
) -> bool {
    let given = launch.operands.iter().zip(operands).enumerate();
    given
        .filter(|(i, _)| row.reads_constant(*i))
        .all(|(_, (operand, (at, ..)))| {
            let known = match operand.source {
                Source::Param(param) => call.is_constant(param as usize),
                _ => true,
            };
            // A later step may write to the upload, which then lies in memory of a run.
            known && !matches!(at.space, Space::Buffer | Space::Output)
        })
}
