//! UDP-Lite sockets over any carrier.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU16, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};

use bytes::Bytes;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::sockopt::{self, Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery};
use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, ipproto};
use windfall_base::Duration;

use crate::carrier::Carrier;
use crate::pool::Pool;
use crate::source::Sources;
use crate::system::{self, SocketOption};

/// Linux's option for the coverage of sent datagrams: 0 for all, 1 to 7 for the header, more than
/// the length for all.
pub const UDPLITE_SEND_CSCOV: i32 = 10;
/// Linux's option for the least coverage to accept: unset for any, 0 for full coverage only.
pub const UDPLITE_RECV_CSCOV: i32 = 11;

/// The requested kernel buffer size in bytes.
const KERNEL_BUFFER: usize = 4 << 20;
const UNSET: i32 = -1;

/// A datagram to send.
#[derive(Clone, Copy, Debug)]
pub struct UdpLiteDatagram<'a> {
    /// The destination of the datagram.
    pub to: SocketAddr,
    /// The checksum coverage in bytes, eight for the header included; as [`UDPLITE_SEND_CSCOV`].
    #[doc(alias = "msgChecksumLen")]
    pub coverage: u16,
    /// Covers everything, over the carrier [`Udp`](Carrier::Udp) by the system's own checksum,
    /// which drops the datagram silently if it is damaged.
    pub whole: bool,
    /// Over the carrier [`Udp`](Carrier::Udp), leaves addresses and ports out of the checksum, so
    /// that address translators may change them.
    pub unbound: bool,
    /// The payload in consecutive slices.
    pub parts: [&'a [u8]; 3],
}

/// A datagram that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReceivedDatagram {
    /// The address of the sender.
    pub from: SocketAddr,
    /// The payload, which may be damaged where the checksum does not cover it.
    pub data: Bytes,
    /// The checksum is correct. [`UdpLiteSocket::receive`] returns only such datagrams,
    /// [`UdpLiteSocket::receive_any`] also the others, unless the kernel drops them.
    pub intact: bool,
    /// The checksum covers neither addresses nor ports.
    pub unbound: bool,
    /// Over the carrier [`Udp`](Carrier::Udp), the system's own checksum covered all of it.
    pub whole: bool,
    /// The length of the buffer that it shares with others, which were received together; 0 if it
    /// has one of its own. Copy what you keep of it for long.
    pub buffer: usize,
}

/// A UDP-Lite socket that never blocks: poll its descriptor.
#[derive(Debug)]
pub struct UdpLiteSocket {
    carrier: Carrier,
    socket: OwnedFd,
    /// Reserves the port of a raw socket.
    placeholder: Option<OwnedFd>,
    /// The number of datagrams received since their copies were drained from the placeholder.
    copies: AtomicUsize,
    /// The local address, which changes with a new route of a connected socket.
    local: RwLock<SocketAddr>,
    sources: Sources,
    /// The destination of a connected socket.
    peer: OnceLock<SocketAddr>,
    least_coverage: AtomicI32,
    /// The coverage of datagrams without one of their own ([`UDPLITE_SEND_CSCOV`]).
    send_coverage: AtomicU16,
    /// The socket is dual-stack: bound to the unspecified address of both families.
    both: bool,
    /// The system supports UDP GSO.
    cuts: AtomicBool,
    /// The system reports ICMP errors about datagrams to any peer.
    reports: AtomicBool,
    /// UDP GRO is permitted.
    may_merge: AtomicBool,
    /// UDP GRO is enabled.
    merges: AtomicBool,
    /// The last value of the kernel's option for IPv4 and for IPv6: the coverage, or whether to
    /// omit the checksum.
    told: Mutex<[i32; 2]>,
    scratch: Mutex<receive::Scratch>,
    pool: Pool,
}

/// Sets the kernel buffers of a datagram socket to the size that UDP-Lite sockets have here; the
/// kernel may grant less.
pub fn enlarge_buffers(socket: impl AsFd) {
    let _ = sockopt::set_socket_recv_buffer_size(&socket, KERNEL_BUFFER);
    let _ = sockopt::set_socket_send_buffer_size(&socket, KERNEL_BUFFER);
}

