//! Matrices and Fourier transforms.
