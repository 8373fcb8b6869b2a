//! Accesses of steps to bytes, and whether their order is sure.

use super::schedule::Schedule;
use cloakwork_ir::{Overlap, View};
use rustc_hash::FxHashMap;

/// An access of a step to bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    Read,
    Write,
    /// The bytes are given back.
    Free,
}

/// Two accesses, of which one writes or frees, in no sure order.
#[derive(Clone, Debug)]
pub(super) struct Race {
    pub former: (u32, Kind),
    pub latter: (u32, Kind),
    /// The view of the former access.
    pub seen: View,
}

/// The last access of a kind to a view.
struct Noted {
    node: u32,
    /// The node's place in its chain.
    place: u32,
    /// How many accesses to the storage were noted before.
    order: u32,
}

/// Accesses of one chain to a storage: the last node of each kind and view.
#[derive(Default)]
struct OfChain {
    /// Its last node of all.
    last: (u32, u32),
    entries: FxHashMap<(Kind, View), Noted>,
}

/// The accesses to one storage so far.
#[derive(Default)]
pub(super) struct Accesses {
    chains: Vec<(u32, OfChain)>,
    noted: u32,
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
        let mut race: Option<(u32, Race)> = None;
        for (other, done) in &self.chains {
            if *other == chain || done.last.1 <= schedule.known_of(node, *other) {
                continue;
            }
            let known = schedule.known_of(node, *other);
            for ((theirs, seen), former) in &done.entries {
                let both_read = *theirs == Kind::Read && kind == Kind::Read;
                if both_read || former.place <= known || *budget == 0 {
                    continue;
                }
                *budget -= 1;
                if view.overlap(seen) != Overlap::Disjoint {
                    // The one noted first, whatever the order of the table.
                    if race.as_ref().is_none_or(|(best, _)| *best > former.order) {
                        let found = Race {
                            former: (former.node, *theirs),
                            latter: (node, kind),
                            seen: seen.clone(),
                        };
                        race = Some((former.order, found));
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
                    None => return race.map(|(_, race)| race),
                }
            }
        };
        own.last = (node, at);
        let noted = Noted {
            node,
            place: at,
            order: self.noted,
        };
        own.entries.insert((kind, view.clone()), noted);
        self.noted += 1;
        race.map(|(_, race)| race)
    }
}
