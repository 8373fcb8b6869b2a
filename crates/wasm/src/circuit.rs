//! A compiled circuit, and its witnesses.

use crate::WasmError;
use crate::engine::{Compiler, Engine, Module, STACK_BYTES};
use crate::host::{Host, MOST_WORDS, Reports};
use crate::session::{CHUNK_BYTES, GLUE, Session};
use crate::stack::check_room;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Time between looks at a run's deadline.
const TICK: Duration = Duration::from_millis(20);
const WORD_BYTES: usize = 4;

/// The facts that a circuit states about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Of circom: major, minor, patch; 0 where older versions do not say.
    pub version: [u32; 3],
    /// The field's prime, little-endian.
    pub prime: Vec<u8>,
    /// Number of wires.
    pub wires: usize,
    /// Number of values of all inputs.
    pub inputs: usize,
}

/// Values of one input, each of as many little-endian bytes as the prime.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The signal's name in the main component.
    pub name: &'a str,
    /// The values, one after the other.
    pub values: &'a [u8],
}

/// Limits of a run.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Of the circuit's memory.
    pub memory_bytes: u64,
    /// From the beginning of the run.
    pub time: Duration,
}

/// A circuit, compiled; threads may share it.
pub struct Circuit {
    engine: Arc<Engine>,
    module: Module,
    glue: Module,
    facts: Facts,
}

impl std::fmt::Debug for Circuit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Circuit({:?})", self.facts)
    }
}

impl Circuit {
    /// Compiles a module, and asks it for its facts.
    ///
    /// `parallel`: by several threads, which must not be done in a forked child.
    ///
    /// # Errors
    /// The library or the module is none, the module is not circom's, or does not answer within
    /// the limits.
    ///
    /// # Safety
    /// The file is wasmtime's library of release 50.
    pub unsafe fn compile(
        library: &Path,
        bytes: &[u8],
        (compiler, parallel): (Compiler, bool),
        limits: Limits,
        reports: &mut (dyn Reports + Send),
    ) -> Result<Self, WasmError> {
        // SAFETY: the caller's promise.
        let engine = Arc::new(unsafe { Engine::open(library, compiler, parallel) }?);
        let module = Module::compile(&engine, bytes)?;
        let glue = Module::assemble(&engine, GLUE)?;
        let facts = ticking(&engine, || {
            let host = Host::new(&engine.functions, limits.time, reports);
            facts(&Session::open(&engine, &module, host, limits.memory_bytes)?)
        })?;
        Ok(Self {
            engine,
            module,
            glue,
            facts,
        })
    }

    /// The facts that the circuit states about itself.
    #[must_use]
    pub const fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The number of values of each input by its name; None for no input.
    ///
    /// # Errors
    /// The circuit is too old to tell, or does not answer within the limits.
    pub fn sizes(
        &self,
        names: &[&str],
        limits: Limits,
        reports: &mut (dyn Reports + Send),
    ) -> Result<Vec<Option<usize>>, WasmError> {
        ticking(&self.engine, || {
            let session = self.session(limits, reports)?;
            names.iter().map(|name| size(&session, name)).collect()
        })
    }

    /// Computes a witness into `out`: each wire's canonical value in as many little-endian bytes
    /// as the prime.
    ///
    /// # Errors
    /// Inputs that the circuit does not have, of other numbers of values, missing ones, or ones
    /// that do not satisfy it; traps; limits; a report that asks to stop.
    pub fn witness(
        &self,
        inputs: &[Input<'_>],
        limits: Limits,
        reports: &mut (dyn Reports + Send),
        out: &mut [u8],
    ) -> Result<(), WasmError> {
        ticking(&self.engine, || {
            let mut session = self.session(limits, reports)?;
            session.connect(&self.glue)?;
            self.check(&session, inputs)?;
            session.call("init", &[0])?;
            for input in inputs {
                self.set(&mut session, input)?;
            }
            self.get(&mut session, out)
        })
    }

    fn session<'a>(
        &'a self,
        limits: Limits,
        reports: &'a mut dyn Reports,
    ) -> Result<Session<'a>, WasmError> {
        let host = Host::new(&self.engine.functions, limits.time, reports);
        let session = Session::open(&self.engine, &self.module, host, limits.memory_bytes)?;
        let host = &session.host;
        host.message_char.set(session.function("getMessageChar"));
        host.read_word.set(session.function("readSharedRWMemory"));
        host.words.set(self.words());
        host.joined.set(self.facts.version >= [2, 0, 7]);
        Ok(session)
    }

    const fn words(&self) -> usize {
        self.facts.prime.len() / WORD_BYTES
    }

    fn check(&self, session: &Session<'_>, inputs: &[Input<'_>]) -> Result<(), WasmError> {
        let count = |input: &Input<'_>| input.values.len() / self.facts.prime.len();
        if session.function(SIZE).is_some() {
            for input in inputs {
                let (name, got) = (input.name.to_owned(), count(input));
                match size(session, input.name)? {
                    // Circom's hash table gives 0 for a name that it does not hold.
                    Some(0) if got > 0 => return Err(WasmError::Unknown(name)),
                    None => return Err(WasmError::Unknown(name)),
                    Some(expected) if expected != got => {
                        return Err(WasmError::Count {
                            name,
                            expected,
                            got,
                        });
                    }
                    Some(_) => {}
                }
            }
        }
        let (expected, got) = (self.facts.inputs, inputs.iter().map(count).sum());
        if expected != got {
            return Err(WasmError::Missing { expected, got });
        }
        Ok(())
    }

    fn set(&self, session: &mut Session<'_>, input: &Input<'_>) -> Result<(), WasmError> {
        let value_bytes = self.facts.prime.len();
        let most = CHUNK_BYTES / value_bytes;
        let [high, low] = hash(input.name);
        let mut first = 0;
        for values in input.values.chunks(most * value_bytes) {
            let last = first + values.len() / value_bytes;
            if let Some(place) = session.chunk().get_mut(..values.len()) {
                place.copy_from_slice(values);
            }
            let numbers = [first as i32, last as i32, self.words() as i32];
            let [first_number, last_number, words] = numbers;
            let arguments = [high, low, first_number, last_number, words];
            session
                .pass("set", &arguments)
                .map_err(|error| match error {
                    WasmError::Refused(text) if text.starts_with("the circuit does not have") => {
                        WasmError::Unknown(input.name.to_owned())
                    }
                    other => other,
                })?;
            first = last;
        }
        Ok(())
    }

    fn get(&self, session: &mut Session<'_>, out: &mut [u8]) -> Result<(), WasmError> {
        let value_bytes = self.facts.prime.len();
        let most = CHUNK_BYTES / value_bytes;
        let mut first = 0;
        for values in out.chunks_mut(most * value_bytes) {
            let last = first + values.len() / value_bytes;
            session.pass("get", &[first as i32, last as i32, self.words() as i32])?;
            if let Some(found) = session.chunk().get(..values.len()) {
                values.copy_from_slice(found);
            }
            let mut wires = values.chunks(value_bytes);
            if let Some(wire) = wires.position(|value| !is_below(value, &self.facts.prime)) {
                let wire = first + wire;
                return Err(WasmError::NotCircuit(format!(
                    "its wire {wire} is not below the prime"
                )));
            }
            first = last;
        }
        Ok(())
    }
}

