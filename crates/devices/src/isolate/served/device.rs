//! An open device: its messages, one after another.

use super::super::call::{Board, Call, Place};
use super::super::channel::{Broken, Channel};
use super::super::launch::{Launch, Parts};
use super::super::shared::Shared;
use super::super::wire::{Damaged, Reader, Writer};
use super::control::{Table, unrowed};
use crate::abi::{FailedCheck, MoveFn, Opaque, RawFunctions, RawSegmentFunctions};
use std::collections::{HashMap, VecDeque};
use std::ffi::{CStr, c_void};
use std::os::fd::{AsFd, OwnedFd};

/// Events of a queue that are remembered: older ones count as the oldest of these, which is later.
const MOST_EVENTS: usize = 1 << 14;
/// The longest reason of a driver.
const REASON_BYTES: usize = 1024;

/// Why a queue failed.
#[derive(Clone)]
struct Failure {
    code: i32,
    words: String,
    /// The queue in which it began.
    queue: Opaque,
    /// The call that it is sure to be of.
    place: Option<Place>,
}

/// An event of the driver's, or why the queue failed before it.
type Event = Result<u64, Failure>;

struct Queue {
    raw: Opaque,
    /// By the parent's number, in order.
    events: VecDeque<(u64, Event)>,
    failed: Option<Failure>,
}

impl Queue {
    fn event(&self, number: u64) -> Result<Event, Damaged> {
        let after = self.events.partition_point(|(known, _)| *known < number);
        let (_, event) = self.events.get(after).ok_or(Damaged)?;
        Ok(event.clone())
    }
}

/// A device that is served.
pub struct Served {
    table: Table,
    functions: &'static RawFunctions,
    segments: Option<&'static RawSegmentFunctions>,
    channel: Option<Channel>,
    board: Board,
    /// It waits for each piece of work that a queue gets.
    is_careful: bool,
    device: Opaque,
    queues: HashMap<u32, Queue>,
    built: HashMap<u32, Opaque>,
    rooms: HashMap<u32, Shared>,
    launch: Launch,
    writer: Writer,
}

// SAFETY: any thread may call a driver's functions; one has the device.
unsafe impl Send for Served {}

impl Served {
    /// A device that is not open yet.
    pub fn of(table: Table, channel: Channel, board: Board, is_careful: bool) -> Option<Self> {
        Some(Self {
            table,
            // SAFETY: the contract of `device.h`: null, or tables that live as long as the process.
            functions: unsafe { table.raw.functions.as_ref() }?,
            // SAFETY: as above.
            segments: unsafe { table.raw.segments.as_ref() },
            channel: Some(channel),
            board,
            is_careful,
            device: std::ptr::null_mut(),
            queues: HashMap::new(),
            built: HashMap::new(),
            rooms: HashMap::new(),
            launch: Launch::default(),
            writer: Writer::default(),
        })
    }
}

/// An answer is sent, or none.
#[derive(PartialEq, Eq)]
enum Answer {
    None,
    Written,
}

/// Serves a device until the parent closes it, or its socket.
pub fn serve(mut served: Served) {
    let Some(mut channel) = served.channel.take() else {
        return;
    };
    match served.messages(&mut channel) {
        Ok(()) | Err(Broken::Closed) => served.close(),
        // The process is damaged; the parent sees after which call its socket closed.
        Err(_) => super::exit(super::BROKEN),
    }
}

impl Served {
    fn messages(&mut self, channel: &mut Channel) -> Result<(), Broken> {
        loop {
            let message = channel.receive(&mut || true)?.to_vec();
            let mut reader = Reader::new(&message);
            let call = Call::of(reader.u32()?).ok_or(Damaged)?;
            let step = reader.u32()?;
            let beside = match call {
                Call::Map => Some(channel.descriptor_beside()?),
                _ => None,
            };
            let answer = self.message((call, step), &mut reader, beside)?;
            reader.end()?;
            if answer == Answer::Written {
                let answer = self.writer.end().ok_or(Damaged)?;
                channel.send(answer, None, &mut || true)?;
            }
            if call == Call::Close {
                return Ok(());
            }
        }
    }

