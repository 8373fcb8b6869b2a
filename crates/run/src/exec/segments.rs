//! Segments of a plan while an executor uses its devices: built once, at the second run.
//!
//! The addresses of a segment stay valid while its devices are open. A plan that runs once pays
//! nothing for them.

use crate::RunError;
use crate::exec::devices::Devices;
use crate::exec::table::{Memories, Table};
use cloakwork_devices::{Node, NodeWork, Span};
use cloakwork_plan::{Plan, Segment, SegmentNode, Work};

/// A segment of each of a plan's; none where the driver prefers to get the launches one by one.
pub type Built = Vec<Option<cloakwork_devices::Segment>>;

impl Devices {
    /// Builds the segments of a plan, unless they are built.
    ///
    /// # Errors
    /// A driver's.
    pub fn build_segments(&self, memories: &Memories, table: &Table) -> Result<(), RunError> {
        if self.segments.get().is_some() {
            return Ok(());
        }
        let built = memories.plan.segments.iter();
        let built = built.map(|segment| self.build(memories, table, segment));
        let built = built.collect::<Result<Built, _>>()?;
        self.segments
            .set(built)
            .map_err(|_| RunError::Internal("segments were built twice".into()))
    }

    fn build(
        &self,
        memories: &Memories,
        table: &Table,
        segment: &Segment,
    ) -> Result<Option<cloakwork_devices::Segment>, RunError> {
        let plan = memories.plan;
        let nodes = segment.nodes.iter();
        let nodes = nodes.map(|node| read_node((plan, table), segment, node));
        let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
        let span = |range: &cloakwork_plan::SegmentRange| {
            Ok(Span {
                at: memories.pointer(&range.at)?,
                bytes: range.bytes,
                nodes: (range.life.first, range.life.last),
                is_input: range.is_input,
                is_output: range.is_output,
                is_checked: range.is_checked,
            })
        };
        let spans = segment.ranges.iter().map(span);
        let spans = spans.collect::<Result<Vec<_>, RunError>>()?;
        let queue = plan.steps[segment.first as usize].queue;
        let device = self.device(plan.queues[queue as usize].arena)?;
        // SAFETY: the plan's offsets keep live buffers apart and its geometry comes from a verified
        // program; its nodes are in the order that their bytes demand, and its ranges hold these.
        // Segments go before the memory of their device, when all queues are done.
        Ok(unsafe { device.segment(&nodes, &spans) }?)
    }
}

/// A node with its addresses.
fn read_node<'a>(
    (plan, table): (&'a Plan, &'a Table),
    segment: &'a Segment,
    node: &SegmentNode,
) -> Result<Node<'a>, RunError> {
    let after = segment.after(node);
    let Some(index) = node.step else {
        let work = NodeWork::Join;
        return Ok(Node { work, after });
    };
    let step = &plan.steps[index as usize];
    let geometry = &plan.geometries[step.geometry as usize];
    let launch = (&table.launches[index as usize], geometry.params.len());
    let work = match step.work {
        // Drivers get no launches without units.
        Work::Launch { .. } if table.units[step.geometry as usize] == 0 => NodeWork::Join,
        Work::Launch { row, .. } => NodeWork::Launch {
            row,
            launch,
            units: table.units[step.geometry as usize],
        },
        Work::Prepare { row } => NodeWork::Prepare {
            row,
            launch,
            prepared: table.pointers[step.first_address as usize],
        },
        Work::Check(check) => NodeWork::Check {
            status: table.pointers[step.first_address as usize],
            check: u64::from(check),
        },
        Work::Transfer(_) | Work::Function(_) => {
            return Err(RunError::Internal("a segment of more than launches".into()));
        }
    };
    Ok(Node { work, after })
}
