//! From text to a program.

use super::cursor::{Cursor, ParseError, Token};
use super::literal;
use crate::{
    Arg, DType, Generation, HostSlot, MAX_RANK, Program, Shape, ShapeItem, Step, Symbol, Type,
};

/// The longest list: what a well-formed program needs many times over.
const MAX_ITEMS: usize = 64 * MAX_RANK;

/// Reads a program.
///
/// # Errors
/// The first place where the text is not one.
pub fn parse(text: &str) -> Result<Program, ParseError> {
    let mut parser = Parser {
        cursor: Cursor::new(text),
        program: Program::new(),
        open: 0,
        in_thread: false,
    };
    while parser.line()? {}
    parser.end_threads();
    Ok(parser.program)
}

pub(super) struct Parser<'t> {
    pub(super) cursor: Cursor<'t>,
    pub(super) program: Program,
    /// Braces of segments that are open.
    open: usize,
    /// Whether the braces around are a thread's.
    pub(super) in_thread: bool,
}

impl<'t> Parser<'t> {
    /// Reads one step; false at the end of the text.
    fn line(&mut self) -> Result<bool, ParseError> {
        self.cursor.skip_newlines();
        let start = self.cursor.clone();
        match self.cursor.next() {
            Token::End if self.open == 0 && !self.in_thread => return Ok(false),
            Token::End => return Err(start.error("`}` of a segment or thread")),
            Token::Mark("}") if self.open > 0 => {
                self.open -= 1;
                self.program.steps.push(Step::SegmentEnd);
            }
            Token::Mark("}") if self.in_thread => self.end_thread(),
            Token::Name(name) => {
                let name = self.program.symbol(&name);
                let claim = self.claim()?;
                self.cursor.expect("=")?;
                let op = self.op_name()?;
                self.call(&op, Some(Arg::Device(name, claim)))?;
            }
            Token::Word(word) => return self.word(word),
            Token::Quoted(op) => self.call(&op, None)?,
            _ => return Err(start.error("a step")),
        }
        self.end_of_step()?;
        Ok(true)
    }

    fn word(&mut self, word: &str) -> Result<bool, ParseError> {
        match word {
            "free" => {
                let name = self.symbol()?;
                self.program.steps.push(Step::Free(name));
                self.note()?;
            }
            "skip" => self.program.steps.push(Step::Skip),
            "segment_end" => self.program.steps.push(Step::SegmentEnd),
            "segment_start" => self.segment_start()?,
            "segment" => {
                self.segment_start()?;
                self.cursor.expect("{")?;
                self.open += 1;
                return Ok(true);
            }
            "generation" => {
                let start = self.cursor.clone();
                self.program.generation = match self.cursor.next() {
                    Token::Word("first") => Generation::First,
                    Token::Word("later") => Generation::Later,
                    _ => return Err(start.error("`first` or `later`")),
                };
            }
            word => {
                if !self.threaded(word)? {
                    self.call(word, None)?;
                } else if word == "thread" {
                    return Ok(true);
                }
            }
        }
        self.end_of_step()?;
        Ok(true)
    }

    /// A tensor's name.
    pub(super) fn symbol(&mut self) -> Result<Symbol, ParseError> {
        let start = self.cursor.clone();
        match self.cursor.next() {
            Token::Name(name) => Ok(self.program.symbol(&name)),
            _ => Err(start.error("the name of a tensor")),
        }
    }

    fn end_of_step(&mut self) -> Result<(), ParseError> {
        match self.cursor.peek().0 {
            Token::Newline | Token::End => Ok(()),
            Token::Mark("}") if self.open > 0 || self.in_thread => Ok(()),
            _ => Err(self.cursor.error("the end of the line")),
        }
    }

    fn segment_start(&mut self) -> Result<(), ParseError> {
        let name = self.quoted("the segment's name in quotes")?;
        let name = self.program.text(&name);
        self.program.steps.push(Step::SegmentStart(name));
        Ok(())
    }

    fn op_name(&mut self) -> Result<String, ParseError> {
        let start = self.cursor.clone();
        match self.cursor.next() {
            Token::Word(word) => Ok(word.to_owned()),
            Token::Quoted(name) => Ok(name.into_owned()),
            _ => Err(start.error("the name of an op")),
        }
    }

    /// The arguments of a call, and `-> result` where the result is not a tensor.
    fn call(&mut self, op: &str, mut out: Option<Arg>) -> Result<(), ParseError> {
        let mut args = Vec::new();
        let is_end = |token: &Token| {
            let ends = matches!(token, Token::Newline | Token::End | Token::Mark("->" | "}"));
            ends || matches!(token, Token::Word("on" | "at" | "label"))
        };
        if !is_end(&self.cursor.peek().0) {
            args.push(self.arg()?);
            while self.cursor.take(",") {
                args.push(self.arg()?);
            }
        }
        if out.is_none() && self.cursor.take("->") {
            out = Some(self.arg()?);
        }
        self.program.push_op(op, args, out);
        self.note()
    }

