//! The tensors that a run reads in place: the program's own, and the inputs.

use crate::RunError;
use cloakwork_ir::{HostId, HostSlot, HostTensor};
use cloakwork_ops::elements;
use cloakwork_plan::{HostCall, Plan, Space, Work};
use std::collections::{BTreeSet, HashMap};

/// Tensors by host slot; none for what a run hands out.
pub type Hosts = Vec<Option<HostTensor>>;

/// The program's own tensors.
pub fn host_tensors_of_program(plan: &Plan) -> Hosts {
    let slots = &plan.verified.program().hosts;
    let data = |slot: &HostSlot| match slot {
        HostSlot::Data(tensor) => Some(tensor.clone()),
        _ => None,
    };
    slots.iter().map(data).collect()
}

/// The program's tensors and the run's inputs.
///
/// # Errors
/// An input is missing, not row-major, or not of the type named.
pub fn host_tensors(plan: &Plan, inputs: &HashMap<HostId, HostTensor>) -> Result<Hosts, RunError> {
    let mut hosts = host_tensors_of_program(plan);
    for (index, slot) in plan.verified.program().hosts.iter().enumerate() {
        let HostSlot::Input { name, ty } = slot else {
            continue;
        };
        let wrong = |got: String| RunError::Input {
            name: name.clone(),
            expected: format!("a row-major {ty}"),
            got,
        };
        let given = inputs
            .get(&HostId(index as u32))
            .ok_or_else(|| wrong("nothing".into()))?;
        if given.ty() != *ty {
            return Err(wrong(given.ty().to_string()));
        }
        if let Err(found) = elements::check_tensor(given) {
            return Err(wrong(found.to_string()));
        }
        if !given.view().is_contiguous() || given.view().offset != 0 {
            return Err(wrong("other strides".into()));
        }
        if let Some(host) = hosts.get_mut(index) {
            *host = Some(given.clone());
        }
    }
    own_indices(plan, &mut hosts)?;
    Ok(hosts)
}

/// Copies the inputs that say where kernels read and write: a caller's thread that writes them
/// during the run must not send kernels elsewhere after the check.
fn own_indices(plan: &Plan, hosts: &mut Hosts) -> Result<(), RunError> {
    let lent = plan.steps.iter().filter_map(|step| {
        let Work::Host(HostCall::Check(check)) = step.work else {
            return None;
        };
        let address = plan.addresses[step.first_address as usize];
        let guards = plan.checks[check as usize].rule.guards_memory();
        (guards && address.space == Space::Host).then_some(address.index)
    });
    for index in lent.collect::<BTreeSet<u32>>() {
        if let Some(Some(host)) = hosts.get_mut(index as usize) {
            let bytes = host.bytes().as_slice().to_vec();
            *host = HostTensor::new(host.dtype(), host.view().clone(), bytes.into())
                .map(HostTensor::sound)
                .map_err(|error| RunError::Internal(error.to_string()))?;
        }
    }
    Ok(())
}
