//! Transcripts: the messages of prover and verifier so far, and the challenges of them. As
//! halo2's, to the byte.
//!
//! A transcript is a tensor of bytes: how many were absorbed and how many are the proof's, as u64,
//! then room for the log of what was absorbed, then as much for the proof. A digest is of the log,
//! so that a transcript can be copied, kept and compared like any tensor.

use super::transcript_reference;
use crate::field::primes::PRIME_TRANSFORMS;
use crate::op::{ExpandBody, KernelBody, Param, ParamKind};
use crate::{
    Aliasing, Args, Body, Code, ContentCheck, Effect, Extents, Family, Form, Launch, LaunchInput,
    LaunchOperand, Launches, Law, OpDef, OpError, Operand, Reference, Source, geometry, rules,
};
use cloakwork_ir::{Arg, CURVES, DType, Shape, Take, Type, View, shape_arg};
use smallvec::{SmallVec, smallvec};

/// Bytes before the log.
const HEAD_BYTES: u64 = 16;
/// Bytes of a digest.
const DIGEST_BYTES: u64 = 64;
const MAX_CAPACITY: i64 = 1 << 40;

/// Dtypes that transcripts absorb: prime fields with transforms, and points of curves (g1).
const ABSORBED: [DType; PRIME_TRANSFORMS.len() + CURVES.len()] = {
    let mut all = [DType::Bool; PRIME_TRANSFORMS.len() + CURVES.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = match at.checked_sub(PRIME_TRANSFORMS.len()) {
            None => PRIME_TRANSFORMS[at],
            Some(curve) => DType::Point(CURVES[curve].g1),
        };
        at += 1;
    }
    all
};

const OBSERVES: &[Law] = &[Law::Effect(Effect::Observes)];

const TRANSCRIPT: Param = Param::tensor(
    "transcript",
    "u8 `[16 + 2 capacity]`, as `transcript_new` makes it",
);
const VALUE: Param = Param::tensor(
    "value",
    "of a prime field with transforms, or points of a curve itself (g1), any shape",
);
const SAME: Param = Param::out("the shape of `transcript`, which it may be");

/// The entry that a call appends to the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appends {
    /// Nothing.
    Nothing,
    /// A prefix alone.
    Prefix,
    /// The elements of a parameter.
    Elements {
        /// The parameter.
        value: &'static str,
        /// Whether the proof gets them too.
        proven: bool,
    },
}

impl Appends {
    /// How many bytes.
    ///
    /// # Errors
    /// The parameter is not a tensor.
    pub fn bytes(self, args: &Args) -> Result<u64, OpError> {
        Ok(match self {
            Self::Nothing => 0,
            Self::Prefix => 1,
            Self::Elements { value, .. } => {
                let value = args.tensor(value)?;
                let each = 1 + value.dtype.size_bytes() as u64;
                value.shape().elements().saturating_mul(each)
            }
        })
    }

    /// How many bytes the proof gets: scalars whole, points compressed.
    ///
    /// # Errors
    /// The parameter is not a tensor.
    pub fn proof_bytes(self, args: &Args) -> Result<u64, OpError> {
        let Self::Elements {
            value,
            proven: true,
        } = self
        else {
            return Ok(0);
        };
        let value = args.tensor(value)?;
        let bytes = value.dtype.size_bytes() as u64;
        let each = if value.dtype.is_point() {
            bytes / 2
        } else {
            bytes
        };
        Ok(value.shape().elements().saturating_mul(each))
    }
}

/// How many bytes a transcript may absorb.
///
/// # Errors
/// It is not a transcript.
pub fn capacity(name: &'static str, transcript: Operand) -> Result<u64, OpError> {
    rules::dtype_in(name, transcript, &[DType::U8])?;
    match *transcript.dims() {
        [bytes] if bytes >= HEAD_BYTES && bytes % 2 == 0 => Ok((bytes - HEAD_BYTES) / 2),
        _ => {
            let expected = "one axis of 16 + 2 capacity bytes";
            Err(OpError::shape(name, expected, transcript.shape()).hint("transcript_new makes one"))
        }
    }
}

/// The part of a transcript that says how long its parts are.
pub fn head(view: &View) -> View {
    let take = Take::Range {
        start: 0,
        stop: HEAD_BYTES,
        step: 1,
    };
    view.slice(&[take]).unwrap_or_else(|_| view.clone())
}

