//! The shape rule of a declared op, and the launch that follows from it.

use super::{Axis, Custom, Signature, custom};
use crate::launch::LaunchOperand;
use crate::{
    Args, Code, Launch, LaunchInput, Launches, OpDef, OpError, Operand, Param, Source, geometry,
    rules,
};
use cloakwork_ir::{DType, Shape, Type, View};
use smallvec::{SmallVec, smallvec};

/// The sizes of a call's axes.
pub(super) struct Sizes<'c> {
    /// Names in the order in which operands have them.
    named: Vec<(&'c str, u64)>,
    /// The axes that `...` stands for.
    leading: Shape,
}

/// The leading axes of a tensor, and the axes that have entries of their own.
fn parts<'d>(signature: &Signature, dims: &'d [u64]) -> Option<(&'d [u64], &'d [u64])> {
    let has_leading = signature.shape.first() == Some(&Axis::Leading);
    let own = signature.shape.len() - usize::from(has_leading);
    let leading = dims.len().checked_sub(own)?;
    (has_leading || leading == 0).then(|| dims.split_at(leading))
}

/// The entries that are single axes.
fn entries(signature: &Signature) -> impl Iterator<Item = &Axis> {
    signature
        .shape
        .iter()
        .filter(|axis| **axis != Axis::Leading)
}

impl<'c> Sizes<'c> {
    pub fn of(args: &Args, own: &'c Custom) -> Result<Self, OpError> {
        let mut sizes = Self {
            named: Vec::new(),
            leading: Shape::new(&[]).unwrap_or_default(),
        };
        for signature in &own.operands {
            if let Some(operand) = args.tensor_if_any(signature.name)? {
                sizes.bind(signature, operand)?;
            }
        }
        Ok(sizes)
    }

    fn bind(&mut self, signature: &'c Signature, operand: Operand) -> Result<(), OpError> {
        let name = signature.name;
        let wrong = |expected: String| OpError::shape(name, expected, operand.shape());
        let Some((leading, rest)) = parts(signature, operand.dims()) else {
            return Err(wrong(format!("the axes {}", shown(&signature.shape))));
        };
        let leading = geometry::shape(name, leading)?;
        let together = self.leading.broadcast(&leading);
        let refused = || wrong(format!("leading axes that broadcast with {}", self.leading));
        self.leading = together.ok_or_else(refused)?;
        for (entry, &size) in entries(signature).zip(rest) {
            let expected = match entry {
                Axis::Fixed(fixed) => (*fixed != size).then(|| fixed.to_string()),
                Axis::Leading => None,
                Axis::Named(label) => match self.named(label) {
                    Some(known) => (known != size).then(|| format!("{known}, {label},")),
                    None => {
                        self.named.push((label, size));
                        None
                    }
                },
            };
            if let Some(expected) = expected {
                let axes = shown(&signature.shape);
                return Err(wrong(format!("size {expected} of an axis of {axes}")));
            }
        }
        Ok(())
    }

    /// The size of a named axis.
    pub fn named(&self, name: &str) -> Option<u64> {
        let found = self.named.iter().find(|(label, _)| *label == name);
        found.map(|(_, size)| *size)
    }

    /// The sizes of a tensor.
    fn shape(&self, signature: &Signature) -> Result<Shape, OpError> {
        let mut dims: SmallVec<[u64; 16]> = SmallVec::new();
        for axis in &signature.shape {
            match axis {
                Axis::Leading => dims.extend_from_slice(self.leading.dims()),
                Axis::Fixed(size) => dims.push(*size),
                Axis::Named(label) => dims.push(self.named(label).unwrap_or(0)),
            }
        }
        geometry::shape(signature.name, &dims)
    }
}

/// The types of operands for a sample call of an op, one a parameter: named axes have this size.
#[must_use]
pub fn sample_types(def: &'static OpDef, size: u64) -> Vec<Option<Type>> {
    let Some(own) = def.custom() else {
        return vec![None; def.params.len()];
    };
    let of = |name: &str| own.operands.iter().find(|operand| operand.name == name);
    let sample = |param: &Param| {
        let signature = of(param.name)?;
        let mut typed = signature;
        while let Some(like) = typed.like {
            typed = of(like)?;
        }
        let dims = signature.shape.iter().map(|axis| match axis {
            Axis::Leading => 2,
            Axis::Named(_) => size,
            Axis::Fixed(size) => *size,
        });
        let dims: Vec<u64> = dims.collect();
        Some(Type::new(*typed.dtypes.first()?, Shape::new(&dims).ok()?))
    };
    def.params.iter().map(sample).collect()
}

/// A shape as its declaration has it.
fn shown(shape: &[Axis]) -> String {
    let entry = |axis: &Axis| match axis {
        Axis::Leading => "...".to_owned(),
        Axis::Named(label) => label.clone(),
        Axis::Fixed(size) => size.to_string(),
    };
    format!(
        "[{}]",
        shape.iter().map(entry).collect::<Vec<_>>().join(", ")
    )
}

