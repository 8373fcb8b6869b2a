//! `powers` and `distribute_powers`.

use super::{A, RUN, Rows, declare, each_row, length, numbers, one_number, step};
use crate::op::{Param, ParamKind};
use crate::reference::Number;
use crate::reference::field::Field;
use crate::reference::number::exact;
use crate::{
    Args, Code, Extents, Launch, LaunchOperand, Launches, OpError, ReprRule, geometry, rules,
};
use cloakwork_ir::{FIELD_DTYPES, MAX_ELEMENTS, Type};
use smallvec::{SmallVec, smallvec};

declare!(
    POWERS,
    "powers",
    "`out[i] = start a^i`; `start` is 1 by default.",
    &[
        Param::tensor("a", "of a field, no axes"),
        Param::new(
            "n",
            ParamKind::Int(0, MAX_ELEMENTS as i64),
            "how many powers"
        ),
        Param::optional("start", "the dtype of `a`, no axes"),
        Param::out("`[n]`"),
    ],
    &["a", "n", "start", "out"],
    &[],
    |args| {
        let (a, n) = (args.tensor("a")?, count(args)?);
        rules::dtype_in("a", a, &FIELD_DTYPES)?;
        rules::rank_is("a", a, 0)?;
        if let Some(start) = args.tensor_if_any("start")? {
            rules::same_dtype(args, "start", a.dtype)?;
            rules::rank_is("start", start, 0)?;
        }
        Ok(Type::new(a.dtype, geometry::shape("n", &[n])?))
    },
    |args| {
        let (out, n) = (args.tensor("out")?, count(args)?);
        let blocks = Rows::of(out.view).parts(n.div_ceil(RUN)).weight(RUN * 20);
        let operands = smallvec![
            blocks.operand(args, "out", RUN as i64 * step(out.view))?,
            blocks.same(args, "a")?,
            blocks.same(args, "start")?,
        ];
        Ok(smallvec![blocks.launch(
            "powers",
            operands,
            &[n as i64, step(out.view)]
        )])
    },
    None,
    |args, contents| {
        let dtype = args.tensor("a")?.dtype;
        let field = Field::of(dtype);
        let a = one_number(args, contents, "a")?.unwrap_or_default();
        let start = one_number(args, contents, "start")?.unwrap_or_else(|| field.one());
        let power = |i: u64| field.multiply(&start, &field.power(&a, &i.into()));
        Ok(exact(
            dtype,
            (0..count(args)?).map(|i| Number::Element(power(i))),
        ))
    }
);

declare!(
    DISTRIBUTE,
    "distribute_powers",
    "`out[.., i] = a[.., i] * powers[i mod m]`: with the powers of a shift, from a domain to its \
     coset.",
    &[
        A,
        Param::tensor("powers", "the dtype of `a`, `[m]`, m at least 1"),
        Param::out("`[.., n]`"),
    ],
    &["a", "powers", "out"],
    &[],
    |args| {
        let (a, powers) = (args.tensor("a")?, args.tensor("powers")?);
        length("a", a)?;
        rules::same_dtype(args, "powers", a.dtype)?;
        rules::rank_is("powers", powers, 1)?;
        if powers.dims() == [0] {
            return Err(OpError::new(
                Code::Shape,
                "powers",
                "an element at least",
                "[0]",
            ));
        }
        Ok(a.ty())
    },
    distribute,
    None,
    |args, contents| {
        let powers = numbers(args, contents, "powers")?;
        each_row(args, contents, "a", &|field, row| {
            let factors = powers.iter().cycle();
            row.iter()
                .zip(factors)
                .map(|(a, power)| field.multiply(a, power))
                .collect()
        })
    },
    ReprRule::As("a")
);

fn count(args: &Args) -> Result<u64, OpError> {
    let n = args.int("n")?;
    match u64::try_from(n).ok().filter(|&n| n <= MAX_ELEMENTS) {
        Some(n) => Ok(n),
        None => {
            let expected = format!("an integer from 0 to {MAX_ELEMENTS}");
            Err(OpError::range("n", expected, n))
        }
    }
}

/// Whole repetitions of the powers, and the remainder.
fn distribute(args: &Args) -> Result<Launches, OpError> {
    let (n, m) = (
        length("a", args.tensor("a")?)?,
        args.tensor("powers")?.dims()[0],
    );
    let (whole, rest) = (n / m, n % m);
    let part = |first: u64, repeats: u64, count: u64| -> Result<Launch, OpError> {
        let mut operands = SmallVec::new();
        let mut dims = Extents::new();
        for name in ["out", "a", "powers"] {
            let view = args.tensor(name)?.view;
            let own = step(view);
            let (strides, offset): (Extents, i64) = if name == "powers" {
                let rows = args.tensor("a")?.view.rank().saturating_sub(1);
                let none = std::iter::repeat_n(0, rows + 1);
                (none.chain([own]).collect(), 0)
            } else {
                let sizes = view.shape.dims();
                let rows = sizes.len().saturating_sub(1);
                let sizes = sizes.iter().take(rows).map(|&dim| dim as i64);
                dims = sizes.chain([repeats as i64, count as i64]).collect();
                let strides = view.strides.iter().copied().take(rows);
                (
                    strides.chain([m as i64 * own, own]).collect(),
                    first as i64 * own,
                )
            };
            operands.push(LaunchOperand {
                source: args.source(name)?,
                offset: view.offset + offset,
                strides,
            });
        }
        Ok(Launch {
            kernel: "multiply",
            split: dims.len(),
            dims,
            operands,
            params: smallvec![0],
        })
    };
    Ok(smallvec![part(0, whole, m)?, part(whole * m, 1, rest)?])
}
