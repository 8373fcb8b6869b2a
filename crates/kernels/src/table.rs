//! The rows that C++ exports and those of libraries, and the choice of one.

use crate::abi::{KernelFn, PrepareFn, RawKernelRow, RawLaunch, SizeFn, cw_cpu_kernels};
use crate::{Isa, library};
use cloakwork_ir::{ALL_DTYPES, DType};
use cloakwork_process::Once;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::ffi::{CStr, CString, c_char, c_void};

/// One kernel: an op on certain types by certain instructions.
#[derive(Debug)]
pub struct KernelRow {
    /// The name that op declarations use: `modmul`.
    pub kernel: &'static str,
    /// The name in plans and traces: `modmul_i64_avx512`.
    pub symbol: &'static str,
    /// What the processor must have.
    pub isa: Isa,
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
    pub(crate) run: KernelFn,
    pub(crate) scratch_bytes: Option<SizeFn>,
    pub(crate) prepared_bytes: Option<SizeFn>,
    pub(crate) prepare: Option<PrepareFn>,
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

/// A geometry of its own: what [`KernelRow::prepared_shape`] gives.
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
    /// The processor has the row's instruction set. The launch is one of this kernel as
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
        size(self.prepared_bytes, shape)
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

/// The rows of a device, which are found by kernel and types.
#[derive(Debug)]
pub struct Rows {
    all: Vec<KernelRow>,
    /// Numbers of rows by kernel, first and result's type: best first.
    by_types: FxHashMap<(&'static str, DType, DType), SmallVec<[u32; 4]>>,
}

impl Rows {
    /// These rows, best first within a kernel.
    #[must_use]
    pub fn new(all: Vec<KernelRow>) -> Self {
        let mut by_types = FxHashMap::<_, SmallVec<_>>::default();
        for (index, row) in (0..).zip(&all) {
            for input in types(row.in_dtype, row.element_bytes) {
                for output in types(row.out_dtype, row.element_bytes) {
                    let rows = by_types.entry((row.kernel, input, output)).or_default();
                    rows.push(index);
                }
            }
        }
        Self { all, by_types }
    }

    /// The rows of a table of C's. The number of one that says what Rust does not know is the
    /// error.
    ///
    /// # Errors
    /// A row has a name that is no text, or a number of a dtype or of an instruction set that there
    /// is not.
    pub fn of_table(table: &'static [RawKernelRow]) -> Result<Self, usize> {
        let read = |(index, row)| read_row(row).ok_or(index);
        let all = table.iter().enumerate().map(read);
        all.collect::<Result<Vec<_>, _>>().map(Self::new)
    }

    /// All of them, in their order.
    #[must_use]
    pub fn all(&self) -> &[KernelRow] {
        &self.all
    }

    /// The best row for these types among those that need at most `isa`.
    #[must_use]
    pub fn select(
        &self,
        kernel: &str,
        input: DType,
        output: DType,
        isa: Isa,
    ) -> Option<&KernelRow> {
        let by_types: &FxHashMap<(&str, DType, DType), _> = &self.by_types;
        let rows: &SmallVec<[u32; 4]> = by_types.get(&(kernel, input, output))?;
        rows.iter()
            .map(|&index| &self.all[index as usize])
            .find(|row| row.isa <= isa)
    }

    /// The number of a row of this table.
    #[must_use]
    pub fn index_of(&self, row: &KernelRow) -> Option<u32> {
        let place = std::ptr::from_ref(row) as usize;
        let offset = place.checked_sub(self.all.as_ptr() as usize)?;
        let index = offset / size_of::<KernelRow>();
        (index < self.all.len()).then_some(index as u32)
    }
}

/// The processor's rows, best instruction set first within a kernel.
pub fn host_rows() -> &'static Rows {
    static ROWS: Once<Rows> = Once::new();
    ROWS.get_or_init(|| {
        let own = raw_rows().iter().filter_map(read_row);
        Rows::new(own.chain(library::rows()).collect())
    })
}

/// All of the processor's rows.
#[must_use]
pub fn kernels() -> &'static [KernelRow] {
    host_rows().all()
}

/// The processor's best row for these types among those that need at most `isa`.
#[must_use]
pub fn select(kernel: &str, input: DType, output: DType, isa: Isa) -> Option<&'static KernelRow> {
    host_rows().select(kernel, input, output, isa)
}

/// The processor's rows as a driver that runs them elsewhere exports them. Made once a process.
#[must_use]
pub fn host_table() -> &'static [RawKernelRow] {
    static TABLE: Once<Vec<RawKernelRow>> = Once::new();
    TABLE.get_or_init(|| kernels().iter().map(exported).collect())
}

