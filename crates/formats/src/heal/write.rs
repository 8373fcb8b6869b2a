//! Saves the `"__type__"` form, which HEAL's own loader reads: its fields in its order, indented
//! as its encoder does.

use super::pretty::Pretty;
use crate::base64::Encoder;
use crate::files::{self, Failure};
use crate::{Mismatch, SaveError, npy};
use cloakwork_ir::{
    Arg, DType, HostId, HostSlot, HostTensor, Op, Program, ShapeItem, Step, Symbol,
};
use std::io::{self, Write};
use std::path::Path;

/// Arguments that HEAL's files hold as true and false: op, number of arguments, index.
const FLAGS: [(&str, usize, usize); 7] = [
    ("intt", 10, 9),
    ("modmul_axis_sum", 8, 7),
    ("modmul_axis_sum", 9, 7),
    ("ntt", 10, 8),
    ("ntt", 10, 9),
    ("ntt", 11, 9),
    ("ntt", 11, 10),
];

/// Writes a program as HEAL's transcript. The file appears whole or not at all.
///
/// # Errors
/// The file cannot be written, a device tensor has no dtype, a host slot holds no data, or an
/// argument has no form in a transcript.
pub fn save_heal(program: &Program, path: impl AsRef<Path>) -> Result<(), SaveError> {
    if program.threads.is_some() {
        return Err(SaveError::Threads);
    }
    files::replace(path.as_ref(), |out| {
        let json = Pretty::new(out);
        Writer {
            program,
            json,
            step: 0,
            op: "",
            argument: None,
        }
        .transcript()
    })
}

struct Writer<'p, 'w, W: Write> {
    program: &'p Program,
    json: Pretty<'w, W>,
    /// For errors: the step, its op, and the argument being written; `None` is the result.
    step: usize,
    op: &'p str,
    argument: Option<usize>,
}

