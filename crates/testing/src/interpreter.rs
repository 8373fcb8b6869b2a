//! Runs a verified program by the references of its ops: slow, obvious, and the judge of whatever
//! else runs it.

use cloakwork_ir::{
    Arg, Builder, DType, HostId, HostSlot, HostTensor, Program, Symbol, Type, View, read_word,
    write_word,
};
use cloakwork_ops::{Args, Body, Contents, ExpandBody, Expansion, KernelBody, OpError, ParamKind};
use cloakwork_verify::{Action, Bound, Call, ValueId, Verified, verify};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// What a download brought.
#[derive(Clone, Debug)]
pub struct Download {
    /// The step.
    pub step: u32,
    /// Where it goes.
    pub host: HostId,
    /// The elements, row-major.
    pub tensor: HostTensor,
}

/// Why a program cannot be interpreted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterpretError {
    /// The step.
    pub step: u32,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for InterpretError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}: {}", self.step, self.reason)
    }
}

impl std::error::Error for InterpretError {}

/// Runs a program; `input` gives the elements of each named input, row-major.
///
/// # Errors
/// A demand on contents that could not be checked before is not met, or an expansion is wrong.
pub fn interpret(
    verified: &Verified,
    input: &dyn Fn(&str, &Type) -> Vec<i64>,
) -> Result<Vec<Download>, InterpretError> {
    let mut memory = Memory {
        verified,
        words: HashMap::new(),
    };
    let mut downloads = Vec::new();
    for (step, action) in verified.actions() {
        let failed = |reason: String| InterpretError {
            step: *step,
            reason,
        };
        match action {
            Action::Upload { host, value } => {
                let words = match verified.program().host(*host) {
                    Some(HostSlot::Data(tensor)) => tensor.words(),
                    Some(HostSlot::Input { name, ty }) => input(name, ty),
                    _ => Vec::new(),
                };
                memory.write(*value, &words);
            }
            Action::Allocate { .. } | Action::View { .. } => {}
            Action::Copy { source, value, .. } => {
                let words = memory.read(*source);
                memory.write(*value, &words);
            }
            Action::Kernel { call, out } => {
                let Body::Kernel(body) = &call.def.body else {
                    continue;
                };
                let words = memory
                    .kernel(call, body)
                    .map_err(|error| failed(error.to_string()))?;
                memory.write(*out, &words);
            }
            Action::Composite { call, result } => {
                let Body::Expand(body) = &call.def.body else {
                    continue;
                };
                let words = memory.composite(call, body).map_err(failed)?;
                memory.write(*result, &words);
            }
            Action::Download { value, host } => {
                let (step, host) = (*step, *host);
                downloads.push(Download {
                    step,
                    host,
                    tensor: memory.tensor(*value),
                });
            }
        }
    }
    Ok(downloads)
}

/// Where a download differs from what the program expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The step.
    pub step: u32,
    /// Row-major index of the first element that differs.
    pub index: usize,
    /// What came.
    pub got: i64,
    /// What was expected.
    pub expected: i64,
    /// How many elements differ.
    pub differing: usize,
}

/// Compares downloads with the program's expected values.
#[must_use]
pub fn first_mismatch(program: &Program, downloads: &[Download]) -> Option<Mismatch> {
    downloads.iter().find_map(|download| {
        let Some(HostSlot::Data(expected)) = program.host(download.host) else {
            return None;
        };
        let (got, expected) = (download.tensor.words(), expected.words());
        let differs = |&(_, (got, expected)): &(usize, (&i64, &i64))| got != expected;
        let mut different = got.iter().zip(&expected).enumerate().filter(differs);
        let (index, (&got, &expected)) = different.next()?;
        let differing = different.count() + 1;
        Some(Mismatch {
            step: download.step,
            index,
            got,
            expected,
            differing,
        })
    })
}

/// The words of each storage that something wrote, by element offset; others read as zeros.
struct Memory<'v> {
    verified: &'v Verified,
    words: HashMap<u32, Vec<i64>>,
}

