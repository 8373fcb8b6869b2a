//! Hashes, transcripts of proofs, and what is drawn for them.

pub mod poseidon;
pub mod transcript;
pub mod uniform;
