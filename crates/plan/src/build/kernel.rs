//! Steps that compute: launches of a declaration with kernels chosen and constants arranged.

use super::constants::Operands;
use super::{Builder, Touch};
use crate::PlanError;
use crate::graph::Reach;
use crate::placement::touched;
use crate::plan::{Address, FunctionCall, Home, HostCall, Space, StepCost, Work};
use cloakwork_ir::{DType, Device, View};
use cloakwork_kernels::KernelRow;
use cloakwork_ops::{
    Access, Body, COPY_KERNEL, FUNCTION, KernelBody, Launch, LaunchOperand, ParamKind, Source,
};
use cloakwork_verify::{Call, ValueId};
use smallvec::SmallVec;

impl<'a> Builder<'a> {
    pub(super) fn kernel(&mut self, call: &Call, out: ValueId) -> Result<(), PlanError> {
        let Body::Kernel(body) = &call.def.body else {
            return Err(self.internal("a kernel action whose op has no kernel"));
        };
        let (layout, verified) = (self.layout, self.verified);
        let view_of = |value| layout.view(verified, value);
        let (launches, operations, temporary_bytes) = verified
            .with_views(call, view_of, |args| {
                let temporary_bytes = body.temporary.map_or(Ok(0), |bytes| bytes(args))?;
                let operations = (call.def.operations)(args);
                (body.launch)(args).map(|launches| (launches, operations, temporary_bytes))
            })
            .map_err(|error| self.internal(&error.to_string()))?;
        let keeps = self.touch_operands(call, out, body.access)?;
        self.checks(call, body.checks)?;
        let target = self.address(out, view_of(out))?;
        let id = self.value(out)?.storage;
        let work = (&launches[..], operations, temporary_bytes);
        if self.lacks_any(call, &launches, &target) {
            let (reach, is_written) = self.written(out, keeps)?;
            self.device = Device::Cpu;
            self.lent(id, (&reach, is_written), |builder| {
                builder.launches(call, body, work)
            })?;
        } else {
            self.device = self.device_of(id);
            self.launches(call, body, work)?;
        }
        self.keep(out)
    }

    /// The launches of an op, which share a temporary of so many bytes.
    fn launches(
        &mut self,
        call: &Call,
        body: &KernelBody,
        (launches, operations, temporary_bytes): (&[Launch], u64, u64),
    ) -> Result<(), PlanError> {
        let first = self.plan.steps.len() as u32;
        self.temporary = (temporary_bytes > 0).then(|| self.buffer(temporary_bytes, first));
        for (index, launch) in launches.iter().enumerate() {
            // An op of several launches does its work in the last of them.
            let last = index + 1 == launches.len();
            let operations = if last { operations } else { 0 };
            // Params that are more than a flag say what `fill` writes.
            let fusible = body.is_elementwise() && launch.params.len() < 2;
            self.launch(call, launch, operations, fusible)?;
        }
        Ok(())
    }

    /// Keeps a result where it is up to the last step of its op, also where no launch has units.
    fn keep(&mut self, out: ValueId) -> Result<(), PlanError> {
        let view = self.layout.view(self.verified, out);
        let at = self.address(out, view)?;
        let last = self.plan.steps.len().saturating_sub(1) as u32;
        if at.space == Space::Buffer {
            let buffer = &mut self.plan.buffers[at.index as usize];
            buffer.last = buffer.last.max(last);
        }
        Ok(())
    }

    /// Gives the operands of an op their places. Says whether it reads what its result held.
    pub(super) fn touch_operands(
        &mut self,
        call: &Call,
        out: ValueId,
        access: Access,
    ) -> Result<bool, PlanError> {
        let target = self.value(out)?.storage;
        let out_param = call
            .def
            .params
            .iter()
            .position(|p| p.kind == ParamKind::Out);
        let mut reads_target = access == Access::Accumulate;
        for param in 0..call.values.len() {
            let Some(value) = call.value(param) else {
                continue;
            };
            if Some(param) == out_param {
                continue;
            }
            reads_target |= self.value(value)?.storage == target;
            self.touch(value, Touch::Read)?;
        }
        self.touch(
            out,
            if reads_target {
                Touch::Read
            } else {
                Touch::WriteAll
            },
        )?;
        Ok(reads_target)
    }

