//! Queues: a stream each.

use super::api::{Address, Failure, POINTER_HOST, Stream};
use super::api::{POINTER_MEMORY_TYPE, POINTER_RANGE_SIZE, POINTER_RANGE_START};
use super::device::{Device, event_of, parts_of};
use super::gpu::Gpu;
use super::kernels::Row;
use super::launch::Packed;
use super::own::Own;
use super::ring::PIECE_BYTES;
use super::segment::Segment;
use super::timeline::{Timeline, Why};
use cloakwork_kernels::RawLaunch;
use std::ffi::{CStr, c_void};
use std::ops::Range;
use std::sync::Arc;

/// From so many bytes on it is worth asking whether memory of the host is pinned.
const WORTH_ASKING: usize = 64 << 10;

/// Memory that a queue's launches use one after another.
#[derive(Default)]
struct Grown {
    at: Address,
    bytes: u64,
}

impl Grown {
    /// At least so many bytes. The context is current.
    fn reach(&mut self, gpu: &Gpu, bytes: u64, stream: Stream) -> Result<Address, Failure> {
        if bytes > self.bytes {
            self.give_up(gpu, stream);
            self.at = gpu.allocate_in(bytes, stream)?;
            self.bytes = bytes;
        }
        Ok(self.at)
    }

    fn give_up(&mut self, gpu: &Gpu, stream: Stream) {
        if std::mem::take(&mut self.bytes) > 0 {
            gpu.free_in(self.at, stream);
        }
    }
}

/// An open queue.
pub struct Queue {
    device: Arc<Device>,
    timeline: Arc<Timeline>,
    number: u64,
    stream: Stream,
    scratch: Grown,
    words: Grown,
    /// The module and the name of the last kernel that was launched alone.
    last: Option<[&'static CStr; 2]>,
    /// Queues whose state the device may still read, until an own event.
    held: Vec<(u64, Arc<Timeline>)>,
}

impl Queue {
    /// # Errors
    /// The driver's.
    pub fn open(device: Arc<Device>) -> Result<Self, Failure> {
        let gpu = Arc::clone(&device.gpu);
        let _current = gpu.enter()?;
        let stream = gpu.stream()?;
        let slot = gpu.slots.take(gpu.api, stream);
        let slot = slot.inspect_err(|_| gpu.give_stream_back(stream))?;
        let timeline = Arc::new(Timeline::new(Arc::clone(&gpu), slot));
        let number = device.add(&timeline);
        Ok(Self {
            number,
            timeline,
            stream,
            scratch: Grown::default(),
            words: Grown::default(),
            last: None,
            held: Vec::new(),
            device,
        })
    }

    /// Gives the queue work, unless it has failed: then it does nothing. An error fails it.
    fn give(
        &mut self,
        work: impl FnOnce(&mut Self, &Gpu) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.timeline.has_failed() {
            return Ok(());
        }
        let gpu = Arc::clone(&self.device.gpu);
        let done = gpu.enter().and_then(|_current| work(self, &gpu));
        let done = done.map_err(|failure| self.behind(failure));
        done.inspect_err(|failure| self.timeline.fail(failure.clone().into()))
    }

    /// The failure; where it is of the context, with the kernel that may have broken it.
    fn behind(&self, mut failure: Failure) -> Failure {
        if let (Some(last), true) = (self.last, failure.breaks_context()) {
            let [module, name] = last.map(CStr::to_string_lossy);
            failure.words += &format!("; the last kernel of the queue was {name} of {module}");
        }
        failure
    }

    /// # Errors
    /// The driver's.
    ///
    /// # Safety
    /// As `device.h` says of `upload`.
    pub unsafe fn upload(
        &mut self,
        to: *mut c_void,
        from: *const c_void,
        bytes: u64,
    ) -> Result<(), Failure> {
        let (to, bytes) = (to as Address, bytes as usize);
        // SAFETY: the caller's promise.
        self.give(|own, gpu| unsafe { own.move_up(gpu, to, from.cast(), bytes) })
    }

    unsafe fn move_up(
        &mut self,
        gpu: &Gpu,
        to: Address,
        from: *const u8,
        bytes: usize,
    ) -> Result<(), Failure> {
        // A download may have to land there first.
        self.device.land_over(&range(from, bytes))?;
        let is_suspect = self.timeline.is_suspect();
        if !is_suspect && is_pinned(gpu, from, bytes) {
            // SAFETY: the caller's promise.
            return unsafe { gpu.api.upload(to, from.cast(), bytes, self.stream) };
        }
        for piece in pieces(bytes) {
            let place = |ring: &mut super::ring::Ring, gpu: &Gpu, failed: &dyn Fn(u64) -> bool| {
                let (place, at) = ring.place(gpu, piece.len(), failed)?;
                let to = to + piece.start as u64;
                // SAFETY: the place is the piece's own; the source has these bytes, and so has the
                // target. The device finds pinned memory at the host's address.
                unsafe {
                    std::ptr::copy_nonoverlapping(from.add(piece.start), at, piece.len());
                    match is_suspect {
                        true => {
                            let moved = ((to, at.cast()), piece.len() as u64);
                            let call = gpu.own.upload(gpu, &self.timeline.slot, moved);
                            gpu.call(call, self.stream)?;
                        }
                        false => gpu.api.upload(to, at.cast(), piece.len(), self.stream)?,
                    }
                    ring.note(gpu, self.stream, place, self.timeline.next(), None)
                }
            };
            self.timeline.land(place)?;
        }
        Ok(())
    }

