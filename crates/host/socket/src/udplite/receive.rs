//! Reception: batches, datagrams merged by UDP GRO, and the header of each carrier.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use arrayvec::ArrayVec;
use bytes::Bytes;
use memmap2::{Advice, MmapMut, MmapOptions};
use rustix::net::RecvFlags;
use windfall_base::{DropReason, Drops};
use windfall_wire_net::carrier::Ports;
use windfall_wire_net::udplite::{self, Coverage};
use windfall_wire_net::{Addresses, CarrierPacket, Ipv4Packet, UdpLitePacket, carrier};

use super::{ReceivedDatagram, UNSET, UdpLiteSocket};
use crate::carrier::Carrier;
use crate::pool::{LONG, Pool, WORTH};
use crate::system::{self, Incoming, SocketOption};

/// The size of the first buffer of one datagram, until a longer one has arrived. It holds the
/// longest 802.11 MSDU, so that path MTU probes fit.
const USUAL: usize = 2304;
/// The size of the second buffer, for what the first does not hold.
const REST: usize = LONG - USUAL;
/// The number of received datagrams after which their copies are drained from the placeholder.
const COPIES: usize = 16;
/// The number of datagrams in a batch after a longer datagram has arrived.
const LONG_BATCH: usize = 16;

/// The receive buffers of a batch.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// A datagram longer than usual has arrived.
    long: bool,
    /// The buffers of a batch until then.
    usual: Option<UsualBuffers>,
    /// One buffer for each long datagram of a batch after that.
    buffers: ArrayVec<MmapMut, LONG_BATCH>,
    /// The datagrams that were discarded.
    drops: Drops,
}

/// The buffers of datagrams that are usually short.
#[derive(Debug)]
struct UsualBuffers {
    /// The first [`USUAL`] bytes of each datagram.
    starts: MmapMut,
    /// The next [`REST`] bytes of each. Only long datagrams occupy memory here.
    rests: MmapMut,
}

impl UsualBuffers {
    fn new() -> io::Result<Self> {
        let starts = MmapMut::map_anon(system::BATCH * USUAL)?;
        let rests = MmapOptions::new().len(system::BATCH * REST).no_reserve_swap().map_anon()?;
        // A huge page would occupy memory for the whole batch. A kernel without them refuses.
        let _ = rests.advise(Advice::NoHugePage);
        Ok(Self { starts, rests })
    }

    fn pairs(&mut self) -> impl Iterator<Item = [&mut [u8]; 2]> {
        let starts = self.starts.chunks_exact_mut(USUAL);
        starts.zip(self.rests.chunks_exact_mut(REST)).map(|(start, rest)| [start, rest])
    }

    /// Returns a copy of the first `len` bytes of the datagram with this index.
    fn copy(&self, index: usize, len: usize) -> Bytes {
        let start = &self.starts[index * USUAL..][..len.min(USUAL)];
        if len <= USUAL {
            return Bytes::copy_from_slice(start);
        }
        let rest = &self.rests[index * REST..][..len - USUAL];
        Bytes::from([start, rest].concat())
    }
}

impl Scratch {
    fn receive(
        &mut self,
        fd: BorrowedFd<'_>,
        pool: &Pool,
        most: usize,
        received: &mut ArrayVec<Incoming, { system::BATCH }>,
    ) -> io::Result<()> {
        if self.long {
            while !self.buffers.is_full() {
                self.buffers.push(pool.take()?);
            }
            let pairs = self.buffers.iter_mut().map(|pages| [&mut pages[..], &mut []]);
            return system::receive(fd, pairs.take(most), received);
        }
        if self.usual.is_none() {
            self.usual = Some(UsualBuffers::new()?);
        }
        let pairs = self.usual.iter_mut().flat_map(UsualBuffers::pairs);
        system::receive(fd, pairs.take(most), received)
    }

    /// Returns the bytes of a received datagram; long ones without a copy, if they have a buffer of
    /// their own. Returns `None` if the buffers do not hold all of it.
    fn bytes_of(&mut self, incoming: &Incoming, pool: &Pool) -> io::Result<Option<Bytes>> {
        let index = incoming.index;
        let len = incoming.len;
        if len > LONG {
            return Ok(None);
        }
        if let Some(usual) = &self.usual {
            return Ok(Some(usual.copy(index, len)));
        }
        if len < WORTH {
            return Ok(Some(Bytes::copy_from_slice(&self.buffers[index][..len])));
        }
        let pages = std::mem::replace(&mut self.buffers[index], pool.take()?);
        Ok(Some(pool.lend(pages).slice(..len)))
    }
}

