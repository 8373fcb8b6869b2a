//! Programs and tensors as files: HEAL's JSON in all its forms, programs of the instruction set of
//! zero-knowledge proofs, NumPy's `.npy`, tensors that `torch.save` wrote, Cloakwork's own
//! container, their text form, and what circom and snarkjs write.
//!
//! Every byte that is read is untrusted: no input panics, runs code, or takes memory out of
//! proportion to its size. A file that is written appears whole or not at all.
//!
//! ```
//! use cloakwork_formats::{encode_npy, load_bytes, parse_npy};
//! use cloakwork_ir::{Bytes, DType, HostTensor, Shape};
//! use std::sync::Arc;
//!
//! let tensor = HostTensor::from_vec(DType::U8, Shape::new(&[2])?, vec![3, 5])?;
//! let file = Bytes::new(Arc::new(encode_npy(&tensor)));
//! assert_eq!(parse_npy(&file)?.words(), [3, 5]);
//!
//! let cut = file.slice(0..file.as_slice().len() - 1).unwrap();
//! assert!(parse_npy(&cut).is_err());
//! assert!(load_bytes(&file, false).is_err(), "a tensor is not a program");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod base64;
pub mod circom;
mod container;
mod error;
pub mod files;
mod heal;
mod layout;
mod load;
mod npy;
mod text;
mod torch;
pub mod zk;

pub use base64::decode as decode_base64;
pub use container::{Container, Seal, container_bytes, save_container};
pub use error::{LoadError, Mismatch, Place, SaveError, TensorError};
pub use files::read;
pub use heal::{parse_heal, save_heal};
pub use load::{load, load_bytes, load_npy, load_sealed, load_torch};
pub use npy::{encode as encode_npy, parse as parse_npy};
pub use torch::parse as parse_torch;
