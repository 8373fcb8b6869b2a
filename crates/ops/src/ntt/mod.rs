//! Negacyclic number-theoretic transforms.

#[allow(
    clippy::module_inception,
    reason = "the family and its first op share a name"
)]
pub mod ntt;

use crate::{Args, Code, Launch, OpError, rules};
use cloakwork_ir::{DType, resolve_axis};
use smallvec::{SmallVec, smallvec};

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

/// Moduli in range, and a table of `[moduli, length]` of their dtype.
fn check_tables(args: &Args, name: &'static str, length: u64, moduli: u64) -> Result<(), OpError> {
    let (q, table) = (args.tensor("q")?, args.tensor(name)?);
    rules::dtype_in("q", q, &rules::RESIDUES)?;
    rules::same_dtype(args, name, q.dtype)?;
    rules::modulus_contents("q", q)?;
    rules::shape_is(name, table, &[moduli, length])
}

/// A permutation tensor of the transform's length, if it is given.
fn check_permutation(args: &Args, length: u64) -> Result<(), OpError> {
    let Some(perm) = args.tensor_if_any("perm")? else {
        return Ok(());
    };
    rules::dtype_in("perm", perm, &[DType::I64])?;
    rules::shape_is("perm", perm, &[length])?;
    rules::permutation_contents("perm", perm, length)
}

/// out, a, q and a table over the space l, r, k, m.
fn launch(kernel: &'static str, args: &Args, table: &'static str) -> Result<Launch, OpError> {
    let order = axes(args)?.order();
    let (out, a) = (args.tensor("out")?, args.tensor("a")?);
    let over = |strides: &[i64]| order.map(|axis| strides[axis]);
    let (q, psi) = (args.tensor("q")?, args.tensor(table)?);
    Ok(Launch {
        kernel,
        dims: order.iter().map(|&axis| out.dims()[axis] as i64).collect(),
        split: 3,
        operands: smallvec![
            args.operand("out", &over(&out.view.strides))?,
            args.operand("a", &over(&a.view.strides))?,
            args.operand("q", &[0, 0, q.view.strides[0], 0])?,
            args.operand(table, &[0, 0, psi.view.strides[0], psi.view.strides[1]])?,
        ],
        params: SmallVec::new(),
    })
}

/// `m / 2 * log2 m` a row.
fn butterflies(args: &Args) -> u64 {
    let (Ok(axes), Ok(out)) = (axes(args), args.tensor("out")) else {
        return 0;
    };
    let length = out.dims().get(axes.m).copied().unwrap_or(1).max(1);
    out.shape().elements() / 2 * u64::from(length.ilog2())
}

/// Row-major indexing of a reference over the rows of a transform.
struct Rows {
    axes: Axes,
    input: [usize; 4],
    output: [usize; 4],
    length: usize,
}

impl Rows {
    fn new(args: &Args) -> Result<Self, OpError> {
        let (out, a) = (args.tensor("out")?, args.tensor("a")?);
        let axes = axes(args)?;
        let size = |dims: &[u64]| [0, 1, 2, 3].map(|i| dims[i] as usize);
        let (output, input) = (size(out.dims()), size(a.dims()));
        Ok(Self {
            axes,
            input,
            output,
            length: output[axes.m],
        })
    }

    fn flat(&self, dims: [usize; 4], index: [usize; 4]) -> usize {
        let mut at = [0; 4];
        for (axis, value) in self.axes.order().into_iter().zip(index) {
            at[axis] = if dims[axis] == 1 { 0 } else { value };
        }
        at.iter().zip(dims).fold(0, |flat, (i, dim)| flat * dim + i)
    }

    /// Row-major index of an element of `a`; a tiled axis has one index.
    fn input(&self, l: usize, r: usize, k: usize, m: usize) -> usize {
        self.flat(self.input, [l, r, k, m])
    }

    /// Computes each row and puts it into its place.
    fn map(&self, row: impl Fn(usize, usize, usize) -> Vec<i64>) -> Result<Vec<i64>, OpError> {
        let [l_size, r_size, k_size, m_size] = self.axes.order().map(|axis| self.output[axis]);
        let mut out = vec![0; l_size * r_size * k_size * m_size];
        for l in 0..l_size {
            for r in 0..r_size {
                for k in 0..k_size {
                    for (m, value) in row(l, r, k).into_iter().enumerate() {
                        out[self.flat(self.output, [l, r, k, m])] = value;
                    }
                }
            }
        }
        Ok(out)
    }
}