/// Whether a little-endian number is below another of as many bytes.
fn is_below(value: &[u8], most: &[u8]) -> bool {
    value.iter().rev().lt(most.iter().rev())
}

/// The export that gives the number of an input's values.
const SIZE: &str = "getInputSignalSize";

fn size(session: &Session<'_>, name: &str) -> Result<Option<usize>, WasmError> {
    Ok(usize::try_from(session.number(SIZE, &hash(name))?).ok())
}

/// FNV-1a of 64 bits, its high and its low half.
fn hash(name: &str) -> [i32; 2] {
    let start = 0xcbf2_9ce4_8422_2325_u64;
    let hash = name.bytes().fold(start, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    [(hash >> 32) as i32, hash as i32]
}

fn facts(session: &Session<'_>) -> Result<Facts, WasmError> {
    let other = |text: String| Err(WasmError::NotCircuit(text));
    let major = session.number("getVersion", &[])?;
    if major != 2 {
        return other(format!("it is of circom {major}"));
    }
    let part = |name| match session.function(name) {
        Some(_) => session.number(name, &[]).map(|part| part as u32),
        None => Ok(0),
    };
    let version = [2, part("getMinorVersion")?, part("getPatchVersion")?];
    let words = session.number("getFieldNumLen32", &[])?;
    if !usize::try_from(words).is_ok_and(|words| (1..=MOST_WORDS).contains(&words)) {
        return other(format!("its field has {words} words of 32 bits"));
    }
    session.call("getRawPrime", &[])?;
    let read = |place| session.number("readSharedRWMemory", &[place]);
    let prime: Vec<i32> = (0..words).map(read).collect::<Result<_, _>>()?;
    let prime: Vec<u8> = prime.into_iter().flat_map(i32::to_le_bytes).collect();
    let number = |name| session.number(name, &[]).map(|count| count as u32 as usize);
    let (wires, inputs) = (number("getWitnessSize")?, number("getInputSize")?);
    // Each wire has a place of its own there, so that nobody allocates more than was accepted.
    if wires == 0 || wires.saturating_mul(prime.len()) > session.memory_bytes() {
        return other(format!(
            "it reports {wires} wires in {} bytes of memory",
            session.memory_bytes()
        ));
    }
    Ok(Facts {
        version,
        prime,
        wires,
        inputs,
    })
}

/// Works while another thread advances the engine's epoch.
fn ticking<T: Send>(
    engine: &Engine,
    work: impl FnOnce() -> Result<T, WasmError>,
) -> Result<T, WasmError> {
    check_room(STACK_BYTES)?;
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let clock = thread::Builder::new().name("cloakwork-wasm".to_owned());
        let clock = clock.spawn_scoped(scope, || {
            while !done.load(Ordering::Acquire) {
                thread::park_timeout(TICK);
                engine.tick();
            }
        });
        let clock = clock.map_err(|error| WasmError::Library(format!("no thread: {error}")))?;
        let result = work();
        done.store(true, Ordering::Release);
        clock.thread().unpark();
        result
    })
}

#[cfg(test)]
mod tests {
    use super::hash;

    #[test]
    fn names_are_hashed_as_circom_does() {
        // The published value of FNV-1a for "foobar".
        let [high, low] = hash("foobar");
        assert_eq!((high as u32, low as u32), (0x8594_4171, 0xf739_67e8));
        let empty = hash("");
        assert_eq!(empty.map(|half| half as u32), [0xcbf2_9ce4, 0x8422_2325]);
    }
}
