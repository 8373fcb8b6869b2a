//! Launches stay inside their operands, whatever the strides, and meet the kernels' contract.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

use crate::common::{Call, Input, Sequence};
use cloakwork_ir::{DType, MAX_RANK, NUMBER_DTYPES, Shape, View};
use cloakwork_ops::{
    ALL, Body, Family, KernelBody, Launch, LaunchOperand, OpDef, Reference, Source,
};

/// A small call of an op. `sizes` are taken for the free dimensions; 0 is among them.
fn sample(op: &str, [x, y, z]: [u64; 3]) -> Option<Call> {
    let call = Call::new(op);
    let moduli = |call: Call, k: u64| call.tensor("q", &[k], &vec![7; k as usize]);
    Some(match op {
        "copy" => call.filled("a", &[x, y, z]),
        "assert_true" => {
            let holds = vec![1; (x * y * z) as usize];
            let call = call.typed("a", DType::Bool, &[x, y, z], &holds);
            call.out(DType::Bool, &[x, y, z])
        }
        "set_const_val" => call.filled("a", &[x, y, z]).int("value", 3),
        "mod" => call.filled("a", &[x, y, z]).int("b", 5),
        "modneg" => moduli(call.filled("a", &[x, 1, z]), z).out(DType::I64, &[x, y, z]),
        "modmul" | "modsum" => moduli(call.filled("a", &[x, 1, z]).filled("b", &[y, z]), z),
        "modmuladd" => {
            let call = call.filled("a", &[x, 1, z]).filled("b", &[y, z]);
            moduli(call.filled("c", &[x, y, 1]), z)
        }
        "axis_modsum" => moduli(call.filled("a", &[x, y, z]), z).int("axis", 1),
        "modmul_axis_sum" => {
            let call = call.filled("a", &[x, y, 2, z]).filled("b", &[y, 2, z]);
            let identity: Vec<i64> = (0..z as i64).collect();
            moduli(call, 2)
                .tensor("perm", &[z], &identity)
                .int("apply_perm", 1)
        }
        "pad_single_axis" => call.filled("a", &[x, y, z]).int("pad", 2).int("axis", 1),
        "take_along_axis" => {
            let indices = vec![0; (y * z) as usize];
            call.filled("a", &[x, 3, z])
                .int("axis", 1)
                .tensor("indices", &[1, y, z], &indices)
        }
        "permute" => {
            let perms: Vec<i64> = (0..x as i64 * 3).map(|i| i % 3).collect();
            let call = call
                .filled("a", &[x, 3, z])
                .tensor("perms", &[x, 3], &perms);
            call.int("elementwise_axis", 0).int("perm_axis", 1)
        }
        _ => return sample_of_rings(call, [x, y, z]),
    })
}

/// The same for transforms, digits and samples.
fn sample_of_rings(call: Call, [x, y, z]: [u64; 3]) -> Option<Call> {
    let moduli = |call: Call, k: u64| call.tensor("q", &[k], &vec![7; k as usize]);
    let random = |call: Call, dims: &[u64]| {
        call.typed(
            "random",
            DType::U64,
            dims,
            &vec![0; dims.iter().product::<u64>() as usize],
        )
    };
    let reversed = [3, 2, 1, 0];
    Some(match call.def.name {
        "ntt" => {
            let call = moduli(call.filled("a", &[x, 4, y, 1]), z).filled("psi", &[z, 4]);
            call.tensor("perm", &[4], &reversed).int("tile", 1)
        }
        "intt" => {
            let call = moduli(call.filled("a", &[x, 4, y, z]), z).filled("psi_inv", &[z, 4]);
            call.filled("n_inv", &[z]).tensor("perm", &[4], &reversed)
        }
        "g_decomp" => call
            .filled("a", &[x, y])
            .int("g_exp", 3)
            .int("g_base_bits", 4),
        "g_decomp_full_q" => {
            let call = call.filled("a", &[x, 2, z]).tensor("q", &[2], &[7, 9]);
            call.int("g_exp", 3).int("g_base_bits", 4)
        }
        "automorphism" => {
            let turned: Vec<i64> = (0..y as i64).rev().collect();
            call.filled("a", &[x, y, z]).tensor("index", &[y], &turned)
        }
        "base_convert" => {
            let call = moduli(call.filled("a", &[x, y, z]), z).filled("half", &[z]);
            let call = call.filled("hat", &[z, 2]).tensor("p", &[2], &[5, 11]);
            if x > 1 {
                call.filled("hat_inv", &[z])
            } else {
                call
            }
        }
        "ternary" => random(call, &[x, y]),
        "gaussian" => random(call, &[x, y, 2]),
        "uniform_mod" => moduli(random(call, &[x, z, 2]), z),
        _ => return sample_of_numbers(call, [x, y, z]),
    })
}

