//! The common types of all crates: dtypes, shapes, strided views, host tensors and programs.
//!
//! A [`Program`] is the instruction stream of any front end as written, with its names; it may
//! contain any error. The verifier checks it, not this crate.
//!
//! ```
//! use cloakwork_ir::{DType, Shape, View, text};
//!
//! let program = text::parse("%q = host_to_device i64[2] {17, 97}\nfree %q")?;
//! assert_eq!(program.steps.len(), 2);
//! assert_eq!(program.hosts[0].ty().unwrap().dtype, DType::I64);
//!
//! let rows = View::contiguous(Shape::new(&[2, 3])?);
//! let columns = rows.moveaxis(0, 1)?;
//! assert_eq!(columns.strides.as_slice(), [1, 3]);
//! assert!(!columns.is_contiguous());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod builder;
mod device;
mod dtype;
mod finding;
mod liveness;
mod overlap;
mod program;
mod repr;
mod shape;
mod shown;
mod tensor;
pub mod text;
mod threads;
mod view;

pub use builder::{Builder, shape_arg};
pub use cloakwork_algebra::{
    CURVES, Curve, CurveDecl, ExtensionDecl, FIELDS, Field, FieldDecl, Form, GROUPS, Group,
    GroupDecl, Kind, Pairing, PrimeDecl,
};
pub use device::{Device, DriverName, NameError};
pub use dtype::{
    ALL_DTYPES, DType, FIELD_DTYPES, MAX_ELEMENT_BYTES, NUMBER_DTYPES, POINT_DTYPES,
    PRIME_FIELD_DTYPES,
};
pub use finding::{Finding, Severity};
pub use liveness::{Lifetime, Owned, Owners, ProgramPoint, peak_bytes};
pub use program::{
    Arg, Generation, HostId, HostSlot, Interner, Op, Program, ShapeItem, Step, Symbol, Text,
};
pub use repr::Repr;
pub use shape::{MAX_ELEMENTS, MAX_RANK, Shape, ShapeError, Type};
pub use shown::{printable, shortened};
pub use tensor::{Bytes, HostTensor, TensorBoundsError, components, read_word, write_word};
pub use threads::{Event, Note, Notes, Place, Stream, Thread, Threaded, Threads};
pub use view::{Overlap, Strides, Take, View, ViewError, resolve_axis};