/// The head of a transcript whose log and proof have so many bytes, as words.
#[must_use]
pub fn head_words(lengths: [u64; 2]) -> Vec<i64> {
    let bytes = lengths.into_iter().flat_map(u64::to_le_bytes);
    bytes.map(i64::from).collect()
}

/// Bytes of the log and of the proof, as the head says.
fn lengths(words: &[i64]) -> [u64; 2] {
    let word = |from: usize| {
        let bytes = words.iter().skip(from).take(8).rev();
        bytes.fold(0, |word, &byte| word << 8 | byte as u8 as u64)
    };
    [word(0), word(8)]
}

/// Whether the transcript's parts are at most so long; less than 0: nothing is short enough.
pub fn has_room(limit: i64, words: &[i64]) -> bool {
    let longest = lengths(words).into_iter().max().unwrap_or(0);
    u64::try_from(limit).is_ok_and(|limit| longest <= limit)
}

/// The error of a transcript that has no room.
pub fn no_room(name: &'static str, limit: i64, words: &[i64]) -> OpError {
    let longest = lengths(words).into_iter().max().unwrap_or(0);
    let expected = match limit {
        ..0 => "a transcript that has room for the value".to_owned(),
        _ => format!("a transcript of at most {limit} bytes before this call"),
    };
    let error = OpError::new(Code::Transcript, name, expected, longest.to_string());
    error.hint("make the transcript with a larger capacity")
}

/// Whether the transcript's proof is this long.
pub fn proof_is(length: i64, words: &[i64]) -> bool {
    let [_, proof] = lengths(words);
    u64::try_from(length) == Ok(proof)
}

/// The error of a transcript whose proof has another length.
pub fn other_proof(name: &'static str, length: i64, words: &[i64]) -> OpError {
    let [_, proof] = lengths(words);
    let expected = format!("a transcript whose proof has {length} bytes");
    let error = OpError::new(Code::Transcript, name, expected, proof.to_string());
    error.hint("`length` is what absorb_write wrote")
}

/// `transcript_new`.
pub static NEW: OpDef = OpDef {
    name: "transcript_new",
    family: Family::Hash,
    doc: "An empty transcript with room for `capacity` bytes: u8 `[16 + 2 capacity]`, all zeros. \
          An element takes one byte more than its size.",
    params: &[Param::new(
        "capacity",
        ParamKind::Int(0, MAX_CAPACITY),
        "bytes that it may absorb",
    )],
    forms: &[Form::own("transcript_new", &["capacity"])],
    body: Body::Expand(ExpandBody {
        infer: |args| Ok(Type::new(DType::U8, shape_of(args)?)),
        checks: &[],
        expand: |args, steps| {
            let shape = shape_arg(&shape_of(args)?);
            let dtype = Arg::DType(DType::U8);
            steps.call_result("empty", &[("shape", shape), ("dtype", dtype)])?;
            let result = steps.result();
            steps.call_into("set_const_val", &[("value", Arg::Int(0))], &result)
        },
    }),
    operations: |args| shape_of(args).map_or(0, |shape| shape.elements()),
    laws: &[Law::Fills(None)],
};

fn shape_of(args: &Args) -> Result<Shape, OpError> {
    let capacity = args.int("capacity")?;
    if !(0..=MAX_CAPACITY).contains(&capacity) {
        let expected = format!("0 to {MAX_CAPACITY} bytes");
        return Err(OpError::range("capacity", expected, capacity));
    }
    geometry::shape("capacity", &[HEAD_BYTES + 2 * capacity as u64])
}

/// An op that gives a transcript.
macro_rules! grows {
    ($name:ident, $text:literal, $doc:literal, $params:expr, $args:expr, $checks:expr,
     $infer:expr, $launch:expr, $reference:expr) => {
        #[doc = concat!("`", $text, "`.")]
        pub static $name: OpDef = OpDef {
            name: $text,
            family: Family::Hash,
            doc: $doc,
            params: $params,
            forms: &[Form::own($text, $args)],
            body: Body::Kernel(KernelBody {
                checks: $checks,
                aliasing: Aliasing::Only("transcript"),
                ..KernelBody::new($infer, $launch, Reference::Values($reference))
            }),
            operations: rules::out_elements,
            laws: OBSERVES,
        };
    };
}

