//! Launches that a driver may read during the call alone, for tests of drivers.
//!
//! A driver copies all that a launch points to before its function returns. Launches of a plan stay
//! in place for the whole run, so that a driver that reads them later is right by chance. Copies
//! that are overwritten after the call show the mistake.

use cloakwork_kernels::RawLaunch;
use cloakwork_plan::Geometry;
use std::ffi::c_void;

/// Copies of launches: memory that is there until the run ends, with other contents.
#[derive(Default)]
pub struct Lent(Vec<Copy>);

struct Copy {
    numbers: [Vec<i64>; 3],
    data: Vec<*mut c_void>,
}

impl Lent {
    /// Calls a driver with a copy of a launch.
    pub fn call<R>(
        &mut self,
        geometry: &Geometry,
        (operands, launch): (&[*mut c_void], &RawLaunch),
        call: impl FnOnce(&RawLaunch) -> R,
    ) -> R {
        let shape = geometry.shape();
        let mut copy = Copy {
            numbers: [shape.dims, shape.strides, shape.params].map(<[i64]>::to_vec),
            data: operands.to_vec(),
        };
        let given = RawLaunch {
            dims: copy.numbers[0].as_ptr(),
            strides: copy.numbers[1].as_ptr(),
            params: copy.numbers[2].as_ptr(),
            data: copy.data.as_ptr(),
            ..*launch
        };
        let done = call(&given);
        // No work, or the result in place of the first operand: a late reader gets a result wrong,
        // and finds no address, modulus or index that it must not use.
        copy.numbers.iter_mut().for_each(|numbers| numbers.fill(0));
        if let [result, first, ..] = &mut copy.data[..] {
            *first = *result;
        }
        self.0.push(copy);
        done
    }
}
