//! `nonzero`: where elements are not 0.

use crate::op::{Param, ParamKind};
use crate::{Access, Body, Extents, Family, Form, KernelBody, Launch, OpDef, OpError, geometry};
use crate::{Reference, reference::Broadcast};
use cloakwork_ir::{DType, Type};
use smallvec::smallvec;

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "nonzero",
    family: Family::Sorting,
    doc: "The indices of the elements of `a` that are not 0: i64 `[count, rank of a]`, in \
          row-major order. `count` is their number (`count_nonzero`); a smaller one omits the \
          last, and a larger one gives rows of 0.",
    params: &[
        Param::tensor("a", "any shape"),
        Param::new(
            "count",
            ParamKind::Int(0, 1 << 48),
            "the rows of the result",
        ),
        Param::out("i64 `[count, rank of a]`"),
    ],
    forms: &[Form::own("nonzero", &["a", "count", "out"])],
    body: Body::Kernel(KernelBody {
        access: Access::Accumulate,
        ..KernelBody::new(
            |args| {
                let a = args.tensor("a")?;
                if !a.dtype.is_number() {
                    return Err(OpError::dtype("a", "numbers", a.dtype));
                }
                let rank = a.view.rank() as u64;
                let shape = geometry::shape("count", &[args.int("count")? as u64, rank])?;
                Ok(Type::new(DType::I64, shape))
            },
            |args| {
                let (a, out) = (args.tensor("a")?, args.tensor("out")?);
                let dims: Extents = a.dims().iter().map(|&dim| dim as i64).collect();
                let still = vec![0; dims.len()];
                let strides = &out.view.strides;
                Ok(smallvec![Launch {
                    kernel: "nonzero",
                    split: 0,
                    operands: smallvec![
                        args.operand("out", &still)?,
                        args.operand("a", &a.view.strides)?
                    ],
                    params: smallvec![strides[0], strides[1], args.int("count")?],
                    dims,
                }])
            },
            Reference::Values(|args, contents| {
                let dims = args.tensor("a")?.dims();
                let a = Broadcast::own(args, contents, "a")?.numbers();
                let mut rows = contents.words("out")?.to_vec();
                let places = (0u64..).zip(&a).filter(|(_, x)| x.is_true());
                for (row, (place, _)) in rows.chunks_mut(dims.len().max(1)).zip(places) {
                    let mut rest = place;
                    for (index, dim) in row.iter_mut().zip(dims).rev() {
                        *index = (rest % dim) as i64;
                        rest /= dim;
                    }
                }
                Ok(rows.into())
            }),
        )
    }),
    operations: |args| args.elements("a"),
    laws: &[],
};
