//! Witnesses of circuits that circom compiled to WebAssembly.

use crate::circom::curve_of;
use crate::contents::row_major;
use crate::guard::unlocked;
use crate::tensor::{Elements, Inner, Tensor};
use crate::{device, errors};
use cloakwork_formats::circom::save_wtns;
use cloakwork_ir::{DType, Shape, Type};
use cloakwork_process::generation;
use cloakwork_run::{Wiping, eager};
use cloakwork_wasm::{Circuit, Compiler, Input, Limits, Reports, WasmError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::time::Duration;
use zeroize::Zeroizing;

/// Bytes of a word of a witness's tensor.
const WORD_BYTES: usize = 8;

/// A compiled circuit; threads may share it.
#[pyclass(frozen, module = "cloakwork._core")]
pub struct CircuitProgram {
    name: String,
    circuit: Circuit,
}

/// Seconds and bytes that a run may take.
#[derive(FromPyObject)]
pub struct Most(f64, u64);

impl Most {
    fn limits(&self) -> Limits {
        Limits {
            time: Duration::try_from_secs_f64(self.0).unwrap_or(Duration::MAX),
            memory_bytes: self.1,
        }
    }
}

/// Passes lines of the circuit's log to a function of Python, and looks for signals.
struct Reporting {
    log: Py<PyAny>,
    error: Option<PyErr>,
}

impl Reporting {
    fn ask(&mut self, ask: impl FnOnce(Python<'_>, &Py<PyAny>) -> PyResult<()>) -> bool {
        if self.error.is_none() {
            self.error = Python::attach(|py| ask(py, &self.log)).err();
        }
        self.error.is_none()
    }
}

impl Reports for Reporting {
    fn log(&mut self, line: &str) -> bool {
        self.ask(|py, log| log.call1(py, (line,)).map(|_| ()))
    }

    fn keep_going(&mut self) -> bool {
        self.ask(|py, _| py.check_signals())
    }
}

/// Works without Python's lock; an error of Python meanwhile is the error.
fn reported<T: Send>(
    py: Python<'_>,
    name: &str,
    log: Py<PyAny>,
    work: impl FnOnce(&mut Reporting) -> Result<T, WasmError> + Send,
) -> PyResult<T> {
    let mut reports = Reporting { log, error: None };
    let done = unlocked(py, || work(&mut reports))?;
    match reports.error {
        Some(error) => Err(error),
        None => done.map_err(|error| told(py, name, &error)),
    }
}

fn told(py: Python<'_>, name: &str, error: &WasmError) -> PyErr {
    let text = format!("{name}: {error}");
    match error {
        WasmError::Unknown(input) => {
            let given = "a signal that the circuit does not have";
            errors::param(
                &format!("input `{input}`"),
                given,
                "an input of the circuit",
            )
        }
        WasmError::Count {
            name,
            expected,
            got,
        } => {
            let (got, expected) = (
                values(*got),
                format!("{}, as in the circuit", values(*expected)),
            );
            errors::param(&format!("input `{name}`"), &got, &expected)
        }
        WasmError::Missing { expected, got } => {
            let expected = format!("{} in all, as the circuit has", values(*expected));
            errors::param("inputs", values(*got), &expected)
        }
        WasmError::Library(_) => errors::make(py, "RunError", (text,)),
        WasmError::Module(_) | WasmError::NotCircuit(_) => errors::make(py, "LoadError", (text,)),
        _ => errors::make(py, "WitnessError", (text,)),
    }
}

fn values(count: usize) -> String {
    format!("{count} value{}", if count == 1 { "" } else { "s" })
}

#[pymethods]
impl CircuitProgram {
    /// Compiles a module, by the library of a path: `name` is the module's in errors.
    #[new]
    fn new(
        py: Python<'_>,
        library: PathBuf,
        module: (String, Vec<u8>),
        optimize: bool,
        most: Most,
        log: Py<PyAny>,
    ) -> PyResult<Self> {
        let (name, module) = module;
        let compiler = match optimize {
            true => Compiler::Optimizing,
            false => Compiler::Baseline,
        };
        // The library's threads do not exist in a forked child, which would wait for them.
        let parallel = generation() == 0 && device::threads(None)? > 1;
        let how = (compiler, parallel);
        let circuit = reported(py, &name, log, |reports| {
            // SAFETY: the path is that of the package `wasmtime`, whose release was checked.
            unsafe { Circuit::compile(&library, &module, how, most.limits(), reports) }
        })?;
        Ok(Self { name, circuit })
    }

    /// Circom's version, the prime in little-endian bytes, wires, and values of all inputs.
    fn facts<'py>(&self, py: Python<'py>) -> ([u32; 3], Bound<'py, PyBytes>, usize, usize) {
        let facts = self.circuit.facts();
        let prime = PyBytes::new(py, &facts.prime);
        (facts.version, prime, facts.wires, facts.inputs)
    }

    /// The number of values of each signal that is an input; None for others.
    fn sizes(
        &self,
        py: Python<'_>,
        names: Vec<String>,
        most: Most,
        log: Py<PyAny>,
    ) -> PyResult<Vec<Option<usize>>> {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        reported(py, &self.name, log, |reports| {
            self.circuit.sizes(&names, most.limits(), reports)
        })
    }

    /// The witness for inputs by name, whose values are little-endian bytes; u64 [wires, words].
    fn witness(
        &self,
        py: Python<'_>,
        inputs: Vec<(String, Vec<u8>)>,
        most: Most,
        log: Py<PyAny>,
    ) -> PyResult<Tensor> {
        let _wiping = Wiping::begin(1);
        let inputs: Vec<(String, Zeroizing<Vec<u8>>)> = inputs
            .into_iter()
            .map(|(name, values)| (name, Zeroizing::new(values)))
            .collect();
        let given: Vec<Input<'_>> = inputs
            .iter()
            .map(|(name, values)| Input { name, values })
            .collect();
        let facts = self.circuit.facts();
        let row = (facts.prime.len() / WORD_BYTES) as u64;
        let shape = Shape::new(&[facts.wires as u64, row]);
        let shape = shape.map_err(|error| errors::shape(&error))?;
        let words = eager::Tensor::zeros(&Type::new(DType::U64, shape)).map_err(errors::run)?;
        words.mark_secret();
        reported(py, &self.name, log, |reports| {
            let storage = words.storage();
            // SAFETY: the storage was just made, has so many bytes, and no other view of it exists.
            let out =
                unsafe { std::slice::from_raw_parts_mut(storage.as_ptr(), storage.len_bytes()) };
            self.circuit.witness(&given, most.limits(), reports, out)
        })?;
        Ok(Inner::Real(words).into())
    }
}

/// Write a witness whose values are canonical words.
#[pyfunction]
fn write_witness(
    py: Python<'_>,
    path: PathBuf,
    curve: &str,
    words: &Bound<'_, Tensor>,
) -> PyResult<()> {
    let _wiping = Wiping::begin(1);
    let curve = curve_of(curve)?;
    let host = row_major(words.get().inner().real("a witness")?)?;
    let size = host.ty().size_bytes() as usize;
    let bytes = host.bytes().as_slice();
    let values = bytes.get(..size).unwrap_or(bytes);
    let saved = unlocked(py, || save_wtns(curve, values, &path))?;
    saved.map_err(|error| errors::save(error, &path))
}

/// Adds what Python needs.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<CircuitProgram>()?;
    module.add_function(wrap_pyfunction!(write_witness, module)?)
}
