//! Facts about contents that are known without running: how long transcripts have grown, and which
//! elements are drawn from one key.

use crate::check::Checker;
use crate::report::Issue;
use crate::values::show;
use crate::{Bound, Call, StorageId, StorageOrigin, ValueId};
use cloakwork_ir::{DType, HostId, HostSlot, View};
use cloakwork_ops::{Args, Law, transcript_head};
use rustc_hash::FxHashMap;

/// A key that random elements follow from: part of an input, or the contents of a constant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key<'p> {
    Input(&'p str, View),
    Data(Vec<i64>),
}

/// The steps that have drawn, by key and domain.
pub(crate) type Draws<'p> = FxHashMap<(Key<'p>, i64), u32>;

/// The tensor from the host of which a storage is a copy, from this element on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    host: HostId,
    /// The storage that the host's tensor was uploaded to.
    upload: StorageId,
    first: i64,
}

/// Sources of the storages that are copies, while nothing else is written into them.
pub(crate) type Copies = FxHashMap<StorageId, Source>;

/// The most elements of a constant that are compared as a key.
const MAX_KEY_ELEMENTS: u64 = 4096;

/// Bytes in the log and the proof of transcripts, where they are known.
pub(crate) type Heads = FxHashMap<StorageId, [u64; 2]>;

impl<'p> Checker<'p> {
    fn is_whole(&self, value: ValueId) -> bool {
        self.values.value(value).is_some_and(|info| {
            let root = self.values.storage(info.storage).map(|s| &s.root);
            root.is_some_and(|root| *root == info.view)
        })
    }

    /// The head of a transcript, as words, where it is known.
    pub(crate) fn head_of(&self, value: ValueId) -> Option<Vec<i64>> {
        let lengths = *self.heads.get(&self.values.storage_of(value)?)?;
        self.is_whole(value).then(|| transcript_head(lengths))
    }

    /// The lengths that a transcript has after a call that writes it, where they are known.
    pub(crate) fn grown(&self, call: &Call, out: ValueId) -> Option<[u64; 2]> {
        let info = self.values.value(out)?;
        if info.dtype != DType::U8 || !self.is_whole(out) {
            return None;
        }
        let fills = call.def.laws.iter().find_map(|law| match law {
            Law::Fills(value) => Some(*value),
            _ => None,
        });
        if let Some(value) = fills {
            let value = value.map(|name| call.bound(name));
            let zero = value.is_none_or(|value| value == Some(&Bound::Int(0)));
            return zero.then_some([0, 0]);
        }
        let mut checks = call.def.body.checks().iter();
        let check = checks.find(|check| check.is_about_transcripts())?;
        let source = call.value(call.def.param(check.operand())?)?;
        let storage = self.values.storage_of(source)?;
        let [log, proof] = *self.heads.get(&storage).filter(|_| self.is_whole(source))?;
        let appended = |args: &Args| check.appended(args);
        let [more, proven] = self
            .values
            .with_views(self.program, call, appended)
            .ok()??;
        Some([log.saturating_add(more), proof.saturating_add(proven)])
    }

    /// Two draws from one key and domain give the same elements, which hide nothing twice.
    pub(crate) fn drawn(&mut self, call: &Call) {
        let Some((key, domain)) = call.def.laws.iter().find_map(|law| match law {
            Law::Draws { key, domain } => Some((*key, *domain)),
            _ => None,
        }) else {
            return;
        };
        let bound = (call.bound(domain), call.bound(key));
        let (Some(&Bound::Int(domain)), Some(&Bound::Value(value))) = bound else {
            return;
        };
        let Some(key) = self.key(value) else {
            return;
        };
        let former = *self.draws.entry((key, domain)).or_insert(self.step);
        if former == self.step {
            return;
        }
        let got = format!("the same as {}: the elements are equal", self.place(former));
        let expected = "a different name or domain for each draw";
        let hint = "give one of the two another `domain`, or another `id`";
        let issue = match self.program.threads {
            Some(_) => Issue::error("equal-draws", expected, got),
            None => Issue::warning("equal-draws", expected, got),
        };
        self.report(issue.hint(hint));
    }

    /// The source of a value, if it is known: its storage is an upload, or an unwritten copy of
    /// one.
    fn source_of(&self, value: ValueId) -> Option<Source> {
        let upload = self.values.value(value)?.storage;
        if let Some(source) = self.copies.get(&upload) {
            return Some(*source);
        }
        let storage = self.values.storage(upload)?;
        let first = 0;
        match storage.origin {
            StorageOrigin::Upload(host) if storage.last_write.is_none() => Some(Source {
                host,
                upload,
                first,
            }),
            _ => None,
        }
    }

    fn key(&self, value: ValueId) -> Option<Key<'p>> {
        let Source {
            host,
            upload,
            first,
        } = self.source_of(value)?;
        let mut view = self.values.view(value).clone();
        view.offset += first;
        match self.program.host(host)? {
            HostSlot::Input { name, .. } => Some(Key::Input(name, view)),
            HostSlot::Data(tensor) if view.shape.elements() <= MAX_KEY_ELEMENTS => {
                let root = &self.values.storage(upload)?.root;
                Some(Key::Data(show(tensor, root, &view)?.words()))
            }
            _ => None,
        }
    }

    /// The source of which the whole of a call's result is a copy, if it is one.
    pub(crate) fn copied(&self, call: &Call, out: ValueId) -> Option<Source> {
        if !call.def.is_transfer() || !self.is_whole(out) {
            return None;
        }
        let read = call.value(call.def.param("a")?)?;
        let (from, to) = (self.values.view(read), self.values.view(out));
        let alike = from.shape == to.shape && from.is_contiguous() && to.is_contiguous();
        let source = self.source_of(read).filter(|_| alike)?;
        Some(Source {
            first: source.first + from.offset,
            ..source
        })
    }
}
