//! Calls of one op on tensors whose contents are all known.
#![allow(dead_code, reason = "each test file uses a part")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

use cloakwork_ir::{DType, HostTensor, Shape, ShapeItem, Type, View, write_word};
use cloakwork_ops::{
    Args, Body, Contents, Launch, OpDef, OpError, Operand, ParamKind, Reference, Value, Viewed,
    check_known, find,
};
use std::collections::HashMap;

/// An argument.
#[derive(Clone, Debug)]
pub enum Input {
    Tensor(Tensor),
    Int(i64),
    Shape(Vec<ShapeItem>),
    DType(DType),
}

/// A tensor: its row-major elements, and the strides under which launches see it.
#[derive(Clone, Debug)]
pub struct Tensor {
    pub dtype: DType,
    pub view: View,
    pub words: Vec<i64>,
}

impl Tensor {
    pub fn new(dtype: DType, dims: &[u64], words: &[i64]) -> Self {
        let view = View::contiguous(Shape::new(dims).unwrap());
        let parts = dtype.components() as u64;
        assert_eq!(view.shape.elements() * parts, words.len() as u64);
        Self {
            dtype,
            view,
            words: words.to_vec(),
        }
    }

    fn host(&self) -> HostTensor {
        let size = self.dtype.component().size_bytes();
        let mut bytes = vec![0; self.words.len() * size];
        for (to, &word) in bytes.chunks_mut(size).zip(&self.words) {
            write_word(self.dtype, word, to);
        }
        HostTensor::from_vec(self.dtype, self.view.shape.clone(), bytes).unwrap()
    }
}

/// A call being put together.
#[derive(Clone)]
pub struct Call {
    pub def: &'static OpDef,
    pub inputs: HashMap<&'static str, Input>,
}

impl Call {
    pub fn new(op: &str) -> Self {
        Self {
            def: find(op).unwrap(),
            inputs: HashMap::new(),
        }
    }

    pub fn with(mut self, name: &'static str, input: Input) -> Self {
        assert!(
            self.def.param(name).is_some(),
            "{} has no {name}",
            self.def.name
        );
        self.inputs.insert(name, input);
        self
    }

    /// An i64 tensor.
    pub fn tensor(self, name: &'static str, dims: &[u64], words: &[i64]) -> Self {
        self.with(name, Input::Tensor(Tensor::new(DType::I64, dims, words)))
    }

    /// A tensor of another dtype.
    pub fn typed(self, name: &'static str, dtype: DType, dims: &[u64], words: &[i64]) -> Self {
        self.with(name, Input::Tensor(Tensor::new(dtype, dims, words)))
    }

    /// An i64 tensor of arbitrary words.
    pub fn filled(self, name: &'static str, dims: &[u64]) -> Self {
        let words = Sequence(dims.len() as u64).words(dims.iter().product());
        self.tensor(name, dims, &words)
    }

    pub fn int(self, name: &'static str, value: i64) -> Self {
        self.with(name, Input::Int(value))
    }

    /// A tensor of zeros to write into.
    pub fn out(self, dtype: DType, dims: &[u64]) -> Self {
        let elements: u64 = dims.iter().product();
        let name = self.out_name().unwrap();
        let words = elements as usize * dtype.components();
        self.typed(name, dtype, dims, &vec![0; words])
    }

