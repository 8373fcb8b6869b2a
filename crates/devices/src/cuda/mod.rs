//! `cuda`: NVIDIA's GPUs, by the driver's library, which is loaded when a device is first opened.
//!
//! A queue is a stream, a segment a graph. Memory of the host moves through pinned memory. A check
//! that fails makes kernels behind it do nothing, and no thread of the host waits for that.

mod api;
mod device;
mod facts;
mod gpu;
mod kernels;
mod launch;
mod library;
mod many;
mod own;
mod queue;
mod ring;
mod segment;
mod state;
mod table;
mod timeline;

use crate::load::register;
use crate::{DeviceError, Driver, driver};
use cloakwork_ir::DriverName;
use gpu::Gpu;

pub(crate) const NAME: &str = "cuda";

/// Makes GPUs known as `cuda:<i>`, if `cuda:<index>` can be used. It initializes CUDA in this
/// process, and creates no context.
///
/// # Errors
/// Why the GPU cannot be used.
pub fn cuda(index: u32) -> Result<DriverName, DeviceError> {
    let refused = |reason| DeviceError::Device {
        device: format!("{NAME}:{index}"),
        action: "use it",
        reason,
    };
    library::check(index).map_err(refused)?;
    match DriverName::find(NAME) {
        Some(known) => Ok(known),
        None => register(made(), None).or_else(|error| DriverName::find(NAME).ok_or(error)),
    }
}

/// Waits for all that other libraries have put into the default stream of a GPU: then what they
/// hand over is there.
///
/// # Errors
/// Why the GPU cannot be used.
pub fn cuda_finish_default(index: u32) -> Result<(), DeviceError> {
    let done = Gpu::open(index).and_then(|gpu| gpu.finish_default().map_err(|f| f.words));
    done.map_err(|reason| DeviceError::Device {
        device: format!("{NAME}:{index}"),
        action: "wait for the default stream",
        reason,
    })
}

/// Why no GPU can be used, as far as can be said without initializing CUDA, which a process that
/// forks later would lose.
#[must_use]
pub fn cuda_obstacle() -> Option<String> {
    let library = api::Api::load().err();
    library.or_else(|| kernels::kernels().module(kernels::DRIVER).err())
}

/// The driver. Its kernels are read.
fn made() -> Driver {
    driver::own(&table::TABLE, None)
}
