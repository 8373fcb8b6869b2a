//! The view algebra: how logical axes map onto a buffer. Every layout op is one function here, and
//! the planner replays the same functions over the physical layout that it chose.

use crate::{MAX_RANK, Shape};
use smallvec::SmallVec;

/// Distance between neighbours along each axis, in elements.
pub type Strides = SmallVec<[i64; 4]>;

/// A strided window on a buffer. Element `[i, j, ...]` lies at
/// `offset + i * strides[0] + j * strides[1] + ...` elements from the buffer's start.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct View {
    /// Sizes of the axes.
    pub shape: Shape,
    /// Strides, in elements; as many as the shape has axes.
    pub strides: Strides,
    /// Where element `[0, 0, ...]` lies, in elements.
    pub offset: i64,
}

impl Clone for View {
    #[inline]
    // In one piece, as shapes are.
    fn clone(&self) -> Self {
        Self {
            shape: self.shape.clone(),
            strides: Strides::from_slice(&self.strides),
            offset: self.offset,
        }
    }
}

/// One entry of a slice: keeps `start, start + step, ...` below `stop`, or drops the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// Keep one index and drop the axis.
    Index(u64),
    /// Keep a range; `start < stop <= dim`, `step > 0`.
    Range {
        /// First index.
        start: u64,
        /// One past the last.
        stop: u64,
        /// Distance between indices.
        step: u64,
    },
    /// Keep `count` indices from `start` on, `step` apart, which may go backwards.
    Steps {
        /// First index; any where `count` is 0.
        start: u64,
        /// How many.
        count: u64,
        /// Distance between indices.
        step: i64,
    },
}

/// Why a layout op does not apply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ViewError {
    /// An axis that the tensor does not have.
    #[error("axis {axis} of a tensor of rank {rank}")]
    Axis {
        /// The axis that was given.
        axis: i64,
        /// The tensor's rank.
        rank: usize,
    },
    /// A range of axes that ends before it starts.
    #[error("axes {start} to {end}")]
    AxisOrder {
        /// The first axis.
        start: i64,
        /// The last.
        end: i64,
    },
    /// An axis whose size must be one.
    #[error("axis {axis} of size {size}")]
    NotOne {
        /// The axis.
        axis: usize,
        /// Its size.
        size: u64,
    },
    /// An index or range outside its axis.
    #[error("{what} for axis {axis} of size {size}")]
    Range {
        /// The entry, as text.
        what: String,
        /// The axis.
        axis: usize,
        /// Its size.
        size: u64,
    },
    /// Not one entry per axis.
    #[error("{got} entries for {rank} axes")]
    EntryCount {
        /// How many came.
        got: usize,
        /// How many axes there are.
        rank: usize,
    },
    /// Different numbers of elements.
    #[error("{from_elements} in {from} and {to_elements} in {to}")]
    Elements {
        /// Shape of the operand.
        from: Box<Shape>,
        /// Its elements.
        from_elements: u64,
        /// Shape asked for.
        to: Box<Shape>,
        /// Its elements.
        to_elements: u64,
    },
    /// The result would be too large or of too high a rank.
    #[error(transparent)]
    Shape(#[from] crate::ShapeError),
}

/// How two views of one buffer meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// No element in common.
    Disjoint,
    /// The same elements in the same order.
    Same,
    /// Some element in common, or not provably none.
    Partial,
}

/// Turns a possibly negative axis into an index below `rank`.
///
/// # Errors
/// The axis is not in `-rank .. rank`.
pub fn resolve_axis(axis: i64, rank: usize) -> Result<usize, ViewError> {
    let wrapped = if axis < 0 {
        axis.checked_add(rank as i64)
    } else {
        Some(axis)
    };
    match wrapped {
        Some(a) if a >= 0 && (a as usize) < rank => Ok(a as usize),
        _ => Err(ViewError::Axis { axis, rank }),
    }
}

