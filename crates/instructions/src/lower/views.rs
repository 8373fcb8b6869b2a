//! Views, none of which moves an element.

use super::emit::{device, range};
use super::registers::Register;
use super::{Lowering, Refusal, misfit, refuse};
use crate::window::Window;
use cloakwork_formats::zk::{Entry, Operation, Sliced, Viewed};
use cloakwork_ir::{Arg, Repr, Shape, ShapeItem, Take, View, shape_arg};
use cloakwork_ops::{OpDef, named};

impl Lowering<'_> {
    pub(super) fn view(&mut self, op: &Operation) -> Result<(), Refusal> {
        match op {
            Operation::Rotation { src, dst, shift } => {
                let source = self.tensor(src)?;
                let Some(window) = source.window.and_then(|window| window.rotated(*shift)) else {
                    let hint = "copy the part into a register of its own, and rotate that";
                    let expected = "a whole tensor of one axis";
                    return refuse("V10", src, expected, "a part of a tensor", hint);
                };
                self.window(&source, window, dst)
            }
            Operation::SetSliceMeta {
                src,
                dst,
                offset,
                len,
            } => {
                let source = self.tensor(src)?;
                let Some(window) = source.window else {
                    return misfit("V10", &source, "a window of one axis", source.ty());
                };
                let Some(window) = window.replaced(*offset, *len) else {
                    let expected = format!("at most {} elements", window.whole);
                    return misfit("V10", &source, expected, len.to_string());
                };
                self.window(&source, window, dst)
            }
            Operation::Slice { src, dst, what } => {
                let source = self.tensor(src)?;
                self.sliced(&source, dst, what)
            }
            Operation::View { src, dst, what } => {
                let source = self.tensor(src)?;
                self.viewed(&source, dst, what)
            }
            Operation::AssembleTuple { vars, dst } => self.tuple(vars, dst),
            _ => Err(None),
        }
    }

    /// A window on the buffer of a register.
    fn window(&mut self, source: &Register, window: Window, dst: &str) -> Result<(), Refusal> {
        let register = source.named(dst).windowed(window);
        if source.whole != source.name && source.owner != source.name {
            // Whoever uses a register that was given up shall hear of it.
            for symbol in self.symbols(source) {
                self.slice(symbol, vec![range(0, 0, 1)]);
            }
        }
        self.define(register.clone())?;
        let whole = self.program.symbol(&source.whole);
        let split = window.before_wrap();
        let pieces = [
            (window.offset, window.offset + split),
            (0, window.len - split),
        ];
        for (symbol, (from, to)) in self.symbols(&register).into_iter().zip(pieces) {
            self.slice_as(whole, vec![range(from, to, 1)], symbol);
        }
        Ok(())
    }

    fn sliced(&mut self, source: &Register, dst: &str, what: &Sliced) -> Result<(), Refusal> {
        let entries = match what {
            Sliced::Range(start, end, step) => vec![Entry::Range(*start, *end, *step)],
            Sliced::Entries(entries) => entries.clone(),
        };
        let entries = complete(source, &entries)?;
        if let (Some(window), &[Entry::Range(start, end, 1)]) = (source.window, entries.as_slice())
        {
            let window = window.sliced(start, end).ok_or(None)?;
            let register = source.named(dst).windowed(window);
            self.define(register.clone())?;
            self.part_of(source, &register, (start, end));
            return Ok(());
        }
        if source.wraps() {
            let hint = "transfer the window into an allocated register, and slice that";
            let expected = "a step of 1 in a window that wraps around";
            return refuse("V10", &source.name, expected, "another slice", hint);
        }
        let takes: Vec<Take> = entries.iter().map(take).collect();
        let view = match source.view.slice(&takes) {
            Ok(view) => view,
            Err(error) => return misfit("V10", source, "a slice in range", error.to_string()),
        };
        let register = source.named(dst).reshaped(view);
        self.define(register.clone())?;
        let items: Vec<ShapeItem> = entries.iter().map(item).collect();
        if let (&[from], &[to]) = (&*self.symbols(source), &*self.symbols(&register)) {
            self.slice_as(from, items, to);
        }
        Ok(())
    }

    /// Views of the pieces of `source` under the names of `register`, which is a range of it.
    fn part_of(&mut self, source: &Register, register: &Register, (start, end): (u64, u64)) {
        let parts = self.ranges(source, start, end);
        for ((symbol, from, to), name) in parts.into_iter().zip(self.symbols(register)) {
            self.slice_as(symbol, vec![range(from, to, 1)], name);
        }
    }

    fn viewed(&mut self, source: &Register, dst: &str, what: &Viewed) -> Result<(), Refusal> {
        if let Viewed::As(repr) = what {
            return self.cast(source, dst, *repr);
        }
        if source.wraps() {
            let hint = "copy it into a register of its own first";
            let expected = "a register that does not wrap around";
            let got = "a register that wraps around";
            return refuse("V10", &source.name, expected, got, hint);
        }
        let legal = |shape: &[u64]| match Shape::new(shape) {
            Ok(shape) => Ok(shape),
            Err(error) => misfit("V10", source, "a shape", error.to_string()),
        };
        let in_range = |view: Result<View, String>| {
            let expected = "axes and sizes of the register";
            view.or_else(|error| misfit("V10", source, expected, error))
        };
        let view = &source.view;
        let axes = |axes: &[u64]| axes.iter().map(|&axis| axis as i64).collect::<Vec<_>>();
        let (op, args, view): (&'static OpDef, _, _) = match what {
            Viewed::Reshape(shape) => {
                let shape = legal(shape)?;
                let view = view.reshape(&shape).map_err(|error| error.to_string());
                let Some(view) = view.transpose().map(in_range).transpose()? else {
                    let hint = "copy it into a register of its own first";
                    let expected = "row-major elements";
                    return refuse("V10", &source.name, expected, "others", hint);
                };
                (&named::RESHAPE, vec![shape_arg(&shape)], view)
            }
            Viewed::Permute(order) => {
                let view = view.permute_axes(&axes(order));
                let view = in_range(view.map_err(|error| error.to_string()))?;
                (&named::TRANSPOSE, vec![items(order)], view)
            }
            Viewed::Expand { axis, repeat } => {
                let view = view.expand(*axis as i64, *repeat);
                let view = in_range(view.map_err(|error| error.to_string()))?;
                let args = [axis, repeat].map(|&number| Arg::Int(number as i64));
                (&named::EXPAND, args.to_vec(), view)
            }
            Viewed::Broadcast(shape) => {
                let shape = legal(shape)?;
                let view = in_range(view.broadcast_to(&shape).ok_or_else(|| shape.to_string()))?;
                (&named::BROADCAST_TO, vec![shape_arg(&shape)], view)
            }
            Viewed::As(_) => return Err(None),
        };
        let register = source.named(dst).reshaped(view);
        self.define(register.clone())?;
        if let (&[from], &[to]) = (&*self.symbols(source), &*self.symbols(&register)) {
            let args = [device(from)].into_iter().chain(args);
            self.op(op, args, device(to));
        }
        Ok(())
    }

    /// The same register, taken as coefficients or values by the program's word.
    fn cast(&mut self, source: &Register, dst: &str, repr: Option<Repr>) -> Result<(), Refusal> {
        let register = source.named(dst);
        self.define(register.clone())?;
        let number = match repr {
            None => 0,
            Some(Repr::Coef) => 1,
            Some(Repr::Lagrange) => 2,
        };
        let (from, to) = (self.symbols(source), self.symbols(&register));
        for (from, to) in from.into_iter().zip(to) {
            let args = [device(from), Arg::Int(number)];
            self.op(&named::AS_REPR, args, device(to));
        }
        Ok(())
    }

    /// A tuple: each part under a name of its own, such as `t.0`.
    fn tuple(&mut self, vars: &[String], dst: &str) -> Result<(), Refusal> {
        let mut parts = Vec::new();
        for (index, var) in vars.iter().enumerate() {
            let source = self.lookup(var)?;
            let name = format!("{dst}.{index}");
            if let Some(inner) = &source.parts {
                for part in inner {
                    let source = self.tensor(part)?;
                    let rest = part.strip_prefix(var.as_str()).unwrap_or("");
                    parts.push(self.alias(&source, format!("{name}{rest}"))?);
                }
            } else {
                parts.push(self.alias(&source, name)?);
            }
        }
        let mut tuple = Register::new(dst, cloakwork_ir::DType::U8, Vec::new(), "cpu");
        tuple.parts = Some(parts);
        self.define(tuple)
    }

    /// The same register under another name.
    fn alias(&mut self, source: &Register, name: String) -> Result<String, Refusal> {
        let register = source.named(&name);
        self.define(register.clone())?;
        let from = self.symbols(source);
        let to = self.symbols(&register);
        let split = source.window.map_or(0, Window::before_wrap);
        for ((from, to), index) in from.into_iter().zip(to).zip(0..) {
            let entries = match (source.wraps(), index, source.window) {
                (true, 0, _) => vec![range(0, split, 1)],
                (true, _, Some(window)) => vec![range(0, window.len - split, 1)],
                _ => source.dims.iter().map(|&size| range(0, size, 1)).collect(),
            };
            self.slice_as(from, entries, to);
        }
        Ok(name)
    }

    /// A name for the whole buffer of a new register, where views of views will need one.
    pub(super) fn own(&mut self, mut register: Register) -> Result<(), Refusal> {
        let symbol = self.program.symbol(&register.name);
        if let (true, &[n]) = (self.shared.statics.whole_windows, register.dims.as_slice()) {
            register.whole = format!("{}#all", register.name);
            let whole = self.program.symbol(&register.whole);
            self.slice_as(symbol, vec![range(0, n, 1)], whole);
        }
        self.define(register)
    }
}

