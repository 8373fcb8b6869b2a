//! The ends of a program by name: what it uploads, what it downloads, and the same program with
//! fresh data at its ends.

use cloakwork_ir::{Arg, HostId, HostSlot, Op, Program, Step, Symbol, Type};
use cloakwork_ops::named;
use std::collections::{HashMap, HashSet};

const UPLOAD: &str = named::HOST_TO_DEVICE.name;
const DOWNLOAD: &str = named::DEVICE_TO_HOST.name;

/// A step that uploads or downloads.
struct End {
    op: Op,
    host: HostId,
    tensor: Symbol,
}

/// The steps of an op between the host and a device, in order.
fn ends<'p>(program: &'p Program, name: &'static str) -> impl Iterator<Item = End> + 'p {
    program.steps.iter().filter_map(move |step| {
        let Step::Op(op) = step else { return None };
        if program.text_name(op.name) != name {
            return None;
        }
        match (program.args(op).first(), program.out(op)) {
            (Some(Arg::Host(host)), Some(Arg::Device(tensor, _)))
            | (Some(Arg::Device(tensor, _)), Some(Arg::Host(host))) => Some(End {
                op: *op,
                host: *host,
                tensor: *tensor,
            }),
            _ => None,
        }
    })
}

/// The first upload of each tensor whose data is in the program.
fn first_uploads(program: &Program) -> impl Iterator<Item = (End, Type)> + '_ {
    let mut seen = HashSet::new();
    ends(program, UPLOAD)
        .filter(move |end| seen.insert(end.tensor))
        .filter_map(|end| match program.host(end.host)? {
            HostSlot::Data(data) => {
                let ty = data.ty();
                Some((end, ty))
            }
            _ => None,
        })
}

/// Names and types of the tensors that a program uploads data of its own to, each once: what
/// [`opened`] can make inputs.
#[must_use]
pub fn uploads(program: &Program) -> Vec<(String, Type)> {
    let named = |(end, ty): (End, Type)| (program.symbol_name(end.tensor).to_owned(), ty);
    first_uploads(program).map(named).collect()
}

/// The names of all downloads, in order: an output's own, else the tensor's. Where a program
/// downloads a tensor of one name again, the name goes on with `#2`, `#3`, ...
#[must_use]
pub fn downloads(program: &Program) -> Vec<String> {
    let mut counts: HashMap<Symbol, usize> = HashMap::new();
    let named = |end: End| match program.host(end.host) {
        Some(HostSlot::Output { name }) => name.clone(),
        _ => {
            let count = counts.entry(end.tensor).or_default();
            *count += 1;
            let name = program.symbol_name(end.tensor);
            match *count {
                1 => name.to_owned(),
                count => format!("{name}#{count}"),
            }
        }
    };
    ends(program, DOWNLOAD).map(named).collect()
}

/// The same program with the first uploads of these tensors as inputs, and with every download as
/// an output. Its data stay for all other uploads.
///
/// # Errors
/// The first of `names` that no upload has.
pub fn opened<'n>(program: &Program, names: &[&'n str]) -> Result<Program, &'n str> {
    let known: HashMap<&str, (End, Type)> = first_uploads(program)
        .map(|(end, ty)| (program.symbol_name(end.tensor), (end, ty)))
        .collect();
    let mut slots = Vec::new();
    for name in names {
        let (end, ty) = known.get(name).ok_or(*name)?;
        let (name, ty) = ((*name).to_owned(), ty.clone());
        slots.push((end.op, end.host, HostSlot::Input { name, ty }));
    }
    for (end, name) in ends(program, DOWNLOAD).zip(downloads(program)) {
        slots.push((end.op, end.host, HostSlot::Output { name }));
    }
    let uses = uses(program);
    let mut opened = program.clone();
    for (op, host, slot) in slots {
        if uses.get(&host) == Some(&1)
            && let Some(place) = opened.hosts.get_mut(host.0 as usize)
        {
            *place = slot;
            continue;
        }
        // Others use these data, too.
        let own = Arg::Host(opened.push_host(slot));
        let host = Arg::Host(host);
        let places = opened.args_mut(&op).iter_mut().filter(|arg| **arg == host);
        places.for_each(|arg| *arg = own.clone());
        if let Some(out) = opened.out_mut(&op).filter(|arg| **arg == host) {
            *out = own;
        }
    }
    Ok(opened)
}

/// How many arguments name each host slot.
fn uses(program: &Program) -> HashMap<HostId, usize> {
    let mut uses = HashMap::new();
    for step in &program.steps {
        let Step::Op(op) = step else { continue };
        for arg in program.args(op).iter().chain(program.out(op)) {
            if let Arg::Host(id) = arg {
                *uses.entry(*id).or_default() += 1;
            }
        }
    }
    uses
}

#[cfg(test)]
mod tests {
    use super::{downloads, opened, uploads};
    use cloakwork_ir::text;

    const TWICE: &str = "
%a = host_to_device i64[2] {1, 2}
%b = host_to_device i64[2] {3, 4}
free %a
%a = host_to_device i64[2] {5, 6}
device_to_host %a, none -> i64[2] {5, 6}
device_to_host %a, none -> i64[2] {5, 6}
device_to_host %b, none -> output \"sum\"
";

    #[test]
    fn the_first_uploads_become_inputs_and_downloads_outputs() {
        let program = text::parse(TWICE).unwrap();
        let names: Vec<String> = uploads(&program)
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(downloads(&program), ["a", "a#2", "sum"]);
        let open = text::print(&opened(&program, &["a"]).unwrap());
        assert!(
            open.contains("%a = host_to_device input \"a\" i64[2]"),
            "{open}"
        );
        assert!(open.contains("%a = host_to_device i64[2] {5, 6}"), "{open}");
        assert!(open.contains("output \"a#2\""), "{open}");
        assert_eq!(opened(&program, &["b", "c"]).unwrap_err(), "c");
    }
}
