//! Receiving: each datagram is checked, and loses its header.

use core::cell::RefCell;
use core::mem::{MaybeUninit, size_of, zeroed};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::ops::Range;
use core::sync::atomic::Ordering;

use libc::{
    c_int, c_uint, c_void, cmsghdr, iovec, mmsghdr, msghdr, size_t, sockaddr, socklen_t, ssize_t,
};
use windfall_wire_net::carrier::{self, Ports};
use windfall_wire_net::udplite::{self, Coverage};
use windfall_wire_net::{Addresses, CarrierPacket, Ipv4Packet, UdpLitePacket};

use crate::address::{Raw, follow, on_wire};
use crate::lite::{Lite, UNSET};
use crate::system::{self, fail};

/// The longest packet, in bytes.
const LONGEST: usize = 1 << 16;
/// Bytes of control messages that a datagram may have.
const CONTROL: usize = 1024;

thread_local! {
    /// The memory in which datagrams arrive before they are checked.
    static ARRIVAL: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Control messages, aligned as the system requires.
#[repr(C, align(8))]
struct Control([MaybeUninit<u8>; CONTROL]);

pub(crate) fn buffer(
    fd: c_int,
    lite: &Lite,
    data: *mut c_void,
    len: size_t,
    flags: c_int,
    from: *mut sockaddr,
    from_len: *mut socklen_t,
) -> ssize_t {
    let mut slice = iovec { iov_base: data, iov_len: len };
    // SAFETY: all-zero bytes are a legal value of this plain structure.
    let mut message: msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut slice;
    message.msg_iovlen = 1;
    let mut address = Raw::empty();
    let result = receive(fd, lite, &mut message, flags, &mut address);
    if result >= 0 {
        address.give(from, from_len);
    }
    result
}

pub(crate) fn slices(fd: c_int, lite: &Lite, slices: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: all-zero bytes are a legal value of this plain structure.
    let mut message: msghdr = unsafe { zeroed() };
    message.msg_iov = slices.cast_mut();
    message.msg_iovlen = count.max(0) as _;
    receive(fd, lite, &mut message, 0, &mut Raw::empty())
}

pub(crate) fn message(fd: c_int, lite: &Lite, message: *mut msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the program vouches for its message.
    let Some(message) = (unsafe { message.as_mut() }) else {
        return fail(libc::EFAULT) as ssize_t;
    };
    let mut address = Raw::empty();
    let result = receive(fd, lite, message, flags, &mut address);
    if result >= 0 {
        let mut len = message.msg_namelen;
        address.give(message.msg_name.cast(), &raw mut len);
        message.msg_namelen = if message.msg_name.is_null() { 0 } else { len };
    }
    result
}

pub(crate) fn messages(
    fd: c_int,
    lite: &Lite,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
) -> c_int {
    let mut flags = flags;
    for at in 0..count as usize {
        // SAFETY: the program vouches for `count` messages.
        let next = unsafe { &mut *messages.add(at) };
        let got = message(fd, lite, &raw mut next.msg_hdr, flags & !libc::MSG_WAITFORONE);
        if got < 0 {
            return if at > 0 { at as c_int } else { -1 };
        }
        next.msg_len = got as c_uint;
        if flags & libc::MSG_WAITFORONE != 0 {
            flags |= libc::MSG_DONTWAIT;
        }
    }
    count as c_int
}

fn receive(fd: c_int, lite: &Lite, message: &mut msghdr, flags: c_int, from: &mut Raw) -> ssize_t {
    if flags & libc::MSG_ERRQUEUE != 0 {
        return system::recvmsg(fd, message, flags);
    }
    ARRIVAL.with(|arrival| match arrival.try_borrow_mut() {
        Ok(mut bytes) => receive_into(fd, lite, message, flags, from, &mut bytes),
        // A signal came while its thread was here.
        Err(_) => receive_into(fd, lite, message, flags, from, &mut Vec::new()),
    })
}

/// Receives until a datagram is one that the program is to have.
fn receive_into(
    fd: c_int,
    lite: &Lite,
    message: &mut msghdr,
    flags: c_int,
    from: &mut Raw,
    bytes: &mut Vec<u8>,
) -> ssize_t {
    bytes.resize(LONGEST, 0);
    let ends = *lite.ends();
    let knows = ends.local.is_some_and(|it| !it.ip().is_unspecified());
    if knows && message.msg_control.is_null() {
        return receive_plain(fd, lite, message, flags, from, bytes);
    }
    loop {
        let mut control = Control([MaybeUninit::uninit(); CONTROL]);
        let mut slice = iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        // SAFETY: all-zero bytes are a legal value of this plain structure.
        let mut below: msghdr = unsafe { zeroed() };
        *from = Raw::empty();
        below.msg_name = (&raw mut from.storage).cast();
        below.msg_namelen = from.len;
        below.msg_iov = &raw mut slice;
        below.msg_iovlen = 1;
        below.msg_control = control.0.as_mut_ptr().cast();
        below.msg_controllen = CONTROL as _;
        let got = system::recvmsg(fd, &mut below, flags & !libc::MSG_TRUNC);
        if got < 0 {
            return got;
        }
        if flags & libc::MSG_PEEK == 0 {
            follow(lite);
        }
        from.len = below.msg_namelen;
        if let Some(data) = check(lite, from, &below, &bytes[..got as usize]) {
            let copied = scatter(&bytes[data.clone()], message);
            message.msg_flags = below.msg_flags & !libc::MSG_CTRUNC;
            if copied < data.len() {
                message.msg_flags |= libc::MSG_TRUNC;
            }
            give_control(lite, &below, message);
            let whole = flags & libc::MSG_TRUNC != 0;
            return if whole { data.len() } else { copied } as ssize_t;
        }
        if flags & libc::MSG_PEEK != 0 {
            // What is refused must not stay in front.
            system::recvmsg(fd, &mut below, libc::MSG_DONTWAIT);
        }
    }
}

/// As above, where the destination is known and the program asks for no control messages.
fn receive_plain(
    fd: c_int,
    lite: &Lite,
    message: &mut msghdr,
    flags: c_int,
    from: &mut Raw,
    bytes: &mut [u8],
) -> ssize_t {
    // SAFETY: all-zero bytes are a legal value of this plain structure.
    let nothing: msghdr = unsafe { zeroed() };
    loop {
        *from = Raw::empty();
        let name = (&raw mut from.storage).cast();
        let got = system::recvfrom(fd, bytes, flags & !libc::MSG_TRUNC, name, &raw mut from.len);
        if got < 0 {
            return got;
        }
        if flags & libc::MSG_PEEK == 0 {
            follow(lite);
        }
        if let Some(data) = check(lite, from, &nothing, &bytes[..got as usize]) {
            let copied = scatter(&bytes[data.clone()], message);
            message.msg_flags = if copied < data.len() { libc::MSG_TRUNC } else { 0 };
            let whole = flags & libc::MSG_TRUNC != 0;
            return if whole { data.len() } else { copied } as ssize_t;
        }
        if flags & libc::MSG_PEEK != 0 {
            let name = core::ptr::null_mut();
            let len = core::ptr::null_mut();
            system::recvfrom(fd, bytes, libc::MSG_DONTWAIT, name, len);
        }
    }
}

/// Finds the data of a datagram that the program is to have, and the port that it came from.
fn check(lite: &Lite, from: &mut Raw, message: &msghdr, bytes: &[u8]) -> Option<Range<usize>> {
    let sender = from.read()?;
    let ends = *lite.ends();
    let local = ends.local?;
    let to = destination(message).unwrap_or(local.ip()).to_canonical();
    let remote = on_wire(sender);
    if !lite.is_raw.load(Ordering::Relaxed) {
        let packet = CarrierPacket::new(bytes).ok()?;
        let addresses = Addresses::new(remote.ip(), to)?;
        let ports = Ports { src: remote.port(), dst: local.port() };
        let taken = accepts(lite, packet.coverage(), bytes.len())
            && packet.checksum_holds(&addresses, ports);
        return taken.then_some(carrier::HEADER_LEN..bytes.len());
    }
    let (start, lite_bytes, addresses) = if remote.is_ipv4() {
        let packet = Ipv4Packet::new(bytes).ok()?;
        (packet.header_len(), packet.payload(), packet.addresses())
    } else {
        (0, bytes, Addresses::new(remote.ip(), to)?)
    };
    let packet = UdpLitePacket::new(lite_bytes).ok()?;
    let source = SocketAddr::new(sender.ip(), packet.src_port());
    let taken = packet.dst_port() == local.port()
        && ends.peer.is_none_or(|peer| (peer.ip(), peer.port()) == (source.ip(), source.port()))
        && accepts(lite, packet.coverage(), lite_bytes.len())
        && packet.checksum_holds(&addresses);
    if let SocketAddr::V6(v6) = sender {
        let mut v6 = v6;
        v6.set_port(source.port());
        *from = Raw::new(v6.into());
    } else {
        *from = Raw::new(source);
    }
    taken.then_some(start + udplite::HEADER_LEN..start + lite_bytes.len())
}

/// Tells whether a datagram of `len` bytes has the coverage that the program asks for.
fn accepts(lite: &Lite, coverage: Coverage, len: usize) -> bool {
    match lite.least_coverage.load(Ordering::Relaxed) {
        UNSET => true,
        0 => coverage.bytes_of(len) == len,
        least => coverage.bytes_of(len) >= least as usize || coverage == Coverage::Full,
    }
}

/// Copies data into the slices of the program; returns how much there was room for.
fn scatter(mut data: &[u8], message: &msghdr) -> usize {
    let before = data.len();
    if message.msg_iov.is_null() {
        return 0;
    }
    // SAFETY: the program vouches for as many slices as its message says.
    let slices = unsafe { core::slice::from_raw_parts(message.msg_iov, message.msg_iovlen) };
    for slice in slices {
        let (now, rest) = data.split_at(data.len().min(slice.iov_len));
        if !now.is_empty() {
            // SAFETY: the program vouches for the room of its slices.
            unsafe {
                slice.iov_base.cast::<u8>().copy_from_nonoverlapping(now.as_ptr(), now.len());
            };
        }
        data = rest;
    }
    before - data.len()
}

/// Calls `visit` with each control message.
fn each_control(message: &msghdr, mut visit: impl FnMut(&cmsghdr)) {
    // SAFETY: the system has written whole control messages into a buffer that is still there.
    unsafe {
        let mut next = libc::CMSG_FIRSTHDR(message);
        while let Some(header) = next.as_ref() {
            visit(header);
            next = libc::CMSG_NXTHDR(message, next);
        }
    }
}

fn is_destination(header: &cmsghdr) -> bool {
    matches!(
        (header.cmsg_level, header.cmsg_type),
        (libc::IPPROTO_IP, libc::IP_PKTINFO) | (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO)
    )
}

/// Returns the address to which a datagram was sent, where the system says it.
fn destination(message: &msghdr) -> Option<IpAddr> {
    let mut found = None;
    each_control(message, |header| {
        // SAFETY: level and type say what follows the header.
        let data = unsafe { libc::CMSG_DATA(header) };
        if header.cmsg_level == libc::IPPROTO_IP && header.cmsg_type == libc::IP_PKTINFO {
            // SAFETY: as above.
            let info = unsafe { data.cast::<libc::in_pktinfo>().read_unaligned() };
            found = Some(Ipv4Addr::from(info.ipi_addr.s_addr.to_ne_bytes()).into());
        } else if header.cmsg_level == libc::IPPROTO_IPV6 && header.cmsg_type == libc::IPV6_PKTINFO
        {
            // SAFETY: as above.
            let info = unsafe { data.cast::<libc::in6_pktinfo>().read_unaligned() };
            found = Some(Ipv6Addr::from(info.ipi6_addr.s6_addr).into());
        }
    });
    found
}

/// Gives the program the control messages that it asked for.
fn give_control(lite: &Lite, below: &msghdr, message: &mut msghdr) {
    let room = if message.msg_control.is_null() { 0 } else { message.msg_controllen };
    let wants_destination = lite.wants_destination.load(Ordering::Relaxed);
    let mut used = 0;
    let mut cut = false;
    each_control(below, |header| {
        if is_destination(header) && !wants_destination {
            return;
        }
        let whole = header.cmsg_len;
        let len = whole.min(room - used);
        cut |= len < whole;
        if cut && len <= size_of::<cmsghdr>() {
            return;
        }
        // SAFETY: the system has written `whole` bytes there, and the program vouches for its room.
        unsafe {
            let to = message.msg_control.cast::<u8>().add(used);
            to.copy_from_nonoverlapping(core::ptr::from_ref(header).cast(), len);
            let mut short = *header;
            short.cmsg_len = len as _;
            to.cast::<cmsghdr>().write_unaligned(short);
        }
        used = (used + len).next_multiple_of(size_of::<usize>()).min(room);
    });
    message.msg_controllen = used as _;
    if cut {
        message.msg_flags |= libc::MSG_CTRUNC;
    }
}
