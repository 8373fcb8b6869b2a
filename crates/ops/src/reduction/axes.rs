//! Launches of reductions over any axes.

use super::Reduction;
use crate::reference::{Contents, Expected, Number, Slack, walk};
use crate::{Args, Code, Extents, Launch, LaunchOperand, Launches, OpError, Source, geometry};
use cloakwork_ir::{DType, Shape, ShapeItem, View, resolve_axis};
use smallvec::{SmallVec, smallvec};

/// About how many elements a chunk of a large reduction has.
const CHUNK_ELEMENTS: u64 = 1 << 16;
/// A reduction with this many results has units enough as it is.
const FEW_RESULTS: u64 = 32;

/// Which axes of the operand are reduced.
pub(super) struct Axes {
    dims: SmallVec<[u64; 4]>,
    reduced: SmallVec<[bool; 5]>,
}

/// One axis of a launch: size, stride of out, stride of a.
type Axis = (u64, i64, i64);

impl Axes {
    pub(super) fn of(args: &Args) -> Result<Self, OpError> {
        let a = args.tensor("a")?;
        let rank = a.view.rank();
        let mut reduced: SmallVec<[bool; 5]> = SmallVec::from_elem(false, rank);
        for item in args.items("axes")? {
            let wrong = |expected: String| {
                Err(OpError::new(Code::Axis, "axes", expected, item.to_string()))
            };
            let ShapeItem::Int(axis) = item else {
                return wrong("axes".into());
            };
            match resolve_axis(*axis, rank) {
                Ok(axis) if !reduced[axis] => reduced[axis] = true,
                Ok(_) => return wrong("each axis once".into()),
                Err(_) => return wrong(format!("axes from -{rank} to {}", rank as i64 - 1)),
            }
        }
        let dims = SmallVec::from_slice(a.dims());
        Ok(Self { dims, reduced })
    }

    fn elements(&self, reduced: bool) -> u64 {
        let axes = self.dims.iter().zip(&self.reduced);
        axes.filter(|&(_, &own)| own == reduced)
            .map(|(dim, _)| dim)
            .product()
    }

    pub(super) fn kept_elements(&self) -> u64 {
        self.elements(false)
    }

    pub(super) fn reduced_elements(&self) -> u64 {
        self.elements(true)
    }

    pub(super) fn result(&self, keepdims: bool) -> Result<Shape, OpError> {
        let axes = self.dims.iter().zip(&self.reduced);
        let dims: SmallVec<[u64; 4]> = axes
            .filter_map(|(&dim, &reduced)| match (reduced, keepdims) {
                (false, _) => Some(dim),
                (true, true) => Some(1),
                (true, false) => None,
            })
            .collect();
        geometry::shape("a", &dims)
    }

    /// The launch's axes: those that stay, and those that go with the tightest of `a` last.
    fn split(&self, a: &View, out: &View, keepdims: bool) -> (Vec<Axis>, Vec<Axis>) {
        let mut kept = Vec::new();
        let mut gone = Vec::new();
        let mut place = 0;
        for (axis, (&dim, &reduced)) in self.dims.iter().zip(&self.reduced).enumerate() {
            let stride = a.strides[axis];
            if reduced {
                gone.push((dim, 0, stride));
                place += usize::from(keepdims);
            } else {
                kept.push((dim, out.strides[place], stride));
                place += 1;
            }
        }
        gone.sort_by_key(|&(_, _, stride)| std::cmp::Reverse(stride.unsigned_abs()));
        kept.sort_by_key(|&(_, stride, _)| std::cmp::Reverse(stride.unsigned_abs()));
        (merged(&kept), merged(&gone))
    }
}

/// Joins neighbours whose strides continue one another.
fn merged(axes: &[Axis]) -> Vec<Axis> {
    let mut joined: Vec<Axis> = Vec::new();
    for &(dim, out, a) in axes.iter().filter(|&&(dim, ..)| dim != 1) {
        match joined.last_mut() {
            Some(last) if last.1 == out * dim as i64 && last.2 == a * dim as i64 => {
                *last = (last.0 * dim, out, a);
            }
            _ => joined.push((dim, out, a)),
        }
    }
    joined
}

/// How a large reduction of few results is cut: along its outermost axis, into `full` chunks of
/// `rows` indices and one of `rest`.
struct Chunks {
    rows: u64,
    full: u64,
    rest: u64,
}

