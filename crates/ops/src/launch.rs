//! Kernel calls as geometry: a declaration hands them to the planner. `docs/kernels.md` says what
//! each kernel makes of it.

use crate::{Args, OpError, Value, geometry, rules};
use cloakwork_ir::{DType, Shape, View};
use smallvec::{SmallVec, smallvec};

/// The kernel that copies element by element, which the engine calls beside declarations, too.
pub const COPY_KERNEL: &str = "copy";
/// The kernel that gives every element one value, which the planner calls, too.
pub const FILL_KERNEL: &str = "fill";

/// Sizes or strides of an iteration space.
pub type Extents = SmallVec<[i64; 4]>;

/// Where an operand of a launch comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The parameter of this index.
    Param(u8),
    /// An integer that a parameter was given, in a tensor of one element with the result's dtype.
    Int {
        /// The parameter's index.
        param: u8,
        /// The integer.
        value: i64,
    },
    /// Memory of the call's own (`KernelBody::temporary`), seen as elements of this type.
    Temporary(DType),
    /// Absent.
    Null,
}

/// One operand of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchOperand {
    /// The tensor that it reads or writes.
    pub source: Source,
    /// Where the iteration starts, in elements of the tensor's buffer.
    pub offset: i64,
    /// Strides over the iteration space, in elements.
    pub strides: Extents,
}

/// The calls of kernels that an op makes, in order.
pub type Launches = SmallVec<[Launch; 1]>;

/// One call of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The kernel's name; rows of the kernel table carry it.
    pub kernel: &'static str,
    /// The iteration space, outermost first.
    pub dims: Extents,
    /// How many of the first dimensions enumerate independent units.
    pub split: usize,
    /// Operands; the result first.
    pub operands: SmallVec<[LaunchOperand; 5]>,
    /// Integers whose meaning is the kernel's.
    pub params: Extents,
}

impl Launch {
    /// Number of independent units.
    #[must_use]
    pub fn units(&self) -> u64 {
        self.dims
            .iter()
            .take(self.split)
            .map(|&d| d as u64)
            .product()
    }

    /// About how long the launch takes on one core, in nanoseconds: one an element visited.
    #[must_use]
    pub fn weight_ns(&self) -> u64 {
        // Of a matrix and a packed result together, which may be more than a word holds.
        let visited = |sum: u64, &dim: &i64| sum.saturating_mul(dim as u64);
        self.dims.iter().fold(1, visited)
    }

    /// An element-wise launch over `shape`: operands broadcast to it, dimensions sorted so that
    /// the result's tightest is last, and merged wherever all operands allow.
    ///
    /// # Errors
    /// An operand does not broadcast to the shape.
    pub fn elementwise(
        kernel: &'static str,
        shape: &Shape,
        operands: &[LaunchInput],
    ) -> Result<Self, OpError> {
        let mut columns = SmallVec::<[(Source, i64, SmallVec<[i64; 4]>); 5]>::new();
        for operand in operands {
            let (view, source) = match operand {
                LaunchInput::View(source, view) => (view, *source),
                LaunchInput::Int { param, value } => {
                    let strides = SmallVec::from_elem(0, shape.rank());
                    let (param, value) = (*param, *value);
                    columns.push((Source::Int { param, value }, 0, strides));
                    continue;
                }
            };
            let wide = rules::broadcast("", view, shape)?;
            columns.push((source, wide.offset, wide.strides));
        }
        let mut axes: SmallVec<[usize; 16]> = (0..shape.rank())
            .filter(|&axis| shape.dims()[axis] != 1)
            .collect();
        if let Some((_, _, strides)) = columns.first() {
            axes.sort_by_key(|&axis| std::cmp::Reverse(strides[axis].abs()));
        }
        let (dims, merged) = merge(shape, &axes, &columns);
        let operands = columns
            .iter()
            .zip(merged)
            .map(|((source, offset, _), strides)| LaunchOperand {
                source: *source,
                offset: *offset,
                strides,
            })
            .collect();
        Ok(Self {
            kernel,
            split: dims.len(),
            dims,
            operands,
            params: Extents::new(),
        })
    }
}

type Column = (Source, i64, SmallVec<[i64; 4]>);

