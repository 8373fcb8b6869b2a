//! `permute_input`, `lookup_rows` and `permute_table`: halo2's permuted columns of a lookup.

use super::{declare, length, numbers, step};
use crate::op::{Param, ParamKind};
use crate::reference::field::Element;
use crate::reference::number::exact;
use crate::reference::{Contents, Expected, Number};
use crate::{
    Args, Code, ContentCheck, Extents, Launch, LaunchOperand, Launches, OpError, ReprRule, Source,
    geometry, rules,
};
use cloakwork_ir::{DType, MAX_ELEMENTS, Type};
use num_bigint::BigUint;
use smallvec::{SmallVec, smallvec};

/// Rows that a unit sorts by itself: `csrc/kernels/poly/lookup.h` has the same.
const SORT_RUN: u64 = 1024;

const INPUT: Param = Param::tensor("a", "of a prime field, `[n]`: the input");
const USABLE: Param = Param::new(
    "usable",
    ParamKind::Int(0, MAX_ELEMENTS as i64),
    "the number of rows before the blinding rows, at most n",
);

declare!(
    INPUT_DEF,
    "permute_input",
    "The first `usable` rows of `a` in ascending order of their canonical numbers, then zeros: the \
     permuted input of halo2's lookup argument. The time depends on the values.",
    &[INPUT, USABLE, Param::out("`[n]`")],
    &["a", "usable", "out"],
    &[],
    |args| {
        let a = args.tensor("a")?;
        usable(args, column("a", args)?)?;
        Ok(a.ty())
    },
    launch_input,
    Some(|args| temporary(args, 2)),
    |args, contents| {
        let mut rows = numbers(args, contents, "a")?;
        let n = rows.len();
        rows.truncate(usable(args, n as u64)? as usize);
        rows.sort();
        rows.resize(n, vec![BigUint::ZERO]);
        Ok(exact(
            args.tensor("a")?.dtype,
            rows.into_iter().map(Number::Element),
        ))
    },
    ReprRule::Values(&["a"])
);

declare!(
    ROWS_DEF,
    "lookup_rows",
    "The row of the table `t` for each of the `usable` rows of halo2's permuted table. In the \
     first row of each value of `permute_input(a, usable)`, it is the first row of `t` with that \
     value; the remaining rows of `t` fill the others in ascending canonical order, from the last \
     one up. For a value that is not in the table it is `-1 - r`, r the first row of `a` with it, \
     which `permute_table` refuses. The time depends on the values.",
    &[
        INPUT,
        Param::tensor("t", "the dtype of `a`, `[n]`: the table"),
        USABLE,
        Param::out("i64 `[usable]`"),
    ],
    &["a", "t", "usable", "out"],
    &[],
    |args| {
        let n = column("a", args)?;
        rules::same_dtype(args, "t", args.tensor("a")?.dtype)?;
        rules::shape_is("t", args.tensor("t")?, &[n])?;
        let usable = usable(args, n)?;
        Ok(Type::new(DType::I64, geometry::shape("usable", &[usable])?))
    },
    launch_rows,
    Some(|args| temporary(args, 4)),
    reference_rows,
    ReprRule::Values(&["a", "t"])
);

