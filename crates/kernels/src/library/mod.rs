//! Rows whose kernels are Rust: they gather a unit's elements, have `cloakwork-library` compute,
//! and scatter the result. Everywhere else they are kernels like those of C++: they cannot fail,
//! and where there is no result they write NaNs.

mod digests;
mod element;
mod matrices;
mod points;
mod transforms;
mod unit;

use crate::abi::KernelFn;
use crate::{Isa, KernelRow};
use cloakwork_ir::DType;
use cloakwork_library::Complex;

fn row(
    (kernel, symbol): (&'static str, &'static str),
    (input, output): (DType, DType),
    run: KernelFn,
) -> KernelRow {
    KernelRow {
        kernel,
        symbol,
        needs: Isa::PORTABLE,
        preference: 0,
        in_dtype: Some(input),
        out_dtype: Some(output),
        element_bytes: 0,
        constant_operands: 0,
        prepared_axis: None,
        run,
        scratch_bytes: None,
        prepared_bytes: None,
        asked_bytes: None,
        prepare: None,
    }
}

/// A row: the kernel, the types of operand and result, and the function for that operand.
macro_rules! row {
    ($kernel:ident, $text:literal, $from:ident, $to:ident, $function:expr) => {
        row(
            (
                stringify!($kernel),
                concat!(stringify!($kernel), "_", $text, "_portable"),
            ),
            (DType::$from, DType::$to),
            $function,
        )
    };
}

/// The four rows of a kernel of matrices, by the types of their results.
macro_rules! matrices {
    ($kernel:ident, $f32:ident, $f64:ident, $c64:ident, $c128:ident) => {
        [
            row!($kernel, "f32", F32, $f32, matrices::$kernel::<f32>),
            row!($kernel, "f64", F64, $f64, matrices::$kernel::<f64>),
            row!($kernel, "c64", C64, $c64, matrices::$kernel::<Complex<f32>>),
            row!(
                $kernel,
                "c128",
                C128,
                $c128,
                matrices::$kernel::<Complex<f64>>
            ),
        ]
    };
}

/// All of these rows.
pub(crate) fn rows() -> Vec<KernelRow> {
    let matrices = [
        matrices!(cholesky, F32, F64, C64, C128),
        matrices!(solve, F32, F64, C64, C128),
        matrices!(inverse, F32, F64, C64, C128),
        matrices!(determinant, F32, F64, C64, C128),
        matrices!(qr, F32, F64, C64, C128),
        matrices!(svd, F32, F64, C64, C128),
        matrices!(svdvals, F32, F64, F32, F64),
        matrices!(eigh, F32, F64, C64, C128),
        matrices!(eigvalsh, F32, F64, F32, F64),
        matrices!(eig, C64, C128, C64, C128),
        matrices!(eigvals, C64, C128, C64, C128),
    ];
    let others = [
        row!(fft, "c64", C64, C64, transforms::fft::<f32>),
        row!(fft, "c128", C128, C128, transforms::fft::<f64>),
        row!(rfft, "f32", F32, C64, transforms::rfft::<f32>),
        row!(rfft, "f64", F64, C128, transforms::rfft::<f64>),
        row!(irfft, "c64", C64, F32, transforms::irfft::<f32>),
        row!(irfft, "c128", C128, F64, transforms::irfft::<f64>),
        row!(
            transcript_digest,
            "u8",
            U8,
            U8,
            digests::transcript_digest_of
        ),
        row!(keccak256, "u8", U8, U8, digests::keccak256_of),
        row!(check_points, "u64", U64, U64, points::check_points_of),
    ];
    matrices.into_iter().flatten().chain(others).collect()
}
