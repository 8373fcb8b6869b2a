//! The files of circom and snarkjs: circuits (`.r1cs`), witnesses (`.wtns`), powers of tau
//! (`.ptau`), proving keys of Groth16 and PLONK (`.zkey`), and the JSON of verifying keys, proofs
//! and public signals.
//!
//! The binary kinds are one container: 4 bytes of magic, u32 version, u32 number of
//! sections, then for each section u32 id, u64 size, and its bytes; all little-endian. Everything
//! that a file says of itself is held against its bytes, and every number of a field against its
//! prime. Whether points lie on their curve is arithmetic, and left to others.
//!
//! Sources: npm `r1csfile`, doc/r1cs_bin_format.md; the layouts that npm `snarkjs` 0.7.6 writes.

mod coefficients;
mod gates;
mod json;
mod json_write;
pub(crate) mod number;
mod plonk_json;
mod plonk_zkey;
mod ptau;
mod r1cs;
mod sections;
mod strict;
mod write;
mod wtns;
mod zkey;

pub use cloakwork_ir::Pairing;
pub use coefficients::Rows;
pub use gates::{Combination, Gates};
pub use json::{Groth16Proof, VerifyingKey, parse_proof, parse_public, parse_verifying_key};
pub use json_write::{proof_json, public_json, verifying_key_json};
pub use plonk_json::{
    KEY_POINTS, PROOF_POINTS, PROOF_SCALARS, PlonkProof, PlonkVerifyingKey, parse_plonk_key,
    parse_plonk_proof, plonk_key_json, plonk_proof_json, protocol_of,
};
pub use plonk_zkey::{PlonkZkey, protocol};
pub use ptau::{Placed, Ptau, ceremony_sections};
pub use r1cs::R1cs;
pub use write::{
    PlonkParts, R1csParts, ZkeyParts, pending_plonk_zkey, pending_zkey, r1cs_bytes, save_r1cs,
    save_wtns, save_zkey,
};
pub use wtns::Wtns;
pub use zkey::Zkey;
