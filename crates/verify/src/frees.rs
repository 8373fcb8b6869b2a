//! Frees for programs that never say when a tensor is done with, such as traced ones.

use cloakwork_ir::{Arg, Op, Program, Step, Symbol};

/// What is known of a name: the last step that mentions it, and whether it ends freed.
#[derive(Clone, Copy, Default)]
struct Mention {
    last: Option<usize>,
    freed: bool,
}

/// The same program with a free behind the last use of each name that is left live at the end.
#[must_use]
pub fn with_frees(mut program: Program) -> Program {
    if program.threads.is_some() {
        // Who owns registers frees them.
        return program;
    }
    let mut mentions = vec![Mention::default(); program.symbols.len()];
    for (index, step) in program.steps.iter().enumerate() {
        match step {
            Step::Op(op) => {
                let named = names(&program, op);
                named.for_each(|symbol| mention(&mut mentions, symbol, index, false));
            }
            Step::Free(symbol) => mention(&mut mentions, *symbol, index, true),
            Step::SegmentStart(_) | Step::SegmentEnd | Step::Skip | Step::Threaded(_) => {}
        }
    }
    let mut frees: Vec<(usize, Symbol)> = mentions
        .iter()
        .enumerate()
        .filter(|(_, mention)| !mention.freed)
        .filter_map(|(index, mention)| Some((mention.last?, Symbol(index as u32))))
        .collect();
    frees.sort_unstable();
    let mut steps = Vec::with_capacity(program.steps.len() + frees.len());
    let mut frees = frees.into_iter().peekable();
    for (index, step) in program.steps.iter().enumerate() {
        steps.push(*step);
        while let Some((_, symbol)) = frees.next_if(|&(last, _)| last == index) {
            steps.push(Step::Free(symbol));
        }
    }
    program.steps = steps;
    program
}

fn mention(mentions: &mut [Mention], symbol: Symbol, index: usize, freed: bool) {
    if let Some(mention) = mentions.get_mut(symbol.0 as usize) {
        *mention = Mention {
            last: Some(index),
            freed,
        };
    }
}

/// The device tensors that a call names, its result included.
fn names<'a>(program: &'a Program, op: &'a Op) -> impl Iterator<Item = Symbol> + 'a {
    let all = program.args(op).iter().chain(program.out(op));
    all.filter_map(|arg| match arg {
        Arg::Device(symbol, _) => Some(*symbol),
        _ => None,
    })
}
