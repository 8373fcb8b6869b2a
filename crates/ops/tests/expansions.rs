//! Composite ops: their expansions, evaluated by the references, against their definitions.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

use crate::common::{Call, Input, Sequence, Tensor, bit_reversal, power, root, table};
use cloakwork_ir::{Arg, Builder, DType, Generation, Op, Program, Shape, Step, Symbol, View};
use cloakwork_ops::{Body, ParamKind, Viewed, find_form, write_expansion};
use std::collections::{HashMap, HashSet};

/// Tensors by name; names may share a storage.
struct Memory {
    storages: Vec<Vec<i64>>,
    names: HashMap<Symbol, (usize, DType, View)>,
}

impl Memory {
    fn store(&mut self, name: Symbol, tensor: Tensor) {
        self.names
            .insert(name, (self.storages.len(), tensor.dtype, tensor.view));
        self.storages.push(tensor.words);
    }

    /// The tensor of a name, row-major, but with the strides it has.
    fn load(&self, name: Symbol) -> Tensor {
        let (storage, dtype, view) = self.names[&name].clone();
        let words = view
            .offsets()
            .map(|offset| self.storages[storage][offset as usize])
            .collect();
        Tensor { dtype, view, words }
    }

    fn write(&mut self, name: Symbol, words: &[i64]) {
        let (storage, _, view) = self.names[&name].clone();
        for (offset, &word) in view.offsets().zip(words) {
            self.storages[storage][offset as usize] = word;
        }
    }

    /// A step as a call, with the names of its operands by parameter.
    fn bind(&self, program: &Program, op: &Op) -> (Call, HashMap<&'static str, Symbol>) {
        let (args, name) = (program.args(op), program.text_name(op.name));
        let (def, form) = find_form(name, args.len(), program.generation).unwrap();
        let mut call = Call::new(def.name);
        let mut operands = HashMap::new();
        for (param, arg) in form.args.iter().zip(args) {
            let input = match arg {
                Arg::Device(symbol, _) => {
                    operands.insert(*param, *symbol);
                    Input::Tensor(self.load(*symbol))
                }
                Arg::Int(value) => Input::Int(*value),
                Arg::Shape(items) => Input::Shape(items.to_vec()),
                Arg::DType(dtype) => Input::DType(*dtype),
                Arg::None => continue,
                other => panic!("{name}: {other:?}"),
            };
            call = call.with(param, input);
        }
        (call, operands)
    }

    fn step(&mut self, program: &Program, op: &Op) {
        let (call, operands) = self.bind(program, op);
        let Some(Arg::Device(result, _)) = program.out(op) else {
            panic!("no result")
        };
        let def = call.def;
        match &def.body {
            Body::Allocate(_) => {
                let ty = call.infer().unwrap();
                let zeros = vec![0; ty.shape.elements() as usize];
                self.store(*result, Tensor::new(ty.dtype, ty.shape.dims(), &zeros));
            }
            Body::View(_) => match call.view().unwrap() {
                Viewed::View(view) => {
                    let (storage, dtype, _) = self.names[&operands["a"]];
                    self.names.insert(*result, (storage, dtype, view));
                }
                Viewed::Copy(shape) => {
                    let a = self.load(operands["a"]);
                    self.store(*result, Tensor::new(a.dtype, shape.dims(), &a.words));
                }
            },
            Body::Kernel(_) => {
                let out = def
                    .params
                    .iter()
                    .find(|p| p.kind == ParamKind::Out)
                    .unwrap();
                self.write(operands[out.name], &call.run().unwrap());
                let written = self.names[&operands[out.name]].clone();
                self.names.insert(*result, written);
            }
            _ => panic!("{} is not in an expansion", def.name),
        }
    }
}

/// A composite op's expansion, the name of its result and the memory that it starts from.
fn expand(call: &Call, generation: Generation) -> (Program, Symbol, Memory) {
    let mut builder = Builder::new();
    builder.program.generation = generation;
    let mut memory = Memory {
        storages: vec![],
        names: HashMap::new(),
    };
    let mut result = builder.program.fresh_symbol();
    let mut args = vec![];
    for param in call.def.params {
        args.push(match call.inputs.get(param.name) {
            Some(Input::Tensor(tensor)) => {
                let symbol = builder.program.fresh_symbol();
                memory.store(symbol, tensor.clone());
                if param.kind == ParamKind::Out {
                    result = symbol;
                }
                Arg::Device(symbol, None)
            }
            Some(Input::Int(value)) => Arg::Int(*value),
            Some(Input::Shape(items)) => Arg::Shape(items.clone().into()),
            Some(Input::DType(dtype)) => Arg::DType(*dtype),
            None => Arg::None,
        });
    }
    let is_composite = call.def.body.expansion().is_some();
    assert!(is_composite, "{} is not composite", call.def.name);
    call.bind(false, |bound| {
        write_expansion((call.def, &args), bound, result, &mut builder)
    })
    .unwrap();
    (builder.program, result, memory)
}

