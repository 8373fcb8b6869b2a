//! The tensors that a run reads in place: those of the program, and the inputs.

use crate::OnDevice;
use crate::RunError;
use crate::memory::{Block, into_bytes};
use cloakwork_ir::{Device, HostId, HostSlot, HostTensor};
use cloakwork_ops::elements;
use cloakwork_plan::{Plan, Space, Work};
use smallvec::{Array, SmallVec};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The input tensors of a run, by host slot.
pub trait Inputs {
    /// The tensor for a slot.
    fn input(&self, slot: HostId) -> Option<&HostTensor>;

    /// The tensor for a slot that a device holds.
    fn on_device(&self, _slot: HostId) -> Option<&Arc<OnDevice>> {
        None
    }
}

impl Inputs for HashMap<HostId, HostTensor> {
    fn input(&self, slot: HostId) -> Option<&HostTensor> {
        self.get(&slot)
    }
}

/// Sorted by slot.
impl<A: Array<Item = (HostId, HostTensor)>> Inputs for SmallVec<A> {
    fn input(&self, slot: HostId) -> Option<&HostTensor> {
        let found = self.binary_search_by_key(&slot.0, |(known, _)| known.0);
        found.ok().map(|at| &self[at].1)
    }
}

/// Tensors that replace the contents of slots, sorted by slot.
pub type Given = SmallVec<[(u32, GivenTensor); 4]>;

/// A tensor that a run reads where it is.
pub enum GivenTensor {
    /// In the host's memory.
    Here(HostTensor),
    /// In a device's.
    There(Arc<OnDevice>),
}

impl GivenTensor {
    /// Its first byte.
    pub fn start(&self) -> *const u8 {
        match self {
            Self::Here(tensor) => tensor.bytes().as_slice().as_ptr(),
            Self::There(tensor) => tensor.address().cast_const().cast(),
        }
    }
}

/// The tensors of all host slots.
#[derive(Clone, Copy)]
pub struct Hosts<'a> {
    slots: &'a [HostSlot],
    pub given: &'a [(u32, GivenTensor)],
}

impl<'a> Hosts<'a> {
    /// The plan's tensors, and the tensors given to a run.
    pub fn of(plan: &'a Plan, given: &'a [(u32, GivenTensor)]) -> Self {
        let slots = &plan.verified.program().hosts;
        Self { slots, given }
    }

    /// The index of a slot among the given tensors: the same in all runs of a plan.
    pub fn place(&self, slot: u32) -> Option<u32> {
        let found = self.given.binary_search_by_key(&slot, |(known, _)| *known);
        found.ok().map(|at| at as u32)
    }

    /// The first byte of a slot's tensor; `None` for a result, and for an input before a run.
    pub fn start(&self, slot: u32) -> Option<*const u8> {
        match self.place(slot) {
            Some(at) => Some(self.given[at as usize].1.start()),
            None => Some(self.data(slot)?.bytes().as_slice().as_ptr()),
        }
    }

    /// The tensor of a slot that is part of the program.
    pub fn data(&self, slot: u32) -> Option<&HostTensor> {
        match self.slots.get(slot as usize) {
            Some(HostSlot::Data(tensor)) => Some(tensor),
            _ => None,
        }
    }
}

/// The slots for which each run of a plan has its own tensor.
pub struct HostSlots {
    /// The inputs.
    inputs: Vec<u32>,
    /// Indices that decide where kernels read and write. Those that are part of the program were
    /// checked by the verifier and never change.
    indices: BTreeSet<u32>,
}

impl HostSlots {
    pub fn of(plan: &Plan) -> Self {
        let slots = (0u32..).zip(&plan.verified.program().hosts);
        let inputs = slots.filter_map(|(index, slot)| match slot {
            HostSlot::Input { .. } => Some(index),
            _ => None,
        });
        Self {
            inputs: inputs.collect(),
            indices: slots_of_indices(plan),
        }
    }

    /// The tensors of a run.
    ///
    /// # Errors
    /// An input is missing, not row-major, or of another type than named.
    pub fn given(&self, plan: &Plan, inputs: &dyn Inputs) -> Result<Given, RunError> {
        let mut given = Given::new();
        for &slot in &self.inputs {
            if let Some(device) = plan.options.resident.input(HostId(slot)) {
                let tensor = resident(plan, (slot, device), inputs)?;
                given.push((slot, GivenTensor::There(Arc::clone(tensor))));
                continue;
            }
            let tensor = input(plan, slot, inputs)?;
            let own = match self.indices.contains(&slot) {
                true => copy(tensor)?,
                false => tensor.clone(),
            };
            given.push((slot, GivenTensor::Here(own)));
        }
        Ok(given)
    }
}

/// The input for a slot that the plan finds on a device.
fn resident<'a>(
    plan: &Plan,
    (slot, device): (u32, Device),
    inputs: &'a dyn Inputs,
) -> Result<&'a Arc<OnDevice>, RunError> {
    let Some(HostSlot::Input { name, ty }) = plan.verified.program().host(HostId(slot)) else {
        return Err(RunError::Internal(format!("slot {slot} is no input")));
    };
    let wrong = |got: String| RunError::Input {
        name: name.clone(),
        expected: format!("a {ty} on {device}"),
        got,
    };
    let given = inputs.on_device(HostId(slot));
    let given = given.ok_or_else(|| wrong("a tensor of the host".into()))?;
    if (given.dtype(), &given.view().shape, given.device()) != (ty.dtype, &ty.shape, device) {
        return Err(wrong(format!("{} on {}", given.ty(), given.device())));
    }
    given.here()?;
    Ok(given)
}

/// The input for a slot.
fn input<'a>(plan: &Plan, slot: u32, inputs: &'a dyn Inputs) -> Result<&'a HostTensor, RunError> {
    let Some(HostSlot::Input { name, ty }) = plan.verified.program().host(HostId(slot)) else {
        return Err(RunError::Internal(format!("slot {slot} is no input")));
    };
    let wrong = |got: String| RunError::Input {
        name: name.clone(),
        expected: format!("a row-major {ty}"),
        got,
    };
    let given = inputs.input(HostId(slot));
    let given = given.ok_or_else(|| wrong("nothing".into()))?;
    if (given.dtype(), &given.view().shape) != (ty.dtype, &ty.shape) {
        return Err(wrong(given.ty().to_string()));
    }
    if let Err(found) = elements::check_tensor(given) {
        return Err(wrong(found.to_string()));
    }
    if !given.view().is_contiguous() || given.view().offset != 0 {
        return Err(wrong("other strides".into()));
    }
    Ok(given)
}

/// The slots of indices that decide where kernels read and write. Another thread of the caller
/// could change them after the check, so a run reads copies.
fn slots_of_indices(plan: &Plan) -> BTreeSet<u32> {
    let lent = plan.steps.iter().filter_map(|step| {
        let Work::Check(check) = step.work else {
            return None;
        };
        let address = plan.addresses[step.first_address as usize + 1];
        let guards = plan.checks[check as usize].rule.guards_memory();
        (guards && address.space == Space::Host).then_some(address.index)
    });
    lent.collect()
}

fn copy(tensor: &HostTensor) -> Result<HostTensor, RunError> {
    let bytes = tensor.bytes().as_slice();
    let block = Block::uninit(bytes.len() as u64)?;
    // SAFETY: the block has the same number of bytes and is not shared yet.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), block.as_ptr(), bytes.len()) };
    HostTensor::new(tensor.dtype(), tensor.view().clone(), into_bytes(block))
        .map(HostTensor::sound)
        .map_err(|error| RunError::Internal(error.to_string()))
}
