//! A launch as the GPU gets it: the geometry by value, and the grids that it becomes.

use super::api::{Address, Failure, Function, KernelNode, Stream};
use super::gpu::Gpu;
use super::kernels::{DeviceLaunch, Grid, Limits, Member, OPERANDS, Plan, Row, WORDS};
use super::many::Kind;
use super::own::pointer;
use cloakwork_kernels::RawLaunch;
use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;
use std::ptr::{from_mut, null_mut};

/// A launch or a prepare that is ready for a stream or a graph.
pub struct Packed {
    launch: DeviceLaunch,
    units: u64,
    grids: Vec<(Function, Grid)>,
    /// Device memory that its grids share.
    pub scratch_bytes: u64,
    /// The block that a prepare writes.
    block: Option<Address>,
    /// The words of a launch that does not hold them itself.
    pub spilled: Vec<i64>,
}

/// The number of threads that keep a multiprocessor busy, of 2,048 that it can hold.
const BUSY_THREADS: u64 = 1024;

fn refused(words: String) -> Failure {
    Failure { code: -1, words }
}

/// The values of an array, which may be null where there are none.
///
/// # Safety
/// So many values are there while the result is used.
pub unsafe fn values<'a, T>(first: *const T, count: usize) -> &'a [T] {
    match count {
        0 => &[],
        // SAFETY: the caller's promise.
        _ => unsafe { std::slice::from_raw_parts(first, count) },
    }
}

impl Packed {
    /// Packs a launch of so many units, or a prepare into a block. The context is current.
    ///
    /// # Errors
    /// It is larger than kernels can take; the driver's, which lacks its function.
    ///
    /// # Safety
    /// As `device.h` says of launches.
    pub unsafe fn of(
        gpu: &Gpu,
        row: &Row,
        (raw, params): (&RawLaunch, u32),
        units: u64,
        block: Option<*mut c_void>,
    ) -> Result<Self, Failure> {
        // SAFETY: the caller's promise.
        let (launch, spilled) = unsafe { device_launch(row, raw, params, block.is_some())? };
        let mut own = Self {
            launch,
            units,
            grids: Vec::new(),
            scratch_bytes: 0,
            block: block.map(|at| at as Address),
            spilled,
        };
        let plan = if block.is_some() {
            row.plan_prepare
        } else {
            Some(row.plan)
        };
        if let (Some(plan), true) = (plan, units > 0) {
            let mut made = MaybeUninit::<Plan>::zeroed();
            // SAFETY: the plan's function keeps its contract; all bits of a plan may be 0.
            let made = unsafe {
                plan(row, raw, units, &raw const gpu.limits, made.as_mut_ptr());
                made.assume_init()
            };
            own.scratch_bytes = made.scratch_bytes;
            let grids = made.grids.into_iter().take(made.count as usize);
            let functions = grids.map(|grid| {
                // SAFETY: names of grids are constants.
                unsafe { gpu.function((grid.module, grid.symbol), grid.shared_bytes) }
                    .map(|function| (function, grid))
            });
            own.grids = functions.collect::<Result<_, _>>()?;
        }
        Ok(own)
    }

    /// The names of the last grid's module and of its function; none if there is nothing to do.
    pub fn names(&self) -> Option<[&'static CStr; 2]> {
        let (_, grid) = self.grids.last()?;
        // SAFETY: names of grids are constants.
        Some([grid.module, grid.symbol].map(|name| unsafe { CStr::from_ptr(name) }))
    }

    /// Whether there is nothing to do.
    pub fn is_nothing(&self) -> bool {
        self.grids.is_empty()
    }

    /// Binds it to a queue: the word that says whether that failed, and where spilled words are.
    pub fn bind(&mut self, failed: Address, spilled: Address) {
        self.launch.failed = pointer(failed).cast_const().cast();
        if !self.spilled.is_empty() {
            self.launch.spilled = pointer(spilled).cast_const().cast();
        }
    }

    /// A launch of one grid. The context is current.
    ///
    /// # Errors
    /// The driver's, which lacks its function.
    pub fn of_grid(
        gpu: &Gpu,
        launch: DeviceLaunch,
        units: u64,
        grid: Grid,
    ) -> Result<Self, Failure> {
        // SAFETY: names of grids are constants.
        let function = unsafe { gpu.function((grid.module, grid.symbol), grid.shared_bytes) }?;
        Ok(Self {
            launch,
            units,
            grids: vec![(function, grid)],
            scratch_bytes: 0,
            block: None,
            spilled: Vec::new(),
        })
    }

    /// The number of its grids, which run one after another.
    pub fn grid_count(&self) -> usize {
        self.grids.len()
    }

    /// A grid by its place among them.
    pub fn grid(&self, position: usize) -> &Grid {
        &self.grids[position].1
    }

    /// The number of units, as every grid gets it.
    pub fn units(&self) -> u64 {
        self.units
    }

    /// The kind of launches that it can run with, and the most blocks of its grids.
    /// None for one that keeps the device busy alone: functions for many need more registers.
    pub fn kind(&self, limits: &Limits) -> Option<(Kind, u64)> {
        let busy = u64::from(limits.multiprocessors.max(1)) * BUSY_THREADS;
        let mut kind = Kind::new();
        let mut most = 0;
        for (_, grid) in &self.grids {
            let blocks = u64::from(grid.blocks[0]) * u64::from(grid.blocks[1]);
            let is_small = blocks.saturating_mul(u64::from(grid.threads)) < busy;
            if grid.many.is_null() || grid.blocks[2] != 1 || !is_small {
                return None;
            }
            kind.push((grid.many, grid.threads));
            most = most.max(blocks);
        }
        (!kind.is_empty() && self.block.is_none()).then_some((kind, most))
    }

