//! Discrete Fourier transforms of one line. No transform is scaled.

use num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftDirection, FftNum, FftPlanner};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::thread::LocalKey;

/// Plans that a thread keeps. A plan holds its twiddle factors, so that all that it ever made would
/// be too many where lengths vary.
const PLANS_KEPT: usize = 32;

/// Plans by length and, where there are two, direction.
type Plans<P> = RefCell<HashMap<(usize, bool), Arc<P>>>;

/// `f32` or `f64`. Plans are made here, for these types alone, and kept by thread.
pub trait FourierFloat: FftNum + Send + Sync {
    /// A plan of the transform from complex to complex, of `length` of at least 1.
    fn complex(length: usize, inverse: bool) -> Arc<dyn Fft<Self>>;
    /// A plan of the forward transform of `length` real numbers, at least 1.
    fn to_spectrum(length: usize) -> Arc<dyn RealToComplex<Self>>;
    /// A plan of the inverse transform to `length` real numbers, at least 1.
    fn from_spectrum(length: usize) -> Arc<dyn ComplexToReal<Self>>;
}

fn kept<P: ?Sized>(
    plans: &'static LocalKey<Plans<P>>,
    key: (usize, bool),
    make: impl FnOnce() -> Arc<P>,
) -> Arc<P> {
    plans.with_borrow_mut(|plans| {
        if plans.len() >= PLANS_KEPT && !plans.contains_key(&key) {
            plans.clear();
        }
        Arc::clone(plans.entry(key).or_insert_with(make))
    })
}

macro_rules! implement {
    ($float:ty) => {
        impl FourierFloat for $float {
            fn complex(length: usize, inverse: bool) -> Arc<dyn Fft<Self>> {
                thread_local! {
                    static PLANS: Plans<dyn Fft<$float>> = RefCell::default();
                }
                let direction = if inverse {
                    FftDirection::Inverse
                } else {
                    FftDirection::Forward
                };
                kept(&PLANS, (length, inverse), || {
                    FftPlanner::new().plan_fft(length, direction)
                })
            }

            fn to_spectrum(length: usize) -> Arc<dyn RealToComplex<Self>> {
                thread_local! {
                    static PLANS: Plans<dyn RealToComplex<$float>> = RefCell::default();
                }
                kept(&PLANS, (length, false), || {
                    RealFftPlanner::new().plan_fft_forward(length)
                })
            }

            fn from_spectrum(length: usize) -> Arc<dyn ComplexToReal<Self>> {
                thread_local! {
                    static PLANS: Plans<dyn ComplexToReal<$float>> = RefCell::default();
                }
                kept(&PLANS, (length, true), || {
                    RealFftPlanner::new().plan_fft_inverse(length)
                })
            }
        }
    };
}

implement!(f32);
implement!(f64);

/// `X[k] = sum_j x[j] exp(-2πi jk / n)`, or with `+` the inverse, in place.
pub struct ComplexTransform<T: FourierFloat> {
    plan: Arc<dyn Fft<T>>,
    /// The line that is transformed; n elements.
    pub line: Vec<Complex<T>>,
    scratch: Vec<Complex<T>>,
}

impl<T: FourierFloat> ComplexTransform<T> {
    /// For lines of `length`, at least 1.
    #[must_use]
    pub fn new(length: usize, inverse: bool) -> Self {
        let plan = T::complex(length, inverse);
        Self {
            line: zeros(length),
            scratch: zeros(plan.get_inplace_scratch_len()),
            plan,
        }
    }

    /// Transforms the line.
    pub fn run(&mut self) {
        self.plan
            .process_with_scratch(&mut self.line, &mut self.scratch);
    }
}

/// The first `n/2 + 1` elements of the transform of n real numbers; the rest are their conjugates.
pub struct ToSpectrum<T: FourierFloat> {
    plan: Arc<dyn RealToComplex<T>>,
    /// The n real numbers; [`ToSpectrum::run`] uses them up.
    pub line: Vec<T>,
    /// The result.
    pub spectrum: Vec<Complex<T>>,
    scratch: Vec<Complex<T>>,
}

impl<T: FourierFloat> ToSpectrum<T> {
    /// For lines of `length`, at least 1.
    #[must_use]
    pub fn new(length: usize) -> Self {
        let plan = T::to_spectrum(length);
        Self {
            line: plan.make_input_vec(),
            spectrum: plan.make_output_vec(),
            scratch: plan.make_scratch_vec(),
            plan,
        }
    }

    /// Transforms the line.
    pub fn run(&mut self) {
        let lengths =
            self.plan
                .process_with_scratch(&mut self.line, &mut self.spectrum, &mut self.scratch);
        debug_assert!(lengths.is_ok(), "the buffers are the plan's own");
    }
}

/// The n real numbers whose transform begins with a spectrum of `n/2 + 1` elements. The imaginary
/// parts of element 0, and of element n/2 of an even n, count as 0.
pub struct FromSpectrum<T: FourierFloat> {
    plan: Arc<dyn ComplexToReal<T>>,
    /// The n/2 + 1 elements; [`FromSpectrum::run`] uses them up.
    pub spectrum: Vec<Complex<T>>,
    /// The result.
    pub line: Vec<T>,
    scratch: Vec<Complex<T>>,
}

impl<T: FourierFloat> FromSpectrum<T> {
    /// For results of `length`, at least 1.
    #[must_use]
    pub fn new(length: usize) -> Self {
        let plan = T::from_spectrum(length);
        Self {
            spectrum: plan.make_input_vec(),
            line: plan.make_output_vec(),
            scratch: plan.make_scratch_vec(),
            plan,
        }
    }

    /// Transforms the spectrum.
    pub fn run(&mut self) {
        if let Some(first) = self.spectrum.first_mut() {
            first.im = T::zero();
        }
        if self.line.len().is_multiple_of(2)
            && let Some(last) = self.spectrum.last_mut()
        {
            last.im = T::zero();
        }
        let lengths =
            self.plan
                .process_with_scratch(&mut self.spectrum, &mut self.line, &mut self.scratch);
        debug_assert!(lengths.is_ok(), "the buffers are the plan's own");
    }
}

fn zeros<T: FftNum>(length: usize) -> Vec<Complex<T>> {
    vec![Complex::new(T::zero(), T::zero()); length]
}
