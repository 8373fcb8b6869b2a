//! Results and operands of one call that must not share bytes.

use super::calls::Call;
use super::registers::Register;
use super::{Lowering, Refusal, refuse};
use crate::functions::{Kind, Reads};
use cloakwork_ir::Overlap;

impl Lowering<'_> {
    /// Whether two registers overlap, and whether their elements are the same.
    fn overlap(&self, a: &Register, b: &Register) -> Overlap {
        let last = |register: &Register| self.shared.statics.last_name(&register.owner);
        if last(a) != last(b) {
            return Overlap::Disjoint;
        }
        let (a, b) = (a.pieces(), b.pieces());
        let meets: Vec<Overlap> = a
            .iter()
            .flat_map(|a| b.iter().map(|b| a.overlap(b)))
            .collect();
        match meets.as_slice() {
            [only] => *only,
            meets if meets.iter().all(|meet| *meet == Overlap::Disjoint) => Overlap::Disjoint,
            // Both pieces of one are those of the other.
            [Overlap::Same, .., Overlap::Same] => Overlap::Same,
            _ => Overlap::Partial,
        }
    }

    /// No two results of one call share bytes: one of them would be lost.
    pub(super) fn results_apart(&self, outs: &[Register]) -> Result<(), Refusal> {
        for (index, out) in outs.iter().enumerate() {
            let former = outs.iter().take(index);
            let mut shared = former.filter(|other| self.overlap(other, out) != Overlap::Disjoint);
            if let Some(other) = shared.next() {
                let got = match other.name == out.name {
                    true => format!("\"{}\" twice", out.name),
                    false => format!("\"{}\" and \"{}\" of one buffer", other.name, out.name),
                };
                let hint = "give each result its own memory";
                return refuse("V09", "arg_mut", "results that share no bytes", got, hint);
            }
        }
        Ok(())
    }

    /// A result has the same elements as an operand, or does not overlap it; where a call has
    /// several steps, what a later one reads is not a result of an earlier one.
    pub(super) fn operands_apart(&self, call: &Call<'_>) -> Result<(), Refusal> {
        let reads = match call.function.kind {
            Kind::Each(_) | Kind::Sum(_) => Reads::Elementwise,
            Kind::Steps(_, reads) => reads,
            _ => Reads::First,
        };
        if reads == Reads::Apart {
            return Ok(());
        }
        let in_steps = call.outs.len() > 1 || reads == Reads::Later;
        for (out, operand) in call
            .outs
            .iter()
            .flat_map(|o| call.ins.iter().map(move |i| (o, i)))
        {
            let shares = match self.overlap(out, operand) {
                Overlap::Disjoint => false,
                Overlap::Same => in_steps && reads != Reads::Elementwise,
                Overlap::Partial => true,
            };
            if shares {
                let got = match out.name == operand.name {
                    true => format!("\"{}\", which is a result too", operand.name),
                    false => {
                        format!("\"{}\" and \"{}\" of one buffer", operand.name, out.name)
                    }
                };
                let expected = "operands that share no bytes with a result";
                let hint = "write into another register, or copy the operand before";
                return refuse("V09", "arg", expected, got, hint);
            }
        }
        Ok(())
    }
}
