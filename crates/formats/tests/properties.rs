//! Round trips of random programs, and damage to valid files at random places. Seeds are fixed: a
//! failure is the same on each machine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common::{assert_same, assert_same_tensor, fixture};
use cloakwork_formats::{
    Container, LoadError, encode_npy, load, parse_heal, parse_npy, parse_torch, save_container,
    save_heal,
};
use cloakwork_ir::{
    Arg, DType, HostSlot, HostTensor, NUMBER_DTYPES, Program, Shape, ShapeItem, Step, View,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::fs;

fn config(cases: u32) -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(0x0c10_a4b0);
    ProptestConfig {
        cases,
        rng_seed,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn dtype() -> impl Strategy<Value = DType> {
    prop::sample::select(NUMBER_DTYPES.to_vec())
}

/// A tensor of any dtype and order of axes, at times with its last axis repeated.
fn tensor() -> impl Strategy<Value = HostTensor> {
    (
        dtype(),
        prop::collection::vec(0u64..4, 0..5),
        any::<u64>(),
        any::<bool>(),
    )
        .prop_flat_map(|(dtype, dims, seed, repeat)| {
            let order: Vec<usize> = (0..dims.len()).collect();
            (
                Just((dtype, dims, seed, repeat)),
                Just(order).prop_shuffle(),
            )
        })
        .prop_map(|((dtype, dims, seed, repeat), order)| {
            let mut view = View::with_axis_order(Shape::new(&dims).unwrap(), &order);
            if let (true, Some(stride)) = (repeat, view.strides.last_mut()) {
                *stride = 0;
            }
            let length = view.shape.elements() as usize * dtype.size_bytes();
            let bytes: Vec<u8> = (0..length as u64)
                .map(|i| i.wrapping_mul(7).wrapping_add(seed) as u8)
                .collect();
            HostTensor::new(dtype, view, bytes.into()).unwrap()
        })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["-?[0-9]{1,12}", "[a-z_]{1,8}", any::<String>()]
}

fn shape_item() -> impl Strategy<Value = ShapeItem> {
    let bound = || prop::option::of(any::<i64>());
    prop_oneof![
        any::<i64>().prop_map(ShapeItem::Int),
        (bound(), bound(), bound()).prop_map(|(start, stop, step)| ShapeItem::Slice {
            start,
            stop,
            step
        }),
        Just(ShapeItem::Ellipsis),
    ]
}

/// An argument before names and tensors have their numbers.
#[derive(Clone, Debug)]
enum Loose {
    Device(String, DType),
    Host(HostTensor),
    Plain(Arg),
}

fn argument() -> impl Strategy<Value = Loose> {
    prop_oneof![
        (name(), dtype()).prop_map(|(name, dtype)| Loose::Device(name, dtype)),
        tensor().prop_map(Loose::Host),
        prop::collection::vec(shape_item(), 0..4)
            .prop_map(|items| Loose::Plain(Arg::Shape(items.into()))),
        any::<i64>().prop_map(|value| Loose::Plain(Arg::Int(value))),
        (0i64..2).prop_map(|value| Loose::Plain(Arg::Int(value))),
        Just(Loose::Plain(Arg::None)),
        dtype().prop_map(|dtype| Loose::Plain(Arg::DType(dtype))),
    ]
}

#[derive(Clone, Debug)]
enum LooseStep {
    Op(String, Vec<Loose>, Option<Loose>),
    Free(String),
    Start(String),
    End,
    Skip,
}

fn step() -> impl Strategy<Value = LooseStep> {
    let op = prop_oneof![
        Just("ntt".to_owned()),
        Just("modmul_axis_sum".to_owned()),
        Just("flatten".to_owned()),
        any::<String>()
    ];
    let args = prop::collection::vec(argument(), 0..12);
    prop_oneof![
        6 => (op, args, prop::option::of(argument()))
            .prop_map(|(op, args, out)| LooseStep::Op(op, args, out)),
        1 => name().prop_map(LooseStep::Free),
        1 => any::<String>().prop_map(LooseStep::Start),
        1 => Just(LooseStep::End),
        1 => Just(LooseStep::Skip),
    ]
}

fn bind(program: &mut Program, loose: Loose) -> Arg {
    match loose {
        Loose::Device(name, dtype) => Arg::Device(program.symbol(&name), Some(dtype)),
        Loose::Host(tensor) => Arg::Host(program.push_host(HostSlot::Data(tensor))),
        Loose::Plain(arg) => arg,
    }
}

fn program() -> impl Strategy<Value = Program> {
    prop::collection::vec(step(), 0..8).prop_map(|steps| {
        let mut program = Program::new();
        for step in steps {
            let step = match step {
                LooseStep::Op(name, args, out) => {
                    let args: Vec<Arg> = args
                        .into_iter()
                        .map(|arg| bind(&mut program, arg))
                        .collect();
                    let out = out.map(|out| bind(&mut program, out));
                    program.push_op(&name, args, out);
                    continue;
                }
                LooseStep::Free(name) => Step::Free(program.symbol(&name)),
                LooseStep::Start(name) => Step::SegmentStart(program.text(&name)),
                LooseStep::End => Step::SegmentEnd,
                LooseStep::Skip => Step::Skip,
            };
            program.steps.push(step);
        }
        program
    })
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn a_saved_transcript_reads_back_as_it_was(mut program in program()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program.json");
        save_heal(&program, &path).unwrap();
        // The generation is no part of the form: it is found again from what is used.
        let read = load(&path).unwrap();
        program.generation = read.generation;
        assert_same(&read, &program);
        let text = fs::read(&path).unwrap();
        prop_assert!(serde_json::from_slice::<serde_json::Value>(&text).is_ok());
    }

    #[test]
    fn a_saved_container_reads_back_as_it_was(program in program()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program.cwk");
        save_container(&program, &path).unwrap();
        let container = Container::open(&path).unwrap();
        container.verify_tensors().unwrap();
        assert_same(container.program(), &program);
    }

    #[test]
    fn an_encoded_array_reads_back_as_it_was(tensor in tensor()) {
        assert_same_tensor(&parse_npy(&encode_npy(&tensor).into()).unwrap(), &tensor);
    }
}

/// Changes to a file: at each place, a byte is replaced, or some are removed or repeated.
fn damage() -> impl Strategy<Value = Vec<(prop::sample::Index, u8, u8)>> {
    prop::collection::vec((any::<prop::sample::Index>(), 0u8..4, any::<u8>()), 1..6)
}

fn damaged(file: &[u8], damage: &[(prop::sample::Index, u8, u8)], alphabet: &[u8]) -> Vec<u8> {
    let mut file = file.to_vec();
    for &(index, kind, value) in damage {
        if file.is_empty() {
            break;
        }
        let at = index.index(file.len());
        let end = (at + 1 + usize::from(value) % 40).min(file.len());
        match kind {
            0 => drop(file.drain(at..end)),
            1 => {
                let copy = file[at..end].to_vec();
                file.splice(at..at, copy);
            }
            _ if alphabet.is_empty() => file[at] = value,
            _ => file[at] = alphabet[usize::from(value) % alphabet.len()],
        }
    }
    file
}

/// Asserts the properties of a loaded tensor that later layers rely on.
fn assert_sound(tensor: &HostTensor) {
    if tensor.ty().size_bytes() < 1 << 20 {
        let words = tensor.view().shape.elements() * tensor.dtype().components() as u64;
        assert_eq!(tensor.words().len() as u64, words);
    }
    assert_eq!(
        tensor.bytes().as_slice().as_ptr().addr() % tensor.dtype().size_bytes(),
        0
    );
}

fn assert_sound_program(program: &Program) {
    for slot in &program.hosts {
        if let HostSlot::Data(tensor) = slot {
            assert_sound(tensor);
        }
    }
    assert_eq!(crate::common::described(program).len(), program.steps.len());
}

fn fixtures(extension: &str) -> Vec<Vec<u8>> {
    let mut paths: Vec<_> = fs::read_dir(fixture(""))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == extension));
    paths.sort();
    assert!(!paths.is_empty());
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Gives a damaged container a checksum that holds, so that damage reaches the decoder.
fn with_checksum(mut file: Vec<u8>) -> Vec<u8> {
    if file.len() < 64 {
        return file;
    }
    let length = (file.len() as u64).to_le_bytes();
    file[24..32].copy_from_slice(&length);
    let header_bytes = u64::from_le_bytes(file[16..24].try_into().unwrap());
    let end = usize::try_from(header_bytes)
        .unwrap_or(usize::MAX)
        .saturating_add(64);
    let mut hasher = blake3::Hasher::new();
    hasher
        .update(&file[..32])
        .update(&file[64..end.min(file.len())]);
    file[32..64].copy_from_slice(hasher.finalize().as_bytes());
    file
}

/// Bytes that keep damaged JSON interesting.
const JSON_ALPHABET: &[u8] = b"{}[]\",:0123456789-+.eEtrufalsn\\/ \n=A";

proptest! {
    #![proptest_config(config(600))]

    #[test]
    fn damaged_arrays_never_panic(which in any::<prop::sample::Index>(), damage in damage()) {
        let files = fixtures("npy");
        let file = damaged(&files[which.index(files.len())], &damage, b"");
        if let Ok(tensor) = parse_npy(&file.into()) {
            assert_sound(&tensor);
        }
    }

    #[test]
    fn damaged_torch_archives_never_panic(
        which in any::<prop::sample::Index>(), damage in damage()
    ) {
        let files = fixtures("pt");
        let file = damaged(&files[which.index(files.len())], &damage, b"");
        if let Ok(tensor) = parse_torch(&file.into()) {
            assert_sound(&tensor);
        }
    }

    #[test]
    fn damaged_containers_never_panic(damage in damage()) {
        let [file] = fixtures("cwk").try_into().unwrap();
        let file: Vec<u8> = file;
        let file = with_checksum(damaged(&file, &damage, b""));
        if let Ok(container) = Container::parse(&file.into()) {
            assert_sound_program(container.program());
        }
    }

    #[test]
    fn damaged_transcripts_never_panic_and_only_json_is_read(damage in damage()) {
        let file = fs::read(fixture("typed.json")).unwrap();
        let file = damaged(&file, &damage, JSON_ALPHABET);
        let comments = file.windows(2).any(|pair| pair == b"//");
        match parse_heal(&file) {
            Ok(program) => {
                assert_sound_program(&program);
                let peer = serde_json::from_slice::<serde::de::IgnoredAny>(&file);
                prop_assert!(comments || peer.is_ok(), "{:?}", peer.err());
            }
            Err(LoadError::Text { place, .. } | LoadError::Payload { place, .. }) => {
                prop_assert!(place.offset <= file.len() as u64);
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
    }

    #[test]
    fn damaged_excerpts_never_panic(damage in damage()) {
        let file = fs::read(fixture("simplified.json")).unwrap();
        if let Ok(program) = parse_heal(&damaged(&file, &damage, JSON_ALPHABET)) {
            assert_sound_program(&program);
        }
    }
}
