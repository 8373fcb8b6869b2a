//! Programs of the instruction set: both written forms, what they are lowered to, what is refused.
#![allow(clippy::unwrap_used)]

mod zk {
    pub mod lowering;
    pub mod packed;
    pub mod refusals;
    pub mod round_trips;
}
