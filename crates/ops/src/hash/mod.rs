//! Hashes, transcripts of proofs, and what is drawn for them.

pub mod poseidon;
mod poseidon_reference;
pub mod transcript;
mod transcript_reference;
pub mod uniform;
