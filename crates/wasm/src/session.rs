//! One instance of a circuit, and the loops that pass values in and out of it.

use crate::WasmError;
use crate::api::{
    Callback, Context, EXTERN_FUNC, EXTERN_MEMORY, Extern, Func, FuncType, Functions, Instance,
    KIND_I32, Memory, RawLinker, RawStore, Trap, TypeVec, Val,
};
use crate::engine::{Engine, Module, one_line};
use crate::host::{self, Host, Stop};
use std::ptr;
use zeroize::Zeroize;

/// Passes values through a memory of its own: a call from the host costs as much as a hundred
/// calls between modules.
pub(crate) const GLUE: &str = r#"(module
  (import "circuit" "getWitness" (func $get (param i32)))
  (import "circuit" "readSharedRWMemory" (func $read (param i32) (result i32)))
  (import "circuit" "writeSharedRWMemory" (func $write (param i32 i32)))
  (import "circuit" "setInputSignal" (func $set (param i32 i32 i32)))
  (memory (export "memory") 16 16)
  ;; Values of `words` words each: inputs `first` to before `last` of a signal by its hash.
  (func (export "set")
    (param $high i32) (param $low i32) (param $first i32) (param $last i32) (param $words i32)
    (local $at i32) (local $word i32)
    (block $done (loop $values
      (br_if $done (i32.ge_u (local.get $first) (local.get $last)))
      (local.set $word (i32.const 0))
      (loop $each
        (call $write (local.get $word) (i32.load (local.get $at)))
        (local.set $at (i32.add (local.get $at) (i32.const 4)))
        (local.set $word (i32.add (local.get $word) (i32.const 1)))
        (br_if $each (i32.lt_u (local.get $word) (local.get $words))))
      (call $set (local.get $high) (local.get $low) (local.get $first))
      (local.set $first (i32.add (local.get $first) (i32.const 1)))
      (br $values))))
  ;; Wires `first` to before `last`.
  (func (export "get") (param $first i32) (param $last i32) (param $words i32)
    (local $at i32) (local $word i32)
    (block $done (loop $values
      (br_if $done (i32.ge_u (local.get $first) (local.get $last)))
      (call $get (local.get $first))
      (local.set $word (i32.const 0))
      (loop $each
        (i32.store (local.get $at) (call $read (local.get $word)))
        (local.set $at (i32.add (local.get $at) (i32.const 4)))
        (local.set $word (i32.add (local.get $word) (i32.const 1)))
        (br_if $each (i32.lt_u (local.get $word) (local.get $words))))
      (local.set $first (i32.add (local.get $first) (i32.const 1)))
      (br $values))))
)"#;
/// Bytes of the glue's memory.
pub(crate) const CHUNK_BYTES: usize = 16 << 16;
/// Most elements of a module's tables.
const TABLE_ELEMENTS: i64 = 1 << 20;

/// The functions of the host, by their names, and the number of their parameters.
const HOST: [(&str, usize, Callback); 4] = [
    ("exceptionHandler", 1, host::exception),
    ("printErrorMessage", 0, host::error_message),
    ("writeBufferMessage", 0, host::buffer_message),
    ("showSharedRWMemory", 0, host::shared_memory),
];

/// A store with an instance; its memory is overwritten when it is dropped.
pub(crate) struct Session<'a> {
    functions: &'a Functions,
    pub host: Box<Host<'a>>,
    store: *mut RawStore,
    context: *mut Context,
    linker: *mut RawLinker,
    pub circuit: Instance,
    memory: Option<Memory>,
    glue: Option<(Instance, Memory)>,
}

impl<'a> Session<'a> {
    /// An instance of a circuit, with so many bytes of memory at most.
    pub fn open(
        engine: &'a Engine,
        module: &Module,
        host: Host<'a>,
        memory_bytes: u64,
    ) -> Result<Self, WasmError> {
        let f = &engine.functions;
        let mut host = Box::new(host);
        let env = ptr::from_mut(&mut *host).cast();
        let most = i64::try_from(memory_bytes).unwrap_or(i64::MAX);
        // SAFETY: the engine is alive; the host outlives the store, which is deleted before.
        let (store, context, linker) = unsafe {
            let store = (f.wasmtime_store_new)(engine.raw(), ptr::null_mut(), None);
            (f.wasmtime_store_limiter)(store, most, TABLE_ELEMENTS, 2, 4, 2);
            (f.wasmtime_store_epoch_deadline_callback)(store, host::epoch, env, None);
            let context = (f.wasmtime_store_context)(store);
            (f.wasmtime_context_set_epoch_deadline)(context, 1);
            (store, context, (f.wasmtime_linker_new)(engine.raw()))
        };
        let mut session = Self {
            functions: f,
            host,
            store,
            context,
            linker,
            circuit: Instance::default(),
            memory: None,
            glue: None,
        };
        for (name, parameters, function) in HOST {
            session.define(name, parameters, function)?;
        }
        session.circuit = session.instantiate(module)?;
        session.memory = session.memory_of(&session.circuit);
        if session.memory.is_none() {
            return Err(WasmError::NotCircuit("it exports no `memory`".to_owned()));
        }
        Ok(session)
    }

