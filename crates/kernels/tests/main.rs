//! All tests in one program: each would be compiled and linked with the engine by itself.
#![allow(missing_docs)]

mod base_convert;
mod common;
mod creation;
mod gadget;
mod layout;
mod library;
mod linear;
mod modular;
mod ntt;
mod reduction;
mod rlwe;
mod sorting;
mod sums;
