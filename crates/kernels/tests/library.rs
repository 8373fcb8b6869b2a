//! Rows whose kernels are Rust: each unit is gathered from where its strides say, computed by the
//! library in double precision, rounded, and scattered; nothing else is written.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

#[path = "common/typed.rs"]
mod typed;

use cloakwork_csrc as _;
use cloakwork_library::{Complex, ComplexTransform, FromSpectrum, Matrix, Scalar, ToSpectrum};
use typed::{BATCHES, C, Element, Launch, Tensor, Values, check};

const I: Option<usize> = Some(0);
const J: Option<usize> = Some(1);
const NONE: Option<usize> = None;

/// A kernel of one matrix with a packed result.
fn check_packed<T: Element, O: Element>(
    kernel: &str,
    [m, n, count]: [usize; 3],
    params: &[i64],
    expected: fn(&Matrix<T::Wide>) -> Values<O>,
) {
    for batch in BATCHES {
        let mut inputs = [Tensor::<T>::new(batch, &[m, n], 1)];
        let before = Tensor::<O>::new(batch, &[count], 2);
        let mut out = before.clone();
        let axes: [&[_]; 2] = [&[NONE, NONE, I], &[I, J, NONE]];
        let launch = Launch {
            kernel,
            batch,
            unit: &[m, n, count],
            axes: &axes,
            params,
        };
        launch.run(&mut out, &mut inputs);
        let of_unit = |unit| expected(&inputs[0].matrix(unit));
        check(kernel, &before, &out, &[count], (launch.units(), &of_unit));
    }
}

fn check_packed_kernels<T: Element, R: Element<Wide = f64>, X: Element<Wide = C>>() {
    for n in [0, 1, 2, 5] {
        check_packed::<T, T>("determinant", [n, n, 2], &[], Scalar::determinant);
        check_packed::<T, T>("eigh", [n, n, n + n * n], &[], Scalar::self_adjoint_eigen);
        check_packed::<T, R>("eigvalsh", [n, n, n], &[], Scalar::self_adjoint_eigenvalues);
        check_packed::<T, X>("eig", [n, n, n + n * n], &[], Scalar::eigen);
        check_packed::<T, X>("eigvals", [n, n, n], &[], Scalar::eigenvalues);
        for m in [0, 1, 3, 7] {
            let k = m.min(n);
            let (thin, full) = (k * (m + n), m * (m + n));
            check_packed::<T, T>("qr", [m, n, thin], &[0], |a| Scalar::qr(a, false));
            check_packed::<T, T>("qr", [m, n, full], &[1], |a| Scalar::qr(a, true));
            let full = m * m + k + n * n;
            check_packed::<T, T>("svd", [m, n, thin + k], &[0], |a| Scalar::svd(a, false));
            check_packed::<T, T>("svd", [m, n, full], &[1], |a| Scalar::svd(a, true));
            check_packed::<T, R>("svdvals", [m, n, k], &[], Scalar::singular_values);
        }
    }
}

#[test]
fn packed_results_are_the_librarys() {
    check_packed_kernels::<f32, f32, Complex<f32>>();
    check_packed_kernels::<f64, f64, C>();
    check_packed_kernels::<Complex<f32>, f32, Complex<f32>>();
    check_packed_kernels::<C, f64, C>();
}

/// Positive definite in the unit's lower and upper triangle.
fn make_definite<T: Element>(a: &mut Tensor<T>, units: usize, n: usize) {
    for unit in 0..units {
        for i in 0..n {
            let place = a.place(unit, &[i, i]);
            a.buffer[place] = T::of(C::new(2.0 * n as f64, 0.0));
        }
    }
}

fn check_square<T: Element>() {
    for (batch, n) in BATCHES
        .into_iter()
        .flat_map(|batch| [0, 1, 4].map(|n| (batch, n)))
    {
        let units = batch.iter().product();
        for upper in [false, true] {
            let mut inputs = [Tensor::<T>::new(batch, &[n, n], 3)];
            make_definite(&mut inputs[0], units, n);
            let before = Tensor::<T>::new(batch, &[n, n], 4);
            let mut out = before.clone();
            let axes: [&[_]; 2] = [&[I, J], &[I, J]];
            let params = [i64::from(upper)];
            let launch = Launch {
                kernel: "cholesky",
                batch,
                unit: &[n, n],
                axes: &axes,
                params: &params,
            };
            launch.run(&mut out, &mut inputs);
            let of_unit = |unit| {
                let factor = Scalar::cholesky(&inputs[0].matrix(unit), upper);
                assert!(factor.is_some());
                factor
            };
            check("cholesky", &before, &out, &[n, n], (units, &of_unit));
        }
        check_systems::<T>(batch, n);
    }
}

fn check_systems<T: Element>(batch: &[usize], n: usize) {
    let units = batch.iter().product();
    for r in [0, 1, 3] {
        let mut inputs = [
            Tensor::<T>::new(batch, &[n, n], 5),
            Tensor::<T>::new(batch, &[n, r], 6),
        ];
        let before = Tensor::<T>::new(batch, &[n, r], 7);
        let mut out = before.clone();
        let axes: [&[_]; 3] = [&[NONE, J, I], &[I, NONE, J], &[I, J, NONE]];
        let launch = Launch {
            kernel: "solve",
            batch,
            unit: &[n, r, n],
            axes: &axes,
            params: &[],
        };
        launch.run(&mut out, &mut inputs);
        let of_unit = |unit| Scalar::solve(&inputs[0].matrix(unit), &inputs[1].matrix(unit));
        check("solve", &before, &out, &[n, r], (units, &of_unit));
    }
    let mut inputs = [Tensor::<T>::new(batch, &[n, n], 8)];
    let before = Tensor::<T>::new(batch, &[n, n], 9);
    let mut out = before.clone();
    let axes: [&[_]; 2] = [&[NONE, J, I], &[I, NONE, J]];
    let launch = Launch {
        kernel: "inverse",
        batch,
        unit: &[n, n, n],
        axes: &axes,
        params: &[],
    };
    launch.run(&mut out, &mut inputs);
    let one = |i, j| T::of(C::new(f64::from(u8::from(i == j)), 0.0)).wide();
    let of_unit = |unit| Scalar::solve(&inputs[0].matrix(unit), &Matrix::new(n, n, one));
    check("inverse", &before, &out, &[n, n], (units, &of_unit));
}

