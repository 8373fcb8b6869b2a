//! Damaged tensor files and containers, and the guarantees of their readers for any bytes.

use crate::{Source, check_program, mutate_bytes};
use cloakwork_formats::{encode_npy, load_sealed, parse_npy, parse_torch};
use cloakwork_ir::Bytes;

/// Arrays written by NumPy, and tensors written by torch.
pub const SAMPLE_TENSORS: [&[u8]; 6] = [
    include_bytes!("../../formats/tests/fixtures/fortran.npy"),
    include_bytes!("../../formats/tests/fixtures/rank_16.npy"),
    include_bytes!("../../formats/tests/fixtures/bool.npy"),
    include_bytes!("../../formats/tests/fixtures/long_header.npy"),
    include_bytes!("../../formats/tests/fixtures/torch_slice.pt"),
    include_bytes!("../../formats/tests/fixtures/torch_expanded.pt"),
];

/// A container with every kind of step, argument and host.
pub const SAMPLE_CONTAINER: &[u8] = include_bytes!("../../formats/tests/fixtures/container_v1.cwk");

/// The positions of the header's size, the file's size and the checksum in a container's prefix.
const HEADER_BYTES: std::ops::Range<usize> = 16..24;
const FILE_BYTES: std::ops::Range<usize> = 24..32;
const CHECKSUM: std::ops::Range<usize> = 32..64;

/// One of the samples with a few bytes changed.
#[must_use]
pub fn damaged_tensor(source: &mut Source) -> Vec<u8> {
    mutate_bytes(SAMPLE_TENSORS[source.below(SAMPLE_TENSORS.len())], source)
}

/// The sample with a few bytes changed; mostly with correct sizes and checksum, so that the reader
/// gets past them.
#[must_use]
pub fn damaged_container(source: &mut Source) -> Vec<u8> {
    let sealed = !source.chance(4);
    if !sealed {
        return mutate_bytes(SAMPLE_CONTAINER, source);
    }
    let word = |range: std::ops::Range<usize>| {
        let bytes = SAMPLE_CONTAINER.get(range).unwrap_or_default();
        u64::from_le_bytes(bytes.try_into().unwrap_or_default()) as usize
    };
    let (prefix, rest) = SAMPLE_CONTAINER.split_at(CHECKSUM.end);
    let (header, data) = rest.split_at(word(HEADER_BYTES).min(rest.len()));
    let header = mutate_bytes(header, source);
    let mut bytes = [prefix, &header].concat();
    // Tensors begin at multiples of 64.
    bytes.resize(bytes.len().next_multiple_of(64), 0);
    let blank = (CHECKSUM.end + word(HEADER_BYTES)).next_multiple_of(64)
        - CHECKSUM.end
        - word(HEADER_BYTES);
    bytes.extend_from_slice(data.get(blank..).unwrap_or_default());
    let sizes = [(HEADER_BYTES, header.len()), (FILE_BYTES, bytes.len())];
    for (range, size) in sizes {
        bytes.splice(range, (size as u64).to_le_bytes());
    }
    let checksum = blake3::Hasher::new()
        .update(&bytes[..CHECKSUM.start])
        .update(&header)
        .finalize();
    bytes.splice(CHECKSUM, *checksum.as_bytes());
    bytes
}

/// Any bytes are an array that reads back the same after writing, a tensor, or give errors.
///
/// # Errors
/// The guarantee that does not hold.
pub fn check_tensor_bytes(bytes: &[u8]) -> Result<(), String> {
    let shared = Bytes::from(bytes.to_vec());
    for parsed in [parse_npy(&shared), parse_torch(&shared)] {
        match parsed {
            Ok(tensor) if tensor.view().shape.elements() < 1 << 20 => {
                let again = parse_npy(&encode_npy(&tensor).into()).map_err(|e| e.to_string())?;
                if again.words() != tensor.words() || again.ty() != tensor.ty() {
                    return Err("an array that changes".to_owned());
                }
            }
            Ok(_) => {}
            Err(error) if error.to_string().is_empty() => {
                return Err("an error without words".to_owned());
            }
            Err(_) => {}
        }
    }
    Ok(())
}

/// Any bytes are a container whose program can be judged and whose tensors can be checked, or give
/// an error.
///
/// # Errors
/// The program of these bytes breaks a law.
pub fn check_container_bytes(bytes: &[u8]) -> Result<(), String> {
    let Ok((program, seal)) = load_sealed(&bytes.to_vec().into()) else {
        return Ok(());
    };
    if let Some(seal) = seal {
        // Either answer is correct, since the damage may be anywhere.
        let _ = seal.check();
    }
    check_program(program)
}
