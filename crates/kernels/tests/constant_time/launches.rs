//! Launches of the client on secrets: samplers, and the arithmetic of encryption and decryption.

use crate::common::random::Random;
use crate::common::{Call, Operand};
use cloakwork_ir::{DType, write_word};

/// One that takes the widest arithmetic, one below 2^50.
const MODULI: [i64; 2] = [(1 << 62) - 57, 1_125_899_906_826_241];
/// Words of a transform: the least that takes the vector path of every instruction set.
const SIZE: i64 = 64;
/// Words of everything else: two of the widest vectors, and a rest.
const ODD_SIZE: i64 = 21;

/// The range of a secret's words.
#[derive(Clone, Copy)]
pub enum Range {
    Any,
    Below(i64),
    Ternary,
}

/// A secret operand of a launch.
#[derive(Clone, Copy)]
pub struct Secret {
    pub operand: usize,
    range: Range,
}

/// The contents of a secret.
#[derive(Clone, Copy)]
pub enum Kind {
    Least,
    Greatest,
    Random,
}

impl Secret {
    /// Secrets that should look alike.
    pub const ALL: [Kind; 3] = [Kind::Random, Kind::Least, Kind::Greatest];

    /// Overwrites an operand of 64-bit words.
    pub fn fill(&self, kind: Kind, bytes: &mut [u8]) {
        let mut random = Random(11);
        for place in bytes.chunks_exact_mut(8) {
            let word = match (self.range, kind) {
                (Range::Any, Kind::Least) | (Range::Below(_), Kind::Least) => 0,
                (Range::Any, Kind::Greatest) | (Range::Ternary, Kind::Least) => -1,
                (Range::Any, Kind::Random) => random.word() as i64,
                (Range::Below(bound), Kind::Greatest) => bound - 1,
                (Range::Below(bound), Kind::Random) => random.below(bound),
                (Range::Ternary, Kind::Greatest) => 1,
                (Range::Ternary, Kind::Random) => random.below(3) - 1,
            };
            write_word(DType::I64, word, place);
        }
    }
}

type Launch = (Call, Vec<Secret>);

fn tensor(dtype: DType, words: Vec<i64>, strides: &[i64]) -> Option<Operand> {
    Some(Operand {
        dtype,
        words,
        offset: 0,
        strides: strides.to_vec(),
    })
}

/// Zeros to be overwritten.
fn blank(count: i64, strides: &[i64]) -> Option<Operand> {
    tensor(DType::I64, vec![0; count as usize], strides)
}

fn residues(count: i64, q: i64, strides: &[i64]) -> Option<Operand> {
    let mut random = Random(q as u64);
    let words = (0..count).map(|_| random.below(q)).collect();
    tensor(DType::I64, words, strides)
}

/// Samplers of random words.
pub fn samplers() -> Vec<Launch> {
    // A vector of the widest, and a rest: a table of 40 entries is gone through for each.
    let size = 11;
    let random = |count: i64, stride| tensor(DType::U64, vec![0; count as usize], &[stride]);
    let secret = Secret {
        operand: 1,
        range: Range::Any,
    };
    let mut launches = vec![];
    for q in MODULI {
        let q = tensor(DType::I64, vec![q], &[0]);
        let operands = vec![blank(size, &[1]), random(2 * size, 2), q];
        let mut call = Call::new("uniform_mod", &[size], operands);
        call.params = vec![1];
        launches.push((call, vec![secret]));
    }
    let operands = vec![blank(size, &[1]), random(2 * size, 2)];
    let mut call = Call::new("gaussian", &[size], operands);
    call.params = vec![1];
    launches.push((call, vec![secret]));
    let operands = vec![blank(size, &[1]), random(size, 1)];
    launches.push((Call::new("ternary", &[size], operands), vec![secret]));
    launches
}

