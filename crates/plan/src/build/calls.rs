//! The launches that a declaration makes of a call, and their cost. They depend on types, views and
//! integers alone, so calls that are equal in these share them.

use super::Builder;
use super::constants::Blocks;
use crate::PlanError;
use crate::fuse::Candidate;
use crate::graph::Reach;
use crate::placement::{dtype_of, touched};
use crate::plan::Home;
use cloakwork_ir::DType;
use cloakwork_kernels::KernelRow;
use cloakwork_ops::{KernelBody, Launch, LaunchOperand, Source};
use cloakwork_verify::{Bound, Call};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Upper limit of calls in the cache, for programs in which all calls differ.
const MAX_KEPT: usize = 4096;

/// The launches of a call.
pub(super) struct Made {
    /// The launches, in order.
    pub launches: SmallVec<[MadeLaunch; 1]>,
    /// Elementary operations of all launches.
    pub operations: u64,
    /// Temporary memory that the launches share.
    pub temporary_bytes: u64,
}

/// A launch of a call.
pub(super) struct MadeLaunch {
    pub launch: Launch,
    /// Types of the operands.
    pub dtypes: SmallVec<[DType; 6]>,
    /// Bytes that it may touch of each operand that is a parameter.
    pub reaches: SmallVec<[Reach; 6]>,
    /// Number of bytes that it touches.
    pub bytes: u64,
    /// Whether it may be fused with neighbouring steps.
    pub is_fusible: bool,
    /// Its kernel for a result in this memory, once looked up.
    pub row: Cell<Option<(Home, &'static KernelRow)>>,
    /// Data that depends on that kernel, once a step uses it.
    pub with_row: RefCell<Option<Rc<WithRow>>>,
}

/// Data that depends on a launch and its kernel.
pub(super) struct WithRow {
    pub row: &'static KernelRow,
    /// The iteration space.
    pub geometry: u32,
    /// The blocks that the kernel prepares.
    pub blocks: Option<Blocks>,
    /// Whether it may be fused.
    pub candidate: Candidate,
}

/// Cache of planned calls, by everything that their launches depend on.
#[derive(Default)]
pub(super) struct Calls {
    made: FxHashMap<Box<[u64]>, Rc<Made>>,
    key: Vec<u64>,
}

impl MadeLaunch {
    /// The types that select its kernel: of its first operand and of its result.
    pub fn types(&self) -> [DType; 2] {
        let output = self.dtypes[0];
        [self.dtypes.get(1).copied().unwrap_or(output), output]
    }
}

impl Builder<'_> {
    /// The launches of a call.
    pub(super) fn made(&mut self, call: &Call, body: &KernelBody) -> Result<Rc<Made>, PlanError> {
        let mut key = std::mem::take(&mut self.calls.key);
        let keyed = self.write_key(call, &mut key);
        let known = keyed.and_then(|()| self.calls.made.get(key.as_slice()));
        let made = match known {
            Some(made) => Ok(Rc::clone(made)),
            None => self.make(call, body).map(Rc::new),
        };
        if let (Ok(made), Some(()), None) = (&made, keyed, known)
            && self.calls.made.len() < MAX_KEPT
        {
            let made = Rc::clone(made);
            self.calls.made.insert(key.as_slice().into(), made);
        }
        self.calls.key = key;
        made
    }

    /// Writes everything that the launches of a call depend on, as words; `None` for a call with
    /// lists.
    fn write_key(&self, call: &Call, key: &mut Vec<u64>) -> Option<()> {
        key.clear();
        key.push(std::ptr::from_ref(call.def) as usize as u64);
        for bound in &call.values {
            match *bound {
                Bound::Value(id) => {
                    let dtype = self.verified.value(id)?.dtype;
                    let view = self.layout.view(self.verified, id);
                    let dims = view.shape.dims();
                    key.extend([0, u64::from(dtype.number()), dims.len() as u64]);
                    key.extend_from_slice(dims);
                    key.extend(view.strides.iter().map(|&stride| stride as u64));
                    key.push(view.offset as u64);
                }
                Bound::Int(value) => key.extend([1, value as u64]),
                Bound::DType(dtype) => key.extend([2, u64::from(dtype.number())]),
                Bound::Absent => key.push(3),
                Bound::Shape(_) | Bound::Host(_) => return None,
            }
        }
        Some(())
    }

