//! Shapes and tensor types.

use crate::DType;
use smallvec::SmallVec;
use std::fmt;

/// The highest rank that a tensor may have.
pub const MAX_RANK: usize = 16;

/// The most elements a tensor may have: every byte offset then fits an `i64` with room to spare.
pub const MAX_ELEMENTS: u64 = 1 << 48;

/// Sizes of the axes, outermost first. Empty for a scalar.
#[derive(PartialEq, Eq, Hash, Default)]
pub struct Shape(SmallVec<[u64; 4]>);

impl Clone for Shape {
    #[inline]
    // In one piece: `SmallVec` clones element by element, and shapes are cloned everywhere.
    fn clone(&self) -> Self {
        Self(SmallVec::from_slice(&self.0))
    }
}

/// Why sizes are not a shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// More axes than [`MAX_RANK`].
    #[error("rank {rank}, above the limit of {MAX_RANK}")]
    Rank {
        /// The number of axes.
        rank: usize,
    },
    /// More elements than [`MAX_ELEMENTS`].
    #[error("shape {dims:?}, of more than 2^48 elements")]
    Elements {
        /// The sizes.
        dims: Vec<u64>,
    },
}

impl Shape {
    /// A shape of these sizes.
    ///
    /// # Errors
    /// Rank above 16, or more than 2^48 elements (zero sizes counted as one).
    pub fn new(dims: &[u64]) -> Result<Self, ShapeError> {
        if dims.len() > MAX_RANK {
            return Err(ShapeError::Rank { rank: dims.len() });
        }
        let elements = dims.iter().try_fold(1u64, |n, &d| n.checked_mul(d.max(1)));
        match elements {
            Some(n) if n <= MAX_ELEMENTS => Ok(Self(SmallVec::from_slice(dims))),
            _ => Err(ShapeError::Elements {
                dims: dims.to_vec(),
            }),
        }
    }

    /// Sizes of a part of a tensor: no more axes and no more elements than it has.
    #[inline]
    pub(crate) const fn of_part(sizes: SmallVec<[u64; 4]>) -> Self {
        Self(sizes)
    }

    /// The shape of a scalar.
    #[must_use]
    pub fn scalar() -> Self {
        Self::default()
    }

    /// Sizes, outermost first.
    #[must_use]
    #[inline]
    pub fn dims(&self) -> &[u64] {
        &self.0
    }

    /// Number of axes.
    #[must_use]
    #[inline]
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// Number of elements.
    #[must_use]
    #[inline]
    pub fn elements(&self) -> u64 {
        let mut count = 1;
        for size in &self.0 {
            count *= size;
        }
        count
    }

    /// NumPy's broadcast of two shapes, or `None` if they do not go together.
    #[must_use]
    pub fn broadcast(&self, other: &Self) -> Option<Self> {
        let rank = self.rank().max(other.rank());
        let dims: Option<SmallVec<[u64; 4]>> = (0..rank)
            .map(|i| {
                let a = from_right(&self.0, rank - 1 - i);
                let b = from_right(&other.0, rank - 1 - i);
                match (a, b) {
                    (a, b) if a == b => Some(a),
                    (1, b) => Some(b),
                    (a, 1) => Some(a),
                    _ => None,
                }
            })
            .collect();
        Shape::new(&dims?).ok()
    }

    /// Whether this shape broadcasts to `target` by NumPy's rules without growing it.
    #[must_use]
    pub fn broadcasts_to(&self, target: &Self) -> bool {
        self.rank() <= target.rank()
            && (0..self.rank()).all(|i| {
                let (a, t) = (from_right(&self.0, i), from_right(&target.0, i));
                a == t || a == 1
            })
    }
}

fn from_right(dims: &[u64], i: usize) -> u64 {
    dims.len()
        .checked_sub(i + 1)
        .and_then(|j| dims.get(j))
        .copied()
        .unwrap_or(1)
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, d) in self.0.iter().enumerate() {
            write!(f, "{}{d}", if i == 0 { "" } else { ", " })?;
        }
        f.write_str("]")
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Dtype and shape: all that is known of a tensor before it is computed.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Type {
    /// Element type.
    pub dtype: DType,
    /// Sizes of the axes.
    pub shape: Shape,
}

impl Type {
    /// A type of this dtype and shape.
    #[must_use]
    pub fn new(dtype: DType, shape: Shape) -> Self {
        Self { dtype, shape }
    }

    /// Bytes of the elements, without gaps.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.shape.elements() * self.dtype.size_bytes() as u64
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.dtype, self.shape)
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(dims: &[u64]) -> Shape {
        Shape::new(dims).unwrap_or_default()
    }

    #[test]
    fn broadcasting_follows_numpy() {
        assert_eq!(
            shape(&[2, 1, 4]).broadcast(&shape(&[3, 1])),
            Some(shape(&[2, 3, 4]))
        );
        assert_eq!(shape(&[2]).broadcast(&shape(&[3])), None);
        assert_eq!(shape(&[0]).broadcast(&shape(&[1])), Some(shape(&[0])));
        assert!(shape(&[1, 4]).broadcasts_to(&shape(&[7, 3, 4])));
        assert!(!shape(&[7, 3, 4]).broadcasts_to(&shape(&[3, 4])));
        assert!(!shape(&[2]).broadcasts_to(&shape(&[1])));
    }

    #[test]
    fn impossible_shapes_are_refused() {
        assert!(matches!(
            Shape::new(&[1; 17]),
            Err(ShapeError::Rank { rank: 17 })
        ));
        assert!(matches!(
            Shape::new(&[1 << 30, 1 << 30]),
            Err(ShapeError::Elements { .. })
        ));
        assert!(matches!(
            Shape::new(&[u64::MAX, 0]),
            Err(ShapeError::Elements { .. })
        ));
    }
}
