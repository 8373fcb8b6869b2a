//! `sparse_matvec`: a sparse matrix times a vector.

use super::{Rows, declare, length, numbers, step};
use crate::op::Param;
use crate::reference::Number;
use crate::reference::field::Field;
use crate::reference::number::exact;
use crate::{Code, ContentCheck, OpError, geometry, rules};
use cloakwork_ir::{DType, Type};
use smallvec::smallvec;

declare!(
    DEF,
    "sparse_matvec",
    "`out[i] = sum_k values[k] * x[columns[k]]` over `k` from `starts[i]` to before \
     `starts[i + 1]`: a sparse matrix by rows times a vector.",
    &[
        Param::tensor(
            "starts",
            "i64 `[m + 1]`, ascending, from 0 to the entries there are"
        ),
        Param::tensor("columns", "i64 `[entries]`, indices of `x`"),
        Param::tensor("values", "of a field, `[entries]`"),
        Param::tensor("x", "the dtype of `values`, `[n]`"),
        Param::out("`[m]`"),
    ],
    &["starts", "columns", "values", "x", "out"],
    &[
        ContentCheck::Starts {
            operand: "starts",
            of: "columns",
        },
        ContentCheck::Below {
            indices: "columns",
            operand: "x",
        },
    ],
    |args| {
        let (starts, columns) = (args.tensor("starts")?, args.tensor("columns")?);
        let (values, x) = (args.tensor("values")?, args.tensor("x")?);
        let entries = length("values", values)?;
        rules::dtype_in("starts", starts, &[DType::I64])?;
        rules::dtype_in("columns", columns, &[DType::I64])?;
        rules::same_dtype(args, "x", values.dtype)?;
        rules::rank_is("starts", starts, 1)?;
        rules::rank_is("x", x, 1)?;
        rules::shape_is("values", values, &[entries])?;
        rules::shape_is("columns", columns, &[entries])?;
        let Some(rows) = starts.dims()[0].checked_sub(1) else {
            return Err(OpError::new(
                Code::Shape,
                "starts",
                "a start at least",
                "[0]",
            ));
        };
        Ok(Type::new(values.dtype, geometry::shape("starts", &[rows])?))
    },
    |args| {
        let views = ["starts", "columns", "values", "x"];
        let steps: Result<Vec<i64>, OpError> = views
            .iter()
            .map(|name| Ok(step(args.tensor(name)?.view)))
            .collect();
        let steps = steps?;
        let out = args.tensor("out")?;
        let (m, entries) = (out.dims()[0], args.tensor("values")?.dims()[0]);
        let rows = Rows::of(out.view).parts(m);
        let rows = rows.weight(20 * entries.div_ceil(m.max(1)).max(1));
        let operands = smallvec![
            rows.operand(args, "out", step(out.view))?,
            rows.operand(args, "starts", steps[0])?,
            rows.same(args, "columns")?,
            rows.same(args, "values")?,
            rows.same(args, "x")?,
        ];
        Ok(smallvec![rows.launch("sparse_rows", operands, &steps)])
    },
    None,
    |args, contents| {
        let dtype = args.tensor("values")?.dtype;
        let field = Field::of(dtype);
        let (values, x) = (
            numbers(args, contents, "values")?,
            numbers(args, contents, "x")?,
        );
        let (starts, columns) = (contents.words("starts")?, contents.words("columns")?);
        let row = |ends: &[i64]| {
            let entries = ends[0] as usize..ends[1] as usize;
            entries.fold(field.zero(), |sum, k| {
                let term = field.multiply(&values[k], &x[columns[k] as usize]);
                field.add(&sum, &term)
            })
        };
        Ok(exact(
            dtype,
            starts.windows(2).map(|ends| Number::Element(row(ends))),
        ))
    }
);
