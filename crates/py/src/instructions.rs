//! Programs of the instruction set, as they are written: read, shown, lowered.

use crate::contents::host_copy;
use crate::errors;
use crate::eval::{Value, eval};
use crate::guard::{unlocked, watched};
use crate::program::Program;
use crate::tensor::Inner;
use cloakwork_formats::files::leave_memory;
use cloakwork_formats::zk::{
    self, Ast, Canonical, Files, GatherError, gathered, is_program, names_of_files, pack, parse,
    to_dot, to_json, to_text, unpack,
};
use cloakwork_instructions::{KEY_INPUT, Lowered, lower, with_frees};
use cloakwork_ir::{Bytes, DType, Finding, HostTensor, Shape, View};
use cloakwork_ops::named;
use cloakwork_run::eager;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyDict};
use std::collections::HashMap;
use std::path::PathBuf;

/// A user function: its name, and dtypes and shapes of its results.
type UserFunction = (String, Vec<(&'static str, Vec<u64>)>);

/// A program of the instruction set.
#[pyclass(frozen, module = "cloakwork._core")]
pub struct Instructions {
    ast: Ast,
    findings: Vec<Finding>,
    files: Files,
}

#[pymethods]
impl Instructions {
    /// Read JSON or the text form. Constants are in these files, or in a folder.
    #[staticmethod]
    #[pyo3(signature = (contents, name, folder=None, files=None))]
    fn parse(
        py: Python<'_>,
        contents: &[u8],
        name: PathBuf,
        folder: Option<PathBuf>,
        files: Option<HashMap<String, Vec<u8>>>,
    ) -> PyResult<Self> {
        let parsed = unlocked(py, || parse(contents))?;
        let parsed = parsed.map_err(|error| errors::load(error, &name))?;
        let owned = |(name, bytes): (String, Vec<u8>)| (name, Bytes::from(bytes));
        let files = match folder {
            Some(folder) => Files::Folder(folder),
            None => Files::Memory(files.unwrap_or_default().into_iter().map(owned).collect()),
        };
        Ok(Self {
            ast: parsed.ast,
            findings: parsed.findings,
            files,
        })
    }

    /// The program that a container holds, if it holds one; its files stay where they are mapped.
    #[staticmethod]
    fn unpacked(py: Python<'_>, container: &Program, name: PathBuf) -> PyResult<Option<Self>> {
        let source = container.source(py)?;
        let found = unlocked(py, || unpack(source))?;
        let found = found
            .transpose()
            .map_err(|error| errors::load(error, &name))?;
        Ok(found.map(|(parsed, files)| Self {
            ast: parsed.ast,
            findings: parsed.findings,
            files,
        }))
    }

    /// A container's contents: this program, and the files that its constants name.
    fn packed(&self, py: Python<'_>) -> PyResult<Program> {
        let packed = unlocked(py, || pack(&self.ast, &self.files))?;
        let packed = packed.map_err(|found| errors::program(py, &[*found]))?;
        Ok(Program::new(packed))
    }

    /// The same program with the missing frees: after the last use, where that is certain.
    fn with_frees(&self, py: Python<'_>) -> PyResult<Self> {
        Ok(Self {
            ast: unlocked(py, || with_frees(self.ast.clone()))?,
            findings: self.findings.clone(),
            files: self.files.clone(),
        })
    }

    /// The names of the files that its constants name.
    fn files(&self) -> Vec<&str> {
        names_of_files(&self.ast).into_iter().collect()
    }

    /// The same program with all constants of files in one that is called `name`, and the pieces
    /// of that file, which begins with `start`.
    fn gathered<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        start: &[u8],
    ) -> PyResult<(Self, Vec<Bound<'py, PyBytes>>)> {
        let start = Bytes::from(start.to_vec());
        let made = unlocked(py, || gathered(&self.ast, &self.files, name, &start))?;
        let (ast, pieces) = made.map_err(|error| match error {
            GatherError::File(found) => errors::program(py, &[*found]),
            GatherError::Short {
                constant,
                file: (file, length),
                bytes: (offset, bytes),
            } => errors::param(
                "constants",
                format!("{constant} in {file} of {length} bytes"),
                &format!("{bytes} bytes from byte {offset} on"),
            ),
        })?;
        let made = Self {
            ast,
            findings: self.findings.clone(),
            files: self.files.clone(),
        };
        let pieces = pieces.iter();
        let pieces = watched(|| {
            pieces
                .map(|piece| PyBytes::new(py, piece.as_slice()))
                .collect()
        })?;
        Ok((made, pieces))
    }

    /// Whether the start of a file is that of such a program.
    #[staticmethod]
    fn recognizes(start: &[u8]) -> bool {
        is_program(start)
    }

    /// The JSON form.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        unlocked(py, || to_json(&self.ast))
    }

    /// The text form.
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        unlocked(py, || to_text(&self.ast))
    }

    /// The program of steps that it becomes, and outputs that are shown, with their labels.
    fn lower(&self, py: Python<'_>) -> PyResult<(Program, Vec<(String, String)>)> {
        let convert = |canonical: &Canonical| memory_form(py, canonical);
        let Lowered {
            program,
            findings,
            printed,
        } = watched(|| lower(&self.ast, &self.files, &convert))?;
        let found = self.findings.iter().cloned().chain(findings);
        let program = Program::with_findings(program, found.collect());
        let printed = printed.into_iter().map(|one| (one.output, one.label));
        Ok((program, printed.collect()))
    }

    /// Threads, streams and their waits, for Graphviz.
    fn dot(&self) -> String {
        to_dot(&self.ast)
    }

    /// The devices that it names.
    fn devices(&self) -> Vec<&str> {
        self.ast.devices().into_iter().collect()
    }

    /// Names of the inputs, in order.
    fn inputs(&self) -> Vec<&str> {
        let inputs = self.ast.inputs.iter();
        inputs.map(|(name, _)| name.as_str()).collect()
    }

    /// Bytes that each device may hold, in the order of the file.
    fn budget<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let budget = self.ast.budget.iter();
        budget
            .map(|(name, bytes)| (name.as_str(), *bytes))
            .into_py_dict(py)
    }

    /// The user functions in order: their names, and dtypes and shapes of their results.
    fn user_functions(&self) -> Vec<UserFunction> {
        let ty = |ty: &zk::Type| ty.tensor().map(|(dtype, dims)| (dtype.name(), dims));
        let table = self.ast.user_functions.iter();
        let entry = |(name, signature): &(String, zk::Signature)| {
            let outs = signature.outs.iter().filter_map(ty);
            (name.clone(), outs.collect())
        };
        table.map(entry).collect()
    }
}

