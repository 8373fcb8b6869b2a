//! `fused`: steps element by element, which the planner runs block by block.
//!
//! `expr` is a list of steps `[name, operand, ...]`: `add`, `sub`, `mul`, `div`, `neg`, `square`.
//! An operand is `in0`, `in1`, ... or `t0`, `t1`, ..., the result of that step; `outs` names what
//! each result is.

use super::calls::Call;
use super::emit::device;
use super::registers::Register;
use super::{Lowering, Refusal, refuse};
use cloakwork_formats::zk::Value;
use cloakwork_ir::{Arg, Symbol};
use cloakwork_ops::{OpDef, named};

/// Steps of one call, at most.
const MAX_STEPS: usize = 4096;
/// The steps: their names, their ops, and their numbers of operands.
static STEPS: [(&str, &OpDef, usize); 6] = [
    ("add", &named::ADD, 2),
    ("div", &named::DIVIDE, 2),
    ("mul", &named::MULTIPLY, 2),
    ("neg", &named::NEGATIVE, 1),
    ("square", &named::SQUARE, 1),
    ("sub", &named::SUBTRACT, 2),
];

#[derive(Clone, Copy)]
enum Operand {
    In(usize),
    Step(usize),
}

struct Expression {
    steps: Vec<(&'static OpDef, Vec<Operand>)>,
    outs: Vec<Operand>,
}

impl Lowering<'_> {
    pub(crate) fn fused(&mut self, call: &Call<'_>) -> Result<(), Refusal> {
        let expression = expression(call)?;
        let Some(first) = call.outs.first() else {
            return Err(None);
        };
        for register in call.registers() {
            let scalar = register.dims.is_empty() && !call.outs.contains(register);
            if register.dims != first.dims && !scalar {
                let hint = "sizes are equal, but for operands that are scalars";
                return refuse("V07", &register.name, first.ty(), register.ty(), hint);
            }
        }
        let all: Vec<&Register> = call.registers().collect();
        self.pieces(&all, |own, parts, len| {
            let (outs, ins) = parts.split_at(call.outs.len());
            own.steps(&expression, (outs, ins), first, len)
        })
    }

    /// All steps on one piece: each into memory of its own, results into theirs at the end.
    fn steps(
        &mut self,
        expression: &Expression,
        (outs, ins): (&[Symbol], &[Symbol]),
        like: &Register,
        len: u64,
    ) -> Result<(), Refusal> {
        let dims = match like.dims.as_slice() {
            [_] => vec![len],
            dims => dims.to_vec(),
        };
        let mut computed: Vec<Symbol> = Vec::new();
        for (op, operands) in &expression.steps {
            let args: Option<Vec<Arg>> = operands
                .iter()
                .map(|o| resolve(*o, ins, &computed).map(device))
                .collect();
            let to = self.temporary(like.dtype, &dims, &like.device);
            self.write(op, args.ok_or(None)?, to);
            computed.push(to);
        }
        for (out, operand) in outs.iter().zip(&expression.outs) {
            let from = resolve(*operand, ins, &computed).ok_or(None)?;
            self.write(&named::COPY, [device(from)], *out);
        }
        self.release(computed);
        Ok(())
    }
}

fn resolve(operand: Operand, ins: &[Symbol], computed: &[Symbol]) -> Option<Symbol> {
    match operand {
        Operand::In(index) => ins.get(index).copied(),
        Operand::Step(index) => computed.get(index).copied(),
    }
}

fn expression(call: &Call<'_>) -> Result<Expression, Refusal> {
    let list = |name| match call.attr(name) {
        Some(Value::List(list)) => list.as_slice(),
        _ => &[],
    };
    let (steps, outs) = (list("expr"), list("outs"));
    if steps.len() > MAX_STEPS {
        let got = steps.len().to_string();
        let expected = format!("at most {MAX_STEPS} steps");
        return refuse("V07", "attrs.expr", expected, got, "");
    }
    let mut read = Vec::with_capacity(steps.len());
    for (index, step) in steps.iter().enumerate() {
        let Some(step) = one_step(step, call.ins.len(), index) else {
            let expected = "[\"add\" | \"sub\" | \"mul\" | \"div\" | \"neg\" | \"square\", \
                            operands in0.., t0.. of earlier steps]";
            let mut got = String::new();
            cloakwork_formats::zk::print(step, &mut got);
            let field = format!("attrs.expr[{index}]");
            return refuse("V07", field, expected, got, "");
        };
        read.push(step);
    }
    let named = outs
        .iter()
        .map(|out| operand(out, call.ins.len(), steps.len()));
    let named: Option<Vec<Operand>> = named.collect();
    match named {
        Some(outs) if outs.len() == call.outs.len() => Ok(Expression { steps: read, outs }),
        _ => {
            let expected = format!("{} names of steps or operands", call.outs.len());
            refuse("V07", "attrs.outs", expected, "another list", "")
        }
    }
}

fn one_step(step: &Value, ins: usize, before: usize) -> Option<(&'static OpDef, Vec<Operand>)> {
    let Value::List(list) = step else {
        return None;
    };
    let (Value::Text(name), operands) = list.split_first()? else {
        return None;
    };
    let (_, op, count) = STEPS.iter().find(|(own, ..)| own == name)?;
    let read = operands.iter().map(|value| operand(value, ins, before));
    let read: Vec<Operand> = read.collect::<Option<_>>()?;
    (read.len() == *count).then_some((*op, read))
}

fn operand(value: &Value, ins: usize, steps: usize) -> Option<Operand> {
    let Value::Text(text) = value else {
        return None;
    };
    if let Some(index) = text.strip_prefix("in") {
        let index = index.parse().ok().filter(|&index| index < ins);
        return index.map(Operand::In);
    }
    let index = text.strip_prefix('t')?.parse().ok();
    index.filter(|&index| index < steps).map(Operand::Step)
}
