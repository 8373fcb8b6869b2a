//! A machine for the few pickle opcodes that a saved tensor needs. It imports nothing, calls
//! nothing and allocates no more than a small multiple of its input.

use super::pickle_value::{Global, TensorSpec, Value};
use super::wrong;
use crate::TensorError;
use std::collections::HashMap;
use std::rc::Rc;

const MAX_STACK: usize = 256;
const MAX_MEMO: usize = 256;

const PROTO: u8 = 0x80;
const STOP: u8 = b'.';
const MARK: u8 = b'(';
const GLOBAL: u8 = b'c';
const BINPUT: u8 = b'q';
const LONG_BINPUT: u8 = b'r';
const BINGET: u8 = b'h';
const LONG_BINGET: u8 = b'j';
const BINUNICODE: u8 = b'X';
const BININT: u8 = b'J';
const BININT1: u8 = b'K';
const BININT2: u8 = b'M';
const LONG1: u8 = 0x8a;
const NONE: u8 = b'N';
const NEWTRUE: u8 = 0x88;
const NEWFALSE: u8 = 0x89;
const EMPTY_TUPLE: u8 = b')';
const TUPLE: u8 = b't';
const TUPLE1: u8 = 0x85;
const TUPLE2: u8 = 0x86;
const TUPLE3: u8 = 0x87;
const EMPTY_DICT: u8 = b'}';
const BINPERSID: u8 = b'Q';
const REDUCE: u8 = b'R';

/// Runs a pickle to the tensor that it leaves.
pub(super) fn run(program: &[u8]) -> Result<TensorSpec, TensorError> {
    let mut machine = Machine {
        program,
        at: 0,
        stack: Vec::new(),
        memo: HashMap::new(),
    };
    loop {
        let at = machine.at;
        let [opcode] = machine.take()?;
        if opcode == STOP {
            return machine.result(at);
        }
        machine.execute(opcode, at)?;
    }
}

fn refused(at: usize, expected: &str, got: impl Into<Box<str>>) -> TensorError {
    let hint = "only one plain tensor is read, and no code is run";
    wrong("data.pkl", at, expected, got, hint)
}

struct Machine<'a> {
    program: &'a [u8],
    at: usize,
    stack: Vec<Value>,
    memo: HashMap<u32, Value>,
}

impl<'a> Machine<'a> {
    fn execute(&mut self, opcode: u8, at: usize) -> Result<(), TensorError> {
        match opcode {
            PROTO => self.protocol(at),
            GLOBAL => self.global(at),
            BINPUT | LONG_BINPUT => {
                let slot = self.slot(opcode == LONG_BINPUT)?;
                self.put(slot, at)
            }
            BINGET | LONG_BINGET => {
                let slot = self.slot(opcode == LONG_BINGET)?;
                self.get(slot, at)
            }
            BINUNICODE => self.text(at),
            BININT => {
                let value = i32::from_le_bytes(self.take()?);
                self.push(Value::Int(value.into()))
            }
            BININT1 => {
                let [value] = self.take()?;
                self.push(Value::Int(value.into()))
            }
            BININT2 => {
                let value = u16::from_le_bytes(self.take()?);
                self.push(Value::Int(value.into()))
            }
            LONG1 => self.long(at),
            MARK => self.push(Value::Mark),
            NONE => self.push(Value::None),
            NEWTRUE | NEWFALSE => self.push(Value::Bool),
            EMPTY_DICT => self.push(Value::Dict),
            EMPTY_TUPLE => self.tuple(0, at),
            TUPLE1 => self.tuple(1, at),
            TUPLE2 => self.tuple(2, at),
            TUPLE3 => self.tuple(3, at),
            TUPLE => self.marked_tuple(at),
            BINPERSID => self.storage(at),
            REDUCE => self.reduce(at),
            _ => {
                let got = format!("opcode 0x{opcode:02x}, which is not allowed");
                Err(refused(at, "an opcode that saved tensors use", got))
            }
        }
    }

    fn result(mut self, at: usize) -> Result<TensorSpec, TensorError> {
        match (self.stack.pop(), self.stack.is_empty()) {
            (Some(Value::Tensor(spec)), true) => Ok((*spec).clone()),
            (Some(other), true) => Err(refused(at, "a tensor", other.to_string())),
            (Some(_), false) => Err(refused(at, "one tensor", "several values")),
            (None, _) => Err(refused(at, "a tensor", "nothing")),
        }
    }

