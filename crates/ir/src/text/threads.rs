//! The text of programs of several threads, both ways.

use super::cursor::{ParseError, Token};
use super::parse::Parser;
use super::print::{Printer, Quoted};
use crate::{Event, Place, Repr, Step, Stream, Text, Thread, Threaded, Threads};
use std::fmt::{self, Write};

impl Parser<'_> {
    /// Reads a line that begins with this word, if only programs of several threads have such.
    pub(super) fn threaded(&mut self, word: &str) -> Result<bool, ParseError> {
        let step = match word {
            "registers" => {
                self.threads();
                return Ok(true);
            }
            "thread" => return self.begin_thread().map(|()| true),
            "event" | "stream" | "consume" | "budget" => return self.declare(word).map(|()| true),
            "fork" => Threaded::Fork(self.text("the thread's name in quotes")?),
            "join" => Threaded::Join(self.text("the thread's name in quotes")?),
            "record" | "wait" => {
                let event = self.text("the event's name in quotes")?;
                let stream = self.behind("on")?;
                if word == "wait" {
                    Threaded::Wait { event, stream }
                } else {
                    Threaded::Record { event, stream }
                }
            }
            "move" => {
                let from = self.symbol()?;
                self.cursor.expect(",")?;
                let to = self.symbol()?;
                Threaded::Move { from, to }
            }
            "forget" => Threaded::Forget(self.symbol()?),
            "unknown" => Threaded::Unknown(self.symbol()?),
            "doubt" => Threaded::Doubt(self.symbol()?),
            _ => return Ok(false),
        };
        self.program.steps.push(Step::Threaded(step));
        self.note()?;
        Ok(true)
    }

    fn threads(&mut self) -> &mut Threads {
        self.program.threads.get_or_insert_with(Box::default)
    }

    fn text(&mut self, expected: &str) -> Result<Text, ParseError> {
        let name = self.quoted(expected)?;
        Ok(self.program.text(&name))
    }

    /// The text in quotes behind this word, if the word comes next.
    fn behind(&mut self, word: &'static str) -> Result<Option<Text>, ParseError> {
        let (token, after) = self.cursor.peek();
        if token != Token::Word(word) {
            return Ok(None);
        }
        self.cursor = after;
        self.text("a name in quotes").map(Some)
    }

    fn declare(&mut self, word: &str) -> Result<(), ParseError> {
        if word == "consume" {
            let name = self.quoted("the input's name in quotes")?;
            self.threads().consumed.push(name);
            return Ok(());
        }
        let name = self.text("a name in quotes")?;
        if word == "budget" {
            let bytes = self.bytes()?;
            self.threads().budgets.push((name, bytes));
            return Ok(());
        }
        let device = self.behind("at")?;
        match (word, device) {
            ("event", device) => self.threads().events.push(Event { name, device }),
            (_, Some(device)) => self.threads().streams.push(Stream { name, device }),
            _ => return Err(self.cursor.error("`at` and the stream's device")),
        }
        Ok(())
    }

    fn bytes(&mut self) -> Result<u64, ParseError> {
        let (token, after) = self.cursor.peek();
        let bytes = match token {
            Token::Number(digits) => digits.parse().ok(),
            _ => None,
        };
        let bytes = bytes.ok_or_else(|| self.cursor.error("a number of bytes"))?;
        self.cursor = after;
        Ok(bytes)
    }

    fn begin_thread(&mut self) -> Result<(), ParseError> {
        if self.in_thread {
            return Err(self.cursor.error("`}` of the thread before"));
        }
        let name = self.text("the thread's name in quotes")?;
        self.cursor.expect("{")?;
        self.main_thread();
        let start = self.program.steps.len() as u32;
        let steps = start..start;
        self.threads().threads.push(Thread { name, steps });
        self.in_thread = true;
        Ok(())
    }

    pub(super) fn end_thread(&mut self) {
        let end = self.program.steps.len() as u32;
        if let Some(thread) = self.threads().threads.last_mut() {
            thread.steps.end = end;
        }
        self.in_thread = false;
    }

    /// The steps before all threads are the main one's.
    fn main_thread(&mut self) {
        let (name, end) = (self.program.text("main"), self.program.steps.len() as u32);
        let threads = &mut self.threads().threads;
        if threads.is_empty() {
            threads.push(Thread {
                name,
                steps: 0..end,
            });
        }
    }

    pub(super) fn end_threads(&mut self) {
        if self.program.threads.is_some() {
            self.main_thread();
        }
    }

    /// `on "stream"`, `at "device"`, `pool "name" 64`, `as "coef"`, `label "instruction"`,
    /// `of "op"`, `written "file:line"`, `says "message"` behind a step.
    pub(super) fn note(&mut self) -> Result<(), ParseError> {
        let mut note = crate::Note::default();
        loop {
            if let Some(stream) = self.behind("on")? {
                note.stream = Some(stream);
            } else if let Some(device) = self.behind("at")? {
                note.device = Some(device);
            } else if let Some(label) = self.behind("label")? {
                note.label = Some(label);
            } else if let Some(op) = self.behind("of")? {
                note.op = Some(op);
            } else if let Some(written) = self.behind("written")? {
                note.written = Some(written);
            } else if let Some(message) = self.behind("says")? {
                note.message = Some(message);
            } else if let Some(repr) = self.behind("as")? {
                let repr = Repr::from_name(self.program.text_name(repr));
                note.repr =
                    Some(repr.ok_or_else(|| self.cursor.error("\"coef\" or \"lagrange\""))?);
            } else if let Some(pool) = self.behind("pool")? {
                let offset = self.bytes()?;
                note.place = Some(Place { pool, offset });
            } else {
                break;
            }
        }
        if note != crate::Note::default() {
            let step = self.program.steps.len() as u32 - 1;
            self.threads().notes.say(step, note);
        }
        Ok(())
    }
}

