//! `automorphism`: a ring automorphism of polynomials in the NTT domain.

use crate::op::{Body, Family, Form, KernelBody, Law, OpDef, Param};
use crate::reference::Expected;
use crate::{
    Args, ContentCheck, Contents, Expansion, Launches, OpError, Operand, Reference, rules,
};
use cloakwork_ir::{Arg, DType, Type};
use smallvec::smallvec;

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "automorphism",
    family: Family::Rlwe,
    doc: "`out[.., n, k] = a[.., index[n], k]`: the automorphism `X -> X^g` of polynomials of \
          degree N in the NTT domain, which exchanges evaluations.\n\n\
          `index` is the same for all polynomials and limbs. In natural order, where n holds the \
          value at `psi^(2 n + 1)`, it is `(g (2 n + 1) mod 2 N) / 2` rounded down, for odd g; in \
          bit-reversed order the same between `bitrev(n)` and `bitrev(index[n])`. Any permutation \
          is allowed, and any words.",
    params: &[
        Param::tensor("a", "`[.., N, k]`, i32 or i64"),
        Param::tensor("index", "a permutation of 0 .. N, i64, `[N]`"),
        Param::out("the shape of `a`"),
    ],
    forms: &[Form::own("automorphism", &["a", "index", "out"])],
    body: Body::Kernel(KernelBody {
        checks: &[ContentCheck::Permutation {
            operand: "index",
            flag: None,
        }],
        expand: Some(expand),
        ..KernelBody::new(infer, launch, Reference::Values(reference))
    }),
    operations: rules::out_elements,
    laws: &[Law::Linear],
};

/// Where N stands.
fn axis(a: Operand) -> Result<usize, OpError> {
    a.view
        .rank()
        .checked_sub(2)
        .ok_or_else(|| OpError::shape("a", "two axes or more, the last two N and k", a.shape()))
}

fn infer(args: &Args) -> Result<Type, OpError> {
    let (a, index) = (args.tensor("a")?, args.tensor("index")?);
    rules::dtype_in("a", a, &rules::RESIDUES)?;
    let axis = axis(a)?;
    rules::dtype_in("index", index, &[DType::I64])?;
    rules::shape_is("index", index, &a.dims()[axis..=axis])?;
    Ok(a.ty())
}

/// out, a and the index map over the space rows, n: rows are all axes but N.
fn launch(args: &Args) -> Result<Launches, OpError> {
    let (a, out) = (args.tensor("a")?, args.tensor("out")?);
    let axis = axis(a)?;
    let mut launch = args.rows("automorphism", axis)?;
    let index = args.tensor("index")?.view.strides[0];
    launch
        .operands
        .push(args.operand("index", &vec![0; launch.dims.len()])?);
    launch.dims.push(a.dims()[axis] as i64);
    let along = [out.view.strides[axis], a.view.strides[axis], index];
    for (operand, stride) in launch.operands.iter_mut().zip(along) {
        operand.strides.push(stride);
    }
    launch.split = launch.dims.len();
    Ok(smallvec![launch])
}

/// `take_along_axis` with the map broadcast over the other axes.
fn expand(args: &Args, steps: &mut Expansion) -> Result<(), OpError> {
    let a = args.tensor("a")?;
    let axis = axis(a)?;
    let mut dims = vec![1; a.view.rank()];
    dims[axis] = a.dims()[axis];
    let index = steps.arg("index")?;
    let indices = steps.reshape(&index, &dims)?;
    let (a, out) = (steps.arg("a")?, steps.arg("out")?);
    let taken = [
        ("a", a),
        ("indices", indices),
        ("axis", Arg::Int(axis as i64)),
    ];
    steps.call_into("take_along_axis", &taken, &out)
}

fn reference(args: &Args, contents: &dyn Contents) -> Result<Expected, OpError> {
    let shape = args.tensor("a")?.shape();
    let (a, index) = (contents.words("a")?, contents.words("index")?);
    let limbs = shape.dims().last().copied().unwrap_or(1) as usize;
    let place = |flat: usize| {
        let (row, k) = (flat / limbs, flat % limbs);
        let (polynomial, n) = (row / index.len(), row % index.len());
        (polynomial * index.len() + index[n] as usize) * limbs + k
    };
    Ok(Expected::Exact(
        (0..a.len()).map(|flat| a[place(flat)]).collect(),
    ))
}
