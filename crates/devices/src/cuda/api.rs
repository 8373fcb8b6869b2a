//! The functions of NVIDIA's driver, looked up at run time in `libcuda.so.1`.
//!
//! Nothing is linked: without the library, or with one that lacks a function, the reason is a text.
//! Names with `_v2` are those that `cuda.h` of CUDA 12 and newer stands for.

use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// The library's file name. The name without a number may be a stub of the toolkit.
pub const LIBRARY: &str = "libcuda.so.1";

/// Handles of the driver's objects.
pub type Context = *mut c_void;
pub type Event = *mut c_void;
pub type Function = *mut c_void;
pub type Graph = *mut c_void;
pub type GraphExec = *mut c_void;
pub type GraphNode = *mut c_void;
pub type Module = *mut c_void;
pub type Pool = *mut c_void;
pub type Stream = *mut c_void;
/// An address of a device's memory.
pub type Address = u64;

/// An error of a call of the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// `CUresult`.
    pub code: c_int,
    /// The function, and the driver's words.
    pub words: String,
}

impl Failure {
    /// Whether the context is lost with it: every later call in this process fails, too.
    pub fn breaks_context(&self) -> bool {
        code::BREAK_CONTEXTS.contains(&self.code)
    }

    /// The same, of something that has a name.
    pub fn of(mut self, name: &CStr) -> Self {
        self.words = format!("{} of {}", self.words, name.to_string_lossy());
        self
    }
}

/// Numbers of `CUresult` that need words of their own.
pub mod code {
    use std::ffi::c_int;
    pub const OUT_OF_MEMORY: c_int = 2;
    pub const NOT_INITIALIZED: c_int = 3;
    pub const STUB_LIBRARY: c_int = 34;
    pub const NO_DEVICE: c_int = 100;
    pub const INVALID_IMAGE: c_int = 200;
    pub const NO_BINARY_FOR_GPU: c_int = 209;
    pub const UNSUPPORTED_PTX_VERSION: c_int = 222;
    pub const NOT_READY: c_int = 600;
    /// Of these `cuda.h` says that the process has to end before work goes on: an uncorrectable
    /// error of memory, an illegal address, a kernel that took too long, a context that is gone, a
    /// failed assertion, the stack, an instruction, alignment, an address space, the counter, and
    /// any other failure of a launch.
    pub const BREAK_CONTEXTS: [c_int; 11] = [214, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719];
}

/// Numbers of `CUdevice_attribute`.
pub mod attribute {
    use std::ffi::c_int;
    pub const MULTIPROCESSORS: c_int = 16;
    pub const CAPABILITY_MAJOR: c_int = 75;
    pub const CAPABILITY_MINOR: c_int = 76;
    pub const SHARED_BYTES_OPT_IN: c_int = 97;
    pub const MEMORY_POOLS: c_int = 115;
}

/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
pub const FUNCTION_SHARED_BYTES: c_int = 8;
/// `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD`: bytes that a pool keeps when it has no use for them.
pub const POOL_RELEASE_THRESHOLD: c_int = 4;
/// `CU_STREAM_NON_BLOCKING`: it does not wait for the default stream.
pub const STREAM_NON_BLOCKING: c_uint = 1;
/// `CU_EVENT_DISABLE_TIMING`.
pub const EVENT_UNTIMED: c_uint = 2;
/// `CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP`: pinned memory that all contexts use, at
/// the same address on the device.
pub const HOST_SHARED: c_uint = 1 | 2;
/// `CU_POINTER_ATTRIBUTE_MEMORY_TYPE`, and its value for pinned memory of the host.
pub const POINTER_MEMORY_TYPE: c_int = 2;
pub const POINTER_HOST: c_uint = 1;
/// `CU_POINTER_ATTRIBUTE_RANGE_START_ADDR` and `..._RANGE_SIZE`.
pub const POINTER_RANGE_START: c_int = 11;
pub const POINTER_RANGE_SIZE: c_int = 12;
/// `CU_JIT_ERROR_LOG_BUFFER` and `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`.
pub const JIT_ERROR_LOG: c_int = 5;
pub const JIT_ERROR_LOG_BYTES: c_int = 6;

