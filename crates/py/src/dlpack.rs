//! DLPack, both ways, versioned (1.x) and not: <https://dmlc.github.io/dlpack/latest/>.

mod export;
mod import;

pub use export::{check_stream, device_of, export};
pub use import::{alignment, foreign, from_dlpack, lent};

use cloakwork_ir::DType;
use std::ffi::{CStr, c_void};

const CPU: i32 = 1;
const CUDA: i32 = 2;
const VERSION: (u32, u32) = (1, 0);
const READ_ONLY: u64 = 1;
const IS_COPIED: u64 = 2;

const NAME: &CStr = c"dltensor";
const NAME_VERSIONED: &CStr = c"dltensor_versioned";
const USED: &CStr = c"used_dltensor";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";

#[repr(C)]
struct Device {
    kind: i32,
    id: i32,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct RawTensor {
    data: *mut c_void,
    device: Device,
    ndim: i32,
    dtype: DataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct Managed {
    tensor: RawTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

#[repr(C)]
struct ManagedVersioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedVersioned)>,
    flags: u64,
    tensor: RawTensor,
}
fn data_type(dtype: DType) -> DataType {
    let code = match dtype {
        DType::Bool => 6,
        d if d.is_complex() => 5,
        d if d.is_signed_integer() => 0,
        d if d.is_integer() => 1,
        _ => 2,
    };
    DataType {
        code,
        bits: (dtype.size_bytes() * 8) as u8,
        lanes: 1,
    }
}
