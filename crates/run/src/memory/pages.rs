//! Huge pages of the system, and those that wait for reuse.
//!
//! Fresh pages cost more than most kernels: the system zeroes them, and looks for 2 MiB that lie
//! together. So released pages wait, neighbours are joined, and a block takes the front of the
//! smallest range that has room for it.

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::collections::BTreeMap;
use std::ptr::{NonNull, null_mut};

pub(crate) const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Whole huge pages that lie together; dropping returns them to the system.
#[derive(Debug)]
pub(crate) struct Pages {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: pages are plain memory with one owner.
unsafe impl Send for Pages {}

impl Pages {
    /// Pages of zeros for this many bytes; `None` if the system has no more.
    pub fn map(bytes: usize) -> Option<Self> {
        let len = round(bytes)?;
        let reserved = len.checked_add(HUGE_PAGE_BYTES)?;
        // SAFETY: a new mapping, wherever the system wants.
        let base = unsafe {
            let access = ProtFlags::READ | ProtFlags::WRITE;
            mmap_anonymous(null_mut(), reserved, access, MapFlags::PRIVATE)
        };
        let base = base.ok()?.cast::<u8>();
        let before = base.align_offset(HUGE_PAGE_BYTES);
        let start = NonNull::new(base.wrapping_add(before))?;
        let after = HUGE_PAGE_BYTES - before;
        unmap(base, before);
        unmap(start.as_ptr().wrapping_add(len), after);
        let pages = Self { start, len };
        pages.advise();
        Some(pages)
    }

    /// A hint: without huge pages the result is the same, but slower.
    fn advise(&self) {
        #[cfg(target_os = "linux")]
        // SAFETY: the own mapping; the advice changes no contents.
        let _ = unsafe {
            let advice = rustix::mm::Advice::LinuxHugepage;
            rustix::mm::madvise(self.start.as_ptr().cast(), self.len, advice)
        };
    }

    pub const fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// The pages from this byte on, a multiple of a page, become another range.
    fn split_off(&mut self, at: usize) -> Self {
        debug_assert!(at < self.len && at.is_multiple_of(HUGE_PAGE_BYTES));
        // SAFETY: inside of the range.
        let start = unsafe { self.start.add(at) };
        let len = self.len - at;
        self.len = at;
        Self { start, len }
    }

    fn end(&self) -> usize {
        self.start.as_ptr() as usize + self.len
    }

    /// Adds a range that begins where this one ends.
    fn join(&mut self, next: Self) {
        debug_assert_eq!(self.end(), next.start.as_ptr() as usize);
        self.len += next.len;
        std::mem::forget(next);
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        unmap(self.start.as_ptr(), self.len);
    }
}

fn round(bytes: usize) -> Option<usize> {
    bytes.max(1).checked_next_multiple_of(HUGE_PAGE_BYTES)
}

fn unmap(start: *mut u8, bytes: usize) {
    if bytes > 0 {
        // SAFETY: the caller owns these pages of a mapping, and nobody has a pointer to them. The
        // system splits mappings; should it fail to, the pages stay.
        let _ = unsafe { munmap(start.cast(), bytes) };
    }
}

/// Released pages, by address.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// With the time of the last release.
    ranges: BTreeMap<usize, (Pages, u64)>,
    bytes: usize,
    clock: u64,
}

impl Waiting {
    pub const fn new() -> Self {
        Self {
            ranges: BTreeMap::new(),
            bytes: 0,
            clock: 0,
        }
    }

    /// All pages that wait.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Pages for this many bytes, from the smallest range with room for them, of several the one
    /// released last: its contents may still be in a cache.
    pub fn take(&mut self, bytes: usize) -> Option<Pages> {
        let len = round(bytes)?;
        let fitting = self
            .ranges
            .iter()
            .filter(|(_, (pages, _))| pages.len >= len);
        let best = fitting.min_by_key(|(_, (pages, time))| (pages.len, u64::MAX - time));
        let at = *best?.0;
        let (mut pages, time) = self.ranges.remove(&at)?;
        if pages.len > len {
            let rest = pages.split_off(len);
            self.ranges
                .insert(rest.start.as_ptr() as usize, (rest, time));
        }
        self.bytes -= len;
        Some(pages)
    }

