//! Random calls that an op accepts, found from its declaration alone: arguments are guessed, and
//! the declaration's errors tell which ones to change.

use crate::Source;
use cloakwork_ir::{
    ALL_DTYPES, Arg, DType, FIELD_DTYPES, Field, Generation, Group, HostTensor, POINT_DTYPES,
    PRIME_FIELD_DTYPES, Shape, ShapeItem, Symbol, Type, View, write_word,
};
use cloakwork_ops::reference::sample;
use cloakwork_ops::{
    Args, Body, Code, Form, OpDef, OpError, Operand, Param, ParamKind, Value, Viewed, check_known,
    find_form,
};

/// The style of generated calls' tensors. By default they are small and dense, with small words.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style<'a> {
    /// Words that kernels distinguish: extremes of dtypes, unreduced and negative residues, moduli
    /// of 2 to 62 bits; and more axes without elements.
    pub edges: bool,
    /// Operands and results are transposed, sliced, reversed, and repeated by strides of 0.
    pub strided: bool,
    /// The size of the last axis of new tensors.
    pub size: Option<u64>,
    /// All other axes of these have size 1, so that launches have just as many elements.
    pub flat: bool,
    /// Element types of new tensors; a choice of all kinds if there are none here.
    pub dtypes: &'a [DType],
}

impl Style<'_> {
    /// The most elements of a tensor.
    fn largest(&self) -> u64 {
        self.size
            .map_or(LARGEST_ELEMENTS, |size| LARGEST_ELEMENTS.max(4 * size))
    }
}

/// The most changes to a call before the search ends.
const ATTEMPTS: usize = 80;

/// The largest tensor of a generated program.
const LARGEST_ELEMENTS: u64 = 1 << 12;

/// Elements after which those of a large tensor repeat: no width of vectors divides it.
const PERIOD: u64 = 61;

/// Bytes of a transcript with capacity for some elements.
const TRANSCRIPT_BYTES: u64 = 16 + 2 * 300;

const MODULI: [i64; 4] = [17, 97, 193, 12289];
const LARGE_MODULI: [i64; 4] = [2305843009218281473, 2305843009218936833, 7681, 12289];
/// Numbers of 2 to 62 bits, on both sides of the bounds between kernels.
const EDGE_MODULI: [i64; 12] = [
    2,
    3,
    4,
    (1 << 31) - 1,
    1 << 31,
    (1 << 31) + 11,
    (1 << 32) + 15,
    (1 << 49) + 69,
    (1 << 50) - 27,
    (1 << 50) + 55,
    (1 << 61) - 1,
    (1 << 62) - 57,
];
/// Primes of 5 to 62 bits with roots of unity of order 2^14 and less.
const NTT_MODULI: [i64; 6] = [
    97,
    12289,
    65537,
    4_293_918_721,
    1_125_899_904_679_937,
    4_611_686_018_326_724_609,
];

/// A tensor of a generated program at some step.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    pub name: Symbol,
    pub dtype: DType,
    pub view: View,
    pub storage: usize,
    /// The uploaded contents, until the tensor is written.
    pub data: Option<HostTensor>,
}

/// The contents of a new tensor.
#[derive(Clone, Copy, Debug)]
enum Fill {
    Residues,
    /// Numbers of 2 to 62 bits.
    AnyModuli,
    /// Primes with roots of unity.
    NttModuli,
    Moduli,
    LargeModuli,
    Permutation,
    Zeros,
    /// 0, 1, 2 and so on.
    Places,
    /// Zeros, except the last element.
    Last(i64),
    /// A transcript whose proof has this many bytes.
    Proof(u64),
}

/// A guess for one parameter.
#[derive(Clone, Debug)]
pub(crate) enum Pick {
    /// An existing tensor of the program.
    Old(usize),
    /// A tensor to be uploaded.
    Fresh(HostTensor),
    Other(Arg),
}