    /// All words of its geometry.
    pub fn words(&self) -> &[i64] {
        let own = &self.launch;
        let lists = own.rank * (1 + own.operands) + own.params + own.blocks;
        match self.spilled.as_slice() {
            [] => &own.words[..lists as usize],
            spilled => spilled,
        }
    }

    /// One of its grids among others, with where its words and its scratch memory are.
    pub fn member(&self, grid: &Grid, words: Address, scratch: Address) -> Member {
        let own = &self.launch;
        let before_blocks = own.rank * (1 + own.operands) + own.params;
        let blocks = words + u64::from(before_blocks) * size_of::<i64>() as u64;
        Member {
            rank: own.rank,
            operands: own.operands,
            data: own.data,
            prepared: match own.blocks {
                0 => own.prepared,
                _ => pointer(blocks),
            },
            words: pointer(words).cast(),
            units: self.units,
            argument: grid.argument,
            memory: pointer(scratch),
            blocks: [grid.blocks[0], grid.blocks[1]],
        }
    }

    /// Calls a function with each grid and its parameters, which it copies.
    ///
    /// # Errors
    /// The function's.
    fn each(
        &mut self,
        scratch: Address,
        mut run: impl FnMut(Function, &Grid, *mut *mut c_void) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut memory = self.block.unwrap_or(scratch);
        for (function, grid) in &mut self.grids {
            let mut params: [*mut c_void; 4] = [
                from_mut(&mut self.launch).cast(),
                from_mut(&mut self.units).cast(),
                (&raw mut grid.argument).cast(),
                (&raw mut memory).cast(),
            ];
            run(*function, grid, params.as_mut_ptr())?;
        }
        Ok(())
    }

    /// Runs it in a stream. The context is current.
    ///
    /// # Errors
    /// The driver's.
    ///
    /// # Safety
    /// As `device.h` says of launches; it is bound, and scratch has its bytes.
    pub unsafe fn run(
        &mut self,
        gpu: &Gpu,
        scratch: Address,
        stream: Stream,
    ) -> Result<(), Failure> {
        self.each(scratch, |function, grid, params| {
            let ([x, y, z], threads, shared) = (grid.blocks, grid.threads, grid.shared_bytes);
            // SAFETY: the function has these parameters, which are copied; the caller's promise.
            unsafe {
                gpu.api.launch(
                    function,
                    x,
                    y,
                    z,
                    threads,
                    1,
                    1,
                    shared,
                    stream,
                    params,
                    null_mut(),
                )
            }
        })
    }

    /// Gives each grid to a graph, in order.
    ///
    /// # Errors
    /// The function's.
    pub fn nodes(
        &mut self,
        scratch: Address,
        mut add: impl FnMut(&KernelNode) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.each(scratch, |function, grid, params| {
            add(&KernelNode {
                function,
                blocks: grid.blocks,
                threads: [grid.threads, 1, 1],
                shared_bytes: grid.shared_bytes,
                params,
                extra: null_mut(),
            })
        })
    }
}

/// A launch by value, and its words if it does not hold them.
///
/// # Safety
/// As `device.h` says of launches.
unsafe fn device_launch(
    row: &Row,
    raw: &RawLaunch,
    params: u32,
    is_prepare: bool,
) -> Result<(DeviceLaunch, Vec<i64>), Failure> {
    let (rank, operands) = (raw.rank as usize, raw.operands as usize);
    if operands > OPERANDS {
        return Err(refused(format!(
            "a launch of {operands} operands, of which kernels take {OPERANDS}"
        )));
    }
    let mut launch = DeviceLaunch {
        rank: raw.rank,
        operands: raw.operands,
        params,
        ..DeviceLaunch::default()
    };
    // SAFETY: the caller's promise.
    let (dims, strides, integers, data) = unsafe {
        (
            values(raw.dims, rank),
            values(raw.strides, rank * operands),
            values(raw.params, params as usize),
            values(raw.data, operands),
        )
    };
    let mut blocks: &[i64] = &[];
    match row.prepared_axis() {
        _ if is_prepare || raw.prepared.is_null() => {}
        None => launch.prepared = raw.prepared,
        Some(axis) => {
            let count = dims.get(axis).copied().unwrap_or(0);
            // SAFETY: the caller's promise: an address for each index of the axis.
            blocks = unsafe { values(raw.prepared.cast(), usize::try_from(count).unwrap_or(0)) };
        }
    }
    launch.blocks = blocks.len() as u32;
    launch.data[..operands].copy_from_slice(data);
    let words = [dims, strides, integers, blocks];
    let count: usize = words.iter().map(|part| part.len()).sum();
    if count > WORDS {
        return Ok((launch, words.concat()));
    }
    let mut places = launch.words.iter_mut();
    for (place, &word) in places.by_ref().zip(words.into_iter().flatten()) {
        *place = word;
    }
    Ok((launch, Vec::new()))
}
