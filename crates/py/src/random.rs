//! Random words: entropy of the operating system, or a given seed, stretched by ChaCha20. And calls
//! that leave nothing of their secrets in memory.

use crate::guard::unlocked;
use crate::tensor::{Inner, Tensor};
use crate::{device, errors};
use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use cloakwork_ir::{DType, Shape, Type};
use cloakwork_run::{Wiping, eager};
use pyo3::prelude::*;
use zeroize::Zeroizing;

/// Bytes of a seed.
const SEED_BYTES: usize = 32;

/// Uniform 64-bit words.
///
/// Without a seed each call draws a fresh one of 256 bits from the operating system, and the words
/// are marked as secret: they are zeroed when released. With a seed of 32 bytes they are public:
/// the keystream of ChaCha20 under that key with a nonce of zeros (RFC 8439), as little-endian
/// words.
#[pyfunction]
#[pyo3(signature = (shape, seed=None))]
pub fn random_words(py: Python<'_>, shape: Vec<u64>, seed: Option<&[u8]>) -> PyResult<Tensor> {
    if cloakwork_trace::is_active() {
        return Err(errors::trace(
            "a program must not contain randomness; draw it before tracing, and pass it in",
        ));
    }
    let seed = seed.map(|bytes| given(py, bytes)).transpose()?;
    let shape = Shape::new(&shape).map_err(|error| errors::shape(&error))?;
    let words = eager::Tensor::zeros(&Type::new(DType::U64, shape)).map_err(errors::run)?;
    if seed.is_none() {
        words.mark_secret();
    }
    let filled = unlocked(py, || fill(&words, seed))?;
    filled.map_err(|error| {
        let text = format!("the operating system returned no random bytes: {error}");
        errors::make(py, "RunError", (text,))
    })?;
    Ok(Inner::Real(words).into())
}

/// Calls a function of which nothing is left in memory but its result: the tensors that it makes,
/// and what kernels need beside them, are overwritten when they are released, and what its runs
/// keep on disk is encrypted.
#[pyfunction]
pub fn wiped<'py>(function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let _wiping = Wiping::begin(device::threads(None)?);
    function.call0()
}

fn given(py: Python<'_>, bytes: &[u8]) -> PyResult<[u8; SEED_BYTES]> {
    bytes.try_into().map_err(|_| {
        let got = format!("{} bytes", bytes.len());
        let expected = format!("{SEED_BYTES} bytes");
        errors::make(py, "ParamError", ("seed", got, expected))
    })
}

/// Fills a new tensor.
fn fill(words: &eager::Tensor, seed: Option<[u8; SEED_BYTES]>) -> Result<(), getrandom::Error> {
    let mut key = Zeroizing::new(seed.unwrap_or_default());
    if seed.is_none() {
        getrandom::fill(key.as_mut_slice())?;
    }
    let mut generator = ChaCha20Rng::from_seed(*key);
    let storage = words.storage();
    // SAFETY: the storage was just made, has so many bytes, and no other view of it exists.
    let bytes = unsafe { std::slice::from_raw_parts_mut(storage.as_ptr(), storage.len_bytes()) };
    generator.fill_bytes(bytes);
    Ok(())
}
