//! A program in exactly the ops that a device implements.

use crate::error::Refused;
use crate::layout::Layout;
use crate::placement::{self, Facts, Suited, Why, refused_steps};
use crate::{Options, PlanError};
use cloakwork_ir::Program;
use cloakwork_passes::recognized;
use cloakwork_verify::{Verified, with_frees};
use std::sync::Arc;

/// A program for one device.
#[derive(Clone, Debug)]
pub struct Specialized {
    /// The program. It names no other device than the program that it was made from.
    pub program: Program,
    /// The steps, of the program that it was made from, that stay although the device lacks a
    /// kernel of them.
    pub left: Vec<Refused>,
}

/// The program in the ops of the device for which the options plan: expansions of ops that it has
/// become these ops, those of vendors too, and ops that it lacks are expanded, whatever that costs.
///
/// # Errors
/// A device that there is not, or a mistake in a declaration.
pub fn specialize(verified: &Arc<Verified>, options: &Options) -> Result<Specialized, PlanError> {
    let options = Options {
        fallback: false,
        ..placement::bound(options, verified)?
    };
    let wanted = options.gpus.unwrap_or(options.device);
    let (driver, _) = options.drivers.of(wanted);
    let has = |kernel: &str| driver.rows().all().iter().any(|row| row.kernel == kernel);
    let lowered = verified.lowered()?;
    // Expansions are undone first, as far as that goes.
    let mut now = lowered;
    while let Some(made) = recognized(&now, &|def| has(def.name))? {
        now = Arc::new(made);
    }
    let suited = Suited::of(&now, &options)?;
    let facts = Facts::of(&suited.verified, &Layout::default(), &options)?;
    // Checks and zeros are no ops of the program.
    let mut lacking = facts.elsewhere(&suited, &options);
    lacking.retain(|entry| !matches!(entry.why, Why::NoCheck(_) | Why::NoFill(_)));
    let left = refused_steps(&suited.verified, &lacking);
    Ok(Specialized {
        program: with_frees(Program::clone(suited.verified.program())),
        left,
    })
}