    /// # Errors
    /// The driver's.
    ///
    /// # Safety
    /// As `device.h` says of `download`.
    pub unsafe fn download(
        &mut self,
        to: *mut c_void,
        from: *const c_void,
        bytes: u64,
    ) -> Result<(), Failure> {
        let (to, from, bytes): (*mut u8, _, _) = (to.cast(), from as Address, bytes as usize);
        self.give(|own, gpu| {
            // What lands there lands in order.
            own.device.land_over(&range(to, bytes))?;
            let is_direct = !own.timeline.is_suspect() && is_pinned(gpu, to, bytes);
            let next = own.timeline.next();
            if is_direct {
                // SAFETY: the caller's promise.
                return own.timeline.land(|ring, gpu, _| unsafe {
                    gpu.api.download(to.cast(), from, bytes, own.stream)?;
                    ring.note(gpu, own.stream, 0..0, next, Some((to, bytes)))
                });
            }
            pieces(bytes).try_for_each(|piece| {
                own.timeline.land(|ring, gpu, failed| {
                    let (place, at) = ring.place(gpu, piece.len(), failed)?;
                    let from = from + piece.start as u64;
                    // SAFETY: as above; the place is the piece's own.
                    unsafe {
                        gpu.api.download(at.cast(), from, piece.len(), own.stream)?;
                        let landing = Some((to.add(piece.start), piece.len()));
                        ring.note(gpu, own.stream, place, next, landing)
                    }
                })
            })
        })
    }

    /// Runs a launch, or a prepare into a block.
    ///
    /// # Errors
    /// The driver's.
    ///
    /// # Safety
    /// As `device.h` says of launches.
    pub unsafe fn launch(
        &mut self,
        row: &Row,
        launch: (&RawLaunch, u32),
        units: u64,
        block: Option<*mut c_void>,
    ) -> Result<(), Failure> {
        self.give(|own, gpu| {
            // SAFETY: the caller's promise.
            let mut packed = unsafe { Packed::of(gpu, row, launch, units, block) }?;
            if packed.is_nothing() {
                return Ok(());
            }
            let scratch = own.scratch.reach(gpu, packed.scratch_bytes, own.stream)?;
            let spilled = std::mem::take(&mut packed.spilled);
            let bytes = size_of_val(spilled.as_slice());
            let words = own.words.reach(gpu, bytes as u64, own.stream)?;
            if bytes > 0 {
                // SAFETY: the queue's own memory of so many bytes; earlier launches are done with
                // it when the stream is there.
                unsafe { own.move_up(gpu, words, spilled.as_ptr().cast(), bytes) }?;
            }
            packed.spilled = spilled;
            packed.bind(own.timeline.slot.state, words);
            own.last = packed.names();
            // SAFETY: the caller's promise.
            unsafe { packed.run(gpu, scratch, own.stream) }
        })
    }

    /// Runs a segment.
    ///
    /// # Errors
    /// The driver's.
    pub fn run(&mut self, segment: &Segment) -> Result<(), Failure> {
        self.give(|own, gpu| {
            own.last = None;
            if segment.checks() {
                let slot = own.timeline.slot;
                own.checks(gpu, |kernels, next| kernels.next(&slot, next))?;
            }
            segment.run(gpu, &own.timeline.slot, own.stream)
        })
    }

    /// Gives the queue a kernel of the driver's own, which gets the number of the next event. From
    /// here on the queue may have failed.
    fn checks(
        &self,
        gpu: &Gpu,
        call: impl FnOnce(&Own, u64) -> super::own::Call,
    ) -> Result<(), Failure> {
        let next = self.timeline.next();
        self.timeline.checks();
        // SAFETY: states stay while the queue is open, or are held by it; the status word is the
        // caller's promise.
        unsafe { gpu.call(call(&gpu.own, next), self.stream) }
    }

    /// # Errors
    /// The driver's.
    ///
    /// # Safety
    /// The address is one of a word of the device's memory.
    pub unsafe fn check(&mut self, status: *const c_void, check: u64) -> Result<(), Failure> {
        self.give(|own, gpu| {
            let slot = own.timeline.slot;
            own.checks(gpu, |kernels, next| {
                kernels.check(&slot, status.cast_mut(), check, next)
            })
        })
    }

