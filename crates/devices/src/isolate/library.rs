//! A driver in a process of its own, as this process knows it: its facts, its rows, and the
//! process that serves it now.

use super::call::{Board, Call, Place};
use super::channel::{Broken, Channel};
use super::device::Watch;
use super::process::{Death, Process, lock};
use super::wire::{Damaged, Reader, Writer};
use crate::abi::{Capabilities, Costs};
use cloakwork_process::Mutex as ShortMutex;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// More rows than any driver has.
const MOST_ROWS: usize = 1 << 16;
/// Sizes that are remembered at a time.
const MOST_SIZES: usize = 1 << 12;
/// No launch prepares more: sums of such sizes do not overflow.
const MOST_PREPARED: u64 = 1 << 48;
/// The fewest bytes of a row in a message.
const ROW_BYTES: usize = 40;

/// A row of a driver's table, as `kernel.h` has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowFacts {
    pub kernel: String,
    pub symbol: String,
    pub needs: u64,
    pub in_dtype: u32,
    pub out_dtype: u32,
    pub element_bytes: u32,
    pub constant_operands: u32,
    pub prepared_axis: u32,
    pub preference: u32,
    /// Whether it has `prepared_bytes`.
    pub prepares: bool,
}

/// The table of a driver: its name, capabilities, costs and rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    pub name: String,
    pub capabilities: Capabilities,
    pub costs: Costs,
    pub count: u32,
    pub rows: Vec<RowFacts>,
}

impl Facts {
    pub fn write(&self, to: &mut Writer) {
        to.text(&self.name).u64(self.capabilities.bits());
        let costs = &self.costs;
        to.u64(costs.launch_ns).u64(costs.transfer_ns);
        to.u64(costs.upload_bytes_per_us)
            .u64(costs.download_bytes_per_us);
        to.u64(costs.memory_bytes_per_us)
            .u64(costs.operations_per_us);
        to.u32(self.count).u32(self.rows.len() as u32);
        for row in &self.rows {
            to.text(&row.kernel).text(&row.symbol).u64(row.needs);
            to.u32(row.in_dtype)
                .u32(row.out_dtype)
                .u32(row.element_bytes);
            to.u32(row.constant_operands).u32(row.prepared_axis);
            to.u32(row.preference).u32(u32::from(row.prepares));
        }
    }

    pub fn read(from: &mut Reader) -> Result<Self, Damaged> {
        let name = from.text()?;
        let capabilities = Capabilities::of_bits(from.u64()?);
        let costs = Costs {
            launch_ns: from.u64()?,
            transfer_ns: from.u64()?,
            upload_bytes_per_us: from.u64()?,
            download_bytes_per_us: from.u64()?,
            memory_bytes_per_us: from.u64()?,
            operations_per_us: from.u64()?,
        };
        let count = from.u32()?;
        let rows = from.count(ROW_BYTES)?;
        if rows > MOST_ROWS {
            return Err(Damaged);
        }
        Ok(Self {
            name,
            capabilities,
            costs,
            count,
            rows: (0..rows)
                .map(|_| RowFacts::read(from))
                .collect::<Result<_, _>>()?,
        })
    }
}

impl RowFacts {
    fn read(from: &mut Reader) -> Result<Self, Damaged> {
        Ok(Self {
            kernel: from.text()?,
            symbol: from.text()?,
            needs: from.u64()?,
            in_dtype: from.u32()?,
            out_dtype: from.u32()?,
            element_bytes: from.u32()?,
            constant_operands: from.u32()?,
            prepared_axis: from.u32()?,
            preference: from.u32()?,
            prepares: from.u32()? != 0,
        })
    }
}

/// A process with the socket for what belongs to no device.
pub struct Server {
    pub process: Arc<Process>,
    /// It waits for each piece of work that a queue gets.
    pub is_careful: bool,
    control: Mutex<Control>,
}

struct Control {
    channel: Channel,
    board: Arc<Board>,
    writer: Writer,
}

/// The geometry of a launch: all that a size depends on.
type Geometry = (u32, Vec<i64>, Vec<i64>, Vec<i64>);

/// A driver in a process of its own.
pub struct Library {
    /// The file, or the name of a driver of this crate.
    source: PathBuf,
    pub facts: Facts,
    /// The names of rows, for messages.
    pub symbols: Vec<String>,
    /// The longest call in nanoseconds; 0 is no limit.
    limit_ns: AtomicU64,
    server: ShortMutex<Option<Arc<Server>>>,
    sizes: ShortMutex<HashMap<Geometry, u64>>,
    features: ShortMutex<HashMap<u32, u64>>,
    /// An error of a call that cannot return one: the next `open` reports it.
    fault: ShortMutex<Option<String>>,
}

