//! Text from outside as messages show it.

/// Characters that a message shows of one name.
const SHOWN_CHARS: usize = 60;

/// Text with control characters as escapes, the rest as it is, so that no file writes to a terminal
/// through a message.
#[must_use]
pub fn printable(text: &str) -> String {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '"' | '\'' | '\\') {
            out.push(c);
        } else {
            out.extend(c.escape_debug());
        }
    }
    out
}

/// The same of a name of any length: in messages it stays short.
///
/// ```
/// assert_eq!(cloakwork_ir::shortened("upload\u{1b}[2J"), r"upload\u{1b}[2J");
/// assert_eq!(cloakwork_ir::shortened(&"x".repeat(1000)).len(), 63);
/// ```
#[must_use]
pub fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        None => printable(text),
        Some((end, _)) => format!("{}...", printable(text.get(..end).unwrap_or_default())),
    }
}
