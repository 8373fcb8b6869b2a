//! Calls by the kind of their body, but for kernels; and the meaning of the result's name after
//! them.

use crate::check::Checker;
use crate::names::Name;
use crate::region::Missing;
use crate::report::Issue;
use crate::spelling::Site;
use crate::values::upload_root;
use crate::{Action, Bound, Call, StorageId, StorageOrigin, ValueId, ValueInfo};
use cloakwork_ir::{
    Arg, DType, Device, HostId, HostSlot, HostTensor, Op, Symbol, Type, View, shortened,
};
use cloakwork_ops::elements::{self, InvalidElement};
use cloakwork_ops::{Args, Body, Code, OpError, Viewed};

/// The most bytes that one tensor may have: what 64-bit machines can address.
const MAX_TENSOR_BYTES: u64 = 1 << 47;

type ViewFn = fn(&Args) -> Result<Viewed, OpError>;
type TypeFn = fn(&Args) -> Result<Type, OpError>;

impl<'p> Checker<'p> {
    /// Makes sense of a call whose arguments are bound. `None`: something is wrong, and reported.
    pub fn call(&mut self, site: Site<'_>, call: Call) -> Option<()> {
        match &call.def.body {
            Body::View(view) => self.view(site, call, *view),
            Body::Allocate(infer) => self.allocate(site, &call, *infer),
            Body::Upload => self.upload(site.op, &call),
            Body::Download => self.download(site, &call),
            Body::Kernel(body) => self.kernel(site, call, body),
            Body::Expand(body) => self.composite(site, call, body),
        }
    }

    fn view(&mut self, site: Site<'_>, call: Call, view: ViewFn) -> Option<()> {
        let name = self.result_name(site.op)?;
        let param = call.def.param("a")?;
        let source = call.value(param)?;
        let viewed = self.ask(site, &call, view)?;
        let info = self.values.value(source)?;
        let (storage, dtype) = (info.storage, info.dtype);
        let action = match viewed {
            Viewed::View(view) => {
                let info = ValueInfo {
                    name,
                    storage,
                    dtype,
                    view,
                    step: self.step,
                };
                let value = self.values.push(info);
                self.viewed_repr(&call, source, value);
                self.taken_repr(value);
                Action::View { call, value }
            }
            Viewed::Copy(shape) => {
                self.read(site, param, source);
                let root = View::contiguous(shape);
                let value = self.create(name, (dtype, root), StorageOrigin::Copy)?;
                self.values.put(value, self.values.device(source));
                self.copied_repr(source, value);
                Action::Copy {
                    call,
                    source,
                    value,
                }
            }
        };
        self.finish(site.op, action)
    }

    fn allocate(&mut self, site: Site<'_>, call: &Call, infer: TypeFn) -> Option<()> {
        let name = self.result_name(site.op)?;
        let ty = self.ask(site, call, infer)?;
        let root = View::contiguous(ty.shape);
        let value = self.create(name, (ty.dtype, root), StorageOrigin::Zeros)?;
        let device = self.device_of(call)?;
        self.values.put(value, device);
        self.made_repr(value);
        self.finish(site.op, Action::Allocate { value })
    }

    /// The device on which a call allocates: that of its step, or of its argument, or the host.
    fn device_of(&mut self, call: &Call) -> Option<Device> {
        let (device, got) = match self.note(self.step).and_then(|note| note.device) {
            Some(name) => {
                let name = self.program.text_name(name);
                (Device::from_name(name), format!("\"{}\"", shortened(name)))
            }
            None => {
                let Some(Bound::Int(number)) = call.bound("device") else {
                    return Some(Device::Cpu);
                };
                (Device::from_number(*number), number.to_string())
            }
        };
        if device.is_none() {
            let issue = Issue::error("device", Device::NAMES, got);
            self.report(issue.hint("correct the device's name"));
        }
        device
    }

    fn upload(&mut self, op: &Op, call: &Call) -> Option<()> {
        let name = self.result_name(op)?;
        let host = call.values.iter().find_map(|bound| match bound {
            Bound::Host(host) => Some(*host),
            _ => None,
        })?;
        let (dtype, root) = self.source(host)?;
        let value = self.create(name, (dtype, root), StorageOrigin::Upload(host))?;
        let device = self.device_of(call)?;
        self.values.put(value, device);
        self.made_repr(value);
        self.finish(op, Action::Upload { host, value })
    }

