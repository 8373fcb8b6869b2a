//! Programs of the instruction set: both written forms, their containers, what is refused.
#![allow(clippy::unwrap_used)]

mod zk {
    pub mod packed;
    pub mod refusals;
    pub mod round_trips;
}