    fn make(&self, call: &Call, body: &KernelBody) -> Result<Made, PlanError> {
        let (layout, verified) = (self.layout, self.verified);
        let view_of = |value| layout.view(verified, value);
        let (launches, operations, temporary_bytes) = verified
            .with_views(call, view_of, |args| {
                let temporary_bytes = body.temporary.map_or(Ok(0), |bytes| bytes(args))?;
                let operations = (call.def.operations)(args);
                (body.launch)(args).map(|launches| (launches, operations, temporary_bytes))
            })
            .map_err(|error| self.internal(&error.to_string()))?;
        let launches = launches.into_iter();
        let launches = launches.map(|launch| self.make_launch(call, body, launch));
        Ok(Made {
            launches: launches.collect::<Result<_, _>>()?,
            operations,
            temporary_bytes,
        })
    }

    fn make_launch(
        &self,
        call: &Call,
        body: &KernelBody,
        launch: Launch,
    ) -> Result<MadeLaunch, PlanError> {
        let dtype_of = |source| dtype_of(self.verified, call, source);
        let result = launch.operands.first().and_then(|o| dtype_of(o.source));
        let result = result.ok_or_else(|| self.internal("a launch without a result"))?;
        let dtype_of = |source| dtype_of(source).unwrap_or(result);
        let read = launch.operands.iter().filter(|o| o.source != Source::Null);
        let touched = |strides: &[i64]| touched(&launch.dims, strides);
        let bytes = read.map(|o| touched(&o.strides) * dtype_of(o.source).size_bytes() as u64);
        let reach = |operand: &LaunchOperand| match operand.source {
            Source::Param(param) => call
                .value(param as usize)
                .map_or(Reach::default(), |value| {
                    let size_bytes = dtype_of(operand.source).size_bytes();
                    Reach::of(
                        self.layout.view(self.verified, value),
                        operand.offset,
                        size_bytes,
                    )
                }),
            _ => Reach::default(),
        };
        Ok(MadeLaunch {
            bytes: bytes.sum(),
            dtypes: launch.operands.iter().map(|o| dtype_of(o.source)).collect(),
            reaches: launch.operands.iter().map(reach).collect(),
            // `fill` has further params: the value that it writes.
            is_fusible: body.is_elementwise() && launch.params.len() < 2,
            launch,
            row: Cell::new(None),
            with_row: RefCell::new(None),
        })
    }

    /// The kernel of a launch whose result is on this side.
    pub(super) fn row_of(
        &self,
        made: &MadeLaunch,
        side: Home,
    ) -> Result<&'static KernelRow, PlanError> {
        if let Some((_, row)) = made.row.get().filter(|(of, _)| *of == side) {
            return Ok(row);
        }
        let [input, output] = made.types();
        let row = self.row(made.launch.kernel, input, output, side)?;
        made.row.set(Some((side, row)));
        Ok(row)
    }

    /// Data that depends on a launch and its kernel.
    pub(super) fn with_row(&mut self, made: &MadeLaunch, row: &'static KernelRow) -> Rc<WithRow> {
        let known = made.with_row.borrow().clone();
        if let Some(known) = known.filter(|known| std::ptr::eq(known.row, row)) {
            return known;
        }
        let geometry = self.geometry(&made.launch);
        let found = Rc::new(WithRow {
            row,
            geometry,
            blocks: self.blocks(row, geometry),
            candidate: match made.is_fusible {
                true => self.candidate(row, geometry, &made.dtypes),
                false => Candidate::default(),
            },
        });
        made.with_row.replace(Some(Rc::clone(&found)));
        found
    }
}