    pub(super) fn launch(
        &mut self,
        call: &Call,
        launch: &Launch,
        operations: u64,
        elementwise: bool,
    ) -> Result<(), PlanError> {
        let mut addresses = SmallVec::<[(Address, Reach); 6]>::new();
        let mut dtypes = SmallVec::<[DType; 6]>::new();
        let result = launch
            .operands
            .first()
            .and_then(|o| self.dtype_of(call, o.source));
        let result = result.ok_or_else(|| self.internal("a launch without a result"))?;
        let mut bytes = 0;
        for operand in &launch.operands {
            let dtype = self.dtype_of(call, operand.source).unwrap_or(result);
            let size = dtype.size_bytes() as i64;
            addresses.push(self.operand(call, operand, dtype)?);
            if operand.source != Source::Null {
                bytes += touched(&launch.dims, &operand.strides) * size as u64;
            }
            dtypes.push(dtype);
        }
        if launch.kernel == FUNCTION {
            return self.function(call, launch, &addresses, StepCost { operations, bytes });
        }
        let input = dtypes.get(1).copied().unwrap_or(result);
        if launch.units() == 0 {
            return Ok(());
        }
        let row = self.row(launch.kernel, input, result, self.side(&addresses[0].0))?;
        if launch.kernel == COPY_KERNEL && self.moved(launch, &addresses, result) {
            return Ok(());
        }
        self.stage(&mut addresses);
        let geometry = self.geometry(launch);
        let operands = addresses.iter().zip(&dtypes);
        let operands: Operands = operands.map(|(&(at, reach), &d)| (at, reach, d)).collect();
        let (prepared, blocks) = self.prepare(call, launch, (row, geometry), &operands);
        addresses.extend(blocks);
        let cost = StepCost { operations, bytes };
        let work = Work::Launch { row, prepared };
        self.push(work, geometry, &addresses, cost, launch.weight_ns());
        if elementwise {
            let sizes: SmallVec<[usize; 6]> = dtypes.iter().map(|d| d.size_bytes()).collect();
            self.may_fuse(&sizes);
        }
        Ok(())
    }

    /// A step that the caller's own code does.
    fn function(
        &mut self,
        call: &Call,
        launch: &Launch,
        addresses: &[(Address, Reach)],
        cost: StepCost,
    ) -> Result<(), PlanError> {
        let mut operands = Vec::with_capacity(launch.operands.len());
        for operand in &launch.operands {
            let Source::Param(param) = operand.source else {
                return Err(self.internal("a function's operand is no tensor"));
            };
            let value = call.value(param as usize);
            let value = value.ok_or_else(|| self.internal("no such operand"))?;
            let view = self.layout.view(self.verified, value).clone();
            operands.push((self.value(value)?.dtype, View { offset: 0, ..view }));
        }
        let [function, call_number, result] = [0, 1, 2].map(|i| launch.params.get(i).copied());
        let number = |of: Option<i64>| u32::try_from(of.unwrap_or_default()).unwrap_or_default();
        let planned = FunctionCall {
            function: number(function),
            call: number(call_number),
            result: number(result),
            operands,
        };
        let work = Work::Host(HostCall::Function(self.plan.calls.len() as u32));
        self.plan.calls.push(planned);
        let geometry = self.geometry(launch);
        let mut operands: SmallVec<[_; 6]> = addresses.into();
        for (address, reach) in &mut operands[1..] {
            *address = self.staged(*address, reach, Home::HOST);
        }
        let (target, reach) = operands[0];
        let side = self.side(&target);
        if side == Home::HOST {
            self.push(work, geometry, &operands, cost, cost.operations);
            return Ok(());
        }
        // The whole reach goes back: what lies between the elements comes along first.
        operands[0].0 = self.lend(target, &reach, false);
        self.push(work, geometry, &operands, cost, cost.operations);
        self.give_back(target, operands[0].0, &reach);
        Ok(())
    }

    /// Where an operand of a launch begins, and what may be touched of it.
    fn operand(
        &mut self,
        call: &Call,
        operand: &LaunchOperand,
        dtype: DType,
    ) -> Result<(Address, Reach), PlanError> {
        let offset = operand.offset * dtype.size_bytes() as i64;
        Ok(match operand.source {
            Source::Param(param) => {
                let value = call.value(param as usize);
                let value = value.ok_or_else(|| self.internal("no such operand"))?;
                let storage = self.value(value)?.storage;
                let view = self.layout.view(self.verified, value);
                let reach = Reach::of(view, operand.offset, dtype.size_bytes());
                (self.storage_address(storage, offset)?, reach)
            }
            Source::Int(value) => (self.pool_address(dtype, value), Reach::default()),
            Source::Temporary(_) => {
                let index = self
                    .temporary
                    .ok_or_else(|| self.internal("a launch without its temporary"))?;
                let bytes = self.plan.buffers[index as usize].bytes;
                let address = Address {
                    space: Space::Buffer,
                    index,
                    offset,
                };
                (address, Reach::whole(bytes, offset))
            }
            Source::Null => (Address::NULL, Reach::default()),
        })
    }

    pub(super) fn dtype_of(&self, call: &Call, source: Source) -> Option<DType> {
        match source {
            Source::Param(param) => {
                let value = call.value(param as usize)?;
                self.verified.value(value).map(|info| info.dtype)
            }
            Source::Temporary(dtype) => Some(dtype),
            _ => None,
        }
    }

    pub(super) fn row(
        &self,
        kernel: &'static str,
        input: DType,
        output: DType,
        side: Home,
    ) -> Result<&'static KernelRow, PlanError> {
        let driver = self.plan.driver(side);
        let found = driver.select(kernel, (input, output), self.plan.options.isa);
        found.ok_or_else(|| PlanError::NoKernel {
            step: self.origin,
            kernel: kernel.to_owned(),
            input,
            output,
        })
    }
}
