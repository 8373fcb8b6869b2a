//! The calls of a driver as messages, and the board on which its process shows the one it is in.

use super::shared::Shared;
use super::wire::{Damaged, Reader, Writer};
use std::fmt;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

macro_rules! calls {
    ($($name:ident = $number:literal, $words:literal;)*) => {
        /// A call that the process of a driver is asked for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Call { $($name = $number,)* }

        impl Call {
            /// The call of a number.
            pub fn of(number: u32) -> Option<Self> {
                match number { $($number => Some(Self::$name),)* _ => None }
            }

            /// The function of `device.h`, or what the process does for none.
            fn words(self) -> &'static str {
                match self { $(Self::$name => $words,)* }
            }
        }
    };
}

calls! {
    Load = 1, "loading the library";
    Features = 2, "`features`";
    PreparedBytes = 3, "`prepared_bytes`";
    Connect = 4, "serving a device";
    Map = 5, "mapping memory for transfers";
    Unmap = 6, "unmapping memory for transfers";
    Open = 7, "`open`";
    Close = 8, "`close`";
    Allocate = 9, "`allocate`";
    Release = 10, "`release`";
    OpenQueue = 11, "`open_queue`";
    CloseQueue = 12, "`close_queue`";
    Upload = 13, "`upload`";
    Download = 14, "`download`";
    Launch = 15, "`launch`";
    Prepare = 16, "`prepare`";
    Record = 17, "`record`";
    Wait = 18, "`wait`";
    Finish = 19, "`finish`";
    Check = 20, "`check`";
    FailedCheck = 21, "`failed_check`";
    Build = 22, "`segments->build`";
    Run = 23, "`segments->run`";
    ReleaseSegment = 24, "`segments->release`";
    Reason = 25, "`reason`";
}

/// No row, no step.
pub const NONE: u32 = u32::MAX;

/// A call with its row, if it has one, and the step of the run that it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub call: Call,
    pub row: u32,
    pub step: u32,
}

impl Place {
    /// A call that is for no row.
    pub fn of(call: Call) -> Self {
        Self {
            call,
            row: NONE,
            step: NONE,
        }
    }

    /// Whether it waits for work that other calls have given, or does much of it, so that it says
    /// little about which.
    pub fn is_wait(&self) -> bool {
        let waits = matches!(self.call, Call::Finish | Call::CloseQueue | Call::Run);
        waits && self.row == NONE
    }

    /// Three numbers for a message.
    pub fn write(place: Option<Self>, to: &mut Writer) {
        let none = (0, NONE, NONE);
        let (call, row, step) = place.map_or(none, |at| (at.call as u32, at.row, at.step));
        to.u32(call).u32(row).u32(step);
    }

    /// The place of three numbers, if they are one.
    pub fn read(from: &mut Reader) -> Result<Option<Self>, Damaged> {
        let (call, row, step) = (Call::of(from.u32()?), from.u32()?, from.u32()?);
        Ok(call.map(|call| Self { call, row, step }))
    }

    /// How messages name it. `symbols` are those of the driver's rows.
    pub fn named(&self, symbols: &[String]) -> String {
        match symbols.get(self.row as usize) {
            Some(symbol) => format!("{} of {symbol}", self.call),
            None => self.call.to_string(),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

/// The layout of a board.
#[repr(C)]
struct Words {
    begun: AtomicU64,
    ended: AtomicU64,
    call: AtomicU32,
    row: AtomicU32,
    step: AtomicU32,
}

/// Memory that both processes map: the call that a thread of the driver's process is in. The
/// reader believes none of it.
pub struct Board(Shared);

impl Board {
    /// A board, and its descriptor for the other process.
    pub fn new() -> io::Result<(Self, OwnedFd)> {
        let (shared, fd) = Shared::new(size_of::<Words>())?;
        Ok((Self(shared), fd))
    }

    /// The board of a descriptor.
    pub fn of(fd: BorrowedFd<'_>) -> io::Result<Self> {
        Shared::of(fd, size_of::<Words>()).map(Self)
    }

    fn words(&self) -> &Words {
        // SAFETY: the mapping has so many bytes, begins at a page, and is used by atomics alone.
        unsafe { &*self.0.start().cast::<Words>() }
    }

    /// The call begins.
    pub fn begin(&self, place: Place) {
        let words = self.words();
        words.call.store(place.call as u32, Ordering::Relaxed);
        words.row.store(place.row, Ordering::Relaxed);
        words.step.store(place.step, Ordering::Relaxed);
        let begun = words.begun.load(Ordering::Relaxed);
        words.begun.store(begun.wrapping_add(1), Ordering::Release);
    }

    /// The call ended.
    pub fn end(&self) {
        let words = self.words();
        let begun = words.begun.load(Ordering::Relaxed);
        words.ended.store(begun, Ordering::Release);
    }

    /// How many calls began, for a reader that sees whether the process goes on.
    pub fn begun(&self) -> u64 {
        self.words().begun.load(Ordering::Acquire)
    }

    /// The call that the process is in.
    pub fn now(&self) -> Option<Place> {
        let words = self.words();
        let begun = words.begun.load(Ordering::Acquire);
        if words.ended.load(Ordering::Acquire) == begun {
            return None;
        }
        self.last()
    }

    /// The call that the process is in, or was in last.
    pub fn last(&self) -> Option<Place> {
        let words = self.words();
        Some(Place {
            call: Call::of(words.call.load(Ordering::Relaxed))?,
            row: words.row.load(Ordering::Relaxed),
            step: words.step.load(Ordering::Relaxed),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn a_board_shows_the_call_and_survives_nonsense() -> io::Result<()> {
        let (board, fd) = Board::new()?;
        let other = Board::of(fd.as_fd())?;
        assert_eq!((board.now(), board.begun()), (None, 0));
        let place = Place {
            call: Call::Launch,
            row: 1,
            step: 9,
        };
        other.begin(place);
        assert_eq!((board.now(), board.begun()), (Some(place), 1));
        let symbols = ["add".to_owned(), "modmul_i64".to_owned()];
        assert_eq!(place.named(&symbols), "`launch` of modmul_i64");
        assert_eq!(Place::of(Call::Load).named(&symbols), "loading the library");
        other.end();
        assert_eq!((board.now(), board.last()), (None, Some(place)));
        other.words().begun.store(77, Ordering::Relaxed);
        other.words().call.store(12345, Ordering::Relaxed);
        assert_eq!(board.now(), None, "no call has this number");
        Ok(())
    }
}
