//! The list of all ops, and how a name in a program finds its declaration.

use crate::op::{Form, OpDef, Origin};
use crate::{gadget, layout, modular, ntt, rlwe};
use cloakwork_ir::Generation;
use std::collections::HashMap;
use std::sync::OnceLock;

/// Every op, sorted by name.
pub static ALL: &[&OpDef] = &[
    &modular::abs::DEF,
    &modular::axis_modsum::DEF,
    &layout::contiguous::DEF,
    &layout::copy::DEF,
    &layout::device_to_host::DEF,
    &layout::empty::DEF,
    &layout::expand::DEF,
    &layout::flatten::DEF,
    &gadget::g_decomp::DEF,
    &gadget::g_decomp_full_q::DEF,
    &rlwe::gaussian::DEF,
    &layout::get_slice::DEF,
    &layout::host_to_device::DEF,
    &ntt::intt::DEF,
    &rlwe::key_switch::DEF,
    &modular::mod_op::DEF,
    &modular::modmul::DEF,
    &modular::modmul_axis_sum::DEF,
    &modular::modneg::DEF,
    &modular::modsum::DEF,
    &layout::moveaxis::DEF,
    &layout::new_reference::DEF,
    &ntt::ntt::DEF,
    &layout::pad_single_axis::DEF,
    &layout::permute::DEF,
    &layout::repeat_interleave::DEF,
    &layout::reshape::DEF,
    &layout::set_const_val::DEF,
    &layout::squeeze::DEF,
    &layout::take_along_axis::DEF,
    &rlwe::ternary::DEF,
    &rlwe::uniform_mod::DEF,
    &layout::unsqueeze::DEF,
    &layout::zeros::DEF,
];

/// Why a name and an argument count are no spelling of an op.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    /// No op has this name.
    #[error("no op is called `{name}`{}", advice(*suggestion))]
    Unknown {
        /// What came.
        name: String,
        /// The nearest name there is, if one is near.
        suggestion: Option<&'static str>,
    },
    /// The op takes other numbers of arguments.
    #[error("`{name}` takes {} arguments, got {got}", list(forms))]
    Count {
        /// The spelling.
        name: String,
        /// Arguments of the forms that exist, in order; the shortest form first.
        forms: Vec<&'static [&'static str]>,
        /// What came.
        got: usize,
    },
}

fn advice(suggestion: Option<&str>) -> String {
    suggestion.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

fn list(forms: &[&[&str]]) -> String {
    forms
        .iter()
        .map(|args| args.len().to_string())
        .collect::<Vec<_>>()
        .join(" or ")
}

type Spelling = (&'static OpDef, &'static Form);

fn spellings() -> &'static HashMap<&'static str, Vec<Spelling>> {
    static MAP: OnceLock<HashMap<&'static str, Vec<Spelling>>> = OnceLock::new();
    MAP.get_or_init(|| {
        let mut map: HashMap<_, Vec<_>> = HashMap::new();
        for def in ALL {
            for form in def.forms {
                map.entry(form.name).or_default().push((*def, form));
            }
        }
        map
    })
}

/// The declaration with this canonical name.
#[must_use]
pub fn find(name: &str) -> Option<&'static OpDef> {
    ALL.iter().copied().find(|def| def.name == name)
}

/// The declaration and spelling for a name as it stands in a program. Where two generations spell
/// a name with as many arguments, the program's generation decides.
///
/// # Errors
/// No such name, or not with so many arguments.
pub fn find_form(
    name: &str,
    arg_count: usize,
    generation: Generation,
) -> Result<(&'static OpDef, &'static Form), FormError> {
    let Some(candidates) = spellings().get(name) else {
        return Err(FormError::Unknown {
            name: name.to_owned(),
            suggestion: nearest(name),
        });
    };
    let fitting = || {
        candidates
            .iter()
            .filter(|(_, form)| form.args.len() == arg_count)
    };
    let own = fitting().find(|(_, form)| match form.origin {
        Origin::HealOnly(of) => of == generation,
        _ => true,
    });
    own.or_else(|| fitting().next())
        .copied()
        .ok_or_else(|| FormError::Count {
            name: name.to_owned(),
            forms: forms(candidates),
            got: arg_count,
        })
}

/// The arguments of each number that there is.
fn forms(candidates: &[Spelling]) -> Vec<&'static [&'static str]> {
    let mut forms: Vec<_> = candidates.iter().map(|(_, form)| form.args).collect();
    forms.sort_by_key(|args| args.len());
    forms.dedup_by_key(|args| args.len());
    forms
}

/// Longer names are no slips, and comparing them takes time.
const LONGEST_MISSPELT: usize = 64;

/// The spelling that differs in the fewest letters, if it is at most a third of them.
fn nearest(name: &str) -> Option<&'static str> {
    if name.len() > LONGEST_MISSPELT {
        return None;
    }
    let best = spellings()
        .keys()
        .map(|&known| (distance(name, known), known))
        .min()?;
    (best.0 * 3 <= name.len().max(3)).then_some(best.1)
}

/// Levenshtein's distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
        for (j, &y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}
