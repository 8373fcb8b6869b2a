//! From the program to the tree: the one way in which each thing is written.

use super::ast::{
    Ast, Constant, Data, Event, Input, Instruction, Register, Signature, Table, Type,
};
use super::fields::short;
use super::value::Value;
use cloakwork_ir::{DType, Repr};

/// The tree of a program. With `short_types`, types are written in their short form.
pub(super) fn tree(ast: &Ast, short_types: bool) -> Value {
    let mut writer = Writer {
        map: Vec::new(),
        short_types,
    };
    writer.put("format", Value::text("program"));
    writer.put("version", Value::Int(1));
    writer.put_some("curve", ast.curve.map(|curve| Value::text(curve.name())));
    writer.table("registers", &ast.registers, register);
    writer.table("inputs", &ast.inputs, input);
    writer.table("outputs", &ast.outputs, |writer, ty| writer.ty(ty));
    writer.table("constants", &ast.constants, constant);
    writer.table("events", &ast.events, |_, event| self::event(event));
    writer.table("streams", &ast.streams, |_, device| {
        Value::map([("device", Value::text(device))])
    });
    if !ast.functions.is_empty() {
        writer.put("functions", Value::texts(&ast.functions));
    }
    writer.table("user_functions", &ast.user_functions, signature);
    writer.table("budget", &ast.budget, |_, bytes| Value::size(*bytes));
    writer.put("main", writer.list(&ast.main));
    Value::Map(writer.map)
}

/// The fields of one object.
pub(super) struct Writer {
    map: Vec<(String, Value)>,
    short_types: bool,
}

impl Writer {
    /// Writes a field.
    pub fn put(&mut self, key: &str, value: Value) {
        self.map.push((key.to_owned(), value));
    }

    /// Writes a field that may be absent.
    pub fn put_some(&mut self, key: &str, value: Option<Value>) {
        self.map.extend(value.map(|value| (key.to_owned(), value)));
    }

    /// Writes a table; none where it is empty.
    fn table<T>(&mut self, key: &str, table: &Table<T>, written: impl Fn(&Self, &T) -> Value) {
        let entries = table
            .iter()
            .map(|(name, entry)| (name.clone(), written(self, entry)));
        let entries: Vec<_> = entries.collect();
        self.put_some(key, (!entries.is_empty()).then_some(Value::Map(entries)));
    }

    /// A list of instructions.
    pub fn list(&self, instructions: &[Instruction]) -> Value {
        Value::List(
            instructions
                .iter()
                .map(|one| self.instruction(one))
                .collect(),
        )
    }

    fn instruction(&self, instruction: &Instruction) -> Value {
        let mut writer = Self {
            map: Vec::new(),
            short_types: self.short_types,
        };
        writer.put("op", Value::text(instruction.op.name()));
        instruction.op.write(&mut writer);
        let beside = [
            ("id", &instruction.id),
            ("src_loc", &instruction.src_loc),
            ("track", &instruction.track),
        ];
        for (key, text) in beside {
            writer.put_some(key, text.as_ref().map(Value::text));
        }
        Value::Map(writer.map)
    }

    /// A type.
    pub fn ty(&self, ty: &Type) -> Value {
        if let Some(text) = short(ty).filter(|_| self.short_types) {
            return Value::Text(text);
        }
        let (kind, value) = match ty {
            Type::Tensor { dtype, shape, repr } => tensor(*dtype, shape, *repr),
            Type::Transcript { curve, hash, bytes } => {
                let entries = [
                    ("curve", Value::text(curve.name())),
                    ("hash", Value::text(hash)),
                    ("bytes", Value::size(*bytes)),
                ];
                ("Transcript", Value::map(entries))
            }
            Type::Tuple(types) if self.short_types => return self.tys(types),
            Type::Tuple(types) => ("Tuple", self.tys(types)),
            Type::Bytes(n) => ("Bytes", Value::map(n.map(|n| ("n", Value::size(n))))),
        };
        Value::map([(kind, value)])
    }

    fn tys(&self, types: &[Type]) -> Value {
        Value::List(types.iter().map(|ty| self.ty(ty)).collect())
    }

    /// The entries of what has a type and a device.
    fn declared(&self, ty: &Type, device: &str) -> Vec<(&'static str, Value)> {
        vec![("type", self.ty(ty)), ("device", Value::text(device))]
    }
}

fn register(writer: &Writer, register: &Register) -> Value {
    Value::map(writer.declared(&register.ty, &register.device))
}

fn input(writer: &Writer, input: &Input) -> Value {
    let consume = input.consume.then_some(("consume", Value::Bool(true)));
    let entries = writer.declared(&input.ty, &input.device);
    Value::map(entries.into_iter().chain(consume))
}

fn event(event: &Event) -> Value {
    let kind = event.device.as_ref().map_or("thread", |_| "gpu");
    let device = event.device.iter();
    let device = device.map(|device| ("device", Value::text(device)));
    Value::map([("kind", Value::text(kind))].into_iter().chain(device))
}

fn signature(writer: &Writer, signature: &Signature) -> Value {
    Value::map([
        ("outs", writer.tys(&signature.outs)),
        ("ins", writer.tys(&signature.ins)),
    ])
}

fn constant(writer: &Writer, constant: &Constant) -> Value {
    let mut entries = writer.declared(&constant.ty, &constant.device);
    match &constant.data {
        Data::Values(values) => entries.push(("values", Value::List(values.clone()))),
        Data::File {
            file,
            offset,
            bytes,
            sha256,
        } => {
            entries.push(("file", Value::text(file)));
            entries.push(("offset", Value::size(*offset)));
            entries.push(("bytes", Value::size(*bytes)));
            entries.extend(sha256.iter().map(|sum| ("sha256", Value::text(sum))));
        }
    }
    Value::map(entries)
}

/// The kind and fields of a tensor's type.
fn tensor(dtype: DType, shape: &[u64], repr: Option<Repr>) -> (&'static str, Value) {
    if let (DType::Point(group), None, [] | [_]) = (dtype, repr, shape) {
        let curve = group.facts().curve.facts();
        let mut entries = vec![("curve", Value::text(curve.name))];
        if curve.g2 == Some(group) {
            entries.push(("group", Value::text("g2")));
        }
        entries.extend(shape.iter().map(|n| ("n", Value::size(*n))));
        let kind = if shape.is_empty() { "Point" } else { "Points" };
        return (kind, Value::map(entries));
    }
    if let (true, None, []) = (dtype.is_field(), repr, shape) {
        return ("Scalar", Value::map([("field", Value::text(dtype.name()))]));
    }
    let mut entries = vec![
        ("dtype", Value::text(dtype.name())),
        ("shape", Value::sizes(shape)),
    ];
    entries.extend(repr.map(|repr| ("repr", Value::text(repr.name()))));
    ("Tensor", Value::map(entries))
}