#[test]
fn square_results_are_the_librarys() {
    check_square::<f32>();
    check_square::<f64>();
    check_square::<Complex<f32>>();
    check_square::<C>();
}

fn check_singular<T: Element>() {
    for kernel in ["cholesky", "inverse"] {
        let mut inputs = [Tensor::<T>::new(&[3], &[2, 2], 10)];
        make_definite(&mut inputs[0], 3, 2);
        for index in [[0, 0], [0, 1], [1, 0], [1, 1]] {
            let place = inputs[0].place(1, &index);
            inputs[0].buffer[place] = T::of(C::new(-1.0, 0.0));
        }
        let before = Tensor::<T>::new(&[3], &[2, 2], 11);
        let mut out = before.clone();
        let (unit, axes): (&[usize], [&[_]; 2]) = match kernel {
            "cholesky" => (&[2, 2], [&[I, J], &[I, J]]),
            _ => (&[2, 2, 2], [&[NONE, J, I], &[I, NONE, J]]),
        };
        let launch = Launch {
            kernel,
            batch: &[3],
            unit,
            axes: &axes,
            params: &[0],
        };
        launch.run(&mut out, &mut inputs);
        for (unit, index) in [[0, 0], [1, 1]]
            .iter()
            .flat_map(|i| [0, 1, 2].map(|u| (u, i)))
        {
            assert_eq!(out.at(unit, index).is_nan(), unit == 1, "{kernel} {unit}");
        }
    }
}

#[test]
fn one_singular_matrix_of_a_batch_is_nan_and_spoils_no_other() {
    check_singular::<f32>();
    check_singular::<f64>();
    check_singular::<Complex<f32>>();
    check_singular::<C>();
}

macro_rules! check_transforms {
    ($name:ident, $float:ty) => {
        fn $name(batch: &[usize], n: usize) {
            type Z = Complex<$float>;
            let units = batch.iter().product();
            let (half, scale) = (n / 2 + 1, 0.25);
            let bits = f64::to_bits(scale) as i64;
            let scale = scale as $float;
            let as_wide = |z: &Z| Z::wide(*z * scale);
            for inverse in [false, true] {
                let mut inputs = [Tensor::<Z>::new(batch, &[n], 12)];
                let before = Tensor::<Z>::new(batch, &[n], 13);
                let mut out = before.clone();
                let (axes, params): ([&[_]; 2], _) = ([&[I], &[I]], [i64::from(inverse), bits]);
                Launch {
                    kernel: "fft",
                    batch,
                    unit: &[n],
                    axes: &axes,
                    params: &params,
                }
                .run(&mut out, &mut inputs);
                let of_unit = |unit| {
                    let mut transform = ComplexTransform::<$float>::new(n, inverse);
                    transform.line = (0..n).map(|i| inputs[0].at(unit, &[i])).collect();
                    transform.run();
                    Some(transform.line.iter().map(as_wide).collect())
                };
                check("fft", &before, &out, &[n], (units, &of_unit));
            }
            let axes: [&[_]; 2] = [&[I], &[NONE]];
            let mut inputs = [Tensor::<$float>::new(batch, &[n], 14)];
            let before = Tensor::<Z>::new(batch, &[half], 15);
            let mut out = before.clone();
            let params = [bits, n as i64, *inputs[0].strides.last().unwrap()];
            Launch {
                kernel: "rfft",
                batch,
                unit: &[half],
                axes: &axes,
                params: &params,
            }
            .run(&mut out, &mut inputs);
            let of_unit = |unit| {
                let mut transform = ToSpectrum::<$float>::new(n);
                transform.line = (0..n).map(|i| inputs[0].at(unit, &[i])).collect();
                transform.run();
                Some(transform.spectrum.iter().map(as_wide).collect())
            };
            check("rfft", &before, &out, &[half], (units, &of_unit));
            let mut inputs = [Tensor::<Z>::new(batch, &[half], 16)];
            let before = Tensor::<$float>::new(batch, &[n], 17);
            let mut out = before.clone();
            let params = [bits, half as i64, *inputs[0].strides.last().unwrap()];
            Launch {
                kernel: "irfft",
                batch,
                unit: &[n],
                axes: &axes,
                params: &params,
            }
            .run(&mut out, &mut inputs);
            let of_unit = |unit| {
                let mut transform = FromSpectrum::<$float>::new(n);
                transform.spectrum = (0..half).map(|i| inputs[0].at(unit, &[i])).collect();
                transform.run();
                Some(transform.line.iter().map(|x| (x * scale).wide()).collect())
            };
            check("irfft", &before, &out, &[n], (units, &of_unit));
        }
    };
}

check_transforms!(check_transforms_f32, f32);
check_transforms!(check_transforms_f64, f64);

#[test]
fn transforms_are_the_librarys() {
    for batch in BATCHES {
        for n in [1, 2, 7, 12, 64] {
            check_transforms_f32(batch, n);
            check_transforms_f64(batch, n);
        }
    }
}