/// Arithmetic on residues and on small signed words.
pub fn arithmetic() -> Vec<Launch> {
    let per_modulus = [pairs, transforms, sums, conversions];
    let mut launches: Vec<Launch> = MODULI
        .into_iter()
        .flat_map(|q| per_modulus.into_iter().flat_map(move |make| make(q)))
        .collect();
    launches.extend(gathered());
    launches.extend(signed());
    launches
}

/// Small signed words of a key's file, and whether they are what they should be: sums, differences,
/// squares, narrower words, extremes and totals.
fn signed() -> Vec<Launch> {
    let size = ODD_SIZE;
    let line = || blank(size, &[1]);
    let narrow = tensor(DType::I8, vec![0; size as usize], &[1]);
    let pair = || vec![line(), line(), line()];
    let elementwise = [
        ("add", pair()),
        ("subtract", pair()),
        ("multiply", pair()),
        ("cast", vec![narrow, line()]),
    ];
    let mut launches: Vec<Launch> = vec![];
    for (kernel, operands) in elementwise {
        let inputs: Vec<usize> = (1..operands.len()).collect();
        let mut call = Call::new(kernel, &[size], operands);
        call.params = vec![0];
        launches.push((call, secrets(&inputs, Range::Ternary)));
    }
    for kernel in ["sum", "max", "min"] {
        // One of all words; and one of each row.
        let mut whole = Call::new(kernel, &[size], vec![blank(1, &[0]), line()]);
        whole.split = 0;
        let (rows, row) = (3, size);
        let operands = vec![blank(rows, &[1, 0]), blank(rows * row, &[row, 1])];
        let mut each = Call::new(kernel, &[rows, row], operands);
        each.split = 1;
        for mut call in [whole, each] {
            call.params = vec![1];
            launches.push((call, secrets(&[1], Range::Ternary)));
        }
    }
    launches
}

fn secrets(operands: &[usize], range: Range) -> Vec<Secret> {
    let secret = |&operand| Secret { operand, range };
    operands.iter().map(secret).collect()
}

/// Element by element: secret times public, secret plus secret, negated, reduced.
fn pairs(q: i64) -> Vec<Launch> {
    let size = ODD_SIZE;
    let modulus = || tensor(DType::I64, vec![q], &[0]);
    let line = || blank(size, &[1]);
    let call = |kernel, operands| Call::new(kernel, &[size], operands);
    let (public, public2) = (residues(size, q, &[1]), residues(size, q, &[1]));
    let below = Range::Below(q);
    vec![
        (
            call("modmul", vec![line(), line(), public, modulus()]),
            secrets(&[1], below),
        ),
        (
            call("modsum", vec![line(), line(), line(), modulus()]),
            secrets(&[1, 2], below),
        ),
        (
            call(
                "modmuladd",
                vec![line(), line(), public2, line(), modulus()],
            ),
            secrets(&[1, 3], below),
        ),
        (
            call("modneg", vec![line(), line(), modulus()]),
            secrets(&[1], below),
        ),
        (
            call("modneg", vec![line(), line(), modulus()]),
            secrets(&[1], Range::Ternary),
        ),
        (
            call("mod", vec![line(), line(), modulus()]),
            secrets(&[1], Range::Below(i64::MAX)),
        ),
    ]
}

/// Both directions; rows tight or a stride apart, with a permutation and without. What is small and
/// signed becomes residues by `modneg` first: only where rows are not tight is its sign no matter.
fn transforms(q: i64) -> Vec<Launch> {
    let (dims, row) = ([1, 1, 1, SIZE], [0, 0, 0, 1]);
    let one = || tensor(DType::I64, vec![q], &[0; 4]);
    let order = Random(9).permutation(SIZE);
    let perm = || tensor(DType::I64, order.clone(), &row);
    let table = || residues(SIZE, q, &row);
    let mut launches = vec![];
    for (permuted, step, range) in [(false, 1, Range::Below(q)), (true, 2, Range::Ternary)] {
        let a = || blank(SIZE * step, &[0, 0, 0, step]);
        let perm = || if permuted { perm() } else { None };
        let mut forward = Call::new("ntt", &dims, vec![a(), a(), one(), table(), perm()]);
        forward.split = 3;
        launches.push((forward, secrets(&[1], range)));
        let scale = tensor(DType::I64, vec![q / 3], &[0; 4]);
        let operands = vec![a(), a(), one(), table(), perm(), scale];
        let mut inverse = Call::new("intt", &dims, operands);
        inverse.split = 3;
        launches.push((inverse, secrets(&[1], range)));
    }
    launches
}

