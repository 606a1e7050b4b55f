//! Our side of the stations' devices.

pub(crate) mod mtu;
pub(crate) mod packet;
pub(crate) mod tun;

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::BytesMut;
use nix::errno::Errno;
use nix::sys::uio::writev;
use windfall_base::{Check, DropReason, Duration, Frame, Payload};
use windfall_wire_net::segment::{Description, Merged, Merger, OffloadKind, cut};

use crate::driver::Device;
use crate::hints::Hints;
use crate::kernel_counters::account::DeviceDrops;
use crate::plan::DeviceKind;
use crate::system;

/// The longest thing that one read returns: a segment, its link header, its description.
const LONGEST: usize = 66_000;
/// Reads in a row from one device, so that the others and the timers get their turn.
const MOST_READS: usize = 16;
/// Rounds of such reads until a device is taken for empty; its queue is shorter.
const MOST_DRAINS: usize = 10_000;
/// Shorter packets are copied out of the read buffer, longer ones keep it.
const SHORT: usize = 4096;

/// The end of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It is an error.
    Fatal,
    /// It may come.
    Awaited,
    /// It came, and was not reported yet.
    Came,
    /// It came, and was reported.
    Outcome,
}

/// A station's network device, seen from outside.
#[derive(Debug)]
pub struct StationDevice {
    descriptor: OwnedFd,
    kind: DeviceKind,
    buffer: BytesMut,
    merger: Merger,
    drops: DeviceDrops,
    /// The last read found nothing: the next packet is the first of a burst, or alone.
    drained: bool,
    /// The time for which the first packet of the last [`receive`](Device::receive) had waited.
    waited: Option<Duration>,
    /// Large segments are passed on as they are, for a TCP that takes them whole.
    whole: bool,
    /// The consequence when a program of the station deletes the device.
    end: End,
    /// The programs of the station that asked for hints of damage.
    hints: Option<Arc<Mutex<Hints>>>,
}

impl StationDevice {
    /// The device behind a descriptor.
    #[must_use]
    pub fn new(descriptor: OwnedFd, kind: DeviceKind) -> Self {
        let buffer = BytesMut::new();
        let merger = Merger::new();
        Self {
            descriptor,
            kind,
            buffer,
            merger,
            drops: DeviceDrops::new(kind),
            drained: true,
            waited: None,
            whole: false,
            end: End::Fatal,
            hints: None,
        }
    }

    /// Goes on without the device when it is deleted: what comes for it then is dropped.
    pub(crate) fn with_own_end(self) -> Self {
        Self { end: End::Awaited, ..self }
    }

    /// Tells whether the device was deleted since the last call.
    pub(crate) fn has_just_gone(&mut self) -> bool {
        let has_gone = self.end == End::Came;
        if has_gone {
            self.end = End::Outcome;
        }
        has_gone
    }

    /// Notes that the device is gone, if it may be.
    fn lose(&mut self, error: Errno) -> io::Result<()> {
        let is_end = matches!(error, Errno::EBADF | Errno::EBADFD | Errno::ENODEV | Errno::ENXIO);
        match self.end {
            End::Fatal if is_end => {
                Err(io::Error::new(io::ErrorKind::NotConnected, "the station's device is gone"))
            }
            End::Awaited if is_end => {
                self.end = End::Came;
                Ok(())
            }
            End::Came | End::Outcome => Ok(()),
            End::Fatal | End::Awaited => Err(error.into()),
        }
    }

    /// Hands large TCP segments over as they are, as one packet each.
    #[must_use]
    pub fn with_large_segments(self) -> Self {
        Self { whole: true, ..self }
    }

    /// Tells programs of the station which packets are damaged.
    pub(crate) fn with_hints(self, hints: Arc<Mutex<Hints>>) -> Self {
        Self { hints: Some(hints), ..self }
    }

    /// Returns what was lost between the kernel and the link so far.
    pub fn drops(&mut self) -> DeviceDrops {
        if self.kind == DeviceKind::Packet {
            let dropped = packet::take_drops(&self.descriptor);
            self.drops.before.count_many(DropReason::Kernel, dropped);
        }
        self.drops.clone()
    }

    /// Counts the packets that still wait on the device, and takes them off it.
    ///
    /// # Errors
    /// If the device is gone.
    pub(crate) fn drain(&mut self) -> io::Result<u64> {
        let mut packets = Vec::new();
        self.drained = false;
        // The kernel may go on sending for connections that its programs have left.
        for _ in 0..MOST_DRAINS {
            if self.drained || matches!(self.end, End::Came | End::Outcome) {
                break;
            }
            self.receive(&mut packets)?;
        }
        Ok(packets.len() as u64)
    }

    /// Counts the packets of a write that the kernel refused.
    fn refuse(&mut self, packets: usize, error: Errno) {
        self.drops.after.count_many(DropReason::Device, packets as u64);
        // What a device has no room for at the moment it does not count as dropped.
        self.drops.refused += u64::from(error != Errno::EAGAIN);
    }

