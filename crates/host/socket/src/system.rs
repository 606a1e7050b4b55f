//! System calls that rustix lacks: datagrams in batches with control messages, the options of
//! UDP-Lite, and those of the allocator.
#![expect(unsafe_code, reason = "the system's batch calls take pointers")]

use std::io;
use std::mem::{MaybeUninit, size_of, zeroed};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd};

use arrayvec::ArrayVec;
use rustix::event::Timespec;
use windfall_base::Duration;

/// The maximum number of datagrams per system call.
pub(crate) const BATCH: usize = 32;
/// The maximum number of segments of one GSO send or GRO receive.
pub(crate) const SEGMENTS: usize = 64;

/// Maps each block of at least this number of bytes from the system for itself, and gives as many
/// free bytes at the end of a heap back to it. It changes the allocator of glibc only.
pub(crate) fn map_large_blocks(bytes: i32) {
    #[cfg(target_env = "gnu")]
    for parameter in [libc::M_MMAP_THRESHOLD, libc::M_TRIM_THRESHOLD] {
        // SAFETY: it takes numbers, and keeps them.
        unsafe { libc::mallopt(parameter, bytes) };
    }
    #[cfg(not(target_env = "gnu"))]
    let _ = bytes;
}

/// Space for one control message, aligned as the system requires.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; 64]);

/// The number of slices of one datagram.
pub(crate) const PARTS: usize = 4;

/// A datagram to pass to the system.
pub(crate) struct Outgoing<'a> {
    /// The destination, if the socket is not connected.
    pub(crate) to: Option<SocketAddr>,
    /// The source address, if the socket is bound to all addresses.
    pub(crate) source: Option<IpAddr>,
    pub(crate) parts: [&'a [u8]; PARTS],
}

/// A datagram received from the system.
#[derive(Clone, Copy)]
pub(crate) struct Incoming {
    /// The index of its buffer.
    pub(crate) index: usize,
    pub(crate) from: SocketAddr,
    /// The destination address, if the socket requested it.
    pub(crate) to: Option<IpAddr>,
    /// The full length, which may exceed the buffer.
    pub(crate) len: usize,
    /// The length of each datagram in the buffer but the last, if the system has merged several.
    pub(crate) segment: Option<usize>,
}

/// An integer option of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SocketOption {
    level: i32,
    name: i32,
}

impl SocketOption {
    /// Send UDP without a checksum, over IPv4.
    pub(crate) const NO_CHECK: Self = Self::new(libc::SOL_SOCKET, libc::SO_NO_CHECK);
    /// Send UDP without a checksum, over IPv6.
    pub(crate) const NO_CHECK6_TX: Self = Self::new(libc::SOL_UDP, 101);
    /// Accept UDP without a checksum, over IPv6.
    pub(crate) const NO_CHECK6_RX: Self = Self::new(libc::SOL_UDP, 102);
    /// Report the destination of each datagram, over IPv4.
    pub(crate) const DESTINATION: Self = Self::new(libc::IPPROTO_IP, libc::IP_PKTINFO);
    /// Report the destination of each datagram, over IPv6.
    pub(crate) const DESTINATION6: Self = Self::new(libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO);

    /// Report ICMP errors about datagrams to any peer, over IPv4.
    pub(crate) const REPORTS: Self = Self::new(libc::IPPROTO_IP, libc::IP_RECVERR);
    /// Report ICMP errors about datagrams to any peer, over IPv6.
    pub(crate) const REPORTS6: Self = Self::new(libc::IPPROTO_IPV6, libc::IPV6_RECVERR);

    /// Merge received datagrams of equal length (UDP GRO).
    pub(crate) const MERGE: Self = Self::new(libc::SOL_UDP, libc::UDP_GRO);

    const fn new(level: i32, name: i32) -> Self {
        Self { level, name }
    }

    /// The option of UDP-Lite with this number.
    pub(crate) const fn udp_lite(name: i32) -> Self {
        Self::new(libc::IPPROTO_UDPLITE, name)
    }
}

