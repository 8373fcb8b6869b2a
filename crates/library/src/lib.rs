//! Factorisations of dense matrices (faer), Fourier transforms (rustfft, realfft), hashes
//! (blake2b_simd, sha3) and pairings of curves (arkworks), behind types of this crate. The
//! crate knows no strides, launches or element types of the project: the kernel rows in
//! `cloakwork-kernels` gather a matrix or a transcript, call here and scatter the result; pairings
//! verify proofs, and take bytes.
//!
//! It stands alone so that these libraries, which are long to compile, are compiled once: every
//! function of theirs is instantiated here, for `f64` and `Complex<f64>` (matrices) and for `f32`
//! and `f64` (transforms), and no edit elsewhere repeats that.
//!
//! All of it runs on the calling thread, and equal input gives equal bits on the same processor.
//!
//! ```
//! use cloakwork_library::{Complex, ComplexTransform, Matrix};
//!
//! let rows = Matrix::new(2, 3, |row, column| (10 * row + column) as f64);
//! assert_eq!((rows.rows(), rows.columns()), (2, 3));
//!
//! let mut transform = ComplexTransform::<f64>::new(4, false);
//! transform.line = vec![Complex::new(1.0, 0.0); 4];
//! transform.run();
//! assert_eq!(transform.line[0], Complex::new(4.0, 0.0));
//! assert_eq!(transform.line[1], Complex::new(0.0, 0.0));
//! ```
#![forbid(unsafe_code)]

mod blake2b;
mod eigen;
mod factor;
mod fourier;
mod hashes;
mod matrix;
pub mod pairing;
mod scalar;

pub use blake2b::{Blake2b, STATE_BYTES};
pub use fourier::{ComplexTransform, FourierFloat, FromSpectrum, ToSpectrum};
pub use hashes::{TranscriptHash, keccak256, transcript_digest};
pub use matrix::Matrix;
pub use num_complex::Complex;
pub use scalar::Scalar;
