//! The kernels of a device: which of them plans choose, and for which element types.

use crate::side::Side;
use cloakwork_devices::Driver;
use cloakwork_ir::{ALL_DTYPES, DType};
use cloakwork_kernels::{Isa, KernelRow};
use std::collections::BTreeSet;

/// The kernels of a side's device.
pub struct Rows {
    driver: &'static Driver,
    index: u32,
    isa: Isa,
}

impl Rows {
    pub fn of(side: &Side) -> Self {
        let (driver, index) = side.drivers.of(side.device);
        Self {
            driver,
            index,
            isa: side.isa,
        }
    }

    /// Those that the device can run.
    fn all(&self) -> impl Iterator<Item = &'static KernelRow> {
        let features = self.driver.features(self.index).limited_to(self.isa);
        let rows = self.driver.kernels().iter();
        rows.filter(move |row| row.runs_on(features))
    }

    /// Whether there are some of a kernel's name.
    pub fn has(&self, kernel: &str) -> bool {
        self.all().any(|row| row.kernel == kernel)
    }

    /// Those that plans choose for some types.
    pub fn chosen(&self) -> Vec<&'static KernelRow> {
        self.all().filter(|row| self.is_chosen(row)).collect()
    }

    /// Of those that no call reached, the ones that plans choose, and the others.
    pub fn left(&self, reached: &BTreeSet<&str>) -> (Vec<String>, Vec<String>) {
        let left = self.all().filter(|row| !reached.contains(row.symbol));
        let (chosen, others): (Vec<_>, Vec<_>) = left.partition(|row| self.is_chosen(row));
        let names = |rows: Vec<&KernelRow>| rows.iter().map(|row| row.symbol.to_owned()).collect();
        (names(chosen), names(others))
    }

    /// The element types of all of them.
    pub fn dtypes(&self) -> Vec<DType> {
        let of_row = |row: &KernelRow, dtype: DType| {
            let any = row.element_bytes as usize == dtype.size_bytes();
            any || row.in_dtype == Some(dtype) || row.out_dtype == Some(dtype)
        };
        let rows = self.driver.kernels();
        let named = |dtype: &DType| rows.iter().any(|row| of_row(row, *dtype));
        ALL_DTYPES.iter().copied().filter(named).collect()
    }

    /// The types of a kernel's operands.
    pub fn types_of(row: &KernelRow) -> Vec<DType> {
        let mut types = Self::types(row, row.in_dtype);
        types.truncate(2);
        types
    }

    fn types(row: &KernelRow, given: Option<DType>) -> Vec<DType> {
        let of_size = |dtype: &&DType| dtype.size_bytes() == row.element_bytes as usize;
        match given {
            Some(dtype) => vec![dtype],
            None => ALL_DTYPES.iter().filter(of_size).copied().collect(),
        }
    }

    fn is_chosen(&self, row: &KernelRow) -> bool {
        let outs = Self::types(row, row.out_dtype);
        let chosen = |input: DType, out: DType| {
            let types = (row.kernel, [input, out]);
            let found = self.driver.select(self.index, types, self.isa);
            found.is_some_and(|found| std::ptr::eq(found, row))
        };
        let mut inputs = Self::types(row, row.in_dtype).into_iter();
        inputs.any(|input| outs.iter().any(|&out| chosen(input, out)))
    }
}