/// Sets an integer socket option.
pub(crate) fn set(fd: BorrowedFd<'_>, option: SocketOption, value: i32) -> io::Result<()> {
    let SocketOption { level, name } = option;
    let pointer = (&raw const value).cast();
    let len = size_of::<i32>() as libc::socklen_t;
    // SAFETY: the pointer leads to `len` bytes that live through the call, which only reads them.
    let result = unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, pointer, len) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The number of values of `SO_MEMINFO`, and the index of the drops at a full receive buffer
/// (`SK_MEMINFO_DROPS`).
const MEMORY_NUMBERS: usize = 9;
const DROPS_AT: usize = 8;

/// Returns the number of datagrams dropped because the socket's receive buffer was full.
pub(crate) fn dropped(fd: BorrowedFd<'_>) -> io::Result<u64> {
    let mut numbers = [0_u32; MEMORY_NUMBERS];
    let mut len = size_of::<[u32; MEMORY_NUMBERS]>() as libc::socklen_t;
    let pointer = (&raw mut numbers).cast();
    let level = libc::SOL_SOCKET;
    let name = libc::SO_MEMINFO;
    // SAFETY: the pointer leads to `len` bytes that live through the call, which writes no more.
    let result = unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, pointer, &raw mut len) };
    if result == 0 { Ok(numbers[DROPS_AT].into()) } else { Err(io::Error::last_os_error()) }
}

/// Converts a span to the system's form.
pub(crate) fn timespec(span: Duration) -> Timespec {
    Timespec {
        tv_sec: (span.as_nanos() / 1_000_000_000) as i64,
        tv_nsec: (span.as_nanos() % 1_000_000_000) as i64,
    }
}

/// The data of one message header, which the system reads.
struct Prepared {
    address: Option<Address>,
    slices: [libc::iovec; PARTS],
    control: Control,
}

/// Sends up to [`BATCH`] datagrams until one would block; returns the number sent.
pub(crate) fn send(fd: BorrowedFd<'_>, datagrams: &[Outgoing<'_>]) -> io::Result<usize> {
    // Filled in place: a returned vector may be copied at its full length.
    let mut prepared: ArrayVec<Prepared, BATCH> = ArrayVec::new();
    prepared.extend(datagrams.iter().take(BATCH).map(|it| Prepared {
        address: it.to.map(Address::new),
        slices: it.parts.map(|part| libc::iovec {
            iov_base: part.as_ptr().cast_mut().cast(),
            iov_len: part.len(),
        }),
        control: Control([0; 64]),
    }));
    let mut headers: ArrayVec<libc::mmsghdr, BATCH> = ArrayVec::new();
    for (prepared, datagram) in prepared.iter_mut().zip(datagrams) {
        // SAFETY: all-zero bytes are a legal value of this plain structure.
        let mut header: libc::mmsghdr = unsafe { zeroed() };
        let message = &mut header.msg_hdr;
        if let Some(address) = &prepared.address {
            message.msg_name = address.0.as_ptr().cast_mut().cast();
            message.msg_namelen = address.len();
        }
        message.msg_iov = prepared.slices.as_mut_ptr();
        message.msg_iovlen = PARTS as _;
        if let Some(source) = datagram.source {
            message.msg_control = prepared.control.0.as_mut_ptr().cast();
            message.msg_controllen = size_of::<Control>() as _;
            put_source(message, source);
        }
        headers.push(header);
    }
    let count = headers.len() as libc::c_uint;
    // SAFETY: every header points to an address, slices and a control buffer that live in
    // `prepared` through the call and do not move; the system only reads the slices.
    let sent = unsafe {
        libc::sendmmsg(fd.as_raw_fd(), headers.as_mut_ptr(), count, libc::MSG_DONTWAIT as _)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(sent as usize) }
}