/// The words of a new tensor of integers.
struct Words {
    edges: bool,
    /// Moduli are as wide as the dtype at most.
    bits: u32,
    turn: u64,
}

impl Words {
    fn of(style: Style, dtype: DType, turn: u64) -> Self {
        let bits = 8 * dtype.component().size_bytes() as u32;
        Self {
            edges: style.edges,
            bits,
            turn,
        }
    }

    fn residue(&self, i: u64) -> i64 {
        let mixed = self.turn.rotate_left(i as u32);
        if !self.edges {
            return (mixed % 17) as i64;
        }
        let random = (self.turn ^ i)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(23);
        let most = i64::MAX >> (64 - self.bits);
        match self.turn % 5 {
            0 => (mixed % 17) as i64,
            1 => random as i64,
            2 => random as i64 & most,
            3 => self.modulus(&EDGE_MODULI, i) - 1 - (i & 1) as i64,
            _ => {
                let edges = [0, 1, -1, 2, most, !most, most - 1, 16, 17, -17];
                edges.get((random % 10) as usize).copied().unwrap_or(0)
            }
        }
    }

    /// One of those that a dtype holds; all elements are the same in every second tensor.
    fn modulus(&self, moduli: &[i64], i: u64) -> i64 {
        let most = i64::MAX >> (64 - self.bits);
        let fitting = moduli.iter().filter(|&&q| q <= most).count().max(1);
        let i = if self.turn & 32 == 0 { 0 } else { i };
        let at = (self.turn >> 8).wrapping_add(i) % fitting as u64;
        moduli.get(at as usize).copied().unwrap_or(17)
    }
}

/// The result of a call.
pub(crate) enum Outcome {
    View(View),
    New(Type),
    Write(Type),
}

impl Outcome {
    fn elements(&self) -> u64 {
        let shape = match self {
            Self::View(view) => &view.shape,
            Self::New(ty) | Self::Write(ty) => &ty.shape,
        };
        shape.elements()
    }

    /// Whether later steps may use it: claimed sizes could exceed limits.
    fn is_small(&self, style: &Style) -> bool {
        self.elements() <= style.largest()
    }
}

/// A call that its declaration accepts.
pub(crate) struct Found {
    pub def: &'static OpDef,
    pub form: &'static Form,
    pub picks: Vec<Pick>,
    pub outcome: Outcome,
}

impl Found {
    /// Elements of the result.
    pub fn elements(&self) -> u64 {
        self.outcome.elements()
    }

    /// Elements of the largest tensor that is uploaded for it.
    pub fn largest_operand(&self) -> Option<u64> {
        let sizes = self.picks.iter().filter_map(|pick| match pick {
            Pick::Fresh(data) => Some(data.view().shape.elements()),
            _ => None,
        });
        sizes.max()
    }
}

/// Searches arguments for an op among the existing tensors.
pub(crate) struct Search<'a, 'b> {
    pub tensors: &'a [Tensor],
    pub source: &'a mut Source<'b>,
    pub generation: Generation,
    pub style: Style<'a>,
}

