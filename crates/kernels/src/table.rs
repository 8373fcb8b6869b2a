//! The rows that C++ exports and those of libraries, and the choice of one.

use crate::abi::{RawKernelRow, RawLaunch, cw_cpu_kernels};
use crate::{Isa, KernelRow, library};
use cloakwork_ir::DType;
use cloakwork_process::Once;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::ffi::{CStr, CString, c_char, c_void};

/// The rows of a device, which are found by kernel and types.
#[derive(Debug)]
pub struct Rows {
    all: Vec<KernelRow>,
    /// Numbers of rows by kernel, first and result's type: the preferred ones first.
    by_types: FxHashMap<(&'static str, DType, DType), SmallVec<[u32; 4]>>,
}

impl Rows {
    /// These rows.
    #[must_use]
    pub fn new(all: Vec<KernelRow>) -> Self {
        let mut by_types = FxHashMap::<_, SmallVec<_>>::default();
        for (index, row) in (0..).zip(&all) {
            for input in row.inputs() {
                for output in row.outputs() {
                    let rows = by_types.entry((row.kernel, input, output)).or_default();
                    rows.push(index);
                }
            }
        }
        for rows in by_types.values_mut() {
            rows.sort_by_key(|&index: &u32| Reverse(all[index as usize].preference));
        }
        Self { all, by_types }
    }

    /// The rows of a table of C's.
    ///
    /// # Errors
    /// A row has a name that is no text, a number of an unknown dtype or feature, or fields that
    /// contradict each other: the text says which row, and why.
    ///
    /// # Safety
    /// Names are null or strings; the table and the strings live as long as the process.
    pub unsafe fn of_table(table: &'static [RawKernelRow]) -> Result<Self, String> {
        let read = |(index, row): (usize, &'static RawKernelRow)| {
            // SAFETY: the caller's promise.
            let found = unsafe { read_row(row).and_then(consistent) };
            found.map_err(|reason| format!("kernel row {index} {reason}"))
        };
        let all = table.iter().enumerate().map(read);
        all.collect::<Result<Vec<_>, _>>().map(Self::new)
    }

    /// All of them, in their order.
    #[must_use]
    pub fn all(&self) -> &[KernelRow] {
        &self.all
    }

    /// Of the rows for these types that need nothing but `isa`, the one of the greatest preference,
    /// and of equal ones the first.
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
            .find(|row| row.runs_on(isa))
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

/// The processor's rows.
pub fn host_rows() -> &'static Rows {
    static ROWS: Once<Rows> = Once::new();
    ROWS.get_or_init(|| {
        // SAFETY: the names are string literals.
        let own = raw_rows()
            .iter()
            .filter_map(|row| unsafe { read_row(row) }.ok());
        Rows::new(own.chain(library::rows()).collect())
    })
}

/// All of the processor's rows.
#[must_use]
pub fn kernels() -> &'static [KernelRow] {
    host_rows().all()
}

/// Of the processor's rows for these types that need nothing but `isa`, the preferred one.
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
        needs: row.needs.bits(),
        in_dtype: number(row.in_dtype),
        out_dtype: number(row.out_dtype),
        element_bytes: row.element_bytes,
        constant_operands: row.constant_operands,
        prepared_axis: row.prepared_axis.map_or(0, |axis| axis as u32 + 1),
        preference: row.preference,
        run: Some(row.run),
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

/// # Safety
/// The row's names are null or strings that live as long as the process.
unsafe fn read_row(raw: &'static RawKernelRow) -> Result<KernelRow, String> {
    let dtype = |number| {
        dtype_from_abi(number).ok_or_else(|| format!("has the unknown dtype number {number}"))
    };
    // SAFETY: the caller's promise.
    let name = |name| unsafe { text(name) }.ok_or("needs a kernel and a symbol, in UTF-8");
    let needs = Isa::from_bits(raw.needs);
    Ok(KernelRow {
        kernel: name(raw.kernel)?,
        symbol: name(raw.symbol)?,
        needs: needs.ok_or_else(|| format!("needs unknown features: {:#x}", raw.needs))?,
        in_dtype: dtype(raw.in_dtype)?,
        out_dtype: dtype(raw.out_dtype)?,
        element_bytes: raw.element_bytes,
        constant_operands: raw.constant_operands,
        prepared_axis: (raw.prepared_axis as usize).checked_sub(1),
        preference: raw.preference,
        run: raw.run.unwrap_or(elsewhere),
        scratch_bytes: raw.scratch_bytes,
        prepared_bytes: raw.prepared_bytes,
        asked_bytes: None,
        prepare: raw.prepare,
    })
}

/// `run` of a row that only its driver runs.
pub(crate) unsafe extern "C" fn elsewhere(_: *const RawLaunch, _: u64, _: u64, _: *mut c_void) {}

/// Passes on a row unless it contradicts itself.
fn consistent(row: KernelRow) -> Result<KernelRow, String> {
    let KernelRow { symbol, .. } = row;
    let wrong = [
        (
            row.out_dtype.is_none() != (row.element_bytes != 0),
            "expected element_bytes where out_dtype is CW_ANY, and only there",
        ),
        (
            row.prepare.is_some() != row.prepared_bytes.is_some(),
            "expected both of prepare and prepared_bytes, or neither",
        ),
        (
            row.prepare.is_none() && (row.constant_operands != 0 || row.prepared_axis.is_some()),
            "expected a prepare for its constant_operands and prepared_axis",
        ),
    ];
    match wrong.iter().find(|(is_so, _)| *is_so) {
        Some((_, reason)) => Err(format!("({symbol}): {reason}")),
        None => Ok(row),
    }
}

