//! A program as a graph for Graphviz: a column a thread, arrows where one waits for another.

use super::ast::{Ast, Instruction};
use super::instructions::Operation;
use std::collections::HashMap;
use std::fmt::Write;

/// Threads by name, in the order in which they are forked.
type Threads<'a> = Vec<(&'a str, &'a [Instruction])>;

/// The graph of a program.
#[must_use]
pub fn to_dot(ast: &Ast) -> String {
    let mut threads = Vec::new();
    walk("main", &ast.main, &mut threads);
    let lengths: HashMap<&str, usize> = threads
        .iter()
        .map(|(name, list)| (*name, list.len()))
        .collect();
    let mut out = String::from("digraph program {\n  node [shape=box, fontname=monospace];\n");
    let (mut records, mut arrows) = (HashMap::new(), Vec::new());
    for &(thread, instructions) in &threads {
        let (cluster, title) = (quoted(&format!("cluster {thread}")), quoted(thread));
        let _ = writeln!(out, "  subgraph {cluster} {{ label={title};");
        for (index, instruction) in instructions.iter().enumerate() {
            let (name, label) = (node(thread, index), quoted(&label(&instruction.op)));
            let _ = writeln!(out, "    {name} [label={label}];");
            if let Operation::Record { event, .. } = &instruction.op {
                records.insert(event.as_str(), name.clone());
            }
            if index > 0 {
                arrows.push(format!("  {} -> {name};", node(thread, index - 1)));
            }
        }
        out.push_str("  }\n");
    }
    for &(thread, instructions) in &threads {
        for (index, instruction) in instructions.iter().enumerate() {
            let name = node(thread, index);
            arrows.extend(waits(&name, &instruction.op, &lengths, &records));
        }
    }
    for arrow in arrows {
        out.push_str(&arrow);
        out.push('\n');
    }
    out.push_str("}\n");
    out
}

fn walk<'a>(name: &'a str, instructions: &'a [Instruction], threads: &mut Threads<'a>) {
    threads.push((name, instructions));
    for Instruction { op, .. } in instructions {
        if let Operation::Fork {
            new_thread,
            instructions,
        } = op
        {
            walk(new_thread, instructions, threads);
        }
    }
}

/// The arrow between an instruction and one of another thread, if there is one.
fn waits(
    name: &str,
    op: &Operation,
    lengths: &HashMap<&str, usize>,
    records: &HashMap<&str, String>,
) -> Option<String> {
    let other = match op {
        Operation::Wait { event, .. } => records.get(event.as_str())?.clone(),
        Operation::Join { thread } => {
            let last = lengths.get(thread.as_str())?.checked_sub(1)?;
            node(thread, last)
        }
        Operation::Fork {
            new_thread,
            instructions,
        } if !instructions.is_empty() => {
            return Some(format!("  {name} -> {} [style=bold];", node(new_thread, 0)));
        }
        _ => return None,
    };
    Some(format!("  {other} -> {name} [style=dashed];"))
}

fn label(op: &Operation) -> String {
    let (called, results, operands): (&str, Vec<&str>, Vec<&str>) = match op {
        Operation::FuncCall {
            func, arg_mut, arg, ..
        } => (func, names(arg_mut), names(arg)),
        Operation::Transfer { src_id, dst_id, .. } => (op.name(), vec![dst_id], vec![src_id]),
        Operation::Element { src, dst, .. } => (op.name(), vec![dst], vec![src]),
        Operation::Blind { dst, .. } => (op.name(), vec![dst], Vec::new()),
        Operation::Record { event, .. } | Operation::Wait { event, .. } => {
            (op.name(), Vec::new(), vec![event])
        }
        _ => (op.name(), op.defines(), op.mentions()),
    };
    let shown = format!("{called}({})", operands.join(", "));
    if results.is_empty() {
        return shown;
    }
    format!("{} = {shown}", results.join(", "))
}

fn names(list: &[String]) -> Vec<&str> {
    list.iter().map(String::as_str).collect()
}

fn node(thread: &str, index: usize) -> String {
    quoted(&format!("{thread}/{index}"))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
