//! All values and storages of a program, and calls seen with their operands.

use crate::{Bound, Call};
use cloakwork_ir::{
    Arg, DType, Device, HostId, HostSlot, HostTensor, Program, Shape, ShapeItem, Step, Symbol, View,
};
use cloakwork_ops::{Args, Operand, Value};
use cloakwork_process::Once;
use smallvec::SmallVec;

/// Index of a value: a view of a storage under one name at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

/// Index of a storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StorageId(pub u32);

/// Facts about a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueInfo {
    /// The name that it first had.
    pub name: Symbol,
    /// The storage that it is a view of.
    pub storage: StorageId,
    /// Element type.
    pub dtype: DType,
    /// Its logical view: the strides that HEAL's runtime would have.
    pub view: View,
    /// The step that made it.
    pub step: u32,
}

/// The first contents of a storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageOrigin {
    /// The tensor from the host.
    Upload(HostId),
    /// Zeros.
    Zeros,
    /// The elements that the step that makes the storage writes: all of them.
    Copy,
}

/// Facts about a storage. It lives as long as one of its values does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageInfo {
    /// Element type.
    pub dtype: DType,
    /// The view of its first value: dense, from offset 0, the whole extent.
    pub root: View,
    /// The first contents.
    pub origin: StorageOrigin,
    /// The last step after its creation that writes some of it.
    pub last_write: Option<u32>,
    /// The device that it lies on.
    pub device: Device,
}

/// The tables of values and storages.
#[derive(Debug, Default)]
pub(crate) struct Values {
    pub values: Vec<ValueInfo>,
    pub storages: Vec<StorageInfo>,
}

/// Stands for an id that no table has; ids are only made by [`Values`], so it is never seen.
pub(crate) fn nowhere() -> &'static View {
    static VIEW: Once<View> = Once::new();
    VIEW.get_or_init(|| View::contiguous(Shape::scalar()))
}

impl Values {
    pub fn value(&self, id: ValueId) -> Option<&ValueInfo> {
        self.values.get(id.0 as usize)
    }

    pub fn storage(&self, id: StorageId) -> Option<&StorageInfo> {
        self.storages.get(id.0 as usize)
    }

    pub fn storage_of(&self, id: ValueId) -> Option<StorageId> {
        self.value(id).map(|info| info.storage)
    }

    pub fn view(&self, id: ValueId) -> &View {
        self.value(id).map_or(nowhere(), |info| &info.view)
    }

    /// Adds a storage and its first value.
    pub fn create(
        &mut self,
        name: Symbol,
        step: u32,
        (dtype, root): (DType, View),
        origin: StorageOrigin,
    ) -> ValueId {
        let storage = StorageId(self.storages.len() as u32);
        self.storages.push(StorageInfo {
            dtype,
            root: root.clone(),
            origin,
            last_write: None,
            device: Device::Cpu,
        });
        self.push(ValueInfo {
            name,
            storage,
            dtype,
            view: root,
            step,
        })
    }

    /// Adds a value of a storage that exists.
    pub fn push(&mut self, info: ValueInfo) -> ValueId {
        self.values.push(info);
        ValueId(self.values.len() as u32 - 1)
    }

    /// Says where a value's storage lies.
    pub fn put(&mut self, value: ValueId, device: Device) {
        let storage = self.storage_of(value);
        if let Some(storage) = storage.and_then(|id| self.storages.get_mut(id.0 as usize)) {
            storage.device = device;
        }
    }

    /// The device that a value's storage lies on.
    pub fn device(&self, value: ValueId) -> Device {
        let storage = self.storage_of(value).and_then(|id| self.storage(id));
        storage.map_or(Device::Cpu, |storage| storage.device)
    }

    /// The device on which a call computes: that of its first tensor.
    pub fn device_of_call(&self, call: &Call) -> Device {
        let first = call.tensors().next();
        first.map_or(Device::Cpu, |value| self.device(value))
    }