/// The dtype of an operand, held to its signature.
fn dtype(args: &Args, signature: &Signature) -> Result<Option<DType>, OpError> {
    let Some(operand) = args.tensor_if_any(signature.name)? else {
        return Ok(None);
    };
    match signature.like {
        Some(like) => rules::same_dtype(args, signature.name, args.tensor(like)?.dtype)?,
        None => rules::dtype_in(signature.name, operand, &signature.dtypes)?,
    }
    Ok(Some(operand.dtype))
}

pub(super) fn infer(args: &Args) -> Result<Type, OpError> {
    let own = custom(args)?;
    for operand in &own.operands {
        dtype(args, operand)?;
    }
    let shape = Sizes::of(args, own)?.shape(&own.result)?;
    let dtype = match (own.result.like, own.result.dtypes.first()) {
        (Some(like), _) => args.tensor(like)?.dtype,
        (None, Some(&dtype)) => dtype,
        (None, None) => return Err(OpError::new(Code::Dtype, "out", "a dtype", "none")),
    };
    Ok(Type::new(dtype, shape))
}

/// One launch. Its space is the axes of the result, each unit one element, then the named axes
/// that only operands have; axes of a fixed size of an operand count as such, each for itself.
/// Where all shapes are `...`, axes are sorted and merged as for any element-wise op.
pub(super) fn launch(args: &Args) -> Result<Launches, OpError> {
    let own = custom(args)?;
    let params = own.integers.iter().map(|&name| args.int(name));
    let params = params.collect::<Result<SmallVec<[i64; 4]>, OpError>>()?;
    let names = own.operands.iter().map(|operand| operand.name);
    let all = || own.operands.iter().chain([&own.result]);
    let mut launch = if all().all(|one| one.shape == [Axis::Leading]) {
        args.elementwise(args.def.name, names)?
    } else {
        spaced(args, own)?
    };
    launch.params = params;
    Ok(smallvec![launch])
}

fn spaced(args: &Args, own: &Custom) -> Result<Launch, OpError> {
    let out = args.tensor("out")?;
    let sizes = Sizes::of(args, own)?;
    let leading = sizes.leading.rank();
    let result: Vec<&Axis> = entries(&own.result).collect();
    // The dimensions after the result's: names that it has not, and fixed sizes of operands.
    let mut inner: Vec<(&Axis, u64)> = Vec::new();
    let mut places: Vec<Vec<usize>> = Vec::new();
    for operand in &own.operands {
        let mut own_places = Vec::new();
        for axis in entries(operand) {
            let in_result = result.iter().position(|other| *other == axis);
            let known = inner.iter().position(|(other, _)| *other == axis);
            let place = match (axis, in_result, known) {
                (Axis::Named(_), Some(place), _) => leading + place,
                (Axis::Named(_), None, Some(place)) => out.view.rank() + place,
                (Axis::Named(label), None, None) => {
                    inner.push((axis, sizes.named(label).unwrap_or(0)));
                    out.view.rank() + inner.len() - 1
                }
                (Axis::Fixed(size), ..) => {
                    inner.push((axis, *size));
                    out.view.rank() + inner.len() - 1
                }
                (Axis::Leading, ..) => continue,
            };
            own_places.push(place);
        }
        places.push(own_places);
    }
    let rank = out.view.rank() + inner.len();
    let mut operands: SmallVec<[LaunchOperand; 5]> = SmallVec::new();
    let mut strides = out.view.strides.to_vec();
    strides.resize(rank, 0);
    operands.push(args.operand("out", &strides)?);
    for (operand, places) in own.operands.iter().zip(places) {
        operands.push(over(args, operand, &places, (leading, rank))?);
    }
    let dims = out
        .dims()
        .iter()
        .copied()
        .chain(inner.iter().map(|(_, size)| *size));
    Ok(Launch {
        kernel: args.def.name,
        dims: dims.map(|size| size as i64).collect(),
        split: out.view.rank(),
        operands,
        params: SmallVec::new(),
    })
}

/// An operand over the space of a launch: its axes stand at these places.
fn over(
    args: &Args,
    signature: &Signature,
    places: &[usize],
    (leading, rank): (usize, usize),
) -> Result<LaunchOperand, OpError> {
    let mut strides = vec![0i64; rank];
    let (source, view): (Source, View) = match args.input(signature.name)? {
        LaunchInput::View(source, view) => (source, view),
        LaunchInput::Int { param, value } => {
            return Ok(LaunchOperand {
                source: Source::Int { param, value },
                offset: 0,
                strides: strides.into(),
            });
        }
    };
    let own = view.rank() - places.len();
    for axis in 0..own {
        let is_broadcast = view.shape.dims()[axis] == 1;
        strides[leading - own + axis] = if is_broadcast { 0 } else { view.strides[axis] };
    }
    for (&place, stride) in places.iter().zip(&view.strides[own..]) {
        strides[place] += stride;
    }
    Ok(LaunchOperand {
        source,
        offset: view.offset,
        strides: strides.into(),
    })
}
