//! The results of a run, and their differences from the expected values.

use crate::RunError;
use crate::memory::{Block, into_bytes};
use crate::report::outcome::{Mismatch, Output};
use cloakwork_ir::{HostSlot, HostTensor, View};
use cloakwork_kernels::{Difference, find_difference};
use cloakwork_plan::{Download, Plan};

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
pub fn room_for_results(plan: &Plan) -> Result<Vec<Block>, RunError> {
    // A download writes all of its block.
    let room = |download: &Download| Block::uninit(download.ty.size_bytes());
    plan.downloads.iter().map(room).collect()
}

/// The downloads that differ from the expected values.
pub fn differences(plan: &Plan, outputs: &[Block]) -> Vec<Mismatch> {
    let results = plan.downloads.iter().enumerate().zip(outputs);
    results
        .filter_map(|(download, block)| compare(plan, download, block))
        .collect()
}

/// The downloads as tensors over that memory.
pub fn hand_out(plan: &Plan, outputs: Vec<Block>) -> Result<Vec<Output>, RunError> {
    let results = plan.downloads.iter().zip(outputs);
    results
        .map(|(download, block)| output(plan, download, block))
        .collect()
}

/// The downloads of the steps before this one, as [`hand_out`] returns them.
pub fn hand_out_before(
    plan: &Plan,
    outputs: Vec<Block>,
    step: u32,
) -> Result<Vec<Output>, RunError> {
    let results = plan.downloads.iter().zip(outputs);
    results
        .filter(|(download, _)| plan.program_step(download.origin) < step)
        .map(|(download, block)| output(plan, download, block))
        .collect()
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
