//! Data for the inputs of programs.

use cloakwork_ir::{DType, HostId, HostSlot, HostTensor, Program, Type, View, write_word};
use cloakwork_ops::reference::sample;
use std::collections::HashMap;

/// A program's inputs by host slot.
pub type Inputs = HashMap<HostId, HostTensor>;

/// A tensor for each input of a program; `word` gives element `i`.
#[must_use]
pub fn inputs(program: &Program, word: fn(u64) -> i64) -> Inputs {
    let slots = (0u32..).zip(&program.hosts);
    let named = slots.filter_map(|(index, slot)| match slot {
        HostSlot::Input { ty, .. } => Some((HostId(index), filled(ty, word)?)),
        _ => None,
    });
    named.collect()
}

/// Maps neighbouring words to distant values.
fn mixed(word: i64) -> u64 {
    (word as u64 ^ 0x5851_f42d).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn filled(ty: &Type, word: fn(u64) -> i64) -> Option<HostTensor> {
    let mut bytes = vec![0; usize::try_from(ty.size_bytes()).ok()?];
    let integer = ty.dtype.is_integer();
    for (i, element) in (0u64..).zip(bytes.chunks_exact_mut(ty.dtype.size_bytes())) {
        let words = match ty.dtype {
            DType::Bool => vec![word(i) & 1],
            _ if integer => vec![word(i)],
            dtype => sample::element(dtype, mixed(word(i))),
        };
        let parts = element.chunks_exact_mut(ty.dtype.component().size_bytes());
        for (part, word) in parts.zip(words) {
            write_word(ty.dtype.component(), word, part);
        }
    }
    HostTensor::new(ty.dtype, View::contiguous(ty.shape.clone()), bytes.into()).ok()
}
