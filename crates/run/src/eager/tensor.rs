//! Tensors that exist: views of shared storage.

use super::EagerError;
use super::launch::copy as copy_elements;
use crate::RunError;
use crate::memory::{Block, into_bytes};
use cloakwork_ir::{DType, HostTensor, Shape, Type, View};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Memory that tensors are views of.
pub struct Storage {
    block: Block,
    secret: AtomicBool,
}

impl Storage {
    /// The bytes' start, for exporting them without a copy.
    #[must_use]
    pub fn as_ptr(&self) -> *mut u8 {
        self.block.as_ptr()
    }

    /// Bytes.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.block.len()
    }
}

impl Drop for Storage {
    /// What was secret leaves nothing behind.
    fn drop(&mut self) {
        if self.secret.load(Ordering::Relaxed) {
            self.block.zeroize();
        }
    }
}

impl AsRef<[u8]> for Storage {
    fn as_ref(&self) -> &[u8] {
        self.block.as_slice()
    }
}

/// A tensor that exists: a view of shared storage.
#[derive(Clone)]
pub struct Tensor {
    storage: Arc<Storage>,
    dtype: DType,
    view: View,
}

impl Tensor {
    /// A tensor of zeros.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn zeros(ty: &Type) -> Result<Self, RunError> {
        let storage = Storage {
            block: Block::zeroed(ty.size_bytes())?,
            secret: false.into(),
        };
        let view = View::contiguous(ty.shape.clone());
        Ok(Self {
            storage: Arc::new(storage),
            dtype: ty.dtype,
            view,
        })
    }

    /// A tensor with a host tensor's elements, row-major.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn from_host(host: &HostTensor) -> Result<Self, EagerError> {
        let tensor = Self::zeros(&host.ty())?;
        let source = host.bytes().as_slice().as_ptr().cast_mut();
        let operands = [
            (tensor.view(), tensor.storage.as_ptr()),
            (host.view(), source),
        ];
        copy_elements(host.dtype(), operands)?;
        Ok(tensor)
    }

    /// This tensor for the host, without a copy. Later writes through views of the same storage
    /// show in it.
    ///
    /// # Errors
    /// Never, unless the view is broken: an internal error.
    pub fn to_host(&self) -> Result<HostTensor, RunError> {
        let bytes = cloakwork_ir::Bytes::new(self.storage.clone());
        HostTensor::new(self.dtype, self.view.clone(), bytes)
            .map_err(|error| RunError::Internal(error.to_string()))
    }

    /// A row-major copy for the host.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn copy_to_host(&self) -> Result<HostTensor, EagerError> {
        let block = Block::zeroed(self.ty().size_bytes())?;
        let view = View::contiguous(self.view.shape.clone());
        copy_elements(
            self.dtype,
            [(&view, block.as_ptr()), (&self.view, self.storage.as_ptr())],
        )?;
        HostTensor::new(self.dtype, view, into_bytes(block))
            .map_err(|error| RunError::Internal(error.to_string()).into())
    }

    /// Dtype and shape.
    #[must_use]
    pub fn ty(&self) -> Type {
        Type::new(self.dtype, self.view.shape.clone())
    }

    /// Element type.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Shape, strides and offset.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// What it is a view of.
    #[must_use]
    pub fn storage(&self) -> &Arc<Storage> {
        &self.storage
    }

    /// Marks the storage, and with it every view of it, as secret: it is zeroed when released.
    pub fn mark_secret(&self) {
        self.storage.secret.store(true, Ordering::Relaxed);
    }

    /// Whether the storage is marked as secret.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.storage.secret.load(Ordering::Relaxed)
    }

    /// Overwrites the whole storage with zeros now.
    pub fn zeroize(&self) {
        self.storage.block.zeroize();
    }

    /// The tensor with each axis of stride zero cut to size one, and those axes with their sizes:
    /// `expand` them again to get this tensor.
    #[must_use]
    pub fn without_repeats(&self) -> (Self, Vec<(usize, u64)>) {
        let repeated = |(&dim, &stride): (&u64, &i64)| dim > 1 && stride == 0;
        let dims = self.view.shape.dims();
        let sizes = dims.iter().zip(&self.view.strides);
        let kept: Vec<u64> = sizes
            .clone()
            .map(|s| if repeated(s) { 1 } else { *s.0 })
            .collect();
        let axes = sizes
            .enumerate()
            .filter(|(_, s)| repeated(*s))
            .map(|(i, s)| (i, *s.0));
        let axes = axes.collect();
        match Shape::new(&kept) {
            Ok(shape) => (
                self.with_view(View {
                    shape,
                    ..self.view.clone()
                }),
                axes,
            ),
            Err(_) => (self.clone(), Vec::new()),
        }
    }

    /// A tensor of the same view that nobody else can write. Repeats are not copied.
    pub(super) fn own_copy(&self) -> Result<Self, EagerError> {
        let (compact, _) = self.without_repeats();
        let copy = Self::zeros(&compact.ty())?;
        let operands = [
            (copy.view(), copy.storage.as_ptr()),
            (compact.view(), compact.storage.as_ptr()),
        ];
        copy_elements(self.dtype, operands)?;
        let pairs = copy.view.strides.iter().zip(&self.view.strides);
        let strides = pairs.map(|(&dense, &own)| if own == 0 { 0 } else { dense });
        Ok(copy.with_view(View {
            shape: self.view.shape.clone(),
            strides: strides.collect(),
            offset: 0,
        }))
    }

    pub(super) fn with_view(&self, view: View) -> Self {
        Self {
            storage: Arc::clone(&self.storage),
            dtype: self.dtype,
            view,
        }
    }
}
