//! The part of wasmtime's C API that is used, as release 50 declares it.

use crate::WasmError;
use libloading::Library;
use std::ffi::{c_char, c_void};
use std::path::Path;

macro_rules! opaque {
    ($($name:ident)*) => { $(
        /// A type that only the library knows.
        #[repr(C)]
        pub struct $name {
            _private: [u8; 0],
        }
    )* };
}
opaque!(Config RawEngine RawModule RawStore Context RawLinker);
opaque!(Caller Trap RawError FuncType ValType);

/// `wasm_byte_vec_t`.
#[repr(C)]
pub struct ByteVec {
    pub size: usize,
    pub data: *mut u8,
}

/// `wasm_valtype_vec_t`.
#[repr(C)]
pub struct TypeVec {
    pub size: usize,
    pub data: *mut *mut ValType,
}

/// `wasmtime_func_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Func {
    store: u64,
    private: *mut c_void,
}

/// `wasmtime_instance_t`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Instance {
    store: u64,
    private: usize,
}

/// `wasmtime_memory_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Memory {
    store: u64,
    first: u32,
    second: u32,
    third: u32,
}

/// The union of `wasmtime_extern_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub union ExternOf {
    pub func: Func,
    pub memory: Memory,
    words: [u64; 3],
}

/// `wasmtime_extern_t`.
#[repr(C)]
pub struct Extern {
    pub kind: u8,
    pub of: ExternOf,
}

impl Default for Extern {
    fn default() -> Self {
        Self {
            kind: u8::MAX,
            of: ExternOf { words: [0; 3] },
        }
    }
}

pub const EXTERN_FUNC: u8 = 0;
pub const EXTERN_MEMORY: u8 = 3;

/// The union of `wasmtime_val_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub union ValOf {
    pub i32: i32,
    words: [u64; 3],
}

/// `wasmtime_val_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Val {
    pub kind: u8,
    pub of: ValOf,
}

pub const KIND_I32: u8 = 0;

impl Val {
    /// A number of 32 bits.
    pub const fn i32(value: i32) -> Self {
        let mut of = ValOf { words: [0; 3] };
        of.i32 = value;
        Self { kind: KIND_I32, of }
    }
}

/// `wasmtime_func_callback_t`.
pub type Callback =
    unsafe extern "C" fn(*mut c_void, *mut Caller, *const Val, usize, *mut Val, usize) -> *mut Trap;
/// The function that `wasmtime_store_epoch_deadline_callback` calls.
pub type EpochCallback =
    unsafe extern "C" fn(*mut Context, *mut c_void, *mut u64, *mut u8) -> *mut RawError;
type Finalizer = Option<unsafe extern "C" fn(*mut c_void)>;
type SetFlag = unsafe extern "C" fn(*mut Config, bool);
type SetByte = unsafe extern "C" fn(*mut Config, u8);

/// `WASMTIME_STRATEGY_CRANELIFT`, `WASMTIME_STRATEGY_WINCH`, `WASMTIME_OPT_LEVEL_SPEED`.
pub const CRANELIFT: u8 = 1;
pub const WINCH: u8 = 2;
pub const SPEED: u8 = 1;

macro_rules! functions {
    ($($name:ident: $of:ty,)*) => {
        /// The functions by their names in the library.
        pub struct Functions { $(pub $name: $of,)* }

        impl Functions {
            /// # Safety
            /// The library is wasmtime's, whose functions have these types.
            unsafe fn of(library: &Library) -> Result<Self, libloading::Error> {
                // SAFETY: the caller's promise.
                unsafe { Ok(Self { $($name: *library.get::<$of>(
                    concat!(stringify!($name), "\0").as_bytes()
                )?,)* }) }
            }
        }
    };
}

