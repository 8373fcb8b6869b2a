//! Links the C++ kernels into the programs that depend on this crate.
//!
//! A leaf: the crates that call the kernels declare their functions and compile without them, side
//! by side with C++. What is linked (the extension, the tests, the developers' programs) says
//! `use cloakwork_csrc as _;`.

/// Files of the instruction sets: lines `isa source flags...`, separated by `;`, for all sets of
/// this architecture. Sources are named from `csrc/`.
pub const SOURCES: &str = env!("CLOAKWORK_ISA_SOURCES");

/// Objects of this build that have flags of their own: `isa object`, separated by `;`.
pub const OBJECTS: &str = env!("CLOAKWORK_ISA_OBJECTS");

/// The C++ compiler of this build.
pub const COMPILER: &str = env!("CLOAKWORK_CXX");

macro_rules! entry_points {
    ($($name:ident)*) => {
        unsafe extern "C" {
            $(fn $name();)*
        }

        /// The functions of C++ that other crates declare and call. Linkers that read archives
        /// once, from left to right, would look for these where their callers are linked, behind
        /// the archive that has them.
        #[used]
        static ENTRY_POINTS: &[unsafe extern "C" fn()] = &[$($name),*];
    };
}

entry_points! {
    cw_abi_layout
    cw_cpu_kernels
    cw_cuda_kernels
    cw_cuda_layout
    cw_cuda_module
    cw_device_layout
    cw_find_difference
}

// Build scripts have no tests of their own.
#[cfg(test)]
#[path = "../build/rule.rs"]
mod rule;
