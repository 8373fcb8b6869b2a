//! Memory, transfers, what comes in and goes out.

use super::emit::{device, range};
use super::registers::Register;
use super::statics::Statics;
use super::{Lowering, Printed, Refusal, misfit, refuse};
use cloakwork_formats::zk::{Operation, Placed, Type};
use cloakwork_ir::{Arg, DType, HostSlot, Place, Shape, ShapeItem, Step, Threaded};
use cloakwork_ops::named;
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};

/// The input that random elements are drawn under: 32 bytes.
pub const KEY_INPUT: &str = "#key";
const KEY_BYTES: u64 = 32;
/// Where places in a static plan of memory may begin.
const ALIGNMENT: u64 = 64;

impl Lowering<'_> {
    pub(super) fn data(&mut self, op: &Operation) -> Result<(), Refusal> {
        match op {
            Operation::Allocate {
                id,
                device,
                typ,
                at,
                zero,
            } => self.allocated(id, device, typ, at.as_ref(), *zero),
            Operation::Deallocate { id } => self.freed(id),
            Operation::RemoveRegister { id } => {
                let register = self.lookup(id)?;
                for symbol in self.symbols(&register) {
                    self.threaded(Threaded::Forget(symbol));
                }
                Ok(())
            }
            Operation::MoveRegister { src, dst } => self.moved(src, dst),
            Operation::Transfer {
                src_id,
                dst_id,
                src_device,
                dst_device,
                stream,
                pad,
            } => {
                let (source, target) = (self.tensor(src_id)?, self.tensor(dst_id)?);
                self.note.stream = self.stream(stream);
                self.transfer((&source, src_device), (&target, dst_device), *pad)
            }
            Operation::LoadConstant { src, dst } => self.load_constant(src, dst),
            Operation::LoadInput { src, dst } => self.load_input(src, dst),
            Operation::Store { src, output } => self.store(src, output),
            Operation::Element {
                src,
                dst,
                index,
                stream,
            } => {
                self.note.stream = self.stream(stream);
                self.element(src, dst, *index)
            }
            Operation::Blind {
                dst,
                start,
                end,
                domain,
                stream,
            } => {
                self.note.stream = self.stream(stream);
                self.blind(dst, (*start, *end), domain.as_deref())
            }
            Operation::AssertEq {
                value,
                expected,
                msg,
            } => self.assert_equal(value, expected, msg.as_deref()),
            Operation::Print { id, label } => self.print(id, label),
            Operation::Return { id } => self.returned(&id.names),
            _ => Err(None),
        }
    }

    fn allocated(
        &mut self,
        id: &str,
        on: &str,
        typ: &Type,
        at: Option<&Placed>,
        zero: bool,
    ) -> Result<(), Refusal> {
        let Some(register) = Register::of(id, typ, on) else {
            let hint = "a tuple is made by AssembleTuple, of registers that own their memory";
            let expected = "a type of known size";
            return refuse("V07", "", expected, "a tuple, or bytes", hint);
        };
        self.declared_alike(id, typ)?;
        let (dtype, dims) = (register.dtype, register.dims.clone());
        let symbol = self.program.symbol(id);
        self.note.repr = typ.repr();
        self.note.place = at.map(|at| Place {
            pool: self.program.text(&at.pool),
            offset: at.offset,
        });
        self.allocate(symbol, dtype, &dims, on);
        (self.note.place, self.note.repr) = (None, None);
        if zero {
            self.zero(symbol);
        }
        let bytes = register
            .elements()
            .saturating_mul(dtype.size_bytes() as u64);
        self.own(register)?;
        at.map_or(Ok(()), |at| self.placed(at, bytes))
    }

    /// A place in a static plan: in order of time it is checked where all lifetimes are known.
    fn placed(&self, at: &Placed, bytes: u64) -> Result<(), Refusal> {
        if !at.offset.is_multiple_of(ALIGNMENT) {
            let expected = format!("an offset that {ALIGNMENT} divides");
            return refuse("V16", "at.offset", expected, at.offset.to_string(), "");
        }
        let budget = self.shared.ast.budget.iter();
        let pool = budget
            .filter(|(name, _)| *name == at.pool)
            .map(|(_, b)| *b)
            .next();
        match pool {
            Some(pool) if at.offset.saturating_add(bytes) > pool => {
                let got = format!("bytes {} to {}", at.offset, at.offset + bytes);
                let hint = "the budget of the device is the size of its pool";
                refuse("V16", "", format!("a place within {pool} bytes"), got, hint)
            }
            _ => Ok(()),
        }
    }

    fn freed(&mut self, id: &str) -> Result<(), Refusal> {
        let register = self.lookup(id)?;
        if register.parts.is_some() {
            let hint = "free the registers that it was assembled from; RemoveRegister drops it";
            let expected = "a register that owns its memory";
            return refuse("V05", id, expected, "a tuple", hint);
        }
        for symbol in self.symbols(&register) {
            self.push(Step::Free(symbol));
        }
        Ok(())
    }

    fn moved(&mut self, src: &str, dst: &str) -> Result<(), Refusal> {
        let source = self.lookup(src)?;
        let mut register = source.clone();
        dst.clone_into(&mut register.name);
        for own in [&mut register.owner, &mut register.whole] {
            if own == src {
                dst.clone_into(own);
            }
        }
        if let Some(parts) = &source.parts {
            let mut names = Vec::new();
            for part in parts {
                let name = format!("{dst}{}", part.strip_prefix(src).unwrap_or(""));
                self.moved(part, &name)?;
                names.push(name);
            }
            register.parts = Some(names);
            return self.define(register);
        }
        self.define(register.clone())?;
        let (from, to) = (self.symbols(&source), self.symbols(&register));
        for (from, to) in from.into_iter().zip(to) {
            self.threaded(Threaded::Move { from, to });
        }
        Ok(())
    }

    /// Copies between registers, which lie on the devices that the instruction names.
    fn transfer(
        &mut self,
        (source, from): (&Register, &str),
        (target, to): (&Register, &str),
        pad: bool,
    ) -> Result<(), Refusal> {
        for (register, said) in [(source, from), (target, to)] {
            if register.device != said {
                return misfit("V08", register, format!("on {said}"), &register.device);
            }
        }
        if source.dtype != target.dtype {
            return misfit("V07", source, target.ty(), source.ty());
        }
        if source.dims == target.dims {
            return self.elementwise(&named::COPY, target, &[source], &[]);
        }
        match (source.dims.as_slice(), target.dims.as_slice(), pad) {
            (&[short], &[long], true) if short < long => self.padded(source, target, short, long),
            _ => {
                let hint = "sizes are equal, or the target is longer and has pad: \"zero\"";
                refuse("V07", &source.name, target.ty(), source.ty(), hint)
            }
        }
    }

    fn padded(
        &mut self,
        source: &Register,
        target: &Register,
        short: u64,
        long: u64,
    ) -> Result<(), Refusal> {
        let split = |register: &Register| register.window.map_or(0, |w| w.before_wrap());
        let mut cuts = vec![0, split(source), split(target), short, long];
        cuts.retain(|&cut| cut <= long);
        cuts.sort_unstable();
        cuts.dedup();
        // The zeros of the rest are copied too, so that any stream of either device can do it.
        let bytes = vec![0; target.dtype.size_bytes()];
        let filling = self.lend(target.dtype, bytes, &source.device)?;
        for bounds in cuts.windows(2) {
            let &[from, to] = bounds else { continue };
            let place = self.part(target, from, to);
            let value = if from < short {
                self.part(source, from, to)
            } else {
                filling
            };
            self.write(&named::COPY, [device(value)], place);
        }
        Ok(())
    }

    fn load_constant(&mut self, src: &str, dst: &str) -> Result<(), Refusal> {
        let statics = self.shared.statics;
        let constant = entry(statics, ("constants", &statics.constants), src)?;
        // A constant that cannot be read has its finding.
        let data = self.shared.constants.get(src).cloned().ok_or(None)?;
        let register = Register::of(dst, &constant.ty, &constant.device).ok_or(None)?;
        self.load(register, &constant.ty, HostSlot::Data(data))
    }

    fn load_input(&mut self, src: &str, dst: &str) -> Result<(), Refusal> {
        let statics = self.shared.statics;
        let input = entry(statics, ("inputs", &statics.inputs), src)?;
        if input.consume && statics.loads.get(src).is_some_and(|&loads| loads > 1) {
            let hint = "move the register, or declare the input without consume";
            let expected = "one LoadInput of an input that is consumed";
            return refuse("V18", src, expected, "several", hint);
        }
        let Some(register) = Register::of(dst, &input.ty, &input.device) else {
            let got = "a tuple, or bytes of no known number";
            return refuse("V18", src, "an input of one tensor", got, "");
        };
        let shape = Shape::new(&register.dims).unwrap_or_default();
        let slot = HostSlot::Input {
            name: src.to_owned(),
            ty: cloakwork_ir::Type::new(register.dtype, shape),
        };
        self.load(register, &input.ty, slot)
    }

    /// Uploads into a new register.
    fn load(&mut self, register: Register, ty: &Type, slot: HostSlot) -> Result<(), Refusal> {
        self.declared_alike(&register.name, ty)?;
        let symbol = self.program.symbol(&register.name);
        self.note.repr = ty.repr();
        self.upload(slot, symbol, &register.device);
        self.note.repr = None;
        self.own(register)
    }

    /// A register that is declared holds what its declaration says beyond its sizes.
    fn declared_alike(&self, name: &str, ty: &Type) -> Result<(), Refusal> {
        let statics = self.shared.statics;
        let Some(declared) = statics.registers.get(name) else {
            return Ok(());
        };
        let differs = match (&declared.ty, ty) {
            (
                Type::Transcript { curve, hash, .. },
                Type::Transcript {
                    curve: c, hash: h, ..
                },
            ) => (curve, hash) != (c, h),
            (Type::Transcript { .. }, _) | (_, Type::Transcript { .. }) => true,
            (declared, ty) => {
                let reprs = declared.repr().zip(ty.repr());
                reprs.is_some_and(|(declared, own)| declared != own)
            }
        };
        if !differs || statics.is_broken("registers", name) {
            return Ok(());
        }
        let hint = "the table of registers states its type";
        refuse("V07", name, declared.ty.described(), ty.described(), hint)
    }

    fn store(&mut self, src: &str, output: &str) -> Result<(), Refusal> {
        let register = self.tensor(src)?;
        let statics = self.shared.statics;
        let ty = entry(statics, ("outputs", &statics.outputs), output)?;
        let declared = ty.tensor();
        let fits = match (&declared, ty) {
            (Some(declared), _) => (declared.0, &declared.1) == (register.dtype, &register.dims),
            (None, Type::Bytes(None)) => register.dtype == DType::U8,
            (None, _) => false,
        };
        if !fits {
            let expected = declared.map_or("bytes".to_owned(), |(dtype, dims)| {
                Register::new("", dtype, dims, "cpu").ty()
            });
            return misfit("V18", &register, expected, register.ty());
        }
        self.note.repr = ty.repr();
        self.hand_out(&register, output.to_owned());
        self.note.repr = None;
        Ok(())
    }

    /// Downloads a register.
    fn show(&mut self, register: &Register, output: String) {
        let mut temporaries = Vec::new();
        let symbol = self.single(register, &mut temporaries);
        self.download(symbol, output);
        self.release(temporaries);
    }

    fn hand_out(&mut self, register: &Register, output: String) {
        self.show(register, output);
        let owner = self.shared.statics.last_name(&register.owner);
        self.registers.now.handed_out.push(owner);
    }

    /// Hands out the results, then gives back what owns them and nothing else frees.
    fn returned(&mut self, ids: &[String]) -> Result<(), Refusal> {
        let mut returned = HashSet::new();
        for id in ids {
            let parts = self.lookup(id)?.parts;
            for part in parts.unwrap_or_else(|| vec![id.clone()]) {
                // Results are told apart by name: a register that is named twice is one of them.
                if !returned.insert(part.clone()) {
                    continue;
                }
                let register = self.tensor(&part)?;
                self.hand_out(&register, part);
            }
        }
        for owner in self.registers.handed_out() {
            if self.shared.statics.is_left(&owner) {
                let symbol = self.program.symbol(&owner);
                self.push(Step::Free(symbol));
            }
        }
        Ok(())
    }

    fn element(&mut self, src: &str, dst: &str, index: u64) -> Result<(), Refusal> {
        let (source, target) = (self.tensor(src)?, self.tensor(dst)?);
        self.element_of(&source, &target, index)
    }

    pub(super) fn element_of(
        &mut self,
        source: &Register,
        target: &Register,
        index: u64,
    ) -> Result<(), Refusal> {
        let &[n] = source.dims.as_slice() else {
            return misfit("V10", source, "a tensor of one axis", source.ty());
        };
        if index >= n {
            let expected = format!("an index below {n}");
            return misfit("V10", source, expected, index.to_string());
        }
        if source.dtype != target.dtype || target.elements() != 1 {
            let expected = format!("a scalar of {}", source.dtype);
            return misfit("V07", target, expected, target.ty());
        }
        let element = self.element_view(source, index)?;
        for symbol in self.symbols(target) {
            self.write(&named::COPY, [device(element)], symbol);
        }
        Ok(())
    }

    fn blind(
        &mut self,
        dst: &str,
        (start, end): (u64, u64),
        domain: Option<&str>,
    ) -> Result<(), Refusal> {
        let register = self.tensor(dst)?;
        let expected = "a field's tensor of one axis";
        let n = match *register.dims.as_slice() {
            [n] if register.dtype.is_field() => n,
            _ => return misfit("V11", &register, expected, register.ty()),
        };
        if start > end || end > n {
            let expected = format!("0 <= start <= end <= {n}");
            return misfit("V11", &register, expected, format!("{start}:{end}"));
        }
        self.random(&register, (start, end), domain)
    }

    pub(crate) fn fill_random(&mut self, out: &Register) -> Result<(), Refusal> {
        self.random(out, (0, out.elements()), None)
    }

    /// Uniform elements in a range of a register: a function of the key, of the domain, or else
    /// the instruction's name, and of each element's place in the range.
    fn random(
        &mut self,
        register: &Register,
        (start, end): (u64, u64),
        domain: Option<&str>,
    ) -> Result<(), Refusal> {
        self.registers.draw(&register.device);
        let (len, domain) = (end - start, domain.unwrap_or(&self.domain));
        let digest = Sha256::digest(domain.as_bytes());
        let mut word = [0; 8];
        word.copy_from_slice(digest.get(..8).unwrap_or(&[0; 8]));
        let key = self.program.symbol(&key_name(&register.device));
        let shape = Arg::Shape([ShapeItem::Int(len as i64)].into());
        let args = [
            device(key),
            shape,
            Arg::DType(register.dtype),
            Arg::Int(i64::from_le_bytes(word)),
        ];
        let parts = self.ranges(register, start, end);
        if let [(symbol, from, to)] = *parts {
            let part = self.slice(symbol, vec![range(from, to, 1)]);
            self.write(&named::UNIFORM_FIELD, args, part);
            return Ok(());
        }
        let drawn = self.temporary(register.dtype, &[len], &register.device);
        self.write(&named::UNIFORM_FIELD, args, drawn);
        let mut before = 0;
        for (symbol, from, to) in parts {
            let place = self.slice(symbol, vec![range(from, to, 1)]);
            let part = self.slice(drawn, vec![range(before, before + (to - from), 1)]);
            self.write(&named::COPY, [device(part)], place);
            before += to - from;
        }
        self.release([drawn]);
        Ok(())
    }

    /// The key of random elements, on each device that draws some.
    pub(super) fn keys(&mut self) {
        for on in self.registers.drawn_on() {
            let name = KEY_INPUT.to_owned();
            let shape = Shape::new(&[KEY_BYTES]).unwrap_or_default();
            let ty = cloakwork_ir::Type::new(DType::U8, shape);
            let symbol = self.program.symbol(&key_name(&on));
            self.upload(HostSlot::Input { name, ty }, symbol, &on);
        }
    }

    /// A step that fails where two registers differ.
    fn assert_equal(
        &mut self,
        value: &str,
        expected: &str,
        msg: Option<&str>,
    ) -> Result<(), Refusal> {
        let (a, b) = (self.tensor(value)?, self.tensor(expected)?);
        if (a.dtype, &a.dims) != (b.dtype, &b.dims) {
            return misfit("V07", &a, b.ty(), a.ty());
        }
        if a.device != b.device {
            return misfit("V08", &a, format!("on {}", b.device), &a.device);
        }
        let same = self.temporary(DType::Bool, &a.dims, &a.device);
        let mut mask = Register::new("#", DType::Bool, a.dims.clone(), &a.device);
        mask.name = self.program.symbol_name(same).to_owned();
        mask.owner.clone_from(&mask.name);
        self.elementwise(&named::EQUAL, &mask, &[&a, &b], &[])?;
        self.note.message = Some(self.program.text(msg.unwrap_or("values differ")));
        self.write(&named::ASSERT_TRUE, [device(same)], same);
        self.note.message = None;
        self.release([same]);
        Ok(())
    }

    fn print(&mut self, id: &str, label: &str) -> Result<(), Refusal> {
        let register = self.tensor(id)?;
        let output = format!("#print:{}:{}", self.printed.len(), self.label);
        self.show(&register, output.clone());
        let label = label.to_owned();
        self.printed.push(Printed { output, label });
        Ok(())
    }
}

fn key_name(on: &str) -> String {
    format!("#key@{on}")
}

/// An entry of a table; a finding is about one that cannot be read already.
fn entry<'a, T>(
    statics: &Statics<'_>,
    (table, entries): (&str, &'a HashMap<&str, T>),
    name: &str,
) -> Result<&'a T, Refusal> {
    if statics.is_broken(table, name) {
        return Err(None);
    }
    if let Some(entry) = entries.get(name) {
        return Ok(entry);
    }
    let mut known: Vec<&str> = entries.keys().copied().collect();
    known.sort_unstable();
    known.truncate(20);
    let expected = format!("a declared {}", table.trim_end_matches('s'));
    let hint = match known.as_slice() {
        [] => format!("declare it under \"{table}\""),
        known => format!("declared: {}", known.join(", ")),
    };
    refuse("V18", "", expected, format!("\"{name}\""), hint)
}