declare!(
    TABLE_DEF,
    "permute_table",
    "`out[i] = t[rows[i]]`, then zeros: with the `rows` of `lookup_rows` the permuted table of \
     halo2's lookup argument. In each row it equals the permuted input, or the permuted input \
     equals its row before. An input value that is not in the table is an error that names its \
     row.",
    &[
        Param::tensor("t", "of a prime field, `[n]`: the table"),
        Param::tensor("rows", "i64, of `lookup_rows`, at most n"),
        Param::out("`[n]`"),
    ],
    &["t", "rows", "out"],
    &[ContentCheck::LookupRows {
        rows: "rows",
        table: "t",
    }],
    |args| {
        let (t, rows) = (args.tensor("t")?, args.tensor("rows")?);
        let n = column("t", args)?;
        rules::dtype_in("rows", rows, &[DType::I64])?;
        rules::rank_is("rows", rows, 1)?;
        if rows.dims()[0] > n {
            let expected = format!("at most {n} rows, the size of the table");
            let got = rows.dims()[0].to_string();
            return Err(OpError::new(Code::Shape, "rows", expected, got));
        }
        Ok(t.ty())
    },
    |args| {
        let rows = args.tensor("rows")?;
        let own = args.operand("rows", &[step(rows.view)])?;
        picked(args, "t", own, rows.dims()[0])
    },
    None,
    |args, contents| {
        let t = numbers(args, contents, "t")?;
        let row = |&row: &i64| t[row as usize].clone();
        let mut out: Vec<Element> = contents.words("rows")?.iter().map(row).collect();
        out.resize(t.len(), vec![BigUint::ZERO]);
        Ok(exact(
            args.tensor("t")?.dtype,
            out.into_iter().map(Number::Element),
        ))
    },
    ReprRule::Values(&["t"])
);

/// Where a value of the sorted input begins, the table's first row of it; what is left of the
/// table, in order, through the other places from the last one up.
fn reference_rows(args: &Args, contents: &dyn Contents) -> Result<Expected, OpError> {
    let (a, t) = (numbers(args, contents, "a")?, numbers(args, contents, "t")?);
    let usable = usable(args, a.len() as u64)? as usize;
    let (a, t) = (&a[..usable], &t[..usable]);
    let mut input: Vec<usize> = (0..usable).collect();
    input.sort_by_key(|&row| &a[row]);
    let mut taken = vec![false; usable];
    let begins = |at: usize| at == 0 || a[input[at]] != a[input[at - 1]];
    let mut rows: Vec<Option<i64>> = (0..usable)
        .map(|at| {
            let first = t.iter().position(|value| *value == a[input[at]]);
            begins(at).then(|| first.map_or(-1 - input[at] as i64, |row| row as i64))
        })
        .collect();
    for &row in rows.iter().flatten().filter(|&&row| row >= 0) {
        taken[row as usize] = true;
    }
    let mut left: Vec<usize> = (0..usable).filter(|&row| !taken[row]).collect();
    left.sort_by_key(|&row| &t[row]);
    let mut left = left.into_iter();
    for place in rows.iter_mut().rev().filter(|place| place.is_none()) {
        *place = left.next().map(|row| row as i64);
    }
    let rows: Vec<i64> = rows.into_iter().flatten().collect();
    Ok(rows.into())
}

/// A column of a field's elements; its rows.
fn column(name: &'static str, args: &Args) -> Result<u64, OpError> {
    let operand = args.tensor(name)?;
    rules::prime_field(name, operand.dtype)?;
    rules::rank_is(name, operand, 1)?;
    length(name, operand)
}

/// How many rows are sorted, of n.
fn usable(args: &Args, n: u64) -> Result<u64, OpError> {
    let usable = args.int("usable")?;
    match u64::try_from(usable) {
        Ok(usable) if usable <= n => Ok(usable),
        _ => {
            let expected = format!("0 to {n} rows, the size of the table");
            Err(OpError::range("usable", expected, usable))
        }
    }
}

/// Rows with their numbers, and where they were: so many words each.
fn row_words(args: &Args) -> Result<u64, OpError> {
    let words = args.tensor("a")?.dtype.canonical_words();
    Ok(words as u64 + 1)
}

fn temporary(args: &Args, columns: u64) -> Result<u64, OpError> {
    let rows = usable(args, column("a", args)?)?.max(1);
    let bytes = columns * 8 * row_words(args)?;
    Ok(rows.saturating_mul(bytes))
}

/// Memory of the call's own from a word on; a unit begins so many words behind the one before.
fn own(dtype: DType, offset: u64, unit: u64) -> LaunchOperand {
    LaunchOperand {
        source: Source::Temporary(dtype),
        offset: offset as i64,
        strides: smallvec![unit as i64, 0],
    }
}

