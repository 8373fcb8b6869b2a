//! Pinned memory of a queue, through which it moves what is pageable: bytes go in at one end and
//! are free again, in order, when the GPU is past them.
//!
//! An upload is copied here at once. A download arrives here, and *lands* in the caller's memory
//! when somebody waits for an event behind it, or needs the room.

use super::api::{self, Event, Failure};
use super::gpu::Gpu;
use super::state::RING_BYTES;
use std::collections::VecDeque;
use std::ops::Range;

/// The most that moves at a time: the host copies one piece while the GPU moves another.
pub const PIECE_BYTES: usize = 1 << 20;
const ALIGNED_BYTES: usize = 256;

/// Memory of the host that a download writes.
#[derive(Clone, Copy)]
struct Landing {
    to: *mut u8,
    bytes: usize,
    /// The GPU writes it itself.
    is_direct: bool,
}

/// A piece that the GPU may still be at.
struct Piece {
    place: Range<usize>,
    /// Happens when it is past.
    event: Event,
    /// The queue's next event when it was given.
    next: u64,
    landing: Option<Landing>,
}

/// The ring, and the pieces in it, the oldest first.
pub struct Ring {
    start: *mut u8,
    head: usize,
    /// The bytes that were ever used.
    used: usize,
    pieces: VecDeque<Piece>,
    /// The queue's next event when a piece was given that could not be waited for.
    lost: Option<u64>,
}

// SAFETY: addresses and handles; the lock around it decides who uses them.
unsafe impl Send for Ring {}

impl Default for Ring {
    fn default() -> Self {
        Self {
            start: std::ptr::null_mut(),
            head: 0,
            used: 0,
            pieces: VecDeque::new(),
            lost: None,
        }
    }
}

impl Ring {
    /// A place for a piece, once there is one. `failed` says whether the queue had failed before
    /// an event. The context is current.
    ///
    /// # Errors
    /// The driver's.
    pub fn place(
        &mut self,
        gpu: &Gpu,
        bytes: usize,
        failed: &dyn Fn(u64) -> bool,
    ) -> Result<(Range<usize>, *mut u8), Failure> {
        if self.start.is_null() {
            self.start = gpu.slots.take_ring(gpu.api)?;
        }
        let taken = bytes.next_multiple_of(ALIGNED_BYTES);
        loop {
            if let Some(at) = self.room(taken) {
                self.head = at + taken;
                self.used = self.used.max(self.head);
                return Ok((at..at + taken, self.start.wrapping_add(at)));
            }
            self.retire(gpu, failed)?;
        }
    }

    /// Where so many bytes in a row are free.
    fn room(&self, bytes: usize) -> Option<usize> {
        let mut places = self.pieces.iter().filter(|piece| !piece.place.is_empty());
        let Some(tail) = places.next().map(|piece| piece.place.start) else {
            return Some(0);
        };
        match self.head > tail {
            true if self.head + bytes <= RING_BYTES => Some(self.head),
            true => (bytes <= tail).then_some(0),
            // The head has met the tail, or is before it.
            false => (self.head < tail && self.head + bytes <= tail).then_some(self.head),
        }
    }

    /// Notes the piece that a stream has now got. The context is current.
    ///
    /// # Errors
    /// The driver's.
    ///
    /// # Safety
    /// A landing's memory has so many bytes until the queue is past it.
    pub unsafe fn note(
        &mut self,
        gpu: &Gpu,
        stream: api::Stream,
        place: Range<usize>,
        next: u64,
        landing: Option<(*mut u8, usize)>,
    ) -> Result<(), Failure> {
        let event = gpu.event()?;
        let is_direct = place.is_empty();
        self.pieces.push_back(Piece {
            place,
            event,
            next,
            landing: landing.map(|(to, bytes)| Landing {
                to,
                bytes,
                is_direct,
            }),
        });
        // SAFETY: the stream and the event are this context's.
        unsafe { gpu.api.record_event(event, stream) }
    }

    /// Waits until the GPU is past the oldest piece, and lands it. The context is current.
    ///
    /// # Errors
    /// The driver's: then the piece does not land.
    fn retire(&mut self, gpu: &Gpu, failed: &dyn Fn(u64) -> bool) -> Result<(), Failure> {
        let Some(piece) = self.pieces.pop_front() else {
            return Ok(());
        };
        // SAFETY: the event is this context's.
        let done = unsafe { gpu.api.finish_event(piece.event) };
        gpu.give_event_back(piece.event);
        if done.is_err() {
            self.lost.get_or_insert(piece.next);
        }
        done?;
        if let Some(landing) = piece.landing.filter(|landing| !landing.is_direct)
            && !failed(piece.next)
        {
            let from = self.start.wrapping_add(piece.place.start);
            // SAFETY: the ring's own bytes, which the GPU has written; whoever gave the landing
            // keeps its memory until the queue is past it, which nobody knows before.
            unsafe { std::ptr::copy_nonoverlapping(from, landing.to, landing.bytes) };
        }
        Ok(())
    }

    /// The queue's next event when a piece was given that was lost since the last time.
    pub fn take_lost(&mut self) -> Option<u64> {
        self.lost.take()
    }

    /// Lands what the GPU is past. The context is current.
    ///
    /// # Errors
    /// The driver's.
    pub fn retire_done(&mut self, gpu: &Gpu, failed: &dyn Fn(u64) -> bool) -> Result<(), Failure> {
        while let Some(piece) = self.pieces.front() {
            // SAFETY: the event is this context's.
            match unsafe { gpu.api.query_event(piece.event) } {
                Err(failure) if failure.code == api::code::NOT_READY => return Ok(()),
                _ => self.retire(gpu, failed)?,
            }
        }
        Ok(())
    }

    /// Waits for everything, and lands it. The context is current.
    ///
    /// # Errors
    /// The driver's.
    pub fn retire_all(&mut self, gpu: &Gpu, failed: &dyn Fn(u64) -> bool) -> Result<(), Failure> {
        while !self.pieces.is_empty() {
            self.retire(gpu, failed)?;
        }
        Ok(())
    }

    /// Waits for what lands in these bytes of the host, and lands it. The context is current.
    ///
    /// # Errors
    /// The driver's.
    pub fn retire_over(
        &mut self,
        gpu: &Gpu,
        host: &Range<usize>,
        failed: &dyn Fn(u64) -> bool,
    ) -> Result<(), Failure> {
        let over = |piece: &Piece| {
            piece.landing.is_some_and(|landing| {
                let start = landing.to as usize;
                start < host.end && host.start < start + landing.bytes
            })
        };
        let Some(last) = self.pieces.iter().rposition(over) else {
            return Ok(());
        };
        (0..=last).try_for_each(|_| self.retire(gpu, failed))
    }

    /// Gives up its memory and events. The GPU is past everything; the context is current.
    pub fn close(&mut self, gpu: &Gpu) {
        let pieces = self.pieces.drain(..);
        pieces.for_each(|piece| gpu.give_event_back(piece.event));
        if !self.start.is_null() {
            gpu.slots.give_ring_back(self.start, self.used);
            self.start = std::ptr::null_mut();
        }
    }
}
