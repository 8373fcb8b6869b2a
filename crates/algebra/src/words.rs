//! Natural numbers as words of 64 bits, the lowest first, while the compiler runs.

/// Reads hexadecimal digits into as many words as asked for; higher words must be zero.
///
/// # Panics
/// The compilation fails for a character that is not a digit, and for a number that does not fit.
#[must_use]
pub const fn hex<const WORDS: usize>(digits: &str) -> [u64; WORDS] {
    let digits = digits.as_bytes();
    let mut words = [0; WORDS];
    let mut at = 0;
    while at < digits.len() {
        let digit = match digits[at] {
            c @ b'0'..=b'9' => c - b'0',
            c @ b'a'..=b'f' => c - b'a' + 10,
            _ => 16,
        };
        assert!(digit < 16, "no hexadecimal digit");
        let place = digits.len() - 1 - at;
        assert!(place / 16 < WORDS, "more digits than the words hold");
        words[place / 16] |= (digit as u64) << (place % 16 * 4);
        at += 1;
    }
    words
}

/// How many bits a number has.
#[must_use]
pub const fn bits(words: &[u64]) -> u32 {
    let mut at = words.len();
    while at > 0 {
        at -= 1;
        if words[at] != 0 {
            return at as u32 * 64 + 64 - words[at].leading_zeros();
        }
    }
    0
}

/// The exponent of 2 in an odd number less 1.
#[must_use]
pub const fn two_adicity(odd: &[u64]) -> u32 {
    let first = odd[0] - 1;
    if first != 0 {
        return first.trailing_zeros();
    }
    let mut at = 1;
    while odd[at] == 0 {
        at += 1;
    }
    at as u32 * 64 + odd[at].trailing_zeros()
}
