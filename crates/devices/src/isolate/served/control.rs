//! Messages that belong to no device: the driver's table, features, sizes, new devices.

use super::super::call::{Board, Call, NONE, Place};
use super::super::channel::{Broken, Channel};
use super::super::library::{Facts, RowFacts, path_of};
use super::super::wire::{Damaged, Reader, Writer};
use super::device::{self, Served};
use crate::abi::{Capabilities, RawDriver};
use crate::{DeviceError, Drivers};
use cloakwork_ir::Device;
use cloakwork_kernels::{RawKernelRow, RawLaunch};
use std::ffi::{CStr, c_char};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// The longest path.
const MOST_PATH: usize = 1 << 16;
/// Calls of a driver may need as much as on a main thread.
const STACK_BYTES: usize = 8 << 20;

/// A loaded driver.
#[derive(Clone, Copy)]
pub struct Table {
    pub raw: &'static RawDriver,
    pub rows: &'static [RawKernelRow],
}

/// Serves until the parent closes its socket.
pub fn serve(mut channel: Channel) -> Result<(), Broken> {
    let mut state = State {
        table: None,
        board: None,
        socket: None,
        is_careful: false,
        writer: Writer::default(),
    };
    loop {
        let message = match channel.receive(&mut || true) {
            Ok(message) => message.to_vec(),
            Err(Broken::Closed) => return Ok(()),
            Err(broken) => return Err(broken),
        };
        let beside = channel.descriptor_beside().ok();
        state.answer(&message, beside)?;
        let answer = state.writer.end().ok_or(Broken::Damaged)?;
        channel.send(answer, None, &mut || true)?;
    }
}

struct State {
    table: Option<Table>,
    board: Option<Board>,
    /// The socket of a device to which no board has come.
    socket: Option<OwnedFd>,
    /// Devices wait for each piece of work.
    is_careful: bool,
    writer: Writer,
}

impl State {
    /// Writes the answer to a message.
    fn answer(&mut self, message: &[u8], beside: Option<OwnedFd>) -> Result<(), Damaged> {
        let mut reader = Reader::new(message);
        let (kind, row) = (reader.u32()?, reader.u32()?);
        let call = Call::of(kind).ok_or(Damaged)?;
        let answered = match call {
            Call::Load => self.load(&mut reader, beside),
            Call::Features => self.features(&mut reader),
            Call::PreparedBytes => self.prepared_bytes(row, &mut reader),
            Call::Connect => self.connect(&mut reader, beside),
            _ => Err(Damaged),
        };
        answered.map(|failed| {
            if let Some(words) = failed {
                self.writer.begin(1).text(&words);
            }
        })
    }

    fn begin(&self, place: Place) {
        if let Some(board) = &self.board {
            board.begin(place);
        }
    }

    fn end(&self) {
        if let Some(board) = &self.board {
            board.end();
        }
    }

    /// Loads the driver. An error's words come back.
    fn load(
        &mut self,
        reader: &mut Reader,
        beside: Option<OwnedFd>,
    ) -> Result<Option<String>, Damaged> {
        self.is_careful = reader.u32()? != 0;
        let path = path_of(reader.bytes(MOST_PATH)?);
        let board = beside.ok_or(Damaged)?;
        self.board = Board::of(board.as_fd()).ok();
        self.begin(Place::of(Call::Load));
        // SAFETY: the contract of `device.h`, whose breach costs this process alone.
        let loaded = unsafe { table_of(&path) };
        let loaded = loaded.and_then(|raw| Ok((facts_of(raw)?, raw)));
        self.end();
        Ok(match loaded {
            Ok((facts, raw)) => {
                let table = Table {
                    raw,
                    // SAFETY: as above.
                    rows: unsafe { rows_of(raw) },
                };
                self.table = Some(table);
                facts.write(self.writer.begin(0));
                None
            }
            Err(words) => Some(words),
        })
    }

    fn features(&mut self, reader: &mut Reader) -> Result<Option<String>, Damaged> {
        let (table, index) = (self.table.ok_or(Damaged)?, reader.u32()?);
        self.begin(Place::of(Call::Features));
        // SAFETY: the contract of `device.h`.
        let features = unsafe { (table.raw.features)(index) };
        self.end();
        self.writer.begin(0).u64(features);
        Ok(None)
    }