    fn define(&self, name: &str, count: usize, function: Callback) -> Result<(), WasmError> {
        let (f, module) = (self.functions, "runtime");
        let env = ptr::from_ref(&*self.host).cast_mut().cast();
        let kind = function_type(f, count);
        // SAFETY: names, type and environment are alive; the linker copies the type.
        let error = unsafe {
            let error = (f.wasmtime_linker_define_func)(
                self.linker,
                module.as_ptr(),
                module.len(),
                name.as_ptr(),
                name.len(),
                kind,
                function,
                env,
                None,
            );
            (f.wasm_functype_delete)(kind);
            error
        };
        f.failure(error)
            .map_or(Ok(()), |text| Err(WasmError::Library(text)))
    }

    fn instantiate(&self, module: &Module) -> Result<Instance, WasmError> {
        let f = self.functions;
        let (mut instance, mut trap) = (Instance::default(), ptr::null_mut());
        // SAFETY: all are alive, and of one engine.
        let error = unsafe {
            (f.wasmtime_linker_instantiate)(
                self.linker,
                self.context,
                module.raw(),
                &mut instance,
                &mut trap,
            )
        };
        if let Some(text) = f.failure(error) {
            self.stopped()?;
            f.trapped(trap);
            return Err(WasmError::NotCircuit(one_line(&text)));
        }
        self.ended(None, trap).map(|()| instance)
    }

    /// Adds the glue module.
    pub fn connect(&mut self, glue: &Module) -> Result<(), WasmError> {
        let (f, name) = (self.functions, "circuit");
        // SAFETY: all are alive.
        let error = unsafe {
            (f.wasmtime_linker_define_instance)(
                self.linker,
                self.context,
                name.as_ptr(),
                name.len(),
                &self.circuit,
            )
        };
        if let Some(text) = f.failure(error) {
            return Err(WasmError::Library(text));
        }
        let instance = self.instantiate(glue)?;
        let memory = self.memory_of(&instance);
        self.glue = memory.map(|memory| (instance, memory));
        Ok(())
    }

    fn export(&self, instance: &Instance, name: &str) -> Option<Extern> {
        let mut found = Extern::default();
        // SAFETY: the instance is of the store; the place is written if there is such an export.
        let exists = unsafe {
            (self.functions.wasmtime_instance_export_get)(
                self.context,
                instance,
                name.as_ptr(),
                name.len(),
                &mut found,
            )
        };
        exists.then_some(found)
    }

    fn memory_of(&self, instance: &Instance) -> Option<Memory> {
        let found = self.export(instance, "memory")?;
        if found.kind != EXTERN_MEMORY {
            return None;
        }
        // SAFETY: the kind says which member is initialized.
        Some(unsafe { found.of.memory })
    }

    /// An exported function of the circuit.
    pub fn function(&self, name: &str) -> Option<Func> {
        self.function_of(&self.circuit, name)
    }

    fn function_of(&self, instance: &Instance, name: &str) -> Option<Func> {
        let found = self.export(instance, name)?;
        if found.kind != EXTERN_FUNC {
            return None;
        }
        // SAFETY: the kind says which member is initialized.
        Some(unsafe { found.of.func })
    }

    /// Calls an export of the circuit; a missing one is an error.
    pub fn call(&self, name: &str, arguments: &[i32]) -> Result<(), WasmError> {
        self.called(self.needed(name)?, name, arguments, &mut [])
    }

    /// The number that an export of the circuit returns.
    pub fn number(&self, name: &str, arguments: &[i32]) -> Result<i32, WasmError> {
        let mut result = [Val::i32(0)];
        self.called(self.needed(name)?, name, arguments, &mut result)?;
        let [Val { kind, of }] = result;
        if kind != KIND_I32 {
            let text = format!("its `{name}` returns no number of 32 bits");
            return Err(WasmError::NotCircuit(text));
        }
        // SAFETY: the kind says which member is initialized.
        Ok(unsafe { of.i32 })
    }

    fn needed(&self, name: &str) -> Result<Func, WasmError> {
        self.function(name)
            .ok_or_else(|| WasmError::NotCircuit(format!("it exports no function `{name}`")))
    }

