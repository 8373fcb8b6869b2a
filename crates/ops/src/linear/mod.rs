//! Matrices and Fourier transforms.

pub mod eigen;
pub mod factor;
pub mod fourier;
pub mod matmul;
mod matrices;
mod product;
pub mod systems;

pub(crate) use matrices::{batch_of_results, matrices_of, sizes};
