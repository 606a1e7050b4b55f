//! The carrier of a new socket: what the user asked for, or the first that the machine allows.

use libc::c_int;

use crate::address::{ask_destinations, silence};
use crate::system::{fail, last, set_number, socket};
use crate::{system, table};

/// The variable that names the carrier: kernel, raw, udp or auto.
const VARIABLE: &str = "WINDFALL_UDPLITE_CARRIER";

/// Options of UDP over IPv6 that the system's headers name so.
const UDP_NO_CHECK6_TX: c_int = 101;
const UDP_NO_CHECK6_RX: c_int = 102;

/// Opens a socket of UDP-Lite.
pub(crate) fn open(family: c_int, kind: c_int) -> c_int {
    let wanted = std::env::var_os(VARIABLE);
    match wanted.as_ref().and_then(|text| text.to_str()).unwrap_or("auto") {
        "kernel" => socket(family, kind, libc::IPPROTO_UDPLITE),
        "raw" => open_raw(family, kind),
        "udp" => open_udp(family, kind),
        "auto" => first_of_all(family, kind),
        _ => fail(libc::EPROTONOSUPPORT),
    }
}

fn first_of_all(family: c_int, kind: c_int) -> c_int {
    let fd = socket(family, kind, libc::IPPROTO_UDPLITE);
    let refused = [libc::EPROTONOSUPPORT, libc::ESOCKTNOSUPPORT, libc::EINVAL];
    if fd >= 0 || !refused.contains(&last()) {
        return fd;
    }
    let fd = open_raw(family, kind);
    if fd >= 0 || !matches!(last(), libc::EPERM | libc::EACCES) {
        return fd;
    }
    open_udp(family, kind)
}

/// Opens a raw socket, which takes nothing until it has a port.
fn open_raw(family: c_int, kind: c_int) -> c_int {
    let flags = kind & !0xf;
    let fd = socket(family, libc::SOCK_RAW | flags, libc::IPPROTO_UDPLITE);
    if fd >= 0 {
        silence(fd);
    }
    adopt(fd, true, family)
}

/// Opens a socket of UDP whose datagrams carry no checksum of their own.
fn open_udp(family: c_int, kind: c_int) -> c_int {
    let fd = socket(family, kind, libc::IPPROTO_UDP);
    if fd >= 0 {
        set_number(fd, libc::SOL_SOCKET, libc::SO_NO_CHECK, 1);
        if family == libc::AF_INET6 {
            set_number(fd, libc::SOL_UDP, UDP_NO_CHECK6_TX, 1);
            set_number(fd, libc::SOL_UDP, UDP_NO_CHECK6_RX, 1);
        }
    }
    adopt(fd, false, family)
}

/// Makes a socket of the system one of UDP-Lite.
fn adopt(fd: c_int, is_raw: bool, family: c_int) -> c_int {
    if fd < 0 {
        return fd;
    }
    let is_v6 = family == libc::AF_INET6;
    if table::insert(fd, is_raw, is_v6)
        && let Some(lite) = table::find(fd)
    {
        ask_destinations(fd, lite);
        return fd;
    }
    system::close(fd);
    fail(libc::EMFILE)
}