    fn arg(&mut self) -> Result<Arg, ParseError> {
        let start = self.cursor.clone();
        match self.cursor.next() {
            Token::Name(name) => {
                let name = self.program.symbol(&name);
                Ok(Arg::Device(name, self.claim()?))
            }
            Token::Number(text) => match text.parse() {
                Ok(value) => Ok(Arg::Int(value)),
                Err(_) => Err(start.error("an integer of 64 bits")),
            },
            Token::Mark("[") => Ok(Arg::Shape(self.items()?.into())),
            Token::Word("none") => Ok(Arg::None),
            Token::Word("true") => Ok(Arg::Int(1)),
            Token::Word("false") => Ok(Arg::Int(0)),
            Token::Word("invalid") => Ok(Arg::Invalid(self.quoted("a text in quotes")?.into())),
            Token::Word("output") => {
                let name = self.quoted("the output's name in quotes")?;
                Ok(Arg::Host(self.program.push_host(HostSlot::Output { name })))
            }
            Token::Word("input") => {
                let name = self.quoted("the input's name in quotes")?;
                let dtype = self.dtype()?;
                self.cursor.expect("[")?;
                let ty = self.rest_of_type(dtype)?;
                Ok(Arg::Host(
                    self.program.push_host(HostSlot::Input { name, ty }),
                ))
            }
            Token::Word(word) => {
                let dtype = DType::from_name(word).ok_or_else(|| start.error("an argument"))?;
                self.dtype_or_literal(dtype)
            }
            _ => Err(start.error("an argument")),
        }
    }

    fn dtype_or_literal(&mut self, dtype: DType) -> Result<Arg, ParseError> {
        if !self.cursor.take("[") {
            return Ok(Arg::DType(dtype));
        }
        let ty = self.rest_of_type(dtype)?;
        let tensor = literal::parse(&mut self.cursor, &ty)?;
        Ok(Arg::Host(self.program.push_host(HostSlot::Data(tensor))))
    }

    /// The sizes of a type, its `[` taken.
    fn rest_of_type(&mut self, dtype: DType) -> Result<Type, ParseError> {
        let start = self.cursor.clone();
        let sizes = self.items()?.into_iter().map(|item| match item {
            ShapeItem::Int(size) => u64::try_from(size).ok(),
            _ => None,
        });
        let dims: Option<Vec<u64>> = sizes.collect();
        let dims = dims.ok_or_else(|| start.error("sizes of 0 or more"))?;
        match Shape::new(&dims) {
            Ok(shape) => Ok(Type::new(dtype, shape)),
            Err(error) => Err(start.error_with("a shape", error.to_string())),
        }
    }

    fn dtype(&mut self) -> Result<DType, ParseError> {
        let start = self.cursor.clone();
        let dtype = match self.cursor.next() {
            Token::Word(word) => DType::from_name(word),
            _ => None,
        };
        dtype.ok_or_else(|| start.error("an element type"))
    }

    /// `:dtype` behind a name.
    fn claim(&mut self) -> Result<Option<DType>, ParseError> {
        if self.cursor.take(":") {
            self.dtype().map(Some)
        } else {
            Ok(None)
        }
    }

    pub(super) fn quoted(&mut self, expected: &str) -> Result<String, ParseError> {
        let start = self.cursor.clone();
        match self.cursor.next() {
            Token::Quoted(text) => Ok(text.into_owned()),
            _ => Err(start.error(expected)),
        }
    }

    /// The entries of a list, its `[` taken, up to its `]`.
    fn items(&mut self) -> Result<Vec<ShapeItem>, ParseError> {
        let mut items = Vec::new();
        self.cursor.skip_newlines();
        while !self.cursor.take("]") {
            if items.len() == MAX_ITEMS {
                return Err(self.cursor.error(format!("at most {MAX_ITEMS} entries")));
            }
            items.push(self.item()?);
            self.cursor.skip_newlines();
            if !self.cursor.take(",") {
                self.cursor
                    .expect("]")
                    .map_err(|_| self.cursor.error("`,` or `]`"))?;
                break;
            }
            self.cursor.skip_newlines();
        }
        Ok(items)
    }

    fn item(&mut self) -> Result<ShapeItem, ParseError> {
        match self.cursor.peek() {
            (Token::Mark("..."), after) => {
                self.cursor = after;
                return Ok(ShapeItem::Ellipsis);
            }
            (Token::Word("invalid"), after) => {
                self.cursor = after;
                return Ok(ShapeItem::Invalid(self.quoted("a text in quotes")?.into()));
            }
            _ => {}
        }
        let start = self.bound()?;
        if !self.cursor.take(":") {
            let expected = "a size, an index or a range";
            return start
                .map(ShapeItem::Int)
                .ok_or_else(|| self.cursor.error(expected));
        }
        let stop = self.bound()?;
        let step = if self.cursor.take(":") {
            self.bound()?
        } else {
            None
        };
        Ok(ShapeItem::Slice { start, stop, step })
    }

    /// An integer, if one comes.
    fn bound(&mut self) -> Result<Option<i64>, ParseError> {
        let (Token::Number(text), after) = self.cursor.peek() else {
            return Ok(None);
        };
        let value = text
            .parse()
            .map_err(|_| self.cursor.error("an integer of 64 bits"))?;
        self.cursor = after;
        Ok(Some(value))
    }
}
