//! An open device of another process: calls as messages, transfers through memory of both.
//!
//! Most calls are sent and not answered: an error in one makes its queue fail there, and the next
//! `finish` says so, as `device.h` has it.

use super::call::{Board, Call, NONE, Place};
use super::channel::{Broken, Channel};
use super::is_careful;
use super::library::{Library, Server, lost};
use super::process::{Death, Process, lock};
use super::staging::{Spot, Staging};
use super::wire::{Damaged, Reader, Writer};
use crate::abi::{DEVICE_LOST, FailedCheck};
use crate::place;
use std::collections::{HashMap, VecDeque};
use std::ffi::c_void;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The number of calls of a device whose process is gone. `Lost` says more.
pub const LOST: i32 = i32::MIN;
/// Launches are sent at the latest when there are so many bytes of them.
const OUTBOX_BYTES: usize = 8 << 10;
/// Events are numbers of a queue and of calls so far.
const EVENT_BITS: u32 = 44;
const EVENT_MASK: u64 = (1 << EVENT_BITS) - 1;

/// Why a device does nothing any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// How its process ended, and in which call.
    pub words: String,
    /// The step of the run that the call was for.
    pub step: Option<u32>,
    /// Whether nobody knows which work of the device it was: [`super::carefully`] finds out.
    pub is_vague: bool,
}

/// Sees while this thread waits that the process lives, that its call is not too long, and that
/// the run is to go on.
pub struct Watch<'a> {
    process: &'a Process,
    board: &'a Board,
    limit: Option<Duration>,
    symbols: &'a [String],
    begun: u64,
    since: Instant,
}

impl<'a> Watch<'a> {
    pub fn new(
        process: &'a Process,
        board: &'a Board,
        limit: Option<Duration>,
        symbols: &'a [String],
    ) -> Self {
        Self {
            process,
            board,
            limit,
            symbols,
            begun: board.begun(),
            since: Instant::now(),
        }
    }

    pub fn goes_on(&mut self) -> bool {
        if !self.process.is_alive() {
            return false;
        }
        if !place::goes_on() {
            self.process.interrupt();
            return false;
        }
        let begun = self.board.begun();
        if begun != self.begun {
            (self.begun, self.since) = (begun, Instant::now());
        }
        let late = self.limit.filter(|limit| self.since.elapsed() > *limit);
        if let Some(limit) = late {
            let place = self.board.now().or_else(|| self.board.last());
            let call = place.map_or_else(|| "it".to_owned(), |at| at.named(self.symbols));
            let seconds = limit.as_secs_f64();
            self.process.kill(|| {
                format!("{call} did not return within {seconds} s, and its process was ended")
            });
        }
        late.is_none()
    }
}

/// A command that a queue was given and may not have completed yet.
enum Pending {
    Upload(Spot),
    Download(Spot, *mut c_void),
    /// A wait for an event of another queue.
    Wait(u32, u64),
}

/// The link between two processes for one device.
struct Link {
    channel: Channel,
    board: Arc<Board>,
    writer: Writer,
    /// Launches that were not sent yet: they go together, at the latest with the next other call.
    outbox: Vec<u8>,
    staging: Staging,
    /// By queue, in order: the number of calls before it.
    pending: HashMap<u32, VecDeque<(u64, Pending)>>,
    /// Calls so far.
    calls: u64,
    /// Queues and segments so far.
    numbers: u32,
    /// The words of the last error.
    words: String,
    lost: Option<Lost>,
}

// SAFETY: the addresses of downloads are the caller's, who keeps them good until their queue is
// past them; one thread at a time has the link.
unsafe impl Send for Link {}

/// An open device.
pub struct Device {
    library: &'static Library,
    server: Arc<Server>,
    link: Mutex<Link>,
}

/// The code of a call that failed.
pub type Code = i32;

