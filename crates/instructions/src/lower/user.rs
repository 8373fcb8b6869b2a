//! Calls of the caller's functions: operands against the signature that the program declares.

use super::emit::device;
use super::registers::Register;
use super::{Lowering, Refusal, misfit, refuse};
use cloakwork_formats::zk::Type;
use cloakwork_formats::zk::Value;
use cloakwork_ir::{Arg, Shape, shape_arg};
use cloakwork_ops::named;

/// Operands that the op takes, at most.
const MOST_OPERANDS: usize = 8;

impl Lowering<'_> {
    /// One step for each result: the first calls, the others take what it gave.
    pub(super) fn user_function(
        &mut self,
        number: usize,
        (outs, ins): (&[String], &[String]),
        attrs: &[(String, Value)],
        queued: bool,
    ) -> Result<(), Refusal> {
        let Some((name, signature)) = self.shared.ast.user_functions.get(number) else {
            return Err(None);
        };
        if let Some((key, _)) = attrs.first() {
            return refuse("V07", "attrs", format!("no attributes of {name}"), key, "");
        }
        if queued {
            let hint = "a user function runs on the host: leave the stream out";
            return refuse("V08", "", "a call in a thread", "a call on a stream", hint);
        }
        if signature.ins.len() > MOST_OPERANDS || signature.outs.is_empty() {
            let expected = format!("at most {MOST_OPERANDS} operands and at least one result");
            let got = format!("{} and {}", signature.ins.len(), signature.outs.len());
            return refuse("V07", name, expected, got, "");
        }
        let outs = self.of_types("arg_mut", outs, &signature.outs)?;
        let ins = self.of_types("arg", ins, &signature.ins)?;
        self.results_apart(&outs)?;
        self.user_calls += 1;
        let mut temporaries = Vec::new();
        let mut operands = Vec::with_capacity(MOST_OPERANDS);
        for register in &ins {
            operands.push(device(self.apart(register, &outs, &mut temporaries)?));
        }
        let int = |value: usize| Arg::Int(i64::try_from(value).unwrap_or(i64::MAX));
        for (result, out) in outs.iter().enumerate() {
            let mut args = std::mem::take(&mut operands);
            args.resize(MOST_OPERANDS, Arg::None);
            args.extend([int(number), int(self.user_calls as usize), int(result)]);
            let shape = Shape::new(&out.dims).unwrap_or_default();
            args.extend([shape_arg(&shape), Arg::DType(out.dtype)]);
            self.result(&named::CALL_FUNCTION, args, out)?;
        }
        self.release(temporaries);
        Ok(())
    }

    /// Registers of exactly these types, on the host.
    fn of_types(
        &mut self,
        field: &str,
        names: &[String],
        types: &[Type],
    ) -> Result<Vec<Register>, Refusal> {
        if names.len() != types.len() {
            let expected = format!("{} operands", types.len());
            let got = names.len().to_string();
            return refuse("V07", field, expected, got, "");
        }
        let mut registers = Vec::with_capacity(names.len());
        for (name, ty) in names.iter().zip(types) {
            let register = self.tensor(name)?;
            let Some((dtype, dims)) = ty.tensor() else {
                let expected = "tensors of known size in the signature";
                return refuse("V07", field, expected, "another type", "");
            };
            if (register.dtype, &register.dims) != (dtype, &dims) {
                let expected = Register::new(name, dtype, dims, "cpu").ty();
                return misfit("V07", &register, expected, register.ty());
            }
            if register.device != "cpu" {
                let expected = "on cpu, where user functions run";
                let hint = "transfer it to the host first";
                return refuse("V08", name, expected, &register.device, hint);
            }
            registers.push(register);
        }
        Ok(registers)
    }
}
