//! The text as tokens, and where a mistake lies.

use super::is_name_char;
use std::borrow::Cow;

/// Where a text stops being a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: expected {expected}, got {got}")]
pub struct ParseError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The tokens that could stand there.
    pub expected: String,
    /// The token that stands there.
    pub got: String,
}

/// One token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    /// `%name`.
    Name(Cow<'t, str>),
    /// Letters and digits, a letter first.
    Word(&'t str),
    /// Begins with a digit or a minus and a digit.
    Number(&'t str),
    /// In quotes.
    Quoted(Cow<'t, str>),
    /// A mark of one or more characters.
    Mark(&'static str),
    /// The end of a line.
    Newline,
    /// The end of the text.
    End,
    /// A character that begins no token.
    Stray(char),
    /// Quotes that do not close, or an unknown escape.
    BadQuotes,
}

const MARKS: [&str; 9] = ["->", "...", "=", ",", ":", "[", "]", "{", "}"];

/// A place in the text.
#[derive(Clone)]
pub(super) struct Cursor<'t> {
    text: &'t str,
    /// The rest of the text.
    rest: &'t str,
}

impl<'t> Cursor<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { text, rest: text }
    }

    /// The next token, and the cursor behind it.
    pub fn peek(&self) -> (Token<'t>, Self) {
        let mut after = self.clone();
        let token = after.next();
        (token, after)
    }

    /// Takes the next token.
    pub fn next(&mut self) -> Token<'t> {
        self.skip_blank();
        let Some(first) = self.rest.chars().next() else {
            return Token::End;
        };
        if first == '\n' {
            self.advance(1);
            return Token::Newline;
        }
        if first == '"' {
            return self.quoted().map_or(Token::BadQuotes, Token::Quoted);
        }
        if first == '%' {
            self.advance(1);
            return self.name();
        }
        if first.is_ascii_digit() || (first == '-' && self.digit_follows()) {
            let is_part = |c: char| is_name_char(c) || c == '+' || c == '-';
            return Token::Number(self.take_while(is_part));
        }
        if let Some(mark) = MARKS.into_iter().find(|mark| self.rest.starts_with(mark)) {
            self.advance(mark.len());
            return Token::Mark(mark);
        }
        if is_name_char(first) {
            return Token::Word(self.take_while(is_name_char));
        }
        self.advance(first.len_utf8());
        Token::Stray(first)
    }

    /// Skips line ends.
    pub fn skip_newlines(&mut self) {
        while let (Token::Newline, after) = self.peek() {
            *self = after;
        }
    }

    /// Takes this mark, if it comes.
    pub fn take(&mut self, mark: &'static str) -> bool {
        let (token, after) = self.peek();
        let comes = token == Token::Mark(mark);
        if comes {
            *self = after;
        }
        comes
    }

    /// Takes this mark.
    pub fn expect(&mut self, mark: &'static str) -> Result<(), ParseError> {
        if self.take(mark) {
            Ok(())
        } else {
            Err(self.error(format!("`{mark}`")))
        }
    }

    /// An error about the next token.
    pub fn error(&self, expected: impl Into<String>) -> ParseError {
        let (token, _) = self.peek();
        self.error_with(expected, describe(&token))
    }

    /// An error about this place.
    pub fn error_with(&self, expected: impl Into<String>, got: impl Into<String>) -> ParseError {
        let mut at = self.clone();
        at.skip_blank();
        let before = self
            .text
            .get(..self.text.len() - at.rest.len())
            .unwrap_or("");
        let line_start = before.rfind('\n').map_or(0, |index| index + 1);
        ParseError {
            line: before.matches('\n').count() + 1,
            column: before.get(line_start..).unwrap_or("").chars().count() + 1,
            expected: expected.into(),
            got: got.into(),
        }
    }

    /// Skips blanks and comments, not line ends.
    fn skip_blank(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r']);
        if self.rest.starts_with(';') {
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            self.advance(end);
        }
    }

    fn advance(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or("");
    }

    fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    fn digit_follows(&self) -> bool {
        self.rest.chars().nth(1).is_some_and(|c| c.is_ascii_digit())
    }

    fn name(&mut self) -> Token<'t> {
        if self.rest.starts_with('"') {
            return self.quoted().map_or(Token::BadQuotes, Token::Name);
        }
        let name = self.take_while(is_name_char);
        if name.is_empty() {
            Token::Stray('%')
        } else {
            Token::Name(Cow::Borrowed(name))
        }
    }

    /// A text in quotes; `\"`, `\\`, `\n` and `\u{hex}` stand for what they do in Rust.
    fn quoted(&mut self) -> Option<Cow<'t, str>> {
        self.advance(1);
        let plain = self.take_while(|c| !matches!(c, '"' | '\\' | '\n'));
        if self.rest.starts_with('"') {
            self.advance(1);
            return Some(Cow::Borrowed(plain));
        }
        let mut text = plain.to_owned();
        let mut chars = self.rest.chars();
        loop {
            match chars.next()? {
                '"' => break,
                '\n' => return None,
                '\\' => text.push(escaped(&mut chars)?),
                other => text.push(other),
            }
        }
        self.rest = chars.as_str();
        Some(Cow::Owned(text))
    }
}

/// The character that stands behind a backslash.
fn escaped(chars: &mut std::str::Chars) -> Option<char> {
    match chars.next()? {
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        '0' => Some('\0'),
        '\\' => Some('\\'),
        '\'' => Some('\''),
        '"' => Some('"'),
        'u' => {
            let (code, rest) = chars.as_str().strip_prefix('{')?.split_once('}')?;
            *chars = rest.chars();
            char::from_u32(u32::from_str_radix(code, 16).ok()?)
        }
        _ => None,
    }
}

fn describe(token: &Token) -> String {
    match token {
        Token::Name(name) => format!("`%{name}`"),
        Token::Word(text) | Token::Number(text) => format!("`{text}`"),
        Token::Quoted(text) => format!("{text:?}"),
        Token::Mark(mark) => format!("`{mark}`"),
        Token::Newline => "the end of the line".to_owned(),
        Token::End => "the end of the text".to_owned(),
        Token::Stray(c) => format!("`{c}`"),
        Token::BadQuotes => "quotes that do not close, or an unknown escape".to_owned(),
    }
}
