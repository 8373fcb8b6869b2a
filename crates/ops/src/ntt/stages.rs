//! Both transforms in smaller ops, stage by stage, over views `[l, groups, 2, width, r, k]`.
//!
//! Values stay in `(-q, q)` between stages, and the last `modsum` with q gives the residue in
//! `[0, q)`, which depends on their classes alone: the result is that of the recurrence.

use crate::op::ExpandFn;
use crate::{Args, Expansion, OpError, Part};
use cloakwork_ir::{Arg, DType};

/// Transforms of this length or less are written in stages.
const MAX_LENGTH: u64 = 1 << 16;

/// Whether a call can be written in stages: no widening, and a permutation whose check is done.
pub fn expands(args: &Args, permute: bool) -> Result<bool, OpError> {
    let (a, q) = (args.tensor("a")?, args.tensor("q")?);
    let length = a.dims()[super::axes(args)?.m];
    let perm = args.tensor_if_any("perm")?.filter(|_| permute);
    let is_empty = args.elements("out") == 0;
    let known = perm.is_none_or(|perm| perm.dtype == DType::I64 && perm.constant.is_some());
    Ok(known && !is_empty && a.dtype == q.dtype && (2..=MAX_LENGTH).contains(&length))
}

/// A transform that is being written.
struct Stages<'s, 'b> {
    steps: &'s mut Expansion<'b>,
    q: Arg,
    /// The values, `[l, m, r, k]`.
    x: Arg,
    /// As many words as half of them.
    half: Arg,
    dims: [u64; 4],
}

/// The two halves of each group of a stage, a temporary like one of them, and the twiddles.
struct Stage {
    low: Arg,
    high: Arg,
    other: Arg,
    twiddles: Arg,
}

/// The order in which a transform begins: its operand in the order `[l, m, r, k]`.
fn in_order(args: &Args, steps: &mut Expansion, name: &'static str) -> Result<Arg, OpError> {
    let tensor = steps.arg(name)?;
    let axis = Arg::Int(super::axes(args)?.m as i64);
    let given = [
        ("a", tensor),
        ("source", axis),
        ("destination", Arg::Int(1)),
    ];
    steps.call("moveaxis", &given)
}

/// `a[.., perm[u], ..]` along the transform's axis, written into a tensor.
fn permute(steps: &mut Expansion, a: Arg, length: u64, into: &Arg) -> Result<(), OpError> {
    let perm = steps.arg("perm")?;
    let perm = steps.reshape(&perm, &[1, length, 1, 1])?;
    let given = [("a", a), ("indices", perm), ("axis", Arg::Int(1))];
    steps.call_into("take_along_axis", &given, into)
}

impl<'s, 'b> Stages<'s, 'b> {
    /// Begins with `a mod q` in a tensor like the result.
    fn new(args: &Args, steps: &'s mut Expansion<'b>, a: Arg) -> Result<Self, OpError> {
        let (axes, out) = (super::axes(args)?, args.tensor("out")?);
        let dims = [axes.l, axes.m, axes.r, axes.k].map(|axis| out.dims()[axis]);
        let x = steps.empty_along(out.dtype, &dims, 1)?;
        let half = steps.empty_along(out.dtype, &[dims[0], dims[1] / 2, dims[2], dims[3]], 1)?;
        let q = steps.arg("q")?;
        steps.call_into(
            "modmul",
            &[("a", a), ("b", Arg::Int(1)), ("q", q.clone())],
            &x,
        )?;
        Ok(Self {
            steps,
            q,
            x,
            half,
            dims,
        })
    }

