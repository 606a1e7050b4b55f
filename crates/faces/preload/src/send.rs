//! Sending: each datagram gets its header.

use core::mem::zeroed;
use core::sync::atomic::Ordering;

use libc::{c_int, c_uint, c_void, iovec, mmsghdr, msghdr, size_t, sockaddr, socklen_t, ssize_t};
use windfall_wire_net::carrier::{self, Ports};
use windfall_wire_net::udplite::{Coverage, HEADER_LEN};
use windfall_wire_net::{Addresses, UdpLiteRepr};

use crate::address::{self, Raw, on_wire};
use crate::lite::Lite;
use crate::system::{self, fail};

/// Slices of a datagram that need no memory of their own.
const USUAL: usize = 8;
/// Data up to this length are copied behind their header, which costs less than to pass slices.
const SHORT: usize = 2048;

pub(crate) fn buffer(
    fd: c_int,
    lite: &Lite,
    data: *const c_void,
    len: size_t,
    flags: c_int,
    to: *const sockaddr,
    to_len: socklen_t,
) -> ssize_t {
    let mut slice = iovec { iov_base: data.cast_mut(), iov_len: len };
    // SAFETY: all-zero bytes are a legal value of this plain structure.
    let mut message: msghdr = unsafe { zeroed() };
    message.msg_name = to.cast_mut().cast();
    message.msg_namelen = if to.is_null() { 0 } else { to_len };
    message.msg_iov = &raw mut slice;
    message.msg_iovlen = 1;
    send(fd, lite, &message, flags)
}

pub(crate) fn slices(fd: c_int, lite: &Lite, slices: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: all-zero bytes are a legal value of this plain structure.
    let mut message: msghdr = unsafe { zeroed() };
    message.msg_iov = slices.cast_mut();
    message.msg_iovlen = count.max(0) as _;
    send(fd, lite, &message, 0)
}

pub(crate) fn message(fd: c_int, lite: &Lite, message: *const msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the program vouches for its message.
    match unsafe { message.as_ref() } {
        Some(message) => send(fd, lite, message, flags),
        None => fail(libc::EFAULT) as ssize_t,
    }
}

pub(crate) fn messages(
    fd: c_int,
    lite: &Lite,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
) -> c_int {
    for at in 0..count as usize {
        // SAFETY: the program vouches for `count` messages.
        let message = unsafe { &mut *messages.add(at) };
        let sent = send(fd, lite, &message.msg_hdr, flags);
        if sent < 0 {
            return if at > 0 { at as c_int } else { -1 };
        }
        message.msg_len = sent as c_uint;
    }
    count as c_int
}

/// Returns the slices of a message.
fn parts(message: &msghdr) -> &[iovec] {
    if message.msg_iov.is_null() {
        return &[];
    }
    // SAFETY: the program vouches for as many slices as its message says.
    unsafe { core::slice::from_raw_parts(message.msg_iov, message.msg_iovlen) }
}

/// Returns the bytes of a slice.
fn bytes(slice: &iovec) -> &[u8] {
    if slice.iov_base.is_null() || slice.iov_len == 0 {
        return &[];
    }
    // SAFETY: the program vouches for the bytes of its slices.
    unsafe { core::slice::from_raw_parts(slice.iov_base.cast(), slice.iov_len) }
}

fn send(fd: c_int, lite: &Lite, message: &msghdr, flags: c_int) -> ssize_t {
    // The rest of a datagram would come without its header.
    if flags & libc::MSG_MORE != 0 {
        return fail(libc::EOPNOTSUPP) as ssize_t;
    }
    let named = !message.msg_name.is_null() && message.msg_namelen > 0;
    let to = if named {
        Raw::copy(message.msg_name.cast(), message.msg_namelen).read()
    } else {
        lite.ends().peer
    };
    let Some(to) = to else {
        return fail(if named { libc::EINVAL } else { libc::EDESTADDRREQ }) as ssize_t;
    };
    let slices = parts(message);
    let Some(mut head) = head(fd, lite, on_wire(to), slices) else { return -1 };
    // Raw sockets know no ports.
    let without_port = Raw::new(core::net::SocketAddr::new(to.ip(), 0));
    let mut name = message.msg_name;
    let mut name_len = message.msg_namelen;
    if named && lite.is_raw.load(Ordering::Relaxed) {
        name = without_port.as_ptr().cast_mut().cast();
        name_len = without_port.len;
    }
    let total: usize = slices.iter().map(|slice| bytes(slice).len()).sum();
    if total <= SHORT && message.msg_controllen == 0 {
        let mut joined = [0; HEADER_LEN + SHORT];
        let joined = join(&head, slices, &mut joined);
        let name = if named { name } else { core::ptr::null_mut() };
        return without_head(system::sendto(fd, joined, flags, name, name_len));
    }
    let first = iovec { iov_base: head.as_mut_ptr().cast(), iov_len: HEADER_LEN };
    let mut few = [first; USUAL];
    let mut many = Vec::new();
    let all = if slices.len() < USUAL {
        few[1..=slices.len()].copy_from_slice(slices);
        &mut few[..=slices.len()]
    } else {
        many.push(first);
        many.extend_from_slice(slices);
        &mut many[..]
    };
    let mut below = *message;
    below.msg_iov = all.as_mut_ptr();
    below.msg_iovlen = all.len() as _;
    (below.msg_name, below.msg_namelen) = (name, name_len);
    without_head(system::sendmsg(fd, &below, flags))
}

/// Returns the number of bytes of data among those that were sent, or the failure.
fn without_head(sent: ssize_t) -> ssize_t {
    if sent < 0 { sent } else { sent - HEADER_LEN as ssize_t }
}

/// Copies a header and the data behind it; returns the bytes in use.
fn join<'a>(head: &[u8], slices: &[iovec], buffer: &'a mut [u8]) -> &'a [u8] {
    let mut used = 0;
    for part in core::iter::once(head).chain(slices.iter().map(bytes)) {
        buffer[used..used + part.len()].copy_from_slice(part);
        used += part.len();
    }
    &buffer[..used]
}

/// Writes the header of a datagram; fails as a call of the system does.
fn head(
    fd: c_int,
    lite: &Lite,
    to: core::net::SocketAddr,
    slices: &[iovec],
) -> Option<[u8; HEADER_LEN]> {
    let local = address::ensure_bound(fd, lite)?;
    let source = address::source(lite, local, to)?;
    let Some(addresses) = Addresses::new(source, to.ip()) else {
        fail(libc::ENETUNREACH);
        return None;
    };
    let coverage = Coverage::requested(lite.send_coverage.load(Ordering::Relaxed));
    let joined;
    let data = match slices {
        [] => [&[][..], &[]],
        [one] => [bytes(one), &[]],
        [one, two] => [bytes(one), bytes(two)],
        more => {
            joined = more.iter().flat_map(bytes).copied().collect::<Vec<u8>>();
            [&joined[..], &[]]
        }
    };
    let ports = Ports { src: local.port(), dst: to.port() };
    let mut head = [0; HEADER_LEN];
    if lite.is_raw.load(Ordering::Relaxed) {
        let repr = UdpLiteRepr { src_port: ports.src, dst_port: ports.dst, coverage };
        repr.emit_parts(&mut head, &addresses, data);
    } else {
        carrier::emit(&mut head, &addresses, ports, coverage, data);
    }
    Some(head)
}
