//! A GPU as this process uses it: the primary context, which other libraries of the process share,
//! the kernels, and memory. It is made when it is first opened and stays for the process.

use super::api::{
    self, Address, Api, Context, EVENT_UNTIMED, Event, Failure, Function, Pool,
    STREAM_NON_BLOCKING, Stream, code,
};
use super::facts::Facts;
use super::kernels::{DRIVER, Image, Limits, kernels};
use super::library::{check, library};
use super::own::Own;
use super::state::Slots;
use cloakwork_process::Mutex;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{CStr, c_char, c_int};
use std::ptr::null_mut;
use std::sync::Arc;
use std::time::Duration;

/// Allocations begin at multiples of this, and a queue's memory at this.
const ALIGNED_BYTES: usize = 256;

/// A GPU's function with the shared memory that it was allowed so far.
#[derive(Clone, Copy)]
struct Known {
    function: Function,
    shared_bytes: u32,
}

/// A handle that the next one who needs one gets.
struct Spare<T>(T);

// SAFETY: a handle, which any thread may give to the driver.
unsafe impl<T> Send for Spare<T> {}

/// A module that is loaded.
#[derive(Clone, Copy)]
struct Loaded(api::Module);

/// A GPU in use.
pub struct Gpu {
    pub api: &'static Api,
    context: Context,
    pub limits: Limits,
    /// Memory that is allocated in the order of a stream; none where the driver has no pools.
    pool: Option<Pool>,
    facts: Facts,
    /// The modules that are loaded, by the address of their name.
    modules: Mutex<HashMap<usize, Loaded>>,
    /// The functions that were looked up, by the address of their name.
    functions: Mutex<HashMap<usize, Known>>,
    /// Zeroes and frees memory.
    service: Stream,
    /// Streams and events that nobody uses now, with nothing left to do.
    streams: Mutex<Vec<Spare<Stream>>>,
    events: Mutex<Vec<Spare<Event>>>,
    pub slots: Slots,
    /// The driver's own kernels.
    pub own: Own,
}

// SAFETY: the driver's functions may be called by any thread; handles are only given to them.
unsafe impl Send for Gpu {}
// SAFETY: as above.
unsafe impl Sync for Gpu {}

/// The GPU's context is the calling thread's while this lives.
pub struct Current<'a>(&'a Api);

impl Drop for Current<'_> {
    fn drop(&mut self) {
        let mut context = null_mut();
        // SAFETY: the function writes the context; a failure leaves nothing to do.
        let _ = unsafe { self.0.pop_context(&raw mut context) };
    }
}

/// A GPU that a thread opens, or one that is open.
enum Opening {
    Begun,
    Made(Arc<Gpu>),
}

/// The GPUs that were opened, by number.
static OPEN: Mutex<BTreeMap<u32, Opening>> = Mutex::new(BTreeMap::new());

