//! All units in one pool: as many compilers as cargo has jobs to spare.

use crate::unit::{Digests, Unit};
use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

enum Event {
    /// Leave to run one more compiler.
    Token(io::Result<jobserver::Acquired>),
    /// A unit has ended, after so many seconds: what the compiler said, or its error.
    Done(
        usize,
        Option<jobserver::Acquired>,
        f32,
        Result<String, String>,
    ),
}

/// Compiles the units whose inputs have changed.
pub fn compile(units: &[Unit], tool: &cc::Tool) -> io::Result<()> {
    let version = version_of(tool)?;
    let mut files = Digests::default();
    let stale = |&index: &usize| !units[index].is_fresh(&version, &mut files);
    let due = (0..units.len()).filter(stale).collect();
    for line in run(units, due, &version)?.lines() {
        println!("cargo:warning={line}");
    }
    Ok(())
}

/// Runs the compilers; returns their warnings.
fn run(units: &[Unit], mut due: VecDeque<usize>, version: &str) -> io::Result<String> {
    let count = due.len();
    let mut progress = Progress::new(count);
    let (events, inbox) = channel();
    // A build script has one job; the others come from cargo's, as they get free.
    let helper = helper(events.clone(), count)?;
    let (mut said, mut failed, mut running) = (String::new(), String::new(), 0);
    std::thread::scope(|scope| {
        let start = |token: Option<jobserver::Acquired>, due: &mut VecDeque<usize>| {
            let Some(index) = due.pop_front() else {
                return false;
            };
            let events = events.clone();
            scope.spawn(move || {
                let began = Instant::now();
                let result = units[index].compile(version);
                let seconds = began.elapsed().as_secs_f32();
                // The receiver lives until every unit has ended.
                let _ = events.send(Event::Done(index, token, seconds, result));
            });
            true
        };
        running += usize::from(start(None, &mut due));
        while running > 0 {
            match inbox.recv() {
                Ok(Event::Token(token)) => running += usize::from(start(token.ok(), &mut due)),
                Ok(Event::Done(index, token, seconds, result)) => {
                    running -= 1;
                    progress.add(&units[index].name, seconds);
                    match result {
                        Ok(text) => said += &text,
                        Err(text) => {
                            failed += &text;
                            due.clear();
                        }
                    }
                    running += usize::from(start(token, &mut due));
                }
                Err(_) => break,
            }
        }
    });
    drop(helper);
    if failed.is_empty() {
        Ok(said)
    } else {
        Err(io::Error::other(format!(
            "the C++ compiler failed:\n{failed}"
        )))
    }
}

/// A thread that asks cargo for jobs: for all units but the first, which has this script's own.
fn helper(events: Sender<Event>, units: usize) -> io::Result<jobserver::HelperThread> {
    // SAFETY: the descriptors that cargo hands over are open, and used by nothing else here.
    let found = unsafe { jobserver::Client::from_env() };
    let client = match found {
        Some(client) => client,
        None => jobserver::Client::new(std::thread::available_parallelism()?.get())?,
    };
    let helper = client.into_helper_thread(move |token| {
        let _ = events.send(Event::Token(token));
    })?;
    for _ in 1..units {
        helper.request_token();
    }
    Ok(helper)
}

/// The compiler and its version: another one makes other objects.
fn version_of(tool: &cc::Tool) -> io::Result<String> {
    let done = Command::new(tool.path()).arg("--version").output()?;
    Ok(format!(
        "{}\n{}",
        tool.path().display(),
        String::from_utf8_lossy(&done.stdout)
    ))
}

/// The file that `CLOAKWORK_PROGRESS` names: a line for each finished unit, with its seconds.
struct Progress {
    file: Option<std::fs::File>,
    done: usize,
    count: usize,
}

impl Progress {
    fn new(count: usize) -> Self {
        let path = std::env::var_os("CLOAKWORK_PROGRESS");
        let file = path.and_then(|path| std::fs::File::create(path).ok());
        Self {
            file,
            done: 0,
            count,
        }
    }

    fn add(&mut self, name: &str, seconds: f32) {
        self.done += 1;
        if let Some(file) = &mut self.file {
            // Nobody depends on it.
            let _ = writeln!(
                file,
                "csrc {}/{} {name} {seconds:.1} s",
                self.done, self.count
            );
        }
    }
}
