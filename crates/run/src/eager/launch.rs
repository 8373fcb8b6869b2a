//! A launch with everything settled but where its operands begin, and its run by the workers that
//! run plans.

use super::{EagerArg, EagerError, Tensor, internal};
use crate::RunError;
use crate::exec::dispatch;
use crate::exec::launch::{Workers, split_ns};
use crate::exec::pool;
use crate::memory::Block;
use crate::memory::derived::{Blocks, Needed};
use cloakwork_ir::{DType, View};
use cloakwork_kernels::{Isa, KernelRow, LaunchShape, RawLaunch, select};
use cloakwork_ops::{COPY_KERNEL, Extents, Launch, LaunchInput, Source};
use smallvec::SmallVec;
use std::ffi::c_void;
use std::ptr::null_mut;

/// A launch whose row and geometry are known.
pub(super) struct Settled {
    row: &'static KernelRow,
    dims: Extents,
    strides: SmallVec<[i64; 12]>,
    params: Extents,
    operands: SmallVec<[Place; 4]>,
    units: u64,
    /// About how long it takes on one core, in nanoseconds.
    pub weight_ns: u64,
    scratch_bytes: u64,
    /// Bytes of the operands' elements.
    bytes: u64,
    needed: Option<Box<Needed>>,
    /// It copies between views of the same strides: no work where both begin at one address.
    copies_alike: bool,
}

/// Where an operand begins: so many bytes behind the first element of its tensor.
#[derive(Clone, Copy)]
struct Place {
    source: Source,
    bytes: isize,
}

impl Settled {
    /// The launch of a call whose arguments have these types; the offsets of its operands count
    /// from the first element of their tensors. `None`: it has no units.
    ///
    /// # Errors
    /// It has no result, or no kernel computes it: an internal error.
    pub fn new(
        launch: &Launch,
        dtype_of: impl Fn(u8) -> Option<DType>,
        isa: Isa,
    ) -> Result<Option<Self>, RunError> {
        let units = launch.units();
        if units == 0 {
            return Ok(None);
        }
        let dtypes: SmallVec<[Option<DType>; 6]> = launch
            .operands
            .iter()
            .map(|operand| match operand.source {
                Source::Param(param) => dtype_of(param),
                Source::Temporary(dtype) => Some(dtype),
                Source::Int { .. } | Source::Null => None,
            })
            .collect();
        let output = dtypes.first().copied().flatten();
        let output = output.ok_or_else(|| internal("no result"))?;
        let input = dtypes.get(1).copied().flatten().unwrap_or(output);
        let row = select(launch.kernel, input, output, isa);
        let row = row
            .ok_or_else(|| internal(&format!("no kernel {} {input} -> {output}", launch.kernel)))?;
        let sizes: SmallVec<[usize; 6]> = dtypes
            .iter()
            .map(|dtype| dtype.map_or(0, DType::size_bytes))
            .collect();
        let strides = launch.operands.iter().flat_map(|o| o.strides.iter());
        let strides: SmallVec<[i64; 12]> = strides.copied().collect();
        let shape = LaunchShape {
            dims: &launch.dims,
            strides: &strides,
            params: &launch.params,
        };
        let places = launch.operands.iter().zip(&sizes);
        let places = places.map(|(operand, &size)| Place {
            source: operand.source,
            bytes: operand.offset as isize * size as isize,
        });
        let copies = launch.kernel == COPY_KERNEL && launch.operands.len() == 2;
        Ok(Some(Self {
            row,
            operands: places.collect(),
            units,
            weight_ns: launch.weight_ns(),
            bytes: bytes(launch, &sizes),
            scratch_bytes: row.scratch_bytes(&shape).next_multiple_of(64),
            needed: Needed::of(row, &shape, &sizes).map(Box::new),
            copies_alike: copies && launch.operands[0].strides == launch.operands[1].strides,
            dims: launch.dims.clone(),
            params: launch.params.clone(),
            strides,
        }))
    }

    /// The same launch, of which is known how long it takes.
    pub fn weighing(self, weight_ns: u64) -> Self {
        Self { weight_ns, ..self }
    }

