//! Steps, and registers cut to what ops take.

use super::registers::Register;
use super::{Lowering, Refusal, refuse};
use crate::window::Window;
use cloakwork_ir::{
    Arg, DType, HostSlot, HostTensor, Shape, ShapeItem, Step, Symbol, Threaded, shape_arg,
};
use cloakwork_ops::{OpDef, named};

/// One range as an entry of a slice.
pub(super) fn range(start: u64, stop: u64, step: u64) -> ShapeItem {
    let bound = |at: u64| Some(at as i64);
    ShapeItem::Slice {
        start: bound(start),
        stop: bound(stop),
        step: bound(step),
    }
}

impl Lowering<'_> {
    /// Appends a step of the instruction at hand.
    pub(super) fn push(&mut self, step: Step) {
        self.program.steps.push(step);
        self.notes
            .say(self.program.steps.len() as u32 - 1, self.note);
    }

    pub(super) fn threaded(&mut self, step: Threaded) {
        self.push(Step::Threaded(step));
    }

    /// Appends a call of an op.
    pub(super) fn op(
        &mut self,
        def: &'static OpDef,
        args: impl IntoIterator<Item = Arg>,
        out: Arg,
    ) {
        self.program.push_op(def.name, args, Some(out));
        self.notes
            .say(self.program.steps.len() as u32 - 1, self.note);
    }

    /// Appends a call whose last argument is what it writes.
    pub(super) fn write(
        &mut self,
        def: &'static OpDef,
        args: impl IntoIterator<Item = Arg>,
        out: Symbol,
    ) {
        let all = args.into_iter().chain([device(out)]);
        self.op(def, all, device(out));
    }

    /// A name that no register has.
    pub(super) fn fresh(&mut self) -> Symbol {
        self.fresh_of("")
    }

    /// A name that no register has, for something of this register's: messages call it so.
    fn fresh_of(&mut self, register: &str) -> Symbol {
        self.fresh += 1;
        let name = format!("{register}#v{}", self.fresh);
        self.program.symbol(&name)
    }

    /// Does something on no stream.
    fn unqueued(&mut self, act: impl FnOnce(&mut Self)) {
        let stream = self.note.stream.take();
        act(self);
        self.note.stream = stream;
    }

    /// A scalar of these bytes on a device, under a name of its own.
    pub(super) fn lend(
        &mut self,
        dtype: DType,
        bytes: Vec<u8>,
        on: &str,
    ) -> Result<Symbol, Refusal> {
        let data = HostTensor::from_vec(dtype, Shape::scalar(), bytes).map_err(|_| None)?;
        Ok(self.lend_tensor(data, on))
    }

    /// A tensor of the host on a device, under a name of its own.
    pub(super) fn lend_tensor(&mut self, data: HostTensor, on: &str) -> Symbol {
        let symbol = self.fresh();
        self.unqueued(|own| own.upload(HostSlot::Data(data), symbol, on));
        symbol
    }

    /// Fills a tensor with zeros.
    pub(super) fn zero(&mut self, symbol: Symbol) {
        let args = [device(symbol), Arg::Int(0)];
        self.op(&named::SET_CONST_VAL, args, device(symbol));
    }

    /// A view of one element of a register.
    pub(super) fn element_view(&mut self, register: &Register, at: u64) -> Result<Symbol, Refusal> {
        let parts = self.ranges(register, at, at + 1);
        let &(symbol, at, _) = parts.first().ok_or(None)?;
        Ok(self.slice(symbol, vec![ShapeItem::Int(at as i64)]))
    }

    /// Elements `start..end` of a register of one axis, as ranges of its pieces.
    pub(super) fn ranges(
        &mut self,
        register: &Register,
        start: u64,
        end: u64,
    ) -> Vec<(Symbol, u64, u64)> {
        let split = register.window.map_or(end, Window::before_wrap);
        match *self.symbols(register) {
            [first, second] if start < split && end > split => {
                vec![(first, start, split), (second, 0, end - split)]
            }
            [_, second] if start >= split => vec![(second, start - split, end - split)],
            [first, ..] => vec![(first, start, end)],
            [] => Vec::new(),
        }
    }

    /// The name of a register, or of its first piece.
    pub(super) fn first(&mut self, register: &Register) -> Result<Symbol, Refusal> {
        self.symbols(register).first().copied().ok_or(None)
    }

    /// An unnamed view.
    pub(super) fn slice(&mut self, of: Symbol, entries: Vec<ShapeItem>) -> Symbol {
        let name = self.program.symbol_name(of);
        let register = name.split('#').next().unwrap_or("").to_owned();
        let view = self.fresh_of(&register);
        self.slice_as(of, entries, view);
        view
    }

    /// A view under a name. Views are made where their thread comes to them, on no stream.
    pub(super) fn slice_as(&mut self, of: Symbol, entries: Vec<ShapeItem>, to: Symbol) {
        let args = [device(of), Arg::Shape(entries.into())];
        self.unqueued(|own| own.op(&named::SLICE, args, device(to)));
    }

    /// Unnamed memory on a register's device. [`Lowering::release`] frees it.
    pub(super) fn temporary(&mut self, dtype: DType, dims: &[u64], on: &str) -> Symbol {
        let symbol = self.fresh();
        self.allocate(symbol, dtype, dims, on);
        symbol
    }

    /// Unnamed memory in one piece as large as a register, on its device.
    pub(super) fn temporary_like(&mut self, register: &Register) -> Symbol {
        self.temporary(register.dtype, &register.dims, &register.device)
    }

    /// Allocates. Memory is there once its thread has come to this; streams give it back.
    pub(super) fn allocate(&mut self, symbol: Symbol, dtype: DType, dims: &[u64], on: &str) {
        let shape = Shape::new(dims).unwrap_or_default();
        let args = [shape_arg(&shape), Arg::DType(dtype)];
        self.note.device = Some(self.program.text(on));
        self.unqueued(|own| own.op(&named::EMPTY, args, device(symbol)));
        self.note.device = None;
    }

    /// Frees the temporaries of one instruction after their last use.
    pub(super) fn release(&mut self, temporaries: impl IntoIterator<Item = Symbol>) {
        for symbol in temporaries {
            self.push(Step::Free(symbol));
        }
    }

    /// Uploads data or an input under a name.
    pub(super) fn upload(&mut self, slot: HostSlot, to: Symbol, on: &str) {
        let host = self.program.push_host(slot);
        self.note.device = Some(self.program.text(on));
        self.op(&named::HOST_TO_DEVICE, [Arg::Host(host)], device(to));
        self.note.device = None;
    }

    /// Returns the value of a name.
    pub(super) fn download(&mut self, symbol: Symbol, name: String) {
        let host = self.program.push_host(HostSlot::Output { name });
        let args = [device(symbol), Arg::None];
        self.op(&named::DEVICE_TO_HOST, args, Arg::Host(host));
    }

    /// Elements `from..to` of a register of one axis, which must lie in one piece.
    pub(super) fn part(&mut self, register: &Register, from: u64, to: u64) -> Symbol {
        let symbols = self.symbols(register);
        let first = symbols.first().copied().unwrap_or(Symbol(u32::MAX));
        let split = register.window.map_or(u64::MAX, Window::before_wrap);
        let (symbol, start, len) = match symbols.get(1) {
            Some(&second) if from >= split => (second, split, register.elements() - split),
            Some(_) => (first, 0, split),
            None => (first, 0, register.elements()),
        };
        if (from, to) == (start, start + len) {
            return symbol;
        }
        self.slice(symbol, vec![range(from - start, to - start, 1)])
    }

    /// Runs what computes element by element over pieces that no operand's wrap crosses. Registers
    /// of other lengths than the first are given whole to each piece.
    pub(super) fn pieces(
        &mut self,
        registers: &[&Register],
        mut each: impl FnMut(&mut Self, &[Symbol], u64) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let Some(out) = registers.first() else {
            return Ok(());
        };
        let long = |r: &&&Register| r.dims.len() == 1 && r.dims == out.dims;
        let wrapping = registers.iter().filter(long).filter(|r| r.wraps());
        let cut = wrapping.filter_map(|r| r.window).map(Window::before_wrap);
        let mut cuts: Vec<u64> = cut.collect();
        let split = !cuts.is_empty();
        cuts.extend([0, out.elements()]);
        cuts.sort_unstable();
        cuts.dedup();
        if split {
            self.no_mixing(registers)?;
        }
        if cuts.len() < 2 {
            cuts = vec![0, 0];
        }
        for bounds in cuts.windows(2) {
            let &[from, to] = bounds else { continue };
            let mut parts = Vec::with_capacity(registers.len());
            for register in registers {
                parts.push(match split && long(&register) {
                    true => self.part(register, from, to),
                    false => self.first(register)?,
                });
            }
            each(self, &parts, if split { to - from } else { out.elements() })?;
        }
        Ok(())
    }

    /// Calls an op element by element, in pieces; `more` are operands that all pieces share.
    pub(super) fn elementwise(
        &mut self,
        op: &'static OpDef,
        out: &Register,
        ins: &[&Register],
        more: &[Symbol],
    ) -> Result<(), Refusal> {
        self.pieces(&[&[out], ins].concat(), |own, parts, _| {
            let (to, from) = parts.split_first().ok_or(None)?;
            let args: Vec<Arg> = from.iter().chain(more).copied().map(device).collect();
            own.write(op, args, *to);
            Ok(())
        })
    }

    /// Pieces run one after another: none may read what an earlier one has written.
    fn no_mixing(&self, registers: &[&Register]) -> Result<(), Refusal> {
        let Some((out, rest)) = registers.split_first() else {
            return Ok(());
        };
        let last = |r: &Register| self.shared.statics.last_name(&r.owner);
        for other in rest {
            if last(out) != last(other) {
                continue;
            }
            let mixes = match (out.window, other.window) {
                (Some(a), Some(b)) => a != b && a.overlaps(b),
                _ => out.name != other.name,
            };
            if mixes {
                let got = format!("\"{}\" and \"{}\" of one buffer", out.name, other.name);
                let hint = "write into another register, or copy the operand before";
                let expected = "operands that do not share bytes with the result";
                return refuse("V09", &out.name, expected, got, hint);
            }
        }
        Ok(())
    }

    /// One name for all of a register that is read: where it is two pieces, a copy.
    pub(super) fn single(&mut self, register: &Register, temporaries: &mut Vec<Symbol>) -> Symbol {
        if !register.wraps() {
            let symbols = self.symbols(register);
            return symbols.first().copied().unwrap_or(Symbol(u32::MAX));
        }
        let copy = self.temporary_like(register);
        temporaries.push(copy);
        self.copy_pieces(register, copy, true);
        copy
    }

    /// Copies between a register of two pieces and memory of one.
    pub(super) fn copy_pieces(&mut self, register: &Register, one: Symbol, reads: bool) {
        let Some(window) = register.window else {
            return;
        };
        let split = window.before_wrap();
        let halves = [(0, split), (split, window.len)];
        for (symbol, (from, to)) in self.symbols(register).into_iter().zip(halves) {
            let part = self.slice(one, vec![range(from, to, 1)]);
            let (from, to) = if reads {
                (symbol, part)
            } else {
                (part, symbol)
            };
            self.write(&named::COPY, [device(from)], to);
        }
    }
}

/// A name as an argument.
pub(super) const fn device(symbol: Symbol) -> Arg {
    Arg::Device(symbol, None)
}
