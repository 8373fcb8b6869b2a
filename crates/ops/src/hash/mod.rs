//! Hashes, transcripts of proofs, and random elements for them.

pub mod keccak256;
pub mod poseidon;
mod poseidon_reference;
pub mod transcript;
mod transcript_reference;
pub mod uniform;
