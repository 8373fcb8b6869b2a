//! The state of a queue, which kernels read and write, and memory that the host shares with GPUs.
//!
//! A queue fails on the device, and the host does not wait for that: the check that fails writes
//! the *state*, and every kernel of the queue looks at its first word before it does anything. It
//! writes a *mirror* in pinned memory, too, which the host reads once an event has happened.

use super::api::{Address, Api, Failure, HOST_SHARED, Stream};
use cloakwork_process::Mutex;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};
use zeroize::Zeroize;

/// `cw_cuda_state` of `cuda/driver/queue.cu`: four words.
#[repr(C)]
pub struct State {
    /// The first event of the queue that is behind its failure; 0: it has not failed.
    pub failed: AtomicU64,
    /// The check that failed, and its status word.
    pub check: AtomicU64,
    pub status: AtomicU64,
    /// The queue's next event, for the checks of segments.
    pub next: AtomicU64,
}

const STATE_BYTES: usize = size_of::<State>();
/// How many queues may be open at a time on one GPU.
const MOST_QUEUES: u32 = 1024;
/// Bytes of the pinned memory through which a queue moves what is pageable.
pub const RING_BYTES: usize = 4 << 20;

/// Pinned memory that no queue uses now.
struct Ring(*mut u8);

// SAFETY: an address that one queue at a time owns.
unsafe impl Send for Ring {}

/// States and pinned memory of a GPU, for as many queues as are open.
pub struct Slots {
    states: Address,
    mirrors: *mut State,
    /// The one that was free longest is taken first.
    free: Mutex<VecDeque<u32>>,
    rings: Mutex<Vec<Ring>>,
}

/// A queue's own state.
#[derive(Clone, Copy)]
pub struct Slot {
    index: u32,
    /// On the device.
    pub state: Address,
    /// In pinned memory.
    mirror: *const State,
}

// SAFETY: addresses of memory that stays for the process, whose words are atomic.
unsafe impl Send for Slot {}
// SAFETY: as above.
unsafe impl Sync for Slot {}

impl Slot {
    /// The state as the host sees it.
    pub fn mirror(&self) -> &State {
        // SAFETY: pinned memory that stays for the process.
        unsafe { &*self.mirror }
    }

    /// The address of the mirror, the same on the device.
    pub fn mirror_address(&self) -> *mut c_void {
        self.mirror.cast_mut().cast()
    }
}

impl Slots {
    /// The context is current.
    ///
    /// # Errors
    /// The driver's.
    pub fn new(api: &Api, service: Stream) -> Result<Self, Failure> {
        let bytes = STATE_BYTES * MOST_QUEUES as usize;
        let (mut states, mut mirrors) = (0, null_mut());
        // SAFETY: the functions write addresses; the fresh memory has so many bytes.
        unsafe {
            api.allocate(&raw mut states, bytes)?;
            api.fill(states, 0, bytes, service)?;
            api.finish_stream(service)?;
            api.allocate_host(&raw mut mirrors, bytes, HOST_SHARED)?;
            mirrors.cast::<u8>().write_bytes(0, bytes);
        }
        Ok(Self {
            states,
            mirrors: mirrors.cast(),
            free: Mutex::new((0..MOST_QUEUES).collect()),
            rings: Mutex::default(),
        })
    }

    /// A state for a queue of a new stream. The context is current.
    ///
    /// # Errors
    /// Too many queues are open; the driver's.
    pub fn take(&self, api: &Api, stream: Stream) -> Result<Slot, Failure> {
        let index = self.free.lock().pop_front().ok_or_else(|| Failure {
            code: -1,
            words: format!("{MOST_QUEUES} queues are open: close others first"),
        })?;
        let slot = Slot {
            index,
            state: self.states + STATE_BYTES as u64 * u64::from(index),
            mirror: self.mirrors.wrapping_add(index as usize),
        };
        let mirror = slot.mirror();
        for word in [&mirror.failed, &mirror.check, &mirror.status, &mirror.next] {
            word.store(0, Ordering::Relaxed);
        }
        // SAFETY: the state's own bytes; nothing else has used them since their queue was closed.
        let cleared = unsafe { api.fill(slot.state, 0, STATE_BYTES, stream) };
        if cleared.is_err() {
            self.give_back(slot);
        }
        cleared.map(|()| slot)
    }

    pub fn give_back(&self, slot: Slot) {
        self.free.lock().push_back(slot.index);
    }

    /// Pinned memory of [`RING_BYTES`]. The context is current.
    ///
    /// # Errors
    /// The driver's.
    pub fn take_ring(&self, api: &Api) -> Result<*mut u8, Failure> {
        if let Some(Ring(start)) = self.rings.lock().pop() {
            return Ok(start);
        }
        let mut start = null_mut();
        // SAFETY: the function writes the address.
        unsafe { api.allocate_host(&raw mut start, RING_BYTES, HOST_SHARED) }?;
        Ok(start.cast())
    }

    /// Takes pinned memory back, of which so many bytes were used. They may have been secret.
    pub fn give_ring_back(&self, start: *mut u8, used: usize) {
        // SAFETY: the queue's own memory until now.
        unsafe { std::slice::from_raw_parts_mut(start, used.min(RING_BYTES)) }.zeroize();
        self.rings.lock().push(Ring(start));
    }
}