/// Joins neighbouring axes whose strides continue one another in every operand.
fn merge(shape: &Shape, axes: &[usize], columns: &[Column]) -> (Extents, Vec<Extents>) {
    let mut dims = Extents::new();
    let mut strides: Vec<Extents> = vec![Extents::new(); columns.len()];
    for &axis in axes {
        let dim = shape.dims()[axis] as i64;
        let continues = !dims.is_empty()
            && columns
                .iter()
                .zip(&strides)
                .all(|((_, _, own), merged)| merged.last() == Some(&(own[axis] * dim)));
        if continues {
            if let Some(last) = dims.last_mut() {
                *last *= dim;
            }
        } else {
            dims.push(dim);
        }
        for ((_, _, own), merged) in columns.iter().zip(&mut strides) {
            if continues {
                merged.pop();
            }
            merged.push(own[axis]);
        }
    }
    if dims.is_empty() {
        dims.push(1);
        for merged in &mut strides {
            merged.push(0);
        }
    }
    (dims, strides)
}

/// An operand of an element-wise launch before broadcasting.
#[derive(Clone, Debug)]
pub enum LaunchInput {
    /// A tensor parameter under some view.
    View(Source, View),
    /// An integer that a parameter was given.
    Int {
        /// The parameter's index.
        param: u8,
        /// The integer.
        value: i64,
    },
}

impl<'a> Args<'a> {
    /// An element-wise launch over the shape of `out`: `out`, then these parameters.
    ///
    /// # Errors
    /// One of them does not broadcast to that shape.
    pub fn elementwise(
        &self,
        kernel: &'static str,
        operands: impl IntoIterator<Item = &'static str>,
    ) -> Result<Launch, OpError> {
        let mut inputs: SmallVec<[LaunchInput; 4]> = smallvec![self.input("out")?];
        for name in operands {
            inputs.push(self.input(name)?);
        }
        Launch::elementwise(kernel, self.tensor("out")?.shape(), &inputs)
    }

    /// A launch over all axes of `a` but one: `out`, then `a`.
    ///
    /// # Errors
    /// `out` has other axes.
    pub(crate) fn rows(&self, kernel: &'static str, axis: usize) -> Result<Launch, OpError> {
        let row = |name| -> Result<_, OpError> {
            let rest = geometry::without_axis(self.tensor(name)?.view, axis)?;
            Ok(LaunchInput::View(self.source(name)?, rest))
        };
        let shape = geometry::without_axis(self.tensor("a")?.view, axis)?.shape;
        Launch::elementwise(kernel, &shape, &[row("out")?, row("a")?])
    }

    /// A tensor or integer parameter as an operand of a launch.
    ///
    /// # Errors
    /// It is neither.
    pub fn input(&self, name: &'static str) -> Result<LaunchInput, OpError> {
        match self.value(name)? {
            Value::Int(value) => {
                let param = self.def.param(name).unwrap_or_default() as u8;
                Ok(LaunchInput::Int { param, value })
            }
            _ => Ok(LaunchInput::View(
                self.source(name)?,
                self.tensor(name)?.view.clone(),
            )),
        }
    }

    /// The source that names a parameter.
    ///
    /// # Errors
    /// The op has no such parameter.
    pub fn source(&self, name: &'static str) -> Result<Source, OpError> {
        self.value(name)?;
        Ok(self
            .def
            .param(name)
            .map_or(Source::Null, |index| Source::Param(index as u8)))
    }

    /// A tensor parameter with explicit strides over the iteration space.
    ///
    /// # Errors
    /// It is not a tensor.
    pub fn operand(&self, name: &'static str, strides: &[i64]) -> Result<LaunchOperand, OpError> {
        let source = self.source(name)?;
        let offset = self.tensor(name)?.view.offset;
        Ok(LaunchOperand {
            source,
            offset,
            strides: Extents::from_slice(strides),
        })
    }

    /// The same where the parameter is given, else an absent operand.
    ///
    /// # Errors
    /// The op has no such parameter.
    pub fn operand_if_any(
        &self,
        name: &'static str,
        strides: &[i64],
    ) -> Result<LaunchOperand, OpError> {
        match self.tensor_if_any(name)? {
            Some(_) => self.operand(name, strides),
            None => Ok(LaunchOperand::absent(strides.len())),
        }
    }
}

impl LaunchOperand {
    /// An operand that is not given, over so many dimensions.
    pub(crate) fn absent(dims: usize) -> Self {
        Self {
            source: Source::Null,
            offset: 0,
            strides: Extents::from_elem(0, dims),
        }
    }
}
