//! Memory that two processes map: transfers go through it.

use rustix::fs::memfd_create;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

/// A mapping, which goes with it.
pub struct Shared {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: plain memory; who reads and writes it when is agreed by messages.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

/// The other process can neither shrink it, which would make accesses here fail, nor grow it.
fn sealed() -> SealFlags {
    SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL
}

impl Shared {
    /// Memory of zeros, at least one byte, and its descriptor for the other process.
    pub fn new(bytes: usize) -> io::Result<(Self, OwnedFd)> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd = memfd_create(c"cloakwork-transfers", flags)?;
        ftruncate(&fd, bytes.max(1) as u64)?;
        fcntl_add_seals(&fd, sealed())?;
        Ok((Self::of(fd.as_fd(), bytes)?, fd))
    }

    /// The memory of a descriptor, which has so many bytes for as long as it exists.
    pub fn of(fd: BorrowedFd<'_>, bytes: usize) -> io::Result<Self> {
        let bytes = bytes.max(1);
        let has = usize::try_from(fstat(fd)?.st_size).unwrap_or(0);
        if has < bytes || !fcntl_get_seals(fd)?.contains(SealFlags::SHRINK) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at a place that the system chooses.
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                bytes,
                protection,
                MapFlags::SHARED,
                fd,
                0,
            )?
        };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, bytes })
    }

    /// The first byte.
    pub fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// How many bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The place of some bytes, if all of them are inside.
    pub fn find(&self, offset: u64, bytes: u64) -> Option<*mut u8> {
        let end = offset.checked_add(bytes)?;
        (end <= self.bytes as u64).then(|| self.start().wrapping_add(offset as usize))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: its own mapping, which nothing uses any more.
        // It can only fail for a mapping that is none.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_one_mapping_writes_another_reads_and_nobody_shrinks_it() -> io::Result<()> {
        let (one, fd) = Shared::new(100)?;
        let other = Shared::of(fd.as_fd(), 100)?;
        let at = |shared: &Shared| shared.find(99, 1).unwrap_or(std::ptr::null_mut());
        // SAFETY: the last byte of both mappings.
        unsafe {
            at(&one).write(7);
            assert_eq!(at(&other).read(), 7);
        }
        assert!(ftruncate(&fd, 10).is_err(), "sealed");
        assert!(Shared::of(fd.as_fd(), 101).is_err(), "longer than it is");
        assert_eq!((one.find(99, 2), one.find(u64::MAX, 2)), (None, None));
        Ok(())
    }
}
