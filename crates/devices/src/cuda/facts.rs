//! Properties of a GPU as the driver reports them, and whether the kernels run there.

use super::api::{
    self, Api, Failure, POOL_RELEASE_THRESHOLD, Pool, PoolProperties, attribute, code,
};
use super::kernels::{Image, Limits};
use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;

/// Bytes that the pool of a GPU keeps for the next allocation rather than giving them back.
const KEPT_BYTES: u64 = 1 << 30;
/// Bytes of scratch that one launch should keep to.
const SCRATCH_BYTES: u64 = 256 << 20;
/// The least compute capability that the fatbins have code for.
const LEAST_CAPABILITY: (c_int, c_int) = (8, 0);

/// Properties of a GPU as the driver reports them.
pub struct Facts {
    pub device: c_int,
    capability: (c_int, c_int),
    cuda: c_int,
    has_pools: bool,
    pub limits: Limits,
}

impl Facts {
    pub fn of(api: &Api, index: c_int) -> Result<Self, Failure> {
        let mut device = 0;
        // SAFETY: the function writes the device's handle.
        unsafe { api.device(&raw mut device, index) }?;
        let ask = |attribute| {
            let mut value = 0;
            // SAFETY: the function writes the value.
            unsafe { api.device_attribute(&raw mut value, attribute, device) }?;
            Ok::<c_int, Failure>(value)
        };
        let count = |attribute| Ok::<u32, Failure>(u32::try_from(ask(attribute)?).unwrap_or(0));
        let mut cuda = 0;
        // SAFETY: the function writes the version.
        unsafe { api.driver_version(&raw mut cuda) }?;
        Ok(Self {
            device,
            capability: (
                ask(attribute::CAPABILITY_MAJOR)?,
                ask(attribute::CAPABILITY_MINOR)?,
            ),
            cuda,
            has_pools: ask(attribute::MEMORY_POOLS)? != 0,
            limits: Limits {
                multiprocessors: count(attribute::MULTIPROCESSORS)?,
                shared_bytes: count(attribute::SHARED_BYTES_OPT_IN)?,
                scratch_bytes: SCRATCH_BYTES,
            },
        })
    }

    /// Whether the fatbin has code for it.
    pub fn capable(&self) -> Result<(), Failure> {
        let (major, minor) = self.capability;
        if self.capability >= LEAST_CAPABILITY {
            return Ok(());
        }
        Err(Failure {
            code: code::NO_BINARY_FOR_GPU,
            words: format!(
                "its compute capability is {major}.{minor}, and this build's kernels need {}.{}",
                LEAST_CAPABILITY.0, LEAST_CAPABILITY.1
            ),
        })
    }

    /// Loads the kernels. The context is current.
    pub fn load(&self, api: &Api, Image(image): Image) -> Result<api::Module, Failure> {
        const LOG_BYTES: usize = 4096;
        let mut log = [0u8; LOG_BYTES];
        let mut options = [api::JIT_ERROR_LOG, api::JIT_ERROR_LOG_BYTES];
        let mut values = [
            log.as_mut_ptr().cast::<c_void>(),
            std::ptr::without_provenance_mut(LOG_BYTES),
        ];
        let mut module = null_mut();
        // SAFETY: the image is a fatbin, the log has so many bytes; both outlive the call.
        let loaded = unsafe {
            let (options, values) = (options.as_mut_ptr(), values.as_mut_ptr());
            api.load_module(&raw mut module, image, 2, options, values)
        };
        let log = CStr::from_bytes_until_nul(&log).unwrap_or_default();
        let log = log.to_string_lossy();
        loaded.map(|()| module).map_err(|failure| {
            let (major, minor) = self.capability;
            let (major_cuda, minor_cuda) = (self.cuda / 1000, self.cuda % 1000 / 10);
            let words = match failure.code {
                code::NO_BINARY_FOR_GPU | code::UNSUPPORTED_PTX_VERSION | code::INVALID_IMAGE => {
                    format!(
                        "the NVIDIA driver, of CUDA {major_cuda}.{minor_cuda}, cannot load this \
                         build's kernels for compute capability {major}.{minor}: install a newer \
                         driver; {}",
                        failure.words
                    )
                }
                _ => failure.words,
            };
            let words = [&words, log.trim()].join("; ");
            Failure {
                words: words.trim_end_matches("; ").to_owned(),
                ..failure
            }
        })
    }

    /// A pool of its own: other libraries of the process keep theirs. The context is current.
    pub fn pool(&self, api: &Api) -> Result<Option<Pool>, Failure> {
        if !self.has_pools {
            return Ok(None);
        }
        let properties = PoolProperties {
            allocation: 1,
            handles: 0,
            location: 1,
            device: self.device,
            security: null_mut(),
            most_bytes: 0,
            reserved: [0; 56],
        };
        let (mut pool, mut kept) = (null_mut(), KEPT_BYTES);
        // SAFETY: the functions write the pool, and read a number of 64 bits.
        unsafe {
            api.create_pool(&raw mut pool, &raw const properties)?;
            api.set_pool(pool, POOL_RELEASE_THRESHOLD, (&raw mut kept).cast())?;
        }
        Ok(Some(pool))
    }
}