    fn message(
        &mut self,
        (call, step): (Call, u32),
        reader: &mut Reader,
        beside: Option<OwnedFd>,
    ) -> Result<Answer, Damaged> {
        let place = unrowed(call, step);
        match call {
            Call::Map | Call::Unmap => self.room(reader, beside),
            Call::Open | Call::Allocate | Call::Release | Call::Close => {
                self.of_device(place, reader)
            }
            Call::OpenQueue | Call::CloseQueue => self.of_queues(place, reader),
            Call::Upload | Call::Download => self.transfer(place, reader),
            Call::Launch | Call::Prepare => self.launch(place, reader),
            Call::Record | Call::Wait | Call::Finish => self.event(place, reader),
            Call::Check | Call::FailedCheck => self.check(place, reader),
            Call::Build | Call::Run | Call::ReleaseSegment => self.segment(place, reader),
            Call::Load | Call::Features | Call::PreparedBytes | Call::Connect | Call::Reason => {
                Err(Damaged)
            }
        }
    }

    /// Calls the driver while the board says so.
    fn call<R>(&self, place: Place, call: impl FnOnce(&RawFunctions) -> R) -> R {
        self.board.begin(place);
        let result = call(self.functions);
        self.board.end();
        result
    }

    /// The driver's words for an error.
    fn failure(&self, place: Place, code: i32) -> Failure {
        let mut text = [0u8; REASON_BYTES];
        if !self.device.is_null() {
            let reason = Place {
                call: Call::Reason,
                ..place
            };
            // SAFETY: the device is open; so many bytes are there.
            self.call(reason, |f| unsafe {
                (f.reason)(self.device, text.as_mut_ptr().cast(), REASON_BYTES as u64);
            });
        }
        let words = CStr::from_bytes_until_nul(&text).map_or_else(
            |_| String::new(),
            |words| words.to_string_lossy().into_owned(),
        );
        let words = match words.is_empty() {
            true => format!("error {code}"),
            false => words,
        };
        Failure {
            code,
            words,
            queue: std::ptr::null_mut(),
            place: self.is_careful.then_some(place),
        }
    }

    fn answer(&mut self, done: &Event) -> Answer {
        match done {
            Ok(_) => {
                self.writer.begin(0);
            }
            Err(failure) => {
                let code = failure.code.cast_unsigned();
                self.writer.begin(code).text(&failure.words);
                Place::write(failure.place, &mut self.writer);
            }
        }
        Answer::Written
    }

    fn done(&mut self, place: Place, code: i32) -> Answer {
        let done = match code {
            0 => Ok(0),
            _ => Err(self.failure(place, code)),
        };
        self.answer(&done)
    }

    fn room(&mut self, reader: &mut Reader, beside: Option<OwnedFd>) -> Result<Answer, Damaged> {
        let number = reader.u32()?;
        if let Some(fd) = beside {
            let bytes = usize::try_from(reader.u64()?).map_err(|_| Damaged)?;
            let room = Shared::of(fd.as_fd(), bytes).map_err(|_| Damaged)?;
            self.rooms.insert(number, room);
        } else {
            self.rooms.remove(&number);
        }
        Ok(Answer::None)
    }

    fn of_device(&mut self, place: Place, reader: &mut Reader) -> Result<Answer, Damaged> {
        let device = self.device;
        match place.call {
            Call::Open => {
                let index = reader.u32()?;
                let mut opened = std::ptr::null_mut();
                // SAFETY: the contract of `device.h`; the driver writes the device.
                let code = self.call(place, |f| unsafe { (f.open)(index, &raw mut opened) });
                self.device = opened;
                Ok(self.done(place, code))
            }
            Call::Allocate => {
                let bytes = reader.u64()?;
                let mut at = std::ptr::null_mut();
                // SAFETY: the device is open; the driver writes the address.
                let code = self.call(place, |f| unsafe {
                    (f.allocate)(device, bytes, &raw mut at)
                });
                let answer = self.done(place, code);
                if code == 0 {
                    self.writer.at(at);
                }
                Ok(answer)
            }
            Call::Release => {
                let at = reader.at()?;
                // SAFETY: the parent releases once what it allocated.
                self.call(place, |f| unsafe { (f.release)(device, at) });
                Ok(Answer::None)
            }
            _ => {
                self.close();
                Ok(self.answer(&Ok(0)))
            }
        }
    }

