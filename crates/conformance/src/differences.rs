//! Tensors that should be equal.

use cloakwork_ir::{DType, HostTensor, read_word};
use cloakwork_run::{show_word, unravel};

/// The elements in which a tensor differs from another of its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unequal {
    /// Index of the first one.
    pub index: Vec<u64>,
    /// The element.
    pub got: String,
    /// The other's.
    pub expected: String,
    /// How many differ.
    pub different: u64,
    /// How many there are.
    pub total: u64,
    /// Whether rounding may be the reason: floats, and not NaN or infinity beside a number.
    pub may_be_rounding: bool,
}

/// The elements that differ, to the bit; NaN equals NaN. Both are row-major, as runs return them.
#[must_use]
pub fn unequal(got: &HostTensor, expected: &HostTensor) -> Option<Unequal> {
    let (a, b) = (got.bytes().as_slice(), expected.bytes().as_slice());
    if a == b && got.ty() == expected.ty() {
        return None;
    }
    let dtype = got.dtype();
    let size = dtype.size_bytes();
    let mut found: Option<Unequal> = None;
    let pairs = a.chunks_exact(size).zip(b.chunks_exact(size)).zip(0..);
    for ((one, other), at) in pairs {
        if one == other || are_both_nan(dtype, one, other) {
            continue;
        }
        let near = may_be_rounding(dtype, one, other);
        match &mut found {
            Some(found) => {
                found.different += 1;
                found.may_be_rounding &= near;
            }
            None => {
                found = Some(Unequal {
                    index: unravel(at, &got.view().shape),
                    got: shown(dtype, one),
                    expected: shown(dtype, other),
                    different: 1,
                    total: got.view().shape.elements(),
                    may_be_rounding: near,
                });
            }
        }
    }
    found
}

/// The components of an element as numbers.
fn parts(dtype: DType, element: &[u8]) -> impl Iterator<Item = i64> + '_ {
    let component = dtype.component();
    let parts = element.chunks_exact(component.size_bytes());
    parts.map(move |part| read_word(component, part))
}

fn number(component: DType, word: i64) -> f64 {
    match component {
        DType::F32 => f64::from(f32::from_bits(word as u32)),
        _ => f64::from_bits(word as u64),
    }
}

fn are_both_nan(dtype: DType, one: &[u8], other: &[u8]) -> bool {
    let component = dtype.component();
    let mut pairs = parts(dtype, one).zip(parts(dtype, other));
    component.is_real_float()
        && pairs.all(|(a, b)| {
            a == b || (number(component, a).is_nan() && number(component, b).is_nan())
        })
}

fn may_be_rounding(dtype: DType, one: &[u8], other: &[u8]) -> bool {
    let component = dtype.component();
    let mut pairs = parts(dtype, one).zip(parts(dtype, other));
    component.is_real_float()
        && pairs.all(|(a, b)| {
            let (a, b) = (number(component, a), number(component, b));
            a.is_finite() == b.is_finite() && a.is_nan() == b.is_nan()
        })
}

/// An element as text: its components, in brackets if it has several.
fn shown(dtype: DType, element: &[u8]) -> String {
    let component = dtype.component();
    let mut words: Vec<String> = parts(dtype, element)
        .map(|word| show_word(component, word))
        .collect();
    match words.len() {
        1 => words.remove(0),
        _ => format!("({})", words.join(", ")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use cloakwork_ir::Shape;

    fn tensor(dtype: DType, bytes: &[u8]) -> HostTensor {
        let count = bytes.len() / dtype.size_bytes();
        let shape = Shape::new(&[count as u64]).unwrap();
        HostTensor::from_vec(dtype, shape, bytes.to_vec()).unwrap()
    }

    #[test]
    fn the_first_element_that_differs_is_named_with_the_number_of_them() {
        let words = |all: [i16; 4]| all.map(i16::to_le_bytes).concat();
        let got = tensor(DType::I16, &words([1, -2, 3, 9]));
        let expected = tensor(DType::I16, &words([1, 2, 3, 4]));
        let found = unequal(&got, &expected).unwrap();
        assert_eq!((found.index, found.different, found.total), (vec![1], 2, 4));
        assert_eq!((found.got.as_str(), found.expected.as_str()), ("-2", "2"));
        assert!(!found.may_be_rounding);
        assert_eq!(unequal(&got, &got), None);
    }

    #[test]
    fn rounding_may_explain_numbers_and_no_infinity() {
        let words = |all: [f64; 2]| tensor(DType::F64, &all.map(f64::to_le_bytes).concat());
        let (one, near) = (words([1.0, f64::NAN]), words([1.0 + 1e-12, -f64::NAN]));
        let found = unequal(&one, &near).unwrap();
        assert!(found.may_be_rounding && found.different == 1);
        let far = unequal(&one, &words([f64::INFINITY, 1.0])).unwrap();
        assert!(!far.may_be_rounding && far.different == 2);
    }
}
