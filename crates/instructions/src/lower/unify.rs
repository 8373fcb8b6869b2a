//! Registers held to the patterns of a signature.

use super::calls::Call;
use super::registers::Register;
use super::{Refusal, refuse};
use crate::functions::Patterns;
use cloakwork_formats::zk::scalars;
use cloakwork_ir::{Curve, DType};
use std::collections::HashMap;

/// The bindings of a signature's letters.
#[derive(Default)]
pub(super) struct Unified {
    field: Option<DType>,
    curve: Option<Curve>,
    sizes: HashMap<u8, u64>,
}

/// Whether a transcript over a curve absorbs such elements.
fn absorbs(curve: Curve, dtype: DType) -> bool {
    dtype == scalars(curve) || dtype == DType::Point(curve.facts().g1)
}

impl Unified {
    /// Holds a call to the patterns of its function.
    pub(super) fn fits(mut self, call: &Call<'_>, patterns: &Patterns) -> Result<(), Refusal> {
        let (name, doc) = (call.function.name, patterns.doc);
        self.list(name, doc, ("arg_mut", patterns.outs), &call.outs)?;
        self.list(name, doc, ("arg", patterns.ins), &call.ins)
    }

    /// Holds a list of registers to the patterns of it.
    fn list(
        &mut self,
        function: &str,
        doc: &str,
        (list, patterns): (&str, &[&str]),
        registers: &[Register],
    ) -> Result<(), Refusal> {
        let many = patterns
            .iter()
            .filter(|pattern| pattern.ends_with(".."))
            .count();
        // Lists that scalars or a coset's shift may end are as long as they are.
        let least = patterns.len() - many;
        let counted = registers.len() >= least && (many > 0 || registers.len() == least);
        if !counted {
            let expected = format!("{function}({list}: {})", patterns.join(", "));
            let got = format!("{} registers", registers.len());
            return refuse("V07", list, expected, got, "");
        }
        let behind = patterns
            .iter()
            .rev()
            .take_while(|p| !p.ends_with(".."))
            .count();
        for (index, register) in registers.iter().enumerate() {
            let from_end = registers.len() - index;
            let pattern = if many > 0 && from_end <= behind {
                patterns.get(patterns.len() - from_end)
            } else {
                patterns.get(index.min(patterns.len().saturating_sub(behind + 1)))
            };
            let pattern = if many == 0 {
                patterns.get(index)
            } else {
                pattern
            };
            if let Some(pattern) = pattern
                && !self.one(pattern.trim_end_matches(".."), register)
            {
                let expected = format!("{} of {function}", self.shown(pattern));
                let hint = format!("{function}: {doc}");
                return refuse("V07", &register.name, expected, register.ty(), hint);
            }
        }
        Ok(())
    }

    fn one(&mut self, pattern: &str, register: &Register) -> bool {
        let dtype = register.dtype;
        let kind = match pattern.as_bytes().first() {
            Some(b'F') => dtype.is_field() && *self.field.get_or_insert(dtype) == dtype,
            Some(b'E') => !dtype.is_point() && *self.field.get_or_insert(dtype) == dtype,
            Some(b'T') => {
                self.curve = register.transcript.as_ref().map(|(curve, _)| *curve);
                self.curve.is_some()
            }
            Some(b'V') => self.curve.is_some_and(|curve| absorbs(curve, dtype)),
            Some(b'B') => dtype == DType::U8 && register.transcript.is_none(),
            _ => true,
        };
        let sizes = match pattern.get(1..) {
            None | Some("") => true,
            Some("[]") => register.dims.is_empty(),
            Some(sizes) => match (register.dims.as_slice(), sizes.as_bytes().get(1)) {
                (&[n], Some(&letter)) => *self.sizes.entry(letter).or_insert(n) == n,
                _ => false,
            },
        };
        kind && sizes
    }

    fn shown(&self, pattern: &str) -> String {
        let name = |dtype: Option<DType>, else_: &str| {
            dtype.map_or_else(|| else_.to_owned(), |dtype| dtype.to_string())
        };
        let kind = match pattern.as_bytes().first() {
            Some(b'F') => name(self.field, "a field"),
            Some(b'E') => name(self.field, "elements"),
            Some(b'T') => "a transcript".to_owned(),
            Some(b'V') => match self.curve {
                Some(curve) => {
                    let points = DType::Point(curve.facts().g1);
                    let field = scalars(curve);
                    format!("{field} or {points}, of the transcript's curve: the value")
                }
                None => "elements or points".to_owned(),
            },
            _ => "bytes".to_owned(),
        };
        let sizes = pattern.trim_end_matches("..").get(1..).unwrap_or("");
        let size = sizes
            .as_bytes()
            .get(1)
            .and_then(|letter| self.sizes.get(letter));
        match size {
            Some(size) => format!("{kind}[{size}]"),
            None => format!("{kind}{sizes}"),
        }
    }
}
