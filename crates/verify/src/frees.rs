//! Frees for programs that never say when a tensor is done with, such as traced ones.

use cloakwork_ir::{Arg, Op, Owners, Program, ProgramPoint, Step, Symbol};

/// The same program with a free behind the last use of each name that is left live at the end.
#[must_use]
pub fn with_frees(mut program: Program) -> Program {
    if program.threads.is_some() {
        // Who owns registers frees them.
        return program;
    }
    let mut owners = Owners::default();
    for (step, entry) in (0u32..).zip(&program.steps) {
        let place = ProgramPoint { thread: 0, step };
        match entry {
            Step::Op(op) => names(&program, op).for_each(|name| mention(&mut owners, name, place)),
            Step::Free(symbol) => owners.release(symbol.0),
            Step::SegmentStart(_) | Step::SegmentEnd | Step::Skip | Step::Threaded(_) => {}
        }
    }
    let left = owners.left();
    let mut frees: Vec<(u32, Symbol)> = left
        .map(|(owned, last)| (last.step, Symbol(owned.name)))
        .collect();
    frees.sort_unstable();
    let mut steps = Vec::with_capacity(program.steps.len() + frees.len());
    let mut frees = frees.into_iter().peekable();
    for (index, step) in (0u32..).zip(&program.steps) {
        steps.push(*step);
        while let Some((_, symbol)) = frees.next_if(|&(last, _)| last == index) {
            steps.push(Step::Free(symbol));
        }
    }
    program.steps = steps;
    program
}

/// A name that means nothing yet means a tensor of its own.
fn mention(owners: &mut Owners, symbol: Symbol, place: ProgramPoint) {
    if !owners.knows(symbol.0) {
        owners.own(symbol.0);
    }
    owners.touch(symbol.0, place, false);
}

/// The device tensors that a call names, its result included.
fn names<'a>(program: &'a Program, op: &'a Op) -> impl Iterator<Item = Symbol> + 'a {
    let all = program.args(op).iter().chain(program.out(op));
    all.filter_map(|arg| match arg {
        Arg::Device(symbol, _) => Some(*symbol),
        _ => None,
    })
}
