//! Steps that move elements: copies that an op needs, and downloads.

use super::{Builder, Touch};
use crate::PlanError;
use crate::graph::Reach;
use crate::plan::{Address, Download, Prepared, Space, StepCost, Work};
use cloakwork_ir::{DType, HostId, View};
use cloakwork_ops::{COPY_KERNEL, Launch, LaunchInput, Source};
use cloakwork_verify::ValueId;

impl<'a> Builder<'a> {
    /// A reshape or `contiguous` that needs new storage: the destination is viewed with the
    /// source's shape, and each element is copied to its position.
    pub(super) fn copy(&mut self, source: ValueId, value: ValueId) -> Result<(), PlanError> {
        let from = self.layout.view(self.verified, source).clone();
        let whole = self.layout.view(self.verified, value);
        let to = match whole.reshape(&from.shape) {
            Ok(Some(view)) => view,
            _ => return Err(self.internal("a copy whose destination has no such view")),
        };
        self.touch(value, Touch::WriteAll)?;
        self.touch(source, Touch::Read)?;
        let dtype = self.value(value)?.dtype;
        let operands = [self.address(value, &to)?, self.address(source, &from)?];
        self.copy_step(&to, &from, dtype, operands)
    }

    pub(super) fn download(&mut self, value: ValueId, host: HostId) -> Result<(), PlanError> {
        let from = self.layout.view(self.verified, value).clone();
        self.touch(value, Touch::Read)?;
        let info = self.value(value)?;
        let ty = cloakwork_ir::Type::new(info.dtype, from.shape.clone());
        let index = self.plan.downloads.len() as u32;
        let to = View::contiguous(from.shape.clone());
        let output = Address {
            space: Space::Output,
            index,
            offset: 0,
        };
        let operands = [output, self.address(value, &from)?];
        if self.plan.options.resident.outputs.is_none() {
            let memory = &mut self.plan.memory;
            memory.output_bytes = memory.output_bytes.saturating_add(ty.size_bytes());
        }
        if operands[0] != operands[1] {
            self.copy_step(&to, &from, ty.dtype, operands)?;
        }
        let origin = self.origin;
        self.plan.downloads.push(Download { origin, host, ty });
        Ok(())
    }

    /// A copy between two views; both addresses are those of the first element.
    pub(super) fn copy_launch(&self, to: &View, from: &View) -> Result<Launch, PlanError> {
        let based = |view: &View, param| {
            let view = View {
                offset: 0,
                ..view.clone()
            };
            LaunchInput::View(Source::Param(param), view)
        };
        Launch::elementwise(COPY_KERNEL, &to.shape, &[based(to, 0), based(from, 1)])
            .map_err(|error| self.internal(&error.to_string()))
    }

    pub(super) fn copy_step(
        &mut self,
        to: &View,
        from: &View,
        dtype: DType,
        addresses: [Address; 2],
    ) -> Result<(), PlanError> {
        let launch = self.copy_launch(to, from)?;
        if launch.units() == 0 {
            return Ok(());
        }
        let reach = |view: &View| Reach::of(view, view.offset, dtype.size_bytes());
        let mut operands = [(addresses[0], reach(to)), (addresses[1], reach(from))];
        if self.moved(&launch, &operands, dtype) {
            return Ok(());
        }
        if self.lacks(COPY_KERNEL, [dtype; 2], &addresses[0]) {
            let (target, reach) = operands[0];
            let dense = to.shape.elements() * dtype.size_bytes() as u64 == reach.bytes();
            let here = self.lend(target, &reach, dense);
            self.copy_step(to, from, dtype, [here, addresses[1]])?;
            self.give_back(target, here, &reach);
            return Ok(());
        }
        let row = self.row(COPY_KERNEL, dtype, dtype, self.side(&addresses[0]))?;
        self.stage(&mut operands);
        let elements = to.shape.elements();
        let cost = StepCost {
            operations: elements,
            bytes: 2 * elements * dtype.size_bytes() as u64,
        };
        let geometry = self.geometry(&launch);
        let prepared = Prepared::None;
        let work = Work::Launch { row, prepared };
        self.push(work, geometry, &operands, cost, launch.weight_ns());
        let candidate = self.candidate(row, geometry, &[dtype; 2]);
        self.may_fuse(candidate);
        Ok(())
    }
}