/// `CUmemPoolProps`.
#[repr(C)]
pub struct PoolProperties {
    /// 1: pinned memory of the device.
    pub allocation: c_int,
    pub handles: c_int,
    /// 1: a device.
    pub location: c_int,
    pub device: c_int,
    pub security: *mut c_void,
    pub most_bytes: usize,
    pub reserved: [u8; 56],
}

/// `CUDA_KERNEL_NODE_PARAMS_v1`.
#[repr(C)]
pub struct KernelNode {
    pub function: Function,
    pub blocks: [c_uint; 3],
    pub threads: [c_uint; 3],
    pub shared_bytes: c_uint,
    pub params: *mut *mut c_void,
    pub extra: *mut *mut c_void,
}

macro_rules! functions {
    ($($name:ident = $symbol:literal ($($argument:ident: $type:ty),*);)*) => {
        /// The functions, each of which gives a `CUresult`.
        pub struct Api {
            words: Words,
            $($name: unsafe extern "C" fn($($type),*) -> c_int,)*
        }

        impl Api {
            /// Looks all functions up. The name of one that is missing is the error.
            fn of(library: &Library) -> Result<Self, &'static str> {
                Ok(Self {
                    words: Words::of(library)?,
                    $(
                        // SAFETY: the symbol's type is that of `cuda.h`; the library stays loaded.
                        $name: *unsafe { library.get(concat!($symbol, "\0").as_bytes()) }
                            .map_err(|_| $symbol)?,
                    )*
                })
            }

            $(
                /// # Safety
                /// As `cuda.h` says of the function.
                #[allow(clippy::too_many_arguments)]
                pub unsafe fn $name(&self, $($argument: $type),*) -> Result<(), Failure> {
                    // SAFETY: the caller's promise.
                    let code = unsafe { (self.$name)($($argument),*) };
                    self.words.checked($symbol, code)
                }
            )*
        }
    };
}

functions! {
    initialize = "cuInit" (flags: c_uint);
    driver_version = "cuDriverGetVersion" (version: *mut c_int);
    device_count = "cuDeviceGetCount" (count: *mut c_int);
    device = "cuDeviceGet" (device: *mut c_int, index: c_int);
    device_attribute = "cuDeviceGetAttribute" (value: *mut c_int, attribute: c_int, device: c_int);
    retain_context = "cuDevicePrimaryCtxRetain" (context: *mut Context, device: c_int);
    push_context = "cuCtxPushCurrent_v2" (context: Context);
    pop_context = "cuCtxPopCurrent_v2" (context: *mut Context);
    memory_info = "cuMemGetInfo_v2" (free: *mut usize, total: *mut usize);
    allocate = "cuMemAlloc_v2" (at: *mut Address, bytes: usize);
    free = "cuMemFree_v2" (at: Address);
    create_pool = "cuMemPoolCreate" (pool: *mut Pool, properties: *const PoolProperties);
    set_pool = "cuMemPoolSetAttribute" (pool: Pool, attribute: c_int, value: *mut c_void);
    trim_pool = "cuMemPoolTrimTo" (pool: Pool, kept_bytes: usize);
    allocate_in = "cuMemAllocFromPoolAsync"
        (at: *mut Address, bytes: usize, pool: Pool, stream: Stream);
    free_in = "cuMemFreeAsync" (at: Address, stream: Stream);
    allocate_host = "cuMemHostAlloc" (at: *mut *mut c_void, bytes: usize, flags: c_uint);
    pointer_attribute = "cuPointerGetAttribute"
        (value: *mut c_void, attribute: c_int, at: Address);
    fill = "cuMemsetD8Async" (at: Address, byte: u8, bytes: usize, stream: Stream);
    upload = "cuMemcpyHtoDAsync_v2"
        (to: Address, from: *const c_void, bytes: usize, stream: Stream);
    download = "cuMemcpyDtoHAsync_v2"
        (to: *mut c_void, from: Address, bytes: usize, stream: Stream);
    create_stream = "cuStreamCreate" (stream: *mut Stream, flags: c_uint);
    finish_stream = "cuStreamSynchronize" (stream: Stream);
    wait_in_stream = "cuStreamWaitEvent" (stream: Stream, event: Event, flags: c_uint);
    create_event = "cuEventCreate" (event: *mut Event, flags: c_uint);
    record_event = "cuEventRecord" (event: Event, stream: Stream);
    query_event = "cuEventQuery" (event: Event);
    finish_event = "cuEventSynchronize" (event: Event);
    load_module = "cuModuleLoadDataEx"
        (module: *mut Module, image: *const c_void, count: c_uint, options: *mut c_int,
         values: *mut *mut c_void);
    find_function = "cuModuleGetFunction"
        (function: *mut Function, module: Module, name: *const c_char);
    set_function = "cuFuncSetAttribute" (function: Function, attribute: c_int, value: c_int);
    launch = "cuLaunchKernel"
        (function: Function, x: c_uint, y: c_uint, z: c_uint, threads_x: c_uint,
         threads_y: c_uint, threads_z: c_uint, shared_bytes: c_uint, stream: Stream,
         params: *mut *mut c_void, extra: *mut *mut c_void);
    create_graph = "cuGraphCreate" (graph: *mut Graph, flags: c_uint);
    destroy_graph = "cuGraphDestroy" (graph: Graph);
    add_kernel = "cuGraphAddKernelNode"
        (node: *mut GraphNode, graph: Graph, after: *const GraphNode, count: usize,
         params: *const KernelNode);
    add_empty = "cuGraphAddEmptyNode"
        (node: *mut GraphNode, graph: Graph, after: *const GraphNode, count: usize);
    instantiate = "cuGraphInstantiateWithFlags" (exec: *mut GraphExec, graph: Graph, flags: u64);
    launch_graph = "cuGraphLaunch" (exec: GraphExec, stream: Stream);
    destroy_exec = "cuGraphExecDestroy" (exec: GraphExec);
}

