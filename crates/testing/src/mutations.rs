//! Mutations that verifiers and readers must handle without a panic.

use crate::Source;
use cloakwork_ir::{Arg, DType, Generation, HostId, Program, ShapeItem, Step, Symbol};
use cloakwork_ops::ALL;

/// A transcript of a few steps with every kind of entry and argument, for mutations.
pub const SAMPLE_TRANSCRIPT: &str = include_str!("sample.json");

/// A step split into its parts.
enum Draft {
    Op(String, Vec<Arg>, Option<Arg>),
    Other(Step),
}

/// The program with a few mutations: steps removed, duplicated or swapped; names, sizes, integers
/// and ops changed; arguments removed or added.
#[must_use]
pub fn mutate(program: &Program, source: &mut Source) -> Program {
    let mut drafts: Vec<Draft> = program
        .steps
        .iter()
        .map(|step| draft(program, step))
        .collect();
    for _ in 0..=source.below(4) {
        let length = drafts.len();
        if length == 0 {
            break;
        }
        let at = source.below(length);
        match source.below(8) {
            0 => drop(drafts.remove(at)),
            1 => drafts.swap(at, source.below(length)),
            2 => {
                let step = program.steps[source.below(program.steps.len())];
                drafts.insert(at, draft(program, &step));
            }
            3 => drafts.insert(at, Draft::Other(random_step(program, source))),
            _ => damage(&mut drafts[at], program, source),
        }
    }
    let mut damaged = Program::new();
    damaged.hosts.clone_from(&program.hosts);
    damaged.symbols = program.symbols.clone();
    damaged.texts = program.texts.clone();
    damaged.generation = program.generation;
    if source.chance(8) {
        damaged.generation = Generation::First;
    }
    for draft in drafts {
        match draft {
            Draft::Op(name, args, out) => damaged.push_op(&name, args, out),
            Draft::Other(step) => damaged.steps.push(step),
        }
    }
    damaged
}

fn draft(program: &Program, step: &Step) -> Draft {
    match step {
        Step::Op(op) => Draft::Op(
            program.text_name(op.name).to_owned(),
            program.args(op).to_vec(),
            program.out(op).cloned(),
        ),
        other => Draft::Other(*other),
    }
}

fn random_step(program: &Program, source: &mut Source) -> Step {
    match source.below(3) {
        0 => Step::Free(symbol(program, source)),
        1 => Step::SegmentEnd,
        _ => Step::Skip,
    }
}

fn symbol(program: &Program, source: &mut Source) -> Symbol {
    Symbol(source.below(program.symbols.len().max(1)) as u32)
}

fn damage(draft: &mut Draft, program: &Program, source: &mut Source) {
    let Draft::Op(name, args, out) = draft else {
        *draft = Draft::Other(random_step(program, source));
        return;
    };
    let at = source.below(args.len().max(1));
    match source.below(7) {
        0 => match source.pick(ALL).and_then(|def| source.pick(def.forms)) {
            Some(form) if !source.chance(4) => form.name.clone_into(name),
            _ => name.push('z'),
        },
        1 => *out = source.chance(2).then(|| random_arg(program, source)),
        2 if !args.is_empty() => drop(args.remove(at)),
        3 => args.insert(at, random_arg(program, source)),
        _ => {
            if let Some(arg) = args.get_mut(at) {
                change(arg, program, source);
            }
        }
    }
}

/// Changes an argument within its kind, or replaces it.
fn change(arg: &mut Arg, program: &Program, source: &mut Source) {
    match arg {
        Arg::Device(name, claim) if source.chance(2) => {
            *claim = Some(DType::I8);
            *name = symbol(program, source);
        }
        Arg::Int(value) => *value = source.int(),
        Arg::Shape(items) if !items.is_empty() => {
            let at = source.below(items.len());
            items[at] = random_item(source);
        }
        _ => *arg = random_arg(program, source),
    }
}

fn random_item(source: &mut Source) -> ShapeItem {
    let bound = |source: &mut Source| (!source.chance(4)).then(|| source.int());
    match source.below(4) {
        0 => ShapeItem::Ellipsis,
        1 => ShapeItem::Invalid("1.5".into()),
        2 => ShapeItem::Slice {
            start: bound(source),
            stop: bound(source),
            step: bound(source),
        },
        _ => ShapeItem::Int(source.int()),
    }
}

fn random_arg(program: &Program, source: &mut Source) -> Arg {
    match source.below(8) {
        0 => Arg::None,
        1 => Arg::DType(DType::F32),
        2 => Arg::Invalid("a text".into()),
        3 if !program.hosts.is_empty() => {
            Arg::Host(HostId(source.below(program.hosts.len()) as u32))
        }
        4 => Arg::Shape((0..source.below(18)).map(|_| random_item(source)).collect()),
        5 => Arg::Int(source.int()),
        _ => Arg::Device(symbol(program, source), None),
    }
}

/// The bytes with a few of them changed, removed, duplicated or moved.
#[must_use]
pub fn mutate_bytes(bytes: &[u8], source: &mut Source) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=source.below(6) {
        let length = bytes.len();
        if length == 0 {
            break;
        }
        let at = source.below(length);
        let end = (at + 1 + source.below(12)).min(length);
        match source.below(5) {
            0 => bytes[at] = source.word() as u8,
            1 => drop(bytes.drain(at..end)),
            2 => {
                let piece = bytes[at..end].to_vec();
                let to = source.below(length);
                bytes.splice(to..to, piece);
            }
            3 => bytes.truncate(at),
            _ => {
                const TOKENS: [&[u8]; 10] = [
                    b"[",
                    b"{",
                    b"\"",
                    b"null",
                    b"-1",
                    b"9223372036854775808",
                    b"%",
                    b":",
                    b"\n",
                    b"\\u{110000}",
                ];
                let token = source.pick(&TOKENS).copied().unwrap_or(b"");
                bytes.splice(at..at, token.iter().copied());
            }
        }
    }
    bytes
}
