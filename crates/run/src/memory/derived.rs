//! Constants that kernels derive from tensors that never change. They are kept with the largest of
//! those tensors, for every launch and plan that needs the same constants.

use crate::RunError;
use crate::eager::Storage;
use crate::memory::Block;
use cloakwork_ir::{DType, View};
use cloakwork_kernels::{KernelRow, LaunchShape, PreparedShape, RawLaunch};
use cloakwork_ops::ContentCheck;
use cloakwork_plan::Geometry;
use cloakwork_process::Mutex;
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};
use std::ffi::c_void;
use std::mem::{Discriminant, discriminant};
use std::sync::Arc;

/// Smaller constants are derived faster than they are found.
const WORTH_KEEPING_BYTES: u64 = 2048;

/// The most blocks, and the most rules, that are kept with one tensor. At the limit all are
/// dropped, and derived again when needed. A table of a transform stays far below.
const MAX_KEPT: usize = 512;

/// Tables that depend on no operand are kept for the process, up to this many bytes. At the limit
/// all are dropped. Those of a transform of 2^20 elements of 32 bytes take 200 KiB.
const SHARED_BYTES: u64 = 64 << 20;

/// Tables by row and params, and their total bytes.
type Shared = (HashMap<(usize, SmallVec<[i64; 4]>), Arc<Block>>, u64);

static SHARED: Mutex<Option<Shared>> = Mutex::new(None);

/// The key of a block of constants.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    row: usize,
    shape: PreparedShape,
    /// Addresses of the constant operands; 0 for the others.
    operands: SmallVec<[usize; 6]>,
}

/// A block, and the storages that must keep their addresses while the key is in use.
struct Entry {
    block: Arc<Block>,
    _others: SmallVec<[Arc<Storage>; 4]>,
}

/// Constants derived from a tensor that never changes, and rules known to hold for it.
pub struct Derived {
    whole: (DType, View),
    entries: Mutex<HashMap<Key, Entry>>,
    /// Rules that hold for views of it, with their bounds.
    kept_rules: Mutex<HashSet<(Discriminant<ContentCheck>, i64, View)>>,
}

impl Derived {
    /// An empty set, for a tensor that is this view of all of its storage.
    pub fn new(dtype: DType, view: View) -> Self {
        Self {
            whole: (dtype, view),
            entries: Mutex::default(),
            kept_rules: Mutex::default(),
        }
    }

    /// Overwrites the derived constants when a secret tensor is released.
    pub fn wipe(&self) {
        let entries = self.entries.lock();
        for entry in entries.values() {
            // No other owner reads it.
            if Arc::strong_count(&entry.block) == 1 {
                entry.block.zeroize();
            }
        }
    }

    /// The dtype and the view of the frozen tensor.
    pub fn whole(&self) -> &(DType, View) {
        &self.whole
    }

    /// Checks a rule on the contents of a view, unless it is known to hold.
    ///
    /// # Errors
    /// The error of the check.
    pub fn once<E>(
        &self,
        rule: ContentCheck,
        bound: i64,
        view: &View,
        check: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let key = (discriminant(&rule), bound, view.clone());
        if self.kept_rules.lock().contains(&key) {
            return Ok(());
        }
        check()?;
        let mut kept = self.kept_rules.lock();
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(key);
        Ok(())
    }
}

/// The constants that launches of one geometry need.
pub struct Needed {
    /// The geometry of a block.
    one: PreparedShape,
    bytes: u64,
    /// Number of blocks, if there is one for each index.
    count: Option<usize>,
    /// Distance in bytes between an operand's parts for two consecutive indices; `None` if the
    /// constants do not depend on the operand.
    steps: SmallVec<[Option<isize>; 6]>,
}

impl Needed {
    /// The constants that launches of a geometry need, for operands with elements of these sizes;
    /// `None` if the kernel derives none.
    pub fn of(row: &KernelRow, shape: &LaunchShape<'_>, sizes: &[usize]) -> Option<Self> {
        let one = row.prepared_shape(shape);
        let bytes = row.prepared_bytes(&one.shape());
        if bytes == 0 {
            return None;
        }
        let step = |(operand, &size): (usize, &usize)| {
            let stride = row
                .prepared_axis
                .map_or(0, |axis| shape.strides[operand * shape.dims.len() + axis]);
            let bytes = stride as isize * size as isize;
            row.reads_constant(operand).then_some(bytes)
        };
        Some(Self {
            one,
            bytes,
            count: row.prepared_count(shape),
            steps: sizes.iter().enumerate().map(step).collect(),
        })
    }

    /// Finds or derives the constants of a launch on operands, null where absent. `owners` are the
    /// storages of operands that never change.
    ///
    /// # Errors
    /// Out of memory.
    ///
    /// # Safety
    /// The constant operands are valid for the geometry and for the row, which are those of `of`.
    pub unsafe fn find(
        &self,
        row: &'static KernelRow,
        operands: &[*mut c_void],
        owners: &[Option<&Arc<Storage>>],
    ) -> Result<Blocks, RunError> {
        let mut found = Blocks::default();
        for index in 0..self.count.unwrap_or(1) {
            let at = |(&start, step): (&*mut c_void, &Option<isize>)| match step {
                Some(step) if !start.is_null() => start.wrapping_byte_offset(step * index as isize),
                _ => std::ptr::null_mut(),
            };
            let starts: SmallVec<[*mut c_void; 6]> =
                operands.iter().zip(&self.steps).map(at).collect();
            // SAFETY: the caller's promise; the index lies inside the launch.
            let block = unsafe { one_block(row, &self.one, self.bytes, &starts, owners) }?;
            if self.count.is_some() {
                found.pointers.push(block.as_ptr().cast_const().cast());
            }
            found.blocks.push(block);
        }
        Ok(found)
    }
}

