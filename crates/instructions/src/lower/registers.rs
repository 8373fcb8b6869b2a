//! Contents of registers as far as they are known without running: types, windows, devices.

use super::{Lowering, Refusal, refuse};
use crate::window::Window;
use cloakwork_formats::zk::Type;
use cloakwork_ir::{Curve, DType, Shape, Step, Symbol, Threaded, View};
use std::collections::{BTreeSet, HashMap};

/// The contents of a register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Register {
    pub name: String,
    pub dtype: DType,
    pub dims: Vec<u64>,
    /// Its strides in the buffer, where it is one piece.
    pub view: View,
    pub device: String,
    /// The elements of its buffer, where it is a window of one axis.
    pub window: Option<Window>,
    /// The register whose name stands for the whole buffer.
    pub whole: String,
    /// The register that owns the buffer.
    pub owner: String,
    /// The registers that a tuple consists of.
    pub parts: Option<Vec<String>>,
    /// The curve and hash of a transcript.
    pub transcript: Option<(Curve, String)>,
}

impl Register {
    /// A new buffer.
    pub fn new(name: &str, dtype: DType, dims: Vec<u64>, device: &str) -> Self {
        let window = match *dims.as_slice() {
            [n] => Some(Window::all(n)),
            _ => None,
        };
        let view = View::contiguous(Shape::new(&dims).unwrap_or_default());
        Self {
            name: name.to_owned(),
            dtype,
            dims,
            view,
            device: device.to_owned(),
            window,
            whole: name.to_owned(),
            owner: name.to_owned(),
            parts: None,
            transcript: None,
        }
    }

    /// A new buffer of a type.
    pub fn of(name: &str, ty: &Type, device: &str) -> Option<Self> {
        let (dtype, dims) = ty.tensor()?;
        let mut register = Self::new(name, dtype, dims, device);
        if let Type::Transcript { curve, hash, .. } = ty {
            register.transcript = Some((*curve, hash.clone()));
        }
        Some(register)
    }

    /// The views of its buffer that its pieces are.
    pub fn pieces(&self) -> Vec<View> {
        let Some(window) = self.window.filter(|_| self.wraps()) else {
            return vec![self.view.clone()];
        };
        let split = window.before_wrap();
        vec![
            range_view(window.offset, split),
            range_view(0, window.len - split),
        ]
    }

    /// The same register under another name.
    pub fn named(&self, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..self.clone()
        }
    }

    /// As a window of its buffer.
    pub fn windowed(self, window: Window) -> Self {
        Self {
            window: Some(window),
            dims: vec![window.len],
            view: range_view(window.offset, window.len),
            transcript: None,
            ..self
        }
    }

    /// As another view of its buffer, which is no window.
    pub fn reshaped(self, view: View) -> Self {
        Self {
            window: None,
            dims: view.shape.dims().to_vec(),
            view,
            transcript: None,
            ..self
        }
    }

    pub fn elements(&self) -> u64 {
        self.dims.iter().product()
    }

    /// Whether it is two pieces.
    pub fn wraps(&self) -> bool {
        self.window.is_some_and(Window::wraps)
    }

    /// Its type, as messages have it.
    pub fn ty(&self) -> String {
        if self.parts.is_some() {
            return "a tuple".to_owned();
        }
        if let Some((curve, hash)) = &self.transcript {
            // Its bytes are two counts, what was absorbed, and as much for the proof.
            let room = self
                .dims
                .first()
                .map_or(0, |bytes| bytes.saturating_sub(16) / 2);
            return format!("transcript<{room}>:{hash}:{}", curve.name());
        }
        let sizes: Vec<String> = self.dims.iter().map(u64::to_string).collect();
        format!("{}[{}]", self.dtype, sizes.join(", "))
    }
}

/// A range of a buffer as a view of it.
pub(super) fn range_view(offset: u64, len: u64) -> View {
    let mut view = View::contiguous(Shape::new(&[len]).unwrap_or_default());
    view.offset = offset as i64;
    view
}

/// Facts that a run over all threads has collected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    /// All definitions of each register, whichever thread has them.
    pub definitions: HashMap<String, Vec<Register>>,
    /// Owners that are handed out.
    pub handed_out: Vec<String>,
    /// Registers that a finding is about already.
    pub unknown: BTreeSet<String>,
    /// Devices on which random elements are drawn.
    pub drawn_on: BTreeSet<String>,
}

/// Contents of registers, while threads are gone through.
pub(super) struct Registers {
    /// From the run before.
    known: Known,
    /// In this run.
    pub now: Known,
    /// In this thread; none: the contents are unknown.
    here: HashMap<String, Option<Register>>,
    /// How many look-ups and draws await another run.
    pub unresolved: u32,
    /// Whether no other run comes.
    pub last: bool,
}

impl Registers {
    pub fn new(known: Known, last: bool) -> Self {
        Self {
            known,
            now: Known::default(),
            here: HashMap::new(),
            unresolved: 0,
            last,
        }
    }

    /// Whether no run came before.
    pub fn is_first(&self) -> bool {
        self.known == Known::default() && !self.last
    }

    pub fn begin_thread(&mut self) {
        self.here.clear();
    }

    pub fn into_known(self) -> Known {
        self.now
    }

    /// Whether this run knows more than the one before.
    pub fn learned(&self) -> bool {
        self.now != self.known
    }

    /// Owners that any thread hands out, as far as this run and the one before know.
    pub fn handed_out(&self) -> Vec<String> {
        let mut owners = [&*self.known.handed_out, &*self.now.handed_out].concat();
        owners.sort();
        owners.dedup();
        owners
    }

