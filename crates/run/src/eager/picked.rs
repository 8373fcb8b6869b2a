//! Rows of small tensors that indices or a mask pick, without an op.

use super::Tensor;
use crate::RunError;
use cloakwork_ir::{DType, MAX_RANK, Shape};
use smallvec::SmallVec;

/// More elements take longer than the ops' calls.
const MOST_ELEMENTS: u64 = 1024;

type Places = SmallVec<[u32; 64]>;

impl Tensor {
    /// The rows at indices into the first axis, negative ones from its end; `None` where the ops
    /// are quicker, or have to explain an index.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn rows_at(&self, indices: &Self) -> Result<Option<Self>, RunError> {
        let Some((&count, row)) = self.rows().filter(|_| is_small(indices)) else {
            return Ok(None);
        };
        if indices.dtype() != DType::I64 {
            return Ok(None);
        }
        let wanted = indices.view().shape.elements() as usize;
        let mut places = Places::with_capacity(wanted);
        for at in 0..wanted {
            // SAFETY: inside of a contiguous tensor of 64-bit integers. Each is read once: another
            // thread may write it meanwhile.
            let index: i64 = unsafe { indices.data().cast::<i64>().add(at).read_volatile() };
            let place = if index < 0 {
                index.wrapping_add(count as i64)
            } else {
                index
            };
            match u32::try_from(place) {
                Ok(place) if u64::from(place) < count => places.push(place),
                _ => return Ok(None),
            }
        }
        self.picked(&places, indices.view().shape.dims(), row)
    }

    /// The rows where a mask of the first axis is true; `None` where the ops are quicker.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn rows_where(&self, mask: &Self) -> Result<Option<Self>, RunError> {
        let Some((&count, row)) = self.rows().filter(|_| is_small(mask)) else {
            return Ok(None);
        };
        if mask.dtype() != DType::Bool || mask.view().shape.dims() != [count] {
            return Ok(None);
        }
        let mut places = Places::new();
        for at in 0..count as u32 {
            // SAFETY: inside of a contiguous tensor of bools, which are bytes. Each is read once.
            let chosen: u8 = unsafe { mask.data().cast::<u8>().add(at as usize).read_volatile() };
            if chosen != 0 {
                places.push(at);
            }
        }
        self.picked(&places, &[places.len() as u64], row)
    }

    /// The size of the first axis, and those of the others, of a small tensor.
    fn rows(&self) -> Option<(&u64, &[u64])> {
        self.view()
            .shape
            .dims()
            .split_first()
            .filter(|_| is_small(self))
    }

    /// These rows in a new tensor, along `first` axes.
    fn picked(&self, places: &[u32], first: &[u64], row: &[u64]) -> Result<Option<Self>, RunError> {
        let elements: u64 = row.iter().product();
        let mut dims: SmallVec<[u64; MAX_RANK]> = SmallVec::from_slice(first);
        dims.extend_from_slice(row);
        let Ok(shape) = Shape::new(&dims) else {
            return Ok(None);
        };
        if shape.elements() > MOST_ELEMENTS {
            return Ok(None);
        }
        let made = Self::uninit(self.dtype(), shape)?;
        let bytes = elements as usize * self.dtype().size_bytes();
        match bytes {
            4 => self.copy_rows::<u32>(places, &made),
            8 => self.copy_rows::<u64>(places, &made),
            _ => {
                let (from, to) = (self.data().cast::<u8>(), made.data().cast::<u8>());
                for (at, &place) in places.iter().enumerate() {
                    // SAFETY: both rows lie inside of their tensors, of which one is new.
                    unsafe {
                        let from = from.add(place as usize * bytes);
                        std::ptr::copy_nonoverlapping(from, to.add(at * bytes), bytes);
                    }
                }
            }
        }
        Ok(Some(made))
    }

    /// Copies rows that are as large as a `T`.
    fn copy_rows<T: Copy>(&self, places: &[u32], made: &Self) {
        let (from, to) = (self.data().cast::<T>(), made.data().cast::<T>());
        for (at, &place) in places.iter().enumerate() {
            // SAFETY: both rows lie inside of their tensors, of which one is new.
            unsafe {
                let row = from.add(place as usize).read_unaligned();
                to.add(at).write_unaligned(row);
            }
        }
    }
}

fn is_small(tensor: &Tensor) -> bool {
    tensor.is_plain(MOST_ELEMENTS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cloakwork_ir::View;

    fn of<const N: usize>(values: &[i64], dims: [u64; N]) -> Tensor {
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        let view = View::contiguous(Shape::new(&dims).unwrap());
        Tensor::from_bytes(DType::I64, view, &bytes).unwrap()
    }

    fn values(tensor: Option<Tensor>) -> Vec<i64> {
        let host = tensor.unwrap().to_host().unwrap();
        let words = host.bytes().as_slice().chunks_exact(8);
        words
            .map(|word| i64::from_le_bytes(word.try_into().unwrap()))
            .collect()
    }

    #[test]
    fn rows_by_indices_and_by_a_mask() {
        let matrix = of(&[0, 1, 10, 11, 20, 21], [3, 2]);
        let found = matrix.rows_at(&of(&[-1, 0], [2, 1])).unwrap();
        assert_eq!(found.as_ref().unwrap().view().shape.dims(), [2, 1, 2]);
        assert_eq!(values(found), [20, 21, 0, 1]);
        for wrong in [3, -4, i64::MIN, i64::MAX] {
            assert!(matrix.rows_at(&of(&[wrong], [1])).unwrap().is_none());
        }
        let view = View::contiguous(Shape::new(&[3]).unwrap());
        let mask = Tensor::from_bytes(DType::Bool, view, &[1, 0, 1]).unwrap();
        assert_eq!(values(matrix.rows_where(&mask).unwrap()), [0, 1, 20, 21]);
        let none = of(&[], [0, 3]).rows_at(&of(&[], [0])).unwrap();
        assert_eq!(none.unwrap().view().shape.dims(), [0, 3]);
    }

    #[test]
    fn other_dtypes_masks_of_other_sizes_and_large_tensors_are_the_ops() {
        let matrix = of(&[0, 1, 10, 11], [2, 2]);
        let view = View::contiguous(Shape::new(&[3]).unwrap());
        let mask = Tensor::from_bytes(DType::Bool, view, &[1, 0, 1]).unwrap();
        assert!(matrix.rows_where(&mask).unwrap().is_none());
        assert!(matrix.rows_at(&mask).unwrap().is_none());
        assert!(matrix.rows_where(&matrix).unwrap().is_none());
        let large = of(&[0; 2048], [2, 1024]);
        assert!(large.rows_at(&of(&[0], [1])).unwrap().is_none());
        assert!(
            of(&[7; 1024], [1, 1024])
                .rows_at(&of(&[0, 0], [2]))
                .unwrap()
                .is_none()
        );
    }
}
