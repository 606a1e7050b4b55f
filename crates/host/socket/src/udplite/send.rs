//! Sending: headers of the carriers, batches, and runs that the system cuts.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd as _;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use arrayvec::ArrayVec;
use windfall_wire_net::Addresses;
use windfall_wire_net::carrier::{self, Ports};
use windfall_wire_net::udplite::{Coverage, UdpLiteRepr};

use super::{UDPLITE_SEND_CSCOV, UdpLiteDatagram, UdpLiteSocket};
use crate::carrier::Carrier;
use crate::system::{self, Outgoing, SocketOption};

/// The longest payload of UDP over IPv4.
const LONGEST_DATAGRAM: usize = 65_507;

impl UdpLiteSocket {
    /// Sends as many of `datagrams` as the system accepts now; returns their number.
    ///
    /// # Errors
    /// If the system accepts none: [`io::ErrorKind::WouldBlock`] if its buffer is full.
    pub fn send(&self, datagrams: &[UdpLiteDatagram<'_>]) -> io::Result<usize> {
        let Some(first) = datagrams.first() else { return Ok(0) };
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let count = datagrams.iter().take_while(|it| self.option(it) == self.option(first)).count();
        let told = &mut told[usize::from(first.to.is_ipv6())];
        if let Some((option, value)) = self.option(first)
            && *told != value
        {
            system::set(self.socket.as_fd(), option, value)?;
            *told = value;
        }
        if let Some(result) = self.send_segments(&datagrams[..count]) {
            return result;
        }
        let datagrams = &datagrams[..count.min(system::BATCH)];
        let mut heads: ArrayVec<([u8; 8], usize, Option<IpAddr>), { system::BATCH }> =
            ArrayVec::new();
        for datagram in datagrams {
            heads.push(self.head(datagram)?);
        }
        let mut outgoing: ArrayVec<Outgoing<'_>, { system::BATCH }> = ArrayVec::new();
        outgoing.extend(datagrams.iter().zip(&heads).map(|(it, (head, len, source))| Outgoing {
            to: self.address(it.to),
            source: *source,
            parts: [&head[..*len], it.parts[0], it.parts[1], it.parts[2]],
        }));
        let result = system::send(self.socket.as_fd(), &outgoing);
        if result.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::WouldBlock) {
            self.sources.forget();
        }
        result
    }

    /// Passes whole datagrams of one length, the last of which may be shorter, to the system as
    /// one, which it or the hardware cuts; `None` if they differ or the system cannot.
    fn send_segments(&self, datagrams: &[UdpLiteDatagram<'_>]) -> Option<io::Result<usize>> {
        let first = datagrams.first().filter(|it| it.whole && self.carrier == Carrier::Udp)?;
        let size = datagram_len(first) + carrier::HEADER_LEN;
        let most = (LONGEST_DATAGRAM / size).min(system::SEGMENTS);
        let alike = datagrams
            .iter()
            .take(most)
            .take_while(|it| it.to == first.to && datagram_len(it) <= datagram_len(first));
        let full = alike.clone().take_while(|it| datagram_len(it) == datagram_len(first)).count();
        let count = alike.count().min(full + 1);
        if count < 2 || !self.cuts.load(Ordering::Relaxed) {
            return None;
        }
        let mut head = [0; carrier::HEADER_LEN];
        carrier::emit_whole(&mut head);
        let slices = datagrams[..count].iter().flat_map(|it| {
            std::iter::once(&head[..]).chain(it.parts).filter(|slice| !slice.is_empty())
        });
        match system::send_segments(self.socket.as_fd(), self.address(first.to), size, slices) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                // One by one they go anyway, or fail with the error that counts.
                let lasting = [Some(libc::EIO), Some(libc::EOPNOTSUPP), Some(libc::EINVAL)];
                if lasting.contains(&error.raw_os_error()) {
                    self.cuts.store(false, Ordering::Relaxed);
                }
                None
            }
            result => Some(result.map(|()| count)),
        }
    }

    /// Returns the kernel's socket option that depends on the datagram, and its value.
    fn option(&self, datagram: &UdpLiteDatagram<'_>) -> Option<(SocketOption, i32)> {
        let omit = i32::from(!datagram.whole);
        match self.carrier {
            Carrier::Kernel => {
                Some((SocketOption::udp_lite(UDPLITE_SEND_CSCOV), datagram.coverage.into()))
            }
            Carrier::Udp if datagram.to.is_ipv4() => Some((SocketOption::NO_CHECK, omit)),
            Carrier::Udp => Some((SocketOption::NO_CHECK6_TX, omit)),
            Carrier::Raw => None,
        }
    }

    /// Returns the destination to pass to the system, unless the socket is connected to it.
    fn address(&self, mut to: SocketAddr) -> Option<SocketAddr> {
        if self.carrier == Carrier::Raw {
            to.set_port(0);
        }
        if let (true, SocketAddr::V4(v4)) = (self.both, to) {
            to = SocketAddr::new(v4.ip().to_ipv6_mapped().into(), v4.port());
        }
        (self.peer.get() != Some(&to)).then_some(to)
    }

    /// Returns the header before the payload, its length, and the source address to set.
    fn head(&self, datagram: &UdpLiteDatagram<'_>) -> io::Result<([u8; 8], usize, Option<IpAddr>)> {
        let mut head = [0; 8];
        match self.carrier {
            Carrier::Kernel => return Ok((head, 0, None)),
            Carrier::Udp if datagram.whole => {
                carrier::emit_whole(&mut head);
                return Ok((head, 8, None));
            }
            Carrier::Udp | Carrier::Raw => {}
        }
        let coverage = Coverage::requested(datagram.coverage);
        let [first, second, third] = datagram.parts;
        // The checksum takes two slices; the last two are rarely both present.
        let joined;
        let data = if second.is_empty() || third.is_empty() {
            [first, if second.is_empty() { third } else { second }]
        } else {
            joined = [first, second].concat();
            [&joined[..], third]
        };
        if self.carrier == Carrier::Udp && datagram.unbound {
            carrier::emit_unbound(&mut head, coverage, data);
            return Ok((head, 8, None));
        }
        let local = self.local_addr();
        let bound = !local.ip().is_unspecified();
        let source = if bound { local.ip() } else { self.sources.of(datagram.to)? };
        let Some(addresses) = Addresses::new(source, datagram.to.ip()) else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{} and {source} are of two families", datagram.to.ip()),
            ));
        };
        let ports = Ports { src: local.port(), dst: datagram.to.port() };
        match self.carrier {
            Carrier::Udp => carrier::emit(&mut head, &addresses, ports, coverage, data),
            _ => {
                let repr = UdpLiteRepr { src_port: ports.src, dst_port: ports.dst, coverage };
                repr.emit_parts(&mut head, &addresses, data);
            }
        }
        Ok((head, 8, (!bound).then_some(source)))
    }
}

/// Returns the length of the payload of a datagram.
fn datagram_len(it: &UdpLiteDatagram<'_>) -> usize {
    it.parts.iter().map(|part| part.len()).sum::<usize>()
}
