//! Elements in memory are checked against their dtype, whatever their strides.
#![allow(clippy::unwrap_used)]

use cloakwork_ir::{DType, FIELD_DTYPES, Field, HostTensor, Shape, View};
use cloakwork_library::pairing::{Form, Reason};
use cloakwork_ops::elements::{check, check_tensor};

const P: u64 = 0xffff_ffff_0000_0001;

fn tensor(words: &[u64], dims: &[u64], strides: &[i64]) -> HostTensor {
    let view = View {
        shape: Shape::new(dims).unwrap(),
        strides: strides.iter().copied().collect(),
        offset: 0,
    };
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    HostTensor::new(DType::Field(Field::GOLDILOCKS), view, bytes.into()).unwrap()
}

#[test]
fn the_place_that_is_told_is_that_of_the_whole_view() {
    for (dims, strides, place) in [
        (&[3][..], &[1][..], 1),
        (&[2, 3], &[0, 1], 1),
        (&[3, 2], &[1, 0], 2),
        (&[3, 1 << 20, 2], &[1, 0, 0], 1 << 21),
        (&[1, 3], &[7, 1], 1),
    ] {
        let found = check_tensor(&tensor(&[P - 1, P, 0], dims, strides)).unwrap_err();
        assert_eq!((found.index, found.reason), (place, Reason::NotReduced));
    }
    // Backwards, and column by column.
    let forward = tensor(&[P, 0, 1], &[3], &[1]);
    let backwards = View {
        strides: [-1].into_iter().collect(),
        offset: 2,
        ..forward.view().clone()
    };
    let backwards = forward.with_view(backwards).unwrap();
    assert_eq!(check_tensor(&backwards).unwrap_err().index, 2);
    let columns = tensor(&[0, 1, P, 2, 3, 4], &[2, 3], &[1, 2]);
    assert_eq!(check_tensor(&columns).unwrap_err().index, 1);
}

#[test]
fn what_a_view_does_not_show_is_not_looked_at() {
    assert_eq!(check_tensor(&tensor(&[0, P, 1, P], &[2], &[2])), Ok(()));
    assert_eq!(check_tensor(&tensor(&[P], &[0], &[1])), Ok(()));
}

#[test]
fn what_was_computed_is_not_looked_at_again() {
    assert_eq!(check_tensor(&tensor(&[P], &[1], &[1]).sound()), Ok(()));
}

#[test]
fn elements_of_half_a_word_are_numbers_too() {
    let p: u32 = 15 * (1 << 27) + 1;
    for (last, form, expected) in [
        (p - 1, Form::Montgomery, true),
        (p, Form::Montgomery, false),
        (u32::MAX, Form::Montgomery, false),
    ] {
        let words: [u32; 3] = [0, 1, last];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(
            check(DType::Field(Field::BABYBEAR), form, &bytes).is_ok(),
            expected
        );
    }
    let canonical: Vec<u8> = [u64::from(p) - 1, u64::from(p)]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    let found = check(DType::Field(Field::BABYBEAR), Form::Canonical, &canonical).unwrap_err();
    assert_eq!(found.index, 1);
}

#[test]
fn every_coefficient_is_held_below_the_prime() {
    for dtype in FIELD_DTYPES {
        let prime = dtype.field_facts().unwrap().prime();
        let each = prime.modulus.len();
        for place in 0..3 * dtype.residues() {
            let mut words = vec![0; 3 * dtype.canonical_words()];
            assert_eq!(check(dtype, Form::Canonical, &bytes_of(&words)), Ok(()));
            words[place * each..(place + 1) * each].copy_from_slice(prime.modulus);
            let found = check(dtype, Form::Canonical, &bytes_of(&words)).unwrap_err();
            assert_eq!(found.index, place / dtype.residues(), "{dtype}");
            // Memory holds as many bytes a residue as the prime has, or half a word of it.
            let memory: Vec<u8> = words
                .chunks(each)
                .flat_map(|own| bytes_of(own).into_iter().take(prime.size_bytes()))
                .collect();
            let found = check(dtype, Form::Montgomery, &memory).unwrap_err();
            assert_eq!(found.index, place / dtype.residues(), "{dtype}");
        }
    }
}

fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
