//! The process of a driver for tests: what `cloakwork/device/process.py` is for users.
#![forbid(unsafe_code)]

use cloakwork_csrc as _;

fn main() {
    let parent = std::env::args()
        .nth(1)
        .and_then(|number| number.parse().ok());
    if let Some(parent) = parent {
        cloakwork_devices::isolate::serve(parent)
    }
}
