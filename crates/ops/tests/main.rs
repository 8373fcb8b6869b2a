//! All tests in one program: each would be compiled and linked with the engine by itself.
#![allow(missing_docs)]

mod arithmetic;
mod common;
mod elements;
mod expansions;
mod hash;
mod launches;
mod layout;
mod totality;
mod transforms;
