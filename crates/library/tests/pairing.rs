//! Points are held against the prime, the curve and the group, on any number of threads.
#![allow(clippy::unwrap_used, reason = "tests")]

use cloakwork_algebra::{GROUPS, Group};
use cloakwork_library::pairing::{Form, PointFault, Reason, check_points};

/// The bytes of the generator of a group.
fn generator(index: usize) -> Vec<u8> {
    let facts = &GROUPS[index];
    let width = facts.curve.facts().base.facts().prime().modulus.len() * 8;
    let bytes = |digits: &str| {
        let padded = format!("{digits:0>size$}", size = 2 * width);
        let byte = |at: usize| u8::from_str_radix(&padded[2 * at..2 * at + 2], 16).unwrap();
        (0..width).rev().map(byte).collect::<Vec<u8>>()
    };
    let parts = facts.generator.into_iter().flatten();
    parts.flat_map(|digits| bytes(digits)).collect()
}

#[test]
fn the_generator_of_each_group_is_in_it() {
    for (index, facts) in GROUPS.iter().enumerate() {
        let found = check_points(Group::at(index), Form::Canonical, 1, &generator(index));
        assert_eq!(found, Ok(()), "{}", facts.name);
    }
}

#[test]
fn the_first_fault_is_told_whatever_the_threads() {
    let group = Group::BLS12_381_G1;
    let index = (0..GROUPS.len())
        .find(|&at| Group::at(at) == group)
        .unwrap();
    let point = generator(index);
    // (0, 2) has order 3.
    let mut outside = vec![0; point.len()];
    outside[point.len() / 2] = 2;
    let mut points = vec![point; 200];
    points[150].clone_from(&outside);
    points[190] = outside;
    for threads in 1..5 {
        let fault = PointFault {
            index: 150,
            reason: Reason::OutsideSubgroup,
        };
        let found = check_points(group, Form::Canonical, threads, &points.concat());
        assert_eq!(found, Err(fault));
    }
}