/// Sends `slices`, concatenated and segmented into datagrams of `size` bytes, in one call (UDP
/// GSO).
pub(crate) fn send_segments<'a>(
    fd: BorrowedFd<'_>,
    to: Option<SocketAddr>,
    size: usize,
    slices: impl Iterator<Item = &'a [u8]>,
) -> io::Result<()> {
    let mut vectors: ArrayVec<libc::iovec, { SEGMENTS * PARTS }> = ArrayVec::new();
    vectors.extend(slices.map(|slice| libc::iovec {
        iov_base: slice.as_ptr().cast_mut().cast(),
        iov_len: slice.len(),
    }));
    let address = to.map(Address::new);
    let mut control = Control([0; 64]);
    // SAFETY: all-zero bytes are a legal value of this plain structure.
    let mut message: libc::msghdr = unsafe { zeroed() };
    if let Some(address) = &address {
        message.msg_name = address.0.as_ptr().cast_mut().cast();
        message.msg_namelen = address.len();
    }
    message.msg_iov = vectors.as_mut_ptr();
    message.msg_iovlen = vectors.len() as _;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = size_of::<Control>() as _;
    let segment = u16::try_from(size).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the control buffer is 64 bytes, aligned, and has room for a header and two bytes.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_UDP;
        (*header).cmsg_type = libc::UDP_SEGMENT;
        (*header).cmsg_len = libc::CMSG_LEN(2) as _;
        libc::CMSG_DATA(header).cast::<u16>().write_unaligned(segment);
        message.msg_controllen = libc::CMSG_SPACE(2) as _;
    }
    // SAFETY: the message points to an address, slices and a control buffer that live through the
    // call, which only reads them.
    let sent = unsafe { libc::sendmsg(fd.as_raw_fd(), &raw const message, libc::MSG_DONTWAIT) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Writes the control message that sets the source address.
fn put_source(header: &mut libc::msghdr, source: IpAddr) {
    // SAFETY: the control buffer is 64 bytes, aligned, and has room for either message: 16 bytes of
    // header, and 12 or 20 of information.
    unsafe {
        let control = libc::CMSG_FIRSTHDR(header);
        let len = match source {
            IpAddr::V4(source) => {
                (*control).cmsg_level = libc::IPPROTO_IP;
                (*control).cmsg_type = libc::IP_PKTINFO;
                let mut info: libc::in_pktinfo = zeroed();
                info.ipi_spec_dst.s_addr = u32::from_ne_bytes(source.octets());
                libc::CMSG_DATA(control).cast::<libc::in_pktinfo>().write_unaligned(info);
                size_of::<libc::in_pktinfo>()
            }
            IpAddr::V6(source) => {
                (*control).cmsg_level = libc::IPPROTO_IPV6;
                (*control).cmsg_type = libc::IPV6_PKTINFO;
                let mut info: libc::in6_pktinfo = zeroed();
                info.ipi6_addr.s6_addr = source.octets();
                libc::CMSG_DATA(control).cast::<libc::in6_pktinfo>().write_unaligned(info);
                size_of::<libc::in6_pktinfo>()
            }
        };
        (*control).cmsg_len = libc::CMSG_LEN(len as _) as _;
        header.msg_controllen = libc::CMSG_SPACE(len as _) as _;
    }
}

/// Receives a batch of datagrams, at most one per pair of buffers and [`BATCH`] in all. A datagram
/// that is longer than the first buffer of its pair continues in the second.
pub(crate) fn receive<'a>(
    fd: BorrowedFd<'_>,
    buffers: impl Iterator<Item = [&'a mut [u8]; 2]>,
    received: &mut ArrayVec<Incoming, BATCH>,
) -> io::Result<()> {
    let mut addresses = [Address([0; 28]); BATCH];
    // Memory that the system does not write to is not read.
    let mut controls = [const { MaybeUninit::<Control>::uninit() }; BATCH];
    let mut slices: ArrayVec<[libc::iovec; 2], BATCH> = ArrayVec::new();
    slices.extend(buffers.take(BATCH).map(|pair| {
        pair.map(|buffer| libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        })
    }));
    let mut headers: ArrayVec<libc::mmsghdr, BATCH> = ArrayVec::new();
    for (index, pair) in slices.iter_mut().enumerate() {
        // SAFETY: all-zero bytes are a legal value of this plain structure.
        let mut header: libc::mmsghdr = unsafe { zeroed() };
        let message = &mut header.msg_hdr;
        message.msg_name = addresses[index].0.as_mut_ptr().cast();
        message.msg_namelen = size_of::<Address>() as libc::socklen_t;
        message.msg_iov = pair.as_mut_ptr();
        message.msg_iovlen = pair.len() as _;
        message.msg_control = controls[index].as_mut_ptr().cast();
        message.msg_controllen = size_of::<Control>() as _;
        headers.push(header);
    }
    let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
    let count = headers.len() as libc::c_uint;
    let no_timeout = std::ptr::null_mut();
    // SAFETY: every header points to an address, slices and a control buffer of the stated
    // lengths, which live through the call, do not move and are not shared.
    let filled = unsafe {
        libc::recvmmsg(fd.as_raw_fd(), headers.as_mut_ptr(), count, flags as _, no_timeout)
    };
    if filled < 0 {
        return Err(io::Error::last_os_error());
    }
    for (index, header) in headers.iter().take(filled as usize).enumerate() {
        let (to, segment) = control_data(&header.msg_hdr);
        let len = header.msg_len as usize;
        let from = addresses[index].read();
        received.extend(from.map(|from| Incoming { index, from, to, len, segment }));
    }
    Ok(())
}

