//! Tensors that NumPy wrote, and that Python's pickle and zipfile wrote as torch does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common::{assert_refused, assert_same_tensor, fixture};
use cloakwork_formats::{encode_npy, load, load_npy, load_torch, parse_npy, parse_torch};
use cloakwork_ir::{Bytes, DType, HostTensor, Shape, View};
use serde_json::Value;
use std::fs;

fn expected_tensors() -> Vec<(String, HostTensor)> {
    let text = fs::read_to_string(fixture("expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    let tensors = expected["tensors"].as_object().unwrap();
    tensors
        .iter()
        .map(|(name, tensor)| (name.clone(), expected_tensor(tensor)))
        .collect()
}

fn expected_tensor(tensor: &Value) -> HostTensor {
    let dtype = DType::from_name(tensor["dtype"].as_str().unwrap()).unwrap();
    let dims: Vec<u64> = tensor["shape"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| d.as_u64().unwrap())
        .collect();
    let mut bytes = Vec::new();
    for word in tensor["words"].as_array().unwrap() {
        let word = word
            .as_i64()
            .unwrap_or_else(|| word.as_u64().unwrap() as i64);
        bytes.extend_from_slice(&word.to_le_bytes()[..dtype.size_bytes()]);
    }
    HostTensor::from_vec(dtype, Shape::new(&dims).unwrap(), bytes).unwrap()
}

#[test]
fn what_numpy_and_torch_save_reads_as_they_say() {
    let mut read = 0;
    for (name, expected) in expected_tensors() {
        let path = fixture(&name);
        let got = if name.ends_with(".npy") {
            load_npy(path)
        } else {
            load_torch(path)
        };
        assert_same_tensor(
            &got.unwrap_or_else(|error| panic!("{name}: {error}")),
            &expected,
        );
        read += 1;
    }
    assert!(read >= 30, "only {read} fixtures were read");
}

#[test]
fn encoding_gives_the_bytes_that_numpy_wrote() {
    for (name, _) in expected_tensors() {
        if !name.ends_with(".npy") || name.starts_with("version_") {
            continue;
        }
        let file = fs::read(fixture(&name)).unwrap();
        let tensor = parse_npy(&file.clone().into()).unwrap();
        assert!(encode_npy(&tensor) == file, "{name} differs");
    }
}

#[test]
fn column_major_arrays_keep_their_strides() {
    let tensor = load_npy(fixture("fortran.npy")).unwrap();
    assert_eq!(tensor.view().strides.as_slice(), [1, 2, 6]);
    let tensor = load_torch(fixture("torch_expanded.pt")).unwrap();
    assert_eq!(tensor.view().strides.as_slice(), [0, 1]);
}

#[test]
fn views_that_npy_cannot_say_are_written_row_major() {
    let bytes: Bytes = (0u8..24).collect::<Vec<_>>().into();
    let shape = Shape::new(&[2, 3, 4]).unwrap();
    let view = View::with_axis_order(shape, &[1, 0, 2]);
    let tensor = HostTensor::new(DType::U8, view, bytes).unwrap();
    let read = parse_npy(&encode_npy(&tensor).into()).unwrap();
    assert!(read.view().is_contiguous());
    assert_same_tensor(&read, &tensor);
}

#[test]
fn elements_are_not_copied_unless_they_lie_askew() {
    let file: Bytes = fs::read(fixture("int64.npy")).unwrap().into();
    let data_at = file.as_slice().len() - 48;
    let tensor = parse_npy(&file).unwrap();
    assert_eq!(
        tensor.bytes().as_slice().as_ptr(),
        file.as_slice()[data_at..].as_ptr()
    );
    let mut askew = vec![0; 1];
    askew.extend_from_slice(file.as_slice());
    let askew = Bytes::from(askew)
        .slice(1..1 + file.as_slice().len())
        .unwrap();
    let moved = parse_npy(&askew).unwrap();
    assert_eq!(moved.bytes().as_slice().as_ptr().addr() % 8, 0);
    assert_same_tensor(&moved, &tensor);
}

#[test]
fn arrays_that_are_not_tensors_are_refused_in_words() {
    for (name, words) in [
        ("object", "never loaded"),
        ("structured", "each field by itself"),
        ("big_endian", "newbyteorder"),
        ("half", "f4, f8, c8 or c16, got descr '<f2'"),
        ("text", "f4, f8, c8 or c16, got descr '<U2'"),
    ] {
        assert_refused(load_npy(fixture(&format!("refused_{name}.npy"))), &[words]);
    }
}

/// A version 1 file with this header and so many bytes of elements.
fn npy(header: &str, data_bytes: usize) -> Bytes {
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend_from_slice(&(header.len() as u16).to_le_bytes());
    file.extend_from_slice(header.as_bytes());
    file.extend(vec![0; data_bytes]);
    file.into()
}

#[test]
fn headers_that_lie_are_refused_in_words() {
    let rank_17 = format!(
        "{{'descr': '<i8', 'fortran_order': False, 'shape': ({})}}",
        "1, ".repeat(17)
    );
    let open = "{'descr': '<i8', 'fortran_order': ";
    for (header, data_bytes, words) in [
        (
            format!("{open}False, 'shape': (3,)}}"),
            16,
            "24 bytes of elements",
        ),
        (format!("{open}False, 'shape': (3,)}}"), 32, "32 bytes"),
        (
            format!("{open}False, 'shape': (1152921504606846976,)}}"),
            8,
            "2^48",
        ),
        (
            format!("{open}True, 'shape': (1152921504606846976, 0)}}"),
            0,
            "2^48",
        ),
        (
            format!("{open}False, 'shape': (99999999999999999999,)}}"),
            8,
            "below 2^64",
        ),
        (rank_17, 8, "limit of 16"),
        (format!("{open}1, 'shape': (3,)}}"), 24, "True or False"),
        (format!("{open}False, 'shape': (3)}}"), 24, "`,`"),
        (format!("{open}False, 'shape': (-3,)}}"), 24, "a size"),
        (format!("{open}False, 'shape': [3]}}"), 24, "a tuple"),
        (format!("{open}False}}"), 24, "the key shape"),
        (
            format!("{open}False, 'shape': (3,), 'more': 1}}"),
            24,
            "'more'",
        ),
        (
            format!("{open}False, 'shape': (3,)}} + evil()"),
            24,
            "end of the header",
        ),
        (format!("{open}False, 'shape': (3,"), 24, "a size"),
        ("{'descr': '<i8".to_owned(), 0, "a string that ends"),
        (
            "{'descr': '|i8', 'fortran_order': False, 'shape': ()}".to_owned(),
            8,
            "byte order",
        ),
        (String::new(), 0, "`{`"),
    ] {
        let error = parse_npy(&npy(&header, data_bytes))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(words),
            "{header}: \"{error}\" lacks \"{words}\""
        );
    }
}

#[test]
fn prefixes_of_an_array_are_refused() {
    let file: Bytes = fs::read(fixture("fortran.npy")).unwrap().into();
    for length in 0..file.as_slice().len() {
        assert!(
            parse_npy(&file.slice(0..length).unwrap()).is_err(),
            "{length} bytes were enough"
        );
    }
    let mut huge = b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec();
    huge.extend_from_slice(b"{}");
    let error = parse_npy(&huge.into()).unwrap_err().to_string();
    assert!(error.contains("4294967295 bytes"), "{error}");
}

#[test]
fn pickles_that_do_more_than_hold_a_tensor_are_refused_by_name() {
    for (name, words) in [
        ("posix", "global `posix system`, which is not allowed"),
        ("dict", "opcode"),
        ("big_endian", "`big`"),
        ("compressed", "stored"),
        (
            "short_storage",
            "184 bytes, where the pickle says 24 elements of i64",
        ),
        ("out_of_reach", "inside the storage"),
        ("huge_stride", "inside the storage"),
        ("negative_stride", "strides from 0"),
    ] {
        assert_refused(load_torch(fixture(&format!("refused_{name}.pt"))), &[words]);
    }
}

/// The saved tensor `torch_int64.pt` with another pickle of the same length or shorter.
fn with_pickle(pickle: &[u8]) -> Bytes {
    let mut file = fs::read(fixture("torch_int64.pt")).unwrap();
    let name = file
        .windows(16)
        .position(|w| w == b"archive/data.pkl")
        .unwrap();
    let extra = u16::from_le_bytes([file[name - 2], file[name - 1]]) as usize;
    let start = name + 16 + extra;
    assert_eq!(file[start], 0x80);
    let end = start + file[start..].iter().position(|&b| b == b'P').unwrap();
    assert!(
        pickle.len() <= end - start,
        "the pickle is too long for its entry"
    );
    file[start..start + pickle.len()].copy_from_slice(pickle);
    file.into()
}

#[test]
fn hostile_pickles_neither_run_nor_grow() {
    // Doubling: a tuple of a tuple twice, and so on.
    let mut bomb = b"\x80\x02)".to_vec();
    for slot in 0..30u8 {
        bomb.extend_from_slice(&[b'q', slot, b'h', slot, 0x86]);
    }
    for (pickle, words) in [
        (&b"\x80\x02cbuiltins\neval\n"[..], "global `builtins eval`"),
        (b"\x80\x02ctorch\nload\n", "global `torch load`"),
        (b"\x80\x02c\x1b[31mred\nx\n", "global `\\u{1b}[31mred x`"),
        (b"\x80\x04", "protocol 4"),
        (b"\x80\x02.", "nothing"),
        (b"\x80\x02K\x01.", "a tensor, got an integer"),
        (b"\x80\x02h\x07", "memo 7"),
        (b"\x80\x02q\x01", "an empty stack"),
        (b"\x80\x02t", "a mark"),
        (b"\x80\x02(\x85", "a mark"),
        (b"\x80\x02K\x01Q", "id of a storage"),
        (b"\x80\x02K\x01K\x01R", "an integer called with an integer"),
        (b"\x80\x02X\xff\xff\xff\xff", "its end"),
        (b"\x80\x02\x8a\x09123456789", "64 bits"),
        (b"\x80\x02]", "opcode 0x5d"),
        (&bomb, "8 deep"),
    ] {
        let error = parse_torch(&with_pickle(pickle)).unwrap_err().to_string();
        assert!(error.contains(words), "\"{error}\" lacks \"{words}\"");
    }
}

#[test]
fn prefixes_of_an_archive_are_refused() {
    let file: Bytes = fs::read(fixture("torch_slice.pt")).unwrap().into();
    for length in 0..file.as_slice().len() {
        assert!(
            parse_torch(&file.slice(0..length).unwrap()).is_err(),
            "{length} bytes were enough"
        );
    }
}

#[test]
fn tensors_are_not_programs() {
    assert_refused(load(fixture("int64.npy")), &["one NumPy array"]);
    assert_refused(load(fixture("torch_int64.pt")), &["a zip archive"]);
    assert_refused(
        load(fixture("no such file")),
        &["cannot read", "no such file"],
    );
    assert_refused(
        load_npy(fixture("torch_int64.pt")),
        &["torch_int64.pt", "\\x93NUMPY"],
    );
    assert_refused(
        load_torch(fixture("int64.npy")),
        &["int64.npy", "a zip archive"],
    );
}