/// The transcript has room for an addition.
const fn room(appends: Appends) -> ContentCheck {
    ContentCheck::TranscriptRoom {
        transcript: "transcript",
        appends,
    }
}

const fn elements(proven: bool) -> [ContentCheck; 2] {
    let appends = Appends::Elements {
        value: "value",
        proven,
    };
    [room(appends), ContentCheck::Finite("value")]
}

const ABSORBS: [ContentCheck; 2] = elements(false);
const WRITES: [ContentCheck; 2] = elements(true);

grows!(
    ABSORB,
    "absorb",
    "The transcript after absorbing all elements of `value` in row-major order: a scalar as the \
     byte 2 and its canonical bytes, a point as the byte 1 and its coordinates (bn254: \
     little-endian; bls12_381: points big-endian, as in halo2curves). Points must not be at \
     infinity.",
    &[TRANSCRIPT, VALUE, SAME],
    &["transcript", "value", "out"],
    &ABSORBS,
    infer_value,
    |args| launch_value(args, false),
    |args, contents| transcript_reference::absorbed(args, contents, false)
);

grows!(
    ABSORB_WRITE,
    "absorb_write",
    "As `absorb`, and the elements are appended to the proof: scalars as their canonical bytes, \
     points compressed (bn254: x with the parity of y as the highest bit; bls12_381: as in its \
     standard).",
    &[TRANSCRIPT, VALUE, SAME],
    &["transcript", "value", "out"],
    &WRITES,
    infer_value,
    |args| launch_value(args, true),
    |args, contents| transcript_reference::absorbed(args, contents, true)
);

grows!(
    SQUEEZE,
    "transcript_squeeze",
    "The transcript after absorbing the byte 0, which precedes each challenge.",
    &[TRANSCRIPT, SAME],
    &["transcript", "out"],
    &[room(Appends::Prefix)],
    infer,
    |args| launch("squeeze", args, None, &[]),
    |_, contents| transcript_reference::squeezed(contents)
);

fn infer(args: &Args) -> Result<Type, OpError> {
    let transcript = args.tensor("transcript")?;
    capacity("transcript", transcript)?;
    Ok(Type::new(DType::U8, transcript.shape().clone()))
}

fn infer_value(args: &Args) -> Result<Type, OpError> {
    rules::dtype_in("value", args.tensor("value")?, &ABSORBED)?;
    infer(args)
}

fn launch_value(args: &Args, writes: bool) -> Result<Launches, OpError> {
    launch("absorb", args, Some("value"), &[i64::from(writes)])
}

/// One unit: out, the values if there are some, the transcript. params: its bytes, the strides of
/// out and of it, and the rest.
fn launch(
    kernel: &'static str,
    args: &Args,
    value: Option<&'static str>,
    rest: &[i64],
) -> Result<Launches, OpError> {
    let (transcript, out) = (args.tensor("transcript")?, args.tensor("out")?);
    let dims: Extents = match value {
        Some(name) => args
            .tensor(name)?
            .dims()
            .iter()
            .map(|&d| d as i64)
            .collect(),
        None => smallvec![1],
    };
    let still = vec![0; dims.len()];
    let mut operands: SmallVec<[LaunchOperand; 5]> = smallvec![args.operand("out", &still)?];
    if let Some(name) = value {
        operands.push(args.operand(name, &args.tensor(name)?.view.strides)?);
    }
    operands.push(args.operand("transcript", &still)?);
    let bytes = transcript.shape().elements() as i64;
    let stride = |operand: Operand| operand.view.strides.first().copied().unwrap_or(1);
    let mut params: Extents = smallvec![bytes, stride(out), stride(transcript)];
    params.extend_from_slice(rest);
    Ok(smallvec![Launch {
        kernel,
        split: 0,
        dims,
        operands,
        params,
    }])
}

