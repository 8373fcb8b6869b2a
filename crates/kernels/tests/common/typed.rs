//! Launches over tensors of one element type each, floats as they are.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use cloakwork_ir::DType;
use cloakwork_kernels::{Isa, RawLaunch, select};
use cloakwork_library::{Complex, Matrix, Scalar};
use std::ffi::c_void;
use std::fmt::Debug;

pub type C = Complex<f64>;

/// An element type with the type that it is computed in.
pub trait Element: Copy + Debug + PartialEq {
    type Wide: Scalar;
    const DTYPE: DType;
    fn of(value: C) -> Self;
    fn wide(self) -> Self::Wide;
    fn rounded(value: Self::Wide) -> Self;
    fn is_nan(self) -> bool;
}

macro_rules! element {
    ($type:ty, $wide:ty, $dtype:ident, $of:expr, $widen:expr, $round:expr, $nan:expr) => {
        impl Element for $type {
            type Wide = $wide;
            const DTYPE: DType = DType::$dtype;
            fn of(value: C) -> Self {
                $of(value)
            }
            fn wide(self) -> $wide {
                $widen(self)
            }
            fn rounded(value: $wide) -> Self {
                $round(value)
            }
            fn is_nan(self) -> bool {
                $nan(self)
            }
        }
    };
}

pub fn narrow(value: C) -> Complex<f32> {
    Complex::new(value.re as f32, value.im as f32)
}

pub fn widen(value: Complex<f32>) -> C {
    C::new(f64::from(value.re), f64::from(value.im))
}

element!(
    f32,
    f64,
    F32,
    |v: C| v.re as f32,
    f64::from,
    |v| v as f32,
    f32::is_nan
);
element!(f64, f64, F64, |v: C| v.re, |v| v, |v| v, f64::is_nan);
element!(Complex<f32>, C, C64, narrow, widen, narrow, |v: Complex<
    f32,
>| {
    v.re.is_nan() && v.im.is_nan()
});
element!(C, C, C128, |v| v, |v| v, |v| v, |v: C| v.re.is_nan()
    && v.im.is_nan());

/// Batches: none, some, one empty.
pub const BATCHES: [&[usize]; 4] = [&[], &[3], &[2, 3], &[2, 0]];

/// A tensor whose last axis is the widest, with its first turned around and room between elements.
#[derive(Clone)]
pub struct Tensor<T> {
    pub dims: Vec<usize>,
    pub strides: Vec<i64>,
    pub offset: i64,
    pub buffer: Vec<T>,
}

impl<T: Element> Tensor<T> {
    pub fn new(batch: &[usize], own: &[usize], seed: u64) -> Self {
        let dims = [batch, own].concat();
        let mut strides = vec![2; dims.len()];
        for axis in 1..dims.len() {
            strides[axis] = strides[axis - 1] * dims[axis - 1].max(1) as i64;
        }
        let length: usize = dims.iter().map(|&d| d.max(1)).product::<usize>() * 2;
        let mut state = seed;
        let mut next = || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        };
        let buffer = (0..length).map(|_| T::of(C::new(next(), next()))).collect();
        let mut offset = 0;
        if let (Some(stride), Some(&dim)) = (strides.first_mut(), dims.first()) {
            offset = *stride * (dim.max(1) as i64 - 1);
            *stride = -*stride;
        }
        Self {
            dims,
            strides,
            offset,
            buffer,
        }
    }

    /// Where the element of a unit with this index of its own axes lies.
    pub fn place(&self, unit: usize, own: &[usize]) -> usize {
        let outer = self.dims.len() - own.len();
        let mut index = own.to_vec();
        let mut rest = unit;
        for axis in (0..outer).rev() {
            index.insert(0, rest % self.dims[axis]);
            rest /= self.dims[axis];
        }
        let steps: i64 = index
            .iter()
            .zip(&self.strides)
            .map(|(&i, s)| i as i64 * s)
            .sum();
        (self.offset + steps) as usize
    }

    pub fn at(&self, unit: usize, own: &[usize]) -> T {
        self.buffer[self.place(unit, own)]
    }

    pub fn matrix(&self, unit: usize) -> Matrix<T::Wide> {
        let [rows, columns] = [2, 1].map(|back| self.dims[self.dims.len() - back]);
        Matrix::new(rows, columns, |i, j| self.at(unit, &[i, j]).wide())
    }

    /// Strides over the batch, and over the launch's other axes: each an axis of its own, or none.
    pub fn strides(&self, batch: usize, axes: &[Option<usize>]) -> Vec<i64> {
        let own = axes
            .iter()
            .map(|axis| axis.map_or(0, |axis| self.strides[batch + axis]));
        self.strides[..batch].iter().copied().chain(own).collect()
    }

    pub fn start(&mut self) -> *mut c_void {
        self.buffer[self.offset as usize..].as_mut_ptr().cast()
    }
}

