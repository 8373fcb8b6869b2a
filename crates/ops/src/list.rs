//! The list of all ops, and how a name in a program finds its declaration.

use crate::custom::known_by_name;
use crate::op::{Form, OpDef, Origin};
use crate::{
    creation, curve, elementwise, field, gadget, hash, layout, linear, modular, ntt, poly,
    reduction, rlwe, rns, sorting,
};
use cloakwork_ir::Generation;
use cloakwork_process::Once;
use std::collections::HashMap;

/// Every op, sorted by name.
pub static ALL: &[&OpDef] = &[
    &elementwise::abs::DEF,
    &hash::transcript::ABSORB,
    &hash::transcript::ABSORB_WRITE,
    &elementwise::functions::ACOS,
    &elementwise::functions::ACOSH,
    &elementwise::arithmetic::ADD,
    &reduction::sums::EVERY,
    &reduction::sums::SOME,
    &creation::arange::DEF,
    &reduction::extremes::ARGMAX,
    &reduction::extremes::ARGMIN,
    &sorting::order::ARGSORT,
    &poly::as_repr::DEF,
    &elementwise::functions::ASIN,
    &elementwise::functions::ASINH,
    &elementwise::assert_true::DEF,
    &elementwise::convert::ASTYPE,
    &elementwise::functions::ATAN,
    &elementwise::functions::ATAN2,
    &elementwise::functions::ATANH,
    &rlwe::automorphism::DEF,
    &modular::axis_modsum::DEF,
    &rns::base_convert::DEF,
    &poly::inverse::DEF,
    &elementwise::bitwise::BITWISE_AND,
    &elementwise::bitwise::BITWISE_INVERT,
    &elementwise::bitwise::BITWISE_LEFT_SHIFT,
    &elementwise::bitwise::BITWISE_OR,
    &elementwise::bitwise::BITWISE_RIGHT_SHIFT,
    &elementwise::bitwise::BITWISE_XOR,
    &hash::uniform::BLIND,
    &layout::broadcast_to::DEF,
    &creation::call_function::DEF,
    &elementwise::rounding::CEIL,
    &hash::transcript::CHALLENGE,
    &linear::factor::CHOLESKY,
    &elementwise::arithmetic::CONJ,
    &layout::contiguous::DEF,
    &layout::copy::DEF,
    &elementwise::arithmetic::COPYSIGN,
    &elementwise::functions::COS,
    &elementwise::functions::COSH,
    &reduction::sums::COUNT_NONZERO,
    &reduction::cumulative::CUMULATIVE_PROD,
    &reduction::cumulative::CUMULATIVE_SUM,
    &curve::curve_mul::DEF,
    &layout::device_to_host::DEF,
    &poly::powers::DISTRIBUTE,
    &elementwise::arithmetic::DIVIDE,
    &linear::eigen::EIG,
    &linear::eigen::EIGH,
    &linear::eigen::EIGVALS,
    &linear::eigen::EIGVALSH,
    &layout::empty::DEF,
    &elementwise::comparison::EQUAL,
    &poly::evaluate::DEF,
    &elementwise::functions::EXP,
    &layout::expand::DEF,
    &elementwise::functions::EXPM1,
    &linear::fourier::FFT,
    &poly::ntt::DEF,
    &field::pow::DEF,
    &layout::flatten::DEF,
    &elementwise::rounding::FLOOR,
    &elementwise::arithmetic::FLOOR_DIVIDE,
    &field::canonical::FROM,
    &gadget::g_decomp::DEF,
    &gadget::g_decomp_full_q::DEF,
    &rlwe::gaussian::DEF,
    &layout::get_slice::DEF,
    &elementwise::comparison::GREATER,
    &elementwise::comparison::GREATER_EQUAL,
    &layout::host_to_device::DEF,
    &rlwe::hybrid_key_switch::DEF,
    &elementwise::arithmetic::HYPOT,
    &linear::fourier::IFFT,
    &elementwise::arithmetic::IMAG,
    &poly::interpolate::DEF,
    &ntt::intt::DEF,
    &linear::systems::INV,
    &linear::fourier::IRFFT,
    &elementwise::comparison::ISFINITE,
    &elementwise::comparison::ISINF,
    &elementwise::comparison::ISNAN,
    &poly::division::DEF,
    &hash::keccak256::DEF,
    &rlwe::key_switch::DEF,
    &elementwise::comparison::LESS,
    &elementwise::comparison::LESS_EQUAL,
    &elementwise::functions::LOG,
    &elementwise::functions::LOG10,
    &elementwise::functions::LOG1P,
    &elementwise::functions::LOG2,
    &elementwise::functions::LOGADDEXP,
    &elementwise::comparison::LOGICAL_AND,
    &elementwise::comparison::LOGICAL_NOT,
    &elementwise::comparison::LOGICAL_OR,
    &elementwise::comparison::LOGICAL_XOR,
    &poly::lookup::ROWS_DEF,
    &linear::matmul::DEF,
    &reduction::extremes::MAX,
    &elementwise::arithmetic::MAXIMUM,
    &reduction::extremes::MIN,
    &elementwise::arithmetic::MINIMUM,
    &modular::mod_op::DEF,
    &rns::mod_down::DEF,
    &rns::mod_up::DEF,
    &modular::modmul::DEF,
    &modular::modmul_axis_sum::DEF,
    &modular::modmuladd::DEF,
    &modular::modneg::DEF,
    &modular::modsum::DEF,
    &layout::moveaxis::DEF,
    &curve::msm::DEF,
    &elementwise::arithmetic::MULTIPLY,
    &elementwise::arithmetic::NEGATIVE,
    &layout::new_reference::DEF,
    &elementwise::arithmetic::NEXTAFTER,
    &sorting::nonzero::DEF,
    &elementwise::comparison::NOT_EQUAL,
    &ntt::ntt::DEF,
    &layout::pad_single_axis::DEF,
    &layout::permute::DEF,
    &poly::lookup::INPUT_DEF,
    &poly::lookup::TABLE_DEF,
    &creation::random::NORMAL,
    &creation::random::UNIFORM,
    &hash::poseidon::DEF,
    &elementwise::arithmetic::POSITIVE,
    &elementwise::arithmetic::POW,
    &poly::powers::POWERS,
    &reduction::sums::PROD,
    &linear::factor::QR,
    &elementwise::arithmetic::REAL,
    &elementwise::arithmetic::RECIPROCAL,
    &rlwe::relinearize::DEF,
    &elementwise::arithmetic::REMAINDER,
    &layout::repeat_interleave::DEF,
    &rns::rescale::DEF,
    &layout::reshape::DEF,
    &linear::fourier::RFFT,
    &elementwise::rounding::ROUND,
    &poly::scan::DEF,
    &sorting::scatter::DEF,
    &sorting::searchsorted::DEF,
    &layout::set_const_val::DEF,
    &elementwise::arithmetic::SIGN,
    &elementwise::comparison::SIGNBIT,
    &elementwise::functions::SIN,
    &elementwise::functions::SINH,
    &layout::slice::DEF,
    &linear::systems::SLOGDET,
    &linear::systems::SOLVE,
    &sorting::order::SORT,
    &poly::sparse::DEF,
    &elementwise::functions::SQRT,
    &elementwise::arithmetic::SQUARE,
    &layout::squeeze::DEF,
    &elementwise::arithmetic::SUBTRACT,
    &reduction::sums::SUM,
    &linear::factor::SVD,
    &linear::factor::SVDVALS,
    &layout::take_along_axis::DEF,
    &elementwise::functions::TAN,
    &elementwise::functions::TANH,
    &rlwe::ternary::DEF,
    &field::canonical::TO,
    &hash::transcript::FINISH,
    &hash::transcript::NEW,
    &hash::transcript::SQUEEZE,
    &layout::transpose::DEF,
    &elementwise::rounding::TRUNC,
    &hash::uniform::DEF,
    &rlwe::uniform_mod::DEF,
    &layout::unsqueeze::DEF,
    &elementwise::convert::WHERE,
    &layout::zeros::DEF,
];

