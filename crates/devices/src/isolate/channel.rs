//! A socket between the two processes: messages with a length, and descriptors beside them.

use super::wire::{Damaged, HEAD, MOST_BYTES};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

/// A reader looks up this often whether it should go on.
const LOOK: Duration = Duration::from_millis(20);
/// Bytes that are read at once.
const READ_BYTES: usize = 1 << 14;
/// The most descriptors that come beside one message.
const MOST_FDS: usize = 4;

/// Why nothing more comes or goes.
#[derive(Debug)]
pub enum Broken {
    /// The other process closed its end, or is gone.
    Closed,
    /// It sent what is no message.
    Damaged,
    /// The system's error.
    System(io::Error),
    /// The caller's wish to stop.
    Stopped,
}

impl From<Damaged> for Broken {
    fn from(_: Damaged) -> Self {
        Self::Damaged
    }
}

impl From<Errno> for Broken {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::PIPE | Errno::CONNRESET => Self::Closed,
            other => Self::System(other.into()),
        }
    }
}

/// Says whether to go on waiting. It is asked every few milliseconds.
pub type GoOn<'a> = &'a mut dyn FnMut() -> bool;

/// One end.
pub struct Channel {
    fd: OwnedFd,
    inbox: Vec<u8>,
    /// Bytes of the inbox that were read as messages.
    done: usize,
    /// Descriptors that came, in their order; none where they are not taken.
    fds: Option<VecDeque<OwnedFd>>,
}

impl Channel {
    /// Both ends of a new socket. This one drops descriptors that come.
    pub fn pair() -> io::Result<(Self, OwnedFd)> {
        let (own, other) = socketpair(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )?;
        let own = Self {
            fds: None,
            ..Self::new(own)
        };
        Ok((own, other))
    }

    /// The end of a descriptor.
    pub fn new(fd: OwnedFd) -> Self {
        Self {
            fd,
            inbox: Vec::new(),
            done: 0,
            fds: Some(VecDeque::new()),
        }
    }

    /// Sends a message, and a descriptor beside it. Waits while the other side reads too little.
    pub fn send(
        &self,
        message: &[u8],
        beside: Option<BorrowedFd<'_>>,
        go_on: GoOn<'_>,
    ) -> Result<(), Broken> {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let fds: Vec<BorrowedFd<'_>> = beside.into_iter().collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut sent = 0;
        while sent < message.len() {
            let mut control = SendAncillaryBuffer::new(&mut space);
            if sent == 0 && !fds.is_empty() {
                control.push(SendAncillaryMessage::ScmRights(&fds));
            }
            let parts = [IoSlice::new(&message[sent..])];
            match sendmsg(&self.fd, &parts, &mut control, flags) {
                Ok(bytes) => sent += bytes,
                Err(Errno::AGAIN) => self.wait(PollFlags::OUT, go_on)?,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Waits until the socket can be read or written, or looks whether to go on.
    fn wait(&self, events: PollFlags, go_on: GoOn<'_>) -> Result<(), Broken> {
        let mut polled = [PollFd::new(&self.fd, events)];
        let look = Timespec {
            tv_sec: 0,
            tv_nsec: LOOK.subsec_nanos().into(),
        };
        match poll(&mut polled, Some(&look)) {
            Ok(0) | Err(Errno::INTR) => go_on().then_some(()).ok_or(Broken::Stopped),
            Ok(_) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// The next message, behind its length. Waits for it.
    pub fn receive(&mut self, go_on: GoOn<'_>) -> Result<&[u8], Broken> {
        self.forget();
        let bytes = loop {
            let there = &self.inbox[self.done..];
            if let Some(head) = there.first_chunk::<HEAD>() {
                let bytes = u32::from_le_bytes(*head) as usize;
                if bytes > MOST_BYTES {
                    return Err(Broken::Damaged);
                }
                if there.len() >= HEAD + bytes {
                    break bytes;
                }
            }
            self.fill(go_on)?;
        };
        let start = self.done + HEAD;
        self.done = start + bytes;
        Ok(&self.inbox[start..self.done])
    }

    /// The next descriptor that came.
    pub fn descriptor_beside(&mut self) -> Result<OwnedFd, Damaged> {
        self.fds
            .as_mut()
            .and_then(VecDeque::pop_front)
            .ok_or(Damaged)
    }

    /// Drops what was read.
    fn forget(&mut self) {
        if self.done == self.inbox.len() {
            self.inbox.clear();
            self.done = 0;
        } else if self.done > READ_BYTES {
            self.inbox.drain(..self.done);
            self.done = 0;
        }
    }

    /// Reads what is there, or waits for something.
    fn fill(&mut self, go_on: GoOn<'_>) -> Result<(), Broken> {
        let end = self.inbox.len();
        self.inbox.resize(end + READ_BYTES, 0);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(&mut self.inbox[end..])];
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let received = recvmsg(&self.fd, &mut parts, &mut control, flags);
        for message in control.drain() {
            if let (RecvAncillaryMessage::ScmRights(fds), Some(own)) = (message, &mut self.fds) {
                own.extend(fds);
            }
        }
        let bytes = received.as_ref().map_or(0, |message| message.bytes);
        self.inbox.truncate(end + bytes);
        match received {
            Ok(message) if message.bytes == 0 => Err(Broken::Closed),
            Ok(_) => Ok(()),
            Err(Errno::AGAIN) => self.wait(PollFlags::IN, go_on),
            Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::{Reader, Writer};
    use super::*;
    use rustix::net::send;
    use std::os::fd::AsFd;

    fn ends() -> (Channel, Channel) {
        let (one, other) = Channel::pair().unwrap_or_else(|error| panic!("{error}"));
        (one, Channel::new(other))
    }

    fn first(channel: &mut Channel) -> Result<u32, Broken> {
        let message = channel.receive(&mut || false)?;
        Ok(Reader::new(message).u32()?)
    }

    #[test]
    fn messages_and_descriptors_arrive_in_their_order() -> Result<(), Broken> {
        let (one, mut other) = ends();
        let mut writer = Writer::default();
        for kind in 0..3u32 {
            let fd = (kind == 1).then(|| one.fd.as_fd());
            let message = writer.begin(kind).end().unwrap_or_default();
            one.send(message, fd, &mut || false)?;
        }
        let found = [first(&mut other)?, first(&mut other)?, first(&mut other)?];
        assert_eq!(found, [0, 1, 2]);
        assert!(other.descriptor_beside().is_ok() && other.descriptor_beside().is_err());
        assert!(
            matches!(first(&mut other), Err(Broken::Stopped)),
            "nothing comes"
        );
        drop(one);
        assert!(matches!(first(&mut other), Err(Broken::Closed)));
        Ok(())
    }

    #[test]
    fn a_message_that_says_it_is_too_long_is_damaged() {
        let (one, mut other) = ends();
        let sent = send(one.fd.as_fd(), &[0xff; 64], SendFlags::empty());
        assert_eq!(sent, Ok(64));
        assert!(matches!(first(&mut other), Err(Broken::Damaged)));
    }

    #[test]
    fn a_sender_that_nobody_reads_asks_whether_to_go_on() {
        let (one, _other) = ends();
        let mut looks = 0;
        let mut look = || {
            looks += 1;
            looks < 3
        };
        let sent = one.send(&vec![0; 1 << 24], None, &mut look);
        assert!(matches!(sent, Err(Broken::Stopped)));
        assert_eq!(looks, 3);
    }
}