    /// The views of the stage of so many groups.
    fn stage(&mut self, groups: u64, table: &'static str) -> Result<Stage, OpError> {
        let [l, m, r, k] = self.dims;
        let width = m / groups / 2;
        let halves = self.steps.reshape(&self.x, &[l, groups, 2, width, r, k])?;
        let mut part = |half| {
            let parts = [
                Part::All(l),
                Part::All(groups),
                Part::At(half),
                Part::All(width),
                Part::All(r),
                Part::All(k),
            ];
            self.steps.slice(&halves, &parts)
        };
        let (low, high) = (part(0)?, part(1)?);
        let table = self.steps.arg(table)?;
        let parts = [Part::All(k), Part::Range(groups, 2 * groups)];
        let rows = self.steps.slice(&table, &parts)?;
        let order = [
            ("a", rows),
            ("source", Arg::Int(0)),
            ("destination", Arg::Int(1)),
        ];
        let mut twiddles = self.steps.call("moveaxis", &order)?;
        for _ in 0..2 {
            let given = [("a", twiddles), ("axis", Arg::Int(1))];
            twiddles = self.steps.call("unsqueeze", &given)?;
        }
        Ok(Stage {
            low,
            high,
            other: self.steps.reshape(&self.half, &[l, groups, width, r, k])?,
            twiddles,
        })
    }

    fn product(&mut self, a: &Arg, b: Arg, into: &Arg) -> Result<(), OpError> {
        let given = [("a", a.clone()), ("b", b), ("q", self.q.clone())];
        self.steps.call_into("modmul", &given, into)
    }

    fn sum(&mut self, a: &Arg, b: &Arg, into: &Arg) -> Result<(), OpError> {
        let given = [("a", a.clone()), ("b", b.clone()), ("q", self.q.clone())];
        self.steps.call_into("modsum", &given, into)
    }

    /// Residues in `[0, q)`, written into a tensor.
    fn reduced(&mut self, into: &Arg) -> Result<(), OpError> {
        let (x, q) = (self.x.clone(), self.q.clone());
        self.sum(&x, &q, into)
    }
}

/// `ntt`: low + t and low - t, where t is the high half times its twiddle.
pub const FORWARD: ExpandFn = |args, steps| {
    let a = in_order(args, steps, "a")?;
    let out = in_order(args, steps, "out")?;
    let mut stages = Stages::new(args, steps, a)?;
    let length = stages.dims[1];
    let mut groups = 1;
    while groups < length {
        let stage = stages.stage(groups, "psi")?;
        stages.product(&stage.high, stage.twiddles, &stage.other)?;
        stages.product(&stage.other, Arg::Int(-1), &stage.high)?;
        stages.sum(&stage.low, &stage.high, &stage.high)?;
        stages.sum(&stage.low, &stage.other, &stage.low)?;
        groups *= 2;
    }
    if args.flag("skip_perm")? || args.tensor_if_any("perm")?.is_none() {
        return stages.reduced(&out);
    }
    let x = stages.x.clone();
    stages.reduced(&x)?;
    permute(stages.steps, x, length, &out)
};

/// `intt`: low + high, and low - high times its twiddle; then all times `n_inv`.
pub const BACKWARD: ExpandFn = |args, steps| {
    let mut a = in_order(args, steps, "a")?;
    let out = in_order(args, steps, "out")?;
    if args.tensor_if_any("perm")?.is_some() {
        let (axes, own) = (super::axes(args)?, args.tensor("a")?);
        let dims = [axes.l, axes.m, axes.r, axes.k].map(|axis| own.dims()[axis]);
        let permuted = steps.empty_along(own.dtype, &dims, 1)?;
        permute(steps, a, dims[1], &permuted)?;
        a = permuted;
    }
    let mut stages = Stages::new(args, steps, a)?;
    let mut groups = stages.dims[1] / 2;
    while groups > 0 {
        let stage = stages.stage(groups, "psi_inv")?;
        stages.product(&stage.high, Arg::Int(-1), &stage.other)?;
        stages.sum(&stage.low, &stage.other, &stage.other)?;
        stages.sum(&stage.low, &stage.high, &stage.low)?;
        stages.product(&stage.other, stage.twiddles, &stage.high)?;
        groups /= 2;
    }
    let (x, scale) = (stages.x.clone(), stages.steps.arg("n_inv")?);
    stages.product(&x, scale, &x)?;
    stages.reduced(&out)
};