/// Ops with a sample here. Those along axes and of proofs cut their launches in ways that the tests
/// of their kernels and random programs look at.
fn is_covered(def: &OpDef) -> bool {
    sample(def.name, [1, 1, 1]).is_some()
}

#[test]
fn every_op_of_a_simple_launch_has_a_sample() {
    use Family::{Elementwise, Gadget, Layout, Linear, Modular, Ntt, Rlwe, Rns};
    let families = [Elementwise, Gadget, Layout, Linear, Modular, Ntt, Rlwe, Rns];
    let kernels = ALL.iter().filter(|def| matches!(def.body, Body::Kernel(_)));
    let simple = kernels.filter(|def| families.contains(&def.family));
    let bare: Vec<&str> = simple
        .filter(|def| !is_covered(def))
        .map(|def| def.name)
        .collect();
    assert_eq!(bare, ["astype", "matmul"]);
}

/// Matrices and transforms, whose kernels are a library's.
fn sample_of_matrices(call: Call, [x, y, z]: [u64; 3]) -> Option<Call> {
    let typed = |call: Call, name, dtype: DType, dims: &[u64]| {
        let elements = dims.iter().product::<u64>() as usize;
        call.typed(name, dtype, dims, &vec![0; elements * dtype.components()])
    };
    let dtype = DType::C64;
    let transform = call.def.param("norm").is_some();
    let call = if transform { call.int("norm", 1) } else { call };
    Some(match call.def.name {
        "cholesky" | "inv" | "slogdet_packed" | "eigh_packed" | "eigvalsh" | "eig_packed"
        | "eigvals" => typed(call, "a", dtype, &[x, y, y]),
        "qr_packed" => typed(call, "a", dtype, &[x, y, z]).int("complete", i64::from(x > 1)),
        "svd_packed" => typed(call, "a", dtype, &[x, y, z]).int("full", i64::from(x > 1)),
        "svdvals" => typed(call, "a", dtype, &[x, y, z]),
        "solve" => {
            let call = typed(call, "a", dtype, &[x, 1, y, y]);
            typed(call, "b", dtype, &[3, y, z])
        }
        "fft" | "ifft" => typed(call, "a", dtype, &[x, y, z + 1]),
        "rfft" => typed(call, "a", DType::F32, &[x, y, z + 1]),
        "irfft" => typed(call, "a", dtype, &[x, y, z.div_ceil(2) + 1]).int("n", z as i64 + 1),
        _ => return None,
    })
}

/// The same for numbers.
fn sample_of_numbers(call: Call, [x, y, z]: [u64; 3]) -> Option<Call> {
    let dims = [x, y, z];
    let typed = |call: Call, name, dtype, dims: &[u64]| {
        let elements = dims.iter().product::<u64>() as usize;
        call.typed(name, dtype, dims, &vec![0; elements * dtype.components()])
    };
    if let Body::Kernel(KernelBody {
        elementwise: Some(rule),
        ..
    }) = &call.def.body
    {
        let dtype = NUMBER_DTYPES
            .into_iter()
            .rev()
            .find(|&d| rule.takes.allows(d))?;
        let call = typed(call, "a", dtype, &dims);
        return Some(match rule.operands {
            1 => call,
            2 => typed(call, "b", dtype, &[y, 1]),
            _ => typed(
                typed(call, "b", dtype, &[y, 1]),
                "condition",
                DType::Bool,
                &dims,
            ),
        });
    }
    sample_of_matrices(call, dims)
}

/// A dense view of the shape with its axes in some order, an offset, and axes turned around.
fn scattered(shape: &Shape, sequence: &mut Sequence) -> View {
    let mut order: Vec<usize> = (0..shape.rank()).collect();
    order.sort_by_key(|_| sequence.word());
    let mut view = View::with_axis_order(shape.clone(), &order);
    view.offset = sequence.below(5);
    for (axis, &dim) in shape.dims().iter().enumerate() {
        if sequence.below(3) == 0 && dim > 0 {
            view.offset += view.strides[axis] * (dim as i64 - 1);
            view.strides[axis] *= -1;
        }
    }
    view
}

/// Lowest and highest offset that an operand reaches, none if there are no elements; each of
/// `also` is a size and a stride that a kernel runs through besides.
fn reach(launch: &Launch, operand: &LaunchOperand, also: &[(i64, i64)]) -> Option<(i64, i64)> {
    let mut bounds = (operand.offset, operand.offset);
    let axes = launch
        .dims
        .iter()
        .copied()
        .zip(operand.strides.iter().copied());
    for (dim, stride) in axes.chain(also.iter().copied()) {
        if dim == 0 {
            return None;
        }
        let step = stride * (dim - 1);
        bounds = (bounds.0 + step.min(0), bounds.1 + step.max(0));
    }
    Some(bounds)
}