    /// Bytes of the link header that the device wants.
    fn link_header(&self) -> usize {
        match self.kind {
            DeviceKind::Tun => 0,
            DeviceKind::Packet => packet::LINK_HEADER,
        }
    }

    /// Makes packets of what was read: a description, a link header, a packet or segment.
    fn take(&mut self, mut read: BytesMut, packets: &mut Vec<Payload>) {
        if read.len() < Description::LEN + self.link_header() {
            return self.drops.before.count(DropReason::Malformed);
        }
        let header = read.split_to(Description::LEN);
        let header = header.first_chunk().expect("as many bytes were split off");
        let Ok(mut description) = Description::parse(header) else {
            return self.drops.before.count(DropReason::Malformed);
        };
        let link_header = self.link_header();
        if link_header > 0 {
            let link = read.split_to(link_header);
            if !matches!(link[12..14], [0x08, 0x00] | [0x86, 0xdd]) {
                // Neither IP nor anything that a station of ours would send.
                return self.drops.before.count(DropReason::Malformed);
            }
            if let Some(checksum) = &mut description.checksum {
                checksum.start = checksum.start.saturating_sub(link_header as u16);
            }
        }
        if self.whole && description.cutting.is_some_and(|cutting| cutting.kind != OffloadKind::Udp)
        {
            description.cutting = None;
        }
        if cut(&description, read, packets).is_err() {
            self.drops.before.count(DropReason::Malformed);
        }
    }

    fn write(&mut self, mut merged: Merged) -> io::Result<()> {
        let link_header = self.link_header();
        if let Some(checksum) = &mut merged.description.checksum {
            checksum.start += link_header as u16;
        }
        let headers = if merged.headers > 0 { merged.headers + link_header as u16 } else { 0 };
        let description = merged.description.emit(headers);
        let version = merged.slices.first().and_then(|slice| slice.first()).map(|byte| byte >> 4);
        let link = link_header_of(version.unwrap_or(0));
        let mut slices = Vec::with_capacity(merged.slices.len() + 2);
        slices.push(IoSlice::new(&description));
        if link_header > 0 {
            slices.push(IoSlice::new(&link));
        }
        slices.extend(merged.slices.iter().map(|slice| IoSlice::new(slice)));
        match system::retry(|| writev(&self.descriptor, &slices)) {
            Ok(_) => {
                self.drops.taken += 1;
                Ok(())
            }
            Err(error @ (Errno::EBADF | Errno::EBADFD | Errno::ENODEV | Errno::ENXIO)) => {
                self.refuse(merged.packets, error);
                self.lose(error)
            }
            // Full, down, or the bytes are no packet to it.
            Err(error) => {
                self.refuse(merged.packets, error);
                Ok(())
            }
        }
    }
}

/// The link header of a packet of this IP version for a station's Ethernet device.
fn link_header_of(version: u8) -> [u8; packet::LINK_HEADER] {
    let mut header = [0; packet::LINK_HEADER];
    header[..6].copy_from_slice(&packet::INNER);
    header[6..12].copy_from_slice(&packet::OUTER);
    header[12..].copy_from_slice(if version == 6 { &[0x86, 0xdd] } else { &[0x08, 0x00] });
    header
}

impl Device for StationDevice {
    fn receive(&mut self, packets: &mut Vec<Payload>) -> io::Result<()> {
        let reads = if std::mem::take(&mut self.drained) { 1 } else { MOST_READS };
        self.waited = None;
        for first in (0..reads).map(|read| read == 0) {
            self.buffer.reserve(LONGEST);
            match system::read(&self.descriptor, &mut self.buffer) {
                Ok(_) => {}
                Err(Errno::EINTR) => continue,
                Err(Errno::EAGAIN) => {
                    self.drained = true;
                    break;
                }
                Err(Errno::ENOBUFS | Errno::ENETDOWN) => continue,
                Err(error) => return self.lose(error),
            }
            if first && self.kind == DeviceKind::Packet {
                self.waited = packet::age(&self.descriptor);
            }
            let read = if self.buffer.len() < SHORT {
                let copy = BytesMut::from(&self.buffer[..]);
                self.buffer.clear();
                copy
            } else {
                self.buffer.split()
            };
            self.take(read, packets);
        }
        Ok(())
    }

    fn waited(&mut self) -> Option<Duration> {
        self.waited
    }

    fn send(&mut self, frame: Frame) -> io::Result<()> {
        let intact = frame.damage.frame != Check::Bad && !frame.damage.is_damaged();
        if !intact && let Some(hints) = &self.hints {
            hints.lock().unwrap_or_else(PoisonError::into_inner).tell(&frame.payload);
        }
        match self.merger.push(frame.payload, intact) {
            Some(merged) => self.write(merged),
            None => Ok(()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.merger.flush() {
            Some(merged) => self.write(merged),
            None => Ok(()),
        }
    }
}

impl AsFd for StationDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

#[cfg(test)]
mod tests;