/// Returns the number of datagrams dropped because a socket's receive buffer was full; 0 if the
/// system does not count them.
pub fn dropped_datagrams(socket: impl AsFd) -> u64 {
    system::dropped(socket.as_fd()).unwrap_or(0)
}

impl UdpLiteSocket {
    //= S0.3
    /// Binds a socket to `local` over `carrier`, or over the first one that this host permits.
    ///
    /// # Errors
    /// If the address is in use or not of this host, or the carrier is not permitted.
    pub fn bind(local: SocketAddr, carrier: Option<Carrier>) -> io::Result<Self> {
        if let Some(carrier) = carrier {
            return Self::over(carrier, local);
        }
        let mut last = None;
        for carrier in Carrier::ALL {
            match Self::over(carrier, local) {
                // The next carrier would find another port space, not a free port.
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Err(error),
                Err(error) => last = Some(error),
                socket => return socket,
            }
        }
        Err(last.unwrap_or_else(|| io::ErrorKind::Unsupported.into()))
    }

    fn over(carrier: Carrier, local: SocketAddr) -> io::Result<Self> {
        let mut placeholder = None;
        let mut bound = local;
        let socket = match carrier {
            Carrier::Kernel => open(local, SocketType::DGRAM, ipproto::UDPLITE)?,
            Carrier::Udp => open(local, SocketType::DGRAM, ipproto::UDP)?,
            Carrier::Raw => {
                let raw = open(local, SocketType::RAW, ipproto::UDPLITE)?;
                let holder = hold_port(local)?;
                bound.set_port(local_address(&holder)?.port());
                placeholder = Some(holder);
                raw
            }
        };
        // A raw socket has one address family anyway and rejects the option.
        let both = is_for_both(local, carrier);
        if local.is_ipv6() && carrier != Carrier::Raw {
            sockopt::set_ipv6_v6only(&socket, !both)?;
        }
        enlarge_buffers(&socket);
        options(&socket, carrier, local)?;
        let at = if carrier == Carrier::Raw { SocketAddr::new(local.ip(), 0) } else { local };
        rustix::net::bind(&socket, &at)?;
        if carrier != Carrier::Raw {
            bound = local_address(&socket)?;
        }
        Ok(Self {
            carrier,
            socket,
            placeholder,
            copies: AtomicUsize::new(0),
            local: RwLock::new(bound),
            sources: Sources::default(),
            peer: OnceLock::new(),
            least_coverage: AtomicI32::new(UNSET),
            send_coverage: AtomicU16::new(0),
            both,
            cuts: AtomicBool::new(true),
            reports: AtomicBool::new(false),
            may_merge: AtomicBool::default(),
            merges: AtomicBool::default(),
            told: Mutex::new([UNSET; 2]),
            scratch: Mutex::default(),
            pool: Pool::default(),
        })
    }

    /// Connects to `peer`, at most once. Only datagrams of the peer are received from then on, and
    /// the system caches the route.
    ///
    /// # Errors
    /// If there is no route, or the socket is connected already.
    pub fn connect(&self, peer: SocketAddr) -> io::Result<()> {
        let mut local = self.local.write().unwrap_or_else(PoisonError::into_inner);
        if self.peer.get().is_some() {
            return Err(rustix::io::Errno::ISCONN.into());
        }
        // The system does not know the ports of a raw socket, so this end filters by port itself.
        if self.carrier != Carrier::Raw {
            rustix::net::connect(&self.socket, &peer)?;
            // The system has chosen the source address.
            *local = local_address(&self.socket)?;
        }
        let _ = self.peer.set(peer);
        Ok(())
    }

    /// Returns the destination of a connected socket.
    #[must_use]
    pub fn peer(&self) -> Option<SocketAddr> {
        self.peer.get().copied()
    }

    /// Reconnects a connected socket, because its local address may be gone. The system selects the
    /// source address of the present route, and another port.
    pub(crate) fn reconnect(&self) {
        let Some(peer) = self.peer().filter(|_| self.carrier != Carrier::Raw) else { return };
        let mut local = self.local.write().unwrap_or_else(PoisonError::into_inner);
        if !self.sources.has_changed(peer, local.ip()) {
            return;
        }
        // Without a route the socket stays as it is, and the next timeout tries again.
        if system::disconnect(self.socket.as_fd()).is_ok()
            && rustix::net::connect(&self.socket, &peer).is_ok()
            && let Ok(now) = local_address(&self.socket)
        {
            *local = now;
        }
    }