    /// The number of an event behind all work of the queue. What a failed queue had got before is
    /// done when it happens, too.
    pub fn record(&mut self) -> u64 {
        let current = self.device.gpu.enter();
        let recorded = current.and_then(|_current| self.timeline.record(self.stream));
        let number = recorded.unwrap_or_else(|failure| {
            self.timeline.fail(self.behind(failure).into());
            self.timeline.record_nothing()
        });
        event_of(self.number, number)
    }

    /// Later work begins when an event of another queue has happened.
    ///
    /// # Errors
    /// The driver's.
    pub fn wait(&mut self, event: u64) -> Result<(), Failure> {
        let (queue, number) = parts_of(event);
        if queue == self.number {
            return Ok(());
        }
        let Some(other) = self.device.timeline(queue) else {
            self.fail_as(self.device.closed((queue, number)));
            return Ok(());
        };
        self.give(|own, gpu| {
            let waits = other.with_pending(number, |pending| {
                // SAFETY: the stream and the event are this context's.
                let waits = unsafe { gpu.api.wait_in_stream(own.stream, pending.event, 0) };
                waits.map(|()| pending.is_suspect)
            });
            let is_suspect = waits.transpose()?.unwrap_or(false);
            let known = other.failed_before(number);
            if known.is_none() && is_suspect {
                let (slot, others) = (own.timeline.slot, other.slot);
                own.checks(gpu, |kernels, next| {
                    kernels.inherit(&slot, &others, number, next)
                })?;
                own.held.push((own.timeline.next(), Arc::clone(&other)));
            }
            own.fail_as(known);
            Ok(())
        })
    }

    /// Fails as another queue did, if it did.
    fn fail_as(&self, why: Option<Why>) {
        if let Some(why) = why {
            self.timeline.fail(why);
        }
    }

    /// The calling thread waits for an event.
    ///
    /// # Errors
    /// Why the queue failed before it.
    pub fn finish(&mut self, event: u64) -> Result<(), Why> {
        let (_, number) = parts_of(event);
        let gpu = &self.device.gpu;
        let done = gpu.enter().and_then(|_current| {
            if let Some(pending) = self.timeline.pending(number) {
                // SAFETY: the event is this context's.
                unsafe { gpu.api.finish_event(pending.event) }?;
                self.timeline.happens(number);
            }
            self.device.land_done()
        });
        if let Err(failure) = done {
            let failure = self.behind(failure);
            self.timeline.fail_before(number, failure.into());
        }
        self.held.retain(|(until, _)| *until > number);
        match self.timeline.failed_before(number) {
            Some(why) => Err(why),
            None => Ok(()),
        }
    }

    /// Why the queue failed, if the host knows that it did.
    pub fn failure(&self) -> Option<Why> {
        self.timeline.first_failed().map(|(_, why)| why)
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let gpu = Arc::clone(&self.device.gpu);
        if let Ok(_current) = gpu.enter() {
            // SAFETY: the stream is this context's. Errors of work that nobody has waited for have
            // nobody to be told.
            let _ = unsafe { gpu.api.finish_stream(self.stream) };
            let _ = self
                .timeline
                .land(|ring, gpu, failed| ring.retire_all(gpu, failed));
            self.scratch.give_up(&gpu, self.stream);
            self.words.give_up(&gpu, self.stream);
            gpu.give_stream_back(self.stream);
        }
        self.device.remove(self.number);
    }
}

fn range(at: *const u8, bytes: usize) -> Range<usize> {
    at as usize..at as usize + bytes
}

/// Parts of a transfer.
fn pieces(bytes: usize) -> impl Iterator<Item = Range<usize>> {
    let starts = (0..bytes).step_by(PIECE_BYTES);
    starts.map(move |start| start..bytes.min(start + PIECE_BYTES))
}

/// Whether memory of the host is pinned, all of it: then the GPU reads and writes it itself.
fn is_pinned(gpu: &Gpu, at: *const u8, bytes: usize) -> bool {
    if bytes < WORTH_ASKING {
        return false;
    }
    let mut kind = 0u32;
    let (mut start, mut size) = (0u64, 0u64);
    let ask = |value: *mut c_void, attribute| {
        // SAFETY: the function writes a value of the attribute's size.
        unsafe { gpu.api.pointer_attribute(value, attribute, at as Address) }.is_ok()
    };
    ask((&raw mut kind).cast(), POINTER_MEMORY_TYPE)
        && kind == POINTER_HOST
        && ask((&raw mut start).cast(), POINTER_RANGE_START)
        && ask((&raw mut size).cast(), POINTER_RANGE_SIZE)
        && at as u64 + bytes as u64 <= start + size
}
