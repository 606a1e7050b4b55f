//! The calls that the standard library lacks: options, and datagrams in batches.
#![expect(unsafe_code, reason = "the system's batch calls take pointers")]

use std::io;
use std::mem::{size_of, zeroed};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd};

use socket2::{SockAddr, SockAddrStorage};

/// Room for one control message, aligned as the system wants it.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; 64]);

/// Slices of one datagram.
pub(crate) const PARTS: usize = 4;

/// A datagram as the system sends it.
pub(crate) struct Outgoing<'a> {
    pub(crate) to: SocketAddr,
    /// The source address, where the socket has none of its own.
    pub(crate) source: Option<IpAddr>,
    pub(crate) parts: [&'a [u8]; PARTS],
}

/// A datagram as the system received it.
pub(crate) struct Incoming<'a> {
    pub(crate) from: SocketAddr,
    /// The address that it was sent to, if the socket asked for it.
    pub(crate) to: Option<IpAddr>,
    pub(crate) bytes: &'a [u8],
    /// Its length in full.
    pub(crate) len: usize,
}

/// Sets an option that is a number.
pub(crate) fn set(fd: BorrowedFd<'_>, level: i32, name: i32, value: i32) -> io::Result<()> {
    let pointer = (&raw const value).cast();
    let len = size_of::<i32>() as libc::socklen_t;
    // SAFETY: the pointer leads to `len` bytes that live through the call, which only reads them.
    let result = unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, pointer, len) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sends datagrams until one would block; gives how many.
pub(crate) fn send(fd: BorrowedFd<'_>, datagrams: &[Outgoing<'_>]) -> io::Result<usize> {
    let addresses: Vec<SockAddr> = datagrams.iter().map(|it| it.to.into()).collect();
    let mut slices: Vec<[libc::iovec; PARTS]> = datagrams
        .iter()
        .map(|it| {
            it.parts.map(|part| libc::iovec {
                iov_base: part.as_ptr().cast_mut().cast(),
                iov_len: part.len(),
            })
        })
        .collect();
    let mut controls = vec![Control([0; 64]); datagrams.len()];
    // SAFETY: all-zero bytes are a legal value of this plain structure.
    let mut headers: Vec<libc::mmsghdr> = vec![unsafe { zeroed() }; datagrams.len()];
    for (index, header) in headers.iter_mut().enumerate() {
        let header = &mut header.msg_hdr;
        header.msg_name = addresses[index].as_ptr().cast_mut().cast();
        header.msg_namelen = addresses[index].len();
        header.msg_iov = slices[index].as_mut_ptr();
        header.msg_iovlen = PARTS as _;
        if let Some(source) = datagrams[index].source {
            header.msg_control = controls[index].0.as_mut_ptr().cast();
            header.msg_controllen = size_of::<Control>() as _;
            put_source(header, source);
        }
    }
    let count = headers.len() as libc::c_uint;
    // SAFETY: every header points to an address, slices and a control buffer that live in the
    // vectors above through the call; the system only reads the slices.
    let sent =
        unsafe { libc::sendmmsg(fd.as_raw_fd(), headers.as_mut_ptr(), count, libc::MSG_DONTWAIT) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(sent as usize) }
}

/// Writes the control message that fixes the source address.
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

/// Receives datagrams until there are none, or `size` bytes for each have filled `scratch`; gives
/// how many.
pub(crate) fn receive(
    fd: BorrowedFd<'_>,
    scratch: &mut [u8],
    size: usize,
    mut take: impl FnMut(Incoming<'_>),
) -> io::Result<usize> {
    let count = scratch.len() / size;
    let mut addresses: Vec<SockAddrStorage> =
        (0..count).map(|_| SockAddrStorage::zeroed()).collect();
    let mut controls = vec![Control([0; 64]); count];
    let mut slices: Vec<libc::iovec> = scratch
        .chunks_exact_mut(size)
        .map(|chunk| libc::iovec { iov_base: chunk.as_mut_ptr().cast(), iov_len: size })
        .collect();
    // SAFETY: all-zero bytes are a legal value of this plain structure.
    let mut headers: Vec<libc::mmsghdr> = vec![unsafe { zeroed() }; count];
    for (index, header) in headers.iter_mut().enumerate() {
        let header = &mut header.msg_hdr;
        header.msg_name = (&raw mut addresses[index]).cast();
        header.msg_namelen = size_of::<SockAddrStorage>() as libc::socklen_t;
        header.msg_iov = &raw mut slices[index];
        header.msg_iovlen = 1;
        header.msg_control = controls[index].0.as_mut_ptr().cast();
        header.msg_controllen = size_of::<Control>() as _;
    }
    let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
    let none = std::ptr::null_mut();
    // SAFETY: every header points to an address, a slice and a control buffer of the stated
    // lengths, which live through the call and belong to nobody else.
    let received =
        unsafe { libc::recvmmsg(fd.as_raw_fd(), headers.as_mut_ptr(), count as _, flags, none) };
    if received < 0 {
        return Err(io::Error::last_os_error());
    }
    let filled = headers.iter().take(received as usize);
    for (index, (header, address)) in filled.zip(addresses).enumerate() {
        let len = header.msg_len as usize;
        // SAFETY: the system has written an address of this length to the storage.
        let from = unsafe { SockAddr::new(address, header.msg_hdr.msg_namelen) };
        let Some(from) = from.as_socket() else { continue };
        let start = index * size;
        let bytes = &scratch[start..start + len.min(size)];
        take(Incoming { from, to: destination(&header.msg_hdr), bytes, len });
    }
    Ok(received as usize)
}

/// The address that a datagram was sent to, from its control messages.
fn destination(header: &libc::msghdr) -> Option<IpAddr> {
    // SAFETY: the header is one that the system has filled in; the macros walk within the control
    // buffer as far as it says.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(header);
        while !control.is_null() {
            let data = libc::CMSG_DATA(control);
            match ((*control).cmsg_level, (*control).cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                    let info = data.cast::<libc::in_pktinfo>().read_unaligned();
                    return Some(Ipv4Addr::from(info.ipi_addr.s_addr.to_ne_bytes()).into());
                }
                (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                    let info = data.cast::<libc::in6_pktinfo>().read_unaligned();
                    return Some(Ipv6Addr::from(info.ipi6_addr.s6_addr).into());
                }
                _ => control = libc::CMSG_NXTHDR(header, control),
            }
        }
    }
    None
}

/// A filter that lets no datagram into the socket: it holds its port and stays silent.
pub(crate) fn silence(fd: BorrowedFd<'_>) -> io::Result<()> {
    // One instruction of the classic filter machine: return 0 bytes.
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