impl<'p, W: Write> Writer<'p, '_, W> {
    fn transcript(&mut self) -> Result<(), Failure> {
        self.json.open_typed("ExecutionTranscript")?;
        self.json.key("transcript")?;
        self.json.open("[")?;
        for (index, step) in self.program.steps.iter().enumerate() {
            self.step = index;
            self.json.item()?;
            self.json.open("[")?;
            self.entry(step)?;
            self.json.close("]")?;
        }
        Ok(self.json.close("]}")?)
    }

    fn entry(&mut self, step: &Step) -> Result<(), Failure> {
        match step {
            Step::Op(op) => {
                self.entry_type("DEVICE_OP")?;
                self.call(op)?;
            }
            Step::Free(symbol) => {
                self.entry_type("FREE_DEVICE_TENSOR")?;
                self.json.open_typed("FreeDeviceTensor")?;
                self.json.key("tensor_name")?;
                self.tensor_name(*symbol)?;
                self.json.close("}")?;
            }
            Step::SegmentStart(text) => {
                self.entry_type("SEGMENT_START")?;
                self.json.string(self.program.text_name(*text))?;
            }
            Step::SegmentEnd => {
                self.entry_type("SEGMENT_END")?;
                self.json.raw("null")?;
            }
            Step::Skip | Step::Threaded(_) => {
                for _ in 0..2 {
                    self.json.item()?;
                    self.json.raw("null")?;
                }
            }
        }
        Ok(())
    }

    fn entry_type(&mut self, name: &str) -> io::Result<()> {
        self.json.item()?;
        self.json.enumerator("ExecutionTranscriptOpType", name)?;
        self.json.item()
    }

    fn call(&mut self, op: &Op) -> Result<(), Failure> {
        let args = self.program.args(op);
        self.op = self.program.text_name(op.name);
        self.json.open_typed("DeviceOp")?;
        self.json.text_field("name", self.op)?;
        self.json.key("args")?;
        self.json.open("[")?;
        for (index, arg) in args.iter().enumerate() {
            self.argument = Some(index);
            self.json.item()?;
            match arg {
                Arg::Int(value @ 0..=1) if FLAGS.contains(&(self.op, args.len(), index)) => {
                    self.typed("INT", if *value == 1 { "true" } else { "false" })?;
                }
                _ => self.arg(arg)?,
            }
        }
        self.json.close("]")?;
        self.json.key("out")?;
        self.argument = None;
        match self.program.out(op) {
            Some(arg) => self.arg(arg)?,
            None => self.json.raw("null")?,
        }
        Ok(self.json.close("}")?)
    }

    fn arg(&mut self, arg: &Arg) -> Result<(), Failure> {
        match arg {
            Arg::Device(symbol, dtype) => self.device(*symbol, *dtype)?,
            Arg::Host(id) => self.host(*id)?,
            Arg::Shape(items) => self.shape(items)?,
            Arg::Int(value) => self.typed("INT", &value.to_string())?,
            Arg::None => self.typed("NONE", "null")?,
            Arg::DType(dtype) => {
                self.open_arg("TENSOR_TYPE")?;
                self.json.enumerator("dtype", dtype.long_name())?;
                self.json.close("}")?;
            }
            Arg::Invalid(said) => {
                return self.unsayable("an argument that a transcript has", said, "");
            }
        }
        Ok(())
    }

    fn open_arg(&mut self, ty: &str) -> io::Result<()> {
        self.json.open_typed("DeviceOpArg")?;
        self.json.key("arg_type")?;
        self.json.enumerator("DeviceOpArgType", ty)?;
        self.json.key("value")
    }

    /// An argument whose value is JSON already.
    fn typed(&mut self, ty: &str, value: &str) -> io::Result<()> {
        self.open_arg(ty)?;
        self.json.raw(value)?;
        self.json.close("}")
    }

    fn device(&mut self, symbol: Symbol, dtype: Option<DType>) -> Result<(), Failure> {
        let Some(dtype) = dtype else {
            let got = format!("tensor {} without one", self.program.symbol_name(symbol));
            let hint = "verify the program and fill in the dtypes that it infers";
            return self.unsayable("a device tensor with its dtype", &got, hint);
        };
        self.open_arg("DEVICE_TENSOR")?;
        self.json.open_typed("DeviceTensorPointer")?;
        self.json
            .text_field("dtype", &format!("torch.{}", dtype.long_name()))?;
        self.json.key("inf_name")?;
        self.tensor_name(symbol)?;
        Ok(self.json.close("}}")?)
    }

    /// Names that read as integers are written as such: real files have no others.
    fn tensor_name(&mut self, symbol: Symbol) -> io::Result<()> {
        let name = self.program.symbol_name(symbol);
        if is_decimal(name) {
            self.json.raw(name)
        } else {
            self.json.string(name)
        }
    }

    fn host(&mut self, id: HostId) -> Result<(), Failure> {
        let hint = "a transcript embeds every host tensor: bind data to it, or save a container";
        let got = match self.program.host(id) {
            Some(HostSlot::Data(tensor)) => return self.host_tensor(tensor),
            Some(HostSlot::Input { name, .. }) => format!("the input \"{name}\""),
            Some(HostSlot::Output { name }) => format!("the output \"{name}\""),
            None => format!("host slot {}, which the program lacks", id.0),
        };
        self.unsayable("a host tensor with data", &got, hint)
    }

    fn host_tensor(&mut self, tensor: &HostTensor) -> Result<(), Failure> {
        self.open_arg("HOST_TENSOR")?;
        self.json.open_typed("HostTensor")?;
        self.json.key("tensor_base64")?;
        self.json.open("{")?;
        self.json.text_field("type", "numpy")?;
        self.json.field("data", "\"")?;
        let npy::Dense { header, data } = npy::dense(tensor);
        let mut encoder = Encoder::new(self.json.out());
        encoder.write(&header)?;
        encoder.write(&data)?;
        encoder.finish()?;
        self.json.raw("\"")?;
        Ok(self.json.close("}}}")?)
    }

    fn shape(&mut self, items: &[ShapeItem]) -> Result<(), Failure> {
        self.open_arg("SHAPE")?;
        self.json.open("[")?;
        for item in items {
            self.json.item()?;
            match item {
                ShapeItem::Int(value) => self.typed("INT", &value.to_string())?,
                ShapeItem::Slice { start, stop, step } => {
                    self.open_arg("SLICE")?;
                    self.json.open_typed("slice")?;
                    for (key, value) in [("start", start), ("stop", stop), ("step", step)] {
                        let value = value.map_or("null".to_owned(), |value| value.to_string());
                        self.json.field(key, &value)?;
                    }
                    self.json.close("}}")?;
                }
                ShapeItem::Ellipsis => {
                    self.open_arg("ELLIPSIS")?;
                    self.json.open_typed("ellipsis")?;
                    self.json.close("}}")?;
                }
                ShapeItem::Invalid(said) => {
                    return self.unsayable("a size, slice or ellipsis", said, "");
                }
            }
        }
        Ok(self.json.close("]}")?)
    }

    fn unsayable(&self, expected: &str, got: &str, hint: &str) -> Result<(), Failure> {
        Err(Failure::Save(SaveError::Unsayable {
            step: self.step as u64,
            op: self.op.into(),
            argument: self
                .argument
                .map_or("out".to_owned(), |index| format!("args[{index}]"))
                .into(),
            why: Mismatch::new(expected, got, hint),
        }))
    }
}

/// Whether a name is an integer as JSON and Python write it.
fn is_decimal(name: &str) -> bool {
    let digits = name.strip_prefix('-').unwrap_or(name);
    match digits.as_bytes() {
        [b'0'] => digits.len() == name.len(),
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}
