//! Negacyclic number-theoretic transforms.

pub mod intt;
#[allow(
    clippy::module_inception,
    reason = "the family and its first op share a name"
)]
pub mod ntt;
mod stages;

use crate::op::{Param, ParamKind};
use crate::permutation::{self, Permutation};
use crate::reference::canonical;
use crate::{Args, Code, Contents, Cut, Launch, Launches, OpError, geometry, rules};
use cloakwork_ir::{DType, Type, resolve_axis};
use smallvec::{SmallVec, smallvec};

/// Parameters that both transforms have.
const AXIS: Param = Param::new("axis", ParamKind::Int(-3, -1), "-3 or -1").or(-3);
const PERM: Param = Param::optional("perm", "a permutation of 0 .. m, i64 or i32, `[m]`");
const Q: Param = Param::tensor("q", "moduli `[k]`");
const OUT: Param = Param::out("four axes, k moduli");
const TILE: Param = Param::flag("tile", "`a` has size 1 along the moduli").or(0);
const PERM_PAIRS: Param = Param::hint("perm_pairs", "swaps of the permutation; not needed");
/// Constants that HEAL derives from moduli.
pub(crate) const LOG2Q: Param = Param::hint("log2q", "bit lengths of the moduli; not needed");
pub(crate) const MU: Param = Param::hint("mu", "Barrett constants; not needed");

/// Where the transform's axes stand among the four of a tensor.
#[derive(Clone, Copy, Debug)]
struct Axes {
    l: usize,
    r: usize,
    k: usize,
    m: usize,
}

impl Axes {
    /// Axes in the order of the kernels' iteration space: l, r, k, m.
    fn order(self) -> [usize; 4] {
        [self.l, self.r, self.k, self.m]
    }
}

/// Axis -3 is `[l, m, r, k]`, axis -1 is `[l, r, k, m]`.
fn axes(args: &Args) -> Result<Axes, OpError> {
    match resolve_axis(args.int("axis")?, 4) {
        Ok(1) => Ok(Axes {
            l: 0,
            m: 1,
            r: 2,
            k: 3,
        }),
        Ok(3) => Ok(Axes {
            l: 0,
            r: 1,
            k: 2,
            m: 3,
        }),
        _ => Err(OpError::new(
            Code::Axis,
            "axis",
            "-3 or -1",
            args.int("axis")?.to_string(),
        )),
    }
}

