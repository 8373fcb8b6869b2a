//! Segments: launches that a driver gets at once and runs any number of times.

use crate::abi::{Opaque, RawNode, RawParts, RawRange, RawSegmentFunctions, node, range};
use crate::{DeviceError, OpenDevice};
use cloakwork_kernels::{KernelRow, RawLaunch};
use std::ffi::c_void;
use std::sync::Arc;

/// The work of a node.
#[derive(Clone, Copy, Debug)]
pub enum NodeWork<'a> {
    /// Runs all units of a launch, which has so many params.
    Launch {
        /// The kernel.
        row: &'static KernelRow,
        /// The launch, and how many params it has.
        launch: (&'a RawLaunch, usize),
        /// Its units.
        units: u64,
    },
    /// Runs a row's `prepare`.
    Prepare {
        /// The kernel.
        row: &'static KernelRow,
        /// The launch, and how many params it has.
        launch: (&'a RawLaunch, usize),
        /// The block that it writes.
        prepared: *mut c_void,
    },
    /// Fails the queue unless a status word is 0.
    Check {
        /// The status word.
        status: *mut c_void,
        /// The caller's number of the check.
        check: u64,
    },
    /// No work: nodes after it are after all nodes that it is after.
    Join,
}

/// A node of a segment.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    /// Its work.
    pub work: NodeWork<'a>,
    /// The nodes before it that are done before it begins.
    pub after: &'a [u32],
}

/// Device memory that nodes of a segment access.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Its first byte.
    pub at: *mut c_void,
    /// How many bytes.
    pub bytes: u64,
    /// The first and the last node that accesses it.
    pub nodes: (u32, u32),
    /// The segment finds contents there.
    pub is_input: bool,
    /// Later work finds the contents that the segment leaves there.
    pub is_output: bool,
    /// The host reads its contents where a check of them fails.
    pub is_checked: bool,
}

impl Node<'_> {
    fn raw(&self, device: &OpenDevice) -> Result<RawNode, DeviceError> {
        let none = std::ptr::null_mut();
        let (kind, row, launch, units, block) = match self.work {
            NodeWork::Launch { row, launch, units } => {
                (node::LAUNCH, Some(row), Some(launch), units, none)
            }
            NodeWork::Prepare {
                row,
                launch,
                prepared,
            } => (node::PREPARE, Some(row), Some(launch), 0, prepared),
            NodeWork::Check { status, check } => (node::CHECK, None, None, check, status),
            NodeWork::Join => (node::JOIN, None, None, 0, none),
        };
        Ok(RawNode {
            kind,
            row: row.map_or(Ok(0), |row| device.index_of(row))?,
            params: launch.map_or(0, |(_, params)| params as u32),
            after_count: self.after.len() as u32,
            launch: launch.map_or(std::ptr::null(), |(launch, _)| launch),
            units,
            block,
            after: self.after.as_ptr(),
        })
    }
}

impl Span {
    fn raw(&self) -> RawRange {
        let flag = |is: bool, flag| if is { flag } else { 0 };
        RawRange {
            at: self.at,
            bytes: self.bytes,
            first: self.nodes.0,
            last: self.nodes.1,
            flags: flag(self.is_input, range::INPUT)
                | flag(self.is_output, range::OUTPUT)
                | flag(self.is_checked, range::CHECKED),
        }
    }
}

/// A segment of an open device.
#[derive(Debug)]
pub struct Segment {
    device: Arc<OpenDevice>,
    functions: &'static RawSegmentFunctions,
    raw: Opaque,
}

// SAFETY: any thread may call a driver's functions; a segment runs in one queue alone.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

impl OpenDevice {
    /// Builds a segment; none if the driver prefers to get its launches one by one.
    ///
    /// # Errors
    /// The driver's, or a row is no row of it, or it builds no segments.
    ///
    /// # Safety
    /// As `KernelRow::run` for each node, with addresses of the device's memory. Nodes after no
    /// other access no bytes that the other writes, and write none that it accesses; the spans are
    /// all bytes that nodes access. All of it stays so until the segment is dropped, which is when
    /// no queue has work of it.
    pub unsafe fn segment(
        self: &Arc<Self>,
        nodes: &[Node],
        spans: &[Span],
    ) -> Result<Option<Segment>, DeviceError> {
        const ACTION: &str = "build a segment";
        let functions = self.driver().segments();
        let functions = functions.ok_or_else(|| self.refused(ACTION, "its driver has none"))?;
        let nodes = nodes.iter().map(|node| node.raw(self));
        let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
        let ranges: Vec<RawRange> = spans.iter().map(Span::raw).collect();
        let parts = RawParts {
            nodes: nodes.as_ptr(),
            node_count: nodes.len() as u64,
            ranges: ranges.as_ptr(),
            range_count: ranges.len() as u64,
        };
        let mut raw = std::ptr::null_mut();
        // SAFETY: the device is open, the parts have so many nodes and ranges; the caller's
        // promise holds for these. The driver writes the segment.
        let code = unsafe { (functions.build)(self.raw(), &raw const parts, &raw mut raw) };
        self.checked(code, ACTION)?;
        Ok((!raw.is_null()).then(|| Segment {
            device: Arc::clone(self),
            functions,
            raw,
        }))
    }
}

impl Segment {
    /// The driver's number for a run in a queue.
    ///
    /// # Safety
    /// As [`crate::Queue::run_segment`].
    pub(crate) unsafe fn run_in(&self, queue: Opaque) -> i32 {
        // SAFETY: the caller's promise.
        unsafe { (self.functions.run)(queue, self.raw) }
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        if self.device.is_here() {
            // SAFETY: it was built there and is released once; the promise of whoever built it.
            unsafe { (self.functions.release)(self.device.raw(), self.raw) };
        }
    }
}
