//! Liveness: how long names, storages and buffers are used.
//!
//! One notion of a lifetime ([`Lifetime`]) and of bytes that live together ([`peak_bytes`]) serves
//! the whole engine. Callers differ in the places that they count:
//!
//! - a program as written has names ([`Owners`]): its reader must free what the program never
//!   frees, before anything is known of types or views;
//! - the verifier and the passes count the actions of a program: a storage lives as long as one of
//!   its views is used, and the verifier notes the last write of each storage as it reads;
//! - the planner counts the steps of a plan: a call may be several launches, launches share
//!   temporaries that no name means, and buffers of a fusion live through all of it.

/// From the first place that uses something to the last, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lifetime {
    /// The first place; `u32::MAX` where nothing uses it.
    pub first: u32,
    /// The last place; 0 where nothing uses it.
    pub last: u32,
}

impl Lifetime {
    /// Nothing uses it.
    pub const NONE: Self = Self {
        first: u32::MAX,
        last: 0,
    };

    /// One place uses it.
    #[must_use]
    pub const fn at(place: u32) -> Self {
        Self {
            first: place,
            last: place,
        }
    }

    /// Another place uses it, too.
    #[inline]
    pub fn extend(&mut self, place: u32) {
        self.first = self.first.min(place);
        self.last = self.last.max(place);
    }

    /// Whether nothing uses it.
    #[must_use]
    pub const fn is_none(self) -> bool {
        self.first > self.last
    }

    /// Whether some place lies in both.
    #[must_use]
    pub const fn meets(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// The most bytes that live at the same place, of things with such lifetimes and sizes, whose
/// places are below `places`.
#[must_use]
pub fn peak_bytes(places: usize, all: impl Iterator<Item = (Lifetime, u64)>) -> u64 {
    let mut begun = vec![0u64; places + 1];
    let mut ended = vec![0u64; places + 1];
    let add = |counts: &mut [u64], place: usize, bytes: u64| {
        if let Some(count) = counts.get_mut(place) {
            *count = count.saturating_add(bytes);
        }
    };
    for (life, bytes) in all.filter(|(life, _)| !life.is_none()) {
        add(&mut begun, life.first as usize, bytes);
        add(&mut ended, life.last as usize + 1, bytes);
    }
    let (mut now, mut peak) = (0u64, 0);
    for (begun, ended) in begun.into_iter().zip(ended) {
        now = now.saturating_sub(ended).saturating_add(begun);
        peak = peak.max(now);
    }
    peak
}

/// Where a name is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProgramPoint {
    /// The thread; 0 in programs of one.
    pub thread: u32,
    /// The step of the thread.
    pub step: u32,
}

/// Memory that a name of the program owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owned {
    /// The name.
    pub name: u32,
    /// The last use under this name or another.
    pub last: Option<ProgramPoint>,
    /// Whether a queue or several threads use it, so that no use is known to be the last.
    pub shared: bool,
    /// Whether the program itself says where it ends.
    pub kept: bool,
}

/// Which memory the names of a program mean, and where it is last used. Names are numbers.
#[derive(Debug, Default)]
pub struct Owners {
    /// In the order in which they came to be.
    owned: Vec<Option<Owned>>,
    /// The value of each name.
    meant: Vec<Option<u32>>,
}

impl Owners {
    fn meaning(&self, name: u32) -> Option<u32> {
        self.meant.get(name as usize).copied().flatten()
    }

    fn mean(&mut self, name: u32, meant: Option<u32>) {
        let place = name as usize;
        if place >= self.meant.len() {
            self.meant.resize(place + 1, None);
        }
        if let Some(known) = self.meant.get_mut(place) {
            *known = meant;
        }
    }

    /// The value that a name stands for.
    fn get(&mut self, name: u32) -> Option<&mut Owned> {
        let meant = self.meaning(name)?;
        self.owned.get_mut(meant as usize)?.as_mut()
    }

    /// Whether a name means memory.
    #[must_use]
    pub fn knows(&self, name: u32) -> bool {
        self.meaning(name).is_some()
    }

    /// A name owns new memory from here on.
    pub fn own(&mut self, name: u32) {
        self.insert(Owned {
            name,
            last: None,
            shared: false,
            kept: false,
        });
    }

