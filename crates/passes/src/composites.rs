//! Composite ops: calls that are the expansion of a declared op, on whole tensors, become a call of
//! that op, for which there is a kernel. Their results are equal to the bit, as the declaration
//! says of its expansion.

use crate::draft::Change;
use crate::facts::{can_fail, written};
use crate::template::{Slot, Template, template, templates};
use crate::uses::Uses;
use crate::{Draft, dead};
use cloakwork_ir::Lifetime;
use cloakwork_ops::custom::registered;
use cloakwork_ops::{Aliasing, Law, OpDef, ParamKind};
use cloakwork_verify::{Action, Bound, Call, Mistake, ValueId, Verified};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::cmp::Reverse;

/// A call that takes the place of others.
struct Found {
    /// The step whose place it takes.
    step: u32,
    /// The other steps.
    inner: Vec<u32>,
    def: &'static OpDef,
    bounds: SmallVec<[Bound; 4]>,
    result: ValueId,
}

pub(crate) fn run(draft: &mut Draft<'_>) {
    recognize(draft, templates().iter());
}

/// The program in which expansions of some ops, those of vendors too, are calls of these ops; none
/// where there is none.
///
/// # Errors
/// A mistake of the pass.
pub fn recognized(
    verified: &Verified,
    is_wanted: &dyn Fn(&OpDef) -> bool,
) -> Result<Option<Verified>, Mistake> {
    let vendors: Vec<Template> = registered().into_iter().filter_map(template).collect();
    let all = templates().iter().chain(&vendors);
    let mut draft = Draft::new(verified);
    recognize(&mut draft, all.filter(|template| is_wanted(template.def)));
    if !draft.is_changed() {
        return Ok(None);
    }
    dead::run(&mut draft);
    draft.write().map(Some)
}

fn recognize<'t>(draft: &mut Draft<'_>, templates: impl Iterator<Item = &'t Template>) {
    let called = called(draft);
    let is_there = |template: &&Template| {
        let mut lines = template.lines.iter();
        lines.all(|line| called.contains(&std::ptr::from_ref(line.def)))
    };
    let there: Vec<&Template> = templates.filter(is_there).collect();
    if there.is_empty() {
        return;
    }
    let ends = |template: &Template, action: &Action| match (action, template.lines.last()) {
        (Action::Kernel { call, .. }, Some(line)) => std::ptr::eq(call.def, line.def),
        _ => false,
    };
    let uses = Uses::of(draft);
    let mut written_at = vec![Lifetime::NONE; draft.verified.storages().len()];
    let mut found: Vec<Found> = Vec::new();
    for (index, step, action) in draft.kept() {
        let ending = there.iter().filter(|template| ends(template, action));
        let finds = ending.filter_map(|template| {
            let search = Search {
                draft,
                uses: &uses,
                written_at: &written_at,
                template,
            };
            search.find(step, action)
        });
        // Of several the one that takes the place of most, of these the one of fewest operands; of
        // equal ones the first.
        let rank = |found: &Found| (found.inner.len(), Reverse(found.bounds.len()));
        found.extend(
            finds.reduce(|best, other| match rank(&other) > rank(&best) {
                true => other,
                false => best,
            }),
        );
        if let Some(value) = written(action) {
            written_at[draft.place(value).0.0 as usize].extend(index);
        }
    }
    for found in found {
        found.inner.iter().for_each(|&step| draft.drop_step(step));
        let Found {
            step,
            def,
            bounds,
            result,
            ..
        } = found;
        draft.replace(
            step,
            Change::Call {
                def,
                bounds,
                result,
            },
        );
    }
}

/// The ops that steps call.
fn called(draft: &Draft) -> FxHashSet<*const OpDef> {
    let calls = draft.kept().filter_map(|(_, _, action)| action.call());
    calls.map(|call| std::ptr::from_ref(call.def)).collect()
}

/// The search for a template's calls that end at an action.
struct Search<'a, 'v> {
    draft: &'a Draft<'v>,
    uses: &'a Uses,
    /// The actions before the one at hand that wrote each storage.
    written_at: &'a [Lifetime],
    template: &'a Template,
}

/// The values of parameters so far, and the actions that were found.
#[derive(Clone, Default)]
struct Match {
    bounds: Vec<Option<Bound>>,
    inner: Vec<u32>,
}