    /// Closes what is open.
    fn close(&mut self) {
        let queues: Vec<Opaque> = self.queues.drain().map(|(_, queue)| queue.raw).collect();
        let device = std::mem::replace(&mut self.device, std::ptr::null_mut());
        for queue in queues {
            let place = Place::of(Call::CloseQueue);
            // SAFETY: it is open and closed once.
            self.call(place, |f| unsafe { (f.close_queue)(queue) });
        }
        if !device.is_null() {
            // SAFETY: as above.
            self.call(Place::of(Call::Close), |f| unsafe { (f.close)(device) });
        }
    }

    fn of_queues(&mut self, place: Place, reader: &mut Reader) -> Result<Answer, Damaged> {
        let (number, device) = (reader.u32()?, self.device);
        if place.call == Call::CloseQueue {
            if let Some(queue) = self.queues.remove(&number) {
                // SAFETY: it is open and closed once.
                self.call(place, |f| unsafe { (f.close_queue)(queue.raw) });
            }
            return Ok(self.answer(&Ok(0)));
        }
        let mut raw = std::ptr::null_mut();
        // SAFETY: the device is open; the driver writes the queue.
        let code = self.call(place, |f| unsafe { (f.open_queue)(device, &raw mut raw) });
        if code == 0 {
            let queue = Queue {
                raw,
                events: VecDeque::new(),
                failed: None,
            };
            self.queues.insert(number, queue);
        }
        Ok(self.done(place, code))
    }

    /// Does work in a queue, unless it has failed; an error makes it fail.
    fn in_queue(
        &mut self,
        place: Place,
        queue: u32,
        call: impl FnOnce(&RawFunctions, Opaque) -> i32,
    ) -> Result<Answer, Damaged> {
        let own = self.queues.get(&queue).ok_or(Damaged)?;
        if own.failed.is_none() {
            let raw = own.raw;
            let mut code = self.call(place, |f| call(f, raw));
            if code == 0 && self.is_careful {
                code = self.settle(place, raw);
            }
            if code != 0 {
                let mut failure = self.failure(place, code);
                failure.queue = raw;
                self.fail(queue, failure);
            }
        }
        Ok(Answer::None)
    }

    /// Waits for the work that a queue just got, so that its failure is known to be of that.
    fn settle(&self, place: Place, queue: Opaque) -> i32 {
        if matches!(place.call, Call::Record | Call::Wait) {
            return 0;
        }
        let mut event = 0;
        let wait = Place {
            call: Call::Finish,
            ..place
        };
        // SAFETY: the queue is open; the driver writes the event.
        self.call(wait, |f| {
            match unsafe { (f.record)(queue, &raw mut event) } {
                // SAFETY: as above.
                0 => unsafe { (f.finish)(queue, event) },
                code => code,
            }
        })
    }

    fn fail(&mut self, queue: u32, failure: Failure) {
        if let Some(queue) = self.queues.get_mut(&queue) {
            queue.failed.get_or_insert(failure);
        }
    }

    fn transfer(&mut self, place: Place, reader: &mut Reader) -> Result<Answer, Damaged> {
        let (queue, at, room) = (reader.u32()?, reader.at()?, reader.u32()?);
        let (offset, bytes) = (reader.u64()?, reader.u64()?);
        let here = self
            .rooms
            .get(&room)
            .and_then(|room| room.find(offset, bytes));
        let here: *mut c_void = here.ok_or(Damaged)?.cast();
        let is_upload = place.call == Call::Upload;
        self.in_queue(place, queue, |f, raw| {
            let (moves, to, from): (MoveFn, _, _) = match is_upload {
                true => (f.upload, at, here),
                false => (f.download, here, at),
            };
            // SAFETY: the room has so many bytes, and the parent has those of the device.
            unsafe { moves(raw, to, from.cast_const(), bytes) }
        })
    }

    fn launch(&mut self, mut place: Place, reader: &mut Reader) -> Result<Answer, Damaged> {
        let (queue, row, word) = (reader.u32()?, reader.u32()?, reader.u64()?);
        let mut launch = std::mem::take(&mut self.launch);
        launch.read(reader)?;
        place.row = row;
        let own = self.table.rows.get(row as usize).ok_or(Damaged)?;
        let (raw, params) = (launch.raw(own.prepared_axis > 0), launch.params());
        let done = self.in_queue(place, queue, |f, queue| {
            // SAFETY: the parent's launch, as it was given to it.
            unsafe {
                match place.call {
                    Call::Launch => (f.launch)(queue, row, &raw const raw, params, word),
                    _ => {
                        let at = std::ptr::with_exposed_provenance_mut(word as usize);
                        (f.prepare)(queue, row, &raw const raw, params, at)
                    }
                }
            }
        });
        self.launch = launch;
        done
    }

