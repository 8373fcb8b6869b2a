//! Keys of prepared calls.

use super::EagerArg;
use cloakwork_ir::ShapeItem;
use cloakwork_kernels::Isa;
use cloakwork_ops::{Body, OpDef, ParamKind};
use smallvec::SmallVec;
use std::sync::Arc;

/// Two calls of one key have the same plan: the op, the instruction set and the arguments agree in
/// all but addresses, contents, and integers that kernels read as they read tensors.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    op: usize,
    isa: Isa,
    words: SmallVec<[u64; 24]>,
}

/// The kind of an argument, in the lowest bits of its first word.
#[derive(Clone, Copy)]
enum Tag {
    Absent,
    Tensor,
    Int,
    /// An integer that only kernels read.
    Operand,
    DType,
    Items,
}

const TAG_BITS: u32 = 3;

impl Key {
    /// The key of a call. `None` for a call that is planned anew each time: one with an integer
    /// that is data, such as a constant or the domain of a draw, which hardly comes twice.
    pub fn of(def: &'static OpDef, args: &[EagerArg], isa: Isa) -> Option<Self> {
        let mut words = SmallVec::new();
        let written = written(def, args);
        for (arg, param) in args.iter().zip(def.params) {
            match arg {
                EagerArg::None => words.push(Tag::Absent as u64),
                EagerArg::Tensor(_) => tensor(&mut words, arg, written),
                EagerArg::Int(_) if param.kind == ParamKind::ANY_INT => return None,
                EagerArg::Int(value)
                    if param.kind == ParamKind::TensorOrInt
                        && matches!(def.body, Body::Kernel(_))
                        // Integers stand in the steps of an expansion, which a vendor's op is.
                        && def.custom().is_none() =>
                {
                    // Where elements are i32, declarations ask whether they hold it.
                    let is_short = i32::try_from(*value).is_ok();
                    words.push(Tag::Operand as u64 | u64::from(is_short) << TAG_BITS);
                }
                EagerArg::Int(value) => words.extend([Tag::Int as u64, *value as u64]),
                EagerArg::DType(dtype) => {
                    words.push(Tag::DType as u64 | u64::from(dtype.number()) << TAG_BITS);
                }
                EagerArg::Shape(entries) => items(&mut words, entries)?,
            }
        }
        Some(Self {
            op: std::ptr::from_ref(def) as usize,
            isa,
            words,
        })
    }
}

/// The tensor that a call is to write, if it is given one.
fn written<'a>(def: &OpDef, args: &'a [EagerArg]) -> Option<&'a super::Tensor> {
    let mut params = args.iter().zip(def.params);
    params.find_map(|(arg, param)| match arg {
        EagerArg::Tensor(tensor) if param.kind == ParamKind::Out => Some(tensor),
        _ => None,
    })
}

/// Dtype and layout; whether it is frozen, so that indices need not be copied; and its place
/// relative to the written tensor, if they share memory.
fn tensor(words: &mut SmallVec<[u64; 24]>, arg: &EagerArg, written: Option<&super::Tensor>) {
    let EagerArg::Tensor(tensor) = arg else {
        return;
    };
    let view = tensor.view();
    let shared = written.filter(|out| Arc::ptr_eq(out.storage(), tensor.storage()));
    let facts = [
        u64::from(tensor.dtype().number()),
        view.rank() as u64,
        u64::from(tensor.is_frozen()),
        u64::from(shared.is_some()),
    ];
    let first = facts.into_iter().fold(0, |word, fact| word << 8 | fact);
    words.push(Tag::Tensor as u64 | first << TAG_BITS);
    words.extend_from_slice(view.shape.dims());
    words.extend(view.strides.iter().map(|&stride| stride as u64));
    if let Some(out) = shared {
        words.push((view.offset - out.view().offset) as u64);
    }
}

/// A list; `None` for one with something that is neither a size nor a range.
fn items(words: &mut SmallVec<[u64; 24]>, entries: &[ShapeItem]) -> Option<()> {
    words.push(Tag::Items as u64 | (entries.len() as u64) << TAG_BITS);
    for entry in entries {
        match entry {
            ShapeItem::Int(value) => words.extend([0, *value as u64]),
            ShapeItem::Slice { start, stop, step } => {
                let bounds = [start, stop, step].map(|bound| bound.unwrap_or_default() as u64);
                let given = [start, stop, step].map(|bound| u64::from(bound.is_some()));
                words.push(1 | given[0] << 1 | given[1] << 2 | given[2] << 3);
                words.extend(bounds);
            }
            ShapeItem::Ellipsis | ShapeItem::Invalid(_) => return None,
        }
    }
    Some(())
}
