//! Functions of the host that a circuit calls: errors and log messages; and its deadline.

use crate::api::{Caller, Context, Func, Functions, RawError, Trap, Val};
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::fmt::Write;
use std::ptr;
use std::time::{Duration, Instant};

/// Most bytes of one message, and of all messages of an error.
const MOST_BYTES: usize = 1 << 16;
/// Most words of a field element.
pub(crate) const MOST_WORDS: usize = 16;

/// The caller's side of a run.
pub trait Reports {
    /// A line of the circuit's `log`; false stops the run.
    fn log(&mut self, line: &str) -> bool;
    /// Called every few hundredths of a second; false stops the run.
    fn keep_going(&mut self) -> bool;
}

/// Why the host stopped a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Late,
    Asked,
    /// The circuit reported an error of this number.
    Error(i32),
}

/// The state that the functions share; it lives as long as the store. A function that calls an
/// export may be interrupted by `epoch`, so that all of them have shared references.
pub(crate) struct Host<'a> {
    functions: &'a Functions,
    deadline: Option<Instant>,
    /// The time that a run may take.
    pub time: Duration,
    reports: RefCell<&'a mut dyn Reports>,
    /// The circuit's exports, once there are any.
    pub message_char: Cell<Option<Func>>,
    pub read_word: Cell<Option<Func>>,
    pub words: Cell<usize>,
    /// Whether numbers are parts of a line (circom 2.0.7 and newer), or lines.
    pub joined: Cell<bool>,
    pub stop: Cell<Option<Stop>>,
    pub errors: RefCell<String>,
    line: RefCell<String>,
}

impl<'a> Host<'a> {
    pub fn new(functions: &'a Functions, time: Duration, reports: &'a mut dyn Reports) -> Self {
        Self {
            functions,
            // None: later than the clock can tell.
            deadline: Instant::now().checked_add(time),
            time,
            reports: RefCell::new(reports),
            message_char: Cell::default(),
            read_word: Cell::default(),
            words: Cell::default(),
            joined: Cell::new(true),
            stop: Cell::default(),
            errors: RefCell::default(),
            line: RefCell::default(),
        }
    }

    /// Calls an export that returns a number; 0 if it fails.
    fn number(&self, context: *mut Context, function: Func, argument: Option<i32>) -> i32 {
        let arguments: Vec<Val> = argument.map(Val::i32).into_iter().collect();
        let mut result = Val::i32(0);
        let mut trap = ptr::null_mut();
        // SAFETY: the function is of this context's store, and results have their own place.
        let error = unsafe {
            (self.functions.wasmtime_func_call)(
                context,
                &function,
                arguments.as_ptr(),
                arguments.len(),
                &mut result,
                1,
                &mut trap,
            )
        };
        let failed = self.functions.failure(error).is_some();
        if self.functions.trapped(trap).is_some() || failed {
            return 0;
        }
        // SAFETY: the type was checked by the library: one result, of which circom's are numbers
        // of 32 bits; all bits of the union are initialized.
        unsafe { result.of.i32 }
    }