/// A parsed datagram: its sender, the range of its payload, and the result of its checksum.
struct Reading {
    from: SocketAddr,
    data: Range<usize>,
    intact: bool,
    unbound: bool,
    /// The system's own checksum covers it.
    whole: bool,
}

impl UdpLiteSocket {
    /// Receives a batch of datagrams with a correct checksum; returns the number added to
    /// `arrivals`.
    ///
    /// # Errors
    /// If nothing waits ([`io::ErrorKind::WouldBlock`]), or the system reports an error.
    pub fn receive(&self, arrivals: &mut Vec<ReceivedDatagram>) -> io::Result<usize> {
        self.receive_up_to(system::BATCH, arrivals)
    }

    /// Receives as [`receive`](Self::receive) does, but at most `most` datagrams, so that the
    /// descriptor stays readable while others wait.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub fn receive_up_to(
        &self,
        most: usize,
        arrivals: &mut Vec<ReceivedDatagram>,
    ) -> io::Result<usize> {
        let before = arrivals.len();
        let all = self.take(most, arrivals)?;
        let mut index = 0;
        arrivals.retain(|arrival| {
            index += 1;
            index <= before || arrival.intact
        });
        let intact = arrivals.len() - before;
        if intact < all {
            let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
            scratch.drops.count_many(DropReason::UdpLiteChecksum, (all - intact) as u64);
        }
        Ok(intact)
    }

    /// Receives a batch, including datagrams whose checksum failed if this end verifies it.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub fn receive_any(&self, arrivals: &mut Vec<ReceivedDatagram>) -> io::Result<usize> {
        self.take(system::BATCH, arrivals)
    }

    /// Permits UDP GRO, which is enabled once a datagram under the system's own checksum arrives. A
    /// call may then receive more datagrams than it has buffers.
    pub(crate) fn permit_merging(&self) {
        self.may_merge.store(self.carrier == Carrier::Udp, Ordering::Relaxed);
    }

    /// Enables UDP GRO; returns whether that succeeds.
    fn merge(&self) -> bool {
        if !self.may_merge.load(Ordering::Relaxed) || self.merges.swap(true, Ordering::Relaxed) {
            return false;
        }
        system::set(self.socket.as_fd(), SocketOption::MERGE, 1).is_ok()
    }

    /// Takes the copies of `count` received datagrams from the socket that reserves the port, once
    /// there are [`COPIES`].
    fn take_copies(&self, count: usize) {
        let Some(holder) = &self.placeholder else { return };
        if self.copies.fetch_add(count, Ordering::Relaxed) + count < COPIES {
            return;
        }
        let most = 2 * self.copies.swap(0, Ordering::Relaxed);
        let flags = RecvFlags::DONTWAIT | RecvFlags::TRUNC;
        let mut byte = [0_u8; 1];
        for _ in 0..most {
            if rustix::net::recv(holder, &mut byte, flags).is_err() {
                break;
            }
        }
    }

    /// Receives at most `most` datagrams, whatever their checksum.
    fn take(&self, most: usize, arrivals: &mut Vec<ReceivedDatagram>) -> io::Result<usize> {
        let before = arrivals.len();
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let mut received = ArrayVec::new();
        scratch.receive(self.socket.as_fd(), &self.pool, most, &mut received)?;
        self.take_copies(received.len());
        let mut longer = false;
        let mut whole = false;
        for incoming in &received {
            longer |= incoming.len > USUAL;
            let Some(data) = scratch.bytes_of(incoming, &self.pool)? else {
                let count = incoming.len.div_ceil(incoming.segment.unwrap_or(incoming.len).max(1));
                scratch.drops.count_many(DropReason::Truncated, count as u64);
                continue;
            };
            // The system may have merged datagrams of one length.
            let size = incoming.segment.unwrap_or(incoming.len).max(1);
            for start in (0..incoming.len).step_by(size).take(system::SEGMENTS) {
                let end = incoming.len.min(start + size);
                let reading = match self.read(incoming, &data[start..end]) {
                    Ok(reading) => reading,
                    Err(reason) => {
                        scratch.drops.count(reason);
                        continue;
                    }
                };
                let Reading { from, data: place, intact, unbound, whole: is_whole } = reading;
                whole |= is_whole;
                let buffer = if size < incoming.len { data.len() } else { 0 };
                let data = data.slice(start + place.start..start + place.end);
                let whole = is_whole;
                arrivals.push(ReceivedDatagram { from, data, intact, unbound, whole, buffer });
            }
        }
        if whole && self.merge() {
            longer = true;
        }
        if longer && !scratch.long {
            scratch.long = true;
            scratch.usual = None;
        }
        Ok(arrivals.len() - before)
    }

    /// Returns the number of datagrams that it has discarded, by reason: those for other ports, of
    /// which a raw socket sees copies, among them ([`DropReason::NotForUs`]). What the kernel drops
    /// it does not see.
    #[must_use]
    pub fn drops(&self) -> Drops {
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner).drops.clone()
    }

    /// Releases the receive buffers until they are needed again.
    pub fn rest(&self) {
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        scratch.usual = None;
        scratch.buffers.clear();
        self.pool.clear();
    }

    /// Parses a received datagram.
    ///
    /// # Errors
    /// The reason to drop it.
    fn read(&self, incoming: &Incoming, bytes: &[u8]) -> Result<Reading, DropReason> {
        let from = incoming.from;
        let local = || incoming.to.unwrap_or_else(|| self.local_addr().ip());
        match self.carrier {
            Carrier::Kernel => {
                let data = 0..bytes.len();
                Ok(Reading { from, data, intact: true, unbound: false, whole: false })
            }
            Carrier::Udp => {
                let packet = CarrierPacket::new(bytes).map_err(|_| DropReason::Malformed)?;
                self.accepts(packet.coverage(), bytes.len())?;
                let data = carrier::HEADER_LEN..bytes.len();
                if packet.is_whole() {
                    // The system has checked it.
                    return Ok(Reading { from, data, intact: true, unbound: false, whole: true });
                }
                let addresses = Addresses::new(from.ip(), local()).ok_or(DropReason::Malformed)?;
                let ports = Ports { src: from.port(), dst: self.local_addr().port() };
                let intact = packet.checksum_holds(&addresses, ports);
                Ok(Reading { from, data, intact, unbound: packet.is_unbound(), whole: false })
            }
            Carrier::Raw => self.read_raw(from, bytes, local()),
        }
    }

    /// Parses a datagram of a raw socket: with its IP header over IPv4, without over IPv6.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    fn read_raw(
        &self,
        mut from: SocketAddr,
        bytes: &[u8],
        local: IpAddr,
    ) -> Result<Reading, DropReason> {
        let (start, bytes, addresses) = if from.is_ipv4() {
            let packet = Ipv4Packet::new(bytes).map_err(|_| DropReason::Malformed)?;
            (packet.header_len(), packet.payload(), packet.addresses())
        } else {
            let addresses = Addresses::new(from.ip(), local).ok_or(DropReason::Malformed)?;
            (0, bytes, addresses)
        };
        let packet = UdpLitePacket::new(bytes).map_err(|_| DropReason::Malformed)?;
        from.set_port(packet.src_port());
        let peer = self.peer.get();
        let is_other = peer.is_some_and(|it| (it.ip(), it.port()) != (from.ip(), from.port()));
        if packet.dst_port() != self.local_addr().port() || is_other {
            return Err(DropReason::NotForUs);
        }
        self.accepts(packet.coverage(), bytes.len())?;
        let data = start + udplite::HEADER_LEN..start + bytes.len();
        let intact = packet.checksum_holds(&addresses);
        Ok(Reading { from, data, intact, unbound: false, whole: false })
    }

    /// Checks that a datagram of `len` bytes has the required coverage.
    ///
    /// # Errors
    /// If it has not.
    fn accepts(&self, coverage: Coverage, len: usize) -> Result<(), DropReason> {
        let accepted = match self.least_coverage.load(Ordering::Relaxed) {
            UNSET => true,
            0 => coverage.bytes_of(len) == len,
            least => coverage.bytes_of(len) >= least as usize || coverage == Coverage::Full,
        };
        accepted.then_some(()).ok_or(DropReason::UdpLiteCoverage)
    }
}
