//! The CPU kernels: the C table of `csrc/include/cloakwork/kernel.h` as Rust sees it, and the
//! choice of a row by what the processor can do. `docs/kernels.md` says what each launch means.

mod abi;
mod check;
mod isa;
mod library;
mod table;

pub use abi::{RawKernelRow, RawLaunch};
pub use check::{Difference, find_difference};
pub use isa::{ALL_ISAS, ISA_VARIABLE, Isa, IsaError, available_isas, best_isa, choose_isa};
pub use table::{
    KernelRow, LaunchShape, PreparedShape, Rows, host_rows, host_table, kernels, select,
};