/// A socket address of the system: `sockaddr_in` or `sockaddr_in6`.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Address([u8; 28]);

impl Address {
    fn new(address: SocketAddr) -> Self {
        let mut bytes = [0; 28];
        let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
        bytes[..2].copy_from_slice(&(family as u16).to_ne_bytes());
        bytes[2..4].copy_from_slice(&address.port().to_be_bytes());
        match address {
            SocketAddr::V4(v4) => bytes[4..8].copy_from_slice(&v4.ip().octets()),
            SocketAddr::V6(v6) => {
                bytes[4..8].copy_from_slice(&v6.flowinfo().to_be_bytes());
                bytes[8..24].copy_from_slice(&v6.ip().octets());
                bytes[24..].copy_from_slice(&v6.scope_id().to_ne_bytes());
            }
        }
        Self(bytes)
    }

    /// Returns the length that its family has.
    fn len(&self) -> libc::socklen_t {
        let is_v4 = i32::from(u16::from_ne_bytes([self.0[0], self.0[1]])) == libc::AF_INET;
        if is_v4 { 16 } else { 28 }
    }

    fn read(&self) -> Option<SocketAddr> {
        let bytes = &self.0;
        let port = u16::from_be_bytes([bytes[2], bytes[3]]);
        let word = |at: usize| bytes[at..at + 4].first_chunk::<4>().copied().unwrap_or_default();
        match i32::from(u16::from_ne_bytes([bytes[0], bytes[1]])) {
            libc::AF_INET => Some(SocketAddr::new(Ipv4Addr::from(word(4)).into(), port)),
            libc::AF_INET6 => {
                let ip = Ipv6Addr::from(*bytes[8..].first_chunk::<16>()?);
                // A dual-stack socket reports IPv4 addresses as mapped ones.
                if let Some(v4) = ip.to_ipv4_mapped() {
                    return Some(SocketAddr::new(v4.into(), port));
                }
                let flow = u32::from_be_bytes(word(4));
                let scope = u32::from_ne_bytes(word(24));
                Some(SocketAddrV6::new(ip, port, flow, scope).into())
            }
            _ => None,
        }
    }
}

/// Returns the destination address of a datagram from its control messages, and the length of each
/// datagram in the buffer if it holds several.
fn control_data(header: &libc::msghdr) -> (Option<IpAddr>, Option<usize>) {
    let mut to = None;
    let mut segment = None;
    // SAFETY: the header is one that the system has filled in; the macros walk within the control
    // buffer as far as it says.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(header);
        while !control.is_null() {
            let data = libc::CMSG_DATA(control);
            match ((*control).cmsg_level, (*control).cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                    let info = data.cast::<libc::in_pktinfo>().read_unaligned();
                    to = Some(Ipv4Addr::from(info.ipi_addr.s_addr.to_ne_bytes()).into());
                }
                (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                    let info = data.cast::<libc::in6_pktinfo>().read_unaligned();
                    to = Some(IpAddr::from(Ipv6Addr::from(info.ipi6_addr.s6_addr)).to_canonical());
                }
                (libc::SOL_UDP, libc::UDP_GRO) => {
                    segment = usize::try_from(data.cast::<libc::c_int>().read_unaligned()).ok();
                }
                _ => {}
            }
            control = libc::CMSG_NXTHDR(header, control);
        }
    }
    (to, segment)
}

