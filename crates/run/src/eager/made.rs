//! Tensors of elements that are there: one of them everywhere, or those of others in a row.

use super::{Element, Tensor};
use crate::RunError;
use crate::memory::Block;
use cloakwork_ir::{DType, Shape, Type, View};

impl Tensor {
    /// A tensor with one element of its type everywhere.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn filled(ty: &Type, element: &Element) -> Result<Self, RunError> {
        let made = Self::uninit(ty.dtype, ty.shape.clone())?;
        let size = ty.dtype.size_bytes();
        let value = &element.0[..size.min(element.0.len())];
        for start in (0..made.storage().len_bytes()).step_by(size) {
            // SAFETY: inside of the new storage, which nobody else has; elements of numbers have
            // at most 16 bytes.
            unsafe {
                let to = made.storage().as_ptr().add(start);
                std::ptr::copy_nonoverlapping(value.as_ptr(), to, value.len());
            }
        }
        Ok(made)
    }

    /// Integers of 64 bits from `start`, each larger by `step` than the one before it.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn range(start: i64, step: i64, shape: Shape) -> Result<Self, RunError> {
        let made = Self::uninit(DType::I64, shape)?;
        let (to, count) = (made.data().cast::<i64>(), made.view().shape.elements());
        for at in 0..count as usize {
            let element = start.wrapping_add(step.wrapping_mul(at as i64));
            // SAFETY: inside of the new tensor.
            unsafe { to.add(at).write(element) };
        }
        Ok(made)
    }

    /// The elements of contiguous tensors of one type one after the other, in a layout with as
    /// many elements.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn of_rows(rows: &[Self], view: View) -> Result<Self, RunError> {
        let bytes = |row: &Self| row.view().shape.elements() as usize * row.dtype().size_bytes();
        let dtype = rows.first().map_or(DType::F64, Self::dtype);
        let made = Self::own(
            Block::uninit(Type::new(dtype, view.shape.clone()).size_bytes())?,
            dtype,
            view,
        );
        let mut end = 0;
        for row in rows {
            let start = end;
            end += bytes(row);
            assert!(
                end <= made.storage().len_bytes(),
                "rows of more elements than the result"
            );
            // SAFETY: both ranges lie inside of their storages, as rows are contiguous; the new
            // one is not shared.
            unsafe {
                let to = made.storage().as_ptr().add(start);
                std::ptr::copy_nonoverlapping(row.data().cast::<u8>(), to, end - start);
            }
        }
        Ok(made)
    }

    /// Whether it is read without further ado: at most so many elements in a row, in memory and not
    /// secret.
    #[must_use]
    pub fn is_plain(&self, most_elements: u64) -> bool {
        !self.is_secret()
            && !self.storage().is_mapped()
            && self.view().is_contiguous()
            && self.view().shape.elements() <= most_elements
    }

    /// Writes one element of its type to a tensor of one element; false where it must not be
    /// written.
    #[must_use]
    pub fn set_only(&self, element: &Element) -> bool {
        let size = self.dtype().size_bytes();
        let can =
            self.view().shape.elements() == 1 && !self.is_read_only() && size <= element.0.len();
        if can {
            // SAFETY: the element of the view lies inside of its storage, which may be written.
            unsafe { std::ptr::copy_nonoverlapping(element.0.as_ptr(), self.data(), size) };
        }
        can
    }

    /// Writes one element of its type to a place of a tensor of one axis; false where there is no
    /// such place, or it must not be written.
    #[must_use]
    pub fn set_at(&self, place: u64, element: &Element) -> bool {
        let size = self.dtype().size_bytes();
        let (dims, strides) = (self.view().shape.dims(), self.view().strides.as_slice());
        let ([count], [stride]) = (dims, strides) else {
            return false;
        };
        let can = place < *count && !self.is_read_only() && size <= element.0.len();
        if can {
            let bytes = *stride as isize * place as isize * size as isize;
            let to = self.data().wrapping_offset(bytes);
            // SAFETY: the place of the view lies inside of its storage, which may be written.
            unsafe { std::ptr::copy_nonoverlapping(element.0.as_ptr(), to, size) };
        }
        can
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(value: f64) -> Element {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&value.to_le_bytes());
        Element(bytes)
    }

    fn values(tensor: &Tensor) -> Vec<f64> {
        let bytes = tensor.to_host().unwrap();
        let words = bytes.bytes().as_slice().chunks_exact(8);
        words
            .map(|word| f64::from_le_bytes(word.try_into().unwrap()))
            .collect()
    }

    #[test]
    fn rows_and_single_elements() {
        let ty = |dims: &[u64]| Type::new(DType::F64, Shape::new(dims).unwrap());
        let [one, two] = [(2, 1.0), (3, 2.0)]
            .map(|(size, value)| Tensor::filled(&ty(&[size]), &element(value)).unwrap());
        let view = View::contiguous(Shape::new(&[5]).unwrap());
        let joined = Tensor::of_rows(&[one, two], view).unwrap();
        assert_eq!(values(&joined), [1.0, 1.0, 2.0, 2.0, 2.0]);
        assert!(!joined.set_only(&element(5.0)));
        let only = Tensor::filled(&ty(&[1, 1]), &element(3.0)).unwrap();
        assert!(only.set_only(&element(5.0)));
        assert_eq!(values(&only), [5.0]);
    }

    #[test]
    #[should_panic(expected = "rows of more elements")]
    fn rows_of_more_elements_than_the_result_are_a_mistake() {
        let ty = Type::new(DType::F64, Shape::new(&[2]).unwrap());
        let row = Tensor::filled(&ty, &element(1.0)).unwrap();
        let _ = Tensor::of_rows(&[row], View::contiguous(Shape::new(&[1]).unwrap()));
    }
}
