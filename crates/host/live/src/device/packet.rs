//! Virtual Ethernet and packet sockets: what an ordinary user has where TUN devices are closed.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::libc;
use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, socket};
use nix::sys::time::{TimeSpec, TimeValLike as _};
use nix::time::ClockId;
use windfall_base::Duration;

use crate::system;

/// Asks a socket when the packet came that was read last.
const SIOCGSTAMPNS: libc::Ioctl = 0x8907;

/// The hardware address of every station's end. No other host is on its link.
pub(crate) const INNER: [u8; 6] = [2, 0x57, 0x46, 0, 0, 1];
/// The hardware address of our end.
pub(crate) const OUTER: [u8; 6] = [2, 0x57, 0x46, 0, 0, 2];

/// Bytes of the link header before each packet.
pub(crate) const LINK_HEADER: usize = 14;

/// Opens a packet socket on the device with this index, in the namespace of the process.
///
/// Packets carry a description in front, as virtio has it, little-endian; its offsets count from
/// the link header.
pub(crate) fn open(index: u32) -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    // With no protocol at first, so that nothing arrives before the socket knows its device.
    let socket = socket(AddressFamily::Packet, SockType::Raw, flags, None)?;
    set_option(&socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)?;
    // Absent before Linux 4.20, where our own packets merely pass by us once more.
    let _ = set_option(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1);
    for option in [libc::SO_RCVBUF, libc::SO_SNDBUF] {
        set_option(&socket, libc::SOL_SOCKET, option, 8 << 20)?;
    }
    for option in [libc::SO_RCVBUFFORCE, libc::SO_SNDBUFFORCE] {
        // Beyond the system's limit only where that is allowed.
        let _ = set_option(&socket, libc::SOL_SOCKET, option, 8 << 20);
    }
    // The first question makes the kernel note when packets come; it has no answer yet.
    let _ = age(&socket);
    // SAFETY: an all-zero `sockaddr_ll` is a valid value of that plain C structure.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = SockProtocol::EthAll as u16;
    address.sll_ifindex = index as i32;
    let len = mem::size_of_val(&address) as libc::socklen_t;
    // SAFETY: the address is a whole `sockaddr_ll` that outlives the call, and `len` its size.
    let bound = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) };
    if bound == 0 { Ok(socket) } else { Err(io::Error::last_os_error()) }
}

/// Packets that the socket had no room for since the last call.
pub(crate) fn take_drops(socket: &OwnedFd) -> u64 {
    // SAFETY: an all-zero `tpacket_stats` is a valid value of that plain C structure.
    let mut counts: libc::tpacket_stats = unsafe { mem::zeroed() };
    let mut len = mem::size_of_val(&counts) as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes to the structure, which outlives the call.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut counts).cast(),
            &raw mut len,
        )
    };
    if result == 0 { counts.tp_drops.into() } else { 0 }
}

/// Returns the time since the packet that was last read came to the socket, if the kernel knows.
pub(crate) fn age(socket: &OwnedFd) -> Option<Duration> {
    // SAFETY: an all-zero `timespec` is a valid value of that plain C structure.
    let mut came: libc::timespec = unsafe { mem::zeroed() };
    // SAFETY: the kernel writes one `timespec` through the pointer, which outlives the call.
    unsafe { time_of_last(socket.as_raw_fd(), &raw mut came) }.ok()?;
    // The stamp is of the time of day, as is this; a step of that clock in between is for the
    // caller to bound.
    let came = TimeSpec::from(came).num_nanoseconds();
    let nanos = system::nanos(ClockId::CLOCK_REALTIME) - came;
    u64::try_from(nanos).ok().map(Duration::from_nanos)
}

nix::ioctl_read_bad!(time_of_last, SIOCGSTAMPNS, libc::timespec);

fn set_option(socket: &OwnedFd, level: i32, option: i32, value: i32) -> io::Result<()> {
    let len = mem::size_of_val(&value) as libc::socklen_t;
    // SAFETY: the kernel reads one integer through the pointer, which outlives the call.
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), len)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