/// Sums along an axis, plain and of products.
fn sums(q: i64) -> Vec<Launch> {
    let (size, terms) = (ODD_SIZE, 3);
    let below = Range::Below(q);
    let a = blank(size * terms, &[1, size]);
    let modulus = tensor(DType::I64, vec![q], &[0, 0]);
    let mut plain = Call::new(
        "axis_modsum",
        &[size, terms],
        vec![blank(size, &[1, 0]), a, modulus],
    );
    plain.split = 1;
    let strides = [0, 0, 1, size];
    let operands = vec![
        blank(size, &[0, 0, 1, 0]),
        blank(size * terms, &strides),
        residues(size * terms, q, &strides),
        tensor(DType::I64, vec![q], &[0; 4]),
        None,
    ];
    let mut products = Call::new("modmul_axis_sum", &[1, 1, size, terms], operands);
    products.split = 3;
    vec![
        (plain, secrets(&[1], below)),
        (products, secrets(&[0, 1], below)),
    ]
}

/// Three limbs to two, digits scaled and centred.
fn conversions(q: i64) -> Vec<Launch> {
    let (size, from, to) = (ODD_SIZE, 3, 2);
    let one = |words: Vec<i64>, strides: [i64; 4]| tensor(DType::I64, words, &strides);
    let source: Vec<i64> = (0..from).map(|i| q - 2 * i).collect();
    let halves = source.iter().map(|q| q / 2).collect();
    let target: Vec<i64> = (0..to).map(|j| q - 20 - 2 * j).collect();
    let operands = vec![
        blank(size * to, &[0, 1, 0, size]),
        blank(size * from, &[0, 1, size, 0]),
        one(source, [0, 0, 1, 0]),
        residues(from, q - 10, &[0, 0, 1, 0]),
        one(halves, [0, 0, 1, 0]),
        residues(from * to, q - 40, &[0, 0, to, 1]),
        one(target, [0, 0, 0, 1]),
    ];
    let mut call = Call::new("base_convert", &[1, size, from, to], operands);
    call.split = 2;
    vec![(call, secrets(&[1], Range::Below(q - 10)))]
}

/// A secret row in a public order: any, and that of X -> X^3 in bit-reversed order.
fn gathered() -> Vec<Launch> {
    let order = Random(10).permutation(SIZE);
    let operands = |a_stride, order: &[i64]| {
        vec![
            blank(SIZE, &[1]),
            blank(SIZE, &[a_stride]),
            tensor(DType::I64, order.to_vec(), &[1]),
        ]
    };
    let reversed = |i: i64| ((i as u64).reverse_bits() >> (64 - SIZE.ilog2())) as i64;
    let cube = |i| reversed(3 * (2 * reversed(i) + 1) % (2 * SIZE) / 2);
    let automorphism: Vec<i64> = (0..SIZE).map(cube).collect();
    let mut gather = Call::new("gather", &[SIZE], operands(0, &order));
    gather.params = vec![1, SIZE];
    let mut launches = vec![gather];
    for index in [order, automorphism] {
        let mut rows = operands(1, &index);
        for operand in rows.iter_mut().flatten() {
            operand.strides.insert(0, 0);
        }
        launches.push(Call::new("automorphism", &[1, SIZE], rows));
    }
    let secret = secrets(&[1], Range::Any);
    launches
        .into_iter()
        .map(|call| (call, secret.clone()))
        .collect()
}