/// The blocks of constants of a launch: one, or one for each index of the row's `prepared_axis`.
#[derive(Default)]
pub struct Blocks {
    blocks: SmallVec<[Arc<Block>; 1]>,
    pointers: Vec<*const c_void>,
}

impl Blocks {
    /// The value of the launch's `prepared`. It points into these blocks.
    pub fn pointer(&self) -> *const c_void {
        match self.blocks.first() {
            _ if !self.pointers.is_empty() => self.pointers.as_ptr().cast(),
            Some(block) => block.as_ptr().cast_const().cast(),
            None => std::ptr::null(),
        }
    }
}

/// A prepared block of a plan, found or derived. Operands are null where `prepare` does not read
/// them.
///
/// # Errors
/// Out of memory.
///
/// # Safety
/// As [`Needed::find`].
pub unsafe fn planned(
    (row, bytes): (&'static KernelRow, u64),
    geometry: &Geometry,
    operands: &[(*mut c_void, Option<Arc<Storage>>)],
) -> Result<Arc<Block>, RunError> {
    let shape = PreparedShape {
        dims: SmallVec::from_slice(&geometry.dims),
        strides: SmallVec::from_slice(&geometry.strides),
        params: SmallVec::from_slice(&geometry.params),
    };
    let starts: SmallVec<[*mut c_void; 6]> = operands.iter().map(|o| o.0).collect();
    let owners: SmallVec<[Option<&Arc<Storage>>; 6]> =
        operands.iter().map(|o| o.1.as_ref()).collect();
    // SAFETY: the caller's promise.
    unsafe { one_block(row, &shape, bytes, &starts, &owners) }
}

/// A table that depends only on the row's params.
fn shared(
    row: &'static KernelRow,
    shape: &PreparedShape,
    bytes: u64,
    derive: impl FnOnce() -> Result<Arc<Block>, RunError>,
) -> Result<Arc<Block>, RunError> {
    let key = (std::ptr::from_ref(row) as usize, shape.params.clone());
    if let Some(block) = SHARED.lock().get_or_insert_default().0.get(&key) {
        return Ok(Arc::clone(block));
    }
    // Two threads may derive the same table; the lock is not held during that.
    let block = derive()?;
    let mut guard = SHARED.lock();
    let known = guard.get_or_insert_default();
    if known.1.saturating_add(bytes) > SHARED_BYTES {
        *known = Shared::default();
    }
    known.1 += bytes;
    known.0.insert(key, Arc::clone(&block));
    Ok(block)
}

/// One block of constants.
unsafe fn one_block(
    row: &'static KernelRow,
    shape: &PreparedShape,
    bytes: u64,
    starts: &[*mut c_void],
    owners: &[Option<&Arc<Storage>>],
) -> Result<Arc<Block>, RunError> {
    let derive = || -> Result<Arc<Block>, RunError> {
        let block = Block::uninit(bytes)?;
        let launch = RawLaunch::new(&shape.shape(), starts, std::ptr::null());
        // SAFETY: the caller's promise; the block has the size that the row asked for.
        unsafe { row.prepare(&launch, block.as_ptr().cast()) };
        Ok(Arc::new(block))
    };
    let read = starts
        .iter()
        .zip(owners)
        .filter(|(start, _)| !start.is_null());
    let frozen: Option<SmallVec<[&Arc<Storage>; 4]>> = read.map(|(_, &owner)| owner).collect();
    if starts.iter().all(|start| start.is_null()) && bytes >= WORTH_KEEPING_BYTES {
        return shared(row, shape, bytes, derive);
    }
    let Some(frozen) = frozen.filter(|_| bytes >= WORTH_KEEPING_BYTES) else {
        return derive();
    };
    // The largest storage keeps the others alive; among equals the address decides, so that owners
    // form no cycle.
    let order = |storage: &&&Arc<Storage>| (storage.len_bytes(), storage.as_ptr() as usize);
    let Some(keeper) = frozen.iter().max_by_key(order) else {
        return derive();
    };
    let Some(kept) = keeper.derived() else {
        return derive();
    };
    let key = Key {
        row: std::ptr::from_ref(row) as usize,
        shape: shape.clone(),
        operands: starts.iter().map(|&start| start as usize).collect(),
    };
    if let Some(entry) = kept.entries.lock().get(&key) {
        return Ok(Arc::clone(&entry.block));
    }
    // Two threads may derive the same block; the lock is not held during that.
    let block = derive()?;
    let others = frozen.iter().filter(|other| !Arc::ptr_eq(other, keeper));
    let entry = Entry {
        block: Arc::clone(&block),
        _others: others.map(|&other| Arc::clone(other)).collect(),
    };
    let mut known = kept.entries.lock();
    let full = known.len() >= MAX_KEPT;
    let forgotten = full.then(|| std::mem::take(&mut *known));
    let replaced = known.insert(key, entry);
    // Releasing a memory's owner may need Python's lock.
    drop(known);
    drop((forgotten, replaced));
    Ok(block)
}