impl Search<'_, '_> {
    fn find(&self, step: u32, action: &Action) -> Option<Found> {
        let Action::Kernel { call, out } = action else {
            return None;
        };
        let mut matched = Match {
            bounds: vec![None; self.template.def.params.len()],
            inner: Vec::new(),
        };
        let last = self.template.lines.len() - 1;
        if can_fail(action) || !self.matches(last, call, *out, &mut matched) {
            return None;
        }
        let first = *matched.inner.iter().min()?;
        self.are_unchanged(first, *out, &matched).then_some(())?;
        let own = self
            .draft
            .verified
            .value(*out)
            .is_some_and(|info| info.step == step);
        let params = self.template.def.params.iter().zip(matched.bounds);
        let bounds = params.map(|(param, bound)| match (param.kind, bound) {
            (ParamKind::Out, _) if own => Some(Bound::Absent),
            (ParamKind::Out, _) => Some(Bound::Value(*out)),
            (ParamKind::OptionalTensor | ParamKind::Hint, None) => Some(Bound::Absent),
            (ParamKind::Tensor, Some(Bound::Int(_))) => None,
            (_, bound) => bound,
        });
        let actions = self.draft.verified.actions();
        Some(Found {
            step,
            inner: matched
                .inner
                .iter()
                .map(|&index| actions[index as usize].0)
                .collect(),
            def: self.template.def,
            bounds: bounds.collect::<Option<_>>()?,
            result: *out,
        })
    }

    /// Whether a call is the template's line; it binds parameters.
    fn matches(&self, line: usize, call: &Call, out: ValueId, matched: &mut Match) -> bool {
        let line = &self.template.lines[line];
        if !std::ptr::eq(line.def, call.def) {
            return false;
        }
        let mut orders = vec![call.values.clone()];
        if line.def.laws.contains(&Law::Commutes) && call.values.len() > 1 {
            let mut swapped = call.values.clone();
            swapped.swap(0, 1);
            orders.push(swapped);
        }
        orders.iter().any(|values| {
            let mut tried = matched.clone();
            let mut slots = line.slots.iter().zip(values);
            let fits = slots.all(|(slot, bound)| self.fits(*slot, *bound, out, &mut tried));
            if fits {
                *matched = tried;
            }
            fits
        })
    }

    fn fits(&self, slot: Slot, bound: Bound, out: ValueId, matched: &mut Match) -> bool {
        match (slot, bound) {
            (Slot::Out, _) | (Slot::Absent, Bound::Absent) => true,
            (Slot::Int(word), Bound::Int(other)) => word == other,
            (Slot::Param(param), Bound::Value(_) | Bound::Int(_)) => {
                let known = &mut matched.bounds[param];
                let bound = match bound {
                    Bound::Value(value) => Bound::Value(self.draft.standing(value)),
                    other => other,
                };
                *known.get_or_insert(bound) == bound
            }
            (Slot::Result(line), Bound::Value(value)) => self.is_result(line, value, out, matched),
            _ => false,
        }
    }

    /// Whether a value is all that a line's call made, and nothing else reads or names it.
    fn is_result(&self, line: usize, value: ValueId, out: ValueId, matched: &mut Match) -> bool {
        let draft = self.draft;
        let (storage, _) = draft.place(value);
        let used = self.uses.get(storage);
        let Some((step, action)) = draft.verified.actions().get(used.written.last as usize) else {
            return false;
        };
        let Action::Kernel { call, out: made } = action else {
            return false;
        };
        let alone = used.writes == 1 && used.reads == 1 && *made == value;
        let shape = draft.view(value).shape == draft.view(out).shape;
        let plain = draft.keeps(*step) && draft.replaces_all(action) && !can_fail(action);
        if !(alone && shape && plain) {
            return false;
        }
        matched.inner.push(used.written.last);
        self.matches(line, call, value, matched)
    }

    /// Whether operands hold at the end what they held where the first call read them, and none is
    /// in the way of what is written.
    fn are_unchanged(&self, first: u32, out: ValueId, matched: &Match) -> bool {
        let draft = self.draft;
        let target = draft.place(out).0;
        let free = self.template.body.aliasing == Aliasing::Same;
        matched.bounds.iter().flatten().all(|bound| {
            let Bound::Value(value) = *bound else {
                return true;
            };
            let (storage, _) = draft.place(value);
            let before = self.written_at[storage.0 as usize];
            let apart = storage != target || (free && value == draft.standing(out));
            apart && (before.is_none() || before.last < first)
        })
    }
}