    /// Dtype and layout of what is uploaded.
    fn source(&mut self, host: HostId) -> Option<(DType, View)> {
        match self.program.host(host)? {
            HostSlot::Data(tensor) => {
                self.elements(host, tensor)?;
                Some((tensor.dtype(), upload_root(tensor)))
            }
            HostSlot::Input { name, ty } => {
                let known = *self.inputs.entry(name).or_insert(ty);
                if known != ty {
                    let issue = Issue::error("host-name", known.to_string(), ty.to_string());
                    let hint = format!("the input \"{name}\" has one type wherever it stands");
                    self.report(issue.hint(hint));
                    return None;
                }
                Some((ty.dtype, View::contiguous(ty.shape.clone())))
            }
            HostSlot::Output { name } => {
                let got = format!("the output \"{name}\"");
                self.report(Issue::of(Code::ArgumentType, "data or an input", got));
                None
            }
        }
    }

    /// Holds the elements of a program's own tensor to its dtype, once.
    fn elements(&mut self, host: HostId, tensor: &HostTensor) -> Option<()> {
        if !self.looked_at.insert(host) {
            return Some(());
        }
        let Err(found) = elements::check_tensor(tensor) else {
            return Some(());
        };
        let expected = InvalidElement::expected(tensor.dtype());
        let issue = Issue::of(Code::Element, expected, found.to_string());
        self.report(issue.hint(found.hint()));
        None
    }

    fn download(&mut self, site: Site<'_>, call: &Call) -> Option<()> {
        let mut bound = call.values.iter();
        let param = bound.position(|bound| matches!(bound, Bound::Value(_)))?;
        let value = call.value(param)?;
        let Some(Arg::Host(host)) = self.program.out(site.op) else {
            let out = self.program.out(site.op);
            let got = out.map_or("none".to_owned(), |arg| self.describe(arg));
            let issue = Issue::of(Code::ArgumentType, "a host tensor or an output", got);
            self.report(issue.operand("result"));
            return None;
        };
        self.read(site, param, value);
        self.taken_repr(value);
        let name = self.name_of(site, param);
        self.check_target(*host, value, name)?;
        self.actions
            .push((self.step, Action::Download { value, host: *host }));
        Some(())
    }

    fn check_target(&mut self, host: HostId, value: ValueId, name: Option<Symbol>) -> Option<()> {
        let info = self.values.value(value)?;
        let actual = Type::new(info.dtype, info.view.shape.clone());
        let issue = match self.program.host(host) {
            Some(HostSlot::Data(tensor)) if tensor.ty() == actual => return Some(()),
            // HEAL runs such a file; verification then says that the value differs.
            Some(HostSlot::Data(tensor)) => {
                let expected = format!("a host tensor of type {actual}");
                let got = tensor.ty().to_string();
                self.report(Issue::warning("expected-mismatch", expected, got).names(name));
                return Some(());
            }
            Some(HostSlot::Output { name }) => {
                let former = *self.outputs.entry(name).or_insert(self.step);
                if former == self.step {
                    return Some(());
                }
                let got = format!("\"{name}\", which {} fills", self.place(former));
                Issue::error("host-name", "a separate output", got)
            }
            Some(HostSlot::Input { name, .. }) => {
                let got = format!("the input \"{name}\"");
                Issue::of(Code::ArgumentType, "an expected value or an output", got)
            }
            None => Issue::of(Code::ArgumentType, "a host slot", "an undefined one"),
        };
        self.report(issue);
        None
    }

    /// Asks a function of the declaration, with the logical views. Contents are not shown: they are
    /// the matter of the declaration's checks.
    pub fn ask<T>(
        &mut self,
        site: Site<'_>,
        call: &Call,
        f: impl FnOnce(&Args) -> Result<T, OpError>,
    ) -> Option<T> {
        match self.values.with_views(self.program, call, f) {
            Ok(answer) => Some(answer),
            Err(error) => {
                self.refuse(site, error);
                None
            }
        }
    }

    /// A new storage with its first value, unless it is too large.
    pub fn create(
        &mut self,
        name: Symbol,
        (dtype, root): (DType, View),
        origin: StorageOrigin,
    ) -> Option<ValueId> {
        let bytes = root.shape.elements().checked_mul(dtype.size_bytes() as u64);
        if bytes.is_none_or(|bytes| bytes > MAX_TENSOR_BYTES) {
            let got = Type::new(dtype, root.shape).to_string();
            let expected = "a tensor of at most 2^47 bytes";
            self.report(Issue::error("limits", expected, got));
            return None;
        }
        Some(self.values.create(name, self.step, (dtype, root), origin))
    }

    /// Notes an action, and binds the result's name.
    pub fn finish(&mut self, op: &Op, action: Action) -> Option<()> {
        let result = action.result();
        self.actions.push((self.step, action));
        if let (Some(value), Some(Arg::Device(symbol, claim))) = (result, self.program.out(op)) {
            self.check_claim(*symbol, *claim, value);
            self.bind_name(*symbol, value);
        }
        Some(())
    }

