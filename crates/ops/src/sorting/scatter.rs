//! `scatter`: rows written to places that indices name.

use crate::op::{Param, ParamKind};
use crate::{
    Aliasing, Body, ContentCheck, Extents, Family, Form, KernelBody, Launch, OpDef, OpError,
    Reference, rules,
};
use cloakwork_ir::DType;
use smallvec::smallvec;

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "scatter",
    family: Family::Sorting,
    doc: "`out[indices[k]] = values[k]`, in the order of `k`: the last of equal indices wins. \
          The other elements are those of `a`, which may be `out`. Negative indices count from \
          the end.",
    params: &[
        Param::tensor("a", "one axis or more"),
        Param::tensor("indices", "i64, one axis"),
        Param::tensor(
            "values",
            "the dtype of `a`; as many rows as indices, of the shape of the rows of `a`",
        ),
        Param::new("axis", ParamKind::Int(0, 0), "the axis that is indexed: 0").or(0),
        Param::out("the shape of `a`"),
    ],
    forms: &[Form::own("scatter", &["a", "indices", "values", "out"])],
    body: Body::Kernel(KernelBody {
        checks: &[ContentCheck::IndexInto {
            indices: "indices",
            operand: "a",
            axis: "axis",
        }],
        aliasing: Aliasing::Only("a"),
        ..KernelBody::new(
            |args| {
                let (a, indices) = (args.tensor("a")?, args.tensor("indices")?);
                rules::dtype_in("indices", indices, &[DType::I64])?;
                rules::rank_is("indices", indices, 1)?;
                rules::same_dtype(args, "values", a.dtype)?;
                let Some((_, row)) = a.dims().split_first() else {
                    return Err(OpError::shape("a", "one axis or more", a.shape()));
                };
                let expected = [indices.dims(), row].concat();
                rules::shape_is("values", args.tensor("values")?, &expected)?;
                Ok(a.ty())
            },
            |args| {
                let (a, out) = (args.tensor("a")?, args.tensor("out")?);
                let copy = [args.input("out")?, args.input("a")?];
                let copy = Launch::elementwise("copy", a.shape(), &copy)?;
                let values = args.tensor("values")?;
                let row = values.view.rank();
                let rest = || (1..row).chain([0]);
                let dims: Extents = rest().map(|i| values.dims()[i] as i64).collect();
                let along = |strides: &[i64], first: i64| -> Extents {
                    rest()
                        .map(|i| if i == 0 { first } else { strides[i] })
                        .collect()
                };
                let still = vec![0; row];
                let step = args.tensor("indices")?.view.strides[0];
                Ok(smallvec![
                    copy,
                    Launch {
                        kernel: "scatter",
                        split: row - 1,
                        operands: smallvec![
                            args.operand("out", &along(&out.view.strides, 0))?,
                            args.operand(
                                "values",
                                &along(&values.view.strides, values.view.strides[0])
                            )?,
                            args.operand("indices", &along(&still, step))?,
                        ],
                        params: smallvec![out.view.strides[0], out.dims()[0] as i64],
                        dims,
                    }
                ])
            },
            Reference::Values(|args, contents| {
                let (a, values) = (args.tensor("a")?, args.tensor("values")?);
                let mut out = contents.words("a")?.to_vec();
                let rows = a.dims().first().copied().unwrap_or(0) as i64;
                let row: u64 = values.dims().iter().skip(1).product();
                let row = row as usize * a.dtype.components();
                if row > 0 {
                    let values = contents.words("values")?.chunks(row);
                    for (&index, value) in contents.words("indices")?.iter().zip(values) {
                        let index = if index < 0 { index + rows } else { index } as usize;
                        out[index * row..(index + 1) * row].copy_from_slice(value);
                    }
                }
                Ok(out.into())
            }),
        )
    }),
    operations: |args| args.elements("values"),
    laws: &[],
};
