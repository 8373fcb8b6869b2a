//! Brings operands to the side on which the step that reads them runs. Transfers are inserted only
//! where needed.
//!
//! A step runs where its result lies. Devices without a driver share the host's memory; a device
//! with a driver reads only its own. Memory that no run changes is uploaded once for each plan, but
//! for streamed constants; an input once for each run, and all other memory before the step that
//! reads it.

use super::Builder;
use super::reached::Reached;
use crate::arena;
use crate::graph::Reach;
use crate::plan::{Address, Constant, Geometry, Home, Space, StepCost, Way, Work};
use cloakwork_ir::{DType, Device, HostId, HostSlot};
use cloakwork_ops::Launch;
use std::ops::Range;

impl Builder<'_> {
    /// The memory of an address if the host cannot reach it; else the host's memory.
    pub(super) fn side(&self, address: &Address) -> Home {
        if self.placement.is_here() {
            return Home::HOST;
        }
        let home = self.plan.home_of(address);
        match self.plan.is_away(home) {
            true => home,
            false => Home::HOST,
        }
    }

    /// Brings the operands of a step to the side of its result.
    pub(super) fn stage(&mut self, operands: &mut [(Address, Reach)]) {
        let Some((first, _)) = operands.first() else {
            return;
        };
        let side = self.side(first);
        for (address, reach) in &mut operands[1..] {
            *address = self.staged(*address, reach, side);
        }
    }

    /// An operand on a side: its own address, or that of a copy there.
    pub(super) fn staged(&mut self, at: Address, reach: &Reach, side: Home) -> Address {
        let own = self.side(&at);
        if own == side || matches!(at.space, Space::Null | Space::Slot) {
            return at;
        }
        let low = at.offset + reach.low();
        let bytes = low..low + reach.bytes() as i64;
        if let Some((buffer, start)) = self.copy_of(&at, &bytes, side) {
            return Address {
                offset: at.offset - start,
                ..Address::of_buffer(buffer)
            };
        }
        if let (Home::Device(device), Home::HOST) = (side, own)
            && let Some(address) = self.uploaded_once(at, reach, device)
        {
            return address;
        }
        // A transfer from one device to another goes through the host.
        let here = if side != Home::HOST && own != Home::HOST {
            self.staged(at, reach, Home::HOST)
        } else {
            at
        };
        let buffer = self.buffer_at(side, reach.bytes());
        let source = Address {
            offset: here.offset + reach.low(),
            ..here
        };
        let way = if side == Home::HOST {
            Way::Download
        } else {
            Way::Upload
        };
        self.transfer(way, [Address::of_buffer(buffer), source], reach.bytes());
        self.note_copy(&at, bytes, (side, buffer));
        Address {
            offset: -reach.low(),
            ..Address::of_buffer(buffer)
        }
    }

    /// The bytes that steps read of a memory that no step writes, on a device: a constant, or a
    /// buffer for an input.
    fn uploaded_once(&mut self, at: Address, reach: &Reach, device: Device) -> Option<Address> {
        let low = at.offset + reach.low();
        let wanted = low..low + reach.bytes() as i64;
        let range = match at.space {
            Space::Pool => 0..size_of::<i64>() as i64,
            Space::Constant => 0..self.plan.constants[at.index as usize].bytes as i64,
            Space::Host => {
                let host = HostId(at.index);
                let around = self
                    .known_reached()
                    .around((host, device), &wanted)
                    .unwrap_or(wanted);
                match self.verified.program().host(host)? {
                    HostSlot::Data(_) if self.streamed.contains(&host) => {
                        return Some(self.stream(at, around, device));
                    }
                    HostSlot::Data(_) => around,
                    HostSlot::Input { .. } => return Some(self.input(at, around, device)),
                    HostSlot::Output { .. } => return None,
                }
            }
            Space::Buffer | Space::Output | Space::Status | Space::Slot | Space::Null => {
                return None;
            }
        };
        let bytes = (range.end - range.start) as u64;
        let offset = range.start;
        let constant = Constant {
            work: Work::Transfer(Way::Upload),
            geometry: self.intern(Geometry::of_bytes(bytes, 2)),
            operands: [Address { offset, ..at }].into(),
            bytes,
            arena: arena::of(&mut self.plan.arenas, Home::Device(device)),
            offset: 0,
        };
        let index = self.constant(constant);
        Some(Address {
            space: Space::Constant,
            index,
            offset: at.offset - offset,
        })
    }

    fn known_reached(&mut self) -> &Reached {
        if self.reached.is_none() {
            self.reached = Some(self.reached());
        }
        self.reached.get_or_insert_default()
    }

    /// Bytes of an input of the run on a device, kept for later steps.
    pub(super) fn input(&mut self, at: Address, range: Range<i64>, device: Device) -> Address {
        let (side, offset) = (Home::Device(device), range.start);
        let bytes = (range.end - range.start) as u64;
        let buffer = self.buffer_at(side, bytes);
        let start = Address { offset, ..at };
        self.transfer(Way::Upload, [Address::of_buffer(buffer), start], bytes);
        self.note_copy(&at, range, (side, buffer));
        Address {
            offset: at.offset - offset,
            ..Address::of_buffer(buffer)
        }
    }

    /// Makes a copy a transfer, if it goes from one memory to another and both have the same bytes
    /// in the same order without gaps. Bytes that an earlier transfer brought to the host are
    /// copied. A transfer from one device to another goes through the host.
    pub(super) fn moved(
        &mut self,
        launch: &Launch,
        operands: &[(Address, Reach)],
        dtype: DType,
    ) -> bool {
        let ([to, from], [(there, reach), (here, source)]) = (&launch.operands[..], operands)
        else {
            return false;
        };
        let way = match (self.side(there), self.side(here)) {
            (there, here) if there == here => return false,
            (Home::HOST, _) => Way::Download,
            _ => Way::Upload,
        };
        let bytes = launch.units() * dtype.size_bytes() as u64;
        let dense = reach.bytes() == bytes && source.bytes() == bytes;
        if bytes == 0 || !dense || to.strides != from.strides {
            return false;
        }
        let start = |at: &Address, reach: &Reach| Address {
            offset: at.offset + reach.low(),
            ..*at
        };
        let here = match way {
            Way::Upload => self.staged(*here, source, Home::HOST),
            _ => *here,
        };
        let from = start(&here, source);
        let range = from.offset..from.offset + bytes as i64;
        if way == Way::Download && self.copy_of(&from, &range, Home::HOST).is_some() {
            return false;
        }
        self.transfer(way, [start(there, reach), from], bytes);
        true
    }

    /// A buffer in the memory of a side.
    pub(super) fn buffer_at(&mut self, side: Home, bytes: u64) -> u32 {
        let before = self.device;
        if let Home::Device(device) = side {
            self.device = device;
        }
        let buffer = self.buffer(bytes, self.plan.steps.len() as u32);
        self.device = before;
        buffer
    }

    /// A step that moves bytes between the host and a device.
    pub(super) fn transfer(&mut self, way: Way, operands: [Address; 2], bytes: u64) {
        let device = operands[usize::from(way == Way::Download)];
        let weight_ns = way.ns(self.plan.driver(self.plan.home_of(&device)), bytes);
        let geometry = self.intern(Geometry::of_bytes(bytes, 2));
        let operands = operands.map(|at| (at, Reach::whole(bytes, 0)));
        let cost = StepCost {
            operations: 0,
            bytes,
        };
        self.push_weighed(Work::Transfer(way), geometry, &operands, (cost, weight_ns));
    }
}
