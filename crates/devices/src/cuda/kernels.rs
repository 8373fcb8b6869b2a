//! Mirrors of the structs in `cuda.h`, and where rows and their code come from. A test compares
//! sizes and offsets.

use cloakwork_kernels::{RawKernelRow, RawLaunch};
use cloakwork_process::Once;
use libloading::Library;
use std::ffi::{CStr, OsString, c_char, c_void};

/// `CW_CUDA_OPERANDS`.
pub const OPERANDS: usize = 16;
/// `CW_CUDA_WORDS`.
pub const WORDS: usize = 432;
/// `CW_CUDA_GRIDS`.
pub const GRIDS: usize = 32;

/// `cw_cuda_launch`. The header says what its fields mean.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct DeviceLaunch {
    pub rank: u32,
    pub operands: u32,
    pub params: u32,
    pub blocks: u32,
    pub data: [*mut c_void; OPERANDS],
    pub prepared: *const c_void,
    pub spilled: *const i64,
    pub failed: *const u64,
    pub words: [i64; WORDS],
}

/// `cw_cuda_grid`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Grid {
    pub module: *const c_char,
    pub symbol: *const c_char,
    pub many: *const c_char,
    pub argument: u64,
    pub blocks: [u32; 3],
    pub threads: u32,
    pub shared_bytes: u32,
}

/// `cw_cuda_member`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Member {
    pub rank: u32,
    pub operands: u32,
    pub data: [*mut c_void; OPERANDS],
    pub prepared: *const c_void,
    pub words: *const i64,
    pub units: u64,
    pub argument: u64,
    pub memory: *mut c_void,
    pub blocks: [u32; 2],
}

/// `cw_cuda_plan`.
#[repr(C)]
pub struct Plan {
    pub scratch_bytes: u64,
    pub count: u32,
    pub grids: [Grid; GRIDS],
}

/// `cw_cuda_limits`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Limits {
    pub multiprocessors: u32,
    pub shared_bytes: u32,
    pub scratch_bytes: u64,
}

/// `cw_cuda_plan_fn`.
pub type PlanFn = unsafe extern "C" fn(*const Row, *const RawLaunch, u64, *const Limits, *mut Plan);

/// `cw_cuda_row`.
#[repr(C)]
pub struct Row {
    row: RawKernelRow,
    module: *const c_char,
    function: *const c_char,
    many: *const c_char,
    prepare_function: *const c_char,
    pub plan: PlanFn,
    pub plan_prepare: Option<PlanFn>,
}

type RowsFn = unsafe extern "C" fn(*mut u64) -> *const Row;
/// Gives the fatbin of a module by its name, or null.
type ModuleFn = unsafe extern "C" fn(*const c_char, *mut u64) -> *const c_void;

unsafe extern "C" {
    fn cw_cuda_kernels(count: *mut u64) -> *const Row;
    fn cw_cuda_module(name: *const c_char, bytes: *mut u64) -> *const c_void;
}

/// The environment variable with the path of a shared library whose `cw_cuda_kernels` and
/// `cw_cuda_module` replace those of this build.
pub const VARIABLE: &str = "CLOAKWORK_CUDA_KERNELS";
/// The module of the driver's own kernels.
pub const DRIVER: &CStr = c"driver";

/// The rows of CUDA, and the code of their functions.
pub struct Kernels {
    /// Those whose code is there.
    rows: Vec<&'static Row>,
    /// The rows as every driver exports them.
    pub table: Vec<RawKernelRow>,
    modules: Result<ModuleFn, String>,
}

/// The address of a fatbin that lives as long as the process.
#[derive(Clone, Copy)]
pub struct Image(pub *const c_void);

// SAFETY: rows are constant data.
unsafe impl Sync for Row {}