    /// The host tensor that a value shows, if its storage is an upload that nothing wrote.
    pub fn upload_of<'a>(&self, program: &'a Program, id: ValueId) -> Option<&'a HostTensor> {
        let storage = self.storage(self.value(id)?.storage)?;
        match (storage.origin, storage.last_write) {
            (StorageOrigin::Upload(host), None) => data(program, host),
            _ => None,
        }
    }

    /// The contents of a parameter, under the value's logical view.
    pub fn constant(&self, program: &Program, call: &Call, param: usize) -> Option<HostTensor> {
        if !call.is_constant(param) {
            return None;
        }
        let info = self.value(call.value(param)?)?;
        let storage = self.storage(info.storage)?;
        let StorageOrigin::Upload(host) = storage.origin else {
            return None;
        };
        show(data(program, host)?, &storage.root, &info.view)
    }

    /// Shows a call to a function of its declaration.
    pub fn with_args<'v, R>(
        &'v self,
        program: &'v Program,
        call: &Call,
        view_of: impl Fn(ValueId) -> &'v View,
        f: impl FnOnce(&Args) -> R,
    ) -> R {
        let mut contents: SmallVec<[Option<HostTensor>; 4]> = SmallVec::new();
        if call.constants != 0 {
            let all = 0..call.values.len();
            contents.extend(all.map(|param| self.constant(program, call, param)));
        }
        self.with_contents(program, call, view_of, &contents, f)
    }

    /// The same with the logical views, and no contents.
    pub fn with_views<R>(&self, program: &Program, call: &Call, f: impl FnOnce(&Args) -> R) -> R {
        self.with_contents(program, call, |id| self.view(id), &[], f)
    }

    /// The same with these contents, by parameter; none for those beyond the list.
    pub fn with_contents<'v, R>(
        &'v self,
        program: &'v Program,
        call: &Call,
        view_of: impl Fn(ValueId) -> &'v View,
        contents: &[Option<HostTensor>],
        f: impl FnOnce(&Args) -> R,
    ) -> R {
        let value = |(param, bound): (usize, &Bound)| match *bound {
            Bound::Value(id) => Value::Tensor(Operand {
                dtype: self.value(id).map_or(DType::I64, |info| info.dtype),
                view: view_of(id),
                constant: contents.get(param).and_then(Option::as_ref),
            }),
            Bound::Int(value) => Value::Int(value),
            Bound::Shape(place) => Value::Shape(items(program, place.step, place.index)),
            Bound::DType(dtype) => Value::DType(dtype),
            Bound::Host(host) => program.host(host).map_or(Value::Absent, Value::Host),
            Bound::Absent => Value::Absent,
        };
        f(&Args {
            def: call.def,
            values: call.values.iter().enumerate().map(value).collect(),
        })
    }
}

fn data(program: &Program, host: HostId) -> Option<&HostTensor> {
    match program.host(host)? {
        HostSlot::Data(tensor) => Some(tensor),
        _ => None,
    }
}

/// The entries of a list argument.
pub(crate) fn items(program: &Program, step: u32, index: u32) -> &[ShapeItem] {
    let Some(Step::Op(op)) = program.steps.get(step as usize) else {
        return &[];
    };
    match program.args(op).get(index as usize) {
        Some(Arg::Shape(items)) => items,
        _ => &[],
    }
}

/// The root view of an upload: the host's strides if they are dense, else row-major.
#[must_use]
pub fn upload_root(tensor: &HostTensor) -> View {
    let view = tensor.view();
    let (low, high) = view.bounds();
    let dense = high.checked_sub(low) == i64::try_from(view.shape.elements()).ok();
    if dense && view.strides.iter().all(|&s| s > 0) && !view.overlaps_itself() {
        let mut root = view.clone();
        root.offset = 0;
        return root;
    }
    View::contiguous(view.shape.clone())
}

/// A host tensor as a view of its upload sees it.
pub(crate) fn show(tensor: &HostTensor, root: &View, view: &View) -> Option<HostTensor> {
    if tensor.view().strides == root.strides {
        let mut moved = view.clone();
        moved.offset = moved.offset.checked_add(tensor.view().offset)?;
        return tensor.with_view(moved).ok();
    }
    let mut bytes = vec![0; usize::try_from(tensor.ty().size_bytes()).ok()?];
    let component = tensor.dtype().component();
    let size = component.size_bytes();
    for (word, to) in tensor.words().into_iter().zip(bytes.chunks_exact_mut(size)) {
        cloakwork_ir::write_word(component, word, to);
    }
    HostTensor::new(tensor.dtype(), view.clone(), bytes.into()).ok()
}
