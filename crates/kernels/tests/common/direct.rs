//! Launches over bytes: every row that fits, whole and in pieces, must write the same.

use super::Block;
use super::random::{Layout, Random, operand};
use cloakwork_ir::DType;
use cloakwork_kernels::{KernelRow, LaunchShape, RawLaunch, best_isa, kernels};
use std::ffi::c_void;

/// A value of any dtype, exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    Int(i128),
    Real(f64),
    Complex(f64, f64),
}

/// A tensor's memory and how it lies there.
#[derive(Clone, Debug)]
pub struct Tensor {
    pub dtype: DType,
    pub bytes: Vec<u8>,
    pub offset: usize,
    pub strides: Vec<i64>,
}

impl Value {
    pub fn write(self, dtype: DType, bytes: &mut Vec<u8>) {
        match self {
            Self::Int(value) => bytes.extend(&value.to_le_bytes()[..dtype.size_bytes()]),
            Self::Real(value) if dtype == DType::F32 => {
                bytes.extend((value as f32).to_le_bytes());
            }
            Self::Real(value) => bytes.extend(value.to_le_bytes()),
            Self::Complex(re, im) => {
                Self::Real(re).write(dtype.component(), bytes);
                Self::Real(im).write(dtype.component(), bytes);
            }
        }
    }

    pub fn read(dtype: DType, bytes: &[u8]) -> Self {
        if dtype.is_complex() {
            let (re, im) = bytes.split_at(bytes.len() / 2);
            let part = |bytes| match Self::read(dtype.component(), bytes) {
                Self::Real(value) => value,
                other => panic!("{other:?}"),
            };
            return Self::Complex(part(re), part(im));
        }
        match dtype {
            DType::F32 => Self::Real(f64::from(f32::from_le_bytes(bytes.try_into().unwrap()))),
            DType::F64 => Self::Real(f64::from_le_bytes(bytes.try_into().unwrap())),
            _ => {
                let negative = dtype.is_signed_integer() && bytes[bytes.len() - 1] >> 7 == 1;
                let mut wide = [if negative { 0xff } else { 0 }; 16];
                wide[..bytes.len()].copy_from_slice(bytes);
                Self::Int(i128::from_le_bytes(wide))
            }
        }
    }

    pub fn is_nan(self) -> bool {
        matches!(self, Self::Real(value) if value.is_nan())
    }

    pub fn is_true(self) -> bool {
        match self {
            Self::Int(value) => value != 0,
            Self::Real(value) => value != 0.0,
            Self::Complex(re, im) => re != 0.0 || im != 0.0,
        }
    }
}

impl Tensor {
    /// Row-major and without gaps.
    pub fn dense(dtype: DType, dims: &[i64], values: impl IntoIterator<Item = Value>) -> Self {
        let mut strides = vec![0; dims.len()];
        let mut reach = 1;
        for (stride, dim) in strides.iter_mut().zip(dims).rev() {
            *stride = reach;
            reach *= dim;
        }
        let mut bytes = vec![];
        for value in values {
            value.write(dtype, &mut bytes);
        }
        Self {
            dtype,
            bytes,
            offset: 0,
            strides,
        }
    }

    /// In a layout, with room around it; along the dims after `own` it has stride 0.
    pub fn lying(
        (dtype, layout): (DType, Layout),
        (dims, own): (&[i64], usize),
        random: &mut Random,
        value: &mut dyn FnMut(&mut Random) -> Value,
    ) -> Self {
        let shape = operand(DType::I8, &dims[..own], layout, random, &mut |_| 0);
        let mut bytes = vec![];
        for _ in &shape.words {
            value(random).write(dtype, &mut bytes);
        }
        let mut strides = shape.strides;
        strides.resize(dims.len(), 0);
        // Negative where a dim is 0: nothing is read then.
        let offset = usize::try_from(shape.offset).unwrap_or(0);
        Self {
            dtype,
            bytes,
            offset,
            strides,
        }
    }

    pub fn place(&self, index: &[i64]) -> usize {
        let steps: i64 = self.strides.iter().zip(index).map(|(s, i)| s * i).sum();
        usize::try_from(self.offset as i64 + steps).unwrap()
    }

