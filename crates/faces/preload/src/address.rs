//! Addresses: binding, connecting, and what the checksum needs to know of them.

use core::mem::{size_of, zeroed};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use core::ptr;
use core::sync::atomic::Ordering;

use libc::{
    c_int, sock_filter, sock_fprog, sockaddr, sockaddr_in, sockaddr_in6, sockaddr_storage,
    socklen_t,
};

use crate::lite::{Lite, RECEIVE_COVERAGE, UNSET};
use crate::system::{self, fail};

/// The number of datagrams after which their copies are taken from the socket that keeps the port.
const COPIES: u32 = 16;

/// An address as the system takes it.
#[derive(Clone, Copy)]
pub(crate) struct Raw {
    pub(crate) storage: sockaddr_storage,
    pub(crate) len: socklen_t,
}

impl Raw {
    pub(crate) fn empty() -> Self {
        // SAFETY: all-zero bytes are a legal value of this plain structure.
        let storage = unsafe { zeroed() };
        Self { storage, len: size_of::<sockaddr_storage>() as socklen_t }
    }

    /// Copies an address of the program.
    pub(crate) fn copy(address: *const sockaddr, len: socklen_t) -> Self {
        let mut raw = Self::empty();
        raw.len = len.min(raw.len);
        // SAFETY: the program vouches for `len` bytes; no more than there is room for are copied.
        unsafe {
            let to = (&raw mut raw.storage).cast::<u8>();
            to.copy_from_nonoverlapping(address.cast(), raw.len as usize);
        }
        raw
    }

    pub(crate) fn new(address: SocketAddr) -> Self {
        let mut raw = Self::empty();
        match address {
            SocketAddr::V4(v4) => {
                let place = (&raw mut raw.storage).cast::<sockaddr_in>();
                // SAFETY: the storage has room for any address and its alignment.
                let place = unsafe { &mut *place };
                place.sin_family = libc::AF_INET as _;
                place.sin_port = v4.port().to_be();
                place.sin_addr.s_addr = u32::from_ne_bytes(v4.ip().octets());
                raw.len = size_of::<sockaddr_in>() as socklen_t;
            }
            SocketAddr::V6(v6) => {
                let place = (&raw mut raw.storage).cast::<sockaddr_in6>();
                // SAFETY: as above.
                let place = unsafe { &mut *place };
                place.sin6_family = libc::AF_INET6 as _;
                place.sin6_port = v6.port().to_be();
                place.sin6_addr.s6_addr = v6.ip().octets();
                place.sin6_scope_id = v6.scope_id();
                raw.len = size_of::<sockaddr_in6>() as socklen_t;
            }
        }
        raw
    }

    pub(crate) fn as_ptr(&self) -> *const sockaddr {
        (&raw const self.storage).cast()
    }

    pub(crate) fn read(&self) -> Option<SocketAddr> {
        match c_int::from(self.storage.ss_family) {
            libc::AF_INET if self.len as usize >= size_of::<sockaddr_in>() => {
                // SAFETY: the family says that the storage holds such an address.
                let it = unsafe { &*self.as_ptr().cast::<sockaddr_in>() };
                let ip = Ipv4Addr::from(it.sin_addr.s_addr.to_ne_bytes());
                Some(SocketAddr::new(ip.into(), u16::from_be(it.sin_port)))
            }
            libc::AF_INET6 if self.len as usize >= size_of::<sockaddr_in6>() => {
                // SAFETY: as above.
                let it = unsafe { &*self.as_ptr().cast::<sockaddr_in6>() };
                let ip = Ipv6Addr::from(it.sin6_addr.s6_addr);
                Some(SocketAddrV6::new(ip, u16::from_be(it.sin6_port), 0, it.sin6_scope_id).into())
            }
            _ => None,
        }
    }

    /// Gives the address to the program, cut as the system cuts it.
    pub(crate) fn give(&self, address: *mut sockaddr, len: *mut socklen_t) {
        if address.is_null() || len.is_null() {
            return;
        }
        // SAFETY: the program vouches for `len` and as many bytes behind `address` as it says.
        unsafe {
            let room = (*len).min(self.len) as usize;
            address.cast::<u8>().copy_from_nonoverlapping(self.as_ptr().cast(), room);
            *len = self.len;
        }
    }
}

