//! Permutations as operands. HEAL's 32-bit instantiations give them as int32; kernels read words of
//! 64 bits.

use crate::{Args, Launch, LaunchInput, LaunchOperand, Launches, OpError, Operand, Source, rules};
use cloakwork_ir::{DType, View};

/// A permutation as kernels read it.
pub(crate) struct Permutation {
    /// The launch that first widens one of 32-bit words into the call's own memory.
    pub(crate) widening: Option<Launch>,
    /// Where it is read from.
    pub(crate) source: Source,
    /// How it lies there.
    pub(crate) view: View,
}

impl Permutation {
    /// The operand of this name, which is a tensor.
    pub(crate) fn of(args: &Args, name: &'static str) -> Result<Self, OpError> {
        let perm = args.tensor(name)?;
        let source = args.source(name)?;
        if perm.dtype == DType::I64 {
            return Ok(Self {
                widening: None,
                source,
                view: perm.view.clone(),
            });
        }
        let own = Source::Temporary(DType::I64);
        let view = View::contiguous(perm.shape().clone());
        let inputs = [
            LaunchInput::View(own, view.clone()),
            LaunchInput::View(source, perm.view.clone()),
        ];
        let mut widening = Launch::elementwise("cast", perm.shape(), &inputs)?;
        // It is read at once: no store goes past the caches.
        widening.params.push(0);
        Ok(Self {
            widening: Some(widening),
            source: own,
            view,
        })
    }

    /// The operand of a launch over four dimensions, along `axis` of them, behind the launch that
    /// widens it; absent where it is not used.
    pub(crate) fn operand(
        (args, name): (&Args, &'static str),
        used: bool,
        axis: usize,
        launches: &mut Launches,
    ) -> Result<LaunchOperand, OpError> {
        let mut operand = LaunchOperand::absent(4);
        if used {
            let perm = Self::of(args, name)?;
            operand.source = perm.source;
            operand.offset = perm.view.offset;
            operand.strides[axis] = perm.view.strides[0];
            launches.extend(perm.widening);
        }
        Ok(operand)
    }
}

/// Indices of 64 or 32 bits.
pub(crate) fn check(name: &'static str, perm: Operand<'_>) -> Result<(), OpError> {
    rules::dtype_in(name, perm, &[DType::I64, DType::I32])
}

/// Bytes that widening takes; none of a permutation that is not there. An empty one takes some, as
/// launches name the place.
pub(crate) fn temporary_bytes(args: &Args, name: &'static str) -> Result<u64, OpError> {
    Ok(match args.tensor_if_any(name)? {
        Some(perm) if perm.dtype != DType::I64 => {
            perm.shape().elements().max(1) * DType::I64.size_bytes() as u64
        }
        _ => 0,
    })
}