impl Device {
    /// Opens a device of a library.
    pub fn open(library: &'static Library, index: u32) -> Result<Self, (Code, String)> {
        let failed = |words: String| (LOST, words);
        library.take_fault().map_or(Ok(()), Err).map_err(failed)?;
        let server = match is_careful() {
            // Another run's fault would be taken for one of this.
            true => library.new_server(true),
            false => library.server(),
        };
        let server = server.map_err(failed)?;
        let system = |error: std::io::Error| failed(error.to_string());
        let (channel, other) = Channel::pair().map_err(system)?;
        let (board, fd) = Board::new().map_err(system)?;
        let board = Arc::new(board);
        server.process.add_board(&board);
        let limit = (library.limit(), &library.symbols[..]);
        let connected = server.connect(other.as_fd(), fd.as_fd(), limit);
        connected.map_err(failed)?;
        let device = Self {
            library,
            server,
            link: Mutex::new(Link {
                channel,
                board,
                writer: Writer::default(),
                outbox: Vec::new(),
                staging: Staging::default(),
                pending: HashMap::new(),
                calls: 0,
                numbers: 0,
                words: String::new(),
                lost: None,
            }),
        };
        let opened = device.ask(Call::Open, &|writer| {
            writer.u32(index);
        });
        match opened {
            Ok(()) => Ok(device),
            Err(code) => Err((code, device.words())),
        }
    }

    /// Why it does nothing any more.
    pub fn lost(&self) -> Option<Lost> {
        lock(&self.link).lost.clone()
    }

    /// The words of the last error.
    pub fn words(&self) -> String {
        let link = lock(&self.link);
        let lost = link.lost.as_ref().map(|lost| &lost.words);
        lost.unwrap_or(&link.words).clone()
    }

    fn ask(&self, call: Call, write: &dyn Fn(&mut Writer)) -> Result<(), Code> {
        self.ask_for(call, write, &mut |_| Ok(()))
    }

    /// Asks and waits for the answer.
    pub fn ask_for<T>(
        &self,
        call: Call,
        write: &dyn Fn(&mut Writer),
        read: &mut dyn FnMut(&mut Reader) -> Result<T, Damaged>,
    ) -> Result<T, Code> {
        let link = &mut *lock(&self.link);
        self.post(link, call, None, write)?;
        self.answer(link, read)
    }

    /// Sends a call that is not answered.
    pub fn send(&self, call: Call, write: &dyn Fn(&mut Writer)) -> Result<(), Code> {
        self.post(&mut lock(&self.link), call, None, write)
    }

    fn post(
        &self,
        link: &mut Link,
        call: Call,
        beside: Option<BorrowedFd<'_>>,
        write: &dyn Fn(&mut Writer),
    ) -> Result<(), Code> {
        if link.lost.is_some() {
            return Err(LOST);
        }
        link.calls += 1;
        write(link.writer.begin(call as u32).u32(place::step()));
        let Link {
            channel,
            board,
            writer,
            outbox,
            ..
        } = link;
        let sent = match writer.end() {
            None => Err(Broken::System(std::io::ErrorKind::FileTooLarge.into())),
            Some(message) => {
                outbox.extend_from_slice(message);
                let goes_later = matches!(call, Call::Launch | Call::Prepare | Call::Check);
                if goes_later && outbox.len() < OUTBOX_BYTES {
                    return Ok(());
                }
                let mut watch = self.watch(board);
                channel.send(outbox, beside, &mut || watch.goes_on())
            }
        };
        outbox.clear();
        sent.map_err(|broken| self.lose(link, &broken))
    }

    fn watch<'a>(&'a self, board: &'a Board) -> Watch<'a> {
        let (library, process) = (self.library, &self.server.process);
        Watch::new(process, board, library.limit(), &library.symbols)
    }

    /// The answer to what was asked: an error's code and words, or what is read.
    fn answer<T>(
        &self,
        link: &mut Link,
        read: &mut dyn FnMut(&mut Reader) -> Result<T, Damaged>,
    ) -> Result<T, Code> {
        let Link { channel, board, .. } = link;
        let mut watch = self.watch(board);
        let received = channel.receive(&mut || watch.goes_on());
        let answer = received.and_then(|message| {
            let mut reader = Reader::new(message);
            Ok(match reader.i32()? {
                0 => Ok(read(&mut reader)?),
                code => Err((code, reader.text()?, Place::read(&mut reader)?)),
            })
        });
        match answer {
            Ok(Ok(value)) => Ok(value),
            Ok(Err((DEVICE_LOST, words, place))) => Err(self.let_go(link, words, place)),
            Ok(Err((code, words, _))) => {
                link.words = words;
                Err(code)
            }
            Err(broken) => Err(self.lose(link, &broken)),
        }
    }

