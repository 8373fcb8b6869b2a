//! Tensors that exist: views of shared storage.

use super::EagerError;
use super::copy_elements;
use super::launch::OwnCopy;
use crate::RunError;
use crate::memory::derived::Derived;
use crate::memory::wiping::wipe;
use crate::memory::{Block, into_bytes};
use cloakwork_ir::{DType, HostTensor, Shape, Take, Type, View};
use cloakwork_kernels::Isa;
use cloakwork_process::Once;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The permitted uses of foreign memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lent {
    /// It may be read and written.
    Writable,
    /// It is only read.
    ReadOnly,
    /// It is only read and lies in a mapped file: reads of it may fail, and have to be watched.
    Mapped,
}

/// Memory that tensors are views of.
pub struct Storage {
    memory: Memory,
    secret: AtomicBool,
    /// Set when it is frozen; boxed, because most storages never are.
    frozen: Once<Box<Derived>>,
}

enum Memory {
    Own(Block),
    /// Foreign memory, which `owner` keeps alive.
    Foreign {
        start: *mut u8,
        len: usize,
        lent: Lent,
        owner: Box<dyn Any + Send + Sync>,
    },
}

// SAFETY: foreign memory is plain bytes that the owner keeps where they are; like a block's, it is
// written by kernels alone, in the turn of the caller.
unsafe impl Send for Storage {}
// SAFETY: as above; shared references only read.
unsafe impl Sync for Storage {}

impl Storage {
    /// The bytes' start, for exporting them without a copy.
    #[must_use]
    #[inline]
    pub fn as_ptr(&self) -> *mut u8 {
        match &self.memory {
            Memory::Own(block) => block.as_ptr(),
            Memory::Foreign { start, .. } => *start,
        }
    }

    /// Whether another storage has some of the same memory, as two tensors of one array have.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        let reach = |storage: &Self| {
            let start = storage.as_ptr() as usize;
            (start, start + storage.len_bytes())
        };
        let ((start, end), (first, last)) = (reach(self), reach(other));
        !std::ptr::eq(self, other) && start < last && first < end && start < end && first < last
    }

    /// Bytes.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        match &self.memory {
            Memory::Own(block) => block.len(),
            Memory::Foreign { len, .. } => *len,
        }
    }

    /// Whether it is read-only: its owner said so, or it is frozen.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.derived().is_some() || self.is_lent_read_only()
    }

    /// Data derived from a frozen storage.
    #[must_use]
    #[inline]
    pub fn derived(&self) -> Option<&Derived> {
        self.frozen.get().map(|derived| &**derived)
    }

    fn is_lent_read_only(&self) -> bool {
        let Memory::Foreign { lent, .. } = self.memory else {
            return false;
        };
        lent != Lent::Writable
    }

    /// Whether it lies in a mapped file.
    #[must_use]
    #[inline]
    pub fn is_mapped(&self) -> bool {
        let Memory::Foreign { lent, .. } = self.memory else {
            return false;
        };
        lent == Lent::Mapped
    }

    /// The owner of foreign memory, if it has this type.
    #[must_use]
    pub fn lender<T: Any>(&self) -> Option<&T> {
        match &self.memory {
            Memory::Own(_) => None,
            Memory::Foreign { owner, .. } => owner.downcast_ref(),
        }
    }

    #[inline]
    pub(super) fn own(block: Block) -> Arc<Self> {
        Arc::new(Self {
            memory: Memory::Own(block),
            secret: false.into(),
            frozen: Once::new(),
        })
    }

    fn zeroize(&self) {
        match &self.memory {
            Memory::Own(block) => block.zeroize(),
            // SAFETY: the memory that the owner keeps, which may be written.
            Memory::Foreign {
                start,
                len,
                lent: Lent::Writable,
                ..
            } => unsafe { wipe(*start, *len) },
            Memory::Foreign { .. } => {}
        }
    }
}

impl Drop for Storage {
    /// A secret storage is overwritten.
    fn drop(&mut self) {
        if self.secret.load(Ordering::Relaxed) {
            self.zeroize();
            if let Some(derived) = self.derived() {
                derived.wipe();
            }
        }
    }
}

impl AsRef<[u8]> for Storage {
    fn as_ref(&self) -> &[u8] {
        match &self.memory {
            Memory::Own(block) => block.as_slice(),
            // SAFETY: the owner keeps the bytes, and no kernel writes them meanwhile.
            Memory::Foreign { start, len, .. } => unsafe {
                std::slice::from_raw_parts(*start, *len)
            },
        }
    }
}