impl Chunks {
    fn of(kept: u64, gone: &[Axis]) -> Option<Self> {
        let inner: u64 = gone.iter().skip(1).map(|&(dim, ..)| dim).product();
        let outer = gone.first()?.0;
        let large = outer.saturating_mul(inner) >= 2 * CHUNK_ELEMENTS;
        if kept == 0 || kept >= FEW_RESULTS || !large {
            return None;
        }
        let rows = (CHUNK_ELEMENTS / inner).max(1);
        let (full, rest) = (outer / rows, outer % rows);
        (full > 1).then_some(Self { rows, full, rest })
    }

    fn count(&self) -> u64 {
        self.full + u64::from(self.rest > 0)
    }
}

/// Bytes for the results of chunks.
pub(super) fn temporary_bytes(args: &Args) -> Result<u64, OpError> {
    let (axes, out) = (Axes::of(args)?, args.tensor("out")?);
    let (_, gone) = axes.split(args.tensor("a")?.view, out.view, args.flag("keepdims")?);
    let kept = axes.kept_elements();
    let chunks = Chunks::of(kept, &gone).map_or(0, |chunks| chunks.count());
    Ok(kept * chunks * out.dtype.size_bytes() as u64)
}

/// One launch, or one for the chunks, one for the rest of them, and one for their results.
pub(super) fn launch(args: &Args, reduction: &Reduction) -> Result<Launches, OpError> {
    let (a, out) = (args.tensor("a")?, args.tensor("out")?);
    let axes = Axes::of(args)?;
    let (kept, gone) = axes.split(a.view, out.view, args.flag("keepdims")?);
    let (from_a, to_out) = (args.source("a")?, args.source("out")?);
    let whole = |kernel, operands| Call { kernel, operands };
    let Some(chunks) = Chunks::of(axes.kept_elements(), &gone) else {
        let operands = [(to_out, out.view.offset), (from_a, a.view.offset)];
        return Ok(smallvec![
            whole(reduction.kernel, operands).launch(&kept, &gone)
        ]);
    };
    let temporary = Source::Temporary(out.dtype);
    let count = chunks.count() as i64;
    // The temporary is [kept..., chunks], row-major.
    let mut step = count;
    let mut strided: Vec<Axis> = kept.clone();
    for axis in strided.iter_mut().rev() {
        axis.1 = step;
        step *= axis.0 as i64;
    }
    let (outer, inner) = (gone[0], &gone[1..]);
    let part = |first: u64, rows: u64, full: u64| {
        let mut own_kept = strided.clone();
        own_kept.push((full, 1, outer.2 * rows as i64));
        let mut own_gone = vec![(rows, 0, outer.2)];
        own_gone.extend_from_slice(inner);
        let start = a.view.offset + outer.2 * (first * chunks.rows) as i64;
        whole(
            reduction.kernel,
            [(temporary, first as i64), (from_a, start)],
        )
        .launch(&own_kept, &own_gone)
    };
    let mut launches: Launches = smallvec![part(0, chunks.rows, chunks.full)];
    if chunks.rest > 0 {
        launches.push(part(chunks.full, chunks.rest, 1));
    }
    let last_kept: Vec<Axis> = kept
        .iter()
        .zip(&strided)
        .map(|(own, inner)| (own.0, own.1, inner.1))
        .collect();
    let operands = [(to_out, out.view.offset), (temporary, 0)];
    launches.push(whole(reduction.combine, operands).launch(&last_kept, &[(count as u64, 0, 1)]));
    Ok(launches)
}

struct Call {
    kernel: &'static str,
    operands: [(Source, i64); 2],
}

impl Call {
    fn launch(&self, kept: &[Axis], gone: &[Axis]) -> Launch {
        let all = || kept.iter().chain(gone);
        let [out, a] = self.operands;
        let operand = |(source, offset), strides: Extents| LaunchOperand {
            source,
            offset,
            strides,
        };
        Launch {
            kernel: self.kernel,
            dims: all().map(|axis| axis.0 as i64).collect(),
            split: kept.len(),
            operands: smallvec![
                operand(out, all().map(|axis| axis.1).collect()),
                operand(a, all().map(|axis| axis.2).collect()),
            ],
            params: smallvec![gone.len() as i64],
        }
    }
}

/// The reference: a function of the elements that fall on each element of the result.
pub(super) fn reference(
    args: &Args,
    contents: &dyn Contents,
    fold: fn(DType, &[Number]) -> (Number, Slack),
) -> Result<Expected, OpError> {
    walk::reduce(args, contents, &Axes::of(args)?.reduced, fold)
}