    /// The process can do nothing more with the device, and ends.
    fn let_go(&self, link: &mut Link, mut words: String, place: Option<Place>) -> Code {
        if let Some(place) = place {
            words = format!("{words}, in {}", place.named(&self.library.symbols));
        }
        self.server.process.lose(&words);
        let is_vague = place.is_none();
        self.lose_as(
            link,
            Death {
                words,
                place,
                is_vague,
            },
        )
    }

    fn lose(&self, link: &mut Link, broken: &Broken) -> Code {
        let symbols = &self.library.symbols;
        let death = lost(broken, &self.server.process, &link.board, symbols);
        self.lose_as(link, death)
    }

    fn lose_as(&self, link: &mut Link, death: Death) -> Code {
        let is_vague = death.is_vague && !self.server.is_careful;
        let place = death.place.filter(|_| !is_vague);
        let step = place.map(|place| place.step);
        link.lost = Some(Lost {
            words: death.words,
            step: step.filter(|&step| step != NONE),
            is_vague,
        });
        LOST
    }

    /// Closes it: the process answers when it is closed.
    pub fn close(&self) {
        // Its memory here goes in any case.
        let _ = self.ask(Call::Close, &|_| {});
    }

    /// A number for a queue or a segment.
    pub fn number(&self) -> u32 {
        let link = &mut *lock(&self.link);
        link.numbers += 1;
        link.numbers
    }

    /// A transfer: from the host, or to it.
    ///
    /// # Safety
    /// The host's memory has so many bytes, until the queue is past this.
    pub unsafe fn transfer(
        &self,
        (queue, is_upload): (u32, bool),
        (device, host): (*const c_void, *mut c_void),
        bytes: u64,
    ) -> Result<(), Code> {
        let link = &mut *lock(&self.link);
        let spot = self.spot(link, bytes)?;
        let at = link.staging.find(&spot).unwrap_or(std::ptr::null_mut());
        let (call, pending) = if is_upload {
            // SAFETY: the place has so many bytes, and so has the caller's memory.
            unsafe { copy(at, host.cast(), bytes) };
            (Call::Upload, Pending::Upload(spot))
        } else {
            (Call::Download, Pending::Download(spot, host))
        };
        self.post(link, call, None, &|writer| {
            writer.u32(queue).at(device).u32(spot.room);
            writer.u64(spot.offset).u64(bytes);
        })?;
        let calls = link.calls;
        link.pending
            .entry(queue)
            .or_default()
            .push_back((calls, pending));
        Ok(())
    }

    /// A place for a transfer: where there is none, when earlier ones are done.
    fn spot(&self, link: &mut Link, bytes: u64) -> Result<Spot, Code> {
        if let Some(spot) = link.staging.take(bytes) {
            return Ok(spot);
        }
        if !link.staging.has_room_for(bytes) {
            self.settle(link)?;
            for room in link.staging.shrink() {
                self.post(link, Call::Unmap, None, &|writer| {
                    writer.u32(room);
                })?;
            }
            if let Some(spot) = link.staging.take(bytes) {
                return Ok(spot);
            }
        }
        let made = link.staging.make(bytes).map_err(|error| {
            link.words = format!("no memory for a transfer of {bytes} bytes: {error}");
            1
        })?;
        let fd = Some(made.fd.as_fd());
        self.post(link, Call::Map, fd, &|writer| {
            writer.u32(made.number).u64(made.bytes);
        })?;
        link.staging.take(bytes).ok_or(1)
    }

    /// Waits until queues are past all transfers. Errors stay for the next `finish`.
    fn settle(&self, link: &mut Link) -> Result<(), Code> {
        let queues: Vec<u32> = link.pending.keys().copied().collect();
        for queue in queues {
            let event = self.record_in(link, queue)?;
            if let Err(LOST) = self.finish_in(link, queue, event) {
                return Err(LOST);
            }
        }
        Ok(())
    }