impl Kernels {
    /// # Safety
    /// The functions keep the contract of `cuda.h`.
    unsafe fn of(rows: RowsFn, modules: ModuleFn) -> Self {
        let mut count = 0;
        // SAFETY: the caller's promise: a constant array, whose length is written.
        let all = unsafe { slice(rows(&raw mut count), count) };
        let mut own = Self {
            rows: Vec::new(),
            table: Vec::new(),
            modules: Ok(modules),
        };
        // SAFETY: names are texts that live as long as the process.
        let is_there = |row: &&Row| own.module(unsafe { CStr::from_ptr(row.module) }).is_ok();
        let rows: Vec<&Row> = all.iter().filter(is_there).collect();
        own.table = rows.iter().map(|row| row.exported()).collect();
        own.rows = rows;
        own
    }

    fn load() -> Self {
        let replaced = std::env::var_os(VARIABLE).filter(|path| !path.is_empty());
        match replaced.map(Self::of_library).transpose() {
            // SAFETY: the functions of this build keep the contract.
            Ok(found) => {
                found.unwrap_or_else(|| unsafe { Self::of(cw_cuda_kernels, cw_cuda_module) })
            }
            Err(reason) => Self {
                rows: Vec::new(),
                table: Vec::new(),
                modules: Err(reason),
            },
        }
    }

    fn of_library(path: OsString) -> Result<Self, String> {
        let place = format!("{VARIABLE}={}", path.display());
        let wrong = |error: libloading::Error| format!("{place}: {error}");
        // SAFETY: the developer who sets the variable vouches for the library, which stays loaded.
        unsafe {
            let library = Box::leak(Box::new(Library::new(path).map_err(wrong)?));
            let rows = library.get::<RowsFn>(b"cw_cuda_kernels\0").map_err(wrong)?;
            let modules = library
                .get::<ModuleFn>(b"cw_cuda_module\0")
                .map_err(wrong)?;
            Ok(Self::of(*rows, *modules))
        }
    }

    /// A row by its number in the table.
    pub fn row(&self, index: u32) -> Option<&'static Row> {
        self.rows.get(index as usize).copied()
    }

    /// The image of a module, as `cuModuleLoadData` takes it.
    ///
    /// # Errors
    /// Why there is none.
    pub fn module(&self, name: &CStr) -> Result<Image, String> {
        let mut bytes = 0;
        // SAFETY: the function gives constant data and writes its length.
        let image = unsafe { self.modules.clone()?(name.as_ptr(), &raw mut bytes) };
        match image.is_null() {
            true => Err(
                "this build has no CUDA kernels; build again after `python3 dev.py cuda`"
                    .to_owned(),
            ),
            false => Ok(Image(image)),
        }
    }
}

impl Row {
    fn exported(&self) -> RawKernelRow {
        let own = &self.row;
        RawKernelRow {
            run: None,
            scratch_bytes: None,
            prepare: self.plan_prepare.map(|_| never_prepare as _),
            ..*own
        }
    }

    /// The axis whose indices have constants apart.
    pub fn prepared_axis(&self) -> Option<usize> {
        (self.row.prepared_axis as usize).checked_sub(1)
    }
}

/// The engine prepares nothing of a device with memory of its own.
unsafe extern "C" fn never_prepare(_: *const RawLaunch, _: *mut c_void) {}

/// # Safety
/// So many values are there, for the life of the process.
unsafe fn slice<T>(first: *const T, count: u64) -> &'static [T] {
    match count {
        0 => &[],
        // SAFETY: the caller's promise.
        _ => unsafe { std::slice::from_raw_parts(first, count as usize) },
    }
}

