//! Inputs and results that lie in the memory of a device before and after a run.

use crate::plan::{Address, Space};
use cloakwork_ir::{Device, HostId};

/// Tensors of a run that devices hold: they are not moved for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Resident {
    /// The inputs that a device holds, row-major, in order of their slots.
    pub inputs: Vec<(HostId, Device)>,
    /// The device that keeps all results.
    pub outputs: Option<Device>,
}

impl Resident {
    /// The device of an input; none if the host holds it.
    #[must_use]
    pub fn input(&self, slot: HostId) -> Option<Device> {
        let found = self
            .inputs
            .binary_search_by_key(&slot.0, |(known, _)| known.0);
        found.ok().map(|at| self.inputs[at].1)
    }

    /// The device that holds the memory of an address, if that is such an input or result.
    pub(crate) fn device(&self, address: &Address) -> Option<Device> {
        match address.space {
            Space::Host => self.input(HostId(address.index)),
            Space::Output => self.outputs,
            _ => None,
        }
    }

    /// All devices that hold tensors of the run.
    pub fn devices(&self) -> impl Iterator<Item = Device> {
        let inputs = self.inputs.iter().map(|(_, device)| *device);
        inputs.chain(self.outputs)
    }
}
