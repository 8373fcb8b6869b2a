//! NVIDIA's GPUs, as the driver's management library (NVML) lists them. It is loaded at run time,
//! creates no context on a GPU, and so leaves CUDA usable in processes that fork later.

use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Nvml, cuda_driver_version_major, cuda_driver_version_minor};
use std::ffi::OsStr;

/// The library's file name.
const LIBRARY: &str = "libnvidia-ml.so.1";

/// The GPUs of this machine and their driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gpus {
    /// The driver's version: `580.159.03`.
    pub driver: String,
    /// The newest version of CUDA that the driver serves, major and minor.
    pub cuda: (u32, u32),
    /// In the order of their slots (PCI).
    pub all: Vec<Gpu>,
}

/// A GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// The maker's name of it: `NVIDIA H200`.
    pub name: String,
    /// All of its memory.
    pub memory_bytes: u64,
    /// Its compute capability, major and minor.
    pub compute_capability: (u32, u32),
}

/// Why no GPU can be listed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoGpus {
    /// The library is not installed, or cannot be loaded.
    #[error("no NVIDIA driver: {LIBRARY} cannot be loaded")]
    NoDriver,
    /// The library is there and refuses.
    #[error("the NVIDIA driver does not work: {reason}; `nvidia-smi` should list the GPUs first")]
    Broken {
        /// The library's words.
        reason: String,
    },
    /// The library lacks a function.
    #[error("the NVIDIA driver is too old: {LIBRARY} lacks {function}; install a newer driver")]
    Old {
        /// The function.
        function: String,
    },
}

/// The GPUs of this machine.
///
/// # Errors
/// There is no driver, it does not work, or it is too old. A machine without GPUs but with a
/// driver has an empty list.
pub fn gpus() -> Result<Gpus, NoGpus> {
    let nvml = Nvml::builder().lib_path(OsStr::new(LIBRARY)).init();
    listed(&nvml.map_err(reason)?).map_err(reason)
}

fn listed(nvml: &Nvml) -> Result<Gpus, NvmlError> {
    let version = nvml.sys_cuda_driver_version()?;
    let cuda = (
        cuda_driver_version_major(version),
        cuda_driver_version_minor(version),
    );
    let all = (0..nvml.device_count()?).map(|index| {
        let device = nvml.device_by_index(index)?;
        let capability = device.cuda_compute_capability()?;
        Ok(Gpu {
            name: device.name()?,
            memory_bytes: device.memory_info()?.total,
            compute_capability: (number(capability.major), number(capability.minor)),
        })
    });
    Ok(Gpus {
        driver: nvml.sys_driver_version()?,
        cuda: (number(cuda.0), number(cuda.1)),
        all: all.collect::<Result<_, NvmlError>>()?,
    })
}

fn number(value: i32) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

fn reason(error: NvmlError) -> NoGpus {
    match error {
        NvmlError::LibloadingError(_) | NvmlError::LibraryNotFound => NoGpus::NoDriver,
        NvmlError::FailedToLoadSymbol(text) => NoGpus::Old { function: text },
        other => NoGpus::Broken {
            reason: other.to_string(),
        },
    }
}
