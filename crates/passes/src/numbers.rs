//! Numbers for the contents of storages: equal numbers, equal elements.
//!
//! A write gives its storage the number of the op, its arguments, and what its operands hold, seen
//! through their views; a write of a part, and one that reads what was there, counts the former
//! number too. So an update in place is a function like any other, and what two ways of the same
//! writes come to is one number.

use crate::Draft;
use crate::facts::{effect, written};
use cloakwork_ir::{DType, HostId, HostSlot, ShapeItem, Type, View};
use cloakwork_ops::{Law, OpDef, ParamKind};
use cloakwork_verify::{Action, Bound, Call, StorageId, StorageOrigin, ValueId};
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};

/// The number of a storage's contents.
pub(crate) type Number = u32;

/// Words of a bound argument; those of a list come behind.
const WORDS: usize = 3;

/// The meaning of words in a key.
#[repr(u32)]
enum Kind {
    Upload,
    Zeros,
    Copy,
    Call,
    Value,
    Int,
    Type,
    List,
    Absent,
    Whole,
    Part,
}

/// The effect of a write on its storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Write {
    /// The number of its contents now.
    pub number: Number,
    /// Whether an action before did the same with equal operands.
    pub repeats: bool,
    /// Whether the storage held the same before.
    pub idle: bool,
}

/// Data with more elements are compared by where they lie.
const SMALL: u64 = 64;

/// The elements of a tensor in the program.
#[derive(PartialEq, Eq, Hash)]
enum Elements<'v> {
    Words(Vec<i64>),
    At(usize, &'v View),
}

/// The numbers so far.
pub(crate) struct Numbers<'d, 'v> {
    draft: &'d Draft<'v>,
    held: Vec<Number>,
    inputs: FxHashMap<&'v str, HostId>,
    data: FxHashMap<(Type, Elements<'v>), HostId>,
    views: FxHashMap<u64, SmallVec<[u32; 1]>>,
    known_views: Vec<(DType, View)>,
    /// The view that was asked for last; 0 where none was.
    last_view: u32,
    /// The view of each value; 0 before it is needed.
    view_of: Vec<u32>,
    /// Where keys are, by hash: each entry has half of the hash, and the place in `words` plus 1.
    keys: Vec<(u32, u32)>,
    /// All keys, one after the other, each with its number and its length first.
    words: Vec<u32>,
    key: Vec<u32>,
    next: Number,
}

/// Held by nothing.
const UNKNOWN: Number = 0;

impl<'d, 'v> Numbers<'d, 'v> {
    pub fn new(draft: &'d Draft<'v>) -> Self {
        Self {
            draft,
            held: vec![UNKNOWN; draft.verified.storages().len()],
            inputs: FxHashMap::default(),
            data: FxHashMap::default(),
            views: FxHashMap::default(),
            known_views: Vec::new(),
            last_view: 0,
            view_of: vec![0; draft.verified.values().len()],
            keys: vec![(0, 0); (2 * draft.verified.actions().len()).next_power_of_two()],
            words: Vec::with_capacity(8 * draft.verified.actions().len()),
            key: Vec::new(),
            next: UNKNOWN,
        }
    }

    /// How many numbers there are, 0 included.
    pub fn count(&self) -> usize {
        self.next as usize + 1
    }

    /// The number of a storage's contents now.
    pub fn held(&self, storage: StorageId) -> Number {
        self.held[storage.0 as usize]
    }

    /// Follows an action; gives its write, if it has one.
    pub fn follow(&mut self, action: &Action) -> Option<Write> {
        self.key.clear();
        match action {
            Action::View { .. } | Action::Download { .. } => return None,
            Action::Allocate { value } => {
                let (storage, _) = self.draft.place(*value);
                let origin = self.draft.verified.storage(storage)?.origin;
                let write = if origin == StorageOrigin::Zeros {
                    let view = self.view(*value);
                    self.key.extend([Kind::Zeros as u32, view]);
                    self.number()
                } else {
                    (self.fresh(), false)
                };
                self.held[storage.0 as usize] = write.0;
                return None;
            }
            Action::Upload { host, value } => self.upload(*host, *value),
            Action::Copy { source, .. } => {
                self.key.push(Kind::Copy as u32);
                self.operand(*source);
            }
            Action::Kernel { call, .. } | Action::Composite { call, .. } => self.call(call),
        }
        let value = written(action)?;
        let (storage, _) = self.draft.place(value);
        let before = self.held(storage);
        let view = self.view(value);
        if self.draft.replaces_all(action) {
            self.key.extend([Kind::Whole as u32, view, 0]);
        } else {
            self.key.extend([Kind::Part as u32, view, before]);
        }
        let (number, repeats) = match effect(action) {
            Some(_) => (self.fresh(), false),
            None => self.number(),
        };
        self.held[storage.0 as usize] = number;
        let idle = repeats && number == before;
        Some(Write {
            number,
            repeats,
            idle,
        })
    }

    fn upload(&mut self, host: HostId, value: ValueId) {
        let first = match self.draft.verified.program().host(host) {
            // An input is one tensor wherever it is uploaded.
            Some(HostSlot::Input { name, .. }) => *self.inputs.entry(name).or_insert(host),
            Some(HostSlot::Data(tensor)) => {
                let elements = match tensor.ty().shape.elements() {
                    0..=SMALL => Elements::Words(tensor.words()),
                    _ => Elements::At(tensor.bytes().as_slice().as_ptr() as usize, tensor.view()),
                };
                *self.data.entry((tensor.ty(), elements)).or_insert(host)
            }
            _ => host,
        };
        let view = self.view(value);
        self.key.extend([Kind::Upload as u32, first.0, view]);
    }

