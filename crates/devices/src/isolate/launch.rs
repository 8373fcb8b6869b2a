//! Launches and segments in messages.

use super::wire::{Damaged, Reader, Writer};
use crate::abi::{RawNode, RawParts, RawRange};
use cloakwork_kernels::RawLaunch;
use std::ffi::c_void;

/// The fewest bytes of a node and of a range in a message.
const NODE_BYTES: usize = 32;
const RANGE_BYTES: usize = 32;

/// # Safety
/// So many values are there.
unsafe fn listed<'a, T>(from: *const T, count: usize) -> &'a [T] {
    match count {
        0 => &[],
        // SAFETY: the caller's promise.
        _ => unsafe { std::slice::from_raw_parts(from, count) },
    }
}

/// Writes a launch of a row with so many params. `axis` is the row's `prepared_axis`.
///
/// # Safety
/// As `device.h` says of launches.
pub unsafe fn write(to: &mut Writer, launch: &RawLaunch, params: u32, axis: usize) {
    let (rank, operands) = (launch.rank as usize, launch.operands as usize);
    // SAFETY: the caller's promise.
    let (dims, strides, own, data) = unsafe {
        (
            listed(launch.dims, rank),
            listed(launch.strides, rank * operands),
            listed(launch.params, params as usize),
            listed(launch.data, operands),
        )
    };
    let single = [launch.prepared.cast_mut()];
    let blocks: &[*mut c_void] = match axis.checked_sub(1) {
        _ if launch.prepared.is_null() => &[],
        // SAFETY: as above: an address for each index of the axis.
        Some(axis) => unsafe {
            listed(
                launch.prepared.cast(),
                dims.get(axis).map_or(0, |&dim| dim as usize),
            )
        },
        None => &single,
    };
    to.u32(launch.rank)
        .u32(launch.operands)
        .u32(params)
        .u32(blocks.len() as u32);
    to.i64s(dims).i64s(strides).i64s(own);
    data.iter().chain(blocks).for_each(|at| {
        to.at(*at);
    });
}

/// A launch that was read. Its lists are used again.
#[derive(Default)]
pub struct Launch {
    rank: usize,
    operands: usize,
    params: usize,
    /// Dims, strides, params.
    integers: Vec<i64>,
    /// Operands, blocks.
    addresses: Vec<*mut c_void>,
}

impl Launch {
    /// Reads a launch in place of this one.
    pub fn read(&mut self, from: &mut Reader) -> Result<(), Damaged> {
        let mut count = || from.u32().map(|count| count as usize);
        let (rank, operands, params, blocks) = (count()?, count()?, count()?, count()?);
        let strides = rank.checked_mul(operands).ok_or(Damaged)?;
        let integers = rank
            .checked_add(strides)
            .and_then(|sum| sum.checked_add(params));
        self.integers.clear();
        from.i64s(integers.ok_or(Damaged)?, &mut self.integers)?;
        self.addresses.clear();
        for _ in 0..operands.checked_add(blocks).ok_or(Damaged)? {
            self.addresses.push(from.at()?);
        }
        (self.rank, self.operands, self.params) = (rank, operands, params);
        Ok(())
    }

    /// The number of params.
    pub fn params(&self) -> u32 {
        self.params as u32
    }

    /// The launch for a row with or without a `prepared_axis`. It borrows from this one.
    pub fn raw(&self, has_axis: bool) -> RawLaunch {
        let (dims, rest) = self.integers.split_at(self.rank);
        let (strides, params) = rest.split_at(self.rank * self.operands);
        let (data, blocks) = self.addresses.split_at(self.operands);
        let prepared = match blocks.first() {
            None => std::ptr::null(),
            Some(_) if has_axis => blocks.as_ptr().cast(),
            Some(block) => block.cast_const(),
        };
        RawLaunch {
            rank: self.rank as u32,
            operands: self.operands as u32,
            dims: dims.as_ptr(),
            strides: strides.as_ptr(),
            data: data.as_ptr(),
            params: params.as_ptr(),
            prepared,
        }
    }
}