    /// Memory replaces the former memory of its owner.
    fn insert(&mut self, owned: Owned) -> u32 {
        let name = owned.name;
        if let Some(known) = self.get(name).filter(|known| known.name == name) {
            *known = owned;
            return self.meaning(name).unwrap_or_default();
        }
        let meant = self.owned.len() as u32;
        self.owned.push(Some(owned));
        self.mean(name, Some(meant));
        meant
    }

    /// A name means the value of another one: a view of it.
    pub fn alias(&mut self, name: u32, of: u32) {
        self.mean(name, self.meaning(of));
    }

    /// The storage of an owner has another name from here on; views stay as they are.
    pub fn rename(&mut self, from: u32, to: u32) {
        if self.get(from).is_none_or(|owned| owned.name != from) {
            return;
        }
        let former = self.meaning(from);
        let taken = former.and_then(|former| self.owned.get_mut(former as usize)?.take());
        let Some(owned) = taken else { return };
        let now = self.insert(Owned { name: to, ..owned });
        for meant in self.meant.iter_mut().filter(|meant| **meant == former) {
            *meant = Some(now);
        }
    }

    /// A name is used here, by a queue or by the thread itself.
    pub fn touch(&mut self, name: u32, point: ProgramPoint, queued: bool) {
        if let Some(owned) = self.get(name) {
            let elsewhere = owned.last.is_some_and(|last| last.thread != point.thread);
            owned.shared |= queued || elsewhere;
            owned.last = Some(point);
        }
    }

    /// The program itself ends the life of a name's value.
    pub fn keep(&mut self, name: u32) {
        if let Some(owned) = self.get(name) {
            owned.kept = true;
        }
    }

    /// The program gives a name up, which may mean other memory later.
    pub fn release(&mut self, name: u32) {
        self.keep(name);
        self.mean(name, None);
    }

    /// Names that are used and never freed, in the order of their definition.
    pub fn left(&self) -> impl Iterator<Item = (Owned, ProgramPoint)> + '_ {
        let left = self.owned.iter().flatten().filter(|owned| !owned.kept);
        left.filter_map(|owned| Some((*owned, owned.last?)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Lifetime, Owners, ProgramPoint, peak_bytes};

    const fn at(thread: u32, step: u32) -> ProgramPoint {
        ProgramPoint { thread, step }
    }

    #[test]
    fn what_lives_at_the_same_place_counts_together() {
        let life = |first, last| Lifetime { first, last };
        let all = [(life(0, 1), 10), (life(1, 2), 20), (life(2, 3), 5)];
        assert_eq!(peak_bytes(4, all.into_iter()), 30);
        let unused = [(Lifetime::NONE, 1 << 40), (life(3, 3), 7)];
        assert_eq!(peak_bytes(4, unused.into_iter()), 7);
        assert!(life(0, 1).meets(life(1, 2)) && !life(0, 1).meets(life(2, 2)));
        assert!(!Lifetime::NONE.meets(life(0, 9)));
    }

    #[test]
    fn a_use_of_a_view_is_a_use_of_what_its_owner_is_called_by_then() {
        let mut owners = Owners::default();
        owners.own(0);
        owners.alias(1, 0);
        owners.rename(0, 2);
        owners.touch(1, at(0, 5), false);
        let left: Vec<_> = owners.left().collect();
        assert_eq!(left.len(), 1);
        assert_eq!((left[0].0.name, left[0].1), (2, at(0, 5)));
        assert!(!left[0].0.shared);
    }

    #[test]
    fn a_name_that_was_freed_owns_something_else_afterwards() {
        let mut owners = Owners::default();
        owners.own(0);
        owners.touch(0, at(0, 1), false);
        owners.release(0);
        assert!(!owners.knows(0));
        owners.own(0);
        owners.touch(0, at(0, 3), false);
        let left: Vec<_> = owners.left().map(|(_, last)| last).collect();
        assert_eq!(left, [at(0, 3)]);
    }

    #[test]
    fn of_what_two_threads_or_a_queue_use_no_use_is_the_last_for_sure() {
        let mut owners = Owners::default();
        for name in 0..3 {
            owners.own(name);
            owners.touch(name, at(0, 0), name == 2);
        }
        owners.touch(1, at(1, 0), false);
        let shared: Vec<bool> = owners.left().map(|(owned, _)| owned.shared).collect();
        assert_eq!(shared, [false, true, true]);
    }
}