impl Printer<'_> {
    fn quoted(&self, text: Text) -> String {
        Quoted(self.program.text_name(text)).to_string()
    }

    pub(super) fn declarations(&mut self) -> fmt::Result {
        let Some(threads) = &self.program.threads else {
            return Ok(());
        };
        self.out.push_str("registers\n");
        for stream in &threads.streams {
            let (name, device) = (self.quoted(stream.name), self.quoted(stream.device));
            writeln!(self.out, "stream {name} at {device}")?;
        }
        for event in &threads.events {
            write!(self.out, "event {}", self.quoted(event.name))?;
            self.behind("at", event.device)?;
            self.out.push('\n');
        }
        for &(device, bytes) in &threads.budgets {
            let device = self.quoted(device);
            writeln!(self.out, "budget {device} {bytes}")?;
        }
        for input in &threads.consumed {
            writeln!(self.out, "consume {}", Quoted(input))?;
        }
        Ok(())
    }

    fn behind(&mut self, word: &str, name: Option<Text>) -> fmt::Result {
        name.map_or(Ok(()), |name| {
            write!(self.out, " {word} {}", self.quoted(name))
        })
    }

    /// Ends the thread before this step and begins the one of this step, where they change.
    pub(super) fn begin_thread(&mut self, step: u32) -> fmt::Result {
        let Some(threads) = &self.program.threads else {
            return Ok(());
        };
        let count = self.program.steps.len() as u32;
        while let Some(next) = threads.threads.get(self.begun) {
            if next.steps.start > step {
                break;
            }
            if self.begun > 1 {
                self.out.push_str("}\n");
            }
            if self.begun > 0 {
                writeln!(self.out, "thread {} {{", self.quoted(next.name))?;
                self.depth = 1;
            }
            self.begun += 1;
        }
        if step == count && self.begun > 1 {
            self.out.push_str("}\n");
        }
        Ok(())
    }

    pub(super) fn note(&mut self, step: u32) -> fmt::Result {
        let note = self.program.threads.as_ref().map(|t| t.note(step));
        let note = note.unwrap_or_default();
        self.behind("on", note.stream)?;
        self.behind("at", note.device)?;
        if let Some(place) = note.place {
            self.behind("pool", Some(place.pool))?;
            write!(self.out, " {}", place.offset)?;
        }
        if let Some(repr) = note.repr {
            write!(self.out, " as {}", Quoted(repr.name()))?;
        }
        self.behind("label", note.label)?;
        self.behind("of", note.op)?;
        self.behind("written", note.written)?;
        self.behind("says", note.message)
    }

    pub(super) fn threaded(&mut self, step: Threaded) -> fmt::Result {
        match step {
            Threaded::Fork(thread) => write!(self.out, "fork {}", self.quoted(thread)),
            Threaded::Join(thread) => write!(self.out, "join {}", self.quoted(thread)),
            Threaded::Record { event, stream } => {
                write!(self.out, "record {}", self.quoted(event))?;
                self.behind("on", stream)
            }
            Threaded::Wait { event, stream } => {
                write!(self.out, "wait {}", self.quoted(event))?;
                self.behind("on", stream)
            }
            Threaded::Move { from, to } => {
                self.out.push_str("move ");
                self.name(from)?;
                self.out.push_str(", ");
                self.name(to)
            }
            Threaded::Forget(symbol) => {
                self.out.push_str("forget ");
                self.name(symbol)
            }
            Threaded::Unknown(symbol) => {
                self.out.push_str("unknown ");
                self.name(symbol)
            }
            Threaded::Doubt(symbol) => {
                self.out.push_str("doubt ");
                self.name(symbol)
            }
        }
    }
}
