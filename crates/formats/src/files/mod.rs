//! Files of users: the one place that reads, maps, writes and locks them.
//!
//! *Reading.* Regular files are read, or mapped where that saves a copy; pipes are read to their
//! end, up to [`MOST_PIPE_BYTES`]; everything else (devices, sockets, folders) is refused. A mapped
//! file that is truncated meanwhile does not crash the process: see [`Watch`].
//!
//! *Writing.* A file appears whole or not at all, and replaces nothing but a regular file that the
//! same work does not read: see [`claim`], [`replace`] and [`commit`].

mod claim;
mod lock;
mod mapping;
mod read;
mod temporary;
mod write;

pub use claim::claim;
pub use lock::FolderLock;
pub use mapping::{Watch, is_mapped, leave_memory};
pub use read::{MOST_PIPE_BYTES, read, read_secret, read_while};
pub use write::{Access, Pending, commit, save_bytes, save_with};
pub(crate) use write::{Failure, replace};
