//! `keccak256`: the hash of Ethereum, and of the transcripts of snarkjs's PLONK.

use crate::op::Param;
use crate::reference::Number;
use crate::reference::digests;
use crate::reference::number::exact;
use crate::{Body, Family, Form, Launch, OpDef, Reference, geometry, rules};
use cloakwork_ir::{DType, Type};
use smallvec::smallvec;

/// Bytes of a digest.
const DIGEST_BYTES: u64 = 32;

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "keccak256",
    family: Family::Hash,
    doc: "The Keccak-256 hash of bytes, with the padding of its first submission, as in Ethereum: \
          SHA3-256 has another.",
    params: &[Param::tensor("a", "u8 `[n]`"), Param::out("u8 `[32]`")],
    forms: &[Form::own("keccak256", &["a", "out"])],
    body: Body::kernel(
        |args| {
            let a = args.tensor("a")?;
            rules::dtype_in("a", a, &[DType::U8])?;
            rules::rank_is("a", a, 1)?;
            Ok(Type::new(DType::U8, geometry::shape("a", &[DIGEST_BYTES])?))
        },
        |args| {
            let (a, out) = (args.tensor("a")?, args.tensor("out")?);
            let stride = |strides: &[i64]| strides.first().copied().unwrap_or(1);
            Ok(smallvec![Launch {
                kernel: "keccak256",
                dims: smallvec![1],
                split: 1,
                operands: smallvec![args.operand("out", &[0])?, args.operand("a", &[0])?],
                params: smallvec![
                    a.shape().elements() as i64,
                    stride(&a.view.strides),
                    stride(&out.view.strides),
                ],
            }])
        },
        Reference::Values(|_, contents| {
            let bytes = contents.words("a")?;
            let bytes: Vec<u8> = bytes.iter().map(|&byte| byte as u8).collect();
            let digest = digests::keccak256(&bytes).into_iter();
            Ok(exact(
                DType::U8,
                digest.map(|byte| Number::Int(byte.into())),
            ))
        }),
    ),
    operations: |args| args.elements("a").saturating_mul(16),
    laws: &[],
};
