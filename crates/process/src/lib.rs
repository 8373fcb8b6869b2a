//! State of a process: worker threads, locks, lazy tables.
//!
//! A forked child has one thread, the one that forked. In the child, a lock
//! of another thread of the parent stays held, a value that another thread was initializing stays
//! incomplete, and work of a pool's threads is never done. Therefore the engine uses only this
//! crate: a [`Mutex`] and a [`Once`] that no thread is inside of while a process forks, and pools
//! that a child creates again.
//!
//! ```
//! use cloakwork_process::{Once, map};
//!
//! static SQUARES: Once<Vec<u64>> = Once::new();
//!
//! let squares = SQUARES.get_or_init(|| (0..4).map(|i| i * i).collect());
//! assert_eq!(squares, &[0, 1, 4, 9]);
//! // On the threads of the process's pool, which a forked child makes anew.
//! assert_eq!(map(squares.clone(), |square| square + 1), [1, 2, 5, 10]);
//! ```
#![deny(unsafe_code)]

mod fork;
mod lock;
mod pool;
mod reading;

pub use fork::{generation, survive_forks};
pub use lock::{Guard, Mutex, Once};
pub use pool::{PoolError, default_threads, map, pool, workers};
pub use reading::{Reading, is_reading};
