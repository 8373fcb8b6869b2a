//! What there is once a process: worker threads, locks, tables made once.
//!
//! A forked child has one thread, the one that forked. A lock that another thread of the parent
//! held stays held in the child, what another was about to make stays half made, and work given to
//! a pool's threads is never done. So the engine keeps to what this crate has: a [`Mutex`] and a
//! [`Once`] that nobody is inside of while a process forks, and pools that a child makes anew.
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
