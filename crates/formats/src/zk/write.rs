//! From the program to the tree: the one way in which each thing is written.

use super::ast::{Ast, Constant, Data, Entry, Input, Instruction, Operation, Sliced, Type, Viewed};
use super::fields::short;
use super::value::Value;
use cloakwork_ir::{DType, Repr};

type Entries = Vec<(String, Value)>;

/// The tree of a program. With `short_types`, types are written in their short form.
pub(super) fn tree(ast: &Ast, short_types: bool) -> Value {
    let writer = Writer { short_types };
    let mut map = vec![
        ("format".to_owned(), Value::text("program")),
        ("version".to_owned(), Value::Int(1)),
    ];
    if let Some(curve) = ast.curve {
        put(&mut map, "curve", Value::text(curve.name()));
    }
    let registers = ast.registers.iter().map(|(name, register)| {
        let device = Value::text(&register.device);
        let entries = [("type", writer.ty(&register.ty)), ("device", device)];
        (name.clone(), Value::map(entries))
    });
    put_table(&mut map, "registers", registers);
    let inputs = ast
        .inputs
        .iter()
        .map(|(name, input)| (name.clone(), writer.input(input)));
    put_table(&mut map, "inputs", inputs);
    let outputs = ast
        .outputs
        .iter()
        .map(|(name, ty)| (name.clone(), writer.ty(ty)));
    put_table(&mut map, "outputs", outputs);
    let constants = ast.constants.iter();
    let constants = constants.map(|(name, constant)| (name.clone(), writer.constant(constant)));
    put_table(&mut map, "constants", constants);
    let events = ast.events.iter().map(|(name, event)| {
        let kind = if event.device.is_some() {
            "gpu"
        } else {
            "thread"
        };
        let mut entries = vec![("kind", Value::text(kind))];
        entries.extend(
            event
                .device
                .iter()
                .map(|device| ("device", Value::text(device))),
        );
        (name.clone(), Value::map(entries))
    });
    put_table(&mut map, "events", events);
    let streams = ast.streams.iter();
    let streams =
        streams.map(|(name, device)| (name.clone(), Value::map([("device", Value::text(device))])));
    put_table(&mut map, "streams", streams);
    if !ast.functions.is_empty() {
        put(&mut map, "functions", Value::texts(&ast.functions));
    }
    let user_functions = ast.user_functions.iter().map(|(name, signature)| {
        let list = |types: &[Type]| Value::List(types.iter().map(|ty| writer.ty(ty)).collect());
        let entries = [
            ("outs", list(&signature.outs)),
            ("ins", list(&signature.ins)),
        ];
        (name.clone(), Value::map(entries))
    });
    put_table(&mut map, "user_functions", user_functions);
    let budget = ast.budget.iter();
    put_table(
        &mut map,
        "budget",
        budget.map(|(name, bytes)| (name.clone(), Value::size(*bytes))),
    );
    put(&mut map, "main", writer.list(&ast.main));
    Value::Map(map)
}

fn put(map: &mut Entries, key: &str, value: Value) {
    map.push((key.to_owned(), value));
}

fn put_table(map: &mut Entries, key: &str, entries: impl Iterator<Item = (String, Value)>) {
    let entries: Entries = entries.collect();
    if !entries.is_empty() {
        put(map, key, Value::Map(entries));
    }
}

struct Writer {
    short_types: bool,
}

impl Writer {
    fn ty(&self, ty: &Type) -> Value {
        match (self.short_types, short(ty)) {
            (true, Some(text)) => return Value::Text(text),
            (true, None) => {
                if let Type::Tuple(types) = ty {
                    return Value::List(types.iter().map(|ty| self.ty(ty)).collect());
                }
            }
            _ => {}
        }
        match ty {
            Type::Tensor { dtype, shape, repr } => tensor(*dtype, shape, *repr),
            Type::Transcript { curve, hash, bytes } => Value::map([(
                "Transcript",
                Value::map([
                    ("curve", Value::text(curve.name())),
                    ("hash", Value::text(hash)),
                    ("bytes", Value::size(*bytes)),
                ]),
            )]),
            Type::Tuple(types) => Value::map([(
                "Tuple",
                Value::List(types.iter().map(|ty| self.ty(ty)).collect()),
            )]),
            Type::Bytes(n) => {
                let n = n.map(|n| ("n", Value::size(n)));
                Value::map([("Bytes", Value::map(n))])
            }
        }
    }

