//! Windows that may wrap around: which elements of a buffer a register of one axis means.

/// Logical element `i` is element `(offset + i) mod whole` of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub offset: u64,
    pub len: u64,
    pub whole: u64,
}

impl Window {
    /// All of a buffer.
    pub fn all(whole: u64) -> Self {
        Self {
            offset: 0,
            len: whole,
            whole,
        }
    }

    /// Whether the last element stands before the first.
    pub fn wraps(self) -> bool {
        self.len > self.whole - self.offset
    }

    /// How many elements stand before the wrap.
    pub fn before_wrap(self) -> u64 {
        self.len.min(self.whole - self.offset)
    }

    /// Whether it means every element.
    pub fn is_whole(self) -> bool {
        self.len == self.whole
    }

    /// `numpy.roll` by `shift`; only of a window that is whole.
    pub fn rotated(self, shift: i64) -> Option<Self> {
        let modulus = i128::from(self.whole.max(1));
        let offset = (i128::from(self.offset) - i128::from(shift)).rem_euclid(modulus);
        self.is_whole().then_some(Self {
            offset: offset as u64,
            ..self
        })
    }

    /// Elements `start..end` of it.
    pub fn sliced(self, start: u64, end: u64) -> Option<Self> {
        if start > end || end > self.len {
            return None;
        }
        let offset = (self.offset + start) % self.whole.max(1);
        Some(Self {
            offset,
            len: end - start,
            ..self
        })
    }

    /// The window at `offset` of the same buffer.
    pub fn replaced(self, offset: i64, len: u64) -> Option<Self> {
        let modulus = i128::from(self.whole.max(1));
        let offset = i128::from(offset).rem_euclid(modulus) as u64;
        (len <= self.whole).then_some(Self {
            offset,
            len,
            ..self
        })
    }

    /// Whether two windows of one buffer have an element in common.
    pub fn overlaps(self, other: Self) -> bool {
        let ahead = |from: Self, to: Self| (to.offset + from.whole - from.offset) % from.whole;
        self.whole == other.whole
            && self.len > 0
            && other.len > 0
            && (ahead(self, other) < self.len || ahead(other, self) < other.len)
    }
}

#[cfg(test)]
mod tests {
    use super::Window;

    fn read(window: Window) -> Vec<u64> {
        let at = |i| (window.offset + i) % window.whole;
        (0..window.len).map(at).collect()
    }

    #[test]
    fn every_composition_is_what_rolling_and_slicing_a_list_gives() {
        for n in 1..=8u64 {
            for (shift, turn) in (-9..=9).flat_map(|a| [-3, 0, 1, 5].map(|b| (a, b))) {
                let mut list: Vec<u64> = (0..n).collect();
                list.rotate_right(i64::rem_euclid(shift, n as i64) as usize);
                list.rotate_right(i64::rem_euclid(turn, n as i64) as usize);
                let turned = Window::all(n).rotated(shift).and_then(|w| w.rotated(turn));
                let turned = turned.unwrap();
                assert_eq!(read(turned), list);
                for (start, end) in (0..=n).flat_map(|a| (a..=n).map(move |b| (a, b))) {
                    let part = turned.sliced(start, end).unwrap();
                    let inner = &list[start as usize..end as usize];
                    assert_eq!(read(part), inner);
                    let again = part.sliced(part.len / 3, part.len).unwrap();
                    assert_eq!(read(again), inner[part.len as usize / 3..]);
                    let pieces = part.before_wrap();
                    assert_eq!(part.wraps(), pieces < part.len);
                    let other = Window::all(n).sliced(start / 2, end).unwrap();
                    let common = read(other).iter().any(|e| inner.contains(e));
                    assert_eq!(part.overlaps(other), common);
                }
            }
            let meta = Window::all(n).sliced(0, 1).and_then(|w| w.replaced(-2, n));
            let mut list: Vec<u64> = (0..n).collect();
            list.rotate_right(2 % n as usize);
            assert_eq!(read(meta.unwrap()), list);
        }
    }

    #[test]
    fn what_no_window_is_is_refused() {
        let part = Window::all(4).sliced(1, 3).unwrap();
        assert_eq!(part.rotated(1), None);
        assert_eq!(part.sliced(0, 3), None);
        assert_eq!(part.sliced(2, 1), None);
        assert_eq!(part.replaced(0, 5), None);
        assert_eq!(Window::all(0).rotated(3), Some(Window::all(0)));
    }
}
