//! Steps that compute: launches of a declaration with kernels chosen and constants arranged.

use super::constants::Operands;
use super::{Builder, Touch};
use crate::PlanError;
use crate::graph::Reach;
use crate::plan::{Address, Check, FunctionCall, Kind, Prepared, Space, StepCost};
use cloakwork_ir::{DType, View};
use cloakwork_kernels::{KernelRow, select};
use cloakwork_ops::{
    Access, Body, COPY_KERNEL, ContentCheck, FUNCTION, Launch, LaunchOperand, ParamKind, Source,
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
        self.touch_operands(call, out, body.access)?;
        self.checks(call, body.checks)?;
        self.device = self.storage(self.value(out)?.storage)?.device;
        let first = self.plan.steps.len() as u32;
        self.temporary = (temporary_bytes > 0).then(|| self.buffer(temporary_bytes, first));
        for launch in &launches {
            // An op of several launches does its work in the last of them.
            let last = std::ptr::eq(launch, launches.last().unwrap_or(launch));
            let operations = if last { operations } else { 0 };
            // Params that are more than a flag say what `fill` writes.
            let fusible = body.is_elementwise() && launch.params.len() < 2;
            self.launch(call, launch, operations, fusible)?;
        }
        Ok(())
    }

    pub(super) fn touch_operands(
        &mut self,
        call: &Call,
        out: ValueId,
        access: Access,
    ) -> Result<(), PlanError> {
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
        )
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
        let row = self.row(launch.kernel, input, result)?;
        if launch.units() == 0 {
            return Ok(());
        }
        let geometry = self.geometry(launch);
        let operands: Operands = addresses
            .iter()
            .map(|operand| operand.0)
            .zip(dtypes.iter().copied())
            .collect();
        let prepared = self.prepare(call, launch, (row, geometry), &operands);
        let cost = StepCost { operations, bytes };
        self.push(
            row,
            geometry,
            &addresses,
            prepared,
            cost,
            launch.weight_ns(),
        );
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
        let row = self.row(COPY_KERNEL, DType::U8, DType::U8)?;
        let geometry = self.geometry(launch);
        self.push(
            row,
            geometry,
            addresses,
            Prepared::None,
            cost,
            cost.operations,
        );
        let kind = Kind::Function(self.plan.calls.len() as u32);
        self.plan.calls.push(planned);
        if let Some(step) = self.plan.steps.last_mut() {
            step.kind = kind;
        }
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
    ) -> Result<&'static KernelRow, PlanError> {
        select(kernel, input, output, self.plan.options.isa).ok_or_else(|| PlanError::NoKernel {
            step: self.origin,
            kernel: kernel.to_owned(),
            input,
            output,
        })
    }

    pub(super) fn checks(
        &mut self,
        call: &Call,
        rules: &'static [ContentCheck],
    ) -> Result<(), PlanError> {
        for rule in rules {
            let Some(param) = call.def.param(rule.operand()) else {
                continue;
            };
            let Some(value) = call.value(param) else {
                continue;
            };
            if call.is_constant(param) {
                continue;
            }
            let (layout, verified) = (self.layout, self.verified);
            let bound = verified
                .with_views(call, |v| layout.view(verified, v), |args| rule.bound(args))
                .map_err(|error| self.internal(&error.to_string()))?;
            let Some(bound) = bound else { continue };
            let view = layout.view(verified, value).clone();
            let address = self.address(value, &view)?;
            let before = self.plan.steps.len() as u32;
            if address.space == Space::Buffer {
                // Also where no step of this call follows, as for a result without elements.
                let buffer = &mut self.plan.buffers[address.index as usize];
                buffer.last = buffer.last.max(before);
            }
            self.plan.checks.push(Check {
                before,
                origin: self.origin,
                rule: *rule,
                address,
                dtype: self.value(value)?.dtype,
                view,
                bound,
            });
        }
        Ok(())
    }
}

/// Elements that an operand touches: dimensions of stride zero count once.
fn touched(dims: &[i64], strides: &[i64]) -> u64 {
    let moving = dims.iter().zip(strides).filter(|&(_, &stride)| stride != 0);
    moving.map(|(&dim, _)| dim as u64).product()
}