/// `challenge`.
pub static CHALLENGE: OpDef = OpDef {
    name: "challenge",
    family: Family::Hash,
    doc: "The challenge of the absorbed bytes: 64 bytes of its hash as a little-endian number, \
          modulo the field's prime. BLAKE2b is personalised with `Halo2-Transcript`; Keccak-256 \
          hashes these bytes and the absorbed ones, followed by the byte 10 for the low half and \
          11 for the high half.",
    params: &[
        TRANSCRIPT,
        Param::new("hash", ParamKind::Int(0, 1), "0: BLAKE2b, 1: Keccak-256"),
        Param::new("dtype", ParamKind::DType, "a prime field"),
        Param::out("an element"),
    ],
    forms: &[Form::own(
        "challenge",
        &["transcript", "hash", "dtype", "out"],
    )],
    body: Body::Kernel(KernelBody {
        checks: &[room(Appends::Nothing)],
        temporary: Some(|_| Ok(DIGEST_BYTES)),
        ..KernelBody::new(
            |args| {
                infer(args)?;
                let (hash, dtype) = (args.int("hash")?, args.dtype("dtype")?);
                if !(0..=1).contains(&hash) {
                    return Err(OpError::range("hash", "0 or 1", hash));
                }
                rules::prime_field("dtype", dtype)?;
                Ok(Type::new(dtype, Shape::scalar()))
            },
            launch_challenge,
            Reference::Values(transcript_reference::challenge),
        )
    }),
    operations: |args| args.elements("transcript"),
    laws: OBSERVES,
};

fn launch_challenge(args: &Args) -> Result<Launches, OpError> {
    let transcript = args.tensor("transcript")?;
    let digest = LaunchOperand {
        source: Source::Temporary(DType::U8),
        offset: 0,
        strides: smallvec![0],
    };
    let stride = transcript.view.strides.first().copied().unwrap_or(1);
    Ok(smallvec![
        Launch {
            kernel: "transcript_digest",
            dims: smallvec![1],
            split: 1,
            operands: smallvec![digest.clone(), args.operand("transcript", &[0])?],
            params: smallvec![
                transcript.shape().elements() as i64,
                stride,
                args.int("hash")?
            ],
        },
        Launch {
            kernel: "reduce_uniform",
            dims: smallvec![1],
            split: 1,
            operands: smallvec![args.operand("out", &[0])?, digest],
            params: smallvec![1],
        },
    ])
}

/// `transcript_finish`.
pub static FINISH: OpDef = OpDef {
    name: "transcript_finish",
    family: Family::Hash,
    doc: "The bytes of the proof that `absorb_write` wrote, in order.",
    params: &[
        TRANSCRIPT,
        Param::new(
            "length",
            ParamKind::Int(0, MAX_CAPACITY),
            "how many bytes that is",
        ),
        Param::out("u8 `[length]`"),
    ],
    forms: &[Form::own(
        "transcript_finish",
        &["transcript", "length", "out"],
    )],
    body: Body::Kernel(KernelBody {
        checks: &[ContentCheck::ProofLength {
            transcript: "transcript",
            length: "length",
        }],
        ..KernelBody::new(
            |args| {
                infer(args)?;
                let (_, length) = proof(args)?;
                Ok(Type::new(DType::U8, geometry::shape("length", &[length])?))
            },
            |args| {
                let (start, length) = proof(args)?;
                if length == 0 {
                    return Ok(smallvec![]);
                }
                let take = Take::Range {
                    start,
                    stop: start + length,
                    step: 1,
                };
                let view = args.tensor("transcript")?.view.slice(&[take]);
                let view = view.map_err(|error| {
                    let expected = "a transcript with this proof";
                    OpError::new(Code::Shape, "transcript", expected, error.to_string())
                })?;
                let bytes = LaunchInput::View(args.source("transcript")?, view);
                let out = args.tensor("out")?;
                let inputs = [args.input("out")?, bytes];
                Ok(smallvec![Launch::elementwise(
                    "copy",
                    out.shape(),
                    &inputs
                )?])
            },
            Reference::Values(|args, contents| {
                let (start, length) = proof(args)?;
                let bytes = contents.words("transcript")?;
                Ok(bytes[start as usize..(start + length) as usize]
                    .to_vec()
                    .into())
            }),
        )
    }),
    operations: rules::out_elements,
    laws: OBSERVES,
};

/// Where the proof begins, and its length, which the transcript has room for.
fn proof(args: &Args) -> Result<(u64, u64), OpError> {
    let capacity = capacity("transcript", args.tensor("transcript")?)?;
    let length = args.int("length")?;
    match u64::try_from(length) {
        Ok(length) if length <= capacity => Ok((HEAD_BYTES + capacity, length)),
        _ => {
            let expected = format!("0 to {capacity} bytes");
            Err(OpError::range("length", expected, length))
        }
    }
}