impl Library {
    /// Starts a process that loads a driver, and reads its table there.
    pub fn load(source: &Path, limit: Option<Duration>) -> Result<Self, String> {
        let limit_ns = nanoseconds(limit);
        let (server, facts) = Server::start(source, limit_ns, false)?;
        Ok(Self {
            source: source.to_owned(),
            symbols: facts.rows.iter().map(|row| row.symbol.clone()).collect(),
            facts,
            limit_ns: AtomicU64::new(limit_ns),
            server: ShortMutex::new(Some(Arc::new(server))),
            sizes: ShortMutex::default(),
            features: ShortMutex::default(),
            fault: ShortMutex::default(),
        })
    }

    /// The longest time that a call may take.
    pub fn limit(&self) -> Option<Duration> {
        duration(self.limit_ns.load(Ordering::Relaxed))
    }

    /// Sets it for calls to come.
    pub fn set_limit(&self, limit: Option<Duration>) {
        self.limit_ns.store(nanoseconds(limit), Ordering::Relaxed);
    }

    /// Its process: that of before, or a new one where that has ended or is a parent's.
    pub fn server(&self) -> Result<Arc<Server>, String> {
        let known = self.server.lock().clone();
        if let Some(server) = known.filter(|server| server.process.is_alive()) {
            return Ok(server);
        }
        let server = self.new_server(false)?;
        let before = self.server.lock().replace(Arc::clone(&server));
        // Not while the lock is held: the last holder of a process ends it.
        drop(before);
        Ok(server)
    }

    /// A new process, which ends with its last holder.
    pub fn new_server(&self, is_careful: bool) -> Result<Arc<Server>, String> {
        let limit_ns = self.limit_ns.load(Ordering::Relaxed);
        let (server, facts) = Server::start(&self.source, limit_ns, is_careful)?;
        if facts != self.facts {
            return Err("its table differs from the one that it had before".to_owned());
        }
        Ok(Arc::new(server))
    }

    /// Takes the error of an earlier call that could not return it.
    pub fn take_fault(&self) -> Option<String> {
        self.fault.lock().take()
    }

    fn noted(&self, answer: Result<u64, String>) -> u64 {
        answer.unwrap_or_else(|words| {
            self.fault.lock().get_or_insert(words);
            0
        })
    }

    /// The features of a device.
    pub fn features(&self, index: u32) -> u64 {
        if let Some(known) = self.features.lock().get(&index) {
            return *known;
        }
        let asked = self.ask(Place::of(Call::Features), &|writer| {
            writer.u32(index);
        });
        if let Ok(features) = &asked {
            self.features.lock().insert(index, *features);
        }
        self.noted(asked)
    }

    /// Bytes that a row derives for a geometry.
    pub fn prepared_bytes(&self, row: u32, dims: &[i64], strides: &[i64], params: &[i64]) -> u64 {
        let geometry = (row, dims.to_vec(), strides.to_vec(), params.to_vec());
        if let Some(known) = self.sizes.lock().get(&geometry) {
            return *known;
        }
        let place = Place {
            row,
            ..Place::of(Call::PreparedBytes)
        };
        let asked = self.ask(place, &|writer| {
            let counts = [dims.len(), strides.len(), params.len()];
            counts.iter().for_each(|&count| {
                writer.u32(count as u32);
            });
            writer.i64s(dims).i64s(strides).i64s(params);
        });
        let asked = asked.and_then(|bytes| match bytes {
            0..=MOST_PREPARED => Ok(bytes),
            _ => Err(format!(
                "{}: expected at most {MOST_PREPARED} bytes, got {bytes}",
                place.named(&self.symbols)
            )),
        });
        if let Ok(bytes) = asked {
            let mut sizes = self.sizes.lock();
            if sizes.len() >= MOST_SIZES {
                sizes.clear();
            }
            sizes.insert(geometry, bytes);
        }
        self.noted(asked)
    }

    /// Asks a question whose answer is a number.
    fn ask(&self, place: Place, write: &dyn Fn(&mut Writer)) -> Result<u64, String> {
        let server = self.server()?;
        let limit = (self.limit(), &self.symbols[..]);
        server.ask(place, limit, write, &mut |reader| reader.u64())
    }
}

