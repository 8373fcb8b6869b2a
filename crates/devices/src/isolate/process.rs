//! The process of a driver: how it starts, how it ends, and what is said about that.
//!
//! One thread starts the process, waits for its end and reaps it. The system ends the process when
//! that thread goes, so that it never outlives this one.

use super::call::{Board, Place};
use super::channel::Channel;
use super::served::BROKEN;
use cloakwork_process::{Once, generation};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, getpid, kill_process_group, waitid,
};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// A process that closed its socket ends this soon, or is killed.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The command line of a driver's process: a program that calls [`super::served::serve`].
#[derive(Clone, Debug)]
pub struct Program {
    /// The file.
    pub file: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

static PROGRAM: Once<Program> = Once::new();

/// Sets the program of this process. The first one stays.
pub fn set_program(program: Program) {
    // What is set already is the same: one extension, one interpreter.
    let _ = PROGRAM.set(program);
}

/// Locks what no holder can leave half done.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How a process ended, and whether this one ended it.
#[derive(Default)]
struct End {
    status: Option<String>,
    killed_because: Option<String>,
    /// The caller of this process did not want to wait any longer.
    is_interrupted: bool,
    /// A device of it was lost, by the work of whoever.
    is_device_lost: bool,
}

/// Why a process serves no more.
pub struct Death {
    pub words: String,
    /// The call that it was in, else the one before.
    pub place: Option<Place>,
    /// Whether nobody can say which work of the device it was: no call, or one that waits, and not
    /// the wish of the caller.
    pub is_vague: bool,
}

/// A running process, or one that has ended.
pub struct Process {
    pid: Pid,
    generation: u64,
    end: Mutex<End>,
    changed: Condvar,
    /// The boards of its threads.
    boards: Mutex<Vec<Weak<Board>>>,
}

impl Process {
    /// Starts a process and gives it the other end of the channel as its standard input.
    pub fn start() -> Result<(Arc<Self>, Channel), String> {
        let program = PROGRAM
            .get()
            .ok_or("this program starts no process for drivers")?;
        let (own, other) = Channel::pair().map_err(|error| error.to_string())?;
        let (sender, receiver) = channel();
        let command = move || command(program, other);
        let own_thread = move || match command().and_then(|mut command| command.spawn()) {
            Err(error) => drop(sender.send(Err(error))),
            Ok(child) => {
                let process = Arc::new(Self::of(&child));
                let known = Arc::clone(&process);
                if sender.send(Ok(process)).is_ok() {
                    known.reap(child);
                }
            }
        };
        let named = std::thread::Builder::new().name("cloakwork-isolate".to_owned());
        named.spawn(own_thread).map_err(|error| error.to_string())?;
        let started = receiver.recv().map_err(|error| error.to_string())?;
        let process = started
            .map_err(|error| format!("cannot start {}: {error}", program.file.to_string_lossy()))?;
        Ok((process, own))
    }

    fn of(child: &Child) -> Self {
        Self {
            pid: Pid::from_child(child),
            generation: generation(),
            end: Mutex::default(),
            changed: Condvar::new(),
            boards: Mutex::default(),
        }
    }

    /// Waits for the end, ends what the process has left behind in its group, and reaps it.
    fn reap(&self, mut child: Child) {
        let left = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(self.pid), left) {}
        // Until it is reaped its number is nobody else's.
        let _ = kill_process_group(self.pid, Signal::KILL);
        let mut end = lock(&self.end);
        let status = waitid(WaitId::Pid(self.pid), WaitIdOptions::EXITED);
        end.status = Some(match status {
            Ok(Some(status)) => words_of(&status),
            _ => "ended".to_owned(),
        });
        drop(end);
        self.changed.notify_all();
        // It was reaped above; the handle closes what is open for it.
        let _ = child.try_wait();
    }

    /// Whether this process started it: what a parent started serves no forked child.
    pub fn is_here(&self) -> bool {
        self.generation == generation()
    }

    /// Whether it serves.
    pub fn is_alive(&self) -> bool {
        // A lock of a parent's thread stays held in a forked child.
        self.is_here() && {
            let end = lock(&self.end);
            end.status.is_none() && end.killed_because.is_none()
        }
    }

