//! `permute_expression`: three ops, for which rows of the table is found first, so that an input
//! that the table lacks is reported before anything is written.

use super::calls::Call;
use super::emit::device;
use super::registers::Register;
use super::{Lowering, Refusal, refuse};
use cloakwork_ir::{Arg, DType, Symbol};
use cloakwork_ops::{OpDef, named};

impl Lowering<'_> {
    pub(crate) fn permute(&mut self, call: &Call<'_>) -> Result<(), Refusal> {
        let ([input_to, table_to], [input, table]) = (call.outs.as_slice(), call.ins.as_slice())
        else {
            return Err(None);
        };
        let usable = usable(call, input.elements())?;
        let mut temporaries = Vec::new();
        let input = self.apart(input, &call.outs, &mut temporaries)?;
        let table = self.apart(table, &call.outs, &mut temporaries)?;
        let rows = self.temporary(DType::I64, &[usable], &input_to.device);
        temporaries.push(rows);
        let count = Arg::Int(usable as i64);
        let both = [device(input), device(table), count.clone()];
        self.write(&named::LOOKUP_ROWS, both, rows);
        let [rows, table] = [rows, table].map(device);
        self.result(&named::PERMUTE_TABLE, vec![table, rows], table_to)?;
        self.result(&named::PERMUTE_INPUT, vec![device(input), count], input_to)?;
        self.release(temporaries);
        Ok(())
    }

    /// A register in one piece, which no result of the call shares.
    pub(super) fn apart(
        &mut self,
        register: &Register,
        outs: &[Register],
        temporaries: &mut Vec<Symbol>,
    ) -> Result<Symbol, Refusal> {
        if outs.iter().any(|out| out.owner == register.owner) {
            return self.copied(register, temporaries);
        }
        Ok(self.single(register, temporaries))
    }

    /// Calls an op whose result is in one piece, and copies it where the register is two.
    pub(super) fn result(
        &mut self,
        op: &'static OpDef,
        args: Vec<Arg>,
        out: &Register,
    ) -> Result<(), Refusal> {
        let mut temporaries = Vec::new();
        self.write_whole(op, args, out, &mut temporaries)?;
        self.release(temporaries);
        Ok(())
    }

    /// The same, with the memory of the one piece among temporaries.
    pub(super) fn write_whole(
        &mut self,
        op: &'static OpDef,
        args: Vec<Arg>,
        out: &Register,
        temporaries: &mut Vec<Symbol>,
    ) -> Result<(), Refusal> {
        if !out.wraps() {
            let symbol = self.first(out)?;
            self.write(op, args, symbol);
            return Ok(());
        }
        let whole = self.temporary_like(out);
        temporaries.push(whole);
        self.write(op, args, whole);
        self.copy_pieces(out, whole, false);
        Ok(())
    }
}

/// How many rows are sorted, of n.
fn usable(call: &Call<'_>, n: u64) -> Result<u64, Refusal> {
    let value = call.int("usable");
    if let Ok(usable) = u64::try_from(value)
        && usable <= n
    {
        return Ok(usable);
    }
    let expected = format!("0 to {n}, the number of rows");
    let hint = "all rows but those that Blind overwrites";
    refuse("V07", "attrs.usable", expected, value.to_string(), hint)
}