impl View {
    /// The row-major view of a whole buffer.
    #[must_use]
    #[inline]
    pub fn contiguous(shape: Shape) -> Self {
        let mut strides: Strides = SmallVec::from_elem(1, shape.rank());
        let (dims, own) = (shape.dims(), strides.as_mut_slice());
        for axis in (1..dims.len()).rev() {
            own[axis - 1] = own[axis] * dims[axis].max(1) as i64;
        }
        Self {
            shape,
            strides,
            offset: 0,
        }
    }

    /// A dense view whose axes lie in memory in this order, slowest first.
    ///
    /// `order` is a permutation of the axes.
    #[must_use]
    pub fn with_axis_order(shape: Shape, order: &[usize]) -> Self {
        let mut strides: Strides = SmallVec::from_elem(0, shape.rank());
        let mut step = 1i64;
        for &axis in order.iter().rev() {
            strides[axis] = step;
            step *= shape.dims()[axis].max(1) as i64;
        }
        Self {
            shape,
            strides,
            offset: 0,
        }
    }

    /// A dense view whose axes lie in memory in the order of those of another view of the same
    /// rank; row-major where that has none.
    #[must_use]
    pub fn ordered_like(shape: Shape, like: &Self) -> Self {
        Self::with_axis_order(shape, &axis_order(like))
    }

    /// Number of axes.
    #[must_use]
    #[inline]
    pub fn rank(&self) -> usize {
        self.shape.rank()
    }

