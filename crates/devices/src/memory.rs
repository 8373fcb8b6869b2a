//! Memory of this process behind addresses that the host cannot follow: for drivers that simulate
//! a device, or whose work another language does.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use zeroize::Zeroize;

/// The first address: on no processor a pointer may look like this.
const FIRST: usize = 1 << 55;
/// From one allocation to the next: offsets never lead from one into another.
const WINDOW: usize = 1 << 40;
/// How many allocations there are room for; numbers are not given twice.
const MOST: usize = 1 << 14;
const LINE_BYTES: usize = 64;

/// Bytes of one allocation. They are wiped when nobody holds them any more.
#[derive(Debug)]
pub struct Room {
    start: NonNull<u8>,
    layout: Layout,
    bytes: usize,
}

// SAFETY: plain memory that the room owns; queues decide who writes when.
unsafe impl Send for Room {}
// SAFETY: as above: it gives no access but by raw pointers.
unsafe impl Sync for Room {}

impl Room {
    /// Zeros; `None` without memory for them.
    fn new(bytes: usize) -> Option<Self> {
        let layout = Layout::from_size_align(bytes.max(1), LINE_BYTES).ok()?;
        // SAFETY: the layout has a size above zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Self {
            start,
            layout,
            bytes,
        })
    }

    /// Its first byte.
    #[must_use]
    pub fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// How many bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // SAFETY: the room's own bytes, all of which were zeroed when it was made.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }.zeroize();
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

/// All of a device's allocations, by address.
#[derive(Debug, Default)]
pub struct Memory {
    rooms: BTreeMap<usize, Arc<Room>>,
    made: usize,
}

impl Memory {
    /// The address of so many zeros; none if there is no room.
    pub fn allocate(&mut self, bytes: u64) -> Option<usize> {
        let bytes = usize::try_from(bytes)
            .ok()
            .filter(|&bytes| bytes < WINDOW)?;
        let room = Arc::new(Room::new(bytes)?);
        let free = (0..MOST).map(|i| FIRST + (self.made + i) % MOST * WINDOW);
        let at = free.into_iter().find(|at| !self.rooms.contains_key(at))?;
        self.made += 1;
        self.rooms.insert(at, room);
        Some(at)
    }

    /// Gives an allocation back.
    pub fn release(&mut self, at: usize) {
        self.rooms.remove(&at);
    }

    /// The address of the allocation that an address is in.
    pub fn room(&self, at: *mut c_void) -> Option<usize> {
        let room = self.rooms.range(..=at as usize).next_back();
        room.map(|(&first, _)| first)
    }

    /// The allocation that an address is in, of which so many bytes must be there, and its offset.
    ///
    /// # Errors
    /// The bytes are not memory of the device.
    pub fn held(&self, at: *mut c_void, bytes: u64) -> Result<(&Arc<Room>, usize), String> {
        let address = at as usize;
        let room = self.rooms.range(..=address).next_back();
        let inside = room.and_then(|(&first, room)| {
            let offset = address - first;
            let end = offset.checked_add(usize::try_from(bytes).ok()?)?;
            (end <= room.bytes).then_some((room, offset))
        });
        inside.ok_or_else(|| format!("{bytes} bytes at {address:#x} are not memory of the device"))
    }

    /// Where the bytes of an address are, of which so many must be there; null stays null.
    ///
    /// # Errors
    /// As [`Memory::held`].
    pub fn find(&self, at: *mut c_void, bytes: u64) -> Result<*mut c_void, String> {
        if at.is_null() {
            return Ok(at);
        }
        let (room, offset) = self.held(at, bytes)?;
        Ok(room.start().wrapping_add(offset).cast())
    }
}
