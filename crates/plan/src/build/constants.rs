//! What kernels derive from operands before they run: once where these never change, else before
//! each run of the step.

use super::Builder;
use crate::arena;
use crate::plan::{Address, Geometry, Prepared, PreparedConstant, Space};
use cloakwork_ir::DType;
use cloakwork_kernels::{KernelRow, PreparedShape};
use cloakwork_ops::{Launch, Source};
use cloakwork_verify::Call;
use smallvec::SmallVec;

/// Where the operands of a launch begin, and their types.
pub(super) type Operands = SmallVec<[(Address, DType); 6]>;

/// Bytes of a pointer to the constants of an index.
const POINTER_BYTES: u64 = 8;

fn padded(bytes: u64) -> u64 {
    bytes.next_multiple_of(arena::ALIGNMENT_BYTES)
}

impl Builder<'_> {
    /// The constants of a launch.
    pub(super) fn prepare(
        &mut self,
        call: &Call,
        launch: &Launch,
        (row, geometry): (&'static KernelRow, u32),
        operands: &Operands,
    ) -> Prepared {
        let shape = self.shape(geometry);
        let (one, count) = (row.prepared_shape(&shape), row.prepared_count(&shape));
        let bytes = row.prepared_bytes(&one.shape());
        if bytes == 0 {
            return Prepared::None;
        }
        let parts: Vec<PreparedConstant> = (0..count.unwrap_or(1))
            .map(|index| self.part(row, &one, (geometry, index), operands))
            .collect();
        let first = self.plan.steps.len() as u32;
        match (are_constant(call, launch, row, operands), count) {
            (true, None) => {
                let index = parts.into_iter().map(|part| self.constant(part)).last();
                index.map_or(Prepared::None, Prepared::Constant)
            }
            (true, Some(count)) => {
                let indices: Vec<u32> = parts.into_iter().map(|part| self.constant(part)).collect();
                let first = self.plan.prepared_units.len() as u32;
                self.plan.prepared_units.extend(indices);
                let count = count as u32;
                Prepared::Constants { first, count }
            }
            (false, None) => Prepared::Dynamic(self.buffer(bytes, first)),
            (false, Some(count)) => {
                let pointers = padded(count as u64 * POINTER_BYTES);
                let all = (count as u64).saturating_mul(padded(bytes));
                let buffer = self.buffer(pointers.saturating_add(all), first);
                let first = self.plan.dynamic.len() as u32;
                self.plan.dynamic.extend(parts);
                let count = count as u32;
                Prepared::Dynamics {
                    buffer,
                    first,
                    count,
                }
            }
        }
    }

    /// What `prepare` reads for one index: only that tells two blocks of constants apart.
    fn part(
        &mut self,
        row: &'static KernelRow,
        one: &PreparedShape,
        (geometry, index): (u32, usize),
        operands: &Operands,
    ) -> PreparedConstant {
        let whole = &self.plan.geometries[geometry as usize];
        let step = |operand: usize| {
            let axis = row.prepared_axis?;
            whole.strides.get(operand * whole.dims.len() + axis)
        };
        let addresses = operands.iter().enumerate().map(|(i, &(at, dtype))| {
            if !row.reads_constant(i) || at.space == Space::Null {
                return Address::NULL;
            }
            let elements = step(i).copied().unwrap_or(0) * index as i64;
            Address {
                offset: at.offset + elements * dtype.size_bytes() as i64,
                ..at
            }
        });
        let addresses = addresses.collect();
        let split = whole.split;
        let geometry = self.intern(Geometry {
            dims: one.dims.as_slice().into(),
            split,
            operands: operands.len() as u32,
            strides: one.strides.as_slice().into(),
            params: one.params.as_slice().into(),
        });
        PreparedConstant {
            row,
            geometry,
            addresses,
            bytes: row.prepared_bytes(&one.shape()),
        }
    }

    /// The index of constants that are derived once a plan; equal ones are one.
    fn constant(&mut self, part: PreparedConstant) -> u32 {
        let row = std::ptr::from_ref(part.row) as usize;
        let key = (row, part.geometry, part.addresses.clone());
        if let Some(&index) = self.prepared_index.get(&key) {
            return index;
        }
        let index = self.plan.prepared.len() as u32;
        let memory = &mut self.plan.memory;
        memory.prepared_bytes = memory.prepared_bytes.saturating_add(padded(part.bytes));
        self.plan.prepared.push(part);
        self.prepared_index.insert(key, index);
        index
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
        .all(|(_, (operand, (at, _)))| {
            let known = match operand.source {
                Source::Param(param) => call.is_constant(param as usize),
                _ => true,
            };
            // A later step may write the upload, which then lies in memory of a run.
            known && !matches!(at.space, Space::Buffer | Space::Output)
        })
}