/// A launch: sizes of the unit's axes, and which axis of each operand runs along each of them.
pub struct Launch<'a> {
    pub kernel: &'a str,
    pub batch: &'a [usize],
    pub unit: &'a [usize],
    pub axes: &'a [&'a [Option<usize>]],
    pub params: &'a [i64],
}

impl Launch<'_> {
    /// Runs over all units in pieces, back to front.
    pub fn run<I: Element, O: Element>(&self, out: &mut Tensor<O>, inputs: &mut [Tensor<I>]) {
        let row = select(self.kernel, I::DTYPE, O::DTYPE, Isa::PORTABLE).unwrap();
        assert_eq!(
            (row.in_dtype, row.out_dtype),
            (Some(I::DTYPE), Some(O::DTYPE))
        );
        let dims: Vec<i64> = self
            .batch
            .iter()
            .chain(self.unit)
            .map(|&d| d as i64)
            .collect();
        let mut strides = out.strides(self.batch.len(), self.axes[0]);
        for (input, axes) in inputs.iter().zip(&self.axes[1..]) {
            strides.extend(input.strides(self.batch.len(), axes));
        }
        let mut data = vec![out.start()];
        data.extend(inputs.iter_mut().map(Tensor::start));
        let launch = RawLaunch {
            rank: dims.len() as u32,
            operands: data.len() as u32,
            dims: dims.as_ptr(),
            strides: strides.as_ptr(),
            data: data.as_ptr(),
            params: self.params.as_ptr(),
            prepared: std::ptr::null(),
        };
        let units = self.units() as u64;
        let cut = units / 3;
        // SAFETY: the tensors hold all that their strides reach, and one thread runs.
        unsafe {
            row.run(&launch, cut, units, std::ptr::null_mut());
            row.run(&launch, 0, cut, std::ptr::null_mut());
        }
    }

    pub fn units(&self) -> usize {
        self.batch.iter().product()
    }
}

/// A unit's result before it is rounded; `None`: NaNs.
pub type Values<T> = Option<Vec<<T as Element>::Wide>>;

/// Checks that each unit's result is `expected`, rounded, or NaNs; and what lies between is as it
/// was.
pub fn check<O: Element>(
    what: &str,
    before: &Tensor<O>,
    after: &Tensor<O>,
    own: &[usize],
    (units, expected): (usize, &dyn Fn(usize) -> Values<O>),
) {
    let mut wanted = before.buffer.clone();
    let mut written = vec![false; wanted.len()];
    let count = own.iter().product();
    for unit in 0..units {
        let values = expected(unit);
        assert!(
            values.as_ref().is_none_or(|values| values.len() == count),
            "{what}"
        );
        for at in 0..count {
            let index = match *own {
                [_, columns] => vec![at / columns, at % columns],
                _ => vec![at],
            };
            let place = after.place(unit, &index);
            written[place] = true;
            match &values {
                Some(values) => wanted[place] = O::rounded(values[at]),
                None => {
                    assert!(
                        after.buffer[place].is_nan(),
                        "{what}: {:?}",
                        after.buffer[place]
                    );
                    wanted[place] = after.buffer[place];
                }
            }
        }
    }
    for (place, (got, wanted)) in after.buffer.iter().zip(&wanted).enumerate() {
        let equal = got == wanted || (written[place] && got.is_nan() && wanted.is_nan());
        assert!(equal, "{what}, place {place}: {got:?}, expected {wanted:?}");
    }
}