    pub fn at(&self, index: &[i64]) -> Value {
        let size = self.dtype.size_bytes();
        let start = self.place(index) * size;
        Value::read(self.dtype, &self.bytes[start..start + size])
    }

    pub fn set(&mut self, index: &[i64], value: Value) {
        let size = self.dtype.size_bytes();
        let start = self.place(index) * size;
        let mut bytes = vec![];
        value.write(self.dtype, &mut bytes);
        self.bytes[start..start + size].copy_from_slice(&bytes);
    }
}

/// One launch.
pub struct Launch<'a> {
    pub kernel: &'a str,
    pub dims: &'a [i64],
    pub split: usize,
    pub params: &'a [i64],
    pub operands: &'a [Tensor],
}

impl Launch<'_> {
    /// Operand 0 afterwards; the same from every row, whole and in pieces.
    pub fn run(&self) -> Tensor {
        let [out, rest @ ..] = self.operands else {
            panic!("no result")
        };
        let input = rest.first().unwrap_or(out).dtype;
        let isa = best_isa();
        let fits = |row: &&KernelRow| {
            row.kernel == self.kernel && row.runs_on(isa) && row.fits(input, out.dtype)
        };
        let rows: Vec<_> = kernels().iter().filter(fits).collect();
        let units: u64 = self.dims[..self.split].iter().product::<i64>() as u64;
        let (a, b) = (units / 3, units * 2 / 3);
        let single: Vec<_> = (0..units.min(40)).map(|unit| (unit, unit + 1)).collect();
        let mut cuts = vec![vec![(0, units)], vec![(b, units), (0, a), (a, b)]];
        cuts[1].retain(|(begin, end)| begin < end);
        if units <= 40 {
            cuts.push(single);
        }
        let mut found: Option<Vec<u8>> = None;
        for row in rows {
            for ranges in &cuts {
                let bytes = self.run_row(row, ranges);
                let same = found.as_ref().is_none_or(|found| *found == bytes);
                assert!(
                    same,
                    "{} over {:?} in {ranges:?} differs",
                    row.symbol, self.dims
                );
                found = Some(bytes);
            }
        }
        let types = (self.kernel, input, out.dtype);
        let bytes = found.unwrap_or_else(|| panic!("no row of {types:?}"));
        Tensor {
            bytes,
            ..out.clone()
        }
    }

    fn run_row(&self, row: &KernelRow, ranges: &[(u64, u64)]) -> Vec<u8> {
        let mut blocks: Vec<Block> = vec![];
        let mut data = vec![];
        for operand in self.operands {
            let mut block = Block::new(operand.bytes.len() as u64);
            block.bytes_mut()[..operand.bytes.len()].copy_from_slice(&operand.bytes);
            let skip = operand.offset * operand.dtype.size_bytes();
            data.push(block.start().wrapping_byte_add(skip));
            blocks.push(block);
        }
        let strides: Vec<i64> = self
            .operands
            .iter()
            .flat_map(|o| o.strides.clone())
            .collect();
        let shape = LaunchShape {
            dims: self.dims,
            strides: &strides,
            params: self.params,
        };
        let mut prepared = Block::new(row.prepared_bytes(&shape));
        let raw = RawLaunch {
            rank: self.dims.len() as u32,
            operands: self.operands.len() as u32,
            dims: self.dims.as_ptr(),
            strides: strides.as_ptr(),
            data: data.as_ptr().cast::<*mut c_void>(),
            params: self.params.as_ptr(),
            prepared: prepared.start().cast_const(),
        };
        let scratch_bytes = row.scratch_bytes(&shape);
        // SAFETY: operands hold all that their strides reach, the blocks are as large as the row
        // asks for, and one thread runs.
        unsafe {
            row.prepare(&raw, prepared.start());
            for &(begin, end) in ranges {
                let mut scratch = Block::new(scratch_bytes);
                row.run(&raw, begin, end, scratch.start());
            }
        }
        blocks[0].bytes()[..self.operands[0].bytes.len()].to_vec()
    }
}

/// Every index of a space, row-major.
pub fn indices(dims: &[i64]) -> Vec<Vec<i64>> {
    let mut all = vec![vec![]];
    for &dim in dims {
        let longer = |index: &Vec<i64>| {
            let index = index.clone();
            (0..dim).map(move |i| [&index[..], &[i]].concat())
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}