impl Api {
    /// Loads the library, which stays for the life of the process. The error says why it cannot be
    /// used.
    pub fn load() -> Result<Self, String> {
        // SAFETY: the driver's library initializes nothing before `cuInit`.
        let library = unsafe { Library::new(LIBRARY) };
        let library = library.map_err(|_| {
            format!("no NVIDIA driver: {LIBRARY} is not found, or cannot be loaded")
        })?;
        let found = Self::of(&library).map_err(|function| {
            format!(
                "the NVIDIA driver is too old: {LIBRARY} lacks {function}; install a newer driver"
            )
        });
        std::mem::forget(library);
        found
    }
}

type WordsFn = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;

/// The functions that give an error's name and its text.
struct Words {
    name: WordsFn,
    text: WordsFn,
}

impl Words {
    fn of(library: &Library) -> Result<Self, &'static str> {
        // SAFETY: the symbols' types are those of `cuda.h`; the library stays loaded.
        let find = |symbol: &'static CStr, name| unsafe {
            let found = library.get::<WordsFn>(symbol.to_bytes_with_nul());
            found.map(|function| *function).map_err(|_| name)
        };
        Ok(Self {
            name: find(c"cuGetErrorName", "cuGetErrorName")?,
            text: find(c"cuGetErrorString", "cuGetErrorString")?,
        })
    }

    fn checked(&self, function: &str, code: c_int) -> Result<(), Failure> {
        if code == 0 {
            return Ok(());
        }
        let words = match code {
            // Asked often, and no error of anybody's.
            code::NOT_READY => String::new(),
            _ => format!("{function}: {}", self.of_code(code)),
        };
        Err(Failure { code, words })
    }

    /// The name and the text of an error: `CUDA_ERROR_OUT_OF_MEMORY (out of memory)`.
    fn of_code(&self, code: c_int) -> String {
        let text = |function: WordsFn| {
            let mut text = std::ptr::null();
            // SAFETY: the function writes a pointer to a constant text, or null.
            let given = unsafe { function(code, &raw mut text) } == 0 && !text.is_null();
            // SAFETY: as above.
            given.then(|| {
                unsafe { CStr::from_ptr(text) }
                    .to_string_lossy()
                    .into_owned()
            })
        };
        match (text(self.name), text(self.text)) {
            (Some(name), Some(text)) => format!("{name} ({text})"),
            (Some(name), None) => name,
            _ => format!("error {code}"),
        }
    }
}
