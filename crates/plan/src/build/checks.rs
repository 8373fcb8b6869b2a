//! Steps that check contents which only a run knows.

use super::Builder;
use crate::PlanError;
use crate::graph::Reach;
use crate::plan::{Address, Check, Geometry, Home, HostCall, Prepared, StepCost, Way, Work};
use cloakwork_ir::DType;
use cloakwork_kernels::KernelRow;
use cloakwork_ops::{ContentCheck, EXTREME_KERNELS};
use cloakwork_verify::{Call, ValueId};

/// Bytes of the least and the greatest element.
const EXTREMES_BYTES: u64 = 16;

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

    fn check(&mut self, value: ValueId, rule: ContentCheck, bound: i64) -> Result<(), PlanError> {
        let view = self.layout.view(self.verified, value).clone();
        let address = self.address(value, &view)?;
        let dtype = self.value(value)?.dtype;
        let elements = view.shape.elements();
        let bytes = elements * dtype.size_bytes() as u64;
        let reach = Reach::of(&view, view.offset, dtype.size_bytes());
        let dense = elements > 0 && reach.bytes() == bytes;
        let rows = match dense && rule.is_about_extremes() && dtype == DType::I64 {
            true => self.extreme_rows(&address),
            false => None,
        };
        let work = Work::Host(HostCall::Check(self.plan.checks.len() as u32));
        self.plan.checks.push(Check {
            rule,
            dtype,
            view,
            bound,
            by_extremes: rows.is_some(),
        });
        let operations = 0;
        let Some(rows) = rows else {
            let here = self.staged(address, &reach, Home::HOST);
            let geometry = self.intern(Geometry::of_bytes(bytes, 1));
            let cost = StepCost { operations, bytes };
            self.push(work, geometry, &[(here, reach)], cost, 0);
            return Ok(());
        };
        let start = Address {
            offset: address.offset + reach.low(),
            ..address
        };
        let extremes = self.extremes(start, rows, elements);
        let geometry = self.intern(Geometry::of_bytes(EXTREMES_BYTES, 2));
        let bytes = EXTREMES_BYTES;
        // Where the host has to look at the elements, it waits for all that the device does.
        let operands = [
            (extremes, Reach::whole(bytes, 0)),
            (address, Reach::default()),
        ];
        self.push(work, geometry, &operands, StepCost { operations, bytes }, 0);
        Ok(())
    }

    /// The kernels by which a device finds the least and the greatest element of what lies there;
    /// none on the host, or where it lacks one.
    fn extreme_rows(&self, address: &Address) -> Option<[&'static KernelRow; 2]> {
        let side = self.side(address);
        let row = |kernel| self.plan.kernel(side, kernel, [DType::I64; 2]);
        let [least, greatest] = EXTREME_KERNELS.map(row);
        (side != Home::HOST).then_some([least?, greatest?])
    }

    /// Launches that find the least and the greatest of dense elements on a device, and a transfer
    /// of both to the host.
    fn extremes(
        &mut self,
        start: Address,
        rows: [&'static KernelRow; 2],
        elements: u64,
    ) -> Address {
        let there = self.buffer_at(self.side(&start), EXTREMES_BYTES);
        // One unit reduces the one axis.
        let geometry = self.intern(Geometry {
            dims: [elements as i64].into(),
            split: 0,
            operands: 2,
            strides: [0, 1].into(),
            params: [1].into(),
        });
        let word = size_of::<i64>() as u64;
        let cost = StepCost {
            operations: elements,
            bytes: (elements + 1) * word,
        };
        for (place, row) in (0..).zip(rows) {
            let result = Address {
                offset: place * word as i64,
                ..Address::of_buffer(there)
            };
            let reach = Reach::whole(elements * word, 0);
            let operands = [(result, Reach::whole(word, 0)), (start, reach)];
            let prepared = Prepared::None;
            self.push(Work::Launch { row, prepared }, geometry, &operands, cost, 0);
        }
        let here = Address::of_buffer(self.buffer_at(Home::HOST, EXTREMES_BYTES));
        let operands = [here, Address::of_buffer(there)];
        self.transfer(Way::Download, operands, EXTREMES_BYTES);
        here
    }
}
