//! Mirrors of the structs in `kernel.h`, and its functions. A test compares sizes and offsets.

use crate::LaunchShape;
use std::ffi::{c_char, c_void};

/// `cw_launch`: one prepared step. All pointers borrow from the caller.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawLaunch {
    /// Dimensions of the iteration space.
    pub rank: u32,
    /// Tensors; operand 0 is the result.
    pub operands: u32,
    /// Sizes, outermost first: `[rank]`.
    pub dims: *const i64,
    /// Strides in elements: `[operands][rank]`.
    pub strides: *const i64,
    /// Element `[0, ..., 0]` of each operand; null where absent.
    pub data: *const *mut c_void,
    /// Integers whose meaning is the kernel's.
    pub params: *const i64,
    /// Output of `prepare`; null without one. For a row with a `prepared_axis`, an array of such
    /// pointers, one an index of the axis.
    pub prepared: *const c_void,
}

impl RawLaunch {
    /// The launch of a geometry on operands. It borrows from all of them.
    #[must_use]
    #[inline]
    pub fn new(shape: &LaunchShape<'_>, data: &[*mut c_void], prepared: *const c_void) -> Self {
        Self {
            rank: shape.dims.len() as u32,
            operands: data.len() as u32,
            dims: shape.dims.as_ptr(),
            strides: shape.strides.as_ptr(),
            data: data.as_ptr(),
            params: shape.params.as_ptr(),
            prepared,
        }
    }
}

// SAFETY: a launch is plain data. What its pointers lead to is only used by the unsafe calls of
// `KernelRow`, whose contract covers threads.
unsafe impl Send for RawLaunch {}
// SAFETY: as above.
unsafe impl Sync for RawLaunch {}

/// Runs units of a launch.
pub type KernelFn = unsafe extern "C" fn(*const RawLaunch, u64, u64, *mut c_void);
/// Bytes that a launch needs.
pub type SizeFn = unsafe extern "C" fn(*const RawLaunch) -> u64;
/// Derives constants.
pub type PrepareFn = unsafe extern "C" fn(*const RawLaunch, *mut c_void);

/// `cw_kernel_row`. `KernelRow` describes its fields.
#[allow(missing_docs)]
#[derive(Debug)]
#[repr(C)]
pub struct RawKernelRow {
    pub kernel: *const c_char,
    pub symbol: *const c_char,
    pub needs: u64,
    pub in_dtype: u32,
    pub out_dtype: u32,
    pub element_bytes: u32,
    pub constant_operands: u32,
    pub prepared_axis: u32,
    pub preference: u32,
    pub run: Option<KernelFn>,
    pub scratch_bytes: Option<SizeFn>,
    pub prepared_bytes: Option<SizeFn>,
    pub prepare: Option<PrepareFn>,
}

// SAFETY: a row is plain data of a table that lives as long as the process.
unsafe impl Send for RawKernelRow {}
// SAFETY: as above.
unsafe impl Sync for RawKernelRow {}

unsafe extern "C" {
    pub(crate) fn cw_cpu_kernels(count: *mut u64) -> *const RawKernelRow;
    #[cfg(test)]
    fn cw_abi_layout(count: *mut u64) -> *const u64;
    pub(crate) fn cw_find_difference(
        element_bytes: u32,
        a: *const c_void,
        a_strides: *const i64,
        b: *const c_void,
        b_strides: *const i64,
        rank: u32,
        dims: *const i64,
        different: *mut u64,
    ) -> i64;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Isa;
    use std::mem::{offset_of, size_of};

    #[test]
    fn c_and_rust_agree_on_every_size_offset_and_named_set() {
        let mut count = 0;
        // SAFETY: the function returns a constant array and writes its length.
        let layout = unsafe {
            let first = cw_abi_layout(&raw mut count);
            std::slice::from_raw_parts(first, count as usize)
        };
        let expected = [
            2,
            size_of::<RawLaunch>(),
            offset_of!(RawLaunch, rank),
            offset_of!(RawLaunch, operands),
            offset_of!(RawLaunch, dims),
            offset_of!(RawLaunch, strides),
            offset_of!(RawLaunch, data),
            offset_of!(RawLaunch, params),
            offset_of!(RawLaunch, prepared),
            size_of::<RawKernelRow>(),
            offset_of!(RawKernelRow, kernel),
            offset_of!(RawKernelRow, symbol),
            offset_of!(RawKernelRow, needs),
            offset_of!(RawKernelRow, in_dtype),
            offset_of!(RawKernelRow, out_dtype),
            offset_of!(RawKernelRow, element_bytes),
            offset_of!(RawKernelRow, constant_operands),
            offset_of!(RawKernelRow, prepared_axis),
            offset_of!(RawKernelRow, preference),
            offset_of!(RawKernelRow, run),
            offset_of!(RawKernelRow, scratch_bytes),
            offset_of!(RawKernelRow, prepared_bytes),
            offset_of!(RawKernelRow, prepare),
            Isa::PORTABLE.bits() as usize,
            Isa::NEON.bits() as usize,
            Isa::AVX2.bits() as usize,
            Isa::AVX512.bits() as usize,
            Isa::AVX512IFMA.bits() as usize,
            Isa::FIRST_OWN as usize,
        ];
        let layout: Vec<usize> = layout.iter().map(|&word| word as usize).collect();
        assert_eq!(layout, expected);
    }
}