functions! {
    wasm_config_new: unsafe extern "C" fn() -> *mut Config,
    wasmtime_config_strategy_set: SetByte,
    wasmtime_config_cranelift_opt_level_set: SetByte,
    wasmtime_config_parallel_compilation_set: SetFlag,
    wasmtime_config_epoch_interruption_set: SetFlag,
    wasmtime_config_max_wasm_stack_set: unsafe extern "C" fn(*mut Config, usize),
    wasmtime_config_wasm_threads_set: SetFlag,
    wasmtime_config_wasm_memory64_set: SetFlag,
    wasmtime_config_wasm_multi_memory_set: SetFlag,
    wasmtime_config_wasm_relaxed_simd_set: SetFlag,
    wasmtime_config_wasm_simd_set: SetFlag,
    wasm_engine_new_with_config: unsafe extern "C" fn(*mut Config) -> *mut RawEngine,
    wasm_engine_delete: unsafe extern "C" fn(*mut RawEngine),
    wasmtime_engine_increment_epoch: unsafe extern "C" fn(*mut RawEngine),
    wasmtime_wat2wasm: unsafe extern "C" fn(*const c_char, usize, *mut ByteVec) -> *mut RawError,
    wasmtime_module_new:
        unsafe extern "C" fn(
            *mut RawEngine, *const u8, usize, *mut *mut RawModule,
        ) -> *mut RawError,
    wasmtime_module_delete: unsafe extern "C" fn(*mut RawModule),
    wasmtime_store_new:
        unsafe extern "C" fn(*mut RawEngine, *mut c_void, Finalizer) -> *mut RawStore,
    wasmtime_store_delete: unsafe extern "C" fn(*mut RawStore),
    wasmtime_store_context: unsafe extern "C" fn(*mut RawStore) -> *mut Context,
    wasmtime_store_limiter: unsafe extern "C" fn(*mut RawStore, i64, i64, i64, i64, i64),
    wasmtime_store_epoch_deadline_callback:
        unsafe extern "C" fn(*mut RawStore, EpochCallback, *mut c_void, Finalizer),
    wasmtime_context_set_epoch_deadline: unsafe extern "C" fn(*mut Context, u64),
    wasmtime_linker_new: unsafe extern "C" fn(*mut RawEngine) -> *mut RawLinker,
    wasmtime_linker_delete: unsafe extern "C" fn(*mut RawLinker),
    wasmtime_linker_define_func: unsafe extern "C" fn(
        *mut RawLinker, *const u8, usize, *const u8, usize, *const FuncType, Callback,
        *mut c_void, Finalizer,
    ) -> *mut RawError,
    wasmtime_linker_define_instance: unsafe extern "C" fn(
        *mut RawLinker, *mut Context, *const u8, usize, *const Instance,
    ) -> *mut RawError,
    wasmtime_linker_instantiate: unsafe extern "C" fn(
        *mut RawLinker, *mut Context, *const RawModule, *mut Instance, *mut *mut Trap,
    ) -> *mut RawError,
    wasmtime_instance_export_get: unsafe extern "C" fn(
        *mut Context, *const Instance, *const u8, usize, *mut Extern,
    ) -> bool,
    wasmtime_func_call: unsafe extern "C" fn(
        *mut Context, *const Func, *const Val, usize, *mut Val, usize, *mut *mut Trap,
    ) -> *mut RawError,
    wasmtime_caller_context: unsafe extern "C" fn(*mut Caller) -> *mut Context,
    wasmtime_memory_data: unsafe extern "C" fn(*mut Context, *const Memory) -> *mut u8,
    wasmtime_memory_data_size: unsafe extern "C" fn(*mut Context, *const Memory) -> usize,
    wasmtime_error_new: unsafe extern "C" fn(*const c_char) -> *mut RawError,
    wasmtime_error_message: unsafe extern "C" fn(*const RawError, *mut ByteVec),
    wasmtime_error_delete: unsafe extern "C" fn(*mut RawError),
    wasmtime_trap_new: unsafe extern "C" fn(*const u8, usize) -> *mut Trap,
    wasmtime_trap_code: unsafe extern "C" fn(*const Trap, *mut u8) -> bool,
    wasm_trap_message: unsafe extern "C" fn(*const Trap, *mut ByteVec),
    wasm_trap_delete: unsafe extern "C" fn(*mut Trap),
    wasm_byte_vec_delete: unsafe extern "C" fn(*mut ByteVec),
    wasm_valtype_new: unsafe extern "C" fn(u8) -> *mut ValType,
    wasm_valtype_vec_new: unsafe extern "C" fn(*mut TypeVec, usize, *const *mut ValType),
    wasm_functype_new: unsafe extern "C" fn(*mut TypeVec, *mut TypeVec) -> *mut FuncType,
    wasm_functype_delete: unsafe extern "C" fn(*mut FuncType),
}

impl Functions {
    /// Loads the library, which stays loaded: its threads and signal handlers do, too.
    ///
    /// # Safety
    /// The file is wasmtime's library of release 50.
    pub unsafe fn load(path: &Path) -> Result<Self, WasmError> {
        let failed = |error: libloading::Error| {
            let text = error.to_string();
            WasmError::Library(format!("{}: {text}", path.display()))
        };
        // SAFETY: the caller's promise.
        let library = unsafe { Library::new(path) }.map_err(failed)?;
        // SAFETY: the same.
        let functions = unsafe { Self::of(&library) }.map_err(failed)?;
        std::mem::forget(library);
        Ok(functions)
    }

    /// The text of an error or a trap's message, which is released.
    pub fn text(&self, mut message: ByteVec) -> String {
        let text = if message.data.is_null() {
            String::new()
        } else {
            // SAFETY: the library has written so many bytes.
            let bytes = unsafe { std::slice::from_raw_parts(message.data, message.size) };
            String::from_utf8_lossy(bytes)
                .trim_end_matches('\0')
                .to_owned()
        };
        // SAFETY: the vector is the library's, and released once.
        unsafe { (self.wasm_byte_vec_delete)(&mut message) };
        text
    }

    /// An error's text; the error is released. None for no error.
    pub fn failure(&self, error: *mut RawError) -> Option<String> {
        if error.is_null() {
            return None;
        }
        let mut message = ByteVec {
            size: 0,
            data: std::ptr::null_mut(),
        };
        // SAFETY: the error is alive, and released once.
        unsafe {
            (self.wasmtime_error_message)(error, &mut message);
            (self.wasmtime_error_delete)(error);
        }
        Some(self.text(message))
    }

    /// A trap's text; the trap is released. None for no trap.
    pub fn trapped(&self, trap: *mut Trap) -> Option<String> {
        if trap.is_null() {
            return None;
        }
        let mut code = u8::MAX;
        let mut message = ByteVec {
            size: 0,
            data: std::ptr::null_mut(),
        };
        // SAFETY: the trap is alive, and released once.
        let known = unsafe {
            let known = (self.wasmtime_trap_code)(trap, &mut code);
            (self.wasm_trap_message)(trap, &mut message);
            (self.wasm_trap_delete)(trap);
            known
        };
        let text = self.text(message);
        let words = match code {
            0 => "its stack overflowed",
            1 => "it accessed memory that it does not have",
            7 => "it divided by zero",
            9 => "it reached an `unreachable` instruction",
            _ => return Some(text.lines().last().unwrap_or_default().trim().to_owned()),
        };
        Some(if known { words.to_owned() } else { text })
    }
}