fn exported(row: &KernelRow) -> RawKernelRow {
    // Names have no zero inside; the table lives as long as the process.
    let text =
        |name: &str| CString::new(name).map_or(c"".as_ptr(), |name| name.into_raw().cast_const());
    let number = |dtype: Option<DType>| dtype.map_or(0, |dtype| u32::from(dtype.number()));
    RawKernelRow {
        kernel: text(row.kernel),
        symbol: text(row.symbol),
        isa: row.isa as u32,
        in_dtype: number(row.in_dtype),
        out_dtype: number(row.out_dtype),
        element_bytes: row.element_bytes,
        constant_operands: row.constant_operands,
        prepared_axis: row.prepared_axis.map_or(0, |axis| axis as u32 + 1),
        run: row.run,
        scratch_bytes: row.scratch_bytes,
        prepared_bytes: row.prepared_bytes,
        prepare: row.prepare,
    }
}

fn raw_rows() -> &'static [RawKernelRow] {
    let mut count = 0;
    // SAFETY: the function returns a constant array and writes its length.
    unsafe {
        let first = cw_cpu_kernels(&raw mut count);
        std::slice::from_raw_parts(first, count as usize)
    }
}

/// `None` for numbers that this side does not know: a test sees that there are none.
fn read_row(raw: &'static RawKernelRow) -> Option<KernelRow> {
    Some(KernelRow {
        kernel: text(raw.kernel)?,
        symbol: text(raw.symbol)?,
        isa: Isa::from_abi(raw.isa)?,
        in_dtype: dtype_from_abi(raw.in_dtype)?,
        out_dtype: dtype_from_abi(raw.out_dtype)?,
        element_bytes: raw.element_bytes,
        constant_operands: raw.constant_operands,
        prepared_axis: (raw.prepared_axis as usize).checked_sub(1),
        run: raw.run,
        scratch_bytes: raw.scratch_bytes,
        prepared_bytes: raw.prepared_bytes,
        prepare: raw.prepare,
    })
}

fn text(pointer: *const c_char) -> Option<&'static str> {
    // SAFETY: the table's names are string literals.
    unsafe { CStr::from_ptr(pointer) }.to_str().ok()
}

/// `enum cw_dtype`: 0 is any type.
fn dtype_from_abi(number: u32) -> Option<Option<DType>> {
    match number {
        0 => Some(None),
        _ => DType::from_number(number).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_row_of_the_table_reads() {
        assert_eq!(kernels().len(), raw_rows().len() + library::rows().len());
        let symbols: HashSet<_> = kernels().iter().map(|row| row.symbol).collect();
        assert_eq!(symbols.len(), kernels().len(), "symbols repeat");
        for row in kernels() {
            assert!(row.symbol.starts_with(row.kernel), "{}", row.symbol);
            assert!(row.symbol.ends_with(row.isa.name()), "{}", row.symbol);
            assert_eq!(
                row.out_dtype.is_none(),
                row.element_bytes != 0,
                "{}",
                row.symbol
            );
            assert_eq!(
                row.prepare.is_some(),
                row.prepared_bytes.is_some(),
                "{}",
                row.symbol
            );
            assert!(
                row.prepare.is_some() || row.constant_operands == 0,
                "{}",
                row.symbol
            );
        }
    }

    #[test]
    fn each_kernel_has_a_portable_row_for_each_of_its_types_and_better_rows_come_first() {
        for row in kernels() {
            let types = |other: &KernelRow| {
                (
                    other.kernel,
                    other.in_dtype,
                    other.out_dtype,
                    other.element_bytes,
                )
            };
            let mut same = kernels().iter().filter(|other| types(other) == types(row));
            assert!(
                same.clone().any(|other| other.isa == Isa::Portable),
                "{}",
                row.symbol
            );
            assert!(
                same.clone().is_sorted_by(|a, b| a.isa > b.isa),
                "{}",
                row.symbol
            );
            assert!(same.next().is_some());
        }
    }

    #[test]
    fn selection_takes_the_best_row_that_the_processor_can_run() {
        let symbol = |isa| select("modmul", DType::I64, DType::I64, isa).map(|row| row.symbol);
        assert_eq!(symbol(Isa::Portable), Some("modmul_i64_portable"));
        if cfg!(target_arch = "x86_64") {
            assert_eq!(symbol(Isa::Avx2), Some("modmul_i64_avx2"));
        }
        assert!(select("copy", DType::F32, DType::U32, Isa::Portable).is_some());
        assert!(select("copy", DType::F32, DType::U64, Isa::Portable).is_none());
        assert!(select("modmul", DType::F32, DType::F32, Isa::Avx512Ifma).is_none());
        assert!(select("no such kernel", DType::I64, DType::I64, Isa::Portable).is_none());
    }
}