/// Why a name and an argument count are no spelling of an op.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    /// No op has this name.
    #[error("unknown op `{name}`{}", advice(*suggestion))]
    Unknown {
        /// The name in the program.
        name: String,
        /// The nearest name of an op, if one is near.
        suggestion: Option<&'static str>,
    },
    /// The op takes other numbers of arguments.
    #[error("`{name}` takes {} arguments, got {got}", list(forms))]
    Count {
        /// The spelling.
        name: String,
        /// Arguments of the forms that exist, in order; the shortest form first.
        forms: Vec<&'static [&'static str]>,
        /// The number of arguments in the program.
        got: usize,
    },
}

/// Advice for a name that is near no op's.
pub const VENDORS_OP: &str = "a vendor's op is known once CLOAKWORK_DRIVERS names its driver \
                              (libmychip.so) or its declarations (libmychip.toml)";

fn advice(suggestion: Option<&str>) -> String {
    match suggestion {
        Some(name) => format!("; did you mean `{name}`?"),
        None => format!("; {VENDORS_OP}"),
    }
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
    static MAP: Once<HashMap<&'static str, Vec<Spelling>>> = Once::new();
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
    match ALL.binary_search_by_key(&name, |def| def.name) {
        Ok(place) => ALL.get(place).copied(),
        Err(_) => known_by_name(name),
    }
}

/// Whether a name is a spelling of an op of Cloakwork's own.
pub(crate) fn is_own(name: &str) -> bool {
    spellings().contains_key(name)
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
        return custom_form(name, arg_count);
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

/// The one spelling of a vendor's op.
fn custom_form(name: &str, arg_count: usize) -> Result<Spelling, FormError> {
    let known = known_by_name(name).and_then(|def| Some((def, def.forms.first()?)));
    let (def, form) = known.ok_or_else(|| FormError::Unknown {
        name: name.to_owned(),
        suggestion: nearest(name),
    })?;
    match form.args.len() == arg_count {
        true => Ok((def, form)),
        false => Err(FormError::Count {
            name: name.to_owned(),
            forms: vec![form.args],
            got: arg_count,
        }),
    }
}

/// The arguments of one spelling for each number of arguments.
fn forms(candidates: &[Spelling]) -> Vec<&'static [&'static str]> {
    let mut forms: Vec<_> = candidates.iter().map(|(_, form)| form.args).collect();
    forms.sort_by_key(|args| args.len());
    forms.dedup_by_key(|args| args.len());
    forms
}

/// Longer names are not typing errors, and comparing them takes time.
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
