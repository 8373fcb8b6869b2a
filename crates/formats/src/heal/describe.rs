//! Descriptions of values at a place of a text, in words and by JSON's grammar of numbers.

/// The value at the start of a text, in words.
pub(super) fn describe(rest: &[u8]) -> String {
    let shown = |from: usize, length: usize| {
        let bytes = rest.get(from..from + length.min(40)).unwrap_or(&[]);
        let ellipsis = if length > 40 { "..." } else { "" };
        format!(
            "{}{ellipsis}",
            cloakwork_ir::printable(&String::from_utf8_lossy(bytes))
        )
    };
    match rest.first() {
        None => "the end of the file".to_owned(),
        Some(b'{') => "an object".to_owned(),
        Some(b'[') => "an array".to_owned(),
        Some(b'"') => {
            let inside = rest.get(1..).unwrap_or(&[]);
            let length = memchr::memchr(b'"', inside).unwrap_or(inside.len());
            format!("the string \"{}\"", shown(1, length))
        }
        Some(b'-' | b'0'..=b'9') => match number_length(rest) {
            Some(length) => format!("the number {}", shown(0, length)),
            None => format!("`{}`", shown(0, 1)),
        },
        Some(_) => {
            let word = rest
                .iter()
                .take_while(|c| c.is_ascii_alphanumeric())
                .count();
            format!("`{}`", shown(0, word.max(1)))
        }
    }
}

/// How long the number at the start of a text is, by JSON's grammar.
pub(crate) fn number_length(text: &[u8]) -> Option<usize> {
    let digits = |from: usize| {
        text.get(from..)
            .unwrap_or(&[])
            .iter()
            .take_while(|c| c.is_ascii_digit())
            .count()
    };
    let mut at = usize::from(text.first() == Some(&b'-'));
    let whole = digits(at);
    if whole == 0 || (whole > 1 && text.get(at) == Some(&b'0')) {
        return None;
    }
    at += whole;
    if text.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        at += (fraction > 0).then_some(1 + fraction)?;
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        let signed = usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(at + 1 + signed);
        at += (exponent > 0).then_some(1 + signed + exponent)?;
    }
    Some(at)
}
