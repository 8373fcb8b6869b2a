//! Transforms of every kind of length against the sum that defines them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

use crate::common::{C, Complex, Sequence};
use cloakwork_library::{ComplexTransform, FourierFloat, FromSpectrum, ToSpectrum};

/// Powers of two, composites, primes, a product of primes that no butterfly of its own has.
const LENGTHS: [usize; 16] = [1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 16, 31, 60, 101, 128, 391];

trait Float: FourierFloat {
    const BOUND: f64;
    fn of(value: f64) -> Self;
    fn wide(self) -> f64;
}

impl Float for f32 {
    const BOUND: f64 = 1e-4;
    fn of(value: f64) -> Self {
        value as Self
    }
    fn wide(self) -> f64 {
        f64::from(self)
    }
}

impl Float for f64 {
    const BOUND: f64 = 1e-12;
    fn of(value: f64) -> Self {
        value
    }
    fn wide(self) -> f64 {
        self
    }
}

fn defined(line: &[C], inverse: bool) -> Vec<C> {
    let n = line.len();
    let turn = if inverse { 1.0 } else { -1.0 } * 2.0 * std::f64::consts::PI / n as f64;
    let angle = |j: usize, k: usize| turn * (j * k % n) as f64;
    let term = |j: usize, k: usize| line[j] * C::from_polar(1.0, angle(j, k));
    (0..n).map(|k| (0..n).map(|j| term(j, k)).sum()).collect()
}

fn assert_near<T: Float>(got: &[C], expected: &[C], what: &str) {
    assert_eq!(got.len(), expected.len());
    let worst = got
        .iter()
        .zip(expected)
        .map(|(a, b)| (a - b).norm())
        .fold(0.0, f64::max);
    assert!(
        worst < T::BOUND * got.len() as f64,
        "{what} of {}: off by {worst}",
        got.len()
    );
}

fn wide<T: Float>(line: &[Complex<T>]) -> Vec<C> {
    line.iter()
        .map(|c| C::new(c.re.wide(), c.im.wide()))
        .collect()
}

fn check_complex<T: Float>() {
    for n in LENGTHS {
        for inverse in [false, true] {
            let mut sequence = Sequence(n as u64);
            let line: Vec<C> = (0..n).map(|_| sequence.complex()).collect();
            let mut transform = ComplexTransform::<T>::new(n, inverse);
            // Twice, so that nothing of the first line is left in the second.
            for _ in 0..2 {
                transform.line = line
                    .iter()
                    .map(|c| Complex::new(T::of(c.re), T::of(c.im)))
                    .collect();
                transform.run();
                assert_near::<T>(&wide(&transform.line), &defined(&line, inverse), "fft");
            }
        }
    }
}

#[test]
fn complex_transforms_are_the_defining_sum() {
    check_complex::<f32>();
    check_complex::<f64>();
}

fn check_real<T: Float>() {
    for n in LENGTHS {
        let mut sequence = Sequence(n as u64);
        let line: Vec<C> = (0..n).map(|_| C::new(sequence.next(), 0.0)).collect();
        let spectrum = defined(&line, false);
        let half = &spectrum[..n / 2 + 1];
        let mut forward = ToSpectrum::<T>::new(n);
        let mut back = FromSpectrum::<T>::new(n);
        for _ in 0..2 {
            forward.line = line.iter().map(|c| T::of(c.re)).collect();
            forward.run();
            assert_near::<T>(&wide(&forward.spectrum), half, "rfft");
            back.spectrum = half
                .iter()
                .map(|c| Complex::new(T::of(c.re), T::of(c.im)))
                .collect();
            // These two count as 0.
            back.spectrum[0].im = T::of(5.0);
            if n % 2 == 0 {
                back.spectrum[n / 2].im = T::of(7.0);
            }
            back.run();
            let got: Vec<C> = back
                .line
                .iter()
                .map(|x| C::new(x.wide() / n as f64, 0.0))
                .collect();
            assert_near::<T>(&got, &line, "irfft");
        }
    }
}

#[test]
fn real_transforms_are_the_defining_sum_and_its_inverse() {
    check_real::<f32>();
    check_real::<f64>();
}

#[test]
fn transforms_of_more_lengths_than_plans_are_kept_stay_right() {
    for n in (1..100).chain(1..100) {
        let mut transform = ComplexTransform::<f64>::new(n, false);
        transform.line[0] = C::new(1.0, 0.0);
        transform.run();
        assert_near::<f64>(&transform.line, &vec![C::new(1.0, 0.0); n], "an impulse");
    }
}
