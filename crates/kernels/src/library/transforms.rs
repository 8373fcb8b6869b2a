//! Kernels of one line a unit.

use super::unit::{self, Unit};
use crate::RawLaunch;
use cloakwork_library::{Complex, ComplexTransform, FourierFloat, FromSpectrum, ToSpectrum};
use std::ffi::c_void;
use std::ops::{Mul, Range};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// `f32` or `f64`.
pub(super) trait Float: FourierFloat + Mul<Output = Self> {
    const NAN: Self;
    fn rounded(value: f64) -> Self;
}

impl Float for f32 {
    const NAN: Self = Self::NAN;

    fn rounded(value: f64) -> Self {
        value as Self
    }
}

impl Float for f64 {
    const NAN: Self = Self::NAN;

    fn rounded(value: f64) -> Self {
        value
    }
}

/// Reads `line` from operand 1, at multiples of `step`.
///
/// # Safety
/// As for [`crate::KernelRow::run`]; operand 1 has these elements, of type E.
unsafe fn gather<E: Copy>(unit: &Unit<'_>, line: &mut [E], step: i64) {
    for (index, element) in line.iter_mut().enumerate() {
        // SAFETY: the caller's promise.
        *element = unsafe { unit.read(1, index as i64 * step) };
    }
}

/// Writes the result, along the unit's axis.
///
/// # Safety
/// As for [`crate::KernelRow::run`]; the result holds elements of type E.
unsafe fn scatter<E: Copy>(unit: &Unit<'_>, values: impl Iterator<Item = E>) {
    let step = unit.step(0, 0);
    for (index, value) in (0..unit.size(0)).zip(values) {
        // SAFETY: the caller's promise.
        unsafe { unit.write(index as i64 * step, value) };
    }
}

/// Computes a range of units with one `transform`. Should a library panic, all of them are NaN.
///
/// # Safety
/// As for [`crate::KernelRow::run`], of a launch whose result holds elements of type E.
unsafe fn run<E: Copy, T>(
    launch: *const RawLaunch,
    units: Range<u64>,
    nan: E,
    prepare: impl Fn(&Unit<'_>) -> T,
    transform: impl Fn(&Unit<'_>, &mut T),
) {
    let mut prepared = None;
    let each = |unit: Unit<'_>| transform(&unit, prepared.get_or_insert_with(|| prepare(&unit)));
    let all = AssertUnwindSafe(|| {
        // SAFETY: the caller's promise.
        unsafe { unit::for_each(launch, units.clone(), 1, each) };
    });
    if catch_unwind(all).is_err() {
        // SAFETY: the caller's promise.
        let fill = |unit: Unit<'_>| unsafe { scatter(&unit, std::iter::repeat(nan)) };
        // SAFETY: the caller's promise.
        unsafe { unit::for_each(launch, units, 1, fill) };
    }
}

/// The factor of the result, a parameter that holds the bits of a binary64.
///
/// # Safety
/// The kernel's launches have it.
unsafe fn scale<F: Float>(unit: &Unit<'_>, param: usize) -> F {
    // SAFETY: the caller's promise.
    F::rounded(f64::from_bits(unsafe { unit.param(param) } as u64))
}

/// Complex to complex; params: inverse, scale.
pub(super) unsafe extern "C" fn fft<F: Float>(
    launch: *const RawLaunch,
    begin: u64,
    end: u64,
    _scratch: *mut c_void,
) {
    let nan = Complex::new(F::NAN, F::NAN);
    // SAFETY: the promise made to `KernelRow::run`.
    unsafe {
        run(
            launch,
            begin..end,
            nan,
            |unit| ComplexTransform::<F>::new(unit.size(0), unit.param(0) != 0),
            |unit, transform| {
                gather(unit, &mut transform.line, unit.step(1, 0));
                transform.run();
                let scale: F = scale(unit, 1);
                scatter(unit, transform.line.iter().map(|value| value.scale(scale)));
            },
        );
    }
}

/// Real to the first half of a spectrum; params: scale, a's size and stride.
pub(super) unsafe extern "C" fn rfft<F: Float>(
    launch: *const RawLaunch,
    begin: u64,
    end: u64,
    _scratch: *mut c_void,
) {
    let nan = Complex::new(F::NAN, F::NAN);
    // SAFETY: the promise made to `KernelRow::run`.
    unsafe {
        run(
            launch,
            begin..end,
            nan,
            |unit| ToSpectrum::<F>::new(unit.param(1) as usize),
            |unit, transform| {
                gather(unit, &mut transform.line, unit.param(2));
                transform.run();
                let scale: F = scale(unit, 0);
                scatter(
                    unit,
                    transform.spectrum.iter().map(|value| value.scale(scale)),
                );
            },
        );
    }
}

/// The first half of a spectrum to real; params: scale, a's size and stride.
pub(super) unsafe extern "C" fn irfft<F: Float>(
    launch: *const RawLaunch,
    begin: u64,
    end: u64,
    _scratch: *mut c_void,
) {
    // SAFETY: the promise made to `KernelRow::run`. a's size is half the result's and 1.
    unsafe {
        run(
            launch,
            begin..end,
            F::NAN,
            |unit| FromSpectrum::<F>::new(unit.size(0)),
            |unit, transform| {
                gather(unit, &mut transform.spectrum, unit.param(2));
                transform.run();
                let scale: F = scale(unit, 0);
                scatter(unit, transform.line.iter().map(|&value| value * scale));
            },
        );
    }
}