    fn bind_name(&mut self, symbol: Symbol, value: ValueId) {
        match self.names.get(symbol) {
            Name::Live { value: former, .. } if former == value => return,
            Name::Live { step, .. } => {
                let got = format!("a tensor that is live since {}", self.place(step));
                let issue = Issue::warning("shadowed-name", "an unused name", got);
                self.report(issue.operand("result").names([symbol]));
            }
            Name::Unbound | Name::Freed { .. } | Name::Poisoned => {}
        }
        let step = self.step;
        self.names.set(symbol, Name::Live { value, step });
    }

    /// The name of a result that is a new value.
    pub fn result_name(&mut self, op: &Op) -> Option<Symbol> {
        let got = match self.program.out(op) {
            Some(Arg::Device(symbol, _)) => return Some(*symbol),
            Some(arg) => self.describe(arg),
            None => "none".to_owned(),
        };
        self.report(Issue::of(Code::ArgumentType, "a name for the result", got).operand("result"));
        None
    }

    /// Notes that a parameter's elements are read; a read of unwritten memory is reported.
    pub fn read(&mut self, site: Site<'_>, param: usize, value: ValueId) {
        let info = self.values.value(value);
        let Some(info) = info.filter(|info| info.view.shape.elements() > 0) else {
            return;
        };
        let (id, storage) = (info.storage, self.values.storage(info.storage));
        let Some(storage) = storage.filter(|storage| storage.origin == StorageOrigin::Zeros) else {
            return;
        };
        let expected = "a tensor that was written";
        let threads = self.program.threads.is_some();
        if self.read_unwritten.contains(&id) {
            return;
        }
        let mut hint = "";
        let got = match self.regions.get(&id) {
            Some(region) if threads => match region.missing(&info.view) {
                None => return,
                Some(Missing::Elements(from, to)) => {
                    let (type_, root) = (storage.dtype, &storage.root);
                    format!("{}, not written", spanned((from, to), type_, root))
                }
                Some(Missing::Unknown) => {
                    hint = "fill all of it first, or allocate it with `zero: true`";
                    "a tensor written in too many pieces to track".to_owned()
                }
            },
            None if threads => "unwritten memory".to_owned(),
            _ if storage.last_write.is_some() => return,
            _ => "zeros".to_owned(),
        };
        self.read_unwritten.insert(id);
        let name = self.name_of(site, param);
        let operand = site.spelling.param_name(param);
        if threads {
            let issue = Issue::error("unwritten-read", expected, got);
            let issue = issue.operand(operand).names(name).hint(hint);
            self.unwritten.push((id, self.step, issue));
        } else {
            let issue = Issue::warning("unwritten-read", expected, got);
            self.report(issue.operand(operand).names(name));
        }
    }

    /// Notes that a value's elements are written.
    pub fn write(&mut self, value: ValueId) {
        let Some(info) = self.values.value(value) else {
            return;
        };
        let id = info.storage;
        self.heads.remove(&id);
        self.copies.remove(&id);
        if self.program.threads.is_some() {
            self.regions.entry(id).or_default().add(&info.view);
        }
        if let Some(storage) = self.values.storages.get_mut(id.0 as usize) {
            storage.last_write = Some(self.step);
        }
    }

    /// Nothing is known any more of what a storage holds.
    pub fn doubt_contents(&mut self, storage: StorageId) {
        self.regions.entry(storage).or_default().add_all();
        self.heads.remove(&storage);
        self.copies.remove(&storage);
        self.reprs.forget(storage);
    }

    /// A failed step may have been meant to write its `out`: spares the reader a second finding.
    pub fn touch_out(&mut self, site: Site<'_>) {
        let out = site.spelling.out.and_then(|out| self.name_of(site, out));
        let Some(symbol) = out else {
            return;
        };
        if let Name::Live { value, .. } = self.names.get(symbol) {
            self.write(value);
            if let Some(storage) = self.values.storage_of(value) {
                self.doubt_contents(storage);
            }
        }
    }
}

/// Elements of a buffer in words, and their bytes.
pub(crate) fn spanned((from, to): (i64, i64), dtype: DType, root: &View) -> String {
    let size = dtype.size_bytes() as i64;
    let bytes = format!("bytes {} to {}", from * size, to * size);
    if root.shape.elements() == 1 {
        return format!("the element ({bytes})");
    }
    if to - from == 1 {
        return format!("element {from} ({bytes})");
    }
    format!("elements {from} to {} ({bytes})", to - 1)
}
