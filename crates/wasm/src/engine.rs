//! Engines and compiled modules.

use crate::WasmError;
use crate::api::{ByteVec, CRANELIFT, Functions, RawEngine, RawModule, SPEED, WINCH};
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// Most bytes of a module's stack.
pub(crate) const STACK_BYTES: usize = 1 << 20;

/// How a module is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compiler {
    /// In one pass: compiles several times as fast, and its code is slower.
    Baseline,
    /// With optimizations, for modules that run often.
    Optimizing,
}

/// An engine; threads may share it.
pub(crate) struct Engine {
    pub(crate) functions: Functions,
    raw: NonNull<RawEngine>,
}

// SAFETY: an engine of wasmtime may be used by several threads.
unsafe impl Send for Engine {}
// SAFETY: the same.
unsafe impl Sync for Engine {}

impl Engine {
    /// # Safety
    /// The file is wasmtime's library of release 50.
    pub(crate) unsafe fn open(
        library: &Path,
        compiler: Compiler,
        parallel: bool,
    ) -> Result<Self, WasmError> {
        // SAFETY: the caller's promise.
        let functions = unsafe { Functions::load(library) }?;
        let f = &functions;
        // SAFETY: the configuration is alive until the engine takes it.
        let raw = unsafe {
            let config = (f.wasm_config_new)();
            match compiler {
                Compiler::Baseline => (f.wasmtime_config_strategy_set)(config, WINCH),
                Compiler::Optimizing => {
                    (f.wasmtime_config_strategy_set)(config, CRANELIFT);
                    (f.wasmtime_config_cranelift_opt_level_set)(config, SPEED);
                }
            }
            (f.wasmtime_config_parallel_compilation_set)(config, parallel);
            (f.wasmtime_config_epoch_interruption_set)(config, true);
            (f.wasmtime_config_max_wasm_stack_set)(config, STACK_BYTES);
            (f.wasmtime_config_wasm_threads_set)(config, false);
            (f.wasmtime_config_wasm_memory64_set)(config, false);
            (f.wasmtime_config_wasm_multi_memory_set)(config, false);
            (f.wasmtime_config_wasm_relaxed_simd_set)(config, false);
            (f.wasmtime_config_wasm_simd_set)(config, false);
            (f.wasm_engine_new_with_config)(config)
        };
        let raw = NonNull::new(raw).ok_or_else(|| {
            WasmError::Library(format!("no engine of the {compiler:?} compiler here"))
        })?;
        Ok(Self { functions, raw })
    }

    pub(crate) const fn raw(&self) -> *mut RawEngine {
        self.raw.as_ptr()
    }

    /// Lets every store of the engine look at its deadline.
    pub(crate) fn tick(&self) {
        // SAFETY: the engine is alive; any thread may do this at any time.
        unsafe { (self.functions.wasmtime_engine_increment_epoch)(self.raw()) }
    }

    /// Bytes of a module in text form.
    fn assembled(&self, text: &str) -> Result<Vec<u8>, WasmError> {
        let f = &self.functions;
        let mut bytes = ByteVec {
            size: 0,
            data: ptr::null_mut(),
        };
        // SAFETY: the text is alive, and the vector is written where there is no error.
        let error = unsafe { (f.wasmtime_wat2wasm)(text.as_ptr().cast(), text.len(), &mut bytes) };
        if let Some(text) = f.failure(error) {
            return Err(WasmError::Module(text));
        }
        // SAFETY: the library has written so many bytes; the vector is released once.
        unsafe {
            let own = std::slice::from_raw_parts(bytes.data, bytes.size).to_vec();
            (f.wasm_byte_vec_delete)(&mut bytes);
            Ok(own)
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // SAFETY: it is released once, and modules keep theirs alive.
        unsafe { (self.functions.wasm_engine_delete)(self.raw()) }
    }
}

/// A compiled module; threads may share it.
pub(crate) struct Module {
    engine: Arc<Engine>,
    raw: NonNull<RawModule>,
}

// SAFETY: a module of wasmtime may be used by several threads.
unsafe impl Send for Module {}
// SAFETY: the same.
unsafe impl Sync for Module {}

impl Module {
    pub(crate) fn compile(engine: &Arc<Engine>, bytes: &[u8]) -> Result<Self, WasmError> {
        let f = &engine.functions;
        let mut raw = ptr::null_mut();
        // SAFETY: the bytes are alive; the module is written where there is no error.
        let error =
            unsafe { (f.wasmtime_module_new)(engine.raw(), bytes.as_ptr(), bytes.len(), &mut raw) };
        if let Some(text) = f.failure(error) {
            return Err(WasmError::Module(one_line(&text)));
        }
        let raw = NonNull::new(raw).ok_or_else(|| WasmError::Module("no module".to_owned()))?;
        let engine = Arc::clone(engine);
        Ok(Self { engine, raw })
    }

    /// A module in text form.
    pub(crate) fn assemble(engine: &Arc<Engine>, text: &str) -> Result<Self, WasmError> {
        Self::compile(engine, &engine.assembled(text)?)
    }

    pub(crate) const fn raw(&self) -> *const RawModule {
        self.raw.as_ptr()
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: it is released once; instances keep what they need of it.
        unsafe { (self.engine.functions.wasmtime_module_delete)(self.raw.as_ptr()) }
    }
}

/// An error of several lines, its causes after commas.
pub(crate) fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim);
    let told = lines.filter(|line| !line.is_empty() && *line != "Caused by:");
    told.collect::<Vec<_>>().join(": ")
}
