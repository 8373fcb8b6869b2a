//! Steps that compute: launches of a declaration with kernels chosen and constants arranged.

use super::calls::{Made, MadeLaunch};
use super::constants::Operands;
use super::{Builder, Touch};
use crate::PlanError;
use crate::graph::Reach;
use crate::plan::{Address, FunctionCall, Home, Space, StepCost, Work};
use cloakwork_ir::{DType, Device, View};
use cloakwork_kernels::KernelRow;
use cloakwork_ops::{Access, Body, COPY_KERNEL, FUNCTION, Launch, LaunchOperand, Source};
use cloakwork_verify::{Call, ValueId};
use smallvec::SmallVec;

impl<'a> Builder<'a> {
    pub(super) fn kernel(&mut self, call: &Call, out: ValueId) -> Result<(), PlanError> {
        let Body::Kernel(body) = &call.def.body else {
            return Err(self.internal("a kernel action whose op has no kernel"));
        };
        let made = self.made(call, body)?;
        let keeps = self.touch_operands(call, out, body.access)?;
        self.checks(call, body.checks)?;
        let id = self.value(out)?.storage;
        if self.lacks_any(&made, id)? {
            let (reach, is_written) = self.written(out, keeps)?;
            self.device = Device::Cpu;
            self.lent(id, (&reach, is_written), |builder| {
                builder.launches(call, &made)
            })?;
        } else {
            self.device = self.device_of(id);
            self.launches(call, &made)?;
        }
        self.keep(out)
    }

    /// The launches of an op.
    fn launches(&mut self, call: &Call, made: &Made) -> Result<(), PlanError> {
        let (bytes, first) = (made.temporary_bytes, self.plan.steps.len() as u32);
        self.temporary = (bytes > 0).then(|| self.buffer(bytes, first));
        let last = made.launches.len().saturating_sub(1);
        for (index, launch) in made.launches.iter().enumerate() {
            // An op of several launches attributes its work to the last one.
            let operations = if index == last { made.operations } else { 0 };
            self.launch(call, launch, operations)?;
        }
        Ok(())
    }

    /// Keeps the result's buffer live up to the last step of its op, even if no launch has units.
    fn keep(&mut self, out: ValueId) -> Result<(), PlanError> {
        let view = self.layout.view(self.verified, out);
        let at = self.address(out, view)?;
        let last = self.plan.steps.len().saturating_sub(1) as u32;
        if at.space == Space::Buffer {
            let life = &mut self.plan.buffers[at.index as usize].life;
            life.last = life.last.max(last);
        }
        Ok(())
    }

    /// Places the operands of an op. Returns whether the op reads the previous contents of its
    /// result.
    pub(super) fn touch_operands(
        &mut self,
        call: &Call,
        out: ValueId,
        access: Access,
    ) -> Result<bool, PlanError> {
        let target = self.value(out)?.storage;
        let out_param = call.def.out();
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

    fn launch(&mut self, call: &Call, made: &MadeLaunch, operations: u64) -> Result<(), PlanError> {
        let MadeLaunch {
            ref launch,
            ref dtypes,
            bytes,
            ..
        } = *made;
        let mut addresses = SmallVec::<[(Address, Reach); 6]>::new();
        for (index, operand) in launch.operands.iter().enumerate() {
            let (dtype, reach) = (dtypes[index], made.reaches[index]);
            addresses.push(self.operand(call, operand, (dtype, reach))?);
        }
        if launch.kernel == FUNCTION {
            return self.function(call, launch, &addresses, StepCost { operations, bytes });
        }
        if launch.units() == 0 {
            return Ok(());
        }
        let row = self.row_of(made, self.side(&addresses[0].0))?;
        if launch.kernel == COPY_KERNEL && self.moved(launch, &addresses, dtypes[0]) {
            return Ok(());
        }
        self.stage(&mut addresses);
        let with_row = self.with_row(made, row);
        let operands = addresses.iter().zip(dtypes);
        let operands: Operands = operands.map(|(&(at, reach), &d)| (at, reach, d)).collect();
        let (prepared, blocks) = self.prepare(call, launch, &with_row, &operands);
        addresses.extend(blocks);
        let cost = StepCost { operations, bytes };
        let work = Work::Launch { row, prepared };
        let geometry = with_row.geometry;
        self.push(work, geometry, &addresses, cost, launch.weight_ns());
        self.may_fuse(with_row.candidate);
        Ok(())
    }

    /// A step that calls the caller's function.
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
        let work = Work::Function(self.plan.calls.len() as u32);
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
        // The whole reach is written back, so the bytes between the elements are copied first.
        operands[0].0 = self.lend(target, &reach, false);
        self.push(work, geometry, &operands, cost, cost.operations);
        self.give_back(target, operands[0].0, &reach);
        Ok(())
    }

    /// The address of an operand of a launch, and the bytes that may be touched.
    fn operand(
        &mut self,
        call: &Call,
        operand: &LaunchOperand,
        (dtype, reach): (DType, Reach),
    ) -> Result<(Address, Reach), PlanError> {
        let offset = operand.offset * dtype.size_bytes() as i64;
        Ok(match operand.source {
            Source::Param(param) => {
                let value = call.value(param as usize);
                let value = value.ok_or_else(|| self.internal("no such operand"))?;
                let storage = self.value(value)?.storage;
                (self.storage_address(storage, offset)?, reach)
            }
            Source::Int { value, .. } => (self.pool_address(dtype, value), Reach::default()),
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

    pub(super) fn row(
        &self,
        kernel: &'static str,
        input: DType,
        output: DType,
        side: Home,
    ) -> Result<&'static KernelRow, PlanError> {
        let found = self.plan.kernel(side, kernel, [input, output]);
        found.ok_or_else(|| PlanError::NoKernel {
            step: self.origin,
            kernel: kernel.to_owned(),
            input,
            output,
        })
    }
}
