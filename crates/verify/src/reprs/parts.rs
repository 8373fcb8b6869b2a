//! A storage of which some is coefficients and some is values: which elements are which.

use crate::region::{Pieces, Region};
use cloakwork_ir::{Repr, View};

/// Changes between the two forms that are followed; after more, all elements may be of both.
const MAX_LAYERS: usize = 64;
/// Stretches of one form that are looked at for one question, at most.
const MAX_STEPS: u64 = 1 << 14;

/// The region that was written in one form, until something was written in another.
#[derive(Debug)]
struct Layer {
    /// None: elements of no known form.
    repr: Option<Repr>,
    region: Region,
    /// The first step that wrote some of it.
    step: u32,
}

/// Elements of a storage by the form in which they were written last.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// The newest last.
    layers: Vec<Layer>,
    /// The forms are too many to follow: any element may have any form.
    lost: bool,
}

/// Forms that meet in one view, each with a step that wrote it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Forms {
    first: Option<(Repr, u32)>,
    other: Option<(Repr, u32)>,
    /// Of some elements nothing is known.
    unknown: bool,
}

impl Forms {
    /// The form, where there is only one.
    pub fn only(self) -> Option<Repr> {
        let is_only = self.other.is_none() && !self.unknown;
        self.first.filter(|_| is_only).map(|(repr, _)| repr)
    }

    /// Both, where there are two.
    pub fn mixed(self) -> Option<[(Repr, u32); 2]> {
        Some([self.first?, self.other?])
    }

    fn add(&mut self, layer: &Layer) {
        let Some(repr) = layer.repr else {
            self.unknown = true;
            return;
        };
        match self.first {
            None => self.first = Some((repr, layer.step)),
            Some((first, _)) if first != repr => self.other = Some((repr, layer.step)),
            Some(_) => {}
        }
    }
}

impl Parts {
    /// Whether nothing has been written since the whole was of one form, or of none.
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// Notes that a view was written in a form, or in none that is known.
    pub fn write(&mut self, view: &View, repr: Option<Repr>, step: u32) {
        if self.layers.last().is_none_or(|last| last.repr != repr) {
            self.lost |= self.layers.len() == MAX_LAYERS;
            if self.lost {
                return;
            }
            let region = Region::default();
            self.layers.push(Layer { repr, region, step });
        }
        if let Some(last) = self.layers.last_mut() {
            last.region.add(view);
            self.lost |= !last.region.is_exact();
        }
    }

    /// The forms of a view's elements.
    pub fn of(&self, view: &View) -> Forms {
        let mut forms = Forms::default();
        if self.lost {
            self.layers.iter().for_each(|layer| forms.add(layer));
            return forms;
        }
        let mut steps = MAX_STEPS;
        for (from, to) in Pieces::of(view).into_iter().flatten() {
            let mut at = from;
            while at < to && forms.other.is_none() {
                if steps == 0 {
                    forms.unknown = true;
                    return forms;
                }
                steps -= 1;
                at = self.stretch(at, to, &mut forms);
            }
        }
        forms
    }

    /// Adds the form of an element, and says where another may begin.
    fn stretch(&self, at: i64, to: i64, forms: &mut Forms) -> i64 {
        let mut end = to;
        for layer in self.layers.iter().rev() {
            if let Some(own) = layer.region.end_at(at) {
                forms.add(layer);
                return end.min(own);
            }
            end = layer.region.next_start(at, end);
        }
        forms.unknown = true;
        end
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::{MAX_LAYERS, Parts};
    use cloakwork_ir::{Repr, Shape, Take, View};

    fn strided(start: u64, count: u64, step: i64) -> View {
        let whole = View::contiguous(Shape::new(&[48]).unwrap());
        whole.slice(&[Take::Steps { start, count, step }]).unwrap()
    }

    #[test]
    fn forms_are_those_of_a_list_of_elements() {
        let mut state = 9u64;
        let mut below = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005) + 1;
            (state >> 33) % bound
        };
        let mut view = || {
            let (start, step) = (below(24), 1 + below(3));
            let count = 1 + below((48 - start).div_ceil(step));
            (strided(start, count, step as i64), below(5))
        };
        for _ in 0..500 {
            let (mut parts, mut list) = (Parts::default(), [None; 48]);
            for step in 0..12 {
                let (written, form) = view();
                let form = [None, Some(Repr::Coef), Some(Repr::Lagrange)][form as usize % 3];
                parts.write(&written, form, step);
                written.offsets().for_each(|at| list[at as usize] = form);
                let seen = view().0;
                let has = |form| seen.offsets().any(|at| list[at as usize] == form);
                let both = Repr::ALL.iter().all(|&form| has(Some(form)));
                assert_eq!(parts.of(&seen).mixed().is_some(), both);
                let only = Repr::ALL.into_iter().find(|&form| has(Some(form)));
                let only = only.filter(|_| !both && !has(None));
                assert_eq!(parts.of(&seen).only(), only);
            }
        }
    }

    #[test]
    fn after_too_many_changes_any_element_may_be_of_both() {
        let mut parts = Parts::default();
        for step in 0..=MAX_LAYERS {
            let form = Repr::ALL[step % 2];
            parts.write(&strided(0, 1, 1), Some(form), step as u32);
        }
        assert!(parts.of(&strided(7, 1, 1)).mixed().is_some());
    }
}