/// Axes of a kernel that params state and `dims` do not: operand, size and stride.
fn hidden(launch: &Launch) -> Vec<(usize, i64, i64)> {
    let params = &launch.params;
    match launch.kernel {
        "gather" => vec![(1, params[1], params[0])],
        "g_decomp" | "g_decomp_full_q" => vec![(0, params[1], params[2])],
        "uniform_mod" | "gaussian" => vec![(1, 2, params[0])],
        "rfft" | "irfft" => vec![(1, params[1], params[2])],
        "cholesky" | "qr" | "svd" | "fft" => vec![],
        "fill" => {
            assert_eq!(params.len(), 2);
            vec![]
        }
        _ => {
            // Of an element-wise launch on numbers: whether it writes past the caches.
            assert!(
                params.is_empty() || **params == [0],
                "{} has params",
                launch.kernel
            );
            vec![]
        }
    }
}

fn assert_inside(call: &Call, launch: &Launch) {
    let op = call.def.name;
    assert!(
        launch.dims.len() <= MAX_RANK + 1 && launch.split <= launch.dims.len(),
        "{op}"
    );
    let out = call
        .out_name()
        .and_then(|name| call.def.param(name))
        .unwrap();
    assert_eq!(launch.operands[0].source, Source::Param(out as u8), "{op}");
    let hidden = hidden(launch);
    for (index, operand) in launch.operands.iter().enumerate() {
        assert_eq!(
            operand.strides.len(),
            launch.dims.len(),
            "{op}, operand {index}"
        );
        let Source::Param(param) = operand.source else {
            continue;
        };
        let name = call.def.params[param as usize].name;
        let Some(Input::Tensor(tensor)) = call.inputs.get(name) else {
            panic!("{op}: {name}")
        };
        let also: Vec<_> = hidden
            .iter()
            .filter(|h| h.0 == index)
            .map(|&(_, size, stride)| (size, stride))
            .collect();
        if let Some((low, high)) = reach(launch, operand, &also) {
            let (first, end) = tensor.view.bounds();
            assert!(
                first <= low && high < end,
                "{op}: {name} reaches {low}..={high} of {first}..{end}"
            );
        }
    }
}

#[test]
fn launches_stay_inside_their_operands() {
    let sizes = [
        [2, 3, 5],
        [1, 1, 1],
        [4, 1, 2],
        [0, 3, 5],
        [2, 0, 5],
        [2, 3, 0],
        [0, 0, 0],
    ];
    let mut sequence = Sequence(5);
    for def in ALL.iter().filter(|def| is_covered(def)) {
        for size in sizes {
            for _ in 0..8 {
                let call =
                    sample(def.name, size).unwrap_or_else(|| panic!("no sample of {}", def.name));
                let mut call = call.completed().unwrap();
                for input in call.inputs.values_mut() {
                    if let Input::Tensor(tensor) = input {
                        tensor.view = scattered(&tensor.view.shape, &mut sequence);
                    }
                }
                for launch in call.launches() {
                    assert_inside(&call, &launch);
                }
            }
            // And the reference runs on the same shapes.
            let has_values = matches!(
                &def.body,
                Body::Kernel(body) if matches!(body.reference, Reference::Values(_))
            );
            if has_values {
                sample(def.name, size).unwrap().run().unwrap();
            }
        }
    }
}

#[test]
fn launches_visit_each_element_of_the_result_once() {
    for def in ALL.iter().filter(|def| is_covered(def)) {
        let call = sample(def.name, [2, 3, 5]).unwrap().completed().unwrap();
        let Some(Input::Tensor(out)) = call.out_name().and_then(|name| call.inputs.get(name))
        else {
            panic!("{} has no result", def.name);
        };
        let mut visits = vec![0; out.view.shape.elements() as usize];
        for launch in call.launches() {
            let digits = hidden(&launch).into_iter().find(|h| h.0 == 0);
            let (count, stride) = digits.map_or((1, 0), |(_, count, stride)| (count, stride));
            let written = &launch.operands[0];
            // Inner dimensions with stride 0 are sums.
            let axes = launch
                .dims
                .iter()
                .copied()
                .zip(written.strides.iter().copied());
            let kept: Vec<_> = axes
                .chain([(count, stride)])
                .filter(|&(dim, stride)| stride != 0 || dim == 1)
                .collect();
            let shape = Shape::new(&kept.iter().map(|&(dim, _)| dim as u64).collect::<Vec<_>>());
            let strides = kept.iter().map(|&(_, stride)| stride).collect();
            let view = View {
                shape: shape.unwrap(),
                strides,
                offset: written.offset,
            };
            for offset in view.offsets() {
                visits[offset as usize] += 1;
            }
        }
        assert!(
            visits.iter().all(|&count| count == 1),
            "{}: {visits:?}",
            def.name
        );
    }
}
