//! The results of a run, and their differences from the expected values.

use crate::exec::devices::Devices;
use crate::memory::{Block, into_bytes};
use crate::report::outcome::{Mismatch, Output};
use crate::{OnDevice, RunError};
use cloakwork_devices::DeviceMemory;
use cloakwork_ir::{HostSlot, HostTensor, View};
use cloakwork_kernels::{Difference, find_difference};
use cloakwork_plan::{Address, Download, Plan, Space};

/// Memory of a result.
pub enum Room {
    /// The host's.
    Here(Block),
    /// The memory of the device that keeps it.
    There(DeviceMemory),
}

impl Room {
    /// Its first byte.
    pub fn start(&self) -> *mut u8 {
        match self {
            Self::Here(block) => block.as_ptr(),
            Self::There(memory) => memory.address().cast(),
        }
    }
}

/// Results of a run: on the host, or on the device that keeps all of them.
#[derive(Default)]
pub struct Results {
    pub outputs: Vec<Output>,
    pub kept: Vec<OnDevice>,
}

/// Compares a download with the value that the program expects, bit for bit.
fn compare(plan: &Plan, (index, download): (usize, &Download), got: &Block) -> Option<Mismatch> {
    let program = plan.verified.program();
    let Some(HostSlot::Data(expected)) = program.host(download.host) else {
        return None;
    };
    let view = View::contiguous(download.ty.shape.clone());
    let difference = if expected.ty() == download.ty {
        let (bytes, wanted) = (got.as_slice(), expected.bytes().as_slice());
        let size_bytes = download.ty.dtype.size_bytes();
        find_difference(size_bytes, (bytes, &view), (wanted, expected.view()))?
    } else {
        Difference {
            first: 0,
            count: download.ty.shape.elements(),
        }
    };
    Some(Mismatch::new(
        plan,
        (index, download),
        &difference,
        got.as_slice(),
        expected,
    ))
}

/// Allocates memory for all downloads.
pub fn room_for_results(plan: &Plan, devices: &Devices) -> Result<Vec<Room>, RunError> {
    let arena = keeper_of(plan);
    // A download writes all of its block.
    let room = |download: &Download| match arena {
        None => Block::uninit(download.ty.size_bytes()).map(Room::Here),
        Some(arena) => devices
            .room(arena, download.ty.size_bytes())
            .map(Room::There),
    };
    plan.downloads.iter().map(room).collect()
}

/// The arena of the device that keeps the results; none if the host has them.
fn keeper_of(plan: &Plan) -> Option<u16> {
    let result = Address {
        space: Space::Output,
        index: 0,
        offset: 0,
    };
    plan.options
        .resident
        .outputs
        .map(|_| plan.arena_of(&result))
}

/// The downloads that differ from the expected values.
pub fn differences(plan: &Plan, outputs: &[Room]) -> Vec<Mismatch> {
    let results = plan.downloads.iter().enumerate().zip(outputs);
    let differs = |(download, room): (_, &Room)| match room {
        Room::Here(block) => compare(plan, download, block),
        // A device keeps the results of programs that name them.
        Room::There(_) => None,
    };
    results.filter_map(differs).collect()
}

/// The downloads as tensors over that memory.
pub fn hand_out(plan: &Plan, devices: &Devices, outputs: Vec<Room>) -> Result<Results, RunError> {
    let mut results = Results::default();
    for (download, room) in plan.downloads.iter().zip(outputs) {
        match (room, plan.options.resident.outputs, keeper_of(plan)) {
            (Room::Here(block), ..) => results.outputs.push(output(plan, download, block)?),
            (Room::There(memory), Some(device), Some(arena)) => {
                let open = devices.device(arena)?;
                let kept = OnDevice::of((device, open), memory, &download.ty);
                results.kept.push(kept);
            }
            (Room::There(_), ..) => {
                return Err(RunError::Internal("a result that no device keeps".into()));
            }
        }
    }
    Ok(results)
}

/// The downloads of the steps before this one, as [`hand_out`] returns them.
pub fn hand_out_before(
    plan: &Plan,
    outputs: Vec<Room>,
    step: u32,
) -> Result<Vec<Output>, RunError> {
    let results = plan.downloads.iter().zip(outputs);
    let early = results.filter(|(download, _)| plan.program_step(download.origin) < step);
    let here = early.filter_map(|(download, room)| match room {
        Room::Here(block) => Some(output(plan, download, block)),
        Room::There(_) => None,
    });
    here.collect()
}

fn output(plan: &Plan, download: &Download, block: Block) -> Result<Output, RunError> {
    let view = View::contiguous(download.ty.shape.clone());
    let tensor = HostTensor::new(download.ty.dtype, view, into_bytes(block))
        .map(HostTensor::sound)
        .map_err(|error| RunError::Internal(error.to_string()))?;
    let name = match plan.verified.program().host(download.host) {
        Some(HostSlot::Output { name }) => Some(name.clone()),
        _ => None,
    };
    Ok(Output {
        name,
        step: plan.program_step(download.origin),
        tensor,
    })
}
