//! Whatever a file says, lowering it ends.

use super::lowering::lowered;
use cloakwork_formats::zk::parse;
use proptest::prelude::*;

pub const EXAMPLE: &str = include_str!("../../../../examples/zk/windows.json");
const EVERYTHING: &str = include_str!("../../../formats/tests/fixtures/instructions.txt");

proptest! {
    #[test]
    fn no_change_of_a_file_makes_lowering_panic(
        at in 0usize..5000, byte: u8, cut in 0usize..5000, form in 0usize..2,
    ) {
        let mut bytes = [EVERYTHING, EXAMPLE][form].as_bytes().to_vec();
        let length = bytes.len();
        bytes[at % length] = byte;
        if cut % 3 == 0 {
            bytes.truncate(cut % length);
        }
        if let Ok(parsed) = parse(&bytes) {
            lowered(&parsed.ast);
        }
    }
}