/// Sorts the rows of an operand: appends the launches, and gives the word where they end up. What
/// lies from `at` on is as many words as twice the rows take.
fn sorted(
    args: &Args,
    name: &'static str,
    at: u64,
    launches: &mut Launches,
) -> Result<u64, OpError> {
    let (view, each) = (args.tensor(name)?.view, row_words(args)?);
    let rows = usable(args, column("a", args)?)?;
    let (mut here, mut there) = (at, at + rows * each);
    let run = SORT_RUN * each;
    let elements = [SORT_RUN as i64 * step(view), 0];
    launches.push(Launch {
        kernel: "canonical_runs",
        dims: smallvec![
            rows.div_ceil(SORT_RUN) as i64,
            SORT_RUN.min(rows) as i64 * 80
        ],
        split: 1,
        operands: smallvec![
            own(DType::U64, here, run),
            args.operand(name, &elements)?,
            own(DType::U64, there, run),
        ],
        params: smallvec![rows as i64, step(view)],
    });
    let mut width = SORT_RUN;
    while width < rows {
        let (pair, units) = (2 * width * each, rows.div_ceil(2 * width));
        launches.push(Launch {
            kernel: "merge_runs",
            dims: smallvec![units as i64, (2 * width).min(rows) as i64 * 8],
            split: 1,
            operands: smallvec![own(DType::U64, there, pair), own(DType::U64, here, pair)],
            params: smallvec![rows as i64, width as i64, each as i64 - 1],
        });
        std::mem::swap(&mut here, &mut there);
        width *= 2;
    }
    Ok(here)
}

fn launch_input(args: &Args) -> Result<Launches, OpError> {
    let mut launches = SmallVec::new();
    let (at, each) = (sorted(args, "a", 0, &mut launches)?, row_words(args)?);
    let index = LaunchOperand {
        strides: smallvec![each as i64],
        ..own(DType::I64, at + each - 1, each)
    };
    let rows = usable(args, column("a", args)?)?;
    launches.extend(picked(args, "a", index, rows)?);
    Ok(launches)
}

fn launch_rows(args: &Args) -> Result<Launches, OpError> {
    let mut launches = SmallVec::new();
    let (rows, each) = (usable(args, column("a", args)?)?, row_words(args)?);
    let a = sorted(args, "a", 0, &mut launches)?;
    let t = sorted(args, "t", 2 * rows * each, &mut launches)?;
    launches.push(Launch {
        kernel: "lookup_rows",
        dims: smallvec![1, rows.max(1) as i64 * 8],
        split: 1,
        operands: smallvec![
            args.operand("out", &[0, 0])?,
            own(DType::U64, a, 0),
            own(DType::U64, t, 0),
        ],
        params: smallvec![rows as i64, step(args.tensor("out")?.view), each as i64 - 1],
    });
    Ok(launches)
}

/// Elements of a column at so many indices, then zeros.
fn picked(
    args: &Args,
    name: &'static str,
    indices: LaunchOperand,
    rows: u64,
) -> Result<Launches, OpError> {
    let (from, out) = (args.tensor(name)?.view, args.tensor("out")?.view);
    let n = length(name, args.tensor(name)?)?;
    let to = args.operand("out", &[step(out)])?;
    // Where nothing is behind, no place beyond the memory either.
    let skipped = if rows < n { rows as i64 } else { 0 };
    let behind = LaunchOperand {
        offset: to.offset + skipped * step(out),
        ..to.clone()
    };
    let each = |kernel, count: u64, operands, params| Launch {
        kernel,
        dims: smallvec![count as i64],
        split: 1,
        operands,
        params,
    };
    let params: Extents = smallvec![step(from), n as i64];
    Ok(smallvec![
        each(
            "gather",
            rows,
            smallvec![to, args.operand(name, &[0])?, indices],
            params
        ),
        each("fill", n - rows, smallvec![behind], smallvec![0, 0]),
    ])
}
