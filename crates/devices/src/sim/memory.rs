//! Memory behind addresses that the host cannot follow.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::NonNull;
use zeroize::Zeroize;

/// The first address: on no processor a pointer may look like this.
const FIRST: usize = 1 << 55;
/// From one allocation to the next: offsets never lead from one into another.
const WINDOW: usize = 1 << 40;
/// How many allocations there are room for; numbers are not given twice.
const MOST: usize = 1 << 14;
const LINE_BYTES: usize = 64;

/// Bytes of one allocation.
struct Room {
    start: NonNull<u8>,
    layout: Layout,
    bytes: usize,
}

// SAFETY: plain memory that the room owns; queues decide who writes when.
unsafe impl Send for Room {}

impl Drop for Room {
    fn drop(&mut self) {
        // SAFETY: the room's own bytes, all of which were zeroed when it was made.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }.zeroize();
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

/// All of a device's allocations, by address.
#[derive(Default)]
pub struct Memory {
    rooms: BTreeMap<usize, Room>,
    made: usize,
}

impl Memory {
    /// The address of so many zeros; none if there is no room.
    pub fn allocate(&mut self, bytes: u64) -> Option<usize> {
        let bytes = usize::try_from(bytes)
            .ok()
            .filter(|&bytes| bytes < WINDOW)?;
        let layout = Layout::from_size_align(bytes.max(1), LINE_BYTES).ok()?;
        // SAFETY: the layout has a size above zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let room = Room {
            start,
            layout,
            bytes,
        };
        let free = (0..MOST).map(|i| FIRST + (self.made + i) % MOST * WINDOW);
        let at = free.into_iter().find(|at| !self.rooms.contains_key(at))?;
        self.made += 1;
        self.rooms.insert(at, room);
        Some(at)
    }

    pub fn release(&mut self, at: usize) {
        self.rooms.remove(&at);
    }

    /// The address of the allocation that an address is in.
    pub fn room(&self, at: *mut c_void) -> Option<usize> {
        let room = self.rooms.range(..=at as usize).next_back();
        room.map(|(&first, _)| first)
    }

    /// Where the bytes of an address are, of which so many must be there; null stays null.
    pub fn find(&self, at: *mut c_void, bytes: u64) -> Result<*mut c_void, String> {
        if at.is_null() {
            return Ok(at);
        }
        let address = at as usize;
        let room = self.rooms.range(..=address).next_back();
        let inside = room.and_then(|(&first, room)| {
            let offset = address - first;
            let end = offset.checked_add(usize::try_from(bytes).ok()?)?;
            (end <= room.bytes).then(|| room.start.as_ptr().wrapping_add(offset))
        });
        inside
            .map(<*mut u8>::cast)
            .ok_or_else(|| format!("{bytes} bytes at {address:#x} are not memory of the device"))
    }
}
