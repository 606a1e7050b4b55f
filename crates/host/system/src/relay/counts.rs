//! What a port has carried and dropped, told to the run by its helper.
//!
//! The helper writes its counts over the ones before into a file without a name, so that the run
//! reads them after the helper has been killed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::rc::Rc;

use rustix::fs::{MemfdFlags, memfd_create};

/// The longest text of counts.
const LONGEST: usize = 4_096;

/// An event at a port: a new client, or the reason of a drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PortCount {
    /// A connection, or a client that sends datagrams, was taken.
    Clients,
    /// A client that had been idle for longest was sent away for a new one.
    EvictedIdle,
    /// No target took the connection, or each of them refused the datagram.
    Refused,
    /// The system has no descriptor or no memory for one more socket.
    NoSocket,
    /// A datagram does not fit into the path, or the network is full.
    NotSent,
}

impl PortCount {
    const ALL: [(Self, &str); 5] = [
        (Self::Clients, "clients"),
        (Self::EvictedIdle, "evicted-idle"),
        (Self::Refused, "refused"),
        (Self::NoSocket, "no-socket"),
        (Self::NotSent, "not-sent"),
    ];

    /// Returns the name of the count in summaries.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(count, _)| *count == self).map_or("", |(_, name)| name)
    }
}

/// The counts of a helper.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts(Rc<RefCell<Told>>);

#[derive(Debug, Default)]
struct Told {
    counts: BTreeMap<PortCount, u64>,
    /// The file that the run reads.
    to: Option<File>,
}

impl Counts {
    /// Tells the counts to the run that reads this file.
    pub(crate) fn telling(to: OwnedFd) -> Self {
        let told = Told { to: Some(to.into()), ..Told::default() };
        Self(Rc::new(RefCell::new(told)))
    }

    /// Counts one more.
    pub(crate) fn add(&self, count: PortCount) {
        let mut told = self.0.borrow_mut();
        *told.counts.entry(count).or_default() += 1;
        if let Some(to) = &told.to {
            let lines = told.counts.iter().map(|(count, it)| format!("{} {it}\n", count.name()));
            // The numbers only grow, so that nothing of an older text is left behind this one. A
            // terminal takes no text at a position.
            let _ = to.write_all_at(lines.collect::<String>().as_bytes(), 0);
        }
    }
}

/// The file of the counts of one helper.
#[derive(Debug)]
pub(crate) struct CountsFile(File);

impl CountsFile {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(File::from(memfd_create("windfall-relay", MemfdFlags::CLOEXEC)?)))
    }

    /// Returns the end that the helper writes to.
    pub(crate) fn writer(&self) -> io::Result<File> {
        self.0.try_clone()
    }

    /// Reads the counts.
    pub(crate) fn read(&self) -> BTreeMap<&'static str, u64> {
        let mut bytes = [0; LONGEST];
        let length = self.0.read_at(&mut bytes, 0).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes[..length]);
        let count = |line: &str| {
            let (name, count) = line.split_once(' ')?;
            let known = PortCount::ALL.iter().find(|(_, known)| *known == name)?;
            Some((known.1, count.parse().ok()?))
        };
        text.lines().filter_map(count).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_helper_counts_is_read_after_it_has_ended() {
        let file = CountsFile::new().expect("a file");
        let counts = Counts::telling(file.writer().expect("a descriptor").into());
        assert_eq!(file.read(), BTreeMap::new());
        (0..11).for_each(|_| counts.add(PortCount::Clients));
        counts.add(PortCount::EvictedIdle);
        drop(counts);
        assert_eq!(file.read(), BTreeMap::from([("clients", 11), ("evicted-idle", 1)]));
    }

    #[test]
    fn every_count_has_the_name_of_the_summaries_and_what_is_unknown_is_not_read() {
        let file = CountsFile::new().expect("a file");
        let counts = Counts::telling(file.writer().expect("a descriptor").into());
        let all = [
            (PortCount::Clients, "clients"),
            (PortCount::EvictedIdle, "evicted-idle"),
            (PortCount::Refused, "refused"),
            (PortCount::NoSocket, "no-socket"),
            (PortCount::NotSent, "not-sent"),
        ];
        for (count, name) in all {
            assert_eq!(count.name(), name);
            counts.add(count);
        }
        assert_eq!(file.read(), all.map(|(_, name)| (name, 1)).into());
        let file = CountsFile::new().expect("a file");
        let text = b"refused 7\nelsewhere 3\nclients many\nnot-sent\n";
        file.writer().expect("a descriptor").write_all_at(text, 0).expect("room");
        assert_eq!(file.read(), BTreeMap::from([("refused", 7)]));
    }
}