/// An ICMP error or a local error about a datagram that was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    /// The destination of the datagram.
    pub(crate) to: Option<SocketAddr>,
    /// The error is `ECONNREFUSED`: the port at the destination is closed.
    pub(crate) refused: bool,
    /// The error is local: the system has rejected the datagram itself.
    pub(crate) local: bool,
}

/// Returns the next error from the socket's error queue, if there is one.
pub(crate) fn take_report(fd: BorrowedFd<'_>) -> Option<Report> {
    let mut address = Address([0; 28]);
    let mut control = [const { MaybeUninit::<Control>::uninit() }; 4];
    // SAFETY: all-zero bytes are a legal value of this plain structure.
    let mut header: libc::msghdr = unsafe { zeroed() };
    header.msg_name = address.0.as_mut_ptr().cast();
    header.msg_namelen = size_of::<Address>() as libc::socklen_t;
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(&control) as _;
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    // SAFETY: the header points to an address and a control buffer of the stated lengths, which
    // live through the call.
    if unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut header, flags) } < 0 {
        return None;
    }
    let mut report = Report { to: address.read(), refused: false, local: false };
    // SAFETY: the system has filled the header in; the macros walk within the control buffer as far
    // as it says.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(&raw const header);
        while !control.is_null() {
            let kind = ((*control).cmsg_level, (*control).cmsg_type);
            let kinds =
                [(libc::IPPROTO_IP, libc::IP_RECVERR), (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)];
            if kinds.contains(&kind) {
                let data = libc::CMSG_DATA(control).cast::<libc::sock_extended_err>();
                let error = data.read_unaligned();
                report.refused = error.ee_errno == libc::ECONNREFUSED as u32;
                report.local = error.ee_origin == libc::SO_EE_ORIGIN_LOCAL;
            }
            control = libc::CMSG_NXTHDR(&raw const header, control);
        }
    }
    Some(report)
}

/// Disconnects a datagram socket, so that it may be connected again.
pub(crate) fn disconnect(fd: BorrowedFd<'_>) -> io::Result<()> {
    let nowhere = libc::sockaddr { sa_family: libc::AF_UNSPEC as u16, sa_data: [0; 14] };
    let len = size_of::<libc::sockaddr>() as libc::socklen_t;
    // SAFETY: the pointer leads to an address of the stated length that lives through the call.
    let result = unsafe { libc::connect(fd.as_raw_fd(), &raw const nowhere, len) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Attaches a BPF filter that drops every datagram: the socket only reserves its port.
pub(crate) fn silence(fd: BorrowedFd<'_>) -> io::Result<()> {
    // One classic BPF instruction: return 0 bytes.
    let mut program = [libc::sock_filter { code: 6, jt: 0, jf: 0, k: 0 }];
    let filter = libc::sock_fprog { len: 1, filter: program.as_mut_ptr() };
    let len = size_of::<libc::sock_fprog>() as libc::socklen_t;
    let pointer = (&raw const filter).cast();
    // SAFETY: the pointer leads to a program that lives through the call, which copies it.
    let result = unsafe {
        libc::setsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, pointer, len)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_were_written() {
        let scoped = SocketAddrV6::new(Ipv6Addr::LOCALHOST, 7, 5, 3);
        for (address, len) in [
            ("192.0.2.1:80".parse().expect("legal"), size_of::<libc::sockaddr_in>()),
            ("[2001:db8::1]:443".parse().expect("legal"), size_of::<libc::sockaddr_in6>()),
            (SocketAddr::V6(scoped), size_of::<libc::sockaddr_in6>()),
        ] {
            let written = Address::new(address);
            assert_eq!((written.read(), written.len() as usize), (Some(address), len));
        }
    }
}
