//! The units of a launch: where each begins in every operand, and its elements.

use crate::RawLaunch;
use std::ops::Range;

/// Operands that a kernel here has at most.
const OPERANDS: usize = 3;

/// One unit of a launch: the last `axes` dimensions at one index of those before.
#[derive(Clone, Copy)]
pub(super) struct Unit<'a> {
    launch: &'a RawLaunch,
    outer: usize,
    offsets: [i64; OPERANDS],
}

/// Calls `each` with the units of a range.
///
/// # Safety
/// As for [`crate::KernelRow::run`]; the launch has at least `axes` dimensions.
pub(super) unsafe fn for_each(
    launch: *const RawLaunch,
    units: Range<u64>,
    axes: usize,
    mut each: impl FnMut(Unit<'_>),
) {
    // SAFETY: the caller's promise.
    let launch = unsafe { &*launch };
    let outer = (launch.rank as usize).saturating_sub(axes);
    for number in units {
        let mut unit = Unit {
            launch,
            outer,
            offsets: [0; OPERANDS],
        };
        let mut rest = number;
        for axis in (0..outer).rev() {
            let size = unit.dim(axis) as u64;
            let index = (rest % size) as i64;
            rest /= size;
            for operand in 0..OPERANDS.min(launch.operands as usize) {
                unit.offsets[operand] += index * unit.stride(operand, axis);
            }
        }
        each(unit);
    }
}

impl Unit<'_> {
    fn dim(&self, axis: usize) -> i64 {
        debug_assert!(axis < self.launch.rank as usize);
        // SAFETY: a launch has `rank` dimensions.
        unsafe { *self.launch.dims.add(axis) }
    }

    fn stride(&self, operand: usize, axis: usize) -> i64 {
        debug_assert!(operand < self.launch.operands as usize);
        // SAFETY: a launch has `rank` strides for each operand.
        unsafe {
            *self
                .launch
                .strides
                .add(operand * self.launch.rank as usize + axis)
        }
    }

    /// Size of one of the unit's own axes.
    pub(super) fn size(&self, axis: usize) -> usize {
        self.dim(self.outer + axis) as usize
    }

    /// Stride of an operand along one of the unit's own axes.
    pub(super) fn step(&self, operand: usize, axis: usize) -> i64 {
        self.stride(operand, self.outer + axis)
    }

    /// A parameter of the launch.
    ///
    /// # Safety
    /// The kernel's launches have it.
    pub(super) unsafe fn param(&self, index: usize) -> i64 {
        // SAFETY: the caller's promise.
        unsafe { *self.launch.params.add(index) }
    }

    /// The element of an operand `distance` elements from where the unit begins.
    ///
    /// # Safety
    /// The operand's elements are of type T, and this is one that the launch may read.
    pub(super) unsafe fn read<T: Copy>(&self, operand: usize, distance: i64) -> T {
        // SAFETY: the caller's promise.
        unsafe { self.place::<T>(operand, distance).read() }
    }

    /// Writes an element of the result.
    ///
    /// # Safety
    /// The result's elements are of type T, and this is one that the launch may write.
    pub(super) unsafe fn write<T: Copy>(&self, distance: i64, value: T) {
        // SAFETY: the caller's promise.
        unsafe { self.place::<T>(0, distance).write(value) }
    }

    unsafe fn place<T>(&self, operand: usize, distance: i64) -> *mut T {
        // SAFETY: the caller's promise of the element, which lies in the operand's block.
        unsafe {
            let start = *self.launch.data.add(operand);
            start
                .cast::<T>()
                .offset((self.offsets[operand] + distance) as isize)
        }
    }
}
