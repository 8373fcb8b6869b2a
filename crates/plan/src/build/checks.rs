//! Steps that check contents which only a run knows.

use super::Builder;
use crate::PlanError;
use crate::graph::Reach;
use crate::plan::{Address, Check, Geometry, Home, Plan, Prepared, Space, StepCost, Work};
use cloakwork_ir::{DType, View};
use cloakwork_ops::{Checking, ContentCheck};
use cloakwork_verify::{Call, ValueId};

/// Bytes of a status word.
const STATUS_BYTES: u64 = size_of::<u64>() as u64;

/// Gives the devices that check contents room for the status words.
pub(super) fn assign(plan: &mut Plan) {
    let bytes = STATUS_BYTES * plan.checks.len() as u64;
    for check in plan.checks.iter().filter(|check| check.arena > 0) {
        plan.arenas[check.arena as usize].status_bytes = bytes;
    }
}

impl Builder<'_> {
    /// The checks that a call makes of its operands before its launches.
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
            if let Some(bound) = bound {
                self.check(value, *rule, bound)?;
            }
        }
        Ok(())
    }

    /// A launch that writes a status word where the operand lies, or on the host if the device has
    /// no such kernel; and a step that reads the word.
    fn check(&mut self, value: ValueId, rule: ContentCheck, bound: i64) -> Result<(), PlanError> {
        let view = self.layout.view(self.verified, value).clone();
        let dtype = self.value(value)?.dtype;
        let Some(Checking {
            launch,
            dtype: component,
            weight_ns,
        }) = rule.launch(bound, dtype, &view)
        else {
            return Ok(());
        };
        let address = self.address(value, &view)?;
        let read = rule.telling(&view);
        let reach = Reach::of(&read, read.offset, dtype.size_bytes());
        let types = [component, DType::U64];
        let side = match self.lacks(launch.kernel, types, &address) {
            true => Home::HOST,
            false => self.side(&address),
        };
        let at = self.staged(address, &reach, side);
        let row = self.row(launch.kernel, types[0], types[1], side)?;
        let index = self.plan.checks.len() as u32;
        let arena = self.arena_of(&at);
        self.plan.checks.push(Check {
            rule,
            dtype,
            view: View { offset: 0, ..view },
            bound,
            arena,
        });
        let status = Address {
            space: Space::Status,
            index,
            offset: 0,
        };
        let operands = [(status, Reach::whole(STATUS_BYTES, 0)), (at, reach)];
        let elements = read.shape.elements();
        let cost = StepCost {
            operations: elements,
            bytes: elements * dtype.size_bytes() as u64 + STATUS_BYTES,
        };
        let geometry = self.geometry(&launch);
        let prepared = Prepared::None;
        let work = Work::Launch { row, prepared };
        self.push(work, geometry, &operands, cost, weight_ns);
        let geometry = self.intern(Geometry::of_bytes(STATUS_BYTES, 2));
        let cost = StepCost {
            operations: 0,
            bytes: STATUS_BYTES,
        };
        self.push(Work::Check(index), geometry, &operands, cost, 0);
        Ok(())
    }
}
