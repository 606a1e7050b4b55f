//! Carries packets between the far station's device and the helper, which speaks Ethernet.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use bytes::{Bytes, BytesMut};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::sys::socket::{MsgFlags, sendmsg};
use windfall_base::{Frame, Payload};

use crate::device::StationDevice;
use crate::driver::Device;
use crate::plan::DeviceKind;
use crate::system;

/// The hardware address by which the helper knows the station, whatever its IP address.
const STATION: [u8; 6] = [2, 0x57, 0x46, 0, 0, 1];
/// The hardware address of the helper's host; it looks at none.
const HELPER: [u8; 6] = [0x52, 0x55, 10, 0, 2, 2];
const IPV4: [u8; 2] = [0x08, 0x00];
const ARP: [u8; 2] = [0x08, 0x06];
/// An Ethernet header.
const HEADER: usize = 14;
/// ARP for Ethernet and IPv4, up to the operation.
const ARP_HEAD: [u8; 6] = [0, 1, 0x08, 0x00, 6, 4];
/// A whole question or answer of ARP.
const ARP_LEN: usize = HEADER + 28;
/// The longest frame.
const LONGEST: usize = 65_600;
/// Frames that are taken from the helper in a row, so that the device gets its turn.
const MOST_READS: usize = 64;

/// Carries packets until one side is gone or the run ends; returns the exit status of the process.
pub(crate) fn carry(device: &(OwnedFd, DeviceKind), helper: &OwnedFd) -> u8 {
    if set_pdeathsig(Signal::SIGKILL).is_err() {
        return 125;
    }
    let copy = device.0.try_clone().map(|copy| StationDevice::new(copy, device.1));
    // Either side ends with the run, whose end is no error here.
    u8::from(copy.and_then(|device| Carrier::new(device, helper).carry_on()).is_err())
}

struct Carrier<'a> {
    device: StationDevice,
    helper: &'a OwnedFd,
    /// Packets for which the helper has no room now; the device waits meanwhile.
    waiting: VecDeque<Vec<u8>>,
    buffer: BytesMut,
}

impl<'a> Carrier<'a> {
    fn new(device: StationDevice, helper: &'a OwnedFd) -> Self {
        Self { device, helper, waiting: VecDeque::new(), buffer: BytesMut::new() }
    }

    fn carry_on(&mut self) -> io::Result<()> {
        let mut packets = Vec::new();
        loop {
            self.wait()?;
            self.take_from_helper()?;
            if self.waiting.is_empty() {
                self.device.receive(&mut packets)?;
                self.waiting.extend(packets.drain(..).filter_map(|packet| framed(&packet)));
            }
            self.give_to_helper()?;
        }
    }

    /// Waits until there is something to carry, and room for it.
    fn wait(&self) -> io::Result<()> {
        let [mut of_helper, mut of_device] = [PollFlags::POLLIN; 2];
        if !self.waiting.is_empty() {
            of_helper |= PollFlags::POLLOUT;
            of_device = PollFlags::empty();
        }
        let helper = PollFd::new(self.helper.as_fd(), of_helper);
        let device = PollFd::new(self.device.as_fd(), of_device);
        let mut both = [helper, device];
        system::retry(|| poll(&mut both, PollTimeout::NONE))?;
        Ok(())
    }

    fn take_from_helper(&mut self) -> io::Result<()> {
        for _ in 0..MOST_READS {
            self.buffer.reserve(LONGEST);
            match system::retry(|| system::read(self.helper, &mut self.buffer)) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(Errno::EAGAIN) => break,
                Err(error) => return Err(error.into()),
            }
            let frame = self.buffer.split().freeze();
            if let Some(answer) = answer_to(&frame) {
                self.waiting.push_back(answer);
            } else if let Some(packet) = packet_of(&frame) {
                self.device.send(Frame::packet(packet))?;
            }
        }
        self.device.flush()
    }

    fn give_to_helper(&mut self) -> io::Result<()> {
        while let Some(frame) = self.waiting.front() {
            let parts = [IoSlice::new(frame)];
            let flags = MsgFlags::MSG_NOSIGNAL;
            let socket = self.helper.as_raw_fd();
            match system::retry(|| sendmsg::<()>(socket, &parts, &[], flags, None)) {
                // What is too long is lost, as on any path.
                Ok(_) | Err(Errno::EMSGSIZE) => {}
                Err(Errno::EAGAIN) => break,
                Err(error) => return Err(error.into()),
            }
            self.waiting.pop_front();
        }
        Ok(())
    }
}

/// The frame of a packet for the helper, which takes IPv4 alone.
fn framed(packet: &Payload) -> Option<Vec<u8>> {
    let [head, body] = packet.slices();
    let first = head.first().or(body.first())?;
    (first >> 4 == 4).then(|| [&HELPER[..], &STATION, &IPV4, head, body].concat())
}

/// The packet in a frame of the helper.
fn packet_of(frame: &Bytes) -> Option<Bytes> {
    (frame.get(12..HEADER)? == IPV4).then(|| frame.slice(HEADER..))
}

/// The answer to a question of ARP: every address is the station's or lies behind it.
fn answer_to(frame: &[u8]) -> Option<Vec<u8>> {
    let (header, question) = frame.get(..ARP_LEN)?.split_at(HEADER);
    let is_question = header[12..] == ARP && question[..6] == ARP_HEAD && question[6..8] == [0, 1];
    let asker = &question[8..18];
    let wanted = &question[24..28];
    is_question.then(|| {
        [&asker[..6], &STATION, &ARP, &ARP_HEAD, &[0, 2], &STATION, wanted, asker].concat()
    })
}

#[cfg(test)]
mod tests;
