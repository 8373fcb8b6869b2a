//! Tensors in the memory of a device, between runs.

use crate::RunError;
use crate::eager;
use crate::memory::Block;
use cloakwork_devices::{DeviceMemory, Drivers, OpenDevice};
use cloakwork_ir::{DType, Device, HostTensor, Type, View};
use cloakwork_kernels::Isa;
use cloakwork_process::Once;
use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

/// Elements in the memory of a device, row-major. Nothing writes them again.
pub struct OnDevice {
    device: Device,
    open: Arc<OpenDevice>,
    memory: Memory,
    dtype: DType,
    view: View,
    /// A copy for the host, once it asked for one.
    copy: Once<eager::Tensor>,
}

enum Memory {
    Own(DeviceMemory),
    /// Another library's, which the owner keeps there.
    Foreign {
        start: *mut c_void,
        _owner: Box<dyn Any + Send + Sync>,
    },
}

// SAFETY: an address that only the driver uses, whose functions any thread may call.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl fmt::Debug for OnDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.ty(), self.device)
    }
}

impl OnDevice {
    /// Memory of a device, with the results of a run.
    pub(crate) fn of(
        (device, open): (Device, &Arc<OpenDevice>),
        memory: DeviceMemory,
        ty: &Type,
    ) -> Self {
        Self::new((device, Arc::clone(open)), Memory::Own(memory), ty)
    }

    fn new((device, open): (Device, Arc<OpenDevice>), memory: Memory, ty: &Type) -> Self {
        Self {
            device,
            open,
            memory,
            dtype: ty.dtype,
            view: View::contiguous(ty.shape.clone()),
            copy: Once::new(),
        }
    }

    /// A copy of a row-major tensor of the host.
    ///
    /// # Errors
    /// A driver's; or the tensor is not row-major, an internal error.
    pub fn upload(host: &HostTensor, device: Device) -> Result<Self, RunError> {
        if !host.view().is_contiguous() || host.view().offset != 0 {
            return Err(RunError::Internal("an upload that is not row-major".into()));
        }
        let open = opened(device)?;
        let ty = host.ty();
        let memory = open.allocate(ty.size_bytes())?;
        let mut queue = open.queue()?;
        let from = host.bytes().as_slice();
        // SAFETY: both have so many bytes, and the queue is done before either goes.
        unsafe { queue.upload(memory.address(), from.as_ptr().cast(), ty.size_bytes()) }?;
        let done = queue.record()?;
        queue.finish(done)?;
        drop(queue);
        Ok(Self::new((device, open), Memory::Own(memory), &ty))
    }

    /// Another library's memory on a device, row-major.
    ///
    /// # Errors
    /// A driver's.
    ///
    /// # Safety
    /// The address is one of the device's driver, with as many bytes as the type has, which do not
    /// change as long as the owner lives.
    pub unsafe fn foreign(
        device: Device,
        start: *mut c_void,
        ty: &Type,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Result<Self, RunError> {
        let open = opened(device)?;
        let memory = Memory::Foreign {
            start,
            _owner: owner,
        };
        Ok(Self::new((device, open), memory, ty))
    }

    /// Its device.
    #[must_use]
    pub const fn device(&self) -> Device {
        self.device
    }

    /// The device as it was opened for it.
    pub(crate) const fn open(&self) -> &Arc<OpenDevice> {
        &self.open
    }

    /// Element type.
    #[must_use]
    pub const fn dtype(&self) -> DType {
        self.dtype
    }

    /// Its shape; row-major.
    #[must_use]
    pub const fn view(&self) -> &View {
        &self.view
    }

    /// Dtype and shape.
    #[must_use]
    pub fn ty(&self) -> Type {
        Type::new(self.dtype, self.view.shape.clone())
    }

    /// Whether the device still serves this process.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.open.serves()
    }

    /// Its first byte, as its driver counts.
    #[must_use]
    pub fn address(&self) -> *mut c_void {
        match &self.memory {
            Memory::Own(memory) => memory.address(),
            Memory::Foreign { start, .. } => *start,
        }
    }

    /// A copy in the host's memory, which nobody else has.
    ///
    /// # Errors
    /// A driver's, or not enough memory.
    pub fn download(&self) -> Result<eager::Tensor, RunError> {
        self.here()?;
        let bytes = self.ty().size_bytes();
        let block = Block::uninit(bytes)?;
        let mut queue = self.open.queue()?;
        // SAFETY: both have so many bytes, and the queue is done before either goes.
        unsafe { queue.download(block.as_ptr().cast(), self.address(), bytes) }?;
        let done = queue.record()?;
        queue.finish(done)?;
        drop(queue);
        Ok(eager::Tensor::own(block, self.dtype, self.view.clone()))
    }

    /// A copy in the host's memory that is made once, and is read alone.
    ///
    /// # Errors
    /// As [`OnDevice::download`].
    pub fn on_host(&self) -> Result<&eager::Tensor, RunError> {
        if let Some(copy) = self.copy.get() {
            return Ok(copy);
        }
        // Nobody else has the copy: it is frozen in place.
        let copy = self.download()?.freeze(Isa::PORTABLE);
        let copy = copy.map_err(|error| RunError::Internal(error.to_string()))?;
        Ok(self.copy.get_or_init(|| copy))
    }

    /// Refuses memory that a parent of this process has.
    pub(crate) fn here(&self) -> Result<(), RunError> {
        if self.open.is_here() {
            return Ok(());
        }
        let device = self.device;
        Err(RunError::Input {
            name: format!("a tensor on {device}"),
            expected: "one that this process made".into(),
            got: "one of the process from which it was forked; move it to the cpu before the fork"
                .into(),
        })
    }
}

/// A device, opened once for all tensors on it.
///
/// # Errors
/// A driver's; or its memory is the host's.
pub fn opened(device: Device) -> Result<Arc<OpenDevice>, RunError> {
    let (driver, index) = Drivers::default().of(device);
    Ok(driver.shared(index)?)
}
