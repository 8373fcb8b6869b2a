//! The driver's library in this process: loaded, initialized, and whether a GPU can be had by it.

use super::api::{self, Api, Failure, code};
use super::facts::Facts;
use super::kernels::{DRIVER, kernels};
use cloakwork_process::{Once, generation};
use std::ffi::c_int;

/// The driver's library, initialized.
pub struct Library {
    pub api: Api,
    /// The process that initialized it: it does not survive forks.
    generation: u64,
}

/// The library, initialized in this process.
///
/// # Errors
/// Why there is no use of it.
pub fn library() -> Result<&'static Library, String> {
    static LIBRARY: Once<Library> = Once::new();
    if LIBRARY.get().is_none() {
        // Not within `get_or_init`: `cuInit` may fork a helper, which waits for all locks.
        let api = Api::load()?;
        // SAFETY: the flags are 0, as the function asks.
        unsafe { api.initialize(0) }.map_err(not_initialized)?;
        // Another thread may have been faster.
        let _ = LIBRARY.set(Library {
            api,
            generation: generation(),
        });
    }
    let found = LIBRARY.get().filter(|own| own.generation == generation());
    found.ok_or_else(|| FORKED.to_owned())
}

const FORKED: &str = "CUDA does not work in a process that was forked after its parent used CUDA; \
    start processes by spawn: multiprocessing.set_start_method(\"spawn\")";

fn not_initialized(failure: Failure) -> String {
    match failure.code {
        code::NO_DEVICE => format!("the NVIDIA driver lists no GPU{}", hidden()),
        code::NOT_INITIALIZED => FORKED.to_owned(),
        code::STUB_LIBRARY => format!(
            "{} is the toolkit's stub, not the NVIDIA driver: take its folder out of \
             LD_LIBRARY_PATH",
            api::LIBRARY
        ),
        _ => format!("the NVIDIA driver does not work: {}", failure.words),
    }
}

/// A remark where the environment hides GPUs.
fn hidden() -> String {
    std::env::var("CUDA_VISIBLE_DEVICES").map_or_else(
        |_| String::new(),
        |value| format!(", with CUDA_VISIBLE_DEVICES={value}"),
    )
}

/// The number of GPUs that CUDA sees.
///
/// # Errors
/// Why it sees none.
pub fn count() -> Result<u32, String> {
    let mut count = 0;
    // SAFETY: the function writes the number.
    unsafe { library()?.api.device_count(&raw mut count) }.map_err(|failure| failure.words)?;
    Ok(u32::try_from(count).unwrap_or(0))
}

/// Whether GPU `index` can be used, as far as can be said without using it.
///
/// # Errors
/// Why it cannot.
pub fn check(index: u32) -> Result<(), String> {
    let all = count()?;
    if index >= all {
        return Err(match all {
            0 => format!("the NVIDIA driver lists no GPU{}", hidden()),
            1 => format!("there is one GPU, cuda:0{}", hidden()),
            _ => format!(
                "there are {all} GPUs, cuda:0 to cuda:{}{}",
                all - 1,
                hidden()
            ),
        });
    }
    kernels().module(DRIVER)?;
    let facts = Facts::of(&library()?.api, index as c_int);
    facts
        .and_then(|facts| facts.capable())
        .map_err(|failure| failure.words)
}
