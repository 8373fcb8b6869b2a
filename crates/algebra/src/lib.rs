//! Fields and curves, each declared once: in [`fields`] and [`curves`]. Dtypes, the numbers of the
//! ABI and of files, the constants of C++ (`csrc/include/cloakwork/algebra.h`, generated), the
//! references, Python's parameters and the page `docs/fields.md` all follow from the two tables.
//!
//! ```
//! use cloakwork_algebra::{Curve, FIELDS, GROUPS};
//!
//! let fr = FIELDS.iter().find(|field| field.name == "bn254.fr").unwrap();
//! let prime = fr.prime();
//! assert_eq!((prime.bits(), prime.two_adicity(), fr.size_bytes()), (254, 28, 32));
//! assert!(FIELDS.iter().any(|field| field.extension().is_some()));
//!
//! let curve = Curve::from_name("bn254").unwrap();
//! assert_eq!(curve.name(), "bn254");
//! assert!(GROUPS.iter().any(|group| group.name == "bn254.g1"));
//! ```

#![forbid(unsafe_code)]

pub mod curves;
pub mod fields;
mod pairings;
mod table;
pub mod words;

pub use curves::{CURVES, Curve, CurveDecl, GROUPS, Group, GroupDecl};
pub use fields::{ExtensionDecl, FIELDS, Field, FieldDecl, Form, Kind, PrimeDecl};
pub use pairings::Pairing;
