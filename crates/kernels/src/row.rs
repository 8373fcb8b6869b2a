//! One kernel of the table, and the geometry of a launch.

use crate::Isa;
use crate::abi::{KernelFn, PrepareFn, RawLaunch, SizeFn};
use crate::table::dtype_from_abi;
use cloakwork_ir::{ALL_DTYPES, DType};
use smallvec::SmallVec;
use std::ffi::c_void;

/// One kernel: an op on certain types by certain instructions.
#[derive(Debug)]
pub struct KernelRow {
    /// The name that op declarations use: `modmul`.
    pub kernel: &'static str,
    /// The name in plans and traces: `modmul_i64_avx512`.
    pub symbol: &'static str,
    /// Features without which it does not run.
    pub needs: Isa,
    /// Type of operand 1, or of the result where there is no other; `None`: any of
    /// `element_bytes`.
    pub in_dtype: Option<DType>,
    /// Type of the result; `None`: any of `element_bytes`.
    pub out_dtype: Option<DType>,
    /// Size of an element where any type will do, else 0.
    pub element_bytes: u32,
    /// Bit i: `prepare` reads operand i.
    pub constant_operands: u32,
    /// The axis whose indices have constants apart; `None`: a launch has one block for all.
    pub prepared_axis: Option<usize>,
    /// Of the rows that can run, the one of the greatest preference is chosen.
    pub preference: u32,
    pub(crate) run: KernelFn,
    pub(crate) scratch_bytes: Option<SizeFn>,
    pub(crate) prepared_bytes: Option<SizeFn>,
    /// Gives `prepared_bytes` where the functions of the row are in another process.
    pub(crate) asked_bytes: Option<AskedSize>,
    pub(crate) prepare: Option<PrepareFn>,
}

/// Asks another process for the bytes of constants of a geometry.
pub type AskSize = Box<dyn Fn(&LaunchShape<'_>) -> u64 + Send + Sync>;

/// [`AskSize`], of which there is nothing to print.
pub(crate) struct AskedSize(AskSize);

impl std::fmt::Debug for AskedSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("asked")
    }
}

/// A row whose functions are in another process: the fields of `cw_kernel_row`.
pub struct ElsewhereRow {
    /// As in [`KernelRow`].
    pub kernel: &'static str,
    /// As in [`KernelRow`].
    pub symbol: &'static str,
    /// The bits of its features.
    pub needs: u64,
    /// The numbers of `in_dtype` and `out_dtype`.
    pub dtypes: [u32; 2],
    /// As in [`KernelRow`].
    pub element_bytes: u32,
    /// As in [`KernelRow`].
    pub constant_operands: u32,
    /// 1 + the axis, or 0.
    pub prepared_axis: u32,
    /// As in [`KernelRow`].
    pub preference: u32,
    /// Gives the bytes of constants; `None` for a row without them.
    pub prepared_bytes: Option<AskSize>,
}

impl ElsewhereRow {
    /// The row, unless it has the number of an unknown dtype or feature. Only its driver runs it.
    #[must_use]
    pub fn read(self) -> Option<KernelRow> {
        Some(KernelRow {
            kernel: self.kernel,
            symbol: self.symbol,
            needs: Isa::from_bits(self.needs)?,
            in_dtype: dtype_from_abi(self.dtypes[0])?,
            out_dtype: dtype_from_abi(self.dtypes[1])?,
            element_bytes: self.element_bytes,
            constant_operands: self.constant_operands,
            prepared_axis: (self.prepared_axis as usize).checked_sub(1),
            preference: self.preference,
            run: crate::table::elsewhere,
            scratch_bytes: None,
            prepared_bytes: None,
            asked_bytes: self.prepared_bytes.map(AskedSize),
            prepare: None,
        })
    }
}

/// The geometry of a launch: all that sizes of scratch and prepared memory depend on.
#[derive(Clone, Copy, Debug)]
pub struct LaunchShape<'a> {
    /// Sizes, outermost first.
    pub dims: &'a [i64],
    /// Strides of each operand in turn, in elements.
    pub strides: &'a [i64],
    /// Integers whose meaning is the kernel's.
    pub params: &'a [i64],
}

/// A geometry of its own: the result of [`KernelRow::prepared_shape`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PreparedShape {
    /// As in [`LaunchShape`].
    pub dims: SmallVec<[i64; 4]>,
    /// As in [`LaunchShape`].
    pub strides: SmallVec<[i64; 24]>,
    /// As in [`LaunchShape`].
    pub params: SmallVec<[i64; 4]>,
}

impl PreparedShape {
    /// The geometry as a row reads it.
    #[must_use]
    pub fn shape(&self) -> LaunchShape<'_> {
        LaunchShape {
            dims: &self.dims,
            strides: &self.strides,
            params: &self.params,
        }
    }
}

impl LaunchShape<'_> {
    fn raw(&self) -> RawLaunch {
        let operands = self.strides.len().checked_div(self.dims.len());
        RawLaunch {
            operands: operands.unwrap_or(0) as u32,
            data: std::ptr::null(),
            ..RawLaunch::new(self, &[], std::ptr::null())
        }
    }
}

