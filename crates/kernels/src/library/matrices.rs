//! Kernels of one matrix a unit.

use super::element::Element;
use super::unit::{self, Unit};
use crate::RawLaunch;
use cloakwork_library::{Matrix, Scalar};
use std::ffi::c_void;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Which axes of a unit an operand runs along: rows and columns, or one for packed results.
#[derive(Clone, Copy)]
struct Form {
    axes: usize,
    a: [usize; 2],
    out: [Option<usize>; 2],
}

/// Matrix to matrix: axes i, j.
const SQUARE: Form = Form {
    axes: 2,
    a: [0, 1],
    out: [Some(0), Some(1)],
};

/// `sum_j a[i, j] x[j, k] = b[i, k]`: axes i, k, j.
const SYSTEM: Form = Form {
    axes: 3,
    a: [0, 2],
    out: [Some(2), Some(1)],
};

/// Matrix to a packed line: axes i, j, p.
const PACKED: Form = Form {
    axes: 3,
    a: [0, 1],
    out: [Some(2), None],
};

/// Gathers an operand's matrix.
///
/// # Safety
/// As for [`crate::KernelRow::run`]; operand `operand` holds elements of type T.
unsafe fn gather<T: Element>(
    unit: &Unit<'_>,
    operand: usize,
    [rows, columns]: [usize; 2],
) -> Matrix<T::Wide> {
    let (down, right) = (unit.step(operand, rows), unit.step(operand, columns));
    Matrix::new(unit.size(rows), unit.size(columns), |i, j| {
        let distance = i as i64 * down + j as i64 * right;
        // SAFETY: an element of the launch, by the caller's promise.
        unsafe { unit.read::<T>(operand, distance) }.wide()
    })
}

/// Writes a row-major result, or NaNs.
///
/// # Safety
/// As for [`crate::KernelRow::run`]; the result holds elements of type T.
unsafe fn scatter<T: Element>(
    unit: &Unit<'_>,
    out: [Option<usize>; 2],
    values: Option<Vec<T::Wide>>,
) {
    let [(rows, down), (columns, right)] =
        out.map(|axis| axis.map_or((1, 0), |axis| (unit.size(axis), unit.step(0, axis))));
    let values = values.filter(|values| values.len() == rows * columns);
    for i in 0..rows {
        for j in 0..columns {
            let value = values
                .as_ref()
                .and_then(|values| values.get(i * columns + j));
            let value = value.map_or(T::NAN, |&value| T::rounded(value));
            // SAFETY: an element of the launch, by the caller's promise.
            unsafe { unit.write(i as i64 * down + j as i64 * right, value) };
        }
    }
}

/// Computes a range of units. A library that panics has no result.
///
/// # Safety
/// As for [`crate::KernelRow::run`], of a launch of this form from In to Out.
unsafe fn run<In: Element, Out: Element>(
    launch: *const RawLaunch,
    units: Range<u64>,
    form: Form,
    compute: impl Fn(&Matrix<In::Wide>, &Unit<'_>) -> Option<Vec<Out::Wide>>,
) {
    let each = |unit: Unit<'_>| {
        let compute = AssertUnwindSafe(|| {
            // SAFETY: the caller's promise.
            let a = unsafe { gather::<In>(&unit, 1, form.a) };
            compute(&a, &unit)
        });
        let values = catch_unwind(compute).ok().flatten();
        // SAFETY: the caller's promise.
        unsafe { scatter::<Out>(&unit, form.out, values) };
    };
    // SAFETY: the caller's promise.
    unsafe { unit::for_each(launch, units, form.axes, each) };
}

/// The first parameter as a flag.
///
/// # Safety
/// The kernel's launches have it.
unsafe fn flag(unit: &Unit<'_>) -> bool {
    // SAFETY: the caller's promise.
    unsafe { unit.param(0) != 0 }
}

fn identity<T: Element>(n: usize) -> Matrix<T::Wide> {
    Matrix::new(n, n, |i, j| T::real(if i == j { 1.0 } else { 0.0 }))
}

/// A kernel: its function of a matrix, the form, and the element of the result.
macro_rules! kernel {
    ($name:ident, $form:ident, $out:ty, |$a:ident, $unit:ident| $compute:expr) => {
        pub(super) unsafe extern "C" fn $name<T: Element>(
            launch: *const RawLaunch,
            begin: u64,
            end: u64,
            _scratch: *mut c_void,
        ) {
            // SAFETY: the promise made to `KernelRow::run`. What a kernel reads besides its
            // matrix is what `docs/kernels.md` gives its launches.
            unsafe { run::<T, $out>(launch, begin..end, $form, |$a, $unit| $compute) };
        }
    };
}

kernel! { cholesky, SQUARE, T, |a, unit| T::Wide::cholesky(a, flag(unit)) }
kernel! { solve, SYSTEM, T, |a, unit| T::Wide::solve(a, &gather::<T>(unit, 2, [0, 1])) }
kernel! { inverse, SYSTEM, T, |a, _unit| T::Wide::solve(a, &identity::<T>(a.rows())) }
kernel! { determinant, PACKED, T, |a, _unit| T::Wide::determinant(a) }
kernel! { qr, PACKED, T, |a, unit| T::Wide::qr(a, flag(unit)) }
kernel! { svd, PACKED, T, |a, unit| T::Wide::svd(a, flag(unit)) }
kernel! { svdvals, PACKED, T::Real, |a, _unit| T::Wide::singular_values(a) }
kernel! { eigh, PACKED, T, |a, _unit| T::Wide::self_adjoint_eigen(a) }
kernel! { eigvalsh, PACKED, T::Real, |a, _unit| T::Wide::self_adjoint_eigenvalues(a) }
kernel! { eig, PACKED, T::Complex, |a, _unit| T::Wide::eigen(a) }
kernel! { eigvals, PACKED, T::Complex, |a, _unit| T::Wide::eigenvalues(a) }
