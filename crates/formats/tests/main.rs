//! All tests in one program: each would be compiled and linked with the engine by itself.
#![allow(missing_docs)]

mod circom;
mod common;
mod container;
mod files;
mod heal_forms;
mod heal_refusals;
mod properties;
mod tensors;
