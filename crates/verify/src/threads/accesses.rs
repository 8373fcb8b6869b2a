//! Who touches which bytes, and whether an order is sure.

use super::schedule::Schedule;
use cloakwork_ir::{Overlap, View};
use std::collections::HashMap;

/// What a step does to bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    Read,
    Write,
    /// They are given back.
    Free,
}

/// Two accesses, of which one writes or frees, in no sure order.
#[derive(Clone, Debug)]
pub(super) struct Race {
    pub former: (u32, Kind),
    pub latter: (u32, Kind),
    /// What the former touches.
    pub seen: View,
}

/// What one chain has done to a storage: the last node of each kind and view.
#[derive(Default)]
struct OfChain {
    /// Its last node of all.
    last: (u32, u32),
    entries: HashMap<(Kind, View), (u32, u32)>,
}

/// The accesses to one storage so far.
#[derive(Default)]
pub(super) struct Accesses {
    chains: Vec<(u32, OfChain)>,
}

impl Accesses {
    /// Notes an access of a node; the first earlier one that it races with. `budget` counts
    /// comparisons of views and stops them at 0.
    pub fn add(
        &mut self,
        schedule: &Schedule,
        node: u32,
        (kind, view): (Kind, &View),
        budget: &mut u64,
    ) -> Option<Race> {
        let (chain, at) = schedule.place(node);
        let mut race = None;
        for (other, done) in &self.chains {
            if *other == chain || done.last.1 <= schedule.known_of(node, *other) {
                continue;
            }
            let known = schedule.known_of(node, *other);
            for ((theirs, seen), &(former, place)) in &done.entries {
                let both_read = *theirs == Kind::Read && kind == Kind::Read;
                if both_read || place <= known || *budget == 0 {
                    continue;
                }
                *budget -= 1;
                if view.overlap(seen) != Overlap::Disjoint {
                    // The earliest in the canonical order, whatever the order of the table.
                    let best = race.as_ref().map(|race: &Race| race.former);
                    if best.is_none_or(|best| best > (former, *theirs)) {
                        race = Some(Race {
                            former: (former, *theirs),
                            latter: (node, kind),
                            seen: seen.clone(),
                        });
                    }
                }
            }
        }
        let own = match self.chains.iter_mut().find(|(other, _)| *other == chain) {
            Some((_, own)) => own,
            None => {
                self.chains.push((chain, OfChain::default()));
                match self.chains.last_mut() {
                    Some((_, own)) => own,
                    None => return race,
                }
            }
        };
        own.last = (node, at);
        own.entries.insert((kind, view.clone()), (node, at));
        race
    }
}