impl Memory<'_> {
    fn view(&self, value: ValueId) -> &View {
        self.verified.view(value)
    }

    /// Elements of a value, row-major.
    fn read(&self, value: ValueId) -> Vec<i64> {
        let Some(info) = self.verified.value(value) else {
            return Vec::new();
        };
        let words = self.words.get(&info.storage.0);
        let word = |offset| words.and_then(|words| words.get(offset as usize)).copied();
        info.view
            .offsets()
            .map(|offset| word(offset).unwrap_or(0))
            .collect()
    }

    /// Writes elements, row-major, each cut to the dtype.
    fn write(&mut self, value: ValueId, words: &[i64]) {
        let Some(info) = self.verified.value(value) else {
            return;
        };
        let extent = self
            .verified
            .storage(info.storage)
            .map_or(0, |s| s.root.bounds().1 as usize);
        let storage = self
            .words
            .entry(info.storage.0)
            .or_insert_with(|| vec![0; extent]);
        for (offset, &word) in info.view.offsets().zip(words) {
            if let Some(place) = storage.get_mut(offset as usize) {
                *place = cut(info.dtype, word);
            }
        }
    }

    fn tensor(&self, value: ValueId) -> HostTensor {
        let dtype = self
            .verified
            .value(value)
            .map_or(DType::I64, |info| info.dtype);
        host_tensor(dtype, self.view(value), &self.read(value))
    }

    fn kernel(&self, call: &Call, body: &KernelBody) -> Result<Vec<i64>, OpError> {
        let contents = CallContents::new(self, call);
        let view_of = |value| self.verified.view(value);
        self.verified.with_args(call, view_of, |args| {
            check_contents(args, &contents)?;
            (body.reference)(args, &contents)
        })
    }

    /// Runs an expansion as a program of its own, its operands uploaded.
    fn composite(&self, call: &Call, body: &ExpandBody) -> Result<Vec<i64>, String> {
        let mut builder = Builder::new();
        let args: Vec<Arg> = call
            .values
            .iter()
            .map(|bound| self.arg(*bound, &mut builder))
            .collect();
        let out = call
            .def
            .params
            .iter()
            .position(|param| param.kind == ParamKind::Out);
        let result = match out.and_then(|param| args.get(param)) {
            Some(Arg::Device(symbol, _)) => *symbol,
            _ => builder.program.fresh_symbol(),
        };
        let mut expansion = Expansion::new(call.def, &args, result, &mut builder);
        let view_of = |value| self.verified.view(value);
        let contents = CallContents::new(self, call);
        let expanded = self.verified.with_args(call, view_of, |args| {
            check_contents(args, &contents)?;
            (body.expand)(args, &mut expansion)
        });
        expanded.map_err(|error| error.to_string())?;
        expansion.finish();
        download(&mut builder, result);
        let verification = verify(Arc::new(builder.program));
        let wrong = verification.errors().next().map(ToString::to_string);
        let verified = verification.verified.ok_or(wrong.unwrap_or_default())?;
        let downloads = interpret(&verified, &|_, _| Vec::new()).map_err(|e| e.to_string())?;
        Ok(downloads
            .first()
            .map(|download| download.tensor.words())
            .unwrap_or_default())
    }

    fn arg(&self, bound: Bound, builder: &mut Builder) -> Arg {
        match bound {
            Bound::Value(value) => {
                let slot = HostSlot::Data(self.tensor(value));
                Arg::Device(builder.upload(slot), None)
            }
            Bound::Int(value) => Arg::Int(value),
            Bound::Shape(place) => Arg::Shape(self.verified.items(place).into()),
            Bound::DType(dtype) => Arg::DType(dtype),
            Bound::Host(_) | Bound::Absent => Arg::None,
        }
    }
}

fn download(builder: &mut Builder, result: Symbol) {
    let name = "result".to_owned();
    builder.download(result, HostSlot::Output { name });
}

/// A row-major host tensor of the shape that a view has.
fn host_tensor(dtype: DType, view: &View, words: &[i64]) -> HostTensor {
    let size = dtype.size_bytes();
    let mut bytes = vec![0; words.len() * size];
    for (&word, to) in words.iter().zip(bytes.chunks_exact_mut(size)) {
        write_word(dtype, word, to);
    }
    HostTensor::from_vec(dtype, view.shape.clone(), bytes)
        .unwrap_or_else(|error| unreachable!("a view has as many offsets as elements: {error}"))
}

fn cut(dtype: DType, word: i64) -> i64 {
    let mut bytes = [0; 8];
    write_word(dtype, word, &mut bytes);
    read_word(dtype, &bytes)
}

/// Applies an op's demands on what its operands contain.
fn check_contents(args: &Args, contents: &CallContents) -> Result<(), OpError> {
    for check in args.def.body.checks() {
        if let Some(bound) = check.bound(args)? {
            check.check(bound, contents.words(check.operand())?)?;
        }
    }
    Ok(())
}

/// The operands of a call, read once.
struct CallContents {
    by_name: HashMap<&'static str, Vec<i64>>,
}

impl CallContents {
    fn new(memory: &Memory, call: &Call) -> Self {
        let words = |bound: &Bound| match *bound {
            Bound::Value(value) => Some(memory.read(value)),
            Bound::Int(word) => Some(vec![word]),
            _ => None,
        };
        let params = call.def.params.iter().zip(&call.values);
        let by_name = params
            .filter_map(|(param, bound)| Some((param.name, words(bound)?)))
            .collect();
        Self { by_name }
    }
}

impl Contents for CallContents {
    fn words(&self, param: &str) -> Result<&[i64], OpError> {
        let words = self.by_name.get(param).map(Vec::as_slice);
        words.ok_or_else(|| {
            let code = cloakwork_ops::Code::ArgumentType;
            OpError::new(code, "", format!("an operand `{param}`"), "none")
        })
    }
}