    /// A copy from one view to another of the same shape, both counted from their first elements.
    ///
    /// # Errors
    /// Shapes that do not go together: an internal error.
    pub fn copy(
        dtype: DType,
        (to, from): (&View, &View),
        isa: Isa,
    ) -> Result<Option<Self>, RunError> {
        let inputs = [(0, to), (1, from)].map(|(param, view)| {
            let view = View {
                offset: 0,
                ..view.clone()
            };
            LaunchInput::View(Source::Param(param), view)
        });
        let launch = Launch::elementwise(COPY_KERNEL, &to.shape, &inputs)
            .map_err(|error| internal(&error.to_string()))?;
        Self::new(&launch, |_| Some(dtype), isa)
    }

    /// Runs it on the arguments of a call and on memory of the call's own.
    ///
    /// # Errors
    /// Not enough memory for constants or scratch.
    ///
    /// # Safety
    /// The arguments have the types and layouts of those that it was made for, and their contents
    /// were checked.
    pub unsafe fn run(
        &self,
        args: &[EagerArg],
        temporary: *mut u8,
        threads: usize,
    ) -> Result<(), RunError> {
        let mut words: SmallVec<[i64; 6]> = SmallVec::from_elem(0, self.operands.len());
        let mut data: SmallVec<[*mut c_void; 6]> = SmallVec::new();
        for (place, word) in self.operands.iter().zip(&mut words) {
            let start = match place.source {
                Source::Param(param) => match args.get(usize::from(param)) {
                    Some(EagerArg::Tensor(tensor)) => tensor.data(),
                    _ => return Err(internal("a launch names no tensor")),
                },
                Source::Int { param, .. } => match args.get(usize::from(param)) {
                    Some(EagerArg::Int(value)) => {
                        *word = value.to_le();
                        std::ptr::from_mut(word).cast()
                    }
                    _ => return Err(internal("a launch names no integer")),
                },
                Source::Temporary(_) => temporary,
                Source::Null => null_mut(),
            };
            data.push(start.wrapping_offset(place.bytes).cast());
        }
        let prepared = match &self.needed {
            Some(needed) => {
                let owner = |place: &Place| match place.source {
                    Source::Param(param) => frozen(args.get(usize::from(param))?),
                    _ => None,
                };
                let owners: SmallVec<[_; 6]> = self.operands.iter().map(owner).collect();
                // SAFETY: the caller's promise.
                unsafe { needed.find(self.row, &data, &owners) }?
            }
            None => Blocks::default(),
        };
        // SAFETY: the caller's promise; the constants are those of this launch.
        unsafe { self.run_at(&data, &prepared, threads) }
    }

    /// Runs it on operands that begin there.
    ///
    /// # Errors
    /// Not enough memory for scratch.
    ///
    /// # Safety
    /// Operands are valid for the geometry, and `prepared` holds the row's constants for them.
    pub unsafe fn run_at(
        &self,
        data: &[*mut c_void],
        prepared: &Blocks,
        threads: usize,
    ) -> Result<(), RunError> {
        if self.copies_alike && data[0] == data[1] {
            return Ok(());
        }
        let run = || {
            // SAFETY: the caller's promise.
            unsafe { self.start(data, prepared, threads) }
        };
        let bytes = || self.bytes;
        dispatch::launched(self.row, self.units, self.threads(threads), bytes, run)
    }

    /// Of so many threads those that are worth it.
    fn threads(&self, threads: usize) -> usize {
        match self.weight_ns >= 2 * split_ns() {
            true => threads.max(1),
            false => 1,
        }
    }

