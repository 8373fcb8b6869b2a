//! From a program to text.

use super::{KEYWORDS, is_plain, literal};
use crate::{Arg, Generation, HostSlot, Op, Program, ShapeItem, Step, Symbol};
use std::fmt::{self, Write};
use std::ops::Range;

/// Writes a program as [`super::parse`] reads it.
#[must_use]
pub fn print(program: &Program) -> String {
    printed(program, None)
}

/// Writes the first and last steps of a program for people: at most `steps`, and the number of
/// those between them; data of more than a few elements as the type alone.
#[must_use]
pub fn page(program: &Program, steps: usize) -> String {
    printed(program, Some(steps))
}

fn printed(program: &Program, page: Option<usize>) -> String {
    let mut printer = Printer {
        program,
        out: String::new(),
        page,
        braces: nests(program),
        depth: 0,
        begun: 0,
    };
    // Writing into a string cannot fail.
    let _ = printer.print();
    printer.out
}

/// Whether each end of a segment has its beginning, and the other way round.
fn nests(program: &Program) -> bool {
    let depth = program
        .steps
        .iter()
        .try_fold(0usize, |depth, step| match step {
            Step::SegmentStart(_) => Some(depth + 1),
            Step::SegmentEnd => depth.checked_sub(1),
            _ => Some(depth),
        });
    depth == Some(0)
}

pub(super) struct Printer<'p> {
    pub(super) program: &'p Program,
    pub(super) out: String,
    /// The most steps, for people; `None`: all of them, for the parser.
    page: Option<usize>,
    braces: bool,
    pub(super) depth: usize,
    /// How many threads have begun; the main thread has no braces.
    pub(super) begun: usize,
}

impl Printer<'_> {
    fn print(&mut self) -> fmt::Result {
        if self.program.generation == Generation::First {
            self.out.push_str("generation first\n");
        }
        self.declarations()?;
        let left_out = self.left_out();
        for (index, step) in (0u32..).zip(&self.program.steps) {
            let before = self.out.len();
            self.begin_thread(index)?;
            if self.braces && *step == Step::SegmentEnd {
                self.depth -= 1;
            }
            for _ in 0..self.depth {
                self.out.push_str("  ");
            }
            self.step(step)?;
            self.note(index)?;
            self.out.push('\n');
            if left_out.contains(&index) {
                self.out.truncate(before);
                if index + 1 == left_out.end {
                    writeln!(self.out, "... {} steps left out", left_out.len())?;
                }
            }
        }
        self.begin_thread(self.program.steps.len() as u32)
    }

    /// The steps in the middle for which a page has no room.
    fn left_out(&self) -> Range<u32> {
        let count = self.program.steps.len();
        match self.page {
            Some(page) if count > page => {
                let first = page - page / 3;
                first as u32..(count - (page - first)) as u32
            }
            _ => 0..0,
        }
    }

    fn step(&mut self, step: &Step) -> fmt::Result {
        match step {
            Step::Op(op) => self.op(op),
            Step::Free(symbol) => {
                self.out.push_str("free ");
                self.name(*symbol)
            }
            Step::SegmentStart(text) => {
                let name = self.program.text_name(*text);
                if self.braces {
                    self.depth += 1;
                    write!(self.out, "segment {} {{", Quoted(name))
                } else {
                    write!(self.out, "segment_start {}", Quoted(name))
                }
            }
            Step::SegmentEnd => {
                self.out
                    .push_str(if self.braces { "}" } else { "segment_end" });
                Ok(())
            }
            Step::Skip => {
                self.out.push_str("skip");
                Ok(())
            }
            Step::Threaded(step) => self.threaded(*step),
        }
    }

    fn op(&mut self, op: &Op) -> fmt::Result {
        let out = self.program.out(op);
        if let Some(result @ Arg::Device(..)) = out {
            self.arg(result)?;
            self.out.push_str(" = ");
        }
        let name = self.program.text_name(op.name);
        let is_word = is_plain(name) && !name.starts_with(|c: char| c.is_ascii_digit());
        if is_word && !KEYWORDS.contains(&name) {
            self.out.push_str(name);
        } else {
            write!(self.out, "{}", Quoted(name))?;
        }
        for (index, arg) in self.program.args(op).iter().enumerate() {
            self.out.push_str(if index == 0 { " " } else { ", " });
            self.arg(arg)?;
        }
        match out {
            None | Some(Arg::Device(..)) => Ok(()),
            Some(result) => {
                self.out.push_str(" -> ");
                self.arg(result)
            }
        }
    }

    fn arg(&mut self, arg: &Arg) -> fmt::Result {
        match arg {
            Arg::Device(symbol, claim) => {
                self.name(*symbol)?;
                claim.map_or(Ok(()), |dtype| write!(self.out, ":{dtype}"))
            }
            Arg::Host(id) => match self.program.host(*id) {
                Some(slot) => self.host(slot),
                None => write!(self.out, "invalid \"host tensor {}\"", id.0),
            },
            Arg::Shape(items) => self.items(items),
            Arg::Int(value) => write!(self.out, "{value}"),
            Arg::None => self.out.write_str("none"),
            Arg::DType(dtype) => write!(self.out, "{dtype}"),
            Arg::Invalid(what) => write!(self.out, "invalid {}", Quoted(what)),
        }
    }

    pub(super) fn name(&mut self, symbol: Symbol) -> fmt::Result {
        let name = self.program.symbol_name(symbol);
        if is_plain(name) {
            write!(self.out, "%{name}")
        } else {
            write!(self.out, "%{}", Quoted(name))
        }
    }

    fn host(&mut self, slot: &HostSlot) -> fmt::Result {
        match slot {
            HostSlot::Data(tensor) if self.page.is_some() && literal::is_long(tensor) => {
                write!(self.out, "{} ...", tensor.ty())
            }
            HostSlot::Data(tensor) => literal::print(tensor, &mut self.out),
            HostSlot::Input { name, ty } => write!(self.out, "input {} {ty}", Quoted(name)),
            HostSlot::Output { name } => write!(self.out, "output {}", Quoted(name)),
        }
    }

    fn items(&mut self, items: &[ShapeItem]) -> fmt::Result {
        self.out.push('[');
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.out.push_str(", ");
            }
            write!(self.out, "{item}")?;
        }
        self.out.push(']');
        Ok(())
    }
}

impl fmt::Display for ShapeItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Slice { start, stop, step } => {
                write!(f, "{}:{}:{}", Bound(*start), Bound(*stop), Bound(*step))
            }
            Self::Ellipsis => f.write_str("..."),
            Self::Invalid(what) => write!(f, "invalid {}", Quoted(what)),
        }
    }
}

/// A text in quotes, with Rust's escapes for characters that the parser cannot read.
pub(super) struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// An integer or nothing.
struct Bound(Option<i64>);

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |value| write!(f, "{value}"))
    }
}