impl Gpu {
    /// GPU `index`, opened if nobody did.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn open(index: u32) -> Result<Arc<Self>, String> {
        let api = &library()?.api;
        loop {
            match OPEN.lock().entry(index) {
                Entry::Vacant(free) => {
                    free.insert(Opening::Begun);
                    break;
                }
                Entry::Occupied(found) => {
                    if let Opening::Made(gpu) = found.get() {
                        return Ok(Arc::clone(gpu));
                    }
                }
            }
            // What a second thread made would stay, unused. No lock is held meanwhile, as CUDA may
            // fork; a forked child does not come here: `library` refuses it.
            std::thread::sleep(Duration::from_millis(1));
        }
        let made = Self::new(api, index).map(Arc::new);
        match &made {
            Ok(gpu) => OPEN.lock().insert(index, Opening::Made(Arc::clone(gpu))),
            Err(_) => OPEN.lock().remove(&index),
        };
        made
    }

    fn new(api: &'static Api, index: u32) -> Result<Self, String> {
        check(index)?;
        let image = kernels().module(DRIVER)?;
        Self::with(api, index as c_int, image).map_err(|failure| match failure.code {
            code::OUT_OF_MEMORY => format!("the GPU has no memory left: {}", failure.words),
            _ => failure.words,
        })
    }

    fn with(api: &'static Api, index: c_int, image: Image) -> Result<Self, Failure> {
        let facts = Facts::of(api, index)?;
        let (mut context, mut service) = (null_mut(), null_mut());
        // SAFETY: the function writes the context.
        unsafe { api.retain_context(&raw mut context, facts.device) }?;
        let _current = enter(api, context)?;
        let module = facts.load(api, image)?;
        // SAFETY: as above, in the context.
        unsafe { api.create_stream(&raw mut service, STREAM_NON_BLOCKING) }?;
        let slots = Slots::new(api, service)?;
        Ok(Self {
            api,
            context,
            limits: facts.limits,
            pool: facts.pool(api)?,
            facts,
            modules: Mutex::default(),
            functions: Mutex::default(),
            service,
            streams: Mutex::default(),
            events: Mutex::default(),
            slots,
            own: Own::of(api, module)?,
        })
    }

    /// Makes its context the calling thread's.
    ///
    /// # Errors
    /// The driver's.
    pub fn enter(&self) -> Result<Current<'_>, Failure> {
        enter(self.api, self.context)
    }

    /// Waits for all work of the default stream.
    ///
    /// # Errors
    /// The driver's.
    pub fn finish_default(&self) -> Result<(), Failure> {
        let _current = self.enter()?;
        // SAFETY: no stream is the default one.
        unsafe { self.api.finish_stream(null_mut()) }
    }

    /// Zeroed memory. The context is current.
    ///
    /// # Errors
    /// The driver's.
    pub fn allocate(&self, bytes: u64) -> Result<Address, Failure> {
        let at = self.allocate_in(bytes, self.service)?;
        // SAFETY: fresh memory of so many bytes.
        let zeroed = unsafe {
            self.api
                .fill(at, 0, bytes as usize, self.service)
                .and_then(|()| self.api.finish_stream(self.service))
        };
        if zeroed.is_err() {
            self.free(at);
        }
        zeroed.map(|()| at)
    }

    /// Memory of any contents for the work of a stream. The context is current.
    ///
    /// # Errors
    /// The driver's.
    pub fn allocate_in(&self, bytes: u64, stream: Stream) -> Result<Address, Failure> {
        let mut at = 0;
        let bytes = usize::try_from(bytes)
            .unwrap_or(usize::MAX)
            .max(ALIGNED_BYTES);
        // SAFETY: the functions write the address; the pool and the stream are this context's.
        let mut attempt = || unsafe {
            match self.pool {
                Some(pool) => self.api.allocate_in(&raw mut at, bytes, pool, stream),
                None => self.api.allocate(&raw mut at, bytes),
            }
        };
        let mut done = attempt();
        if let (Err(failure), Some(pool)) = (&done, self.pool)
            && failure.code == code::OUT_OF_MEMORY
        {
            // SAFETY: the pool is this context's. What it keeps may lie in the way.
            unsafe { self.api.trim_pool(pool, 0) }?;
            done = attempt();
        }
        done.map(|()| at)
            .map_err(|failure| self.with_free_memory(failure, bytes))
    }

    /// Says how much was asked for and how much there is.
    fn with_free_memory(&self, failure: Failure, bytes: usize) -> Failure {
        let (mut free, mut total) = (0, 0);
        // SAFETY: the function writes two numbers.
        let known = unsafe { self.api.memory_info(&raw mut free, &raw mut total) };
        if failure.code != code::OUT_OF_MEMORY || known.is_err() {
            return failure;
        }
        Failure {
            words: format!("out of memory: {bytes} bytes requested, {free} of {total} are free"),
            ..failure
        }
    }

    /// Frees memory that no work uses any more. The context is current.
    pub fn free(&self, at: Address) {
        self.free_in(at, self.service);
    }

    /// Frees memory when a stream is past the work that it has. The context is current.
    pub fn free_in(&self, at: Address, stream: Stream) {
        // SAFETY: the memory is of this context and freed once. A failure is one of earlier work.
        let _ = unsafe {
            match self.pool {
                Some(_) => self.api.free_in(at, stream),
                None => self.api.free(at),
            }
        };
    }

    /// Brings words to memory that no work uses yet. The context is current.
    ///
    /// # Errors
    /// The driver's.
    pub fn upload_now<T: Copy>(&self, to: Address, values: &[T]) -> Result<(), Failure> {
        if values.is_empty() {
            return Ok(());
        }
        // SAFETY: the memory has so many bytes; the values outlive the wait.
        unsafe {
            let bytes = size_of_val(values);
            self.api
                .upload(to, values.as_ptr().cast(), bytes, self.service)?;
            self.api.finish_stream(self.service)
        }
    }

    /// A function of a module, both by their names, allowed so much dynamic shared memory. The
    /// context is current.
    ///
    /// # Errors
    /// The driver's, or this build lacks the module.
    ///
    /// # Safety
    /// The names are texts that live as long as the process.
    pub unsafe fn function(
        &self,
        (module, name): (*const c_char, *const c_char),
        shared_bytes: u32,
    ) -> Result<Function, Failure> {
        /// The dynamic shared memory that every function may use without being allowed more.
        const FREE_BYTES: u32 = 48 << 10;
        let found = self.functions.lock().get(&(name as usize)).copied();
        if let Some(known) = found.filter(|known| shared_bytes <= known.shared_bytes) {
            return Ok(known.function);
        }
        let function = match found {
            Some(known) => known.function,
            // SAFETY: the caller's promise.
            None => unsafe { self.find(CStr::from_ptr(module), CStr::from_ptr(name)) }?,
        };
        // Under one lock: what another thread was allowed meanwhile stays allowed.
        let mut functions = self.functions.lock();
        let known = functions.entry(name as usize).or_insert(Known {
            function,
            shared_bytes: FREE_BYTES,
        });
        if shared_bytes > known.shared_bytes {
            let value = c_int::try_from(shared_bytes).unwrap_or(c_int::MAX);
            // SAFETY: the function is of the context.
            unsafe {
                self.api
                    .set_function(known.function, api::FUNCTION_SHARED_BYTES, value)?;
            }
            known.shared_bytes = shared_bytes;
        }
        Ok(known.function)
    }

    /// Looks a function up, and loads its module if it is the first of it.
    fn find(&self, module: &CStr, name: &CStr) -> Result<Function, Failure> {
        let found = self
            .modules
            .lock()
            .get(&(module.as_ptr() as usize))
            .copied();
        let Loaded(loaded) = match found {
            Some(loaded) => loaded,
            None => {
                let image = kernels().module(module);
                let image = image.map_err(|words| Failure { code: -1, words })?;
                let loaded = Loaded(self.facts.load(self.api, image)?);
                // Two threads may load it; each uses its own.
                self.modules.lock().insert(module.as_ptr() as usize, loaded);
                loaded
            }
        };
        let mut function = null_mut();
        // SAFETY: the module is loaded.
        let found = unsafe {
            self.api
                .find_function(&raw mut function, loaded, name.as_ptr())
        };
        found.map(|()| function).map_err(|failure| failure.of(name))
    }

    /// A stream without work. The context is current.
    ///
    /// # Errors
    /// The driver's.
    pub fn stream(&self) -> Result<Stream, Failure> {
        if let Some(Spare(stream)) = self.streams.lock().pop() {
            return Ok(stream);
        }
        let mut stream = null_mut();
        // SAFETY: the function writes the stream.
        unsafe { self.api.create_stream(&raw mut stream, STREAM_NON_BLOCKING) }?;
        Ok(stream)
    }

    /// Takes a stream back that has no work left.
    pub fn give_stream_back(&self, stream: Stream) {
        self.streams.lock().push(Spare(stream));
    }

    /// An event that is to be recorded. The context is current.
    ///
    /// # Errors
    /// The driver's.
    pub fn event(&self) -> Result<Event, Failure> {
        if let Some(Spare(event)) = self.events.lock().pop() {
            return Ok(event);
        }
        let mut event = null_mut();
        // SAFETY: the function writes the event.
        unsafe { self.api.create_event(&raw mut event, EVENT_UNTIMED) }?;
        Ok(event)
    }

    /// Takes an event back. Who waits for it in a stream waits for what was recorded.
    pub fn give_event_back(&self, event: Event) {
        self.events.lock().push(Spare(event));
    }
}

fn enter(api: &Api, context: Context) -> Result<Current<'_>, Failure> {
    // SAFETY: the context is retained for the life of the process.
    unsafe { api.push_context(context) }?;
    Ok(Current(api))
}
