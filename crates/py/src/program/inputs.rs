//! A program's inputs: their order, their slots, and the tensors that a run is given for them.

use super::Program;
use crate::contents::row_major;
use crate::errors;
use crate::tensor::{Elements, Inner, Tensor};
use cloakwork_ir::{Device, HostId, HostSlot, HostTensor, Type};
use cloakwork_plan::Resident;
use cloakwork_run::{Inputs, OnDevice};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

/// An input of a program.
pub(super) struct Input {
    pub name: String,
    pub ty: Type,
    /// Each of its uploads has one.
    pub slots: Vec<HostId>,
}

/// Tensors by slot, in the order of slots.
pub(super) type Matching = SmallVec<[(HostId, HostTensor); 4]>;

/// Tensors by slot: of the host, and of devices.
#[derive(Default)]
pub struct Given {
    here: HashMap<HostId, HostTensor>,
    away: HashMap<HostId, Arc<OnDevice>>,
}

impl Inputs for Given {
    fn input(&self, slot: HostId) -> Option<&HostTensor> {
        self.here.get(&slot)
    }

    fn on_device(&self, slot: HostId) -> Option<&Arc<OnDevice>> {
        self.away.get(&slot)
    }
}

impl Program {
    /// The inputs in the order of their first upload.
    pub(super) fn inputs(&self) -> &[Input] {
        self.inputs.get_or_init(|| {
            let mut places: HashMap<&str, usize> = HashMap::new();
            let mut inputs: Vec<Input> = Vec::new();
            for (index, slot) in (0..).map(HostId).zip(&self.program.hosts) {
                let HostSlot::Input { name, ty } = slot else {
                    continue;
                };
                let place = *places.entry(name).or_insert(inputs.len());
                match inputs.get_mut(place) {
                    Some(input) => input.slots.push(index),
                    None => inputs.push(Input {
                        name: name.clone(),
                        ty: ty.clone(),
                        slots: vec![index],
                    }),
                }
            }
            inputs
        })
    }

    /// Tensors for inputs that are called in0, in1, ... in the order of their names, for a run on a
    /// device, which keeps its results or not; and those that the device holds.
    pub fn bound_by_name(
        &self,
        tensors: &[Inner],
        on: Device,
        keeps: bool,
    ) -> PyResult<(Given, Resident)> {
        let inputs = self.inputs().iter();
        let named = inputs.map(|input| Self::tensor_of(&input.name, tensors));
        self.given(&named.collect::<PyResult<Vec<_>>>()?, on, keeps)
    }

    /// Tensors for the inputs, in their order, for a run on a device, which keeps its results or
    /// not; and those that the device holds.
    pub fn bound_in_order(
        &self,
        tensors: &[Inner],
        on: Device,
        keeps: bool,
    ) -> PyResult<(Given, Resident)> {
        self.check_count(tensors.len())?;
        self.given(&tensors.iter().collect::<Vec<_>>(), on, keeps)
    }

    fn given(&self, tensors: &[&Inner], on: Device, keeps: bool) -> PyResult<(Given, Resident)> {
        let mut bound = Given::default();
        let mut resident = Resident {
            inputs: Vec::new(),
            outputs: keeps.then_some(on),
        };
        for (input, tensor) in self.inputs().iter().zip(tensors) {
            match tensor {
                Inner::Away(tensor) if tensor.device() == on => {
                    let slots = input.slots.iter();
                    bound.away.extend(slots.map(|id| (*id, Arc::clone(tensor))));
                    resident
                        .inputs
                        .extend(input.slots.iter().map(|id| (*id, on)));
                }
                other => {
                    let host = row_major(other.real("an input of a program")?)?;
                    let slots = input.slots.iter();
                    bound.here.extend(slots.map(|id| (*id, host.clone())));
                }
            }
        }
        resident.inputs.sort_unstable_by_key(|(slot, _)| slot.0);
        Ok((bound, resident))
    }

    /// The tensor for an input that is called in0, in1, ... in the order of their names.
    pub(super) fn tensor_of<'a, T>(name: &str, tensors: &'a [T]) -> PyResult<&'a T> {
        let index = name
            .strip_prefix("in")
            .and_then(|n| n.parse::<usize>().ok());
        index
            .and_then(|index| tensors.get(index))
            .ok_or_else(|| errors::internal(format!("no tensor for input {name}")))
    }

    /// Refuses another number of tensors than there are inputs.
    fn check_count(&self, given: usize) -> PyResult<()> {
        let inputs = self.inputs();
        if inputs.len() != given {
            let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
            let allowed = match names.as_slice() {
                [] => "none: this program has no inputs".to_owned(),
                names => format!("{}: {}", names.len(), names.join(", ")),
            };
            return Err(errors::param("inputs", given, &allowed));
        }
        Ok(())
    }

    /// Tensors for the inputs, in their order.
    pub fn bind(&self, tensors: &[HostTensor]) -> PyResult<HashMap<HostId, HostTensor>> {
        self.check_count(tensors.len())?;
        let mut bound = HashMap::new();
        for (input, tensor) in self.inputs().iter().zip(tensors) {
            bound.extend(input.slots.iter().map(|id| (*id, tensor.clone())));
        }
        Ok(bound)
    }

    /// Tensors for the slots of the inputs, in their order, if the values are just such tensors as
    /// the inputs are: not secret, row-major, of the very types.
    pub(super) fn matching(&self, values: &Bound<'_, PyTuple>) -> PyResult<Option<Matching>> {
        let inputs = self.inputs();
        if values.len() != inputs.len() {
            return Ok(None);
        }
        let mut bound = Matching::new();
        for (input, value) in inputs.iter().zip(values.iter_borrowed()) {
            let Ok(value) = value.cast::<Tensor>() else {
                return Ok(None);
            };
            let Inner::Real(tensor) = value.get().inner() else {
                return Ok(None);
            };
            let view = tensor.view();
            let fits = tensor.dtype() == input.ty.dtype && view.shape == input.ty.shape;
            if !fits || !view.is_contiguous() || tensor.is_secret() {
                return Ok(None);
            }
            let host = tensor.to_host_alone().map_err(errors::run)?;
            bound.extend(input.slots.iter().map(|slot| (*slot, host.clone())));
        }
        if inputs.iter().any(|input| input.slots.len() > 1) {
            bound.sort_unstable_by_key(|(slot, _)| slot.0);
        }
        Ok(Some(bound))
    }
}

/// A tensor's elements for a run.
pub fn lend(tensor: &Inner) -> PyResult<HostTensor> {
    row_major(tensor.real("an input of a program")?)
}