    fn prepared_bytes(&mut self, row: u32, reader: &mut Reader) -> Result<Option<String>, Damaged> {
        let own = self
            .table
            .ok_or(Damaged)?
            .rows
            .get(row as usize)
            .ok_or(Damaged)?;
        let mut count = || reader.u32().map(|count| count as usize);
        let (rank, strides, params) = (count()?, count()?, count()?);
        let mut integers = Vec::new();
        for part in [rank, strides, params] {
            reader.i64s(part, &mut integers)?;
        }
        let launch = RawLaunch {
            rank: rank as u32,
            operands: strides.checked_div(rank).unwrap_or(0) as u32,
            dims: integers.as_ptr(),
            strides: integers[rank..].as_ptr(),
            data: std::ptr::null(),
            params: integers[rank + strides..].as_ptr(),
            prepared: std::ptr::null(),
        };
        self.begin(Place {
            row,
            ..Place::of(Call::PreparedBytes)
        });
        // SAFETY: the contract of `kernel.h`.
        let bytes = own
            .prepared_bytes
            .map_or(0, |size| unsafe { size(&raw const launch) });
        self.end();
        self.writer.begin(0).u64(bytes);
        Ok(None)
    }

    /// Takes the socket of a new device, and then its board: then it is served.
    fn connect(
        &mut self,
        reader: &mut Reader,
        beside: Option<OwnedFd>,
    ) -> Result<Option<String>, Damaged> {
        let is_socket = reader.u32()? != 0;
        let (table, fd) = (self.table.ok_or(Damaged)?, beside.ok_or(Damaged)?);
        self.writer.begin(0);
        if is_socket {
            self.socket = Some(fd);
            return Ok(None);
        }
        let socket = self.socket.take().ok_or(Damaged)?;
        let started = Board::of(fd.as_fd()).and_then(|board| {
            let served = Served::of(table, Channel::new(socket), board, self.is_careful);
            let served = served.ok_or(io::ErrorKind::Unsupported)?;
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
            thread.spawn(move || device::serve(served))
        });
        Ok(started.err().map(|error| error.to_string()))
    }
}

/// # Safety
/// The table keeps the contract of `device.h`.
unsafe fn rows_of(raw: &'static RawDriver) -> &'static [RawKernelRow] {
    let mut count = 0;
    // SAFETY: the caller's promise.
    unsafe {
        let first = (raw.kernels)(&raw mut count);
        match count {
            0 => &[],
            _ => std::slice::from_raw_parts(first, count as usize),
        }
    }
}

/// The table of a library, or of the driver of a device of this crate.
///
/// # Safety
/// As [`crate::load`].
unsafe fn table_of(source: &Path) -> Result<&'static RawDriver, String> {
    let name = source.to_str().unwrap_or_default();
    let gpu = name.strip_prefix(crate::cuda::NAME);
    if let Some(Ok(index)) = gpu.and_then(|rest| Some(rest.strip_prefix(':')?.parse())) {
        crate::cuda(index).map_err(|error| match error {
            DeviceError::Device { reason, .. } => reason,
            other => other.to_string(),
        })?;
    }
    match Device::from_name(name) {
        Some(device) => Ok(Drivers::default().of(device).0.table()),
        // SAFETY: the caller's promise.
        None => unsafe { crate::load::table_of(source) },
    }
}

/// The facts of a table that this version reads.
fn facts_of(raw: &'static RawDriver) -> Result<Facts, String> {
    // SAFETY: the contract of `device.h`.
    let driver = unsafe { crate::Driver::new(raw) }.map_err(|error| error.to_string())?;
    if driver.has(Capabilities::HOST_MEMORY) {
        return Err(format!(
            "driver `{}`: its memory is the process's, so it runs in no process of its own: \
             expected `functions` in its table",
            driver.name()
        ));
    }
    // SAFETY: as above: `Driver::new` read them.
    let rows = unsafe { rows_of(raw) };
    Ok(Facts {
        name: driver.name().to_owned(),
        capabilities: raw.capabilities,
        costs: raw.costs,
        // SAFETY: as above.
        count: unsafe { (raw.count)() },
        rows: rows.iter().map(row_facts).collect(),
    })
}

fn row_facts(row: &RawKernelRow) -> RowFacts {
    // SAFETY: `Driver::new` read the texts.
    let text = |text: *const c_char| unsafe { CStr::from_ptr(text) }.to_string_lossy().into();
    RowFacts {
        kernel: text(row.kernel),
        symbol: text(row.symbol),
        needs: row.needs,
        in_dtype: row.in_dtype,
        out_dtype: row.out_dtype,
        element_bytes: row.element_bytes,
        constant_operands: row.constant_operands,
        prepared_axis: row.prepared_axis,
        preference: row.preference,
        prepares: row.prepared_bytes.is_some(),
    }
}

/// A call of a device that is for no row.
pub fn unrowed(call: Call, step: u32) -> Place {
    Place {
        call,
        row: NONE,
        step,
    }
}
