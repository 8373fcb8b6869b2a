//! Whether canonical words are points of a curve and of its group.

use super::unit;
use crate::RawLaunch;
use cloakwork_ir::DType;
use cloakwork_library::pairing::{Form, check_points};
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};

/// Operands: the status word, words of which the last dimension has those of a point. params: the
/// number of the points' dtype. Status: 1 + the first unit that is no point.
pub(super) unsafe extern "C" fn check_points_of(
    launch: *const RawLaunch,
    begin: u64,
    end: u64,
    _scratch: *mut c_void,
) {
    // SAFETY: the promise made to `KernelRow::run`: operand 0 is a word, aligned to its size, which
    // other calls of the launch change by atomic operations only.
    let status = unsafe { AtomicU64::from_ptr((*(*launch).data).cast()) };
    let mut number = begin;
    let mut is_found = false;
    // SAFETY: as above.
    unsafe {
        unit::for_each(launch, begin..end, 1, |unit| {
            number += 1;
            let dtype = u32::try_from(unit.param(0)).ok();
            let dtype = dtype.and_then(DType::from_number);
            let Some(DType::Point(group)) = dtype.filter(|_| !is_found) else {
                return;
            };
            let step = unit.step(1, 0);
            let words = (0..unit.size(0) as i64).flat_map(|at| {
                let word: u64 = unit.read(1, at * step);
                word.to_le_bytes()
            });
            let point: Vec<u8> = words.collect();
            is_found = check_points(group, Form::Canonical, 1, &point).is_err();
            if is_found {
                report(status, number);
            }
        });
    }
}

/// Keeps the least of all that is reported; 0 is nothing yet.
fn report(status: &AtomicU64, found: u64) {
    let least = |known: u64| (known == 0 || found < known).then_some(found);
    // It fails where less is known already.
    let _ = status.fetch_update(Ordering::Relaxed, Ordering::Relaxed, least);
}