    /// Records an event.
    pub fn record(&self, queue: u32) -> Result<u64, Code> {
        self.record_in(&mut lock(&self.link), queue)
    }

    fn record_in(&self, link: &mut Link, queue: u32) -> Result<u64, Code> {
        let calls = link.calls + 1;
        self.post(link, Call::Record, None, &|writer| {
            writer.u32(queue).u64(calls);
        })?;
        Ok((u64::from(queue) << EVENT_BITS) | calls)
    }

    /// A queue waits for an event of another.
    pub fn wait(&self, queue: u32, event: u64) -> Result<(), Code> {
        let link = &mut *lock(&self.link);
        let (other, calls) = ((event >> EVENT_BITS) as u32, event & EVENT_MASK);
        self.post(link, Call::Wait, None, &|writer| {
            writer.u32(queue).u32(other).u64(calls);
        })?;
        let now = link.calls;
        let waits = (now, Pending::Wait(other, calls));
        link.pending.entry(queue).or_default().push_back(waits);
        Ok(())
    }

    /// Waits for an event. What was downloaded before it is at its place then.
    pub fn finish(&self, queue: u32, event: u64) -> Result<(), Code> {
        self.finish_in(&mut lock(&self.link), queue, event)
    }

    fn finish_in(&self, link: &mut Link, queue: u32, event: u64) -> Result<(), Code> {
        let calls = event & EVENT_MASK;
        self.post(link, Call::Finish, None, &|writer| {
            writer.u32(queue).u64(calls);
        })?;
        let finished = self.answer(link, &mut |_| Ok(()));
        if finished != Err(LOST) {
            link.complete(queue, calls);
        }
        finished
    }

    /// The check at which a queue failed.
    pub fn failed_check(&self, queue: u32) -> Result<FailedCheck, Code> {
        let write = |writer: &mut Writer| {
            writer.u32(queue);
        };
        self.ask_for(Call::FailedCheck, &write, &mut |reader| {
            Ok(FailedCheck {
                check: reader.u64()?,
                status: reader.u64()?,
            })
        })
    }

    /// Closes a queue: the process answers when all of its work is done.
    pub fn close_queue(&self, queue: u32) {
        // Where the process is gone, its queues are.
        let _ = self.ask(Call::CloseQueue, &|writer| {
            writer.u32(queue);
        });
        let link = &mut *lock(&self.link);
        for (_, pending) in link.pending.remove(&queue).unwrap_or_default() {
            if let Pending::Upload(spot) | Pending::Download(spot, _) = pending {
                link.staging.free(&spot);
            }
        }
    }

    /// Its rows' axes with separate constants, as `kernel.h` numbers them.
    pub fn prepared_axis(&self, row: u32) -> usize {
        let row = self.library.facts.rows.get(row as usize);
        row.map_or(0, |row| row.prepared_axis as usize)
    }
}

impl Link {
    /// A queue is past an event: frees the places before it, and hands out what was downloaded.
    fn complete(&mut self, queue: u32, calls: u64) {
        let mut past = vec![(queue, calls)];
        while let Some((queue, calls)) = past.pop() {
            let Some(pending) = self.pending.get_mut(&queue) else {
                continue;
            };
            while pending.front().is_some_and(|(at, _)| *at < calls) {
                let Some((_, first)) = pending.pop_front() else {
                    break;
                };
                match first {
                    Pending::Upload(spot) => self.staging.free(&spot),
                    Pending::Download(spot, to) => {
                        let from = self.staging.find(&spot).unwrap_or(std::ptr::null_mut());
                        // SAFETY: the caller keeps so many bytes there until the queue is past it.
                        unsafe { copy(to.cast(), from, spot.bytes) };
                        self.staging.free(&spot);
                    }
                    Pending::Wait(other, calls) => past.push((other, calls)),
                }
            }
        }
    }
}

/// # Safety
/// Both have so many bytes and do not overlap, or there are none.
unsafe fn copy(to: *mut u8, from: *const u8, bytes: u64) {
    if bytes > 0 {
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(from, to, bytes as usize) };
    }
}
