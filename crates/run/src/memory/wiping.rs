//! Runs that leave no data in memory: blocks that they allocate are overwritten before release, and
//! so are the arena, the stacks and the vector registers of threads that ran kernels.

use crate::exec::pool;
use std::cell::Cell;
use std::marker::PhantomData;

/// More than the stack frames of any kernel and its callers.
const STACK_BYTES: usize = 256 << 10;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// While a value of this type lives, blocks that its thread allocates are wiped on release.
pub struct Wiping {
    threads: usize,
    /// It applies to one thread, so it is not `Send`.
    _here: PhantomData<*const ()>,
}

impl Wiping {
    /// Begins wiping for calls on this many threads.
    #[must_use]
    pub fn begin(threads: usize) -> Self {
        DEPTH.with(|depth| depth.set(depth.get() + 1));
        Self {
            threads,
            _here: PhantomData,
        }
    }
}

impl Drop for Wiping {
    fn drop(&mut self) {
        DEPTH.with(|depth| depth.set(depth.get() - 1));
        wipe_stacks(self.threads);
    }
}

/// Whether allocations of this thread are wiped.
#[must_use]
pub fn is_wiping() -> bool {
    DEPTH.try_with(Cell::get).is_ok_and(|depth| depth > 0)
}

/// Overwrites memory with zeros in a way that is not optimised away.
///
/// # Safety
/// `bytes` bytes from `start` on may be written.
pub unsafe fn wipe(start: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise. The empty assembly may read the memory, so the compiler keeps
    // the stores.
    unsafe {
        std::ptr::write_bytes(start, 0, bytes);
        std::arch::asm!("/* {0} */", in(reg) start, options(nostack, preserves_flags));
    }
}

/// Overwrites the unused part of the stacks of this thread and of the workers beside it, and their
/// vector registers.
pub fn wipe_stacks(threads: usize) {
    wipe_thread();
    if threads > 1
        && let Ok(pool) = pool::pool(threads)
    {
        pool.broadcast(|_| wipe_thread());
    }
}

fn wipe_thread() {
    wipe_stack();
    wipe_registers();
}

#[inline(never)]
fn wipe_stack() {
    let mut room = [0u8; STACK_BYTES];
    // SAFETY: the function's own array.
    unsafe { wipe(room.as_mut_ptr(), STACK_BYTES) };
}

/// Clears the vector registers, where the last bytes of a copy stay: the dynamic linker saves them
/// on the stack when it looks a function up.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn wipe_registers() {
    use std::arch::{asm, is_x86_feature_detected};

    macro_rules! clear {
        ($($line:literal)*) => {
            // SAFETY: the processor has these instructions; registers that calls may change alone
            // are written.
            unsafe { asm!($($line),*, clobber_abi("C"), options(nomem, nostack)) }
        };
    }
    if is_x86_feature_detected!("avx512f") {
        clear!(
            "vpxord zmm16, zmm16, zmm16" "vpxord zmm17, zmm17, zmm17" "vpxord zmm18, zmm18, zmm18"
            "vpxord zmm19, zmm19, zmm19" "vpxord zmm20, zmm20, zmm20" "vpxord zmm21, zmm21, zmm21"
            "vpxord zmm22, zmm22, zmm22" "vpxord zmm23, zmm23, zmm23" "vpxord zmm24, zmm24, zmm24"
            "vpxord zmm25, zmm25, zmm25" "vpxord zmm26, zmm26, zmm26" "vpxord zmm27, zmm27, zmm27"
            "vpxord zmm28, zmm28, zmm28" "vpxord zmm29, zmm29, zmm29" "vpxord zmm30, zmm30, zmm30"
            "vpxord zmm31, zmm31, zmm31"
        );
    }
    if is_x86_feature_detected!("avx") {
        clear!("vzeroall");
    } else {
        clear!(
            "xorps xmm0, xmm0" "xorps xmm1, xmm1" "xorps xmm2, xmm2" "xorps xmm3, xmm3"
            "xorps xmm4, xmm4" "xorps xmm5, xmm5" "xorps xmm6, xmm6" "xorps xmm7, xmm7"
            "xorps xmm8, xmm8" "xorps xmm9, xmm9" "xorps xmm10, xmm10" "xorps xmm11, xmm11"
            "xorps xmm12, xmm12" "xorps xmm13, xmm13" "xorps xmm14, xmm14" "xorps xmm15, xmm15"
        );
    }
}

/// The same of 64-bit ARM; calls keep the low halves of v8 to v15, which hold what is the caller's.
#[cfg(target_arch = "aarch64")]
#[inline(never)]
fn wipe_registers() {
    // SAFETY: every processor has these instructions; registers that calls may change alone are
    // written.
    unsafe {
        std::arch::asm!(
            "movi v0.2d, #0",
            "movi v1.2d, #0",
            "movi v2.2d, #0",
            "movi v3.2d, #0",
            "movi v4.2d, #0",
            "movi v5.2d, #0",
            "movi v6.2d, #0",
            "movi v7.2d, #0",
            "movi v16.2d, #0",
            "movi v17.2d, #0",
            "movi v18.2d, #0",
            "movi v19.2d, #0",
            "movi v20.2d, #0",
            "movi v21.2d, #0",
            "movi v22.2d, #0",
            "movi v23.2d, #0",
            "movi v24.2d, #0",
            "movi v25.2d, #0",
            "movi v26.2d, #0",
            "movi v27.2d, #0",
            "movi v28.2d, #0",
            "movi v29.2d, #0",
            "movi v30.2d, #0",
            "movi v31.2d, #0",
            clobber_abi("C"),
            options(nomem, nostack)
        );
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn wipe_registers() {}
