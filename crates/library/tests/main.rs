//! All tests in one program: each would be compiled and linked with the engine by itself.
#![allow(missing_docs)]

mod common;
mod eigen;
mod factor;
mod fourier;
mod hashes;
mod pairing;