    fn call(&mut self, call: &Call) {
        let def = std::ptr::from_ref::<OpDef>(call.def) as usize as u64;
        self.key.push(Kind::Call as u32);
        self.wide(def);
        let first = self.key.len();
        let bounds = call.def.params.iter().zip(&call.values);
        for (_, bound) in bounds.filter(|(param, _)| param.kind != ParamKind::Out) {
            match *bound {
                Bound::Value(value) => self.operand(value),
                Bound::Int(value) => {
                    self.key.push(Kind::Int as u32);
                    self.wide(value as u64);
                }
                Bound::DType(dtype) => {
                    self.key
                        .extend([Kind::Type as u32, u32::from(dtype.number()), 0]);
                }
                Bound::Host(host) => self.key.extend([Kind::Upload as u32, host.0, 0]),
                Bound::Absent => self.key.extend([Kind::Absent as u32, 0, 0]),
                Bound::Shape(place) => {
                    let items = self.draft.verified.items(place);
                    self.key.extend([Kind::List as u32, items.len() as u32, 0]);
                    items.iter().for_each(|item| self.item(item));
                }
            }
        }
        // Sums of floats that are no numbers keep the bits of one of them.
        let exact = |value| {
            let info = self.draft.verified.value(value);
            info.is_some_and(|info| info.dtype.is_integer() || info.dtype.is_field())
        };
        if call.def.laws.contains(&Law::Commutes)
            && call.value(0).is_some_and(exact)
            && let Some(pair) = self.key.get_mut(first..first + 2 * WORDS)
        {
            let (a, b) = pair.split_at_mut(WORDS);
            if a > b {
                a.swap_with_slice(b);
            }
        }
    }

    fn item(&mut self, item: &ShapeItem) {
        match item {
            ShapeItem::Int(size) => {
                self.key.push(Kind::Int as u32);
                self.wide(*size as u64);
            }
            ShapeItem::Slice { start, stop, step } => {
                for end in [start, stop, step] {
                    let kind = end.map_or(Kind::Absent, |_| Kind::Part);
                    self.key.push(kind as u32);
                    self.wide(end.unwrap_or(0) as u64);
                }
            }
            // No step that verifies has these.
            ShapeItem::Ellipsis | ShapeItem::Invalid(_) => {
                let fresh = self.fresh();
                self.key.extend([Kind::List as u32, fresh, 0]);
            }
        }
    }

    fn operand(&mut self, value: ValueId) {
        let (storage, _) = self.draft.place(value);
        let view = self.view(value);
        self.key
            .extend([Kind::Value as u32, self.held(storage), view]);
    }

    fn wide(&mut self, word: u64) {
        self.key.extend([word as u32, (word >> 32) as u32]);
    }

    /// The number of a value's element type and view.
    fn view(&mut self, value: ValueId) -> u32 {
        let known = self.view_of[value.0 as usize];
        if known != 0 {
            return known;
        }
        let dtype = self
            .draft
            .verified
            .value(value)
            .map_or(DType::Bool, |i| i.dtype);
        let ((_, shift), own) = (self.draft.place(value), self.draft.view(value));
        let offset = own.offset + shift;
        let is_same = |at: u32| {
            let known = self.known_views.get(at.wrapping_sub(1) as usize);
            known.is_some_and(|(known, view)| {
                let alike = *known == dtype && view.offset == offset;
                alike && view.shape == own.shape && view.strides == own.strides
            })
        };
        // Many values in a row are seen alike.
        let number = match is_same(self.last_view) {
            true => self.last_view,
            false => {
                let mut hasher = FxHasher::default();
                (dtype, &own.shape, &own.strides, offset).hash(&mut hasher);
                let entry = self.views.entry(hasher.finish()).or_default();
                let found = entry.iter().copied().find(|&at| is_same(at));
                found.unwrap_or_else(|| {
                    let own = own.clone();
                    self.known_views.push((dtype, View { offset, ..own }));
                    entry.push(self.known_views.len() as u32);
                    self.known_views.len() as u32
                })
            }
        };
        self.last_view = number;
        self.view_of[value.0 as usize] = number;
        number
    }

    /// The number of the key, and whether it had one before. There are at most half as many keys as
    /// places for them.
    fn number(&mut self) -> (Number, bool) {
        let mut hasher = FxHasher::default();
        self.key.hash(&mut hasher);
        let hash = hasher.finish();
        let (half, mask) = ((hash >> 32) as u32, self.keys.len() - 1);
        let mut place = hash as usize & mask;
        loop {
            let (known, at) = self.keys[place];
            let Some(at) = at.checked_sub(1) else {
                break;
            };
            if known == half
                && let Some(number) = self.is_at(at as usize)
            {
                return (number, true);
            }
            place = (place + 1) & mask;
        }
        self.next += 1;
        self.keys[place] = (half, self.words.len() as u32 + 1);
        self.words.extend([self.next, self.key.len() as u32]);
        self.words.extend_from_slice(&self.key);
        (self.next, false)
    }

    /// The number of the key that begins here, if it is the one at hand.
    fn is_at(&self, at: usize) -> Option<Number> {
        let (number, length) = (self.words[at], self.words[at + 1] as usize);
        let key = self.words.get(at + 2..at + 2 + length);
        (key == Some(&self.key)).then_some(number)
    }

    fn fresh(&mut self) -> Number {
        self.next += 1;
        self.next
    }
}
