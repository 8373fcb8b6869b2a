//! Which of HEAL's ops its public runtimes can call, by the names of transcripts. Facts of its two
//! public op sets; names that only its interface has are in neither list.

use cloakwork_ir::Generation;

/// The public repository's runtime of 2025-06.
const FIRST: &[&str] = &[
    "_modmul_tcc",
    "_modmul_tct",
    "_modmul_ttc",
    "_modmul_ttt",
    "_modsum_tcc",
    "_modsum_tct",
    "_modsum_ttc",
    "_modsum_ttt",
    "axis_modsum",
    "contiguous",
    "device_to_host",
    "empty",
    "expand",
    "host_to_device",
    "ntt",
    "reshape",
    "squeeze",
    "unsqueeze",
];

/// The runtime that published transcripts are written for.
const LATER: &[&str] = &[
    "_mod_ct",
    "_mod_tc",
    "_mod_tt",
    "_modmul_tcc",
    "_modmul_tct",
    "_modmul_ttc",
    "_modmul_ttt",
    "_modneg_tc",
    "_modneg_tt",
    "_modsum_tcc",
    "_modsum_tct",
    "_modsum_ttc",
    "_modsum_ttt",
    "apply_g_decomp",
    "apply_g_decomp_relative_to_full_q",
    "axis_modsum",
    "contiguous",
    "device_to_host",
    "empty",
    "expand",
    "flatten",
    "get_slice",
    "host_to_device",
    "intt",
    "modmul_axis_sum",
    "moveaxis",
    "ntt",
    "pad_single_axis",
    "reshape",
    "set_const_val",
    "squeeze",
    "take_along_axis",
    "unsqueeze",
    "zeros",
];

/// The ops of a generation's public runtime, sorted.
#[must_use]
pub fn runtime_ops(generation: Generation) -> &'static [&'static str] {
    match generation {
        Generation::First => FIRST,
        Generation::Later => LATER,
    }
}

#[cfg(test)]
mod tests {
    use super::runtime_ops;
    use crate::{ALL, Origin};
    use cloakwork_ir::Generation;
    use std::collections::BTreeSet;

    /// In HEAL's interface, and in no public runtime.
    const NOWHERE: [&str; 4] = ["abs", "modneg_tc", "modneg_tt", "new_reference"];

    #[test]
    fn every_spelling_of_heals_is_in_a_runtime_or_known_to_be_in_none() {
        let forms = ALL.iter().flat_map(|def| def.forms);
        let heals = forms.filter(|form| matches!(form.origin, Origin::Heal | Origin::HealOnly(_)));
        let declared: BTreeSet<&str> = heals.map(|form| form.name).collect();
        let (first, later) = (
            runtime_ops(Generation::First),
            runtime_ops(Generation::Later),
        );
        assert!(first.is_sorted() && later.is_sorted());
        let known: BTreeSet<&str> = [first, later, &NOWHERE].concat().into_iter().collect();
        assert_eq!(declared, known);
        assert!(first.iter().all(|name| later.contains(name)));
        assert!(!NOWHERE.iter().any(|name| later.contains(name)));
    }
}
