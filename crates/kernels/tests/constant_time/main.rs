//! Constant time of the client's kernels on secrets: neither the path that a kernel takes nor an
//! address that it uses depends on them.
//!
//! Two instruments, and a leaky function before each of them:
//!
//! * `path` steps through a kernel one instruction at a time and hashes where each stands. Equal
//!   hashes for different secrets: one path. On every instruction set of this processor.
//! * `taint` marks secrets as undefined memory and lets valgrind's memcheck follow them: an address
//!   or (for the samplers) a branch that depends on one is an error. Langley, ctgrind (2010). On
//!   what valgrind knows of this processor: portable code and AVX2.
//!
//! Kernels of arithmetic ask one question about their operands: is a word of this block outside
//! `[0, q)`? Memcheck cannot know that the answer is public, as it is no for every secret; hence
//! the paths. Instructions are taken to need the same time whatever their operands, but a division
//! is not; on these paths there is none.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../common/mod.rs"]
mod common;

mod launches;
mod path;
mod taint;

use cloakwork_csrc as _;
use common::Call;
use launches::{Secret, arithmetic, samplers};
use path::path_of;
use std::hint::black_box;
use taint::Kind;

use cloakwork_kernels::{KernelRow, best_isa, kernels};

/// The rows of a launch that this processor runs.
fn rows(call: &Call) -> impl Iterator<Item = &'static KernelRow> {
    let (input, output) = (call.operand(1).dtype, call.operand(0).dtype);
    let kernel = call.kernel;
    let isa = best_isa();
    let rows: Vec<_> = kernels()
        .iter()
        .filter(|row| row.kernel == kernel && row.runs_on(isa) && row.fits(input, output))
        .collect();
    assert!(!rows.is_empty(), "no row of {kernel}");
    rows.into_iter()
}

/// Whether a test cannot be made here; it says so.
fn skipped(reason: &str) -> bool {
    eprintln!("skipped: {reason}");
    true
}

#[test]
fn kernels_take_one_path_whatever_the_secret() {
    for (call, secrets) in samplers().into_iter().chain(arithmetic()) {
        for row in rows(&call) {
            let mut ready = call.ready(row);
            let mut scratch = ready.scratch();
            ready.run(0, call.units(), &mut scratch);
            let mut paths = vec![];
            for kind in Secret::ALL {
                for secret in &secrets {
                    secret.fill(kind, ready.bytes_mut(secret.operand));
                }
                let path = path_of(|| ready.run(0, call.units(), &mut scratch));
                let Some(path) = path else {
                    skipped("this process may not trace its children");
                    return;
                };
                paths.push(path);
            }
            assert!(paths[0].steps > 20, "{}: {paths:?}", row.symbol);
            let same = paths.iter().all(|path| *path == paths[0]);
            assert!(same, "{} takes another path: {paths:?}", row.symbol);
        }
    }
}

#[test]
fn a_branch_on_a_secret_is_another_path() {
    let of = |secret: u64| path_of(|| _ = black_box(leaky_branch(black_box(secret))));
    let (Some(zero), Some(also_zero), Some(one)) = (of(4), of(6), of(5)) else {
        skipped("this process may not trace its children");
        return;
    };
    assert_eq!(zero, also_zero);
    assert_ne!(zero, one);
}

#[test]
fn samplers_neither_branch_nor_index_on_random_words() {
    taint::under_valgrind(
        "samplers_neither_branch_nor_index_on_random_words",
        &[],
        || check_taint(samplers()),
    );
}

#[test]
fn kernels_index_by_no_secret() {
    taint::under_valgrind("kernels_index_by_no_secret", &[Kind::Branch], || {
        check_taint(arithmetic());
    });
}

#[test]
fn memcheck_sees_a_branch_and_an_index() {
    taint::under_valgrind("memcheck_sees_a_branch_and_an_index", &[], || {
        let mut secret = [5u64];
        let blind = taint::errors_of(&mut [bytes_of(&mut secret)], |_| ());
        assert_eq!(blind, 0);
        let branch = taint::errors_of(&mut [bytes_of(&mut secret)], |bytes| {
            black_box(leaky_branch(word(&bytes[0])));
        });
        assert!(branch > 0);
        let index = taint::errors_of(&mut [bytes_of(&mut secret)], |bytes| {
            black_box(leaky_index(word(&bytes[0])));
        });
        assert!(index > 0);
    });
}

#[test]
fn memcheck_sees_an_index_where_branches_are_left_out() {
    let name = "memcheck_sees_an_index_where_branches_are_left_out";
    taint::under_valgrind(name, &[Kind::Branch], || {
        let mut secret = [5u64];
        let branch = taint::errors_of(&mut [bytes_of(&mut secret)], |bytes| {
            black_box(leaky_branch(word(&bytes[0])));
        });
        assert_eq!(branch, 0);
        let index = taint::errors_of(&mut [bytes_of(&mut secret)], |bytes| {
            black_box(leaky_index(word(&bytes[0])));
        });
        assert!(index > 0);
    });
}

/// No row of these launches makes memcheck speak.
fn check_taint(launches: Vec<(Call, Vec<Secret>)>) {
    for (call, secrets) in launches {
        for row in rows(&call) {
            let mut ready = call.ready(row);
            let mut scratch = ready.scratch();
            for secret in &secrets {
                secret.fill(Secret::ALL[0], ready.bytes_mut(secret.operand));
                taint::make_undefined(ready.bytes_mut(secret.operand));
            }
            let before = taint::errors();
            ready.run(0, call.units(), &mut scratch);
            let found = taint::errors() - before;
            assert_eq!(found, 0, "{} leaks", row.symbol);
        }
    }
}

fn bytes_of(words: &mut [u64; 1]) -> Vec<u8> {
    words[0].to_le_bytes().to_vec()
}

fn word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().unwrap())
}

/// An error for these tests to find: another path for odd secrets.
#[inline(never)]
fn leaky_branch(secret: u64) -> u64 {
    if secret & 1 == 1 {
        black_box(secret.rotate_left(3))
    } else {
        black_box(17)
    }
}

/// An error for these tests to find: an address from a secret.
#[inline(never)]
fn leaky_index(secret: u64) -> u64 {
    static TABLE: [u64; 16] = [7; 16];
    black_box(&TABLE)[(secret & 15) as usize]
}