    fn input(&self, input: &Input) -> Value {
        let mut entries = vec![
            ("type", self.ty(&input.ty)),
            ("device", Value::text(&input.device)),
        ];
        if input.consume {
            entries.push(("consume", Value::Bool(true)));
        }
        Value::map(entries)
    }

    fn constant(&self, constant: &Constant) -> Value {
        let mut entries = vec![
            ("type", self.ty(&constant.ty)),
            ("device", Value::text(&constant.device)),
        ];
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

    fn list(&self, instructions: &[Instruction]) -> Value {
        Value::List(
            instructions
                .iter()
                .map(|one| self.instruction(one))
                .collect(),
        )
    }

    fn instruction(&self, instruction: &Instruction) -> Value {
        let mut map = vec![("op".to_owned(), Value::text(instruction.op.name()))];
        self.memory(&instruction.op, &mut map);
        let beside = [
            ("id", &instruction.id),
            ("src_loc", &instruction.src_loc),
            ("track", &instruction.track),
        ];
        for (key, text) in beside {
            put_text(&mut map, key, text.as_ref());
        }
        Value::Map(map)
    }

    fn memory(&self, op: &Operation, map: &mut Entries) {
        match op {
            Operation::Allocate {
                id,
                device,
                typ,
                at,
                zero,
            } => {
                put(map, "id", Value::text(id));
                put(map, "device", Value::text(device));
                put(map, "typ", self.ty(typ));
                if let Some(at) = at {
                    let entries = [
                        ("pool", Value::text(&at.pool)),
                        ("offset", Value::size(at.offset)),
                    ];
                    put(map, "at", Value::map(entries));
                }
                put_flag(map, "zero", *zero);
            }
            Operation::Deallocate { id } | Operation::RemoveRegister { id } => {
                put(map, "id", Value::text(id));
            }
            Operation::MoveRegister { src, dst }
            | Operation::LoadConstant { src, dst }
            | Operation::LoadInput { src, dst } => put_ends(map, src, dst),
            Operation::Fork {
                new_thread,
                instructions,
            } => {
                put(map, "new_thread", Value::text(new_thread));
                put(map, "instructions", self.list(instructions));
            }
            _ => data(op, map),
        }
    }
}

fn tensor(dtype: DType, shape: &[u64], repr: Option<Repr>) -> Value {
    if let (DType::Point(group), None, [] | [_]) = (dtype, repr, shape) {
        let curve = group.facts().curve.facts();
        let mut entries = vec![("curve", Value::text(curve.name))];
        if curve.g2 == Some(group) {
            entries.push(("group", Value::text("g2")));
        }
        entries.extend(shape.iter().map(|n| ("n", Value::size(*n))));
        let kind = if shape.is_empty() { "Point" } else { "Points" };
        return Value::map([(kind, Value::map(entries))]);
    }
    if let (true, None, []) = (dtype.is_field(), repr, shape) {
        let entries = [("field", Value::text(dtype.name()))];
        return Value::map([("Scalar", Value::map(entries))]);
    }
    let sizes = shape.iter().map(|&size| Value::size(size)).collect();
    let mut entries = vec![
        ("dtype", Value::text(dtype.name())),
        ("shape", Value::List(sizes)),
    ];
    entries.extend(repr.map(|repr| ("repr", Value::text(repr.name()))));
    Value::map([("Tensor", Value::map(entries))])
}

fn put_text(map: &mut Entries, key: &str, text: Option<&String>) {
    if let Some(text) = text {
        put(map, key, Value::text(text));
    }
}

fn put_flag(map: &mut Entries, key: &str, flag: bool) {
    if flag {
        put(map, key, Value::Bool(true));
    }
}

fn put_ends(map: &mut Entries, src: &str, dst: &str) {
    put(map, "src", Value::text(src));
    put(map, "dst", Value::text(dst));
}

fn data(op: &Operation, map: &mut Entries) {
    match op {
        Operation::Transfer {
            src_id,
            dst_id,
            src_device,
            dst_device,
            stream,
            pad,
        } => {
            put(map, "src_id", Value::text(src_id));
            put(map, "dst_id", Value::text(dst_id));
            put(map, "src_device", Value::text(src_device));
            put(map, "dst_device", Value::text(dst_device));
            put_text(map, "stream", stream.as_ref());
            if *pad {
                put(map, "pad", Value::text("zero"));
            }
        }
        Operation::Store { src, output } => {
            put(map, "src", Value::text(src));
            put(map, "output", Value::text(output));
        }
        Operation::Element {
            src,
            dst,
            index,
            stream,
        } => {
            put_ends(map, src, dst);
            put(map, "index", Value::size(*index));
            put_text(map, "stream", stream.as_ref());
        }
        Operation::Rotation { src, dst, shift } => {
            put_ends(map, src, dst);
            put(map, "shift", Value::Int(*shift));
        }
        Operation::Slice { src, dst, what } => {
            put_ends(map, src, dst);
            sliced(what, map);
        }
        Operation::SetSliceMeta {
            src,
            dst,
            offset,
            len,
        } => {
            put_ends(map, src, dst);
            put(map, "offset", Value::Int(*offset));
            put(map, "len", Value::size(*len));
        }
        Operation::View { src, dst, what } => {
            put_ends(map, src, dst);
            viewed(what, map);
        }
        Operation::AssembleTuple { vars, dst } => {
            put(map, "vars", Value::texts(vars));
            put(map, "dst", Value::text(dst));
        }
        _ => compute(op, map),
    }
}

fn sizes(sizes: &[u64]) -> Value {
    Value::List(sizes.iter().map(|&size| Value::size(size)).collect())
}

fn sliced(what: &Sliced, map: &mut Entries) {
    match what {
        Sliced::Range(start, end, step) => {
            put(map, "start", Value::size(*start));
            put(map, "end", Value::size(*end));
            if *step != 1 {
                put(map, "step", Value::size(*step));
            }
        }
        Sliced::Entries(entries) => {
            let entries = entries.iter().map(|entry| match *entry {
                Entry::Index(index) => Value::size(index),
                Entry::Range(start, stop, 1) => sizes(&[start, stop]),
                Entry::Range(start, stop, step) => sizes(&[start, stop, step]),
                Entry::Rest => Value::text("..."),
            });
            put(map, "entries", Value::List(entries.collect()));
        }
    }
}

fn viewed(what: &Viewed, map: &mut Entries) {
    let (kind, args) = match what {
        Viewed::Reshape(shape) => ("reshape", sizes(shape)),
        Viewed::Permute(axes) => ("permute", sizes(axes)),
        Viewed::Broadcast(shape) => ("broadcast", sizes(shape)),
        Viewed::Expand { axis, repeat } => ("expand", sizes(&[*axis, *repeat])),
        Viewed::As(repr) => {
            let kind = repr.map_or("elements", Repr::name);
            return put(map, "kind", Value::text(kind));
        }
    };
    put(map, "kind", Value::text(kind));
    put(map, "args", args);
}

fn compute(op: &Operation, map: &mut Entries) {
    match op {
        Operation::FuncCall {
            func,
            arg_mut,
            arg,
            attrs,
            stream,
        } => {
            put(map, "func", Value::text(func));
            put(map, "arg_mut", Value::texts(arg_mut));
            put(map, "arg", Value::texts(arg));
            if !attrs.is_empty() {
                put(map, "attrs", Value::Map(attrs.clone()));
            }
            put_text(map, "stream", stream.as_ref());
        }
        Operation::Blind {
            dst,
            start,
            end,
            domain,
            stream,
        } => {
            put(map, "dst", Value::text(dst));
            put(map, "start", Value::size(*start));
            put(map, "end", Value::size(*end));
            put_text(map, "domain", domain.as_ref());
            put_text(map, "stream", stream.as_ref());
        }
        Operation::AssertEq {
            value,
            expected,
            msg,
        } => {
            put(map, "value", Value::text(value));
            put(map, "expected", Value::text(expected));
            put_text(map, "msg", msg.as_ref());
        }
        Operation::Print { id, label } => {
            put(map, "id", Value::text(id));
            put(map, "label", Value::text(label));
        }
        _ => synchronize(op, map),
    }
}

fn synchronize(op: &Operation, map: &mut Entries) {
    match op {
        Operation::Join { thread } => put(map, "thread", Value::text(thread)),
        Operation::Record { event, stream } => {
            put(map, "event", Value::text(event));
            put_text(map, "stream", stream.as_ref());
        }
        Operation::Wait {
            event,
            slave,
            stream,
        } => {
            put(map, "event", Value::text(event));
            put_text(map, "slave", slave.as_ref());
            put_text(map, "stream", stream.as_ref());
        }
        Operation::SegmentStart { name } => put(map, "name", Value::text(name)),
        Operation::SegmentEnd { name } => put_text(map, "name", name.as_ref()),
        Operation::Return { id, list } => match (id.as_slice(), list) {
            ([one], false) => put(map, "id", Value::text(one)),
            (many, _) => put(map, "id", Value::texts(many)),
        },
        _ => {}
    }
}