fn nanoseconds(limit: Option<Duration>) -> u64 {
    limit.map_or(0, |limit| {
        u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX).max(1)
    })
}

fn duration(limit_ns: u64) -> Option<Duration> {
    (limit_ns > 0).then(|| Duration::from_nanos(limit_ns))
}

impl Server {
    /// Starts a process that loads a driver. Its facts come back.
    fn start(source: &Path, limit_ns: u64, is_careful: bool) -> Result<(Self, Facts), String> {
        let (process, channel) = Process::start()?;
        let (board, fd) = Board::new().map_err(|error| error.to_string())?;
        let board = Arc::new(board);
        process.add_board(&board);
        let server = Self {
            process,
            is_careful,
            control: Mutex::new(Control {
                channel,
                board,
                writer: Writer::default(),
            }),
        };
        let write = |writer: &mut Writer| {
            writer.u32(u32::from(is_careful));
            writer.bytes(source.as_os_str().as_bytes());
        };
        let (place, limit) = (Place::of(Call::Load), (duration(limit_ns), &[][..]));
        let facts = server.ask_with((place, Some(fd.as_fd())), limit, &write, &mut Facts::read)?;
        Ok((server, facts))
    }

    fn ask<T>(
        &self,
        place: Place,
        limit: (Option<Duration>, &[String]),
        write: &dyn Fn(&mut Writer),
        read: &mut dyn FnMut(&mut Reader) -> Result<T, Damaged>,
    ) -> Result<T, String> {
        self.ask_with((place, None), limit, write, read)
    }

    /// Asks a question, with a descriptor beside it. The answer is an error's words, or what is
    /// read.
    fn ask_with<T>(
        &self,
        (place, beside): (Place, Option<BorrowedFd<'_>>),
        limit: (Option<Duration>, &[String]),
        write: &dyn Fn(&mut Writer),
        read: &mut dyn FnMut(&mut Reader) -> Result<T, Damaged>,
    ) -> Result<T, String> {
        let mut control = lock(&self.control);
        control.ask(&self.process, (place, beside), limit, (write, read))
    }

    /// Gives the process the socket of a new device, and then its board. No other device's comes
    /// between: the process takes a board to be that of the socket before it.
    pub fn connect(
        &self,
        socket: BorrowedFd<'_>,
        board: BorrowedFd<'_>,
        limit: (Option<Duration>, &[String]),
    ) -> Result<(), String> {
        let mut control = lock(&self.control);
        for (is_socket, beside) in [(1, socket), (0, board)] {
            let place = (Place::of(Call::Connect), Some(beside));
            let write = |writer: &mut Writer| {
                writer.u32(is_socket);
            };
            control.ask(&self.process, place, limit, (&write, &mut |_| Ok(())))?;
        }
        Ok(())
    }
}

/// How a question is written, and its answer read.
type Spoken<'a, T> = (
    &'a dyn Fn(&mut Writer),
    &'a mut dyn FnMut(&mut Reader) -> Result<T, Damaged>,
);

impl Control {
    fn ask<T>(
        &mut self,
        process: &Process,
        (place, beside): (Place, Option<BorrowedFd<'_>>),
        (limit, symbols): (Option<Duration>, &[String]),
        (write, read): Spoken<'_, T>,
    ) -> Result<T, String> {
        let mut watch = Watch::new(process, &self.board, limit, symbols);
        write(self.writer.begin(place.call as u32).u32(place.row));
        let message = self.writer.end().ok_or("a message is too long")?;
        let asked = self.channel.send(message, beside, &mut || watch.goes_on());
        let answered = asked.and_then(|()| {
            let answer = self.channel.receive(&mut || watch.goes_on())?;
            let mut reader = Reader::new(answer);
            Ok(match reader.i32()? {
                0 => Ok(read(&mut reader)?),
                _ => Err(reader.text()?),
            })
        });
        answered.unwrap_or_else(|broken| Err(lost(&broken, process, &self.board, symbols).words))
    }
}

/// Why a process serves no more.
pub fn lost(broken: &Broken, process: &Process, board: &Board, symbols: &[String]) -> Death {
    match broken {
        Broken::Damaged => process.kill(|| {
            let place = board.last();
            let after = place.map_or_else(String::new, |place| place.named(symbols));
            format!("its process sent a damaged answer after {after}, and was ended")
        }),
        Broken::System(error) => {
            process.kill(|| format!("its process cannot be reached: {error}"));
        }
        Broken::Closed | Broken::Stopped => {}
    }
    process.death(board, symbols)
}

/// The path of a message.
pub fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
