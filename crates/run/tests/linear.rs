//! Single calls of matrix ops and transforms: batches, any strides, packed parts, and rejected
//! arguments.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use cloakwork_csrc as _;
use cloakwork_ir::{DType, HostTensor, Shape, View};
use cloakwork_kernels::best_isa;
use cloakwork_ops::{Code, find};
use cloakwork_run::eager::{EagerArg, EagerError, Tensor, call};

const NONE: EagerArg = EagerArg::None;

fn tensor(dtype: DType, dims: &[u64], parts: &[f64]) -> EagerArg {
    let bytes: Vec<u8> = match dtype.component() {
        DType::F32 => parts
            .iter()
            .flat_map(|&x| (x as f32).to_le_bytes())
            .collect(),
        _ => parts.iter().flat_map(|x| x.to_le_bytes()).collect(),
    };
    let view = View::contiguous(Shape::new(dims).unwrap());
    let host = HostTensor::new(dtype, view, bytes.into()).unwrap();
    EagerArg::Tensor(Tensor::from_host(&host, best_isa()).unwrap())
}

/// The type, the sizes and the components of a result.
fn run(op: &str, args: &[EagerArg]) -> Result<(DType, Vec<u64>, Vec<f64>), Code> {
    match call(find(op).unwrap(), args.to_vec(), 2, best_isa()) {
        Ok(result) => {
            let host = result.to_host().unwrap();
            let real = |&word: &i64| match host.dtype().component() {
                DType::F32 => f64::from(f32::from_bits(word as u32)),
                _ => f64::from_bits(word as u64),
            };
            let parts = host.words().iter().map(real).collect();
            Ok((host.dtype(), host.view().shape.dims().to_vec(), parts))
        }
        Err(EagerError::Call { error, .. }) => Err(error.code),
        Err(other) => panic!("{other}"),
    }
}

fn transposed(a: &EagerArg) -> EagerArg {
    let args = vec![a.clone(), EagerArg::Int(-1), EagerArg::Int(-2)];
    EagerArg::Tensor(call(find("moveaxis").unwrap(), args, 1, best_isa()).unwrap())
}

fn assert_near(got: &[f64], expected: &[f64]) {
    assert_eq!(got.len(), expected.len(), "{got:?}");
    let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-6 || (a.is_nan() && b.is_nan());
    assert!(
        got.iter().zip(expected).all(near),
        "{got:?}, expected {expected:?}"
    );
}

const NAN: f64 = f64::NAN;

#[test]
fn inverses_of_a_batch_and_of_its_transposes() {
    let a = [2.0, 1.0, 0.0, 4.0, /* singular */ 1.0, 2.0, 2.0, 4.0];
    for dtype in [DType::F32, DType::F64] {
        let a = tensor(dtype, &[2, 2, 2], &a);
        let (got, dims, parts) = run("inv", &[a.clone(), NONE]).unwrap();
        assert_eq!((got, &*dims), (dtype, &[2, 2, 2][..]));
        assert_near(&parts, &[0.5, -0.125, 0.0, 0.25, NAN, NAN, NAN, NAN]);
        let (_, _, parts) = run("inv", &[transposed(&a), NONE]).unwrap();
        assert_near(&parts, &[0.5, 0.0, -0.125, 0.25, NAN, NAN, NAN, NAN]);
    }
}