    fn called(
        &self,
        function: Func,
        name: &str,
        arguments: &[i32],
        results: &mut [Val],
    ) -> Result<(), WasmError> {
        let f = self.functions;
        let given: Vec<Val> = arguments.iter().copied().map(Val::i32).collect();
        let mut trap = ptr::null_mut();
        // SAFETY: the function is of the store; the library checks numbers and types of values.
        let error = unsafe {
            (f.wasmtime_func_call)(
                self.context,
                &function,
                given.as_ptr(),
                given.len(),
                results.as_mut_ptr(),
                results.len(),
                &mut trap,
            )
        };
        self.ended(f.failure(error).map(|text| (name, text)), trap)
    }

    /// The end of a call, as an error unless it is a return.
    fn ended(&self, error: Option<(&str, String)>, trap: *mut Trap) -> Result<(), WasmError> {
        let trap = self.functions.trapped(trap);
        self.stopped()?;
        if let Some((name, text)) = error {
            return Err(WasmError::NotCircuit(format!(
                "its `{name}`: {}",
                one_line(&text)
            )));
        }
        trap.map_or(Ok(()), |text| Err(WasmError::Trapped(text)))
    }

    /// The host's reason to stop, as an error.
    fn stopped(&self) -> Result<(), WasmError> {
        let host = &self.host;
        match host.stop.get() {
            None => Ok(()),
            Some(Stop::Asked) => Err(WasmError::Interrupted),
            Some(Stop::Late) => Err(WasmError::Timeout(host.time)),
            Some(Stop::Error(code)) => {
                let places = host.errors.borrow();
                let places: Vec<&str> = places.lines().filter(|line| !line.is_empty()).collect();
                Err(WasmError::Refused(told(code, &places.join("; "))))
            }
        }
    }

    /// Calls a function of the glue.
    pub fn pass(&self, name: &str, arguments: &[i32]) -> Result<(), WasmError> {
        let glue = self.glue.as_ref();
        let function = glue.and_then(|(instance, _)| self.function_of(instance, name));
        let function = function.ok_or_else(|| WasmError::Library("no glue".to_owned()))?;
        self.called(function, name, arguments, &mut [])
    }

    /// The glue's memory.
    pub fn chunk(&mut self) -> &mut [u8] {
        match &self.glue {
            Some((_, memory)) => self.contents(*memory),
            None => &mut [],
        }
    }

    /// Bytes of the circuit's memory.
    pub fn memory_bytes(&self) -> usize {
        let size = self.functions.wasmtime_memory_data_size;
        // SAFETY: the memory is of the store.
        let of = |memory: &Memory| unsafe { size(self.context, memory) };
        self.memory.as_ref().map_or(0, of)
    }

    fn contents(&mut self, memory: Memory) -> &mut [u8] {
        let f = self.functions;
        // SAFETY: the memory is of the store, which runs nothing while its bytes are borrowed.
        unsafe {
            let start = (f.wasmtime_memory_data)(self.context, &memory);
            let size = (f.wasmtime_memory_data_size)(self.context, &memory);
            if start.is_null() {
                return &mut [];
            }
            std::slice::from_raw_parts_mut(start, size)
        }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        let memories = [self.memory, self.glue.map(|(_, memory)| memory)];
        for memory in memories.into_iter().flatten() {
            self.contents(memory).zeroize();
        }
        // SAFETY: both are released once; the host is alive until afterwards.
        unsafe {
            (self.functions.wasmtime_linker_delete)(self.linker);
            (self.functions.wasmtime_store_delete)(self.store);
        }
    }
}

/// A function of so many numbers that returns nothing.
fn function_type(f: &Functions, count: usize) -> *mut FuncType {
    // SAFETY: types and vectors are taken over by the function's type.
    unsafe {
        let kinds: Vec<_> = (0..count).map(|_| (f.wasm_valtype_new)(KIND_I32)).collect();
        let mut parameters = TypeVec {
            size: 0,
            data: ptr::null_mut(),
        };
        (f.wasm_valtype_vec_new)(&mut parameters, count, kinds.as_ptr());
        let mut results = TypeVec {
            size: 0,
            data: ptr::null_mut(),
        };
        (f.wasm_functype_new)(&mut parameters, &mut results)
    }
}

/// An error of the circuit by its number, with the places that it names.
fn told(code: i32, places: &str) -> String {
    let what = match code {
        1 => "the circuit does not have such an input",
        2 => "an input has too many values",
        3 => "a value of an input is set twice",
        4 => "the inputs do not satisfy the circuit",
        5 => "the circuit has not enough memory",
        6 => "an index of an input is outside its array",
        7 => "an index is outside its array",
        _ => "the circuit reports an error",
    };
    let number = if (1..=7).contains(&code) {
        String::new()
    } else {
        format!(" {code}")
    };
    if places.is_empty() {
        return format!("{what}{number}");
    }
    format!("{what}{number}: {places}")
}