    /// Enables ICMP errors from all peers. By default the system reports only those from the peer
    /// of a connected socket. It does not know the ports of a raw socket.
    pub(crate) fn learn_of_refusals(&self) {
        if self.carrier == Carrier::Raw || self.reports.swap(true, Ordering::Relaxed) {
            return;
        }
        // A socket of one family does not have the option of the other.
        for option in [SocketOption::REPORTS, SocketOption::REPORTS6] {
            let _ = system::set(self.socket.as_fd(), option, 1);
        }
    }

    /// Drains the error queue of the socket. Returns the peers whose port is closed; `None` if the
    /// queue was empty.
    pub(crate) fn refusals(&self) -> Option<Vec<SocketAddr>> {
        if !self.reports.load(Ordering::Relaxed) {
            return None;
        }
        let reports = std::iter::from_fn(|| system::take_report(self.socket.as_fd()));
        let reports: Vec<_> = reports.filter(|report| !report.local).collect();
        let refused = reports.iter().filter(|it| it.refused).filter_map(|it| it.to).collect();
        Some(refused).filter(|_| !reports.is_empty())
    }

    /// Returns the buffers for long datagrams.
    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Returns the carrier of its datagrams.
    #[must_use]
    pub fn carrier(&self) -> Carrier {
        self.carrier
    }

    /// Returns the number of datagrams dropped because the receive buffer was full; 0 if the system
    /// does not count them.
    #[must_use]
    pub fn dropped_by_system(&self) -> u64 {
        dropped_datagrams(&self.socket)
    }

    /// Returns the local address with its port.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        *self.local.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts only datagrams with at least this coverage, as [`UDPLITE_RECV_CSCOV`]: 0 for full
    /// coverage only, 1 to 7 count as 8, `None` for any.
    ///
    /// # Errors
    /// If the kernel rejects it.
    #[doc(alias = "recvChecksumLen")]
    #[doc(alias = "fullChecksumRecv")]
    pub fn set_receive_coverage(&self, least: Option<u16>) -> io::Result<()> {
        let value = least.map_or(UNSET, |least| if least == 0 { 0 } else { least.max(8).into() });
        if self.carrier == Carrier::Kernel {
            // The kernel cannot return to "any", only to the smallest possible coverage.
            let value = if value == UNSET { 8 } else { value };
            let option = SocketOption::udp_lite(UDPLITE_RECV_CSCOV);
            system::set(self.socket.as_fd(), option, value)?;
        }
        if let (Some(holder), true) = (&self.placeholder, value != UNSET) {
            // A UDP placeholder has no such option, and gets no copies.
            let _ = system::set(holder.as_fd(), SocketOption::udp_lite(UDPLITE_RECV_CSCOV), value);
        }
        self.least_coverage.store(value, Ordering::Relaxed);
        Ok(())
    }

