//! Coefficients and values: which of the two each polynomial is, step by step.
//!
//! A storage has the form that was stated where it was made, or the form of the last write to all
//! of it. The declaration of an op states the forms that it takes and gives; a cast holds for its
//! own view, until the storage changes its form. A storage that is written piece by piece may have
//! both forms: then a view of the one form may be used, and one of both may not.

mod parts;

use crate::check::Checker;
use crate::report::Issue;
use crate::spelling::Site;
use crate::{Call, StorageId, ValueId};
use cloakwork_ir::{Repr, View};
use cloakwork_ops::{Args, Code, Law, OpDef, ParamKind, ReprRule};
use parts::{Forms, Parts};
use rustc_hash::FxHashMap;

/// The form of one storage.
#[derive(Debug, Default)]
struct State {
    declared: Option<Repr>,
    now: Option<Repr>,
    /// How often its form has changed.
    changes: u32,
    /// The step that gave it its form.
    since: u32,
    /// The forms of its elements, where it has several.
    parts: Parts,
}

impl State {
    /// All of it is of one form, or of none that is known.
    fn settle(&mut self, now: Option<Repr>, step: u32) {
        self.now = now;
        self.since = step;
        self.parts = Parts::default();
        self.changes += 1;
    }

    /// Some of it is of a form of its own.
    fn write_part(&mut self, view: &View, given: Option<Repr>, (root, step): (&View, u32)) {
        self.parts.write(view, given, step);
        match self.parts.of(root).only() {
            Some(now) => self.settle(Some(now), step),
            None => {
                self.now = None;
                self.changes += u32::from(given.is_some());
            }
        }
    }
}

/// The forms of all storages and casts.
#[derive(Debug, Default)]
pub(crate) struct Reprs {
    storages: FxHashMap<StorageId, State>,
    /// The forms that casts gave to views, and the version of their storage at that time.
    casts: FxHashMap<ValueId, (Option<Repr>, u32)>,
}

impl Reprs {
    /// Nothing is known of a storage any more.
    pub fn forget(&mut self, storage: StorageId) {
        let state = self.storages.entry(storage).or_default();
        *state = State {
            changes: state.changes + 1,
            ..State::default()
        };
    }
}

/// The rule of an op, if it has one.
fn rule(def: &OpDef) -> Option<ReprRule> {
    def.laws.iter().find_map(|law| match law {
        Law::Reprs(rule) => Some(*rule),
        _ => None,
    })
}

