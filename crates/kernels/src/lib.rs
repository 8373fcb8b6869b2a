//! The CPU kernels: the C table of `csrc/include/cloakwork/kernel.h` in Rust, and the choice of a
//! row by the features of the processor. `docs/kernels.md` defines each launch.
//!
//! ```
//! # use cloakwork_csrc as _;
//! use cloakwork_ir::DType;
//! use cloakwork_kernels::{Isa, best_isa, kernels, select};
//!
//! let row = select("modmul", DType::I64, DType::I64, Isa::PORTABLE).unwrap();
//! assert_eq!(row.symbol, "modmul_i64_portable");
//! let best = select("modmul", DType::I64, DType::I64, best_isa()).unwrap();
//! assert!(best_isa().includes(best.needs) && best.preference >= row.preference);
//! assert!(select("modmul", DType::F32, DType::F32, best_isa()).is_none());
//! assert!(kernels().iter().any(|other| other.symbol == best.symbol));
//! ```

#[cfg(test)]
use cloakwork_csrc as _;

mod abi;
mod check;
mod isa;
mod library;
mod row;
mod table;

pub use abi::{RawKernelRow, RawLaunch};
pub use check::{Difference, find_difference};
pub use isa::{
    FEATURES, Feature, ISA_VARIABLE, Isa, IsaError, available_isas, best_isa, choose_isa,
    processor, processor_isas,
};
pub use row::{AskSize, ElsewhereRow, KernelRow, LaunchShape, PreparedShape};
pub use table::{Rows, host_rows, host_table, kernels, select};
