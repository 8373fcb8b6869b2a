//! Numbers of a few words: comparison with a prime, decimal digits out and in.

/// Words of a little-endian number; the last ones are missing bytes' zeros.
fn words(bytes: &[u8]) -> impl DoubleEndedIterator<Item = u64> + ExactSizeIterator + '_ {
    bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        for (to, from) in word.iter_mut().zip(chunk) {
            *to = *from;
        }
        u64::from_le_bytes(word)
    })
}

/// Whether a little-endian number, as wide as the prime, is below it.
pub(super) fn is_below(bytes: &[u8], prime: &[u64]) -> bool {
    if bytes.len() != prime.len() * 8 {
        return false;
    }
    // The highest word almost always decides: files have millions of numbers.
    let mut words = bytes.chunks_exact(8).zip(prime).rev();
    let differing = words.find_map(|(chunk, word)| {
        let own = chunk.try_into().map_or(u64::MAX, u64::from_le_bytes);
        (own != *word).then_some(own < *word)
    });
    differing.unwrap_or(false)
}

/// Whether a little-endian number is the prime.
pub(super) fn is_prime(bytes: &[u8], prime: &[u64]) -> bool {
    bytes.len() == prime.len() * 8 && words(bytes).eq(prime.iter().copied())
}

/// The bytes of a prime, little-endian.
pub(super) fn prime_bytes(prime: &[u64]) -> Vec<u8> {
    prime.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Nineteen decimal digits fit in a word.
const GROUP: u64 = 10_000_000_000_000_000_000;
const GROUP_DIGITS: usize = 19;

/// Decimal digits of a little-endian number.
pub(super) fn to_decimal(bytes: &[u8]) -> String {
    let mut left: Vec<u64> = words(bytes).collect();
    let mut groups = Vec::new();
    while left.iter().any(|&word| word != 0) {
        let mut remainder = 0u64;
        for word in left.iter_mut().rev() {
            let value = u128::from(remainder) << 64 | u128::from(*word);
            *word = (value / u128::from(GROUP)) as u64;
            remainder = (value % u128::from(GROUP)) as u64;
        }
        groups.push(remainder);
    }
    let Some(first) = groups.pop() else {
        return "0".to_owned();
    };
    groups
        .iter()
        .rev()
        .fold(first.to_string(), |mut text, group| {
            text.push_str(&format!("{group:0GROUP_DIGITS$}"));
            text
        })
}

/// The little-endian bytes of decimal digits, or `None` if it has other characters, zeros before
/// the number, or the number is not below the prime: each number is written in one way.
pub(super) fn from_decimal(text: &str, prime: &[u64]) -> Option<Vec<u8>> {
    // A prime of 384 bits has 116 digits: longer numbers are wrong or hostile.
    let padded = text.len() > 1 && text.starts_with('0');
    if text.is_empty() || padded || text.len() > prime.len() * 20 {
        return None;
    }
    let bytes = of_digits(text, 10, prime.len())?;
    is_below(&bytes, prime).then_some(bytes)
}

/// The little-endian bytes of digits, of this many words; none if it has other characters, or the
/// number is larger.
pub(crate) fn of_digits(text: &str, base: u32, words: usize) -> Option<Vec<u8>> {
    let mut number = vec![0u64; words];
    for digit in text.chars() {
        let mut carry = u64::from(digit.to_digit(base)?);
        for word in &mut number {
            let value = u128::from(*word) * u128::from(base) + u128::from(carry);
            *word = value as u64;
            carry = (value >> 64) as u64;
        }
        if carry != 0 {
            return None;
        }
    }
    Some(prime_bytes(&number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circom::Pairing;

    #[test]
    fn decimal_digits_read_back_up_to_the_prime() {
        let prime = Pairing::Bls12381.base_prime();
        let text = concat!(
            "4002409555221667393417789825735904156556882819939007885332",
            "058136124031650490837864442687629129015664037894272559786"
        );
        let bytes = from_decimal(text, prime).unwrap();
        assert_eq!(to_decimal(&bytes), text);
        assert_eq!(from_decimal(&to_decimal(&prime_bytes(prime)), prime), None);
        for text in [
            "0",
            "1",
            "9",
            "10",
            "10000000000000000000",
            "18446744073709551616",
        ] {
            assert_eq!(to_decimal(&from_decimal(text, prime).unwrap()), text);
        }
        for text in [
            "", "-1", "0x10", "1.5", " 1", "1 ", "+1", "1_0", "00", "01", "१",
        ] {
            assert_eq!(from_decimal(text, prime), None, "{text}");
        }
        assert_eq!(from_decimal(&"9".repeat(1000), prime), None);
    }
}
