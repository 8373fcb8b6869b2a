//! Fields and curves, each declared once: in [`fields`] and [`curves`]. Dtypes, the numbers of the
//! ABI and of files, the constants of C++ (`csrc/include/cloakwork/algebra.h`, generated), the
//! references, what Python knows and the table in `docs/fields.md` all follow from the two tables.

#![forbid(unsafe_code)]

pub mod curves;
pub mod fields;
mod pairings;
mod table;
pub mod words;

pub use curves::{CURVES, Curve, CurveDecl, GROUPS, Group, GroupDecl};
pub use fields::{ExtensionDecl, FIELDS, Field, FieldDecl, Form, Kind, PrimeDecl};
pub use pairings::Pairing;