    fn event(&mut self, place: Place, reader: &mut Reader) -> Result<Answer, Damaged> {
        let queue = reader.u32()?;
        match place.call {
            Call::Record => {
                let number = reader.u64()?;
                let mut recorded = 0;
                let done = self.in_queue(place, queue, |f, raw| {
                    // SAFETY: the queue is open; the driver writes the event.
                    unsafe { (f.record)(raw, &raw mut recorded) }
                });
                let own = self.queues.get_mut(&queue).ok_or(Damaged)?;
                if own.events.len() >= MOST_EVENTS {
                    own.events.pop_front();
                }
                let event = own.failed.clone().map_or(Ok(recorded), Err);
                own.events.push_back((number, event));
                done
            }
            Call::Wait => {
                let (other, number) = (reader.u32()?, reader.u64()?);
                match self.queues.get(&other).ok_or(Damaged)?.event(number)? {
                    // SAFETY: the queue is open.
                    Ok(event) => {
                        self.in_queue(place, queue, |f, raw| unsafe { (f.wait)(raw, event) })
                    }
                    Err(failure) => {
                        self.fail(queue, failure);
                        Ok(Answer::None)
                    }
                }
            }
            _ => {
                let own = self.queues.get(&queue).ok_or(Damaged)?;
                let (raw, event) = (own.raw, own.event(reader.u64()?)?);
                let Ok(event) = event else {
                    return Ok(self.answer(&event));
                };
                // SAFETY: the queue is open.
                let code = self.call(place, |f| unsafe { (f.finish)(raw, event) });
                Ok(self.done(place, code))
            }
        }
    }

    fn check(&mut self, place: Place, reader: &mut Reader) -> Result<Answer, Damaged> {
        let queue = reader.u32()?;
        if place.call == Call::Check {
            let (status, check) = (reader.at()?, reader.u64()?);
            // SAFETY: the queue is open, and the word is the device's.
            return self.in_queue(place, queue, |f, raw| unsafe {
                (f.check)(raw, status, check)
            });
        }
        let own = self.queues.get(&queue).ok_or(Damaged)?;
        let raw = own.failed.as_ref().map_or(own.raw, |failure| failure.queue);
        let mut failed = FailedCheck::default();
        // SAFETY: the queue is open; the driver writes the check.
        let code = self.call(place, |f| unsafe { (f.failed_check)(raw, &raw mut failed) });
        let answer = self.done(place, code);
        if code == 0 {
            self.writer.u64(failed.check).u64(failed.status);
        }
        Ok(answer)
    }

    fn segment(&mut self, place: Place, reader: &mut Reader) -> Result<Answer, Damaged> {
        let functions = self.segments.ok_or(Damaged)?;
        let device = self.device;
        match place.call {
            Call::Build => {
                let (number, parts) = (reader.u32()?, Parts::read(reader)?);
                let rows = self.table.rows;
                let axis = |row: u32| rows.get(row as usize).is_some_and(|r| r.prepared_axis > 0);
                let mut built = std::ptr::null_mut();
                if self.is_careful {
                    // Launches come one by one, so that each can be waited for.
                    let answer = self.answer(&Ok(0));
                    self.writer.u32(0);
                    return Ok(answer);
                }
                // SAFETY: the parent's segment, as it was given to it; the driver writes its own.
                let code = self.call(place, |_| {
                    parts.with(&axis, |raw| unsafe {
                        (functions.build)(device, raw, &raw mut built)
                    })
                });
                if code == 0 && !built.is_null() {
                    self.built.insert(number, built);
                }
                let answer = self.done(place, code);
                if code == 0 {
                    self.writer.u32(u32::from(!built.is_null()));
                }
                Ok(answer)
            }
            Call::Run => {
                let (queue, number) = (reader.u32()?, reader.u32()?);
                let built = *self.built.get(&number).ok_or(Damaged)?;
                // SAFETY: the queue is open, and the segment is built.
                self.in_queue(place, queue, |_, raw| unsafe {
                    (functions.run)(raw, built)
                })
            }
            _ => {
                if let Some(built) = self.built.remove(&reader.u32()?) {
                    // SAFETY: it is released once.
                    self.call(place, |_| unsafe { (functions.release)(device, built) });
                }
                Ok(Answer::None)
            }
        }
    }
}