impl Search<'_, '_> {
    /// A call of this op, if the search finds one.
    pub fn find(&mut self, def: &'static OpDef) -> Option<Found> {
        let reads_back = |form: &&'static Form| {
            let read = find_form(form.name, form.args.len(), self.generation);
            read.is_ok_and(|(_, read)| std::ptr::eq(read, *form))
        };
        let forms: Vec<&Form> = def.forms.iter().filter(reads_back).collect();
        let form = *self.source.pick(&forms)?;
        let mut picks: Vec<Pick> = def
            .params
            .iter()
            .map(|param| self.guess(param, form))
            .collect();
        for _ in 0..ATTEMPTS {
            match self.judge(def, &picks) {
                Ok(outcome) if outcome.is_small(&self.style) => {
                    return Some(Found {
                        def,
                        form,
                        picks,
                        outcome,
                    });
                }
                Ok(_) => {
                    picks = def
                        .params
                        .iter()
                        .map(|param| self.guess(param, form))
                        .collect()
                }
                Err(error) => self.repair(def, form, &mut picks, &error),
            }
        }
        None
    }

    /// The declaration's judgement of arguments.
    pub fn judge(&self, def: &'static OpDef, picks: &[Pick]) -> Result<Outcome, OpError> {
        let shown: Vec<Option<(DType, View, Option<HostTensor>)>> =
            picks.iter().map(|pick| self.show(pick)).collect();
        let values = picks
            .iter()
            .zip(&shown)
            .map(|(pick, shown)| match (pick, shown) {
                (_, Some((dtype, view, data))) => Value::Tensor(Operand {
                    dtype: *dtype,
                    view,
                    constant: data.as_ref(),
                }),
                (Pick::Other(Arg::Int(value)), _) => Value::Int(*value),
                (Pick::Other(Arg::Shape(items)), _) => Value::Shape(items),
                (Pick::Other(Arg::DType(dtype)), _) => Value::DType(*dtype),
                _ => Value::Absent,
            });
        let args = Args {
            def,
            values: values.collect(),
        };
        match &def.body {
            Body::View(view) => Ok(match view(&args)? {
                Viewed::View(view) => Outcome::View(view),
                Viewed::Copy(shape) => Outcome::New(Type::new(args.tensor("a")?.dtype, shape)),
            }),
            Body::Allocate(infer) => Ok(Outcome::New(infer(&args)?)),
            Body::Kernel(body) => {
                let ty = (body.infer)(&args)?;
                check_known(&args)?;
                Ok(Outcome::Write(ty))
            }
            Body::Expand(body) => {
                let ty = (body.infer)(&args)?;
                check_known(&args)?;
                Ok(if def.has_out() {
                    Outcome::Write(ty)
                } else {
                    Outcome::New(ty)
                })
            }
            Body::Upload | Body::Download => Err(OpError::new(
                Code::ArgumentType,
                "",
                "an op of the device",
                "a transfer",
            )),
        }
    }

    fn show(&self, pick: &Pick) -> Option<(DType, View, Option<HostTensor>)> {
        match pick {
            Pick::Old(index) => {
                let tensor = self.tensors.get(*index)?;
                Some((tensor.dtype, tensor.view.clone(), tensor.data.clone()))
            }
            Pick::Fresh(data) => Some((data.dtype(), data.view().clone(), Some(data.clone()))),
            Pick::Other(_) => None,
        }
    }

    fn guess(&mut self, param: &Param, form: &Form) -> Pick {
        if !form.args.contains(&param.name) {
            return Pick::Other(param.default.map_or(Arg::None, Arg::Int));
        }
        match param.kind {
            ParamKind::Tensor => self.tensor(),
            ParamKind::TensorOrInt => {
                let is_int = match form.ints {
                    Some(ints) => ints.contains(&param.name),
                    None => self.source.chance(2),
                };
                if is_int && self.style.edges {
                    let modulus = self.source.pick(&EDGE_MODULI).copied();
                    Pick::Other(Arg::Int(modulus.unwrap_or(17)))
                } else if is_int {
                    Pick::Other(Arg::Int(17))
                } else {
                    self.tensor()
                }
            }
            ParamKind::OptionalTensor | ParamKind::Hint if self.source.chance(2) => self.tensor(),
            ParamKind::Int(low, high) => Pick::Other(Arg::Int(self.source.int().clamp(low, high))),
            ParamKind::Bool => Pick::Other(Arg::Int(self.source.below(2) as i64)),
            ParamKind::Shape => Pick::Other(Arg::Shape(self.items())),
            ParamKind::DType => {
                let dtype = self.source.pick(&ALL_DTYPES).copied();
                Pick::Other(dtype.map_or(Arg::None, Arg::DType))
            }
            _ => Pick::Other(Arg::None),
        }
    }

    fn tensor(&mut self) -> Pick {
        if !self.tensors.is_empty() && !self.source.chance(4) {
            return Pick::Old(self.source.below(self.tensors.len()));
        }
        let rank = match self.style.size {
            Some(_) => 1 + self.source.below(3),
            None => self.source.below(5),
        };
        let dims = self.dims(rank);
        if let Some(dtype) = self.source.pick(self.style.dtypes).copied() {
            return self.fresh(dtype, &dims, Fill::Residues);
        }
        let dtypes = [
            DType::I64,
            DType::I64,
            DType::I32,
            DType::I8,
            DType::U64,
            DType::F64,
            DType::F32,
            DType::C128,
            DType::Field(Field::GOLDILOCKS),
            DType::Field(Field::BN254_FR),
            DType::Point(Group::BN254_G1),
        ];
        let dtype = match self.source.pick(&dtypes).copied() {
            // One field stands for all.
            Some(DType::Field(Field::GOLDILOCKS)) => self.source.pick(&FIELD_DTYPES).copied(),
            other => other,
        };
        let dtype = dtype.unwrap_or(DType::I64);
        self.fresh(dtype, &dims, Fill::Residues)
    }

    fn dims(&mut self, rank: usize) -> Vec<u64> {
        let sizes = [1, 2, 2, 4, 4, 3, 1, 0];
        let one_in = if self.style.edges { 5 } else { 16 };
        if let Some(size) = self.style.size {
            let most = if self.style.flat { 1 } else { 3 };
            let before = (1..rank).map(|_| 1 + self.source.below(most) as u64);
            let mut dims: Vec<u64> = before.collect();
            dims.extend((rank > 0).then_some(size));
            return dims;
        }
        let bound = if self.source.chance(one_in) {
            sizes.len()
        } else {
            sizes.len() - 1
        };
        (0..rank)
            .map(|_| sizes.get(self.source.below(bound)).copied().unwrap_or(1))
            .collect()
    }

    /// An upload of this type; a scalar if the shape is invalid.
    fn fresh(&mut self, dtype: DType, dims: &[u64], fill: Fill) -> Pick {
        let shape = Shape::new(dims)
            .ok()
            .filter(|shape| shape.elements() <= self.style.largest());
        let shape = shape.unwrap_or_default();
        let last = shape.dims().last().copied().unwrap_or(1).max(1);
        let size = dtype.size_bytes();
        let mut bytes = vec![0; shape.elements() as usize * size];
        let shape_elements = shape.elements();
        let turn = self.source.word();
        let words = Words::of(self.style, dtype, turn);
        // Elements of fields take long to make: large tensors repeat some of them.
        let period = self.style.size.map_or(u64::MAX, |_| PERIOD);
        let mut known: Vec<Vec<i64>> = Vec::new();
        for (i, to) in bytes.chunks_exact_mut(size).enumerate() {
            let i = i as u64;
            let modulus = |moduli: &[i64; 4]| moduli.get(i as usize % 4).copied().unwrap_or(17);
            let integer = dtype.is_integer() || dtype == DType::Bool;
            let word = match fill {
                Fill::Residues if !integer => {
                    if i < period {
                        known.push(sample::element(dtype, turn.rotate_left(7 * i as u32) ^ i));
                    }
                    let words = known.get((i % period) as usize);
                    let parts = to.chunks_exact_mut(dtype.component().size_bytes());
                    for (part, word) in parts.zip(words.into_iter().flatten()) {
                        write_word(dtype.component(), *word, part);
                    }
                    continue;
                }
                // With small words, only the point at infinity is valid.
                _ if dtype.is_point() => 0,
                Fill::Residues => words.residue(i),
                Fill::AnyModuli => words.modulus(&EDGE_MODULI, i),
                Fill::NttModuli => words.modulus(&NTT_MODULI, i),
                Fill::Moduli => modulus(&MODULI),
                Fill::LargeModuli => modulus(&LARGE_MODULI),
                Fill::Permutation => ((i % last + turn % last) % last) as i64,
                Fill::Zeros => 0,
                Fill::Places => i as i64,
                Fill::Last(word) if i + 1 == shape_elements => word,
                Fill::Last(_) => 0,
                Fill::Proof(length) if (8..16).contains(&i) => {
                    (length >> (8 * (i - 8)) & 0xff) as i64
                }
                Fill::Proof(_) if i < 16 => 0,
                Fill::Proof(_) => (turn.rotate_left(i as u32) % 256) as i64,
            };
            let word = if dtype == DType::Bool { word & 1 } else { word };
            write_word(dtype, word, to);
        }
        let tensor = HostTensor::from_vec(dtype, shape, bytes);
        tensor.map_or(Pick::Other(Arg::None), Pick::Fresh)
    }

    /// A list: all items of a tensor, some of them, its sizes in another order, or any sizes.
    fn items(&mut self) -> Box<[ShapeItem]> {
        let model = self
            .source
            .pick(self.tensors)
            .map(|t| t.view.shape.dims().to_vec());
        let model = model.unwrap_or_default();
        let mut sizes: Vec<ShapeItem> = model
            .iter()
            .map(|&size| ShapeItem::Int(size as i64))
            .collect();
        match self.source.below(5) {
            0 | 1 => model.iter().map(|&size| self.take(size as i64)).collect(),
            2 => {
                sizes.reverse();
                sizes.into()
            }
            3 => [
                ShapeItem::Int(model.iter().product::<u64>() as i64),
                ShapeItem::Int(1),
            ]
            .into(),
            _ => {
                let rank = self.source.below(5);
                self.dims(rank)
                    .into_iter()
                    .map(|size| ShapeItem::Int(size as i64))
                    .collect()
            }
        }
    }

    fn take(&mut self, size: i64) -> ShapeItem {
        let start = self.source.below(size.clamp(1, 8) as usize) as i64;
        if self.source.chance(4) {
            return ShapeItem::Int(start);
        }
        let stop = start + 1 + self.source.below((size - start).clamp(1, 8) as usize) as i64;
        let step = 1 + self.source.below(2) as i64;
        ShapeItem::Slice {
            start: Some(start),
            stop: Some(stop),
            step: Some(step),
        }
    }

    /// Changes the argument that a declaration rejects.
    fn repair(&mut self, def: &OpDef, form: &Form, picks: &mut [Pick], error: &OpError) {
        let named = def.param(error.operand);
        let place = named.unwrap_or_else(|| self.source.below(def.params.len().max(1)));
        let (Some(param), Some(pick)) = (def.params.get(place), picks.get_mut(place)) else {
            return;
        };
        let shown = self.show(pick);
        let dtype = shown.as_ref().map_or(DType::I64, |(dtype, ..)| *dtype);
        let dims = shown
            .as_ref()
            .map_or(Vec::new(), |(_, view, _)| view.shape.dims().to_vec());
        let is_out = param.kind == ParamKind::Out;
        *pick = match error.code {
            _ if shown.is_none() && !is_out => self.guess(param, form),
            Code::ArgumentType if is_out => self.tensor(),
            Code::Dtype => {
                let wanted = dtypes_of(&error.expected);
                let wanted = self.source.pick(&wanted).copied();
                self.fresh(wanted.unwrap_or(dtype), &dims, Fill::Residues)
            }
            Code::Shape | Code::Range if error.operand == "transcript" => self.transcript(error),
            Code::Shape => match self.wanted_dims(&error.expected) {
                Some(dims) => self.fresh(dtype, &dims, Fill::Residues),
                None => self.guess(param, form),
            },
            Code::TransformLength => self.with_length(dtype, &dims),
            Code::Modulus => self.moduli(dtype, &dims),
            Code::Permutation => self.fresh(dtype, &dims, Fill::Permutation),
            Code::Range => {
                let end = error.expected.strip_prefix("ascending numbers from 0 to ");
                let fill = match end.and_then(|end| end.parse().ok()) {
                    Some(end) => Fill::Last(end),
                    None if error.expected.ends_with("none is twice") => Fill::Places,
                    None if error.expected == "elements other than 0" => Fill::Residues,
                    None => Fill::Zeros,
                };
                self.fresh(dtype, &dims, fill)
            }
            _ => self.guess(param, form),
        };
        if matches!(
            (pick, param.kind),
            (Pick::Other(Arg::None), ParamKind::Tensor)
        ) {
            picks[place] = self.tensor();
        }
    }

    /// A tensor whose axes have a length that transforms take.
    fn with_length(&mut self, dtype: DType, dims: &[u64]) -> Pick {
        let wanted = self.style.size.filter(|size| size.is_power_of_two());
        let dims: Vec<u64> = match wanted {
            Some(length) => {
                let last = dims.len().saturating_sub(1);
                let size = |axis: usize| if axis == last { length } else { 2 };
                (0..dims.len()).map(size).collect()
            }
            None => {
                let length = [2, 4, 4, 8].get(self.source.below(4)).copied().unwrap_or(4);
                dims.iter().map(|_| length).collect()
            }
        };
        self.fresh(dtype, &dims, Fill::Residues)
    }

    fn moduli(&mut self, dtype: DType, dims: &[u64]) -> Pick {
        let fill = if self.style.edges {
            let fills = [
                Fill::AnyModuli,
                Fill::NttModuli,
                Fill::LargeModuli,
                Fill::Moduli,
            ];
            self.source.pick(&fills).copied().unwrap_or(Fill::Moduli)
        } else if dtype == DType::I64 && self.source.chance(2) {
            Fill::LargeModuli
        } else {
            Fill::Moduli
        };
        self.fresh(dtype, dims, fill)
    }

    /// A transcript: with capacity, or with a proof of the length that a message demands.
    fn transcript(&mut self, error: &OpError) -> Pick {
        let text = &error.expected;
        let bytes = match text.starts_with("a transcript that has room") {
            true => 6 * TRANSCRIPT_BYTES,
            false => TRANSCRIPT_BYTES,
        };
        let proof = text.starts_with("a transcript whose proof has");
        let number = text.split(' ').find_map(|word| word.parse().ok());
        let length = number.filter(|_| proof).unwrap_or(0);
        self.fresh(DType::U8, &[bytes], Fill::Proof(length))
    }

    /// The shape that a message demands: `[2, 4]`, or `4 axes`.
    fn wanted_dims(&mut self, expected: &str) -> Option<Vec<u64>> {
        if let Some((_, rest)) = expected.split_once('[') {
            let (list, _) = rest.split_once(']')?;
            let sizes = list
                .split(',')
                .map(str::trim)
                .filter(|size| !size.is_empty());
            return sizes.map(|size| size.parse().ok()).collect();
        }
        let words: Vec<&str> = expected.split(' ').collect();
        if expected.starts_with("as many points as a row has scalars") {
            let count = words
                .iter()
                .filter_map(|word| word.trim_matches(',').parse().ok());
            return Some(count.take(1).collect());
        }
        let count = words.windows(2).find(|pair| pair[1].starts_with("ax"))?;
        match count[0] {
            "one" => Some(vec![1]),
            number => {
                let rank = number.parse().ok().filter(|&rank: &usize| rank <= 16)?;
                Some(self.dims(rank))
            }
        }
    }
}

/// The dtypes that a message lists, one by one or by kind.
fn dtypes_of(expected: &str) -> Vec<DType> {
    let words = expected.split(' ');
    let names = words.map(|word| word.trim_end_matches(','));
    let mut dtypes: Vec<DType> = names.filter_map(DType::from_name).collect();
    if expected.contains("any field") {
        dtypes.extend(FIELD_DTYPES);
    }
    if expected.contains("any prime field") {
        dtypes.extend(PRIME_FIELD_DTYPES);
    }
    if expected.contains("points of any curve") {
        dtypes.extend(POINT_DTYPES);
    }
    dtypes
}