    /// Sets an option by Linux's number, as `setsockopt` does at the level of UDP-Lite:
    /// [`UDPLITE_SEND_CSCOV`] for [`send_to`](Self::send_to), or [`UDPLITE_RECV_CSCOV`]. Values are
    /// interpreted as by Linux: 1 to 7 and negative ones count as 8, ones that are too large as the
    /// largest.
    ///
    /// # Errors
    /// If the option does not exist.
    pub fn set_option(&self, name: i32, value: i32) -> io::Result<()> {
        let value = if value == 0 { 0 } else { value.clamp(8, u16::MAX.into()) as u16 };
        match name {
            UDPLITE_SEND_CSCOV => self.send_coverage.store(value, Ordering::Relaxed),
            UDPLITE_RECV_CSCOV => self.set_receive_coverage(Some(value))?,
            other => {
                let known = format!("{UDPLITE_SEND_CSCOV} and {UDPLITE_RECV_CSCOV}");
                let text = format!("UDP-Lite has no option {other}, only {known}");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
        }
        Ok(())
    }

    /// Sends one datagram with the coverage of [`UDPLITE_SEND_CSCOV`], full by default.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    #[doc(alias = "fullChecksumSend")]
    pub fn send_to(&self, data: &[u8], to: SocketAddr) -> io::Result<()> {
        let coverage = self.send_coverage.load(Ordering::Relaxed);
        let parts = [data, &[], &[]];
        self.send(&[UdpLiteDatagram { to, coverage, whole: false, unbound: false, parts }])
            .map(drop)
    }

    /// Waits until a datagram can be received or an error fetched, at most for `span`; returns
    /// whether it can.
    ///
    /// # Errors
    /// If the system reports an error.
    pub fn wait_readable(&self, span: Option<Duration>) -> io::Result<bool> {
        self.wait(PollFlags::IN, span)
    }

    /// Waits until a datagram can be sent, at most for `span`; returns whether it can.
    ///
    /// # Errors
    /// If the system reports an error.
    pub fn wait_writable(&self, span: Option<Duration>) -> io::Result<bool> {
        self.wait(PollFlags::OUT, span)
    }

    fn wait(&self, interest: PollFlags, span: Option<Duration>) -> io::Result<bool> {
        let span = span.map(system::timespec);
        Ok(poll(&mut [PollFd::new(&self.socket, interest)], span.as_ref())? > 0)
    }
}

impl AsFd for UdpLiteSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Opens a socket for the address family of `local` that never blocks.
fn open(local: SocketAddr, kind: SocketType, protocol: Protocol) -> io::Result<OwnedFd> {
    let family = if local.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(rustix::net::socket_with(family, kind, flags, Some(protocol))?)
}

/// Returns the address to which `socket` is bound.
fn local_address(socket: &OwnedFd) -> io::Result<SocketAddr> {
    Ok(rustix::net::getsockname(socket)?.try_into()?)
}

/// Returns whether a socket is dual-stack: bound to the unspecified address, with the carrier UDP.
fn is_for_both(local: SocketAddr, carrier: Carrier) -> bool {
    carrier == Carrier::Udp && local.is_ipv6() && local.ip().is_unspecified()
}

/// Sets the options that a carrier needs before its socket is bound.
fn options(socket: &OwnedFd, carrier: Carrier, local: SocketAddr) -> io::Result<()> {
    let fd = socket.as_fd();
    let both = is_for_both(local, carrier);
    if carrier == Carrier::Udp {
        if local.is_ipv4() || both {
            system::set(fd, SocketOption::NO_CHECK, 1)?;
        }
        if local.is_ipv6() {
            system::set(fd, SocketOption::NO_CHECK6_TX, 1)?;
            system::set(fd, SocketOption::NO_CHECK6_RX, 1)?;
        }
    }
    // A datagram that is too long for the path must be lost, not fragmented, for path MTU discovery
    // to notice.
    if local.is_ipv4() || both {
        sockopt::set_ip_mtu_discover(fd, Ipv4PathMtuDiscovery::PROBE)?;
    }
    if local.is_ipv6() {
        sockopt::set_ipv6_mtu_discover(fd, Ipv6PathMtuDiscovery::PROBE)?;
    }
    // The checksum inside needs the destination address of a datagram.
    if carrier == Carrier::Kernel || !local.ip().is_unspecified() {
        return Ok(());
    }
    let option =
        if local.is_ipv4() { SocketOption::DESTINATION } else { SocketOption::DESTINATION6 };
    system::set(fd, option, 1)
}

/// Creates a socket that reserves the port of a raw socket.
///
/// A kernel with UDP-Lite would answer every datagram to an unbound port with an ICMP error, so the
/// placeholder is a UDP-Lite socket. On other kernels it is a UDP socket, so that two programs
/// cannot use the same port. A UDP-Lite placeholder receives copies of all datagrams of the raw
/// socket. The copies are drained, because the kernel would count rejected ones as drops.
fn hold_port(local: SocketAddr) -> io::Result<OwnedFd> {
    let (holder, is_lite) = match open(local, SocketType::DGRAM, ipproto::UDPLITE) {
        Ok(lite) => (lite, true),
        Err(_) => (open(local, SocketType::DGRAM, ipproto::UDP)?, false),
    };
    if local.is_ipv6() {
        sockopt::set_ipv6_v6only(&holder, true)?;
    }
    if is_lite {
        enlarge_buffers(&holder);
    } else {
        system::silence(holder.as_fd())?;
    }
    rustix::net::bind(&holder, &local)?;
    Ok(holder)
}

mod receive;
mod send;

#[cfg(test)]
mod tests;
