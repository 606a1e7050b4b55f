//! Options of sockets: those of UDP-Lite, and those that tell what is below.

use core::mem::size_of;
use core::sync::atomic::Ordering;

use libc::{c_int, c_void, socklen_t};

use crate::address::{ask_destinations, require};
use crate::lite::{Lite, RECEIVE_COVERAGE, UNSET};
use crate::system::{self, fail};

/// `UDPLITE_SEND_CSCOV`: the coverage to send.
const SEND_COVERAGE: c_int = 10;
/// The header of UDP-Lite, and of what stands for it inside UDP, in bytes.
const HEADER: c_int = 8;

/// Reads a value that is a number.
fn number(value: *const c_void, len: socklen_t) -> Option<c_int> {
    if value.is_null() || (len as usize) < size_of::<c_int>() {
        return None;
    }
    // SAFETY: the program vouches for `len` bytes behind the pointer.
    Some(unsafe { value.cast::<c_int>().read_unaligned() })
}

/// Gives a number to the program.
fn give(number: c_int, value: *mut c_void, len: *mut socklen_t) -> c_int {
    if value.is_null() || len.is_null() {
        return fail(libc::EFAULT);
    }
    let bytes = number.to_ne_bytes();
    // SAFETY: the program vouches for `len` and as many bytes behind `value` as it says.
    unsafe {
        let room = (*len as usize).min(bytes.len());
        value.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), room);
        *len = room as socklen_t;
    }
    0
}

pub(crate) fn set(
    fd: c_int,
    lite: &Lite,
    level: c_int,
    name: c_int,
    value: *const c_void,
    len: socklen_t,
) -> c_int {
    match (level, name) {
        (libc::IPPROTO_UDPLITE, SEND_COVERAGE | RECEIVE_COVERAGE) => {
            let Some(wanted) = number(value, len) else { return fail(libc::EINVAL) };
            let coverage = if wanted == 0 { 0 } else { wanted.clamp(HEADER, u16::MAX.into()) };
            if name == SEND_COVERAGE {
                lite.send_coverage.store(coverage as u16, Ordering::Relaxed);
            } else {
                lite.least_coverage.store(coverage, Ordering::Relaxed);
                require(lite.holder.load(Ordering::Acquire), lite);
            }
            0
        }
        (libc::IPPROTO_IP, libc::IP_PKTINFO) | (libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO) => {
            let wanted = number(value, len).is_some_and(|it| it != 0);
            lite.wants_destination.store(wanted, Ordering::Relaxed);
            ask_destinations(fd, lite);
            0
        }
        // Joining and cutting datagrams would pass the headers by; a filter is there for raw ones.
        (libc::IPPROTO_UDPLITE | libc::SOL_UDP, _)
        | (libc::SOL_SOCKET, libc::SO_ATTACH_FILTER | libc::SO_DETACH_FILTER) => {
            fail(libc::ENOPROTOOPT)
        }
        (libc::SOL_SOCKET, libc::SO_NO_CHECK) => 0,
        _ => system::set(fd, level, name, value, len),
    }
}

pub(crate) fn get(
    fd: c_int,
    lite: &Lite,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    match (level, name) {
        (libc::IPPROTO_UDPLITE, SEND_COVERAGE) => {
            give(lite.send_coverage.load(Ordering::Relaxed).into(), value, len)
        }
        (libc::IPPROTO_UDPLITE, RECEIVE_COVERAGE) => {
            let least = lite.least_coverage.load(Ordering::Relaxed);
            give(if least == UNSET { 0 } else { least }, value, len)
        }
        (libc::IPPROTO_UDPLITE | libc::SOL_UDP, _) => fail(libc::ENOPROTOOPT),
        (libc::IPPROTO_IP, libc::IP_PKTINFO) | (libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO) => {
            give(lite.wants_destination.load(Ordering::Relaxed).into(), value, len)
        }
        (libc::SOL_SOCKET, libc::SO_PROTOCOL) => give(libc::IPPROTO_UDPLITE, value, len),
        (libc::SOL_SOCKET, libc::SO_TYPE) => give(libc::SOCK_DGRAM, value, len),
        _ => system::get(fd, level, name, value, len),
    }
}

/// `ioctl`: the length of the next datagram is that of its data.
pub(crate) fn ioctl(
    fd: c_int,
    lite: &Lite,
    request: libc::c_ulong,
    argument: *mut c_void,
) -> c_int {
    let result = system::ioctl(fd, request, argument);
    if result == 0 && request == libc::FIONREAD && !argument.is_null() {
        let ip = if lite.is_raw.load(Ordering::Relaxed) && !lite.is_v6.load(Ordering::Relaxed) {
            20
        } else {
            0
        };
        // SAFETY: the system has just written a number there.
        unsafe {
            let count = argument.cast::<c_int>();
            count.write_unaligned((count.read_unaligned() - HEADER - ip).max(0));
        }
    }
    result
}
