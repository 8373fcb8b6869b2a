//! The contents of a program's tensors as the file holds them, each once.

use super::hash;
use crate::layout::{MAX_EXPANDED_BYTES, gather};
use cloakwork_ir::{HostSlot, HostTensor, Program, View};
use std::borrow::Cow;
use std::collections::HashMap;

/// Contents without repetition, and each host's place among them.
pub(super) struct Blobs<'p> {
    /// A tensor with these contents, their length and hash.
    pub(super) unique: Vec<(&'p HostTensor, usize, [u8; 32])>,
    /// For each host with data, its blob.
    pub(super) index_of: HashMap<usize, usize>,
}

impl<'p> Blobs<'p> {
    pub(super) fn of(program: &'p Program) -> Self {
        let mut seen = HashMap::new();
        let mut blobs = Self {
            unique: Vec::new(),
            index_of: HashMap::new(),
        };
        for (host, slot) in program.hosts.iter().enumerate() {
            let HostSlot::Data(tensor) = slot else {
                continue;
            };
            let (bytes, _) = contents(tensor);
            let digest = *hash(&bytes).as_bytes();
            let index = *seen.entry(digest).or_insert_with(|| {
                blobs.unique.push((tensor, bytes.len(), digest));
                blobs.unique.len() - 1
            });
            blobs.index_of.insert(host, index);
        }
        blobs
    }
}

/// The bytes that a tensor's view reaches, and the view on them. A view with gaps is packed, and
/// one that repeats so much that the reader would refuse it is unfolded.
pub(super) fn contents(tensor: &HostTensor) -> (Cow<'_, [u8]>, View) {
    let view = tensor.view();
    let size = tensor.dtype().size_bytes();
    let (low, high) = view.bounds();
    let (reached, elements) = ((high - low) as u64, view.shape.elements());
    let unfolded = reached < elements && tensor.ty().size_bytes() > MAX_EXPANDED_BYTES;
    if reached > elements || unfolded {
        return (
            Cow::Owned(gather(tensor)),
            View::contiguous(view.shape.clone()),
        );
    }
    let range = low as usize * size..high as usize * size;
    let bytes = tensor.bytes().as_slice().get(range).unwrap_or(&[]);
    (
        Cow::Borrowed(bytes),
        View {
            offset: view.offset - low,
            ..view.clone()
        },
    )
}
