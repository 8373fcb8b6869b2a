//! What kernels prepare from operands before they run: constants where these never change, else
//! steps before the launch.

use super::Builder;
use crate::arena;
use crate::graph::Reach;
use crate::plan::{Address, Constant, Geometry, Plan, Prepared, Space, StepCost, Work};
use cloakwork_ir::DType;
use cloakwork_kernels::{KernelRow, PreparedShape};
use cloakwork_ops::{Launch, Source};
use cloakwork_verify::Call;
use smallvec::SmallVec;

/// Where the operands of a launch begin, what may be touched of them, and their types.
pub(super) type Operands = SmallVec<[(Address, Reach, DType); 6]>;

/// Blocks that a launch finds prepared.
pub(super) type Blocks = SmallVec<[(Address, Reach); 1]>;

impl Builder<'_> {
    /// What a launch is to find prepared, and where.
    pub(super) fn prepare(
        &mut self,
        call: &Call,
        launch: &Launch,
        (row, geometry): (&'static KernelRow, u32),
        operands: &Operands,
    ) -> (Prepared, Blocks) {
        let shape = self.shape(geometry);
        let (one, count) = (row.prepared_shape(&shape), row.prepared_count(&shape));
        if row.prepared_bytes(&one.shape()) == 0 {
            return (Prepared::None, Blocks::new());
        }
        let fixed = are_constant(call, launch, row, operands);
        let mut blocks = Blocks::new();
        for index in 0..count.unwrap_or(1) {
            let (part, reaches) = self.part(row, &one, (geometry, index), operands);
            let bytes = part.bytes;
            let at = match fixed {
                true => Address {
                    space: Space::Constant,
                    index: self.constant(part),
                    offset: 0,
                },
                false => self.prepare_now(part, &reaches),
            };
            blocks.push((at, Reach::whole(bytes, 0)));
        }
        let prepared = count.map_or(Prepared::Block, |count| Prepared::Blocks(count as u32));
        (prepared, blocks)
    }

    /// A step that prepares a block of the launch to come.
    fn prepare_now(&mut self, part: Constant, reaches: &[Reach]) -> Address {
        let home = self.plan.arenas[part.arena as usize].home;
        let block = Address::of_buffer(self.buffer_at(home, part.bytes));
        let result = (block, Reach::whole(part.bytes, 0));
        let operands = part.operands.iter().copied().zip(reaches.iter().copied());
        let operands: SmallVec<[_; 6]> = std::iter::once(result).chain(operands).collect();
        let cost = StepCost {
            operations: 0,
            bytes: part.bytes,
        };
        self.push(part.work, part.geometry, &operands, cost, 0);
        block
    }

    /// What `prepare` reads for one index: only that tells two blocks apart.
    fn part(
        &mut self,
        row: &'static KernelRow,
        one: &PreparedShape,
        (geometry, index): (u32, usize),
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
        let geometry = Geometry {
            dims: one.dims.as_slice().into(),
            split: whole.split,
            // The block itself has no strides.
            operands: operands.len() as u32 + 1,
            strides: one.strides.as_slice().into(),
            params: one.params.as_slice().into(),
        };
        let start = operands.first().map_or(Address::NULL, |(at, ..)| *at);
        let part = Constant {
            arena: self.arena_of(&start),
            work: Work::Prepare { row },
            geometry: self.intern(geometry),
            operands: starts.into(),
            bytes: row.prepared_bytes(&one.shape()),
            offset: 0,
        };
        (part, reaches)
    }

    /// The index of a constant; equal ones are one.
    pub(super) fn constant(&mut self, constant: Constant) -> u32 {
        let row = match constant.work {
            Work::Launch { row, .. } | Work::Prepare { row } => std::ptr::from_ref(row) as usize,
            Work::Transfer(_) | Work::Host(_) => 0,
        };
        let key = (
            row,
            constant.geometry,
            constant.arena,
            constant.operands.clone(),
        );
        if let Some(&index) = self.constant_index.get(&key) {
            return index;
        }
        let index = self.plan.constants.len() as u32;
        let memory = &mut self.plan.memory;
        let padded = constant.bytes.next_multiple_of(arena::ALIGNMENT_BYTES);
        memory.prepared_bytes = memory.prepared_bytes.saturating_add(padded);
        self.plan.constants.push(constant);
        self.constant_index.insert(key, index);
        index
    }
}

/// Gives the constants of each device places in one block: first the small ones that are uploaded
/// together, then the others that are uploaded, then what is prepared from them.
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

/// Whether no run changes what `prepare` reads.
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
            // A later step may write the upload, which then lies in memory of a run.
            known && !matches!(at.space, Space::Buffer | Space::Output)
        })
}