    /// The message that the circuit holds, up to its zero.
    fn message(&self, context: *mut Context) -> String {
        let Some(function) = self.message_char.get() else {
            return String::new();
        };
        let mut bytes = Vec::new();
        while bytes.len() < MOST_BYTES && self.stop.get().is_none() {
            match self.number(context, function, None) as u8 {
                0 => break,
                byte => bytes.push(byte),
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The number in shared memory, decimal.
    fn shared_number(&self, context: *mut Context) -> String {
        let Some(function) = self.read_word.get() else {
            return String::new();
        };
        let places = 0..self.words.get().min(MOST_WORDS) as i32;
        let words = places.map(|place| self.number(context, function, Some(place)) as u32);
        decimal(words.collect())
    }

    /// Adds a part to the line that is being logged.
    fn add(&self, part: &str) {
        let mut line = self.line.borrow_mut();
        if !line.is_empty() {
            line.push(' ');
        }
        if line.len() < MOST_BYTES {
            line.push_str(part);
        }
    }

    fn log(&self) {
        let line = self.line.take();
        if !self.reports.borrow_mut().log(&line) {
            self.stop.set(Some(Stop::Asked));
        }
    }

    /// A trap if the run is to stop, else none.
    fn asked(&self) -> *mut Trap {
        if self.stop.get().is_none() {
            return ptr::null_mut();
        }
        let text = "stopped";
        // SAFETY: the text is alive; the library owns the trap that is returned to it.
        unsafe { (self.functions.wasmtime_trap_new)(text.as_ptr(), text.len()) }
    }
}

/// A number of little-endian words, decimal.
fn decimal(mut words: Vec<u32>) -> String {
    const STEP: u64 = 1_000_000_000;
    let mut digits: Vec<u64> = Vec::new();
    while words.iter().any(|&word| word != 0) {
        let mut rest = 0;
        for word in words.iter_mut().rev() {
            let value = rest << 32 | u64::from(*word);
            *word = (value / STEP) as u32;
            rest = value % STEP;
        }
        digits.push(rest);
    }
    let mut text = digits.pop().unwrap_or(0).to_string();
    for part in digits.iter().rev() {
        let _ = write!(text, "{part:09}");
    }
    text
}

/// # Safety
/// `env` is the store's [`Host`], which lives during the call.
unsafe fn host<'a>(env: *mut c_void) -> &'a Host<'a> {
    // SAFETY: the caller's promise.
    unsafe { &*env.cast::<Host<'a>>() }
}

type Parts = (*mut c_void, *mut Caller, *const Val, usize);

/// # Safety
/// As the library calls a callback.
unsafe fn with(parts: Parts, act: impl FnOnce(&Host<'_>, *mut Context, i32)) -> *mut Trap {
    let (env, caller, arguments, count) = parts;
    // SAFETY: `env` was given with the callback; the caller is alive during the call.
    let (host, context) = unsafe {
        let host = host(env);
        let context = (host.functions.wasmtime_caller_context)(caller);
        (host, context)
    };
    // SAFETY: the library passes so many arguments, of the declared type.
    let first = (count > 0).then(|| unsafe { (*arguments).of.i32 });
    act(host, context, first.unwrap_or(0));
    host.asked()
}

/// `runtime.exceptionHandler`.
pub(crate) unsafe extern "C" fn exception(
    env: *mut c_void,
    caller: *mut Caller,
    arguments: *const Val,
    count: usize,
    _: *mut Val,
    _: usize,
) -> *mut Trap {
    // SAFETY: the library calls it.
    unsafe {
        with((env, caller, arguments, count), |host, _, code| {
            host.stop.set(host.stop.get().or(Some(Stop::Error(code))));
        })
    }
}

/// `runtime.printErrorMessage`.
pub(crate) unsafe extern "C" fn error_message(
    env: *mut c_void,
    caller: *mut Caller,
    arguments: *const Val,
    count: usize,
    _: *mut Val,
    _: usize,
) -> *mut Trap {
    // SAFETY: the library calls it.
    unsafe {
        with((env, caller, arguments, count), |host, context, _| {
            let message = host.message(context);
            let mut errors = host.errors.borrow_mut();
            if errors.len() + message.len() < MOST_BYTES {
                errors.push_str(&message);
                errors.push('\n');
            }
        })
    }
}

/// `runtime.writeBufferMessage`.
pub(crate) unsafe extern "C" fn buffer_message(
    env: *mut c_void,
    caller: *mut Caller,
    arguments: *const Val,
    count: usize,
    _: *mut Val,
    _: usize,
) -> *mut Trap {
    // SAFETY: the library calls it.
    unsafe {
        with(
            (env, caller, arguments, count),
            |host, context, _| match host.message(context).as_str() {
                "\n" => host.log(),
                part => host.add(part),
            },
        )
    }
}

/// `runtime.showSharedRWMemory`.
pub(crate) unsafe extern "C" fn shared_memory(
    env: *mut c_void,
    caller: *mut Caller,
    arguments: *const Val,
    count: usize,
    _: *mut Val,
    _: usize,
) -> *mut Trap {
    // SAFETY: the library calls it.
    unsafe {
        with((env, caller, arguments, count), |host, context, _| {
            let number = host.shared_number(context);
            host.add(&number);
            if !host.joined.get() {
                host.log();
            }
        })
    }
}

/// Called when the epoch of the engine has advanced: the run continues to the next tick, or stops.
pub(crate) unsafe extern "C" fn epoch(
    _: *mut Context,
    env: *mut c_void,
    ticks: *mut u64,
    kind: *mut u8,
) -> *mut RawError {
    // SAFETY: `env` was given with the callback.
    let host = unsafe { host(env) };
    if host.deadline.is_some_and(|time| Instant::now() >= time) {
        host.stop.set(Some(Stop::Late));
    } else if !host.reports.borrow_mut().keep_going() {
        host.stop.set(Some(Stop::Asked));
    }
    if host.stop.get().is_some() {
        // SAFETY: the text ends with a zero; the library owns the error that is returned to it.
        return unsafe { (host.functions.wasmtime_error_new)(c"stopped".as_ptr()) };
    }
    // SAFETY: the library passes places for both.
    unsafe {
        *ticks = 1;
        *kind = 0;
    }
    ptr::null_mut()
}

#[cfg(test)]
mod tests {
    use super::decimal;

    #[test]
    fn numbers_of_words_are_decimal() {
        assert_eq!(decimal(vec![]), "0");
        assert_eq!(decimal(vec![7, 0]), "7");
        assert_eq!(decimal(vec![0, 1]), "4294967296");
        assert_eq!(decimal(vec![1_000_000_007, 0, 0]), "1000000007");
        assert_eq!(
            decimal(vec![u32::MAX; 4]),
            u128::MAX.to_string(),
            "blocks of nine digits keep their zeros"
        );
    }
}