    /// Devices on which the run before drew, and which have the key.
    pub fn drawn_on(&self) -> BTreeSet<String> {
        self.known.drawn_on.clone()
    }

    /// Notes a draw on a device. A device without the key has it in another run.
    pub fn draw(&mut self, device: &str) {
        self.unresolved += u32::from(!self.known.drawn_on.contains(device));
        self.now.drawn_on.insert(device.to_owned());
    }

    fn define(&mut self, register: Register) {
        let all = self
            .now
            .definitions
            .entry(register.name.clone())
            .or_default();
        // A definition like an earlier one says nothing new, and a name has few that differ.
        if !all.contains(&register) && all.len() < 8 {
            all.push(register.clone());
        }
        self.here.insert(register.name.clone(), Some(register));
    }

    /// Whether a finding is about a register, or about the tuple that it is a part of.
    fn is_unknown(&self, name: &str) -> bool {
        let mut whole = Some(name);
        while let Some(name) = whole {
            if self.now.unknown.contains(name) || self.known.unknown.contains(name) {
                return true;
            }
            whole = name.rsplit_once('.').map(|(tuple, _)| tuple);
        }
        false
    }
}

impl Lowering<'_> {
    /// The contents of a register that is a tensor, at this instruction.
    pub(super) fn tensor(&mut self, name: &str) -> Result<Register, Refusal> {
        let register = self.lookup(name)?;
        if register.parts.is_some() {
            let hint = format!("name one of its parts, such as \"{name}.0\"");
            return refuse("V07", name, "a register of one tensor", "a tuple", hint);
        }
        Ok(register)
    }

    /// The contents of a register at this instruction.
    pub(super) fn lookup(&mut self, name: &str) -> Result<Register, Refusal> {
        let registers = &mut self.registers;
        if let Some(here) = registers.here.get(name) {
            return here.clone().ok_or(None);
        }
        let once = self.shared.statics.definitions.get(name).copied() == Some(1);
        // Of several definitions all must be known.
        let elsewhere = match registers.known.definitions.get(name) {
            None if once => registers.now.definitions.get(name),
            known => known,
        };
        match elsewhere.map(Vec::as_slice) {
            Some([one]) => return Ok(one.clone()),
            Some([_, _, ..]) if registers.last => {
                let hint = "give the register another name in one of the threads";
                return refuse("V02", name, "one meaning in other threads", "several", hint);
            }
            _ => {}
        }
        if registers.is_unknown(name) {
            return Err(None);
        }
        registers.unresolved += 1;
        self.undefined(name)
    }

    /// A register that nothing defines: its name is used as it is declared, and verifying says the
    /// rest.
    fn undefined(&mut self, name: &str) -> Result<Register, Refusal> {
        let declared = self.shared.statics.registers.get(name);
        if let Some((register, (dtype, dims))) = declared.zip(self.shared.statics.declared(name)) {
            return Ok(Register::new(name, dtype, dims, &register.device));
        }
        if !self.registers.last {
            return Err(None);
        }
        self.tell_no_more(name);
        let hint = "define it first, or correct its name";
        let expected = "a register that is defined";
        refuse("V02", name, expected, "an undefined register", hint)
    }

    /// Notes what a register holds; it must be what it is declared as.
    pub(super) fn define(&mut self, register: Register) -> Result<(), Refusal> {
        let statics = self.shared.statics;
        if let Some(declared) = statics.registers.get(register.name.as_str()) {
            if let Some((dtype, dims)) = statics.declared(&register.name)
                && (dtype, &dims) != (register.dtype, &register.dims)
            {
                let said = Register::of(&register.name, &declared.ty, "cpu");
                let declared =
                    said.unwrap_or_else(|| Register::new(&register.name, dtype, dims, "cpu"));
                let hint = "the table of registers states its type";
                return refuse("V07", &register.name, declared.ty(), register.ty(), hint);
            }
            if declared.device != register.device {
                let hint = "the table of registers states its device";
                let (name, got) = (&register.name, &register.device);
                return refuse("V08", name, &declared.device, got, hint);
            }
        }
        self.registers.define(register);
        Ok(())
    }

    /// Notes that the value of a register is unknown.
    pub(super) fn define_unknown(&mut self, name: &str) {
        let symbol = self.program.symbol(name);
        self.push(Step::Threaded(Threaded::Unknown(symbol)));
        self.registers.here.insert(name.to_owned(), None);
    }

    /// Notes that a finding is about a register, or follows from one.
    pub(super) fn tell_no_more(&mut self, name: &str) {
        self.registers.now.unknown.insert(name.to_owned());
    }

    /// Notes that an instruction's effect on a register is unknown.
    pub(super) fn doubt(&mut self, name: &str) {
        if let Ok(register) = self.lookup(name) {
            for symbol in self.symbols(&register) {
                self.push(Step::Threaded(Threaded::Doubt(symbol)));
            }
        }
    }

    /// The names that stand for a register's pieces.
    pub(super) fn symbols(&mut self, register: &Register) -> Vec<Symbol> {
        if let Some(parts) = &register.parts {
            let parts = parts.clone();
            let mut symbols = Vec::new();
            for part in &parts {
                if let Ok(register) = self.lookup(part) {
                    symbols.extend(self.symbols(&register));
                }
            }
            return symbols;
        }
        if register.wraps() {
            let piece = |index| format!("{}#{index}", register.name);
            return vec![
                self.program.symbol(&piece(0)),
                self.program.symbol(&piece(1)),
            ];
        }
        vec![self.program.symbol(&register.name)]
    }
}
