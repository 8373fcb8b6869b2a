//! The inside of JSON strings: escapes out and in.

use super::cursor::Raw;
use super::fault::Fault;
use std::borrow::Cow;

/// The text of a string; borrowed unless it has escapes.
pub(super) fn decode(raw: Raw<'_>) -> Result<Cow<'_, str>, Fault> {
    if let Some(at) = raw.bytes.iter().position(|&c| c < 0x20) {
        let hint = "write it as an escape, such as \\n";
        let expected = "no control characters in a string";
        return Err(Fault::new(raw.start + at, expected, "one").hint(hint));
    }
    let text = std::str::from_utf8(raw.bytes).map_err(|error| {
        let at = raw.start + error.valid_up_to();
        Fault::new(at, "text in UTF-8", "other bytes")
    })?;
    if raw.escaped {
        unescape(text, raw.start).map(Cow::Owned)
    } else {
        Ok(Cow::Borrowed(text))
    }
}

fn unescape(text: &str, start: usize) -> Result<String, Fault> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (plain, escape) = rest.split_at(at);
        out.push_str(plain);
        let (c, length) = escaped(escape).ok_or_else(|| {
            let offset = start + text.len() - escape.len();
            let shown: String = escape.chars().take(6).collect();
            let got = format!("`{}`", cloakwork_ir::printable(&shown));
            Fault::new(offset, "an escape of JSON", &got)
        })?;
        out.push(c);
        rest = escape.get(length..).unwrap_or("");
    }
    out.push_str(rest);
    Ok(out)
}

/// The character of the escape at the start of a text, and the escape's length.
fn escaped(text: &str) -> Option<(char, usize)> {
    let c = match text.as_bytes().get(1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unicode(text),
        _ => return None,
    };
    Some((c, 2))
}

fn unicode(text: &str) -> Option<(char, usize)> {
    let high = hex(text.get(2..6)?)?;
    if let Some(c) = char::from_u32(high) {
        return Some((c, 6));
    }
    let low = text.get(6..12)?.strip_prefix("\\u").and_then(hex)?;
    let pair = char::decode_utf16([high as u16, low as u16]).next()?.ok()?;
    Some((pair, 12))
}

fn hex(digits: &str) -> Option<u32> {
    digits
        .bytes()
        .all(|c| c.is_ascii_hexdigit())
        .then(|| u32::from_str_radix(digits, 16).ok())?
}

/// A string between quotes, all of it ASCII, as Python's `json` writes it.
pub(super) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    out.push('"');
    out
}
