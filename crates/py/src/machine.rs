//! Facts about this machine for Python.

use crate::guard::unlocked;
use cloakwork_devices::cuda_obstacle;
use cloakwork_devices::machine::{Gpus, NoGpus, Processor, gpus, processor};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The processor's facts, and the GPUs or why there are none.
#[pyfunction]
pub fn machine(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let (processor, gpus) = unlocked(py, || (processor(), gpus()))?;
    let facts = PyDict::new(py);
    of_processor(&facts, processor)?;
    of_gpus(&facts, gpus)?;
    Ok(facts)
}

fn of_processor(facts: &Bound<'_, PyDict>, processor: Processor) -> PyResult<()> {
    let caches = processor.caches.iter();
    let caches = caches.map(|one| (one.level, one.kind.name(), one.bytes, one.count));
    let nodes = processor.numa_nodes.into_iter();
    let nodes = nodes.map(|node| (node.index, node.cpus, node.memory_bytes));
    facts.set_item("model", processor.model)?;
    facts.set_item("cores", processor.cores)?;
    facts.set_item("caches", caches.collect::<Vec<_>>())?;
    facts.set_item("numa_nodes", nodes.collect::<Vec<_>>())
}

fn of_gpus(facts: &Bound<'_, PyDict>, found: Result<Gpus, NoGpus>) -> PyResult<()> {
    let (all, driver, reason) = match found {
        Ok(found) => (found.all, Some((found.driver, found.cuda)), None),
        Err(reason) => (Vec::new(), None, Some(reason.to_string())),
    };
    let all = all.into_iter();
    let all = all.map(|gpu| (gpu.name, gpu.memory_bytes, gpu.compute_capability));
    facts.set_item("gpus", all.collect::<Vec<_>>())?;
    facts.set_item("gpu_driver", driver)?;
    facts.set_item("no_cuda", cuda_obstacle())?;
    facts.set_item("no_gpus", reason)
}