/// The kernels of this process: those of the build, or of the library that [`VARIABLE`] names.
pub fn kernels() -> &'static Kernels {
    static KERNELS: Once<Kernels> = Once::new();
    KERNELS.get_or_init(Kernels::load)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use cloakwork_kernels::Rows;
    use std::mem::{offset_of, size_of};

    unsafe extern "C" {
        fn cw_cuda_layout(count: *mut u64) -> *const u64;
    }

    #[test]
    fn c_and_rust_agree_on_every_size_and_offset() {
        let mut count = 0;
        // SAFETY: the function gives a constant array and writes its length.
        let layout = unsafe { slice(cw_cuda_layout(&raw mut count), count) };
        let expected = [
            4,
            OPERANDS,
            WORDS,
            GRIDS,
            size_of::<DeviceLaunch>(),
            offset_of!(DeviceLaunch, rank),
            offset_of!(DeviceLaunch, operands),
            offset_of!(DeviceLaunch, params),
            offset_of!(DeviceLaunch, blocks),
            offset_of!(DeviceLaunch, data),
            offset_of!(DeviceLaunch, prepared),
            offset_of!(DeviceLaunch, spilled),
            offset_of!(DeviceLaunch, failed),
            offset_of!(DeviceLaunch, words),
            size_of::<Grid>(),
            offset_of!(Grid, module),
            offset_of!(Grid, symbol),
            offset_of!(Grid, many),
            offset_of!(Grid, argument),
            offset_of!(Grid, blocks),
            offset_of!(Grid, threads),
            offset_of!(Grid, shared_bytes),
            size_of::<Member>(),
            offset_of!(Member, rank),
            offset_of!(Member, operands),
            offset_of!(Member, data),
            offset_of!(Member, prepared),
            offset_of!(Member, words),
            offset_of!(Member, units),
            offset_of!(Member, argument),
            offset_of!(Member, memory),
            offset_of!(Member, blocks),
            size_of::<Plan>(),
            offset_of!(Plan, scratch_bytes),
            offset_of!(Plan, count),
            offset_of!(Plan, grids),
            size_of::<Limits>(),
            offset_of!(Limits, multiprocessors),
            offset_of!(Limits, shared_bytes),
            offset_of!(Limits, scratch_bytes),
            size_of::<Row>(),
            offset_of!(Row, row),
            offset_of!(Row, module),
            offset_of!(Row, function),
            offset_of!(Row, many),
            offset_of!(Row, prepare_function),
            offset_of!(Row, plan),
            offset_of!(Row, plan_prepare),
        ];
        let layout: Vec<usize> = layout.iter().map(|&word| word as usize).collect();
        assert_eq!(layout, expected);
    }

    /// The size of a fatbin as its header says, which `fatbinary` writes: a magic number, 16-bit
    /// version and size of the header, 64-bit size of the rest.
    fn size_of_fatbin(bytes: &[u8]) -> Option<u64> {
        let rest = bytes.strip_prefix(&[0x50, 0xED, 0x55, 0xBA, 1, 0, 16, 0])?;
        let size = rest.first_chunk().copied().map(u64::from_le_bytes)?;
        size.checked_add(16)
    }

    #[test]
    fn a_build_has_whole_fatbins_of_all_modules_or_none_at_all() {
        let mut count = 0;
        // SAFETY: as above.
        let rows = unsafe { slice(cw_cuda_kernels(&raw mut count), count) };
        // SAFETY: names are constants.
        let names = rows.iter().map(|row| unsafe { CStr::from_ptr(row.module) });
        let names: std::collections::BTreeSet<&CStr> = names.chain([DRIVER]).collect();
        let fatbin = |name: &&CStr| {
            let mut bytes = 0;
            // SAFETY: the function gives constant data, or null and no bytes.
            unsafe { slice(cw_cuda_module(name.as_ptr(), &raw mut bytes).cast(), bytes) }
        };
        let fatbins: Vec<&[u8]> = names.iter().map(fatbin).collect();
        if fatbins.iter().all(|fatbin| fatbin.is_empty()) {
            return;
        }
        for (name, fatbin) in names.iter().zip(fatbins) {
            let own = fatbin.len() as u64;
            assert_eq!(
                size_of_fatbin(fatbin),
                Some(own),
                "module {}",
                name.to_string_lossy()
            );
        }
    }

    #[test]
    fn every_row_of_the_build_reads_whether_it_has_code_or_not() {
        let mut count = 0;
        // SAFETY: as above.
        let rows = unsafe { slice(cw_cuda_kernels(&raw mut count), count) };
        let table: Vec<RawKernelRow> = rows.iter().map(Row::exported).collect();
        // SAFETY: the names are constants; the table lives as long as the process.
        let read = unsafe { Rows::of_table(table.leak()) }.unwrap();
        assert!(read.all().len() > 100, "{}", read.all().len());
    }
}