/// All axes but the transform's; `tables` have a row for each modulus, as `q` has.
fn cuts(args: &Args, tables: &[&'static str]) -> Result<Vec<Cut>, OpError> {
    let (axes, a, out) = (axes(args)?, args.tensor("a")?, args.tensor("out")?);
    let cut = |axis: usize| {
        let size = out.dims()[axis];
        let mut cut = Cut::along(axis, size, &[]);
        // With `tile`, all moduli transform the same polynomial.
        if a.dims()[axis] == size {
            cut.operands.push(("a", axis));
        }
        if axis == axes.k {
            cut.operands.push(("q", 0));
            cut.operands.extend(tables.iter().map(|&table| (table, 0)));
        }
        cut
    };
    Ok([axes.l, axes.r, axes.k].map(cut).into())
}

/// Checks `a`, the moduli, the table and the permutation of either transform; gives the result's
/// type. `table` is the name of the twiddles.
fn infer(args: &Args, table: &'static str, permute: bool) -> Result<Type, OpError> {
    let axes = axes(args)?;
    let (a, q) = (args.tensor("a")?, args.tensor("q")?);
    rules::dtype_in("q", q, &rules::RESIDUES)?;
    rules::dtype_in("a", a, &[q.dtype, DType::I8])?;
    rules::same_dtype(args, table, q.dtype)?;
    rules::same_dtype(args, "out", q.dtype)?;
    rules::rank_is("a", a, 4)?;
    rules::rank_is("q", q, 1)?;
    let (length, mut moduli) = (a.dims()[axes.m], a.dims()[axes.k]);
    rules::transform_length("a", length)?;
    if args.flag("tile")? {
        if moduli != 1 {
            let expected = "size 1 along the moduli to tile";
            return Err(OpError::shape("a", expected, a.shape()));
        }
        moduli = q.dims()[0];
    }
    rules::shape_is("q", q, &[moduli])?;
    rules::shape_is(table, args.tensor(table)?, &[moduli, length])?;
    if permute && let Some(perm) = args.tensor_if_any("perm")? {
        permutation::check("perm", perm)?;
        rules::shape_is("perm", perm, &[length])?;
    }
    Ok(Type::new(
        q.dtype,
        geometry::resized("a", a.shape(), axes.k, moduli)?,
    ))
}

/// The transform's launch behind what it needs: out, a, q, a table, the permutation, if it counts,
/// and what `last` names, a number a modulus; over the space l, r, k, m.
fn launches(
    kernel: &'static str,
    args: &Args,
    table: &'static str,
    permute: bool,
    last: Option<&'static str>,
) -> Result<Launches, OpError> {
    let order = axes(args)?.order();
    let (out, a) = (args.tensor("out")?, args.tensor("a")?);
    let over = |strides: &[i64]| order.map(|axis| strides[axis]);
    let (q, psi) = (args.tensor("q")?, args.tensor(table)?);
    let mut over_a = over(&a.view.strides);
    if args.flag("tile")? {
        over_a[2] = 0;
    }
    let mut launches = SmallVec::new();
    let permute = permute && args.tensor_if_any("perm")?.is_some();
    let perm = Permutation::operand((args, "perm"), permute, 3, &mut launches)?;
    let mut operands = smallvec![
        args.operand("out", &over(&out.view.strides))?,
        args.operand("a", &over_a)?,
        args.operand("q", &[0, 0, q.view.strides[0], 0])?,
        args.operand(table, &[0, 0, psi.view.strides[0], psi.view.strides[1]])?,
        perm,
    ];
    if let Some(last) = last {
        let stride = args.tensor(last)?.view.strides[0];
        operands.push(args.operand(last, &[0, 0, stride, 0])?);
    }
    launches.push(Launch {
        kernel,
        dims: order.iter().map(|&axis| out.dims()[axis] as i64).collect(),
        split: 3,
        operands,
        params: SmallVec::new(),
    });
    Ok(launches)
}

/// Butterflies of a call: `m / 2 * log2 m` a row.
fn butterflies(args: &Args) -> u64 {
    let (Ok(axes), Ok(out)) = (axes(args), args.tensor("out")) else {
        return 0;
    };
    let length = out.dims().get(axes.m).copied().unwrap_or(1).max(1);
    out.shape().elements() / 2 * u64::from(length.ilog2())
}

/// A reference's way through the rows of a transform, by row-major contents.
struct Rows<'a> {
    axes: Axes,
    input: [usize; 4],
    output: [usize; 4],
    a: &'a [i64],
    q: &'a [i64],
    table: &'a [i64],
}

impl<'a> Rows<'a> {
    fn new(args: &Args, contents: &'a dyn Contents, table: &'static str) -> Result<Self, OpError> {
        let (out, a) = (args.tensor("out")?, args.tensor("a")?);
        let size = |dims: &[u64]| [0, 1, 2, 3].map(|i| dims[i] as usize);
        Ok(Self {
            axes: axes(args)?,
            input: size(a.dims()),
            output: size(out.dims()),
            a: contents.words("a")?,
            q: contents.words("q")?,
            table: contents.words(table)?,
        })
    }

    /// Row-major index of l, r, k, m; an axis of size 1 has one index.
    fn flat(&self, dims: [usize; 4], index: [usize; 4]) -> usize {
        let mut at = [0; 4];
        for (axis, value) in self.axes.order().into_iter().zip(index) {
            at[axis] = if dims[axis] == 1 { 0 } else { value };
        }
        at.iter().zip(dims).fold(0, |flat, (i, dim)| flat * dim + i)
    }

    /// Transforms each row, given with its modulus' index, modulus and twiddles, in `[0, q)`.
    fn map(&self, transform: impl Fn(usize, Vec<i64>, &[i64], i64) -> Vec<i64>) -> Vec<i64> {
        let [l_size, r_size, k_size, m_size] = self.axes.order().map(|axis| self.output[axis]);
        let mut out = vec![0; l_size * r_size * k_size * m_size];
        for l in 0..l_size {
            for r in 0..r_size {
                for k in 0..k_size {
                    let (q, table) = (self.q[k], &self.table[k * m_size..][..m_size]);
                    let read = |m| self.a[self.flat(self.input, [l, r, k, m])];
                    let row = (0..m_size)
                        .map(|m| canonical(i128::from(read(m)), q))
                        .collect();
                    for (m, value) in transform(k, row, table, q).into_iter().enumerate() {
                        out[self.flat(self.output, [l, r, k, m])] = value;
                    }
                }
            }
        }
        out
    }
}

/// `row[perm[u]]` for each u; the row itself without a permutation.
fn permuted(row: Vec<i64>, perm: Option<&[i64]>) -> Vec<i64> {
    match perm {
        Some(perm) => perm.iter().map(|&u| row[u as usize]).collect(),
        None => row,
    }
}
