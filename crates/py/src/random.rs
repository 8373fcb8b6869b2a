//! Random words: entropy of the operating system, stretched by ChaCha20.

use crate::guard::unlocked;
use crate::tensor::{Inner, Tensor};
use crate::{errors, trace};
use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use cloakwork_ir::{DType, Shape, Type};
use cloakwork_run::eager;
use pyo3::prelude::*;
use zeroize::Zeroizing;

/// Uniform 64-bit words, marked as secret: they are zeroed when released.
///
/// Each call draws a fresh seed of 256 bits from the operating system.
#[pyfunction]
pub fn random_words(py: Python<'_>, shape: Vec<u64>) -> PyResult<Tensor> {
    if trace::active().is_some() {
        return Err(errors::trace(
            "a program must not contain randomness; draw it before tracing, and pass it in",
        ));
    }
    let shape = Shape::new(&shape).map_err(|error| errors::shape(&error))?;
    let words = eager::Tensor::zeros(&Type::new(DType::U64, shape)).map_err(errors::run)?;
    words.mark_secret();
    let filled = unlocked(py, || fill(&words))?;
    filled.map_err(|error| {
        let text = format!("the operating system gives no random bytes: {error}");
        errors::make(py, "RunError", (text,))
    })?;
    Ok(Inner::Real(words).into())
}

/// Fills a tensor that nobody else has yet.
fn fill(words: &eager::Tensor) -> Result<(), getrandom::Error> {
    let mut seed = Zeroizing::new([0; 32]);
    getrandom::fill(seed.as_mut_slice())?;
    let mut generator = ChaCha20Rng::from_seed(*seed);
    let storage = words.storage();
    // SAFETY: the storage was just made, has so many bytes, and no other view of it exists.
    let bytes = unsafe { std::slice::from_raw_parts_mut(storage.as_ptr(), storage.len_bytes()) };
    generator.fill_bytes(bytes);
    Ok(())
}
