//! The driver `cuda` over a made-up `libcuda.so.1` (`tests/cuda`), which is built here: its GPUs
//! run the processor's kernels in memory that the host cannot touch.
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, dead_code)]

use cloakwork_devices::{Driver, Drivers, cuda};
use cloakwork_ir::Device;
use cloakwork_kernels::{RawKernelRow, host_table};
use libloading::Library;
use std::ffi::{CString, c_char};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Objects of the driver that are not released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Live {
    pub allocations: u64,
    pub streams: u64,
    pub events: u64,
    pub graphs: u64,
}

/// The made-up library, for one test at a time: its settings are the process's.
pub struct MadeUp {
    pub driver: &'static Driver,
    libcuda: &'static Library,
    _alone: MutexGuard<'static, ()>,
}

impl MadeUp {
    /// The library with these settings (`Settings` of `tests/cuda/libcuda.cc`).
    pub fn new(settings: &str) -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        static LOADED: OnceLock<&'static Library> = OnceLock::new();
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let libcuda = LOADED.get_or_init(load);
        set(libcuda, settings);
        let name = cuda(0).unwrap();
        Self {
            driver: Drivers::default().of(Device::Loaded(name, 0)).0,
            libcuda,
            _alone: alone,
        }
    }

    /// Other settings from here on; a broken context works again.
    pub fn set(&self, settings: &str) {
        set(self.libcuda, settings);
    }

    /// The objects that are not released now.
    pub fn live(&self) -> Live {
        type Count = unsafe extern "C" fn(*mut u64);
        let mut counts = [0; 4];
        // SAFETY: the function's type; it writes four numbers.
        unsafe { self.libcuda.get::<Count>(b"made_up_cuda_live\0").unwrap()(counts.as_mut_ptr()) };
        let [allocations, streams, events, graphs] = counts;
        Live {
            allocations,
            streams,
            events,
            graphs,
        }
    }
}

fn set(libcuda: &Library, settings: &str) {
    type Set = unsafe extern "C" fn(*const c_char);
    let text = CString::new(settings).unwrap();
    // SAFETY: the function's type; it reads the text.
    unsafe { libcuda.get::<Set>(b"made_up_cuda_set\0").unwrap()(text.as_ptr()) };
}

/// Builds both libraries. The driver finds the first by its name, since it is loaded, and the
/// second by the environment.
fn load() -> &'static Library {
    type Rows = unsafe extern "C" fn(*const RawKernelRow, u64);
    let (libcuda, kernels) = (
        built("libcuda.cc", "libcuda.so.1"),
        built("kernels.cc", "kernels.so"),
    );
    let table = host_table();
    // SAFETY: functions of these types; rows live as long as the process. No other thread reads
    // the environment now: the first test to come here holds the lock.
    unsafe {
        let kernels_library = Box::leak(Box::new(Library::new(&kernels).unwrap()));
        let rows = kernels_library.get::<Rows>(b"made_up_rows\0").unwrap();
        rows(table.as_ptr(), table.len() as u64);
        std::env::set_var("CLOAKWORK_CUDA_KERNELS", &kernels);
        Box::leak(Box::new(Library::new(&libcuda).unwrap()))
    }
}

/// A library of `tests/cuda`, compiled unless it is newer than all sources.
fn built(source: &str, name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("made_up_cuda");
    std::fs::create_dir_all(&folder).unwrap();
    let library = folder.join(name);
    let sources = ["tests/cuda", "cuda/driver", "csrc/include/cloakwork"].map(|one| root.join(one));
    let files = sources
        .iter()
        .flat_map(|one| std::fs::read_dir(one).unwrap());
    let changed = files.map(|file| file.unwrap().metadata().unwrap().modified().unwrap());
    let made = library.metadata().and_then(|found| found.modified());
    if made.is_ok_and(|made| changed.max().is_some_and(|changed| changed < made)) {
        return library;
    }
    // Another process may be at it: each writes its own file, and the last one counts.
    let own = folder.join(format!("{name}.{}", std::process::id()));
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let mut command = Command::new(compiler);
    command.args([
        "-std=c++20",
        "-O1",
        "-g",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-shared",
        "-fPIC",
    ]);
    command.arg("-I").arg(root.join("csrc/include"));
    command.arg(format!("-Wl,-soname,{name}"));
    command
        .arg(root.join("tests/cuda").join(source))
        .arg("-o")
        .arg(&own);
    assert!(command.status().expect("a C++ compiler").success());
    std::fs::rename(&own, &library).unwrap();
    library
}