    pub fn out_name(&self) -> Option<&'static str> {
        self.def
            .params
            .iter()
            .find(|p| p.kind == ParamKind::Out)
            .map(|p| p.name)
    }

    /// Calls `f` with the arguments bound; `known` says whether contents are.
    pub fn bind<R>(&self, known: bool, f: impl FnOnce(&Args) -> R) -> R {
        let hosts: HashMap<_, _> = self
            .inputs
            .iter()
            .filter_map(|(name, input)| match input {
                Input::Tensor(tensor) => Some((*name, tensor.host())),
                _ => None,
            })
            .collect();
        let values = self
            .def
            .params
            .iter()
            .map(|param| match self.inputs.get(param.name) {
                Some(Input::Tensor(tensor)) => Value::Tensor(Operand {
                    dtype: tensor.dtype,
                    view: &tensor.view,
                    constant: hosts.get(param.name).filter(|_| known),
                }),
                Some(Input::Int(value)) => Value::Int(*value),
                Some(Input::Shape(items)) => Value::Shape(items),
                Some(Input::DType(dtype)) => Value::DType(*dtype),
                None => param.default.map_or(Value::Absent, Value::Int),
            });
        f(&Args {
            def: self.def,
            values: values.collect(),
        })
    }

    /// The type of the result, contents checked.
    pub fn infer(&self) -> Result<Type, OpError> {
        self.bind(true, |args| {
            let ty = match &args.def.body {
                Body::Kernel(body) => (body.infer)(args)?,
                Body::Expand(body) => (body.infer)(args)?,
                Body::Allocate(infer) => infer(args)?,
                _ => panic!("{} infers no type", args.def.name),
            };
            check_known(args).map(|()| ty)
        })
    }

    /// The view or copy that a layout op gives.
    pub fn view(&self) -> Result<Viewed, OpError> {
        self.bind(true, |args| match &args.def.body {
            Body::View(view) => view(args),
            _ => panic!("{} is no view", args.def.name),
        })
    }

    /// This call with a result of the type inferred, if it has none.
    pub fn completed(&self) -> Result<Self, OpError> {
        let ty = self.infer()?;
        Ok(match self.out_name() {
            Some(name) if !self.inputs.contains_key(name) => {
                self.clone().out(ty.dtype, ty.shape.dims())
            }
            _ => self.clone(),
        })
    }

    /// The result by the reference.
    pub fn run(&self) -> Result<Vec<i64>, OpError> {
        let call = self.completed()?;
        let Body::Kernel(body) = &call.def.body else {
            panic!("{} has no kernel", call.def.name)
        };
        let result = call.bind(true, |args| {
            let Reference::Values(values) = body.reference else {
                panic!("{} has no values", call.def.name)
            };
            values(args, &Words(&call))
        })?;
        let result = result.words().expect("small operands").to_vec();
        if let Some(Input::Tensor(out)) = call.out_name().and_then(|name| call.inputs.get(name)) {
            assert_eq!(
                result.len() as u64,
                out.view.shape.elements() * out.dtype.components() as u64,
                "{}",
                call.def.name
            );
        }
        Ok(result)
    }

    /// The kernel calls, over the views that tensors have.
    pub fn launches(&self) -> Vec<Launch> {
        let call = self.completed().unwrap();
        let Body::Kernel(body) = &call.def.body else {
            panic!("{} has no kernel", call.def.name)
        };
        call.bind(false, |args| (body.launch)(args))
            .unwrap()
            .to_vec()
    }
}

struct Words<'a>(&'a Call);

impl Contents for Words<'_> {
    fn words(&self, param: &str) -> Result<&[i64], OpError> {
        match self.0.inputs.get(param) {
            Some(Input::Tensor(tensor)) => Ok(&tensor.words),
            Some(Input::Int(value)) => Ok(std::slice::from_ref(value)),
            _ => panic!("{} has no contents for {param}", self.0.def.name),
        }
    }
}

/// A fixed sequence of words.
pub struct Sequence(pub u64);

impl Sequence {
    /// The next word, from all 64 bits.
    pub fn word(&mut self) -> i64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as i64
    }

    /// The next number in `0 .. below`.
    pub fn below(&mut self, below: i64) -> i64 {
        self.word().rem_euclid(below)
    }

    /// So many words.
    pub fn words(&mut self, count: u64) -> Vec<i64> {
        (0..count).map(|_| self.word()).collect()
    }
}

/// `base^exponent mod q`.
pub fn power(base: i64, exponent: i64, q: i64) -> i64 {
    let (mut result, mut square, mut rest) = (1u128, base as u128, exponent);
    while rest > 0 {
        if rest & 1 == 1 {
            result = result * square % q as u128;
        }
        square = square * square % q as u128;
        rest >>= 1;
    }
    result as i64
}

/// A number whose m-th power is -1 modulo a prime.
pub fn root(m: u64, q: i64) -> i64 {
    let candidates = (2..).map(|base| power(base, (q - 1) / (2 * m as i64), q));
    candidates
        .into_iter()
        .find(|&psi| power(psi, m as i64, q) == q - 1)
        .unwrap()
}

/// The bit reversal of `0 .. m`.
pub fn bit_reversal(m: u64) -> Vec<i64> {
    let bits = m.trailing_zeros();
    (0..m)
        .map(|i| {
            if m == 1 {
                0
            } else {
                (i.reverse_bits() >> (64 - bits)) as i64
            }
        })
        .collect()
}

/// `[k, m]`: powers of each root in bit-reversed order.
pub fn table(roots: &[i64], m: u64, q: &[i64]) -> Vec<i64> {
    let row = |(&psi, &q): (&i64, &i64)| -> Vec<i64> {
        bit_reversal(m)
            .into_iter()
            .map(|i| power(psi, i, q))
            .collect()
    };
    roots.iter().zip(q).flat_map(row).collect()
}
