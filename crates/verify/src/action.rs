//! Actions of a verified program: its calls with operands resolved.

use crate::ValueId;
use crate::single::is_read;
use cloakwork_ir::{DType, HostId};
use cloakwork_ops::{OpDef, Param};
use smallvec::SmallVec;

/// Where a list argument stands in the program: it is not copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ArgPlace {
    /// Step number.
    pub step: u32,
    /// Index among the step's arguments, as written.
    pub index: u32,
}

/// The value that a parameter is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// A tensor.
    Value(ValueId),
    /// An integer.
    Int(i64),
    /// A list; [`crate::Verified::items`] gives its entries.
    Shape(ArgPlace),
    /// An element type.
    DType(DType),
    /// A host slot.
    Host(HostId),
    /// Nothing.
    Absent,
}

/// A call of an op, its arguments bound to parameters.
#[derive(Clone, Debug)]
pub struct Call {
    /// The declaration.
    pub def: &'static OpDef,
    /// One entry a parameter, in the order of [`OpDef::params`].
    pub values: SmallVec<[Bound; 4]>,
    /// Bit i: the contents of parameter i are known: those of its upload, which was not written
    /// before this step. What the declaration demands of contents has been checked for them.
    pub constants: u32,
}

impl Call {
    /// The tensor that a parameter is bound to.
    #[must_use]
    pub fn value(&self, param: usize) -> Option<ValueId> {
        match self.values.get(param) {
            Some(Bound::Value(value)) => Some(*value),
            _ => None,
        }
    }

    /// The value that the parameter of this name is bound to.
    pub(crate) fn bound(&self, name: &str) -> Option<&Bound> {
        self.values.get(self.def.param(name)?)
    }

    /// The tensors that parameters are bound to.
    pub(crate) fn tensors(&self) -> impl Iterator<Item = ValueId> {
        (0..self.values.len()).filter_map(|param| self.value(param))
    }

    /// The tensors whose elements the op reads, with their parameters.
    pub(crate) fn reads(&self) -> impl Iterator<Item = (usize, &'static Param, ValueId)> {
        let params = self.def.params.iter().enumerate();
        params
            .filter(|(_, param)| is_read(param))
            .filter_map(|(index, param)| Some((index, param, self.value(index)?)))
    }

    /// Whether the contents of a parameter are known.
    #[must_use]
    pub fn is_constant(&self, param: usize) -> bool {
        param < 32 && self.constants >> param & 1 == 1
    }
}

/// One thing to do.
#[derive(Clone, Debug)]
pub enum Action {
    /// Fill a new storage from the host.
    Upload {
        /// Source.
        host: HostId,
        /// The new value.
        value: ValueId,
    },
    /// A new storage that reads as its origin says.
    Allocate {
        /// The new value.
        value: ValueId,
    },
    /// A new value of its operand's storage; nothing moves.
    View {
        /// The call; replay its body to get the view over another layout.
        call: Call,
        /// The new value.
        value: ValueId,
    },
    /// New row-major storage with the same elements in order.
    Copy {
        /// The call.
        call: Call,
        /// The value whose elements are copied.
        source: ValueId,
        /// The new value.
        value: ValueId,
    },
    /// Kernels write `out`.
    Kernel {
        /// The call.
        call: Call,
        /// The tensor that the kernels write.
        out: ValueId,
    },
    /// An op made of smaller ones.
    Composite {
        /// The call.
        call: Call,
        /// The value of its `out`, or a new one that the expansion writes wholly.
        result: ValueId,
    },
    /// To the host.
    Download {
        /// The tensor that is downloaded.
        value: ValueId,
        /// The host slot: the expected value or the output.
        host: HostId,
    },
}

impl Action {
    /// The call, where the action has one.
    #[must_use]
    pub fn call(&self) -> Option<&Call> {
        match self {
            Self::View { call, .. }
            | Self::Copy { call, .. }
            | Self::Kernel { call, .. }
            | Self::Composite { call, .. } => Some(call),
            Self::Upload { .. } | Self::Allocate { .. } | Self::Download { .. } => None,
        }
    }

    /// The value that the action makes or writes; none for a download.
    #[must_use]
    pub fn result(&self) -> Option<ValueId> {
        match self {
            Self::Upload { value, .. }
            | Self::Allocate { value }
            | Self::View { value, .. }
            | Self::Copy { value, .. } => Some(*value),
            Self::Kernel { out: result, .. } | Self::Composite { result, .. } => Some(*result),
            Self::Download { .. } => None,
        }
    }
}
