//! Joined calls: calls of one op whose elements share work, on small tensors that do not depend on
//! each other, become one call. Inversions in fields are such: many together cost one inversion and
//! a few products each.
//!
//! Each operand is copied where its call stood, and all are computed where the last call stood. A
//! step that names a result of one of them ends the group before it.

use crate::Draft;
use crate::draft::{Change, Group};
use crate::facts::{can_fail, for_named};
use crate::uses::Uses;
use cloakwork_ir::{DType, Device};
use cloakwork_ops::{Law, OpDef};
use cloakwork_verify::{Action, Call, StorageId, ValueId};
use rustc_hash::FxHashSet;

/// A tensor of more elements shares enough work of its own.
const MOST_ELEMENTS: u64 = 64;
/// A group of more elements in all gains nothing from more.
const MOST_TOGETHER: u64 = 4096;

/// A call that may be joined with others.
#[derive(Clone, Copy)]
struct Member {
    step: u32,
    def: &'static OpDef,
    dtype: DType,
    operand: ValueId,
    result: ValueId,
    elements: u64,
}

/// Calls that are joined so far.
#[derive(Default)]
struct Open {
    members: Vec<Member>,
    results: FxHashSet<StorageId>,
    elements: u64,
}

pub(crate) fn run(draft: &mut Draft<'_>) {
    let mut open = Open::default();
    let mut done = Vec::new();
    let mut uses = None;
    for (index, step, action) in draft.kept() {
        let mut ends = false;
        if !open.members.is_empty() {
            for_named(action, |value| {
                ends |= open.results.contains(&draft.place(value).0)
            });
        }
        if ends {
            done.push(std::mem::take(&mut open).members);
        }
        let Some(member) = member(draft, step, action) else {
            continue;
        };
        // Nothing may have named the result before: it is made where all are.
        let uses = uses.get_or_insert_with(|| Uses::of(draft));
        if uses.get(draft.place(member.result).0).named.first != index {
            continue;
        }
        let fits = |first: &Member| {
            let same = std::ptr::eq(first.def, member.def) && first.dtype == member.dtype;
            same && open.elements + member.elements <= MOST_TOGETHER
        };
        if !open.members.first().is_none_or(fits) {
            done.push(std::mem::take(&mut open).members);
        }
        open.elements += member.elements;
        open.results.insert(draft.place(member.result).0);
        open.members.push(member);
    }
    done.push(open.members);
    for members in done.iter().filter(|members| members.len() > 1) {
        join(draft, members);
    }
}

/// A call on a small tensor that makes its result.
fn member(draft: &Draft, step: u32, action: &Action) -> Option<Member> {
    let Action::Kernel { call, out } = action else {
        return None;
    };
    if !call.def.laws.contains(&Law::SharesWork) || can_fail(action) {
        return None;
    }
    let operand = only_operand(call)?;
    let (read, written) = (draft.verified.value(operand)?, draft.verified.value(*out)?);
    let storage = draft.verified.storage(draft.place(*out).0)?;
    let source = draft.verified.storage(draft.place(operand).0)?;
    let own = draft.root(written.storage) == *out && draft.replaces_all(action);
    let here = storage.device == Device::Cpu && source.device == Device::Cpu;
    let alike = here && read.view.shape == written.view.shape;
    let elements = read.view.shape.elements();
    // An inversion in a field of one word takes no longer than a step.
    let large = read.dtype.is_field() && read.dtype.components() > 1;
    let fits = own && alike && large && (1..=MOST_ELEMENTS).contains(&elements);
    fits.then_some(Member {
        step,
        def: call.def,
        dtype: read.dtype,
        operand,
        result: *out,
        elements,
    })
}

/// The tensor of a call that takes that and its result.
fn only_operand(call: &Call) -> Option<ValueId> {
    match call.values.len() {
        2 => call.value(0),
        _ => None,
    }
}

fn join(draft: &mut Draft, members: &[Member]) {
    let (Some(first), Some(last)) = (members.first(), members.last()) else {
        return;
    };
    let group = draft.groups.len() as u32;
    draft.groups.push(Group {
        def: first.def,
        results: members.iter().map(|member| member.result).collect(),
    });
    for member in members {
        let operand = member.operand;
        draft.replace(member.step, Change::Put { group, operand });
        draft.drop_maker(member.result, member.step);
    }
    draft.replace(last.step, Change::Run { group });
}
