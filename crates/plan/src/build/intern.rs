//! The tables of a plan: steps, iteration spaces, integers, buffers.

use super::Builder;
use crate::plan::{Address, Buffer, Geometry, Prepared, Space, Step, StepCost};
use cloakwork_ir::DType;
use cloakwork_kernels::{KernelRow, LaunchShape};
use cloakwork_ops::Launch;

impl<'a> Builder<'a> {
    pub(super) fn push(
        &mut self,
        row: &'static KernelRow,
        launch: &Launch,
        addresses: &[Address],
        prepared: Prepared,
        cost: StepCost,
    ) {
        let geometry = self.geometry(launch);
        let scratch = row.scratch_bytes(&self.shape(geometry));
        self.scratch_bytes = self.scratch_bytes.max(scratch);
        let index = self.plan.steps.len() as u32;
        for address in addresses {
            if address.space == Space::Buffer {
                let buffer = &mut self.plan.buffers[address.index as usize];
                buffer.first = buffer.first.min(index);
                buffer.last = buffer.last.max(index);
            }
        }
        // Memory moves at some ten bytes a nanosecond and core; arithmetic takes about one.
        let weight = (cost.bytes / 8)
            .max(cost.operations)
            .min(u64::from(u32::MAX)) as u32;
        let first_address = self.plan.addresses.len() as u32;
        self.plan.addresses.extend_from_slice(addresses);
        let origin = self.origin;
        self.plan.steps.push(Step {
            origin,
            geometry,
            first_address,
            weight,
            prepared,
            row,
        });
        self.plan.costs.push(cost);
    }

    pub(super) fn geometry(&mut self, launch: &Launch) -> u32 {
        let geometry = Geometry {
            dims: launch.dims.as_slice().into(),
            split: launch.split as u32,
            strides: launch
                .operands
                .iter()
                .flat_map(|o| o.strides.iter().copied())
                .collect(),
            params: launch.params.as_slice().into(),
        };
        if let Some(&index) = self.geometry_index.get(&geometry) {
            return index;
        }
        let index = self.plan.geometries.len() as u32;
        self.plan.geometries.push(geometry.clone());
        self.geometry_index.insert(geometry, index);
        index
    }

    pub(super) fn shape(&self, geometry: u32) -> LaunchShape<'_> {
        let geometry = &self.plan.geometries[geometry as usize];
        LaunchShape {
            dims: &geometry.dims,
            strides: &geometry.strides,
            params: &geometry.params,
        }
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
        self.plan.buffers.push(Buffer {
            bytes,
            offset: 0,
            first,
            last: first,
        });
        self.plan.buffers.len() as u32 - 1
    }
}