/// # Safety
/// The pointer is null or leads to a string that lives as long as the process.
unsafe fn text(pointer: *const c_char) -> Option<&'static str> {
    // SAFETY: the caller's promise.
    let text = (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) })?;
    text.to_str().ok().filter(|text| !text.is_empty())
}

/// `enum cw_dtype`: 0 is any type.
pub(crate) fn dtype_from_abi(number: u32) -> Option<Option<DType>> {
    match number {
        0 => Some(None),
        _ => DType::from_number(number).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Feature;
    use std::collections::HashSet;

    #[test]
    fn every_row_of_the_table_reads() {
        assert_eq!(kernels().len(), raw_rows().len() + library::rows().len());
        let symbols: HashSet<_> = kernels().iter().map(|row| row.symbol).collect();
        assert_eq!(symbols.len(), kernels().len(), "symbols repeat");
        for row in kernels() {
            assert!(row.symbol.starts_with(row.kernel), "{}", row.symbol);
            assert!(
                row.symbol.ends_with(&row.needs.to_string()),
                "{}",
                row.symbol
            );
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
    fn each_kernel_has_a_portable_row_for_its_types_and_rows_of_more_features_are_preferred() {
        for row in kernels() {
            let types = |other: &KernelRow| {
                (
                    other.kernel,
                    other.in_dtype,
                    other.out_dtype,
                    other.element_bytes,
                )
            };
            let same = kernels().iter().filter(|other| types(other) == types(row));
            let portable = same.clone().find(|other| other.needs == Isa::PORTABLE);
            assert!(portable.is_some(), "{}", row.symbol);
            for other in same.filter(|other| other.symbol != row.symbol) {
                assert_ne!(other.needs, row.needs, "{}", row.symbol);
                if row.needs.includes(other.needs) {
                    assert!(row.preference > other.preference, "{}", row.symbol);
                }
            }
        }
    }

    #[test]
    fn selection_takes_the_best_row_that_the_processor_can_run() {
        let symbol = |isa| select("modmul", DType::I64, DType::I64, isa).map(|row| row.symbol);
        assert_eq!(symbol(Isa::PORTABLE), Some("modmul_i64_portable"));
        // Builds for one machine have some of the sets.
        for row in kernels()
            .iter()
            .filter(|row| row.symbol.starts_with("modmul_i64_"))
        {
            assert_eq!(symbol(row.needs), Some(row.symbol));
            assert_eq!(row.symbol, format!("modmul_i64_{}", row.needs));
        }
        // Parts of the sets that vector kernels need are none of them.
        let odd = Isa::of(&[Feature::Avx2, Feature::Avx512F, Feature::Neon]);
        assert_eq!(symbol(odd), Some("modmul_i64_portable"));
        assert!(select("copy", DType::F32, DType::U32, Isa::PORTABLE).is_some());
        assert!(select("copy", DType::F32, DType::U64, Isa::PORTABLE).is_none());
        assert!(select("modmul", DType::F32, DType::F32, Isa::AVX512IFMA).is_none());
        assert!(select("no such kernel", DType::I64, DType::I64, Isa::PORTABLE).is_none());
    }

    /// A row of a made-up table.
    fn row(symbol: &'static str, needs: Isa, preference: u32) -> KernelRow {
        KernelRow {
            kernel: "modmul",
            symbol,
            needs,
            in_dtype: Some(DType::I64),
            out_dtype: Some(DType::I64),
            element_bytes: 0,
            constant_operands: 0,
            prepared_axis: None,
            preference,
            run: kernels()[0].run,
            scratch_bytes: None,
            prepared_bytes: None,
            asked_bytes: None,
            prepare: None,
        }
    }

    #[test]
    fn a_neon_row_beside_avx_rows_is_chosen_by_what_may_be_used_and_preference_decides_alone() {
        let rows = Rows::new(vec![
            row("avx2", Isa::AVX2, 256),
            row("portable", Isa::PORTABLE, 64),
            row("neon", Isa::NEON, 128),
            row("avx512", Isa::AVX512, 512),
            // On AVX-512 with IFMA this one was found slower than the plainer one.
            row("avx512ifma", Isa::AVX512IFMA, 500),
            row("avx512 again", Isa::AVX512, 512),
        ]);
        let chosen = |isa| {
            let row = rows.select("modmul", DType::I64, DType::I64, isa);
            row.map(|row| row.symbol)
        };
        assert_eq!(chosen(Isa::PORTABLE), Some("portable"));
        assert_eq!(chosen(Isa::NEON), Some("neon"));
        assert_eq!(chosen(Isa::AVX2), Some("avx2"));
        assert_eq!(chosen(Isa::AVX512IFMA), Some("avx512"));
        assert_eq!(chosen(Isa::NEON.union(Isa::AVX2)), Some("avx2"));
        assert_eq!(chosen(Isa::of(&[Feature::Bmi2])), Some("portable"));
    }
}
