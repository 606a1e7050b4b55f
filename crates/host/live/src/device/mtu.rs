//! The longest packet of a device, changed while it carries packets.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixDatagram;

use nix::libc::{self, IFNAMSIZ, c_char, ifreq};
use nix::sys::socket::{LinkAddr, getsockname};

/// Asks for the name of the interface with an index.
const SIOCGIFNAME: libc::Ioctl = 0x8910;
/// Sets the MTU of an interface.
const SIOCSIFMTU: libc::Ioctl = 0x8922;

nix::ioctl_readwrite_bad!(get_name, SIOCGIFNAME, ifreq);
nix::ioctl_write_ptr_bad!(set_mtu, SIOCSIFMTU, ifreq);

/// An interface, with a socket of the network namespace that it is in.
#[derive(Debug)]
struct Interface {
    socket: OwnedFd,
    name: [c_char; IFNAMSIZ],
}

impl Interface {
    fn new(socket: OwnedFd, name: &str) -> Self {
        let mut letters = [0; IFNAMSIZ];
        for (letter, byte) in letters[..IFNAMSIZ - 1].iter_mut().zip(name.bytes()) {
            *letter = byte as c_char;
        }
        Self { socket, name: letters }
    }

    /// The interface that a packet socket is bound to.
    fn of_packet_socket(socket: OwnedFd) -> io::Result<Self> {
        let address: LinkAddr = getsockname(socket.as_raw_fd())?;
        let index = libc::__c_anonymous_ifr_ifru { ifru_ifindex: address.ifindex() as i32 };
        let mut request = ifreq { ifr_name: [0; IFNAMSIZ], ifr_ifru: index };
        // SAFETY: the kernel reads and writes one `ifreq`, which outlives the call.
        unsafe { get_name(socket.as_raw_fd(), &raw mut request)? };
        Ok(Self { socket, name: request.ifr_name })
    }

    fn set_mtu(&self, mtu: u16) -> io::Result<()> {
        let mtu = libc::__c_anonymous_ifr_ifru { ifru_mtu: mtu.into() };
        let request = ifreq { ifr_name: self.name, ifr_ifru: mtu };
        // SAFETY: the kernel reads one `ifreq`, which outlives the call.
        unsafe { set_mtu(self.socket.as_raw_fd(), &raw const request)? };
        Ok(())
    }
}

/// Sets the MTU of a device, whatever network namespace it is in.
#[derive(Debug)]
pub struct MtuSetter {
    /// The device, and our end of the pair if it is one of virtual Ethernet.
    interfaces: Vec<Interface>,
}

impl MtuSetter {
    /// Sets that of a device in the network namespace of this process.
    ///
    /// # Errors
    /// If the system has no descriptors left.
    pub fn here(device: &str) -> io::Result<Self> {
        Ok(Self::new(UnixDatagram::unbound()?.into(), device))
    }

    /// Sets that of a device in the network namespace of a socket.
    pub(crate) fn new(socket: OwnedFd, device: &str) -> Self {
        Self { interfaces: vec![Interface::new(socket, device)] }
    }

    /// Sets that of the device to which a packet socket is bound as well.
    pub(crate) fn with_packet_socket(mut self, socket: OwnedFd) -> io::Result<Self> {
        self.interfaces.push(Interface::of_packet_socket(socket)?);
        Ok(self)
    }

    /// Sets the MTU, in bytes.
    ///
    /// # Errors
    /// If the device is gone, or takes no such MTU.
    pub fn set(&self, mtu: u16) -> io::Result<()> {
        self.interfaces.iter().try_for_each(|it| it.set_mtu(mtu))
    }
}