/// The result of a composite op by its expansion, which leaves nothing else behind.
fn evaluate(call: &Call, generation: Generation) -> Tensor {
    let call = call.completed().unwrap();
    let (program, result, mut memory) = expand(&call, generation);
    let mut names: HashSet<Symbol> = memory.names.keys().copied().collect();
    names.insert(result);
    for step in &program.steps {
        match step {
            Step::Op(op) => memory.step(&program, op),
            Step::Free(name) => assert!(memory.names.remove(name).is_some()),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(memory.names.keys().copied().collect::<HashSet<_>>(), names);
    let (tensor, ty) = (memory.load(result), call.infer().unwrap());
    assert_eq!((tensor.dtype, &tensor.view.shape), (ty.dtype, &ty.shape));
    tensor
}

#[test]
fn elements_are_repeated_one_by_one_in_programs_of_either_generation() {
    for generation in [Generation::First, Generation::Later] {
        let call = |dims: &[u64], axis| {
            let elements = dims.iter().product::<u64>() as i64;
            let words: Vec<i64> = (0..elements).collect();
            Call::new("repeat_interleave")
                .tensor("a", dims, &words)
                .int("repeats", 2)
                .int("axis", axis)
        };
        let words = |dims, axis| evaluate(&call(dims, axis), generation).words;
        assert_eq!(words(&[2, 2], -1), [0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(words(&[2, 2], 0), [0, 1, 0, 1, 2, 3, 2, 3]);
        assert_eq!(words(&[1, 2], 0), [0, 1, 0, 1]);
        assert_eq!(words(&[0, 2], 1), []);
        assert_eq!(call(&[2; 16], 1).infer().unwrap_err().operand, "a");
    }
}

#[test]
fn zeros_are_written() {
    let shape = Shape::new(&[2, 0, 3]).unwrap();
    for dims in [shape.dims(), &[2, 3], &[]] {
        let items = dims
            .iter()
            .map(|&d| cloakwork_ir::ShapeItem::Int(d as i64))
            .collect();
        let call = Call::new("zeros").with("shape", Input::Shape(items));
        let tensor = evaluate(
            &call.with("dtype", Input::DType(DType::I8)),
            Generation::Later,
        );
        assert!(tensor.words.iter().all(|&word| word == 0) && tensor.view.shape.dims() == dims);
    }
}

const Q: [i64; 2] = [17, 97];
const M: usize = 4;

/// `[l, m, 1, k]`, a key of two polynomials and `digits` digits of `bits` bits.
fn key_switch(rows: u64, a: &[i64], key: &[i64], digits: u64, bits: i64) -> Call {
    let m = M as u64;
    let roots = Q.map(|q| root(m, q));
    let inverses = [0, 1].map(|k| power(roots[k], 2 * m as i64 - 1, Q[k]));
    Call::new("key_switch")
        .tensor("a", &[rows, m, 1, 2], a)
        .tensor("key", &[m, 2, digits, 2], key)
        .tensor("q", &[2], &Q)
        .tensor("psi", &[2, m], &table(&roots, m, &Q))
        .tensor("psi_inv", &[2, m], &table(&inverses, m, &Q))
        .tensor("n_inv", &[2], &Q.map(|q| power(m as i64, q - 2, q)))
        .tensor("perm", &[m], &bit_reversal(m))
        .int("g_exp", digits as i64)
        .int("g_base_bits", bits)
}

/// Coefficients in `[0, prod q)` of one row `[m, k]` of values, by interpolation and search.
fn coefficients(values: &[i64]) -> Vec<i64> {
    let coefficient = |i: usize, k: usize| {
        let (q, psi) = (Q[k], root(M as u64, Q[k]));
        let inverse = power(psi, 2 * M as i64 - 1, q);
        let terms = (0..M).map(|j| values[j * 2 + k] * power(inverse, (i * (2 * j + 1)) as i64, q));
        terms.sum::<i64>() * power(M as i64, q - 2, q) % q
    };
    let matches = |x: &i64, i| (0..2).all(|k| x % Q[k] == coefficient(i, k));
    (0..M)
        .map(|i| (0..Q[0] * Q[1]).find(|x| matches(x, i)).unwrap())
        .collect()
}

#[test]
fn key_switching_multiplies_digits_with_the_key() {
    // 17 * 97 = 1649 < 2^12: three digits of four bits.
    let (digits, bits) = (3, 4);
    let mut sequence = Sequence(2);
    let a: Vec<i64> = (0..2 * M * 2).map(|i| sequence.below(Q[i % 2])).collect();
    let key: Vec<i64> = (0..M * 2 * digits * 2)
        .map(|i| sequence.below(Q[i % 2]))
        .collect();
    let got = evaluate(
        &key_switch(2, &a, &key, digits as u64, bits),
        Generation::Later,
    )
    .words;
    for (row, values) in a.chunks(M * 2).enumerate() {
        let numbers = coefficients(values);
        for (part, k) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let (q, psi) = (Q[k], root(M as u64, Q[k]));
            for j in 0..M {
                let spread = |digit: usize| {
                    let cut = |x: i64| (x >> (digit as i64 * bits)) & 15;
                    let power = |i: usize| power(psi, (i * (2 * j + 1)) as i64, q);
                    (0..M).map(|i| cut(numbers[i]) * power(i)).sum::<i64>()
                };
                let product =
                    |digit| spread(digit) * key[((j * 2 + part) * digits + digit) * 2 + k];
                let expected = (0..digits).map(product).sum::<i64>() % q;
                assert_eq!(got[((row * M + j) * 2 + part) * 2 + k], expected);
            }
        }
    }
}

#[test]
fn digits_of_more_than_seven_bits_are_kept_in_words_and_no_rows_are_no_trouble() {
    let mut sequence = Sequence(8);
    let key: Vec<i64> = (0..M * 2 * 2 * 2)
        .map(|i| sequence.below(Q[i % 2]))
        .collect();
    let none = evaluate(&key_switch(0, &[], &key, 2, 8), Generation::First);
    assert_eq!(none.view.shape.dims(), [0, M as u64, 2, 2]);
    // The number 255 everywhere: digit 0 is 255 and digit 1 is 0, in one polynomial.
    let a: Vec<i64> = (0..M * 2).map(|i| 255 % Q[i % 2]).collect();
    let got = evaluate(&key_switch(1, &a, &key, 2, 8), Generation::Later).words;
    for (i, &value) in got.iter().enumerate() {
        let (k, part, j) = (i % 2, i / 2 % 2, i / 4);
        assert_eq!(value, 255 * key[((j * 2 + part) * 2) * 2 + k] % Q[k]);
    }
}

#[test]
fn a_key_of_another_size_is_refused() {
    let call = key_switch(1, &[0; 8], &[0; 32], 2, 8);
    assert_eq!(
        call.clone().int("g_exp", 3).infer().unwrap_err().operand,
        "g_exp"
    );
    assert_eq!(
        call.clone()
            .int("g_base_bits", 62)
            .infer()
            .unwrap_err()
            .operand,
        "g_base_bits"
    );
    assert_eq!(
        call.tensor("key", &[4, 2, 2, 1], &[0; 16])
            .infer()
            .unwrap_err()
            .operand,
        "key"
    );
}

/// An op with kernels, by its expansion and by its reference.
fn assert_expands(call: &Call) {
    for generation in [Generation::First, Generation::Later] {
        let words = evaluate(call, generation).words;
        assert_eq!(words, call.run().unwrap(), "{}", call.def.name);
    }
}

#[test]
fn kernels_and_expansions_agree_to_the_bit_on_any_words() {
    let q = [5, 97, 4_611_686_018_427_387_847];
    let call = |op| Call::new(op).filled("a", &[2, 4, 3]).tensor("q", &[3], &q);
    assert_expands(&call("modmuladd").filled("b", &[4, 1]).int("c", -3));
    assert_expands(&call("modmuladd").int("b", 7).filled("c", &[5, 1, 1, 3]));
    let column = Call::new("modmuladd")
        .filled("a", &[4, 1])
        .filled("b", &[1]);
    assert_expands(&column.filled("c", &[4, 3]).tensor("q", &[3], &q));

    for dims in [&[2, 3][..], &[], &[0]] {
        assert_expands(&Call::new("copy").filled("a", dims).filled("out", dims));
    }

    let turned = Call::new("automorphism").tensor("index", &[4], &[3, 0, 2, 1]);
    assert_expands(&turned.clone().filled("a", &[2, 4, 3]));
    assert_expands(&turned.filled("a", &[4, 1]));

    for (dims, limbs, outputs) in [(&[2, 4][..], 3, 2), (&[], 2, 1), (&[2], 0, 2), (&[0], 2, 2)] {
        let dims = [dims, &[limbs]].concat();
        let call = Call::new("base_convert").filled("a", &dims);
        let call = call.tensor("q", &[limbs], &q[..limbs as usize]);
        let call = call.filled("hat", &[limbs, outputs]);
        let call = call.tensor("p", &[outputs], &[17, q[2]][..outputs as usize]);
        for half in [
            vec![2, 48, q[2] / 2],
            vec![0; 3],
            vec![-1, i64::MIN, i64::MAX],
        ] {
            let call = call
                .clone()
                .tensor("half", &[limbs], &half[..limbs as usize]);
            assert_expands(&call.clone().filled("hat_inv", &[limbs]));
            assert_expands(&call);
        }
    }
}

/// Words at both ends of the range, negative ones and moduli among them, in turn.
fn edges(count: u64, q: &[i64]) -> Vec<i64> {
    let mut words = vec![0, 1, -1, i64::MIN, i64::MAX, i64::MIN + 1];
    words.extend(q.iter().flat_map(|&q| [q, -q, q - 1, 1 - q, 2 * (q / 2)]));
    (0..count as usize)
        .map(|i| words[i * 7 % words.len()])
        .collect()
}

#[test]
fn expansions_for_devices_agree_to_the_bit_on_unreduced_and_negative_words() {
    let q = [3, 97, 4_611_686_018_427_387_847];
    let with = |op: &str, dims: &[u64]| {
        let elements = dims.iter().product();
        Call::new(op).tensor("a", dims, &edges(elements, &q))
    };
    assert_expands(&with("modneg", &[2, 4, 3]).tensor("q", &[3], &q));
    assert_expands(&with("modneg", &[40]).int("q", q[2]));
    for b in [2, -97, i64::MAX >> 1] {
        assert_expands(&with("mod", &[40]).int("b", b));
    }
    for (dims, axis) in [
        (&[2, 4, 3][..], 1),
        (&[5, 3], 0),
        (&[2, 0, 3], 1),
        (&[2, 2, 3], -3),
    ] {
        let call = with("axis_modsum", dims).int("axis", axis);
        assert_expands(&call.tensor("q", &[3], &q));
    }
    for axis in [-1, -3] {
        let (a, b, out) = match axis {
            -1 => ([2, 5, 3, 4], [5, 3, 4], [2, 3, 4]),
            _ => ([2, 4, 5, 3], [4, 5, 3], [2, 4, 3]),
        };
        let call = with("modmul_axis_sum", &a)
            .int("axis", axis)
            .tensor("q", &[3], &q);
        let call = call.tensor("b", &b, &edges(60, &q));
        let call = call.tensor("out", &out, &edges(24, &q[1..]));
        assert_expands(&call.clone().int("apply_perm", 0));
        assert_expands(
            &call
                .int("apply_perm", 1)
                .tensor("perm", &[4], &bit_reversal(4)),
        );
    }
}

#[test]
fn transforms_in_stages_agree_to_the_bit_with_any_table_and_any_permutation() {
    let (q, perm) = ([3, 4_611_686_018_427_387_847], [3, 0, 7, 1, 2, 6, 5, 4]);
    for (op, table) in [("ntt", "psi"), ("intt", "psi_inv")] {
        for (axis, dims, tiled) in [(-3, [2, 8, 3, 2], false), (-1, [2, 3, 1, 8], true)] {
            let elements = dims.iter().product();
            let call = Call::new(op).tensor("a", &dims, &edges(elements, &q));
            let call = call.tensor("q", &[2], &q).int("axis", axis);
            let call = call.tensor(table, &[2, 8], &edges(16, &q[1..]));
            let call = match op {
                "intt" => call.tensor("n_inv", &[2], &[-7, 1 << 60]),
                _ => call,
            };
            let call = call.int("tile", i64::from(tiled));
            assert_expands(&call);
            assert_expands(&call.tensor("perm", &[8], &perm));
        }
    }
}

#[test]
fn a_call_is_only_expanded_where_the_expansion_is_the_same() {
    let expands = |call: Call| {
        let call = call.completed().unwrap();
        call.bind(true, |bound| call.def.body.expands(bound))
    };
    let q = [3, 5, 7];
    let a = |op| {
        Call::new(op)
            .filled("a", &[2, 300, 3])
            .tensor("q", &[3], &q)
    };
    assert!(expands(a("modneg")));
    // Of several moduli an axis of size 1 takes the first, which is no broadcast.
    let narrow = Call::new("modneg").filled("a", &[2, 1]);
    assert!(!expands(narrow.tensor("q", &[3], &q)));
    assert!(!expands(a("axis_modsum").int("axis", 1)));
    assert!(expands(a("axis_modsum").int("axis", 0)));
    let remainder = |b| Call::new("mod").filled("a", &[4]).int("b", b);
    assert!(expands(remainder(-2)) && !expands(remainder(1)) && !expands(remainder(i64::MIN)));
    assert!(!expands(
        Call::new("mod").filled("a", &[4]).filled("b", &[4])
    ));
    let sum = a("modmul_axis_sum")
        .filled("a", &[1, 2, 3, 4])
        .filled("b", &[2, 3, 4]);
    let with = |perm: &[i64]| sum.clone().int("apply_perm", 1).tensor("perm", &[4], perm);
    assert!(expands(with(&[0, 2, 1, 3])) && !expands(with(&[1, 2, 3, 0])));
}