    /// Keeps pages. Of more than `most` bytes the ones released longest ago are returned, for the
    /// caller to drop when no other thread waits for it.
    pub fn keep(&mut self, pages: Pages, most: usize) -> Vec<Pages> {
        self.clock += 1;
        self.bytes += pages.len;
        self.insert(pages);
        let mut dropped = Vec::new();
        while self.bytes > most {
            let oldest = self.ranges.iter().min_by_key(|(_, (_, time))| *time);
            let Some(at) = oldest.map(|(&at, _)| at) else {
                break;
            };
            let Some((mut pages, time)) = self.ranges.remove(&at) else {
                break;
            };
            let excess = (self.bytes - most).next_multiple_of(HUGE_PAGE_BYTES);
            let out = match pages.len.checked_sub(excess) {
                None | Some(0) => pages,
                Some(kept) => {
                    let out = pages.split_off(kept);
                    self.ranges.insert(at, (pages, time));
                    out
                }
            };
            self.bytes -= out.len;
            dropped.push(out);
        }
        dropped
    }

    /// Joined with its neighbours.
    fn insert(&mut self, mut pages: Pages) {
        if let Some((next, _)) = self.ranges.remove(&pages.end()) {
            pages.join(next);
        }
        let start = pages.start.as_ptr() as usize;
        let before = self.ranges.range_mut(..start).next_back();
        match before {
            Some((_, (before, time))) if before.end() == start => {
                before.join(pages);
                *time = self.clock;
            }
            _ => {
                self.ranges.insert(start, (pages, self.clock));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = HUGE_PAGE_BYTES;

    fn fill(pages: &Pages, value: u8) {
        // SAFETY: the test's own pages.
        unsafe { pages.start.write_bytes(value, pages.len) };
    }

    fn holds(pages: &Pages, value: u8) -> bool {
        // SAFETY: as above; `fill` wrote them.
        let bytes = unsafe { std::slice::from_raw_parts(pages.start.as_ptr(), pages.len) };
        bytes.iter().all(|&byte| byte == value)
    }

    #[test]
    fn pages_are_aligned_zeros() {
        for bytes in [0, 1, PAGE - 1, PAGE, PAGE + 1, 5 * PAGE] {
            let pages = Pages::map(bytes).unwrap();
            assert_eq!(pages.start.as_ptr() as usize % PAGE, 0);
            assert_eq!(pages.len, bytes.max(1).next_multiple_of(PAGE));
            assert!(holds(&pages, 0));
        }
        assert!(Pages::map(usize::MAX).is_none());
        assert!(Pages::map(1 << 60).is_none());
    }

    #[test]
    fn the_smallest_range_with_room_is_taken_and_its_rest_waits() {
        let mut waiting = Waiting::new();
        assert!(waiting.take(1).is_none());
        // Pages in between that are in use, so that ranges do not join.
        let mut all = Pages::map(20 * PAGE).unwrap();
        let mut parts = Vec::new();
        for at in [17, 12, 11, 8, 7] {
            parts.push(all.split_off(at * PAGE));
        }
        // Parts of 3, 5, 1, 3, 1 and 7 pages; the second, fourth and last wait.
        let (five, three) = (parts.remove(1), parts.remove(2));
        let places = [&five, &three, &all].map(|pages| pages.start);
        for pages in [five, three, all] {
            assert!(waiting.keep(pages, 100 * PAGE).is_empty());
        }
        assert_eq!(waiting.bytes(), 15 * PAGE);
        let two = waiting.take(2 * PAGE).unwrap();
        assert_eq!((two.start, two.len), (places[1], 2 * PAGE));
        let four = waiting.take(3 * PAGE + 1).unwrap();
        assert_eq!((four.start, four.len), (places[0], 4 * PAGE));
        assert!(waiting.take(8 * PAGE).is_none());
        let all = waiting.take(7 * PAGE).unwrap();
        assert_eq!((all.start, all.len), (places[2], 7 * PAGE));
        assert_eq!(waiting.bytes(), 2 * PAGE);
    }

    #[test]
    fn released_neighbours_are_one_range_again() {
        let mut whole = Pages::map(9 * PAGE).unwrap();
        let start = whole.start;
        let mut parts = vec![whole.split_off(6 * PAGE), whole.split_off(3 * PAGE), whole];
        for order in [
            [0, 1, 2],
            [2, 1, 0],
            [1, 0, 2],
            [0, 2, 1],
            [2, 0, 1],
            [1, 2, 0],
        ] {
            let mut waiting = Waiting::new();
            parts.sort_by_key(|pages| order[pages.end() / (3 * PAGE) % 3]);
            for pages in parts.drain(..) {
                waiting.keep(pages, 9 * PAGE);
            }
            assert_eq!(waiting.ranges.len(), 1);
            let mut whole = waiting.take(9 * PAGE).unwrap();
            assert_eq!((whole.start, waiting.bytes()), (start, 0));
            parts = vec![whole.split_off(6 * PAGE), whole.split_off(3 * PAGE), whole];
        }
    }

    #[test]
    fn the_oldest_leave_beyond_the_limit() {
        let mut waiting = Waiting::new();
        let mut all = Pages::map(11 * PAGE).unwrap();
        let last = all.split_off(8 * PAGE);
        let _between = all.split_off(7 * PAGE);
        let second = all.split_off(4 * PAGE);
        let _too = all.split_off(3 * PAGE);
        let places = [&all, &second, &last].map(|pages| pages.start);
        assert!(waiting.keep(second, 6 * PAGE).is_empty());
        assert!(waiting.keep(all, 6 * PAGE).is_empty());
        // One page more than fits: a page of the range that waits longest.
        let dropped = waiting.keep(last, 8 * PAGE);
        assert_eq!(dropped.iter().map(|pages| pages.len).sum::<usize>(), PAGE);
        assert!(places[1] < dropped[0].start && dropped[0].start < places[2]);
        drop(dropped);
        assert_eq!(waiting.bytes(), 8 * PAGE);
        // A range that is larger than the limit leaves nothing else, and not all of itself.
        let large = Pages::map(6 * PAGE).unwrap();
        let dropped = waiting.keep(large, 5 * PAGE);
        assert_eq!(
            dropped.iter().map(|pages| pages.len).sum::<usize>(),
            9 * PAGE
        );
        assert_eq!(waiting.bytes(), 5 * PAGE);
    }

    /// Random takes and releases: pages in use keep what was written to them.
    #[test]
    fn no_page_has_two_owners() {
        let mut waiting = Waiting::new();
        let mut used: Vec<(Pages, u8)> = Vec::new();
        let mut state = 7u64;
        let mut draw = |most: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as usize % most
        };
        for step in 0..400u32 {
            if used.len() > 8 || (draw(2) == 0 && !used.is_empty()) {
                let (pages, value) = used.swap_remove(draw(used.len()));
                assert!(holds(&pages, value));
                waiting.keep(pages, 12 * PAGE);
            } else {
                let bytes = draw(4 * PAGE) + 1;
                let pages = waiting.take(bytes).or_else(|| Pages::map(bytes)).unwrap();
                let value = (step % 251) as u8;
                fill(&pages, value);
                used.push((pages, value));
            }
            let sum: usize = waiting.ranges.values().map(|(pages, _)| pages.len).sum();
            assert_eq!(sum, waiting.bytes());
            assert!(sum <= 12 * PAGE);
        }
    }
}