impl KernelRow {
    /// Computes units `begin .. end`.
    ///
    /// # Safety
    /// The processor has the features that the row needs. The launch is one of this kernel as
    /// `docs/kernels.md` defines it: pointers are aligned to their element and valid for all that
    /// the geometry reaches, `prepared` holds what [`KernelRow::prepare`] wrote for it; indices,
    /// permutations and moduli are in range. `scratch` has [`KernelRow::scratch_bytes`] bytes,
    /// 64-byte aligned, for this call alone. Nothing else writes what the launch reads, and only
    /// calls on other units touch what it writes.
    #[inline]
    pub unsafe fn run(&self, launch: &RawLaunch, begin: u64, end: u64, scratch: *mut c_void) {
        // SAFETY: the caller's promise.
        unsafe { (self.run)(launch, begin, end, scratch) }
    }

    /// Writes the constants that the row derives from operands into `prepared`.
    ///
    /// # Safety
    /// As for [`KernelRow::run`], of the operands in `constant_operands`; `prepared` has
    /// [`KernelRow::prepared_bytes`] bytes, 64-byte aligned.
    pub unsafe fn prepare(&self, launch: &RawLaunch, prepared: *mut c_void) {
        if let Some(prepare) = self.prepare {
            // SAFETY: the caller's promise.
            unsafe { prepare(launch, prepared) }
        }
    }

    /// Bytes of scratch memory that each concurrent call of a launch needs.
    #[must_use]
    pub fn scratch_bytes(&self, shape: &LaunchShape<'_>) -> u64 {
        size(self.scratch_bytes, shape)
    }

    /// Bytes of constants that the row derives.
    #[must_use]
    pub fn prepared_bytes(&self, shape: &LaunchShape<'_>) -> u64 {
        match &self.asked_bytes {
            Some(AskedSize(ask)) => ask(shape),
            None => size(self.prepared_bytes, shape),
        }
    }

    /// Whether `prepare` reads an operand.
    #[must_use]
    pub fn reads_constant(&self, operand: usize) -> bool {
        operand < 32 && self.constant_operands & (1 << operand) != 0
    }

    /// The geometry that `prepare` sees for a launch of this one: for one index of `prepared_axis`
    /// where there is one, so that launches which differ in other axes share constants; params
    /// alone where it reads no operand.
    #[must_use]
    pub fn prepared_shape(&self, shape: &LaunchShape<'_>) -> PreparedShape {
        if self.constant_operands == 0 {
            return PreparedShape {
                dims: SmallVec::new(),
                strides: SmallVec::new(),
                params: SmallVec::from_slice(shape.params),
            };
        }
        let mut dims = SmallVec::from_slice(shape.dims);
        let mut strides = SmallVec::from_slice(shape.strides);
        if let Some(axis) = self.prepared_axis {
            dims.iter_mut().take(axis + 1).for_each(|dim| *dim = 1);
            let rank = dims.len().max(1);
            for (operand, own) in strides.chunks_mut(rank).enumerate() {
                let kept = if self.reads_constant(operand) {
                    axis + 1
                } else {
                    rank
                };
                own.iter_mut().take(kept).for_each(|stride| *stride = 0);
            }
        }
        PreparedShape {
            dims,
            strides,
            params: SmallVec::from_slice(shape.params),
        }
    }

    /// How many blocks of constants a launch has.
    #[must_use]
    pub fn prepared_count(&self, shape: &LaunchShape<'_>) -> Option<usize> {
        let axis = self.prepared_axis?;
        shape.dims.get(axis).map(|&dim| dim as usize)
    }

    /// Whether these features are all that it needs.
    #[must_use]
    pub fn runs_on(&self, isa: Isa) -> bool {
        isa.includes(self.needs)
    }

    /// The types that it takes.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = DType> {
        types(self.in_dtype, self.element_bytes)
    }

    /// The types that it gives.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = DType> {
        types(self.out_dtype, self.element_bytes)
    }

    /// Whether the row takes and gives these types.
    #[must_use]
    pub fn fits(&self, input: DType, output: DType) -> bool {
        fits(self.in_dtype, self.element_bytes, input)
            && fits(self.out_dtype, self.element_bytes, output)
    }
}

/// The types that a row's `in_dtype` or `out_dtype` stands for.
fn types(own: Option<DType>, element_bytes: u32) -> impl Iterator<Item = DType> {
    let all = ALL_DTYPES.into_iter();
    all.filter(move |&dtype| fits(own, element_bytes, dtype))
}

fn fits(own: Option<DType>, element_bytes: u32, dtype: DType) -> bool {
    own.map_or(dtype.size_bytes() == element_bytes as usize, |own| {
        own == dtype
    })
}

fn size(function: Option<SizeFn>, shape: &LaunchShape<'_>) -> u64 {
    let raw = shape.raw();
    // SAFETY: size functions read the geometry alone. A shape without dimensions has none to read.
    function.map_or(0, |function| unsafe { function(&raw const raw) })
}
