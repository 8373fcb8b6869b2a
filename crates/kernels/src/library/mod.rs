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
        prepare: None,
    }
}

/// The four rows of a kernel of matrices, by the types of their results.
macro_rules! matrices {
    ($kernel:ident, $f32:ident, $f64:ident, $c64:ident, $c128:ident) => {{
        const NAME: &str = stringify!($kernel);
        [
            row(
                (NAME, concat!(stringify!($kernel), "_f32_portable")),
                (DType::F32, DType::$f32),
                matrices::$kernel::<f32>,
            ),
            row(
                (NAME, concat!(stringify!($kernel), "_f64_portable")),
                (DType::F64, DType::$f64),
                matrices::$kernel::<f64>,
            ),
            row(
                (NAME, concat!(stringify!($kernel), "_c64_portable")),
                (DType::C64, DType::$c64),
                matrices::$kernel::<Complex<f32>>,
            ),
            row(
                (NAME, concat!(stringify!($kernel), "_c128_portable")),
                (DType::C128, DType::$c128),
                matrices::$kernel::<Complex<f64>>,
            ),
        ]
    }};
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
    let lines = [
        row(
            ("fft", "fft_c64_portable"),
            (DType::C64, DType::C64),
            transforms::fft::<f32>,
        ),
        row(
            ("fft", "fft_c128_portable"),
            (DType::C128, DType::C128),
            transforms::fft::<f64>,
        ),
        row(
            ("rfft", "rfft_f32_portable"),
            (DType::F32, DType::C64),
            transforms::rfft::<f32>,
        ),
        row(
            ("rfft", "rfft_f64_portable"),
            (DType::F64, DType::C128),
            transforms::rfft::<f64>,
        ),
        row(
            ("irfft", "irfft_c64_portable"),
            (DType::C64, DType::F32),
            transforms::irfft::<f32>,
        ),
        row(
            ("irfft", "irfft_c128_portable"),
            (DType::C128, DType::F64),
            transforms::irfft::<f64>,
        ),
    ];
    let digests = [row(
        ("transcript_digest", "transcript_digest_u8_portable"),
        (DType::U8, DType::U8),
        digests::transcript_digest_of,
    )];
    let points = [row(
        ("check_points", "check_points_u64_portable"),
        (DType::U64, DType::U64),
        points::check_points_of,
    )];
    let all = matrices.into_iter().flatten().chain(lines);
    all.chain(digests).chain(points).collect()
}