/// A tensor that exists: a view of shared storage.
#[derive(Clone)]
pub struct Tensor {
    body: Arc<Body>,
}

/// The parts of a tensor: behind one pointer, because tensors are passed on far more often than
/// they are read.
struct Body {
    storage: Arc<Storage>,
    dtype: DType,
    view: View,
    /// It is of a view that repeats elements: one write to it would change several of that one.
    repeats: bool,
}

impl Tensor {
    #[inline]
    fn of(storage: Arc<Storage>, dtype: DType, view: View) -> Self {
        let body = Body {
            storage,
            dtype,
            view,
            repeats: false,
        };
        Self {
            body: Arc::new(body),
        }
    }

    /// A tensor of zeros.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn zeros(ty: &Type) -> Result<Self, RunError> {
        let view = View::contiguous(ty.shape.clone());
        let block = Block::zeroed_reusable(ty.size_bytes())?;
        Ok(Self::own(block, ty.dtype, view))
    }

    /// Whether no other tensor has its elements.
    #[must_use]
    pub fn is_only(&self) -> bool {
        Arc::strong_count(&self.body) == 1 && Arc::strong_count(&self.body.storage) == 1
    }

    /// An uninitialized row-major tensor, to be written before it is read.
    ///
    /// # Errors
    /// Not enough memory.
    #[inline]
    pub fn uninit(dtype: DType, shape: Shape) -> Result<Self, RunError> {
        let bytes = shape.elements() * dtype.size_bytes() as u64;
        Ok(Self::own(
            Block::uninit(bytes)?,
            dtype,
            View::contiguous(shape),
        ))
    }

    #[inline]
    pub(crate) fn own(block: Block, dtype: DType, view: View) -> Self {
        Self::of(Storage::own(block), dtype, view)
    }

    /// A view of a copy of these bytes.
    ///
    /// # Errors
    /// Not enough memory, or a view that reaches outside: an internal error.
    pub fn from_bytes(dtype: DType, view: View, bytes: &[u8]) -> Result<Self, RunError> {
        let (low, high) = view.bounds();
        let needed = high.max(0) as u64 * dtype.size_bytes() as u64;
        if low < 0 || needed > bytes.len() as u64 {
            return Err(super::internal("a view outside its bytes"));
        }
        let block = Block::uninit(bytes.len() as u64)?;
        // SAFETY: the block is fresh and as long as the bytes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), block.as_ptr(), bytes.len()) };
        Ok(Self::own(block, dtype, view))
    }

    /// A view of memory that `owner` keeps alive and in place.
    ///
    /// # Safety
    /// `len` bytes from `start` on are there as long as the owner is, are aligned to the element
    /// type, and may be used as `lent` says; the view stays inside them.
    pub unsafe fn from_foreign(
        dtype: DType,
        view: View,
        (start, len, lent): (*mut u8, usize, Lent),
        owner: Box<dyn Any + Send + Sync>,
    ) -> Self {
        let memory = Memory::Foreign {
            start,
            len,
            lent,
            owner,
        };
        let storage = Arc::new(Storage {
            memory,
            secret: false.into(),
            frozen: Once::new(),
        });
        Self::of(storage, dtype, view)
    }

    /// The same memory under another view, which stays inside it.
    ///
    /// # Errors
    /// It does not: an internal error.
    pub fn view_as(&self, view: View) -> Result<Self, RunError> {
        let (low, high) = view.bounds();
        let bytes = high.max(0) as u64 * self.body.dtype.size_bytes() as u64;
        if low < 0 || bytes > self.body.storage.len_bytes() as u64 {
            return Err(super::internal("a view outside its storage"));
        }
        Ok(self.with_view(view))
    }

    /// The view of an index or some steps of the first axis; `None` where there are no such.
    #[must_use]
    #[inline]
    pub fn part_of_first(&self, entry: Take) -> Option<Self> {
        Some(self.with_view(self.body.view.part_of_first(entry)?))
    }

    /// The first element's address.
    #[must_use]
    #[inline]
    pub fn data(&self) -> *mut u8 {
        let bytes = self.body.view.offset as isize * self.body.dtype.size_bytes() as isize;
        self.body.storage.as_ptr().wrapping_offset(bytes)
    }

    /// Writes a source's elements, broadcast, to this view. The two must not share memory, unless
    /// they are the same elements.
    ///
    /// # Errors
    /// Shapes that do not go together: an internal error.
    pub fn assign(&self, source: &Self, isa: Isa) -> Result<(), EagerError> {
        let wide = source.body.view.broadcast_to(&self.body.view.shape);
        let wide = wide.ok_or_else(|| super::internal("shapes that do not go together"))?;
        let operands = [
            (&self.body.view, self.body.storage.as_ptr()),
            (&wide, source.body.storage.as_ptr()),
        ];
        copy_elements(self.body.dtype, operands, isa)
    }

    /// A tensor with a host tensor's elements, row-major.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn from_host(host: &HostTensor, isa: Isa) -> Result<Self, EagerError> {
        let ty = host.ty();
        let tensor = Self::uninit(ty.dtype, ty.shape)?;
        let source = host.bytes().as_slice().as_ptr().cast_mut();
        let operands = [
            (tensor.view(), tensor.body.storage.as_ptr()),
            (host.view(), source),
        ];
        copy_elements(host.dtype(), operands, isa)?;
        Ok(tensor)
    }

    /// This tensor for the host, without a copy. Later writes through views of the same storage
    /// show in it.
    ///
    /// # Errors
    /// Never, unless the view is broken: an internal error.
    pub fn to_host(&self) -> Result<HostTensor, RunError> {
        let bytes = cloakwork_ir::Bytes::new(self.body.storage.clone());
        HostTensor::new(self.body.dtype, self.body.view.clone(), bytes)
            .map(HostTensor::sound)
            .map_err(|error| RunError::Internal(error.to_string()))
    }

    /// The same of a row-major tensor, as the whole of the bytes that it shows.
    ///
    /// # Errors
    /// It is not row-major: an internal error.
    pub fn to_host_alone(&self) -> Result<HostTensor, RunError> {
        let wrong = || super::internal("bytes that are not a tensor's alone");
        let size = self.body.dtype.size_bytes();
        let first = usize::try_from(self.body.view.offset).map_err(|_| wrong())? * size;
        let len = usize::try_from(self.ty().size_bytes()).map_err(|_| wrong())?;
        let bytes = cloakwork_ir::Bytes::new(self.body.storage.clone());
        let own = bytes.slice(first..first + len).ok_or_else(wrong)?;
        let view = View::contiguous(self.body.view.shape.clone());
        let dense = self.body.view.is_contiguous();
        let host = HostTensor::new(self.body.dtype, view, own);
        let host = host.ok().filter(|_| dense).ok_or_else(wrong)?;
        Ok(host.sound())
    }

    /// A row-major copy for the host.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn copy_to_host(&self, isa: Isa) -> Result<HostTensor, EagerError> {
        let block = Block::uninit(self.ty().size_bytes())?;
        let view = View::contiguous(self.body.view.shape.clone());
        let operands = [
            (&view, block.as_ptr()),
            (&self.body.view, self.body.storage.as_ptr()),
        ];
        copy_elements(self.body.dtype, operands, isa)?;
        HostTensor::new(self.body.dtype, view, into_bytes(block))
            .map(HostTensor::sound)
            .map_err(|error| RunError::Internal(error.to_string()).into())
    }

    /// Dtype and shape.
    #[must_use]
    pub fn ty(&self) -> Type {
        Type::new(self.body.dtype, self.body.view.shape.clone())
    }

    /// Element type.
    #[must_use]
    #[inline]
    pub fn dtype(&self) -> DType {
        self.body.dtype
    }

    /// Shape, strides and offset.
    #[must_use]
    #[inline]
    pub fn view(&self) -> &View {
        &self.body.view
    }

    /// The storage that it is a view of.
    #[must_use]
    #[inline]
    pub fn storage(&self) -> &Arc<Storage> {
        &self.body.storage
    }

    /// Whether it must not be written: its storage, or as it repeats elements.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.repeats() || self.body.storage.is_read_only()
    }

    /// Whether it repeats elements, or is a view of one that does: one write changes several.
    #[must_use]
    pub fn repeats(&self) -> bool {
        let Body { view, repeats, .. } = &*self.body;
        *repeats || (!view.is_contiguous() && view.overlaps_itself())
    }

    /// Marks the storage, and with it every view of it, as secret: it is zeroed when released.
    pub fn mark_secret(&self) {
        self.body.storage.secret.store(true, Ordering::Relaxed);
    }

    /// Whether the storage is marked as secret.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.body.storage.secret.load(Ordering::Relaxed)
    }

    /// A frozen tensor with these elements, so that the data which kernels derive from
    /// it is derived once: this one, if it alone sees its storage, else a copy in the same order.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn freeze(&self, isa: Isa) -> Result<Self, EagerError> {
        if self.is_frozen() {
            return Ok(self.clone());
        }
        let storage = &self.body.storage;
        let alone = Arc::strong_count(&self.body) == 1
            && Arc::strong_count(storage) == 1
            && matches!(storage.memory, Memory::Own(_));
        let tensor = if alone {
            self.clone()
        } else {
            let view = &self.body.view;
            let copy = Self::uninit_like(self.body.dtype, view.shape.clone(), view)?;
            copy.assign(self, isa)?;
            if self.is_secret() {
                copy.mark_secret();
            }
            copy
        };
        let whole = || Box::new(Derived::new(tensor.body.dtype, tensor.body.view.clone()));
        tensor.body.storage.frozen.get_or_init(whole);
        Ok(tensor)
    }

    /// Read-only lent memory as a frozen tensor in place: for owners that never
    /// write it again either, as `freeze` cannot know of them. Other tensors stay as they are.
    #[must_use]
    pub fn frozen_where_it_is(self) -> Self {
        let Body {
            storage,
            dtype,
            view,
            ..
        } = &*self.body;
        if storage.is_lent_read_only() {
            let whole = || Box::new(Derived::new(*dtype, view.clone()));
            storage.frozen.get_or_init(whole);
        }
        self
    }

    /// Whether it is frozen.
    #[must_use]
    pub fn is_frozen(&self) -> bool {
        self.body.storage.derived().is_some()
    }

    /// The whole of which this is a view, as it was when it was frozen; none if it is not.
    #[must_use]
    pub fn frozen_whole(&self) -> Option<Self> {
        let (dtype, view) = self.body.storage.derived()?.whole();
        let storage = Arc::clone(&self.body.storage);
        (*dtype == self.body.dtype).then(|| Self::of(storage, *dtype, view.clone()))
    }

    /// A dense tensor, not written yet, whose axes lie in the order in which those of another view
    /// of the same rank do; row-major where that has none.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn uninit_like(dtype: DType, shape: Shape, like: &View) -> Result<Self, RunError> {
        let bytes = shape.elements() * dtype.size_bytes() as u64;
        let view = View::ordered_like(shape, like);
        Ok(Self::own(Block::uninit(bytes)?, dtype, view))
    }

    /// Overwrites the whole storage with zeros now; false if it is read-only.
    #[must_use]
    pub fn zeroize(&self) -> bool {
        let may = !self.body.storage.is_read_only();
        if may {
            self.body.storage.zeroize();
        }
        may
    }

    /// The tensor with each axis of stride zero cut to size one, and those axes with their sizes:
    /// `expand` them again to get this tensor.
    #[must_use]
    pub fn without_repeats(&self) -> (Self, Vec<(usize, u64)>) {
        let view = &self.body.view;
        let sizes = view.shape.dims().iter().zip(&view.strides).enumerate();
        let repeated = sizes.filter(|(_, (dim, stride))| **dim > 1 && **stride == 0);
        let axes = repeated.map(|(axis, (dim, _))| (axis, *dim)).collect();
        (self.with_view(view.without_repeats()), axes)
    }

    /// A copy of the same view that no other tensor shares. Repeated elements are not copied.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn own_copy(&self, isa: Isa) -> Result<Self, EagerError> {
        let copy = OwnCopy::new(self.body.dtype, &self.body.view, isa)?;
        Ok(copy.of(self)?)
    }

    /// The same memory under a view whose offset counts from this one's first element.
    pub(super) fn seen(&self, relative: &View) -> Self {
        self.with_view(View {
            offset: self.body.view.offset + relative.offset,
            ..relative.clone()
        })
    }

    pub(super) fn with_view(&self, view: View) -> Self {
        let body = Body {
            storage: Arc::clone(&self.body.storage),
            dtype: self.body.dtype,
            view,
            repeats: self.repeats(),
        };
        Self {
            body: Arc::new(body),
        }
    }
}
