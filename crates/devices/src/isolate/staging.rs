//! Memory that both processes map, from which each transfer gets its place until its queue is past
//! it. Contents are overwritten when a place is free again: they may be secret.

use super::shared::Shared;
use std::io;
use std::os::fd::OwnedFd;

/// Rooms have at least so many bytes.
const ROOM_BYTES: u64 = 8 << 20;
/// Free rooms go where all of them have more bytes than this.
pub const MOST_BYTES: u64 = 256 << 20;
const LINE_BYTES: u64 = 64;

/// A place for a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The number of its room.
    pub room: u32,
    /// Where it begins there.
    pub offset: u64,
    /// Its bytes.
    pub bytes: u64,
}

struct Room {
    number: u32,
    shared: Shared,
    /// Bytes that were given out since it was empty.
    used: u64,
    /// Places in use.
    live: u32,
}

impl Room {
    fn take(&mut self, bytes: u64) -> Option<Spot> {
        let offset = self.used;
        let end = offset
            .checked_add(bytes)?
            .checked_next_multiple_of(LINE_BYTES)?;
        if end > self.shared.bytes() as u64 {
            return None;
        }
        self.used = end;
        self.live += 1;
        Some(Spot {
            room: self.number,
            offset,
            bytes,
        })
    }
}

/// All rooms of a device.
#[derive(Default)]
pub struct Staging {
    rooms: Vec<Room>,
    made: u32,
}

/// A room that was made, for the other process to map.
pub struct Made {
    pub number: u32,
    pub bytes: u64,
    pub fd: OwnedFd,
}

impl Staging {
    /// A place in a room that exists.
    pub fn take(&mut self, bytes: u64) -> Option<Spot> {
        self.rooms.iter_mut().find_map(|room| room.take(bytes))
    }

    /// Whether a room for so many bytes keeps below the limit.
    pub fn has_room_for(&self, bytes: u64) -> bool {
        self.rooms.is_empty() || self.bytes().saturating_add(bytes) <= MOST_BYTES
    }

    fn bytes(&self) -> u64 {
        self.rooms
            .iter()
            .map(|room| room.shared.bytes() as u64)
            .sum()
    }

    /// Makes a room in which a transfer of so many bytes has a place.
    pub fn make(&mut self, bytes: u64) -> io::Result<Made> {
        let too_many = || io::Error::from(io::ErrorKind::OutOfMemory);
        let bytes = bytes.max(ROOM_BYTES).checked_next_multiple_of(LINE_BYTES);
        let bytes = bytes.ok_or_else(too_many)?;
        let length = usize::try_from(bytes).map_err(|_| too_many())?;
        let (shared, fd) = Shared::new(length)?;
        let number = self.made;
        self.made = self.made.checked_add(1).ok_or_else(too_many)?;
        self.rooms.push(Room {
            number,
            shared,
            used: 0,
            live: 0,
        });
        Ok(Made { number, bytes, fd })
    }

    /// Drops free rooms until the limit is kept. Gives their numbers.
    pub fn shrink(&mut self) -> Vec<u32> {
        let mut total = self.bytes();
        let mut gone = Vec::new();
        self.rooms.retain(|room| {
            let goes = total > MOST_BYTES && room.live == 0;
            if goes {
                total -= room.shared.bytes() as u64;
                gone.push(room.number);
            }
            !goes
        });
        gone
    }

    /// The bytes of a place.
    pub fn find(&self, spot: &Spot) -> Option<*mut u8> {
        let room = self.rooms.iter().find(|room| room.number == spot.room)?;
        room.shared.find(spot.offset, spot.bytes)
    }

    /// Frees a place, and overwrites what is there.
    pub fn free(&mut self, spot: &Spot) {
        if let Some(at) = self.find(spot) {
            // SAFETY: bytes of the mapping, which no transfer uses any more.
            unsafe { at.write_bytes(0, spot.bytes as usize) };
        }
        let room = self.rooms.iter_mut().find(|room| room.number == spot.room);
        if let Some(room) = room {
            room.live -= 1;
            if room.live == 0 {
                room.used = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_do_not_overlap_and_are_empty_when_they_are_taken_again() -> io::Result<()> {
        let mut staging = Staging::default();
        assert_eq!(staging.take(1), None, "no room yet");
        assert_eq!(staging.make(1)?.bytes, ROOM_BYTES);
        let taken: Vec<Spot> = (0..3).filter_map(|_| staging.take(100)).collect();
        let offsets: Vec<u64> = taken.iter().map(|spot| spot.offset).collect();
        assert_eq!(offsets, [0, 128, 256]);
        let byte = |staging: &Staging, spot| staging.find(spot).unwrap_or(std::ptr::null_mut());
        // SAFETY: a byte of the place.
        unsafe { byte(&staging, &taken[0]).write(9) };
        taken.iter().for_each(|spot| staging.free(spot));
        let again = staging.take(100).unwrap_or(taken[1]);
        assert_eq!(again, taken[0]);
        // SAFETY: as above.
        assert_eq!(unsafe { byte(&staging, &again).read() }, 0, "overwritten");
        assert_eq!(staging.take(ROOM_BYTES), None);
        Ok(())
    }

    #[test]
    fn free_rooms_go_above_the_limit() -> io::Result<()> {
        let mut staging = Staging::default();
        staging.make(MOST_BYTES)?;
        let large = staging.take(MOST_BYTES);
        assert!(large.is_some() && !staging.has_room_for(1));
        staging.make(1)?;
        assert_eq!(staging.shrink(), [1], "the other is in use");
        large.iter().for_each(|spot| staging.free(spot));
        assert_eq!(staging.shrink(), [] as [u32; 0]);
        staging.make(1)?;
        assert_eq!(staging.shrink(), [0]);
        Ok(())
    }
}
