//! Uniform field elements that a key determines: they blind a proof.

use crate::op::{KernelBody, Param, ParamKind};
use crate::reference::{Contents, digests, prime::Prime};
use crate::{
    Access, Args, Body, Extents, Family, Form, Launch, LaunchOperand, Launches, Law, OpDef,
    OpError, Reference, rules,
};
use cloakwork_ir::{DType, Type};
use num_bigint::BigUint;
use smallvec::smallvec;

const KEY_BYTES: u64 = 32;
const KEY: Param = Param::tensor("key", "u8 `[32]`: determines all elements");
const DOMAIN: Param = Param::new(
    "domain",
    ParamKind::ANY_INT,
    "the stream of the key: draws with the same domain are equal",
);

const DRAWS: &[Law] = &[Law::Draws {
    key: "key",
    domain: "domain",
}];

/// `uniform_field`.
pub static DEF: OpDef = OpDef {
    name: "uniform_field",
    family: Family::Hash,
    doc: "Uniform elements of a field: element i, row-major, is block i of ChaCha20 under the key, \
          with the domain as its nonce of 64 bits, as a little-endian number of 64 bytes modulo \
          the prime: within 2^-128 of uniform. Coefficients of an extension's elements take a \
          block each, one after another. Results do not depend on threads.",
    params: &[
        KEY,
        Param::new("shape", ParamKind::Shape, "sizes of 0 or more, at most 16"),
        Param::new("dtype", ParamKind::DType, "a field"),
        DOMAIN,
        Param::out("the shape"),
    ],
    forms: &[Form::own(
        "uniform_field",
        &["key", "shape", "dtype", "domain", "out"],
    )],
    body: Body::kernel(
        |args| {
            key(args)?;
            let dtype = args.dtype("dtype")?;
            field(dtype)?;
            Ok(Type::new(dtype, args.shape("shape")?))
        },
        |args| {
            let out = args.tensor("out")?;
            let dims: Extents = out.dims().iter().map(|&dim| dim as i64).collect();
            launch(args, dims, args.operand("out", &out.view.strides)?)
        },
        Reference::Values(|args, contents| {
            let out = args.tensor("out")?;
            drawn(args, contents, out.dtype, out.shape().elements()).map(Into::into)
        }),
    ),
    operations: rules::out_elements,
    laws: DRAWS,
};

/// `blind`.
pub static BLIND: OpDef = OpDef {
    name: "blind",
    family: Family::Hash,
    doc: "Sets `a[start:end]` to uniform elements in place, as `uniform_field` draws them, the \
          first at `start`.",
    params: &[
        Param::new("a", ParamKind::Out, "a field's, one axis"),
        Param::new("start", ParamKind::Int(0, 1 << 48), "the first place"),
        Param::new(
            "end",
            ParamKind::Int(0, 1 << 48),
            "the place after the last, at most the length",
        ),
        KEY,
        DOMAIN,
    ],
    forms: &[Form::own("blind", &["a", "start", "end", "key", "domain"])],
    body: Body::Kernel(KernelBody {
        access: Access::Accumulate,
        ..KernelBody::new(
            |args| {
                key(args)?;
                let a = args.tensor("a")?;
                range(args)?;
                field(a.dtype).map_err(|error| OpError {
                    operand: "a",
                    ..error
                })?;
                Ok(a.ty())
            },
            |args| {
                let a = args.tensor("a")?;
                let (start, end) = range(args)?;
                let stride = a.view.strides.first().copied().unwrap_or(1);
                let mut written = args.operand("a", &[stride])?;
                written.offset += start * stride;
                launch(args, smallvec![end - start], written)
            },
            Reference::Values(|args, contents| {
                let (start, end) = range(args)?;
                let dtype = args.tensor("a")?.dtype;
                let mut words = contents.words("a")?.to_vec();
                let drawn = drawn(args, contents, dtype, (end - start) as u64)?;
                let first = start as usize * dtype.components();
                words[first..first + drawn.len()].copy_from_slice(&drawn);
                Ok(words.into())
            }),
        )
    }),
    operations: |args| range(args).map_or(0, |(start, end)| (end - start) as u64),
    laws: DRAWS,
};

/// So many elements from the first on.
fn drawn(
    args: &Args,
    contents: &dyn Contents,
    dtype: DType,
    count: u64,
) -> Result<Vec<i64>, OpError> {
    let key: Vec<u8> = contents
        .words("key")?
        .iter()
        .map(|&byte| byte as u8)
        .collect();
    let domain = args.int("domain")? as u64;
    let prime = Prime::of(dtype);
    let mut words = vec![];
    for block in 0..count * dtype.residues() as u64 {
        let number = BigUint::from_bytes_le(&digests::chacha20(&key, block, domain));
        prime.encode(&(number % &prime.modulus), &mut words);
    }
    Ok(words)
}

/// The dtype is a field's.
fn field(dtype: DType) -> Result<(), OpError> {
    if dtype.is_field() {
        return Ok(());
    }
    Err(OpError::dtype("dtype", "any field", dtype))
}

fn key(args: &Args) -> Result<(), OpError> {
    let key = args.tensor("key")?;
    rules::dtype_in("key", key, &[DType::U8])?;
    rules::shape_is("key", key, &[KEY_BYTES])
}

/// The places that are blinded.
fn range(args: &Args) -> Result<(i64, i64), OpError> {
    let a = args.tensor("a")?;
    rules::rank_is("a", a, 1)?;
    let length = a.shape().elements() as i64;
    let (start, end) = (args.int("start")?, args.int("end")?);
    for (name, place, least) in [("start", start, 0), ("end", end, start)] {
        if !(least..=length).contains(&place) {
            let expected = format!("a place from {least} to {length}");
            return Err(OpError::range(name, expected, place));
        }
    }
    Ok((start, end))
}

fn launch(args: &Args, dims: Extents, written: LaunchOperand) -> Result<Launches, OpError> {
    let still = vec![0; dims.len()];
    let stride = args.tensor("key")?.view.strides.first().copied();
    Ok(smallvec![Launch {
        kernel: "uniform_field",
        split: dims.len(),
        operands: smallvec![written, args.operand("key", &still)?],
        params: smallvec![stride.unwrap_or(1), args.int("domain")?],
        dims,
    }])
}