    fn slice(&mut self, length: usize) -> Result<&'a [u8], TensorError> {
        let end = self.at.checked_add(length);
        let bytes = end
            .and_then(|end| self.program.get(self.at..end))
            .ok_or_else(|| refused(self.at, "more of the pickle", "its end"))?;
        self.at += length;
        Ok(bytes)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], TensorError> {
        let at = self.at;
        let bytes = self.slice(N)?;
        bytes
            .try_into()
            .map_err(|_| refused(at, "more of the pickle", "its end"))
    }

    fn push(&mut self, value: Value) -> Result<(), TensorError> {
        if self.stack.len() == MAX_STACK {
            let expected = format!("at most {MAX_STACK} values for one tensor");
            return Err(refused(self.at, &expected, "more"));
        }
        self.stack.push(value);
        Ok(())
    }

    fn pop(&mut self, at: usize) -> Result<Value, TensorError> {
        self.stack
            .pop()
            .ok_or_else(|| refused(at, "a value on the stack", "an empty stack"))
    }

    fn protocol(&mut self, at: usize) -> Result<(), TensorError> {
        match self.take()? {
            [2 | 3] => Ok(()),
            [version] => {
                let got = format!("protocol {version}");
                Err(refused(at, "pickle protocol 2", got))
            }
        }
    }

    fn line(&mut self) -> Result<&'a str, TensorError> {
        let rest = self.program.get(self.at..).unwrap_or(&[]);
        let end = memchr::memchr(b'\n', rest)
            .ok_or_else(|| refused(self.at, "a name that ends", "the end of the pickle"))?;
        let line = std::str::from_utf8(rest.get(..end).unwrap_or(&[]));
        let line = line.map_err(|_| refused(self.at, "a name in UTF-8", "other bytes"))?;
        self.at += end + 1;
        Ok(line)
    }

    fn global(&mut self, at: usize) -> Result<(), TensorError> {
        let (module, name) = (self.line()?, self.line()?);
        let global = Global::from_name(module, name).ok_or_else(|| {
            let shown: String = format!("{module} {name}")
                .escape_default()
                .to_string()
                .chars()
                .take(80)
                .collect();
            let got = format!("global `{shown}`, which is not allowed");
            refused(at, "a plain tensor", got)
        })?;
        self.push(Value::Global(global))
    }

    fn put(&mut self, slot: u32, at: usize) -> Result<(), TensorError> {
        let top = self.stack.last().cloned();
        let top = top.ok_or_else(|| refused(at, "a value to remember", "an empty stack"))?;
        self.memo.insert(slot, top);
        if self.memo.len() > MAX_MEMO {
            let expected = format!("at most {MAX_MEMO} values to remember");
            return Err(refused(at, &expected, "more"));
        }
        Ok(())
    }

    /// The number of a remembered value, of one byte or of four.
    fn slot(&mut self, long: bool) -> Result<u32, TensorError> {
        if long {
            return Ok(u32::from_le_bytes(self.take()?));
        }
        let [slot] = self.take()?;
        Ok(slot.into())
    }

    fn get(&mut self, slot: u32, at: usize) -> Result<(), TensorError> {
        let value = self.memo.get(&slot).cloned();
        let missing = || refused(at, "a value remembered before", format!("memo {slot}"));
        self.push(value.ok_or_else(missing)?)
    }

    fn text(&mut self, at: usize) -> Result<(), TensorError> {
        let length = u32::from_le_bytes(self.take()?) as usize;
        let text = std::str::from_utf8(self.slice(length)?);
        let text = text.map_err(|_| refused(at, "text in UTF-8", "other bytes"))?;
        self.push(Value::Text(Rc::from(text)))
    }

    fn long(&mut self, at: usize) -> Result<(), TensorError> {
        let [length] = self.take()?;
        let bytes = self.slice(length.into())?;
        if bytes.len() > 8 {
            let got = format!("{length} bytes");
            return Err(refused(at, "an integer of 64 bits", got));
        }
        let negative = bytes.last().is_some_and(|&b| b >= 0x80);
        let mut word = if negative { [0xff; 8] } else { [0; 8] };
        for (to, from) in word.iter_mut().zip(bytes) {
            *to = *from;
        }
        self.push(Value::Int(i64::from_le_bytes(word)))
    }

    fn tuple(&mut self, count: usize, at: usize) -> Result<(), TensorError> {
        let from = self.stack.len().checked_sub(count);
        let from = from.ok_or_else(|| refused(at, "values for a tuple", "too few"))?;
        let items = self.stack.split_off(from);
        if items.iter().any(|item| matches!(item, Value::Mark)) {
            return Err(refused(at, "values for a tuple", "a mark"));
        }
        self.push(Value::tuple(items, at)?)
    }

    fn marked_tuple(&mut self, at: usize) -> Result<(), TensorError> {
        let mark = self
            .stack
            .iter()
            .rposition(|value| matches!(value, Value::Mark));
        let mark = mark.ok_or_else(|| refused(at, "a mark", "none"))?;
        let items = self.stack.split_off(mark + 1);
        self.stack.pop();
        self.push(Value::tuple(items, at)?)
    }

    fn storage(&mut self, at: usize) -> Result<(), TensorError> {
        let id = self.pop(at)?;
        let storage = id.load_storage();
        self.push(storage.ok_or_else(|| refused(at, "the id of a storage", id.to_string()))?)
    }

    fn reduce(&mut self, at: usize) -> Result<(), TensorError> {
        let (arguments, function) = (self.pop(at)?, self.pop(at)?);
        let result = function.call(&arguments).ok_or_else(|| {
            let got = format!("{function} called with {arguments}");
            let expected = "a tensor's or an OrderedDict's constructor and its arguments";
            refused(at, expected, got)
        })?;
        self.push(result)
    }
}