/// Writes what a segment is built from. `axis` gives a row's `prepared_axis`.
///
/// # Safety
/// As `device.h` says of `segments->build`.
pub unsafe fn write_parts(to: &mut Writer, parts: &RawParts, axis: &dyn Fn(u32) -> usize) {
    // SAFETY: the caller's promise.
    let (nodes, ranges): (&[RawNode], &[RawRange]) = unsafe {
        (
            listed(parts.nodes, parts.node_count as usize),
            listed(parts.ranges, parts.range_count as usize),
        )
    };
    to.u32(nodes.len() as u32);
    for node in nodes {
        to.u32(node.kind)
            .u32(node.row)
            .u64(node.units)
            .at(node.block);
        // SAFETY: as above.
        let after = unsafe { listed(node.after, node.after_count as usize) };
        to.u32(after.len() as u32);
        after.iter().for_each(|&before| {
            to.u32(before);
        });
        // SAFETY: null, or a launch.
        let launch = unsafe { node.launch.as_ref() };
        to.u32(u32::from(launch.is_some()));
        if let Some(launch) = launch {
            // SAFETY: as above.
            unsafe { write(to, launch, node.params, axis(node.row)) };
        }
    }
    to.u32(ranges.len() as u32);
    for range in ranges {
        to.at(range.at)
            .u64(range.bytes)
            .u32(range.first)
            .u32(range.last)
            .u64(range.flags);
    }
}

/// A node that was read.
pub struct Node {
    kind: u32,
    row: u32,
    units: u64,
    block: *mut c_void,
    after: Vec<u32>,
    launch: Option<Launch>,
}

/// Parts of a segment, as read from a message.
pub struct Parts {
    nodes: Vec<Node>,
    ranges: Vec<RawRange>,
}

impl Parts {
    pub fn read(from: &mut Reader) -> Result<Self, Damaged> {
        let nodes = from.count(NODE_BYTES)?;
        let nodes = (0..nodes)
            .map(|_| Node::read(from))
            .collect::<Result<_, _>>()?;
        let ranges = from.count(RANGE_BYTES)?;
        let mut range = || {
            Ok(RawRange {
                at: from.at()?,
                bytes: from.u64()?,
                first: from.u32()?,
                last: from.u32()?,
                flags: from.u64()?,
            })
        };
        let ranges = (0..ranges)
            .map(|_| range())
            .collect::<Result<_, Damaged>>()?;
        Ok(Self { nodes, ranges })
    }

    /// Calls with the parts as a driver gets them. `axis` says whether a row has a
    /// `prepared_axis`.
    pub fn with<R>(&self, axis: &dyn Fn(u32) -> bool, call: impl FnOnce(&RawParts) -> R) -> R {
        let raw = |node: &Node| {
            node.launch
                .as_ref()
                .map(|launch| launch.raw(axis(node.row)))
        };
        let launches: Vec<Option<RawLaunch>> = self.nodes.iter().map(raw).collect();
        let nodes = self
            .nodes
            .iter()
            .zip(&launches)
            .map(|(node, launch)| RawNode {
                kind: node.kind,
                row: node.row,
                params: node.launch.as_ref().map_or(0, Launch::params),
                after_count: node.after.len() as u32,
                launch: launch.as_ref().map_or(std::ptr::null(), std::ptr::from_ref),
                units: node.units,
                block: node.block,
                after: node.after.as_ptr(),
            });
        let nodes: Vec<RawNode> = nodes.collect();
        call(&RawParts {
            nodes: nodes.as_ptr(),
            node_count: nodes.len() as u64,
            ranges: self.ranges.as_ptr(),
            range_count: self.ranges.len() as u64,
        })
    }
}

impl Node {
    fn read(from: &mut Reader) -> Result<Self, Damaged> {
        let (kind, row, units, block) = (from.u32()?, from.u32()?, from.u64()?, from.at()?);
        let after = from.count(size_of::<u32>())?;
        let after = (0..after).map(|_| from.u32()).collect::<Result<_, _>>()?;
        let mut launch = None;
        if from.u32()? != 0 {
            let mut own = Launch::default();
            own.read(from)?;
            launch = Some(own);
        }
        Ok(Self {
            kind,
            row,
            units,
            block,
            after,
            launch,
        })
    }
}
