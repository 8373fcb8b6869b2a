//! Digests of bytes and of transcripts.

use super::unit;
use crate::RawLaunch;
use cloakwork_library::{TranscriptHash, keccak256, transcript_digest};
use std::ffi::c_void;

/// Bytes before the log: how many were absorbed, and how many are the proof's.
const HEAD_BYTES: i64 = 16;

/// Operands: out (64 bytes side by side), the transcript; dims: 1, a unit. params: bytes of the
/// transcript, its stride, and which hash: 0 BLAKE2b, 1 Keccak-256.
pub(super) unsafe extern "C" fn transcript_digest_of(
    launch: *const RawLaunch,
    begin: u64,
    end: u64,
    _scratch: *mut c_void,
) {
    // SAFETY: the promise made to `KernelRow::run`: a transcript of so many bytes, at that stride.
    // How much of it is log was checked, and is cut here to the room there is.
    unsafe {
        unit::for_each(launch, begin..end, 0, |unit| {
            let (bytes, stride) = (unit.param(0), unit.param(1));
            let byte = |at: i64| unit.read::<u8>(1, at * stride);
            let absorbed = u64::from_le_bytes(std::array::from_fn(|at| byte(at as i64)));
            let room = (bytes - HEAD_BYTES).max(0) / 2;
            let length = i64::try_from(absorbed).unwrap_or(room).min(room);
            let log: Vec<u8> = (0..length).map(|at| byte(HEAD_BYTES + at)).collect();
            let hash = match unit.param(2) {
                0 => TranscriptHash::Blake2b,
                _ => TranscriptHash::Keccak256,
            };
            for (at, byte) in transcript_digest(hash, &log).into_iter().enumerate() {
                unit.write(at as i64, byte);
            }
        });
    }
}

/// Operands: out (32 bytes), bytes; dims: 1, a unit. params: how many bytes, their stride, and that
/// of out.
pub(super) unsafe extern "C" fn keccak256_of(
    launch: *const RawLaunch,
    begin: u64,
    end: u64,
    _scratch: *mut c_void,
) {
    // SAFETY: the promise made to `KernelRow::run`: so many bytes at that stride.
    unsafe {
        unit::for_each(launch, begin..end, 0, |unit| {
            let (count, stride, out_stride) = (unit.param(0), unit.param(1), unit.param(2));
            let bytes: Vec<u8> = (0..count).map(|at| unit.read(1, at * stride)).collect();
            for (at, byte) in keccak256(&bytes).into_iter().enumerate() {
                unit.write(at as i64 * out_stride, byte);
            }
        });
    }
}