    /// Whether elements lie row-major without gaps. Axes of size one do not count, and a view
    /// without elements always is.
    #[must_use]
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        let (dims, strides) = (self.shape.dims(), self.strides.as_slice());
        let mut expected = 1i64;
        for axis in (0..dims.len()).rev() {
            let dim = dims[axis];
            if dim == 0 {
                return true;
            }
            if dim != 1 && strides[axis] != expected {
                return false;
            }
            expected *= dim as i64;
        }
        true
    }

    /// Lowest and one past the highest element offset that the view touches.
    #[must_use]
    pub fn bounds(&self) -> (i64, i64) {
        if self.shape.elements() == 0 {
            return (self.offset, self.offset);
        }
        let (mut low, mut high) = (self.offset, self.offset);
        for (&dim, &stride) in self.shape.dims().iter().zip(&self.strides) {
            let reach = stride * (dim as i64 - 1);
            if reach < 0 {
                low += reach
            } else {
                high += reach
            }
        }
        (low, high + 1)
    }

    /// Drops an axis of size one.
    ///
    /// # Errors
    /// No such axis, or its size is not one.
    pub fn squeeze(&self, axis: i64) -> Result<Self, ViewError> {
        let axis = resolve_axis(axis, self.rank())?;
        let size = self.shape.dims()[axis];
        if size != 1 {
            return Err(ViewError::NotOne { axis, size });
        }
        let mut dims = SmallVec::<[u64; MAX_RANK]>::from_slice(self.shape.dims());
        let mut strides = self.strides.clone();
        dims.remove(axis);
        strides.remove(axis);
        self.with_axes(&dims, strides)
    }

    /// Inserts an axis of size one before `axis`, which may be from `-rank - 1` to `rank`.
    ///
    /// # Errors
    /// No such place, or the rank would exceed 16.
    pub fn unsqueeze(&self, axis: i64) -> Result<Self, ViewError> {
        let axis = resolve_axis(axis, self.rank() + 1).map_err(|_| ViewError::Axis {
            axis,
            rank: self.rank(),
        })?;
        let mut dims = SmallVec::<[u64; MAX_RANK]>::from_slice(self.shape.dims());
        let mut strides = self.strides.clone();
        let stride = match (dims.get(axis), strides.get(axis)) {
            (Some(&d), Some(&s)) => s * d.max(1) as i64,
            _ => 1,
        };
        dims.insert(axis, 1);
        strides.insert(axis, stride);
        self.with_axes(&dims, strides)
    }

    /// Other axes from the same first element on.
    fn with_axes(&self, dims: &[u64], strides: Strides) -> Result<Self, ViewError> {
        Ok(Self {
            shape: Shape::new(dims)?,
            strides,
            offset: self.offset,
        })
    }

    /// Repeats an axis of size one without a copy: its stride becomes zero.
    ///
    /// # Errors
    /// No such axis, its size is not one, or the result is too large.
    pub fn expand(&self, axis: i64, repeat: u64) -> Result<Self, ViewError> {
        let axis = resolve_axis(axis, self.rank())?;
        let mut dims = SmallVec::<[u64; MAX_RANK]>::from_slice(self.shape.dims());
        if dims[axis] != 1 {
            return Err(ViewError::NotOne {
                axis,
                size: dims[axis],
            });
        }
        dims[axis] = repeat;
        let mut strides = self.strides.clone();
        strides[axis] = 0;
        self.with_axes(&dims, strides)
    }

    /// Moves axis `source` to place `destination`; the others keep their order.
    ///
    /// # Errors
    /// No such axes.
    pub fn moveaxis(&self, source: i64, destination: i64) -> Result<Self, ViewError> {
        let source = resolve_axis(source, self.rank())?;
        let destination = resolve_axis(destination, self.rank())?;
        let mut order: SmallVec<[usize; MAX_RANK]> =
            (0..self.rank()).filter(|&axis| axis != source).collect();
        order.insert(destination, source);
        let dims: SmallVec<[u64; MAX_RANK]> =
            order.iter().map(|&axis| self.shape.dims()[axis]).collect();
        let strides = order.iter().map(|&axis| self.strides[axis]).collect();
        self.with_axes(&dims, strides)
    }

    /// Orders the axes as `order` says, a permutation of them.
    ///
    /// # Errors
    /// Not a permutation of the axes.
    pub fn permute_axes(&self, order: &[i64]) -> Result<Self, ViewError> {
        let rank = self.rank();
        if order.len() != rank {
            let got = order.len();
            return Err(ViewError::EntryCount { got, rank });
        }
        let mut dims = SmallVec::<[u64; MAX_RANK]>::new();
        let mut strides = Strides::new();
        let mut seen = [false; MAX_RANK];
        for &axis in order {
            let own = resolve_axis(axis, rank)?;
            if std::mem::replace(&mut seen[own], true) {
                return Err(ViewError::Axis { axis, rank });
            }
            dims.push(self.shape.dims()[own]);
            strides.push(self.strides[own]);
        }
        self.with_axes(&dims, strides)
    }

    /// Takes an index or a range of each axis, one entry an axis.
    ///
    /// # Errors
    /// A wrong number of entries, or one that is out of range.
    pub fn slice(&self, entries: &[Take]) -> Result<Self, ViewError> {
        if entries.len() != self.rank() {
            return Err(ViewError::EntryCount {
                got: entries.len(),
                rank: self.rank(),
            });
        }
        let (sizes, steps) = (self.shape.dims(), self.strides.as_slice());
        let mut dims = SmallVec::<[u64; 4]>::new();
        let mut strides = Strides::new();
        let mut offset = self.offset;
        for (axis, &entry) in entries.iter().enumerate() {
            let (size, stride) = (sizes[axis], steps[axis]);
            match entry {
                Take::Index(i) if i < size => offset += stride * i as i64,
                Take::Range { start, stop, step } if start < stop && stop <= size && step > 0 => {
                    offset += stride * start as i64;
                    let count = (stop - start).div_ceil(step);
                    dims.push(count);
                    // A step that is never taken may be huge; its product must not overflow.
                    strides.push(if count > 1 {
                        stride * step as i64
                    } else {
                        stride
                    });
                }
                Take::Steps { start, count, step } if steps_fit(start, count, step, size) => {
                    if count > 0 {
                        offset += stride * start as i64;
                    }
                    dims.push(count);
                    strides.push(if count > 1 { stride * step } else { stride });
                }
                Take::Index(i) => {
                    return Err(ViewError::Range {
                        what: format!("index {i}"),
                        axis,
                        size,
                    });
                }
                Take::Steps { start, count, step } => {
                    let what = format!("{count} indices from {start} by {step}");
                    return Err(ViewError::Range { what, axis, size });
                }
                Take::Range { start, stop, step } => {
                    let what = format!("slice {start}:{stop}:{step}");
                    return Err(ViewError::Range { what, axis, size });
                }
            }
        }
        if dims.contains(&0) {
            // A step backwards along another axis of no elements would begin outside of them.
            offset = self.offset;
        }
        Ok(Self {
            shape: Shape::of_part(dims),
            strides,
            offset,
        })
    }

    /// [`View::slice`] of an index or some steps of the first axis and all of the others, in a
    /// fraction of the time; `None` where that has to refuse it.
    #[must_use]
    #[inline]
    pub fn part_of_first(&self, entry: Take) -> Option<Self> {
        let (sizes, steps) = (self.shape.dims(), self.strides.as_slice());
        let (&size, &stride) = (sizes.first()?, steps.first()?);
        let mut part = match entry {
            Take::Index(place) if place < size => Self {
                shape: Shape::of_part(SmallVec::from_slice(&sizes[1..])),
                strides: SmallVec::from_slice(&steps[1..]),
                offset: self.offset + stride * place as i64,
            },
            Take::Steps { start, count, step } if steps_fit(start, count, step, size) => {
                let mut dims = SmallVec::<[u64; 4]>::from_slice(sizes);
                let mut strides = Strides::from_slice(steps);
                dims[0] = count;
                strides[0] = if count > 1 { stride * step } else { stride };
                Self {
                    shape: Shape::of_part(dims),
                    strides,
                    offset: self.offset + stride * start as i64,
                }
            }
            _ => return None,
        };
        if part.shape.dims().contains(&0) {
            part.offset = self.offset;
        }
        Some(part)
    }

    /// The same elements in row-major order under another shape, if strides can say it.
    ///
    /// `None` means that only a copy can.
    ///
    /// # Errors
    /// The numbers of elements differ.
    pub fn reshape(&self, shape: &Shape) -> Result<Option<Self>, ViewError> {
        let (from_elements, to_elements) = (self.shape.elements(), shape.elements());
        if from_elements != to_elements {
            let (from, to) = (Box::new(self.shape.clone()), Box::new(shape.clone()));
            return Err(ViewError::Elements {
                from,
                from_elements,
                to,
                to_elements,
            });
        }
        if from_elements == 0 {
            let mut view = Self::contiguous(shape.clone());
            view.offset = self.offset;
            return Ok(Some(view));
        }
        Ok(self.reshape_strides(shape).map(|strides| Self {
            shape: shape.clone(),
            strides,
            offset: self.offset,
        }))
    }

    /// Matches runs of old axes with runs of new axes of the same number of elements; each old run
    /// must be mergeable. Both shapes have the same, non-zero, number of elements.
    fn reshape_strides(&self, shape: &Shape) -> Option<Strides> {
        let old: SmallVec<[(u64, i64); MAX_RANK]> = self
            .shape
            .dims()
            .iter()
            .copied()
            .zip(self.strides.iter().copied())
            .filter(|&(dim, _)| dim != 1)
            .collect();
        let new = shape.dims();
        let mut strides: Strides = SmallVec::from_elem(1, new.len());
        let (mut o, mut n) = (0, 0);
        while o < old.len() {
            let (o_start, n_start) = (o, n);
            let (mut o_product, mut n_product) = (old[o].0, *new.get(n)?);
            o += 1;
            n += 1;
            while o_product != n_product {
                if o_product < n_product {
                    o_product *= old.get(o)?.0;
                    o += 1;
                } else {
                    n_product *= new.get(n)?;
                    n += 1;
                }
            }
            let run = &old[o_start..o];
            if run.windows(2).any(|w| w[0].1 != w[1].1 * w[1].0 as i64) {
                return None;
            }
            let mut stride = run.last()?.1;
            for i in (n_start..n).rev() {
                strides[i] = stride;
                stride *= new[i] as i64;
            }
        }
        Some(strides)
    }

    /// Merges axes `start` to `end`, both included, if strides can say it.
    ///
    /// # Errors
    /// No such axes, or `start` after `end`.
    pub fn flatten(&self, start: i64, end: i64) -> Result<Option<Self>, ViewError> {
        self.reshape(&self.flattened_shape(start, end)?)
    }

    /// The shape that [`View::flatten`] gives.
    ///
    /// # Errors
    /// No such axes, or `start` after `end`.
    pub fn flattened_shape(&self, start: i64, end: i64) -> Result<Shape, ViewError> {
        let first = resolve_axis(start, self.rank())?;
        let last = resolve_axis(end, self.rank())?;
        if first > last {
            return Err(ViewError::AxisOrder { start, end });
        }
        let dims = self.shape.dims();
        let mut merged = SmallVec::<[u64; MAX_RANK]>::from_slice(&dims[..first]);
        merged.push(dims[first..=last].iter().product());
        merged.extend_from_slice(&dims[last + 1..]);
        Ok(Shape::new(&merged)?)
    }

    /// This view under NumPy's broadcast to `target`; `None` if the shapes do not go together. A
    /// single element goes with any shape, whatever its rank.
    #[must_use]
    pub fn broadcast_to(&self, target: &Shape) -> Option<Self> {
        if self.shape.elements() == 1 {
            let strides = SmallVec::from_elem(0, target.rank());
            return Some(Self {
                shape: target.clone(),
                strides,
                offset: self.offset,
            });
        }
        if !self.shape.broadcasts_to(target) {
            return None;
        }
        let added = target.rank() - self.rank();
        let strides = (0..target.rank())
            .map(|axis| match axis.checked_sub(added) {
                Some(own) if self.shape.dims()[own] == target.dims()[axis] => self.strides[own],
                _ => 0,
            })
            .collect();
        Some(Self {
            shape: target.clone(),
            strides,
            offset: self.offset,
        })
    }

    /// The view with each axis of stride zero cut to size one: it shows each repeated element once.
    #[must_use]
    pub fn without_repeats(&self) -> Self {
        let axes = self.shape.dims().iter().zip(&self.strides);
        let dims: SmallVec<[u64; MAX_RANK]> = axes
            .map(|(&dim, &stride)| if stride == 0 { dim.min(1) } else { dim })
            .collect();
        let shape = Shape::new(&dims).unwrap_or_else(|_| self.shape.clone());
        Self {
            shape,
            ..self.clone()
        }
    }

    /// Element offset of each index, row-major. For small tensors: constants, references, tests.
    pub fn offsets(&self) -> impl Iterator<Item = i64> + '_ {
        let dims = self.shape.dims();
        (0..self.shape.elements()).map(move |flat| {
            let mut rest = flat;
            let mut offset = self.offset;
            for (&dim, &stride) in dims.iter().zip(&self.strides).rev() {
                offset += (rest % dim) as i64 * stride;
                rest /= dim;
            }
            offset
        })
    }
}

/// Whether all of these indices are in `0 .. size`.
fn steps_fit(start: u64, count: u64, step: i64, size: u64) -> bool {
    let last = i128::from(start) + i128::from(step) * (i128::from(count) - 1);
    count == 0 || (start < size && (0..i128::from(size)).contains(&last) && step != 0)
}

/// The axes of a view, that of the longest strides first. Axes along which it stands still keep
/// their places; those of size one have strides too, which tell where they came from.
fn axis_order(view: &View) -> Vec<usize> {
    let moves = |axis: usize| view.strides[axis] != 0;
    let mut moving: Vec<usize> = (0..view.rank()).filter(|&axis| moves(axis)).collect();
    moving.sort_by_key(|&axis| std::cmp::Reverse(view.strides[axis].abs()));
    let mut next = moving.into_iter();
    let ordered = |axis| if moves(axis) { next.next() } else { Some(axis) };
    (0..view.rank()).filter_map(ordered).collect()
}