#[test]
fn systems_broadcast_their_batches() {
    let a = tensor(DType::F64, &[2, 1, 1, 1], &[2.0, 4.0]);
    let b = tensor(DType::F64, &[3, 1, 2], &[2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
    let (_, dims, parts) = run("solve", &[a, b, NONE]).unwrap();
    assert_eq!(dims, [2, 3, 1, 2]);
    let halves = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    assert_near(&parts, &[halves, halves.map(|x| x / 2.0)].concat());
}

#[test]
fn parts_are_packed() {
    let a = tensor(DType::F64, &[3, 2], &[0.0, 0.0, 0.0, 2.0, 3.0, 0.0]);
    let int = EagerArg::Int;
    let (_, dims, parts) = run("svd_packed", &[a.clone(), int(0), NONE]).unwrap();
    assert_eq!(dims, [3 * 2 + 2 + 2 * 2]);
    assert_near(&parts[6..8], &[3.0, 2.0]);
    let (_, dims, parts) = run("svd_packed", &[a.clone(), int(1), NONE]).unwrap();
    assert_eq!(dims, [3 * 3 + 2 + 2 * 2]);
    assert_near(&parts[9..11], &[3.0, 2.0]);
    assert_near(&run("svdvals", &[a.clone(), NONE]).unwrap().2, &[3.0, 2.0]);
    assert_eq!(
        run("qr_packed", &[a.clone(), int(0), NONE]).unwrap().1,
        [3 * 2 + 2 * 2]
    );
    assert_eq!(
        run("qr_packed", &[a, int(1), NONE]).unwrap().1,
        [3 * 3 + 3 * 2]
    );
    let empty = tensor(DType::C64, &[0, 0], &[]);
    let (dtype, dims, parts) = run("slogdet_packed", &[empty, NONE]).unwrap();
    assert_eq!(
        (dtype, &*dims, &*parts),
        (DType::C64, &[2][..], &[1.0, 0.0, 0.0, 0.0][..])
    );
    let thin = tensor(DType::F32, &[2, 0], &[]);
    let (_, _, parts) = run("qr_packed", &[thin, int(1), NONE]).unwrap();
    assert_near(&parts, &[1.0, 0.0, 0.0, 1.0]);
}

#[test]
fn eigenvalues_have_the_type_that_they_need() {
    let rotation = tensor(DType::F32, &[2, 2], &[0.0, -1.0, 1.0, 0.0]);
    let (dtype, dims, parts) = run("eigvals", &[rotation.clone(), NONE]).unwrap();
    assert_eq!((dtype, &*dims), (DType::C64, &[2][..]));
    assert_near(
        &[parts[0], parts[1].abs(), parts[1] + parts[3]],
        &[0.0, 1.0, 0.0],
    );
    let (dtype, dims, _) = run("eig_packed", &[rotation, NONE]).unwrap();
    assert_eq!((dtype, &*dims), (DType::C64, &[6][..]));
    // [[0, -i], [i, 0]]
    let hermitian = [0.0, 0.0, 0.0, -1.0, 0.0, 1.0, 0.0, 0.0];
    let hermitian = tensor(DType::C128, &[2, 2], &hermitian);
    let (dtype, _, parts) = run("eigvalsh", &[hermitian.clone(), NONE]).unwrap();
    assert_eq!(dtype, DType::F64);
    assert_near(&parts, &[-1.0, 1.0]);
    let (dtype, dims, parts) = run("eigh_packed", &[hermitian, NONE]).unwrap();
    assert_eq!((dtype, &*dims), (DType::C128, &[6][..]));
    assert_near(&parts[..4], &[-1.0, 0.0, 1.0, 0.0]);
}

#[test]
fn cholesky_reads_its_own_triangle() {
    let a = tensor(DType::F64, &[2, 2], &[4.0, 99.0, 2.0, 5.0]);
    let lower = run("cholesky", &[a.clone(), EagerArg::Int(0), NONE])
        .unwrap()
        .2;
    assert_near(&lower, &[2.0, 0.0, 1.0, 2.0]);
    let upper = run("cholesky", &[transposed(&a), EagerArg::Int(1), NONE])
        .unwrap()
        .2;
    assert_near(&upper, &[2.0, 1.0, 0.0, 2.0]);
}

#[test]
fn transforms_divide_as_the_norm_says() {
    let impulse = tensor(DType::C64, &[4], &[8.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let all = |value: f64| [value, 0.0].repeat(4);
    for (norm, forward, back) in [(0, 8.0, 2.0), (1, 4.0, 4.0), (2, 2.0, 8.0)] {
        let args = [impulse.clone(), EagerArg::Int(norm), NONE];
        assert_near(&run("fft", &args).unwrap().2, &all(forward));
        assert_near(&run("ifft", &args).unwrap().2, &all(back));
    }
}

#[test]
fn transforms_run_along_the_last_axis_of_any_strides() {
    // Columns [1, 2, 3], [4, 5, 6].
    let a = tensor(DType::F64, &[3, 2], &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    let norm = EagerArg::Int(0);
    let (dtype, dims, parts) = run("rfft", &[transposed(&a), norm.clone(), NONE]).unwrap();
    assert_eq!((dtype, &*dims), (DType::C128, &[2, 2][..]));
    let imaginary = 3f64.sqrt() / 2.0;
    assert_near(
        &parts,
        &[6.0, 0.0, -1.5, imaginary, 15.0, 0.0, -1.5, imaginary],
    );
    let spectrum = tensor(DType::C128, &[2, 2], &parts);
    let args = [spectrum, EagerArg::Int(3), norm, NONE];
    let (dtype, dims, parts) = run("irfft", &args).unwrap();
    assert_eq!((dtype, &*dims), (DType::F64, &[2, 3][..]));
    assert_near(&parts, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
}

#[test]
fn what_is_no_matrix_or_line_is_refused() {
    let of = |dtype: DType, dims: &[u64]| {
        let parts = dims.iter().product::<u64>() as usize * dtype.components();
        tensor(dtype, dims, &vec![1.0; parts])
    };
    let real = |dims: &[u64]| of(DType::F64, dims);
    let complex = |dims: &[u64]| of(DType::C128, dims);
    let int = EagerArg::Int;
    let code = |op: &str, args: &[EagerArg]| run(op, args).err();
    for op in [
        "inv",
        "slogdet_packed",
        "eigh_packed",
        "eigvalsh",
        "eig_packed",
        "eigvals",
    ] {
        assert_eq!(code(op, &[real(&[2, 3]), NONE]), Some(Code::Shape), "{op}");
        assert_eq!(code(op, &[real(&[2]), NONE]), Some(Code::Shape), "{op}");
        assert_eq!(
            code(op, &[of(DType::I64, &[2, 2]), NONE]),
            Some(Code::Dtype),
            "{op}"
        );
    }
    assert_eq!(
        code("solve", &[real(&[2, 2]), real(&[3, 2]), NONE]),
        Some(Code::Shape)
    );
    assert_eq!(
        code("solve", &[real(&[2, 2]), real(&[2]), NONE]),
        Some(Code::Shape)
    );
    assert_eq!(
        code("solve", &[real(&[2, 2, 2]), real(&[3, 2, 2]), NONE]),
        Some(Code::Shape)
    );
    assert_eq!(
        code("solve", &[real(&[2, 2]), complex(&[2, 2]), NONE]),
        Some(Code::Dtype)
    );
    assert_eq!(code("fft", &[real(&[4]), int(0), NONE]), Some(Code::Dtype));
    assert_eq!(
        code("fft", &[complex(&[2, 0]), int(0), NONE]),
        Some(Code::Shape)
    );
    assert_eq!(
        code("ifft", &[complex(&[]), int(0), NONE]),
        Some(Code::Shape)
    );
    assert_eq!(
        code("rfft", &[complex(&[4]), int(0), NONE]),
        Some(Code::Dtype)
    );
    assert_eq!(
        code("irfft", &[complex(&[4]), int(5), int(0), NONE]),
        Some(Code::Shape)
    );
    assert_eq!(
        code("irfft", &[complex(&[4]), int(0), int(0), NONE]),
        Some(Code::Range)
    );
    assert_eq!(
        code("fft", &[complex(&[4]), int(3), NONE]),
        Some(Code::Range)
    );
}
