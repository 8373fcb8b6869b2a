//! Matrices and Fourier transforms.

pub mod eigen;
pub mod factor;
pub mod fourier;
mod matrices;
pub mod systems;