impl Checker<'_> {
    fn state(&self, value: ValueId) -> Option<&State> {
        self.reprs.storages.get(&self.values.storage_of(value)?)
    }

    fn changes(&self, value: ValueId) -> u32 {
        self.state(value).map_or(0, |state| state.changes)
    }

    fn cast_of(&self, value: ValueId) -> Option<Option<Repr>> {
        let (repr, change) = *self.reprs.casts.get(&value)?;
        (change == self.changes(value)).then_some(repr)
    }

    /// The form of a value, if it is a polynomial of a known form. One element is a scalar.
    fn repr_of(&self, value: ValueId) -> Option<Repr> {
        let info = self.values.value(value)?;
        if info.view.rank() == 0 {
            return None;
        }
        self.cast_of(value).unwrap_or_else(|| {
            let state = self.state(value)?;
            state.now.or_else(|| state.parts.of(&info.view).only())
        })
    }

    /// The forms of a value's elements, where they differ and no cast says which.
    fn mixed(&self, value: ValueId) -> Option<[(Repr, u32); 2]> {
        let info = self.values.value(value)?;
        let state = self.state(value)?;
        let known = self.cast_of(value).is_some() || state.now.is_some();
        let forms = (!known).then(|| state.parts.of(&info.view));
        forms.and_then(Forms::mixed)
    }

    /// The error for a value of both forms.
    fn mixture(&self, value: ValueId) -> Option<Issue> {
        let [(one, first), (other, second)] = self.mixed(value)?;
        let got = format!(
            "both forms: {} written at {}, {} at {}",
            one.described(),
            self.place(first),
            other.described(),
            self.place(second)
        );
        let issue = Issue::of(Code::Repr, "a polynomial of one form", got);
        let hint = "transform the one part (ntt, intt), or cast the whole (as_repr, or a View of \
                    kind coef or lagrange)";
        Some(issue.hint(hint))
    }

    /// The form that the step at hand states for the polynomial that it makes or takes.
    fn said(&self) -> Option<Repr> {
        self.note(self.step)?.repr
    }

    /// Gives a new storage the form that its step states.
    pub(crate) fn made_repr(&mut self, value: ValueId) {
        let (Some(said), Some(info)) = (self.said(), self.values.value(value)) else {
            return;
        };
        let state = State {
            declared: Some(said),
            now: Some(said),
            since: self.step,
            ..State::default()
        };
        self.reprs.storages.insert(info.storage, state);
    }

    /// Gives a copy the form of its source.
    pub(crate) fn copied_repr(&mut self, source: ValueId, copy: ValueId) {
        let now = self.repr_of(source);
        if let (Some(_), Some(info)) = (now, self.values.value(copy)) {
            let state = State {
                now,
                since: self.step,
                ..State::default()
            };
            self.reprs.storages.insert(info.storage, state);
        }
    }

    /// Gives a view the form of its source, or the form that a cast states.
    pub(crate) fn viewed_repr(&mut self, call: &Call, source: ValueId, view: ValueId) {
        let cast = match rule(call.def) {
            Some(rule @ ReprRule::Says(_)) => {
                let apply = |args: &Args| rule.apply(args, &|_: &str| None);
                let said = self.values.with_views(self.program, call, apply);
                Some(said.unwrap_or_default())
            }
            _ => self.cast_of(source),
        };
        if let Some(repr) = cast {
            let changes = self.changes(source);
            self.reprs.casts.insert(view, (repr, changes));
        }
    }

    /// Checks that a value has the form that the step states for it.
    pub(crate) fn taken_repr(&mut self, value: ValueId) {
        let Some(said) = self.said() else {
            return;
        };
        let name = self.values.value(value).map(|info| info.name);
        if let Some(issue) = self.mixture(value) {
            self.report(issue.names(name));
        }
        if let Some(repr) = self.repr_of(value).filter(|repr| *repr != said) {
            let issue = Issue::of(Code::Repr, said.described(), repr.described());
            self.report(issue.names(name).hint("transform it first, or cast it"));
        }
    }

    /// Whether nothing is known of what a call reads and writes.
    fn is_unknown(&self, call: &Call, out: ValueId) -> bool {
        let Reprs { storages, casts } = &self.reprs;
        let unknown = |value| self.state(value).is_none() && !casts.contains_key(&value);
        (storages.is_empty() && casts.is_empty()) || call.tensors().chain([out]).all(unknown)
    }

    /// Holds the operands of a call to its rule, and notes what its result is. `None`: they are
    /// not, which is reported.
    pub(crate) fn follow_repr(&mut self, site: Site<'_>, call: &Call, out: ValueId) -> Option<()> {
        let rule = rule(call.def);
        let gives = self.said().is_some() || rule.is_some_and(ReprRule::gives_of_itself);
        if !gives && self.is_unknown(call, out) {
            return Some(());
        }
        let given = match rule {
            None => None,
            Some(rule) => {
                self.refuse_mixtures(site, call)?;
                let of = |name: &str| {
                    let value = call.value(call.def.param(name)?)?;
                    self.repr_of(value)
                };
                let rule = |args: &Args| rule.apply(args, &of);
                match self.values.with_views(self.program, call, rule) {
                    Ok(given) => given,
                    Err(error) => {
                        self.refuse(site, error);
                        return None;
                    }
                }
            }
        };
        let said = self.said();
        if let (Some(said), Some(given)) = (said, given)
            && said != given
        {
            let issue = Issue::of(Code::Repr, said.described(), given.described());
            let name = self.name_of(site, site.spelling.out?);
            self.report(issue.names(name).hint("transform the operand, or cast it"));
            return None;
        }
        let changes = rule.is_some_and(ReprRule::changes);
        self.written_repr(site, (out, said.or(given)), changes)
    }

    /// An op that takes polynomials of a form takes none of both. `None`: one is, which is
    /// reported.
    fn refuse_mixtures(&mut self, site: Site<'_>, call: &Call) -> Option<()> {
        for (param, declared) in call.def.params.iter().enumerate() {
            let value = call
                .value(param)
                .filter(|_| declared.kind == ParamKind::Tensor);
            if let Some(issue) = value.and_then(|value| self.mixture(value)) {
                let name = self.name_of(site, param);
                self.report(issue.operand(site.spelling.param_name(param)).names(name));
                return None;
            }
        }
        Some(())
    }

    /// Updates the form of a storage that is written through a view.
    fn written_repr(
        &mut self,
        site: Site<'_>,
        (out, given): (ValueId, Option<Repr>),
        changes: bool,
    ) -> Option<()> {
        let info = self.values.value(out)?;
        let (storage, elements) = (info.storage, info.view.shape.elements());
        let root = self.values.storage(storage)?;
        let whole = elements == root.root.shape.elements();
        let (fresh, root) = (root.last_write.is_none(), root.root.clone());
        let view = info.view.clone();
        let cast = self.cast_of(out).flatten();
        let step = self.step;
        let state = self.reprs.storages.entry(storage).or_default();
        if !whole && !state.parts.is_empty() {
            state.write_part(&view, given, (&root, step));
            return Some(());
        }
        if given.is_none() && state.now.is_none() && state.parts.is_empty() {
            return Some(());
        }
        let fits = |given| [state.now, state.declared, cast].contains(&Some(given));
        let next = match given {
            // Elements of no known form: what was said of the memory is taken to hold.
            None if whole => state.declared,
            None => state.now,
            Some(given) if changes => (whole || state.now == Some(given)).then_some(given),
            Some(given) if fits(given) => state.now.filter(|_| !whole).or(Some(given)),
            Some(given) if state.declared.is_some() => {
                let expected = state.now.map_or("", Repr::described);
                let name = self.name_of(site, site.spelling.out?);
                let hint = "transform the operand (ntt, intt), cast it, or write it into memory \
                            of its own form";
                let issue = Issue::of(Code::Repr, expected, given.described());
                self.report(
                    issue
                        .operand(site.spelling.out_name())
                        .names(name)
                        .hint(hint),
                );
                self.reprs.forget(storage);
                return Some(());
            }
            Some(given) => (whole || fresh).then_some(given),
        };
        if next.is_none() && given.is_some() {
            if let Some(now) = state.now {
                state.parts.write(&root, Some(now), state.since);
            }
            state.write_part(&view, given, (&root, step));
        } else if next != state.now || !state.parts.is_empty() {
            state.settle(next, step);
        }
        Some(())
    }
}