    /// The same of a launch that is no part of what the caller asked for: a check.
    ///
    /// # Errors
    /// As [`Settled::run_at`].
    ///
    /// # Safety
    /// As [`Settled::run_at`].
    pub unsafe fn start(
        &self,
        data: &[*mut c_void],
        prepared: &Blocks,
        threads: usize,
    ) -> Result<(), RunError> {
        let shape = LaunchShape {
            dims: &self.dims,
            strides: &self.strides,
            params: &self.params,
        };
        let raw = RawLaunch::new(&shape, data, prepared.pointer());
        let threads = self.threads(threads);
        let scratch = match self.scratch_bytes {
            0 => None,
            bytes => Some(Block::uninit(bytes * threads as u64)?),
        };
        if threads == 1 {
            let scratch = scratch.as_ref().map_or(null_mut(), Block::as_ptr);
            // SAFETY: the caller's promise; the scratch memory has the size that the row asks for.
            unsafe { self.row.run(&raw, 0, self.units, scratch.cast()) };
            return Ok(());
        }
        let pool = pool::pool(threads)?;
        let scratch = match scratch {
            Some(scratch) => scratch,
            None => Block::uninit(0)?,
        };
        let workers = Workers::new(Some(&pool), &scratch, split_ns());
        // SAFETY: as above; workers run disjoint units, each with scratch memory of its own.
        unsafe { workers.run(self.row, &raw, self.units, self.weight_ns, &mut || true) };
        Ok(())
    }
}

/// Bytes of the elements that a launch reads and writes, each of them once.
fn bytes(launch: &Launch, sizes: &[usize]) -> u64 {
    let of_one = |(operand, &size): (&cloakwork_ops::LaunchOperand, &usize)| {
        let sizes = launch.dims.iter().zip(&operand.strides);
        let distinct = sizes.filter(|(_, stride)| **stride != 0);
        distinct.fold(size as u64, |bytes, (&dim, _)| {
            bytes.saturating_mul(dim as u64)
        })
    };
    launch
        .operands
        .iter()
        .zip(sizes)
        .map(of_one)
        .fold(0, u64::saturating_add)
}

/// The storage of an argument, if it is frozen.
fn frozen(arg: &EagerArg) -> Option<&std::sync::Arc<super::Storage>> {
    match arg {
        EagerArg::Tensor(tensor) if tensor.is_frozen() => Some(tensor.storage()),
        _ => None,
    }
}

/// Copies elements between two views of the same shape.
pub(crate) fn copy(
    dtype: DType,
    [(to, target), (from, source)]: [(&View, *mut u8); 2],
    isa: Isa,
) -> Result<(), EagerError> {
    let Some(launch) = Settled::copy(dtype, (to, from), isa)? else {
        return Ok(());
    };
    let size = dtype.size_bytes() as isize;
    let at = |view: &View, base: *mut u8| base.wrapping_offset(view.offset as isize * size).cast();
    let data = [at(to, target), at(from, source)];
    // SAFETY: the views stay inside their memory; copies have no constants.
    unsafe { launch.run_at(&data, &Blocks::default(), 1) }?;
    Ok(())
}

/// A tensor of its own with the elements of another, as [`Tensor::own_copy`] makes it, its launch
/// settled.
pub(super) struct OwnCopy {
    launch: Option<Settled>,
    dtype: DType,
    bytes: u64,
    view: View,
}

impl OwnCopy {
    /// The copy of tensors of this type and layout.
    pub fn new(dtype: DType, view: &View, isa: Isa) -> Result<Self, RunError> {
        let compact = view.without_repeats();
        let dense = View::contiguous(compact.shape.clone());
        let pairs = dense.strides.iter().zip(&view.strides);
        let strides = pairs.map(|(&dense, &own)| if own == 0 { 0 } else { dense });
        Ok(Self {
            launch: Settled::copy(dtype, (&dense, &compact), isa)?,
            dtype,
            bytes: dense.shape.elements() * dtype.size_bytes() as u64,
            view: View {
                shape: view.shape.clone(),
                strides: strides.collect(),
                offset: 0,
            },
        })
    }

    /// The layout of the copy.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// About how long it takes.
    pub fn weight_ns(&self) -> u64 {
        self.launch.as_ref().map_or(0, |launch| launch.weight_ns)
    }

    /// The copy.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn of(&self, tensor: &Tensor) -> Result<Tensor, RunError> {
        let block = Block::uninit(self.bytes)?;
        if let Some(launch) = &self.launch {
            let data = [block.as_ptr().cast(), tensor.data().cast()];
            // SAFETY: the block has room for the elements, and the tensor the layout that this was
            // made for; copies have no constants.
            unsafe { launch.run_at(&data, &Blocks::default(), 1) }?;
        }
        Ok(Tensor::own(block, self.dtype, self.view.clone()))
    }
}