/// Elements that are converted at a time: large constants are twice in memory nowhere.
const CONVERTED: u64 = 1 << 15;

/// Elements in memory's form from canonical words, or why they are invalid.
fn memory_form(py: Python<'_>, canonical: &Canonical) -> Result<HostTensor, String> {
    let (dtype, words) = (canonical.dtype, &canonical.words);
    if dtype.is_number() {
        return Ok(words.clone());
    }
    let dims = words.view().shape.dims();
    let (&each, outer) = dims.split_last().ok_or("words without an axis")?;
    let elements: u64 = outer.iter().product();
    if elements <= CONVERTED {
        return converted(py, dtype, words);
    }
    let size = |elements: u64, bytes: u64| usize::try_from(elements * bytes).unwrap_or(usize::MAX);
    let mut bytes = Vec::with_capacity(size(elements, dtype.size_bytes() as u64));
    for start in (0..elements).step_by(CONVERTED as usize) {
        let count = CONVERTED.min(elements - start);
        let range = size(start, 8 * each)..size(start + count, 8 * each);
        let part = words
            .bytes()
            .slice(range)
            .ok_or("words that end too early")?;
        let shape = Shape::new(&[count, each]).map_err(|e| e.to_string())?;
        let part = HostTensor::new(DType::U64, View::contiguous(shape), part);
        // Checking all at once names the right element.
        let Ok(part) = converted(py, dtype, &part.map_err(|e| e.to_string())?) else {
            return converted(py, dtype, words);
        };
        bytes.extend_from_slice(part.bytes().as_slice());
        leave_memory(words.bytes());
    }
    let shape = Shape::new(outer).map_err(|e| e.to_string())?;
    HostTensor::from_vec(dtype, shape, bytes).map_err(|e| e.to_string())
}

/// The same, all at once.
fn converted(py: Python<'_>, dtype: DType, words: &HostTensor) -> Result<HostTensor, String> {
    let isa = crate::device::isa(py).map_err(|error| error.value(py).to_string())?;
    let words = eager::Tensor::from_host(words, isa).map_err(|e| e.to_string())?;
    let values = vec![Value::Tensor(Inner::Real(words)), Value::DType(dtype)];
    let made =
        eval(py, &named::FROM_CANONICAL, values).map_err(|error| error.value(py).to_string())?;
    match made {
        Inner::Real(tensor) => host_copy(&tensor).map_err(|error| error.value(py).to_string()),
        Inner::Traced(_) | Inner::Away(_) => Err("a constant is made outside of traces".to_owned()),
    }
}

/// Adds the class and the name of the input that random elements are drawn under.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Instructions>()?;
    module.add("KEY_INPUT", KEY_INPUT)
}
