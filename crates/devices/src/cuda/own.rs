//! The driver's own kernels (`cuda/driver`): they let queues fail without the host.

use super::api::{Address, Api, Failure, Function, Module, Stream};
use super::gpu::Gpu;
use super::kernels::{DeviceLaunch, OPERANDS, WORDS};
use super::state::Slot;
use std::ffi::{CStr, c_void};
use std::ptr::{from_mut, null, null_mut};

/// Threads of a block of `upload`, and bytes that one of them moves at a time.
const THREADS: u32 = 256;
const MOVED_BYTES: u64 = 16;

/// The functions.
pub struct Own {
    check: Function,
    inherit: Function,
    next: Function,
    upload: Function,
}

/// Where an upload moves bytes, and from where.
type Moved = (Address, *mut c_void);

/// A call of one of them, with the parameters that all kernels have.
pub struct Call {
    pub function: Function,
    pub launch: DeviceLaunch,
    pub units: u64,
    pub blocks: u32,
    pub threads: u32,
}

impl Call {
    fn new(function: Function, data: &[*mut c_void], words: &[u64]) -> Self {
        let mut launch = DeviceLaunch::default();
        launch.data[..data.len()].copy_from_slice(data);
        for (place, &word) in launch.words.iter_mut().zip(words) {
            *place = word.cast_signed();
        }
        launch.params = words.len() as u32;
        launch.operands = data.len() as u32;
        Self {
            function,
            launch,
            units: 1,
            blocks: 1,
            threads: 1,
        }
    }

    /// Its parameters, as the driver takes them.
    pub fn params<'a>(
        &'a mut self,
        argument: &'a mut u64,
        memory: &'a mut Address,
    ) -> [*mut c_void; 4] {
        [
            from_mut(&mut self.launch).cast(),
            from_mut(&mut self.units).cast(),
            from_mut(argument).cast(),
            from_mut(memory).cast(),
        ]
    }
}

impl Default for DeviceLaunch {
    fn default() -> Self {
        Self {
            rank: 0,
            operands: 0,
            params: 0,
            blocks: 0,
            data: [null_mut(); OPERANDS],
            prepared: null(),
            spilled: null(),
            failed: null(),
            words: [0; WORDS],
        }
    }
}

/// An address of the device as the C table spells it.
pub fn pointer(at: Address) -> *mut c_void {
    std::ptr::without_provenance_mut(at as usize)
}

impl Own {
    /// The functions of a module. The context is current.
    ///
    /// # Errors
    /// The module lacks one of them.
    pub fn of(api: &Api, module: Module) -> Result<Self, Failure> {
        let find = |name: &'static CStr| {
            let mut function = null_mut();
            // SAFETY: the module is loaded; the function writes what it finds.
            let found = unsafe { api.find_function(&raw mut function, module, name.as_ptr()) };
            found.map(|()| function).map_err(|failure| failure.of(name))
        };
        Ok(Self {
            check: find(c"cw_cuda_check")?,
            inherit: find(c"cw_cuda_inherit")?,
            next: find(c"cw_cuda_next")?,
            upload: find(c"cw_cuda_upload")?,
        })
    }

    /// The queue fails unless a status word is 0. `next` is the queue's next event; 0: the one that
    /// its state names.
    pub fn check(&self, slot: &Slot, status: *mut c_void, check: u64, next: u64) -> Call {
        let data = [pointer(slot.state), slot.mirror_address(), status];
        Call::new(self.check, &data, &[check, next])
    }

    /// The queue fails if another one failed before its event.
    pub fn inherit(&self, slot: &Slot, other: &Slot, event: u64, next: u64) -> Call {
        let data = [
            pointer(slot.state),
            slot.mirror_address(),
            pointer(other.state),
        ];
        Call::new(self.inherit, &data, &[event, next])
    }

    /// The state names the queue's next event.
    pub fn next(&self, slot: &Slot, next: u64) -> Call {
        Call::new(self.next, &[pointer(slot.state)], &[next])
    }

    /// Moves bytes of pinned memory to the device, unless the queue has failed.
    pub fn upload(&self, gpu: &Gpu, slot: &Slot, ((to, from), bytes): (Moved, u64)) -> Call {
        let mut call = Call::new(self.upload, &[pointer(to), from], &[]);
        call.launch.failed = pointer(slot.state).cast_const().cast();
        call.units = bytes;
        call.threads = THREADS;
        let most = u64::from(gpu.limits.multiprocessors.max(1)) * 2;
        let all = bytes.div_ceil(MOVED_BYTES * u64::from(THREADS));
        call.blocks = all.clamp(1, most) as u32;
        call
    }
}

impl Gpu {
    /// Runs a call in a stream. The context is current.
    ///
    /// # Errors
    /// The driver's.
    ///
    /// # Safety
    /// Its addresses stay valid until the stream is past it.
    pub unsafe fn call(&self, mut call: Call, stream: Stream) -> Result<(), Failure> {
        let (function, blocks, threads) = (call.function, call.blocks, call.threads);
        let (mut argument, mut memory) = (0, 0);
        let mut params = call.params(&mut argument, &mut memory);
        // SAFETY: the function has these parameters, which are copied; the caller's promise.
        unsafe {
            let params = params.as_mut_ptr();
            self.api.launch(
                function,
                blocks,
                1,
                1,
                threads,
                1,
                1,
                0,
                stream,
                params,
                null_mut(),
            )
        }
    }
}