    /// A board that says where one of its threads is.
    pub fn add_board(&self, board: &Arc<Board>) {
        let mut boards = lock(&self.boards);
        boards.retain(|board| board.strong_count() > 0);
        boards.push(Arc::downgrade(board));
    }

    /// Ends it; the first reason counts.
    pub fn kill(&self, why: impl FnOnce() -> String) {
        if !self.is_here() {
            return;
        }
        let mut end = lock(&self.end);
        if end.status.is_none() && end.killed_because.is_none() {
            end.killed_because = Some(why());
            let _ = kill_process_group(self.pid, Signal::KILL);
        }
    }

    /// Ends it, as the run that it worked for is interrupted.
    pub fn interrupt(&self) {
        self.kill(|| "its process was ended, because the run was interrupted".to_owned());
        lock(&self.end).is_interrupted = true;
    }

    /// Ends it, as it can do nothing more with a device.
    pub fn lose(&self, words: &str) {
        lock(&self.end).is_device_lost = true;
        self.kill(|| words.to_owned());
    }

    /// The call that a thread of it is in: that of a board, else that of another.
    fn blamed(&self, own: &Board) -> Option<Place> {
        let boards = lock(&self.boards).clone();
        let others = boards.iter().filter_map(Weak::upgrade);
        own.now()
            .or_else(|| others.into_iter().find_map(|board| board.now()))
    }

    /// Why it serves no more.
    pub fn death(&self, own: &Board, symbols: &[String]) -> Death {
        let end = lock(&self.end);
        let waiting = |end: &mut End| end.status.is_none() && end.killed_because.is_none();
        let waited = self.changed.wait_timeout_while(end, LAST_WORDS, waiting);
        let (end, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let (killed, status) = (end.killed_because.clone(), end.status.clone());
        let (is_interrupted, is_device_lost) = (end.is_interrupted, end.is_device_lost);
        drop(end);
        let now = self.blamed(own).filter(|_| !is_device_lost);
        let died = |words| Death {
            words,
            place: now.or_else(|| own.last()),
            is_vague: !is_interrupted && now.is_none_or(|place| place.is_wait()),
        };
        if let Some(why) = killed {
            return died(why);
        }
        let during = match (now, own.last()) {
            (Some(place), _) => format!("in {}", place.named(symbols)),
            (None, Some(last)) => format!("in no call, after {}", last.named(symbols)),
            (None, None) => "before its first call".to_owned(),
        };
        let text = match status {
            Some(status) => format!("its process {status} {during}"),
            None => format!("its process closed its connection {during}, and was ended"),
        };
        self.kill(|| text.clone());
        died(text)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill(|| "its process is not needed any more".to_owned());
    }
}

/// The command that starts a driver's process. It prints to standard error, as standard output
/// belongs to this process. A process group of its own keeps Ctrl-C away from it.
fn command(program: &Program, input: OwnedFd) -> io::Result<Command> {
    let mut command = Command::new(&program.file);
    let errors = io::stderr().as_fd().try_clone_to_owned();
    command
        .args(&program.arguments)
        .arg(getpid().to_string())
        .stdin(Stdio::from(input))
        .stdout(errors.map_or_else(|_| Stdio::null(), Stdio::from))
        .process_group(0);
    Ok(command)
}

fn words_of(status: &WaitIdStatus) -> String {
    if let Some(signal) = status.terminating_signal() {
        return format!("was killed by {}", signal_name(signal));
    }
    match status.exit_status() {
        Some(BROKEN) => "lost its sockets".to_owned(),
        Some(code) => format!("exited with status {code}"),
        None => "ended".to_owned(),
    }
}

/// The signals by which libraries end their process.
fn signal_name(number: i32) -> String {
    let known = [
        (Signal::SEGV, "SIGSEGV"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::ILL, "SIGILL"),
        (Signal::KILL, "SIGKILL"),
        (Signal::TERM, "SIGTERM"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::SYS, "SIGSYS"),
    ];
    let named = known.iter().find(|(signal, _)| signal.as_raw() == number);
    match named {
        Some((_, name)) => format!("{name} (signal {number})"),
        None => format!("signal {number}"),
    }
}