/// An entry for each axis, all in range.
fn complete(source: &Register, entries: &[Entry]) -> Result<Vec<Entry>, Refusal> {
    let rests = entries
        .iter()
        .filter(|entry| **entry == Entry::Rest)
        .count();
    let given = entries.len() - rests;
    if rests > 1 || given > source.dims.len() || (rests == 0 && given < source.dims.len()) {
        let expected = format!("an entry for each of {} axes", source.dims.len());
        return misfit("V10", source, expected, given.to_string());
    }
    let mut complete = Vec::with_capacity(source.dims.len());
    for entry in entries {
        if *entry == Entry::Rest {
            let left = source.dims.iter().skip(complete.len());
            let left = left.take(source.dims.len() - given);
            complete.extend(left.map(|&size| Entry::Range(0, size, 1)));
        } else {
            complete.push(*entry);
        }
    }
    for (entry, &size) in complete.iter().zip(&source.dims) {
        let fits = match *entry {
            Entry::Index(index) => index < size,
            Entry::Range(start, end, step) => start <= end && end <= size && step > 0,
            Entry::Rest => true,
        };
        if !fits {
            let expected = format!("0 <= start <= end <= {size} and a step of 1 or more");
            let got = match *entry {
                Entry::Range(start, end, 1) => format!("{start}:{end}"),
                Entry::Range(start, end, step) => format!("{start}:{end}:{step}"),
                Entry::Index(index) => format!("index {index}"),
                Entry::Rest => String::new(),
            };
            return misfit("V10", source, expected, got);
        }
    }
    Ok(complete)
}

fn take(entry: &Entry) -> Take {
    match *entry {
        Entry::Index(index) => Take::Index(index),
        Entry::Range(start, end, step) => Take::Steps {
            start,
            count: (end - start).div_ceil(step),
            step: step as i64,
        },
        Entry::Rest => Take::Index(0),
    }
}

fn item(entry: &Entry) -> ShapeItem {
    match *entry {
        Entry::Index(index) => ShapeItem::Int(index as i64),
        Entry::Range(start, end, step) => range(start, end, step),
        Entry::Rest => ShapeItem::Ellipsis,
    }
}

fn items(list: &[u64]) -> Arg {
    let item = |&item: &u64| ShapeItem::Int(item as i64);
    Arg::Shape(list.iter().map(item).collect())
}
