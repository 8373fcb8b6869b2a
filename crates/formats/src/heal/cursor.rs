//! A pull reader for JSON text in memory. Nothing is built: the caller asks for what it expects,
//! and hears at which byte something else stands. `//` comments count as white space.
//!
//! Own rather than serde_json for three needs together: payload strings of many megabytes are
//! passed by one search for their end and handed on as ranges, keys come in any order without a
//! tree in between, and errors know the byte, the step and the argument.

use super::describe::{describe, number_length};
use super::fault::Fault;
use super::text;
use std::borrow::Cow;

/// The depth of nested values in skipped parts. Other parts nest as deep as their form.
const MAX_DEPTH: u32 = 128;

/// The kind of the next value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    Text,
    Number,
    Word,
}

/// The inside of a string as it stands in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raw<'a> {
    /// The byte after the opening quote.
    pub(crate) start: usize,
    /// The bytes between the quotes.
    pub(crate) bytes: &'a [u8],
    /// Whether there are backslashes among them.
    pub(crate) escaped: bool,
}

/// A place in a text.
pub(crate) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        // Some editors put a byte order mark before UTF-8.
        let marked = text.starts_with(b"\xef\xbb\xbf");
        let at = if marked { 3 } else { 0 };
        Self { text, at }
    }

    /// How many bytes it has passed.
    pub(crate) fn passed(&self) -> usize {
        self.at
    }

    /// The byte that the next value begins at.
    pub(crate) fn at(&mut self) -> usize {
        self.blank();
        self.at
    }

    /// Goes back to a place that [`Cursor::at`] gave.
    pub(crate) fn seek(&mut self, at: usize) {
        self.at = at;
    }

    /// The kind of the next value; an error if none comes.
    pub(crate) fn peek(&mut self) -> Result<Kind, Fault> {
        self.blank();
        match self.byte() {
            Some(b'{') => Ok(Kind::Object),
            Some(b'[') => Ok(Kind::Array),
            Some(b'"') => Ok(Kind::Text),
            Some(b'-' | b'0'..=b'9') => Ok(Kind::Number),
            Some(b't' | b'f' | b'n') => Ok(Kind::Word),
            _ => Err(self.fault("a value")),
        }
    }

    /// Reads an object; `field` must take each value, and gets the key before it.
    pub(crate) fn object(
        &mut self,
        mut field: impl FnMut(&mut Self, &str) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.expect(b'{', "an object")?;
        if self.eat(b'}') {
            return Ok(());
        }
        loop {
            self.blank();
            let key = if self.byte() == Some(b'"') {
                self.string()?
            } else {
                return Err(self.fault("a key in double quotes"));
            };
            self.expect(b':', "`:`")?;
            field(self, &key).map_err(|fault| fault.within_key(&key))?;
            if !self.eat(b',') {
                return self.expect(b'}', "`,` or `}`");
            }
        }
    }

    /// Reads an array; `item` must take each value, and gets its index.
    pub(crate) fn array(
        &mut self,
        mut item: impl FnMut(&mut Self, usize) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.expect(b'[', "an array")?;
        if self.eat(b']') {
            return Ok(());
        }
        for index in 0.. {
            item(self, index).map_err(|fault| fault.within_index(index))?;
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b']', "`,` or `]`")
    }

    /// Reads a string.
    pub(crate) fn string(&mut self) -> Result<Cow<'a, str>, Fault> {
        let raw = self.raw_string()?;
        text::decode(raw)
    }

    /// Finds the end of a string with any contents.
    pub(crate) fn raw_string(&mut self) -> Result<Raw<'a>, Fault> {
        self.expect(b'"', "a string")?;
        let start = self.at;
        let mut escaped = false;
        loop {
            let rest = self.text.get(self.at..).unwrap_or(&[]);
            let found = memchr::memchr2(b'"', b'\\', rest);
            self.at += found.unwrap_or(rest.len());
            match self.byte() {
                Some(b'"') => break,
                Some(_) => {
                    escaped = true;
                    self.at += 2;
                }
                None => {
                    let got = "the end of the file";
                    let fault = Fault::new(start - 1, "a string that ends", got);
                    return Err(fault.hint("the file seems cut short"));
                }
            }
        }
        let bytes = self.text.get(start..self.at).unwrap_or(&[]);
        self.at += 1;
        Ok(Raw {
            start,
            bytes,
            escaped,
        })
    }

    /// Reads a number, as text.
    pub(crate) fn number(&mut self) -> Result<&'a str, Fault> {
        self.blank();
        let rest = self.text.get(self.at..).unwrap_or(&[]);
        let length = number_length(rest).ok_or_else(|| self.fault("a number"))?;
        self.at += length;
        let digits = rest.get(..length).unwrap_or(&[]);
        // Digits, signs, points and exponents are ASCII.
        Ok(std::str::from_utf8(digits).unwrap_or(""))
    }

    /// Reads `true`, `false` or `null`.
    pub(crate) fn word(&mut self) -> Result<Option<bool>, Fault> {
        self.blank();
        let rest = self.text.get(self.at..).unwrap_or(&[]);
        let words = [
            (&b"null"[..], None),
            (b"true", Some(true)),
            (b"false", Some(false)),
        ];
        for (word, value) in words {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.fault("true, false or null"))
    }

    /// Passes a value of any kind.
    pub(crate) fn skip(&mut self) -> Result<(), Fault> {
        self.skip_within(0)
    }

    fn skip_within(&mut self, depth: u32) -> Result<(), Fault> {
        let kind = self.peek()?;
        if depth >= MAX_DEPTH {
            let expected = format!("at most {MAX_DEPTH} levels");
            return Err(Fault::new(self.at, &expected, "deeper nesting"));
        }
        match kind {
            Kind::Object => self.object(|cursor, _| cursor.skip_within(depth + 1)),
            Kind::Array => self.array(|cursor, _| cursor.skip_within(depth + 1)),
            Kind::Text => self.string().map(drop),
            Kind::Number => self.number().map(drop),
            Kind::Word => self.word().map(drop),
        }
    }

    /// Passes a value of any kind and says in words what it was.
    pub(crate) fn skip_described(&mut self) -> Result<String, Fault> {
        let described = self.describe();
        self.skip()?;
        Ok(described)
    }

    /// Succeeds at the end of the text.
    pub(crate) fn end(&mut self) -> Result<(), Fault> {
        self.blank();
        if self.byte().is_none() {
            Ok(())
        } else {
            Err(self.fault("the end of the file"))
        }
    }

    /// An error at the next value.
    pub(crate) fn fault(&mut self, expected: &str) -> Fault {
        self.blank();
        let got = self.describe();
        let fault = Fault::new(self.at, expected, &got);
        let rest = self.text.get(self.at..).unwrap_or(&[]);
        match rest.first() {
            None => fault.hint("the file seems cut short"),
            Some(b'.') if rest.starts_with(b"...") => {
                fault.hint("`...` marks what an excerpt leaves out; a file must be whole")
            }
            Some(b']' | b'}') => fault.hint("a comma may not stand before a closing bracket"),
            _ => fault,
        }
    }

    /// The next value, in words.
    fn describe(&mut self) -> String {
        self.blank();
        describe(self.text.get(self.at..).unwrap_or(&[]))
    }

    fn byte(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        self.blank();
        let found = self.byte() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8, name: &str) -> Result<(), Fault> {
        if self.eat(byte) {
            Ok(())
        } else {
            Err(self.fault(name))
        }
    }

    /// Passes white space and comments. Files are indented: runs of spaces go by eights.
    fn blank(&mut self) {
        loop {
            match self.byte() {
                Some(b' ') => {
                    while self.text.get(self.at..self.at + 8) == Some(b"        ") {
                        self.at += 8;
                    }
                    while self.byte() == Some(b' ') {
                        self.at += 1;
                    }
                }
                Some(b'\n' | b'\r' | b'\t') => self.at += 1,
                Some(b'/') if self.text.get(self.at + 1) == Some(&b'/') => {
                    let rest = self.text.get(self.at..).unwrap_or(&[]);
                    self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }
}