/// Returns an address as it is on the wire: one of IPv4 behind a socket of IPv6 is of IPv4.
pub(crate) fn on_wire(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// Asks the system for the address of a socket.
fn ask(fd: c_int) -> Option<SocketAddr> {
    let mut raw = Raw::empty();
    let mut len = raw.len;
    let result = system::name(fd, false, (&raw mut raw.storage).cast(), &raw mut len);
    raw.len = len;
    if result == 0 { raw.read() } else { None }
}

/// Returns the unspecified address of a socket's family.
fn any(lite: &Lite) -> SocketAddr {
    let ip: IpAddr = if lite.is_v6.load(Ordering::Relaxed) {
        Ipv6Addr::UNSPECIFIED.into()
    } else {
        Ipv4Addr::UNSPECIFIED.into()
    };
    SocketAddr::new(ip, 0)
}

pub(crate) fn bind(fd: c_int, lite: &Lite, address: *const sockaddr, len: socklen_t) -> c_int {
    if !lite.is_raw.load(Ordering::Relaxed) || address.is_null() {
        let result = system::bind(fd, address, len);
        if result == 0 {
            lite.ends().local = ask(fd);
            ask_destinations(fd, lite);
        }
        return result;
    }
    match Raw::copy(address, len).read() {
        Some(address) => bind_raw(fd, lite, address),
        None => fail(libc::EINVAL),
    }
}

/// Binds a raw socket to an address, and a silent one beside it to the port.
fn bind_raw(fd: c_int, lite: &Lite, mut address: SocketAddr) -> c_int {
    let holder = hold(lite, address);
    if holder < 0 {
        return holder;
    }
    let without_port = Raw::new(SocketAddr::new(address.ip(), 0));
    if system::bind(fd, without_port.as_ptr(), without_port.len) != 0 {
        let error = system::last();
        system::close(holder);
        return fail(error);
    }
    address.set_port(ask(holder).map_or(0, |it| it.port()));
    let old = lite.holder.swap(holder, Ordering::AcqRel);
    if old >= 0 {
        system::close(old);
    }
    lite.ends().local = Some(address);
    take_port(fd, address.port(), !lite.is_v6.load(Ordering::Relaxed));
    ask_destinations(fd, lite);
    0
}

/// Lets the system tell the destinations of datagrams, or not: the checksum covers them, and a
/// socket on all addresses does not know them otherwise.
pub(crate) fn ask_destinations(fd: c_int, lite: &Lite) {
    let knows = lite.ends().local.is_some_and(|it| !it.ip().is_unspecified());
    let wanted = !knows || lite.wants_destination.load(Ordering::Relaxed);
    let (level, name) = if lite.is_v6.load(Ordering::Relaxed) {
        (libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO)
    } else {
        (libc::IPPROTO_IP, libc::IP_PKTINFO)
    };
    system::set_number(fd, level, name, wanted.into());
}

/// Opens a socket that keeps a port. One of UDP-Lite gets copies of what a raw socket gets, and
/// [`follow`] takes them: the system would count refused copies as drops.
fn hold(lite: &Lite, address: SocketAddr) -> c_int {
    let family = if lite.is_v6.load(Ordering::Relaxed) { libc::AF_INET6 } else { libc::AF_INET };
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
    let mut holder = system::socket(family, kind, libc::IPPROTO_UDPLITE);
    if holder >= 0 {
        require(holder, lite);
    } else {
        holder = system::socket(family, kind, libc::IPPROTO_UDP);
        if holder < 0 {
            return holder;
        }
        silence(holder);
    }
    let raw = Raw::new(address);
    if system::bind(holder, raw.as_ptr(), raw.len) != 0 {
        let error = system::last();
        system::close(holder);
        return fail(error);
    }
    holder
}

/// Lets the socket that keeps the port require the coverage that the raw one does.
pub(crate) fn require(holder: c_int, lite: &Lite) {
    let least = lite.least_coverage.load(Ordering::Relaxed);
    if holder >= 0 && least != UNSET {
        system::set_number(holder, libc::IPPROTO_UDPLITE, RECEIVE_COVERAGE, least);
    }
}

/// Takes the copies that the socket that keeps the port has, after each [`COPIES`] datagrams.
pub(crate) fn follow(lite: &Lite) {
    let holder = lite.holder.load(Ordering::Acquire);
    if holder < 0 || !(lite.copies.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(COPIES) {
        return;
    }
    let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
    // Those that others have taken meanwhile are few.
    for _ in 0..2 * COPIES {
        if system::recvfrom(holder, &mut [], flags, ptr::null_mut(), ptr::null_mut()) < 0 {
            break;
        }
    }
}

/// Gives a socket a port before its first datagram, whose checksum covers it.
pub(crate) fn ensure_bound(fd: c_int, lite: &Lite) -> Option<SocketAddr> {
    let known = lite.ends().local.filter(|it| it.port() != 0);
    if known.is_some() {
        return known;
    }
    if lite.is_raw.load(Ordering::Relaxed) {
        if bind_raw(fd, lite, any(lite)) != 0 {
            return None;
        }
    } else if ask(fd).is_none_or(|it| it.port() == 0) {
        let raw = Raw::new(any(lite));
        if system::bind(fd, raw.as_ptr(), raw.len) != 0 {
            return None;
        }
    }
    let mut ends = lite.ends();
    if !lite.is_raw.load(Ordering::Relaxed) {
        ends.local = ask(fd);
    }
    ends.local
}

pub(crate) fn connect(fd: c_int, lite: &Lite, address: *const sockaddr, len: socklen_t) -> c_int {
    if address.is_null() {
        return fail(libc::EFAULT);
    }
    let raw = Raw::copy(address, len);
    let peer = raw.read();
    let is_raw = lite.is_raw.load(Ordering::Relaxed);
    if is_raw && peer.is_some() && ensure_bound(fd, lite).is_none() {
        return -1;
    }
    let below = match peer.filter(|_| is_raw) {
        Some(peer) => Raw::new(SocketAddr::new(peer.ip(), 0)),
        None => raw,
    };
    let result = system::connect(fd, below.as_ptr(), below.len);
    if result != 0 {
        return result;
    }
    let mut ends = lite.ends();
    let port = ends.local.map(|it| it.port());
    ends.peer = peer;
    ends.local = ask(fd);
    if let (true, Some(local), Some(port)) = (is_raw, &mut ends.local, port) {
        local.set_port(port);
    }
    drop(ends);
    ask_destinations(fd, lite);
    0
}

pub(crate) fn name(fd: c_int, lite: &Lite, address: *mut sockaddr, len: *mut socklen_t) -> c_int {
    let local = lite.ends().local.filter(|_| lite.is_raw.load(Ordering::Relaxed));
    match local {
        Some(local) => Raw::new(local).give(address, len),
        None => return system::name(fd, false, address, len),
    }
    0
}

pub(crate) fn peer_name(
    fd: c_int,
    lite: &Lite,
    address: *mut sockaddr,
    len: *mut socklen_t,
) -> c_int {
    let peer = lite.ends().peer.filter(|_| lite.is_raw.load(Ordering::Relaxed));
    match peer {
        Some(peer) => Raw::new(peer).give(address, len),
        None => return system::name(fd, true, address, len),
    }
    0
}

/// Returns the source address of datagrams to `to`, which the checksum covers.
pub(crate) fn source(lite: &Lite, local: SocketAddr, to: SocketAddr) -> Option<IpAddr> {
    if !local.ip().is_unspecified() {
        return Some(local.ip().to_canonical());
    }
    let known = lite.ends().route.filter(|(known, _)| *known == to.ip());
    if let Some((_, source)) = known {
        return Some(source);
    }
    let family = if to.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let probe = system::socket(family, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, libc::IPPROTO_UDP);
    if probe < 0 {
        return None;
    }
    // Connecting sends nothing, but looks up the route.
    let raw = Raw::new(to);
    let connected = system::connect(probe, raw.as_ptr(), raw.len);
    let found = if connected == 0 { ask(probe).map(|it| it.ip()) } else { None };
    let error = system::last();
    system::close(probe);
    match found {
        Some(source) => lite.ends().route = Some((to.ip(), source)),
        None => drop(fail(error)),
    }
    found
}

/// Lets a socket take nothing.
pub(crate) fn silence(fd: c_int) {
    filter(fd, &mut [instruction(libc::BPF_RET | libc::BPF_K, 0)]);
}

/// Lets a raw socket take datagrams to `port` alone, so that no others wake the program.
fn take_port(fd: c_int, port: u16, with_header: bool) {
    let whole = instruction(libc::BPF_RET | libc::BPF_K, u32::MAX);
    let nothing = instruction(libc::BPF_RET | libc::BPF_K, 0);
    let equals = instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, port.into());
    let equals = sock_filter { jt: 0, jf: 1, ..equals };
    if with_header {
        let skip = instruction(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, 0);
        let load = instruction(libc::BPF_LD | libc::BPF_H | libc::BPF_IND, 2);
        filter(fd, &mut [skip, load, equals, whole, nothing]);
    } else {
        let load = instruction(libc::BPF_LD | libc::BPF_H | libc::BPF_ABS, 2);
        filter(fd, &mut [load, equals, whole, nothing]);
    }
}

fn instruction(code: u32, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

fn filter(fd: c_int, program: &mut [sock_filter]) {
    let program = sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    let len = size_of::<sock_fprog>() as socklen_t;
    let value = (&raw const program).cast();
    // A socket without a filter takes more than it needs, and what it takes is looked at again.
    system::set(fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, value, len);
}
