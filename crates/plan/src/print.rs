//! A plan as text, for snapshot tests and `cloakwork inspect --plan`.

use crate::placement::Why;
use crate::plan::{Address, Home, Plan, Space, Step};
use crate::queues::Queue;
use crate::segments::Segment;
use std::fmt;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.memory_text())?;
        if let Some(graph) = &self.graph {
            writeln!(f, "{graph}")?;
        }
        self.write_counts(f)?;
        let mut elsewhere = self.elsewhere.iter().peekable();
        let mut fusions = self.fusions.iter().peekable();
        let mut waits = self.waits.iter().peekable();
        let mut segments = self.segments.iter().peekable();
        for (index, step) in (0u32..).zip(&self.steps) {
            if let Some(fusion) = fusions.next_if(|fusion| fusion.first == index) {
                let steps = fusion.end - fusion.first;
                writeln!(
                    f,
                    "     together, {} elements a block: {steps} steps",
                    fusion.block
                )?;
            }
            while let Some(wait) = waits.next_if(|wait| wait.before == index) {
                let behind = &self.steps[self.events[wait.event as usize] as usize];
                let (who, whom) = (self.queue_name(step), self.queue_name(behind));
                let (origin, what) = (behind.origin, behind.verb());
                writeln!(f, "     {who} waits for {whom}: {origin} {what}")?;
            }
            if let Some(segment) = segments.next_if(|segment| segment.first == index) {
                self.write_segment(f, segment)?;
            }
            while let Some(moved) = elsewhere.next_if(|moved| moved.origin <= step.origin) {
                writeln!(f, "     {} {moved}", moved.origin)?;
            }
            let geometry = &self.geometries[step.geometry as usize];
            write!(f, "{:>4} {} {:?}", step.origin, step.verb(), geometry.dims)?;
            let all = self.addresses_of(step);
            let (operands, prepared) = self.addresses[all].split_at(geometry.operands());
            for (i, address) in operands.iter().enumerate() {
                f.write_str(match i {
                    0 => " ",
                    1 => " <- ",
                    _ => ", ",
                })?;
                self.write_address(f, address)?;
            }
            for (i, address) in prepared.iter().enumerate() {
                f.write_str(if i == 0 { " with " } else { ", " })?;
                self.write_address(f, address)?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl Plan {
    /// The queue or host that runs a step, as text.
    fn queue_name(&self, step: &Step) -> String {
        match self.queues.get(step.queue as usize) {
            None | Some(Queue { arena: 0, .. }) => "the host".to_owned(),
            Some(queue) => {
                let home = self.arenas[queue.arena as usize].home;
                format!("{home}'s queue of {}", queue.role.name())
            }
        }
    }

    /// A segment: the steps that a driver gets at once.
    fn write_segment(&self, f: &mut fmt::Formatter<'_>, segment: &Segment) -> fmt::Result {
        let queue = self.steps[segment.first as usize].queue;
        let home = self.arenas[self.queues[queue as usize].arena as usize].home;
        let steps = segment.end - segment.first;
        let [inputs, outputs, neither] = segment.counts();
        writeln!(
            f,
            "     a segment of {home}: {steps} steps; ranges: {inputs} input, {outputs} output, \
             {neither} temporary"
        )
    }

    /// Writes the number of steps that run on the host although a device was wanted, and of checks.
    fn write_counts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |is: fn(&Why) -> bool| self.elsewhere.iter().filter(|e| is(&e.why)).count();
        let cheaper = count(|why| *why == Why::Cheaper);
        let checks = count(|why| matches!(why, Why::NoCheck(_)));
        if checks > 0 {
            let word = if checks == 1 { "check" } else { "checks" };
            writeln!(
                f,
                "{checks} {word} of contents on the host instead of a device"
            )?;
        }
        let zeros = count(|why| matches!(why, Why::NoFill(_)));
        if zeros > 0 {
            let word = if zeros == 1 { "tensor" } else { "tensors" };
            writeln!(
                f,
                "{zeros} {word} filled with zeros on the host instead of a device"
            )?;
        }
        if self.divided > 0 {
            let steps = if self.divided == 1 { "step" } else { "steps" };
            let peers = self.options.peers.iter().map(|peer| format!(", {peer}"));
            let (first, peers) = (self.options.device, peers.collect::<String>());
            writeln!(f, "{} {steps} in parts on {first}{peers}", self.divided)?;
        }
        let all = self.elsewhere.len() - checks - zeros;
        if all == 0 {
            return Ok(());
        }
        let steps = if all == 1 { "step" } else { "steps" };
        let lacking = all - cheaper;
        writeln!(
            f,
            "{all} {steps} on the host instead of a device: {lacking} without a kernel there, \
             {cheaper} cheaper"
        )
    }

    fn write_address(&self, f: &mut fmt::Formatter<'_>, at: &Address) -> fmt::Result {
        match at.space {
            Space::Buffer => {
                let buffer = &self.buffers[at.index as usize];
                match self.home(buffer) {
                    Home::HOST => {}
                    home => write!(f, "{home}")?,
                }
                write!(f, "@{}", buffer.offset as i64 + at.offset)
            }
            Space::Host => write!(f, "host {}+{}", at.index, at.offset),
            Space::Constant => write!(f, "constant {}+{}", at.index, at.offset),
            Space::Output => write!(f, "result {}", at.index),
            Space::Pool => write!(f, "{}", self.pool[at.index as usize]),
            Space::Status => write!(f, "status {}", at.index),
            Space::Slot => write!(f, "block {}", at.index),
            Space::Null => f.write_str("-"),
        }
    }

    /// The step of the program as given that a planned step serves.
    #[must_use]
    pub fn program_step(&self, origin: u32) -> u32 {
        let mapped = self
            .origins
            .as_ref()
            .and_then(|origins| origins.get(origin as usize));
        mapped.copied().unwrap_or(origin)
    }
}
