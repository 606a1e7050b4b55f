//! TUN devices: the kernel's interface for bare IP packets, with large segments left whole.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::fcntl::OFlag;

/// The path of the system's TUN device.
pub(crate) const PATH: &str = "/dev/net/tun";

const IFF_TUN: i16 = 0x0001;
const IFF_NO_PI: i16 = 0x1000;
const IFF_VNET_HDR: i16 = 0x4000;

/// Checksums may be left open, and TCP and UDP segments large.
const OFFLOAD: u64 = 0x01 | 0x02 | 0x04;
const UDP_OFFLOAD: u64 = 0x20 | 0x40;

/// The kernel's `struct ifreq` as far as it concerns TUN devices.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct InterfaceRequest {
    name: [u8; 16],
    flags: i16,
    rest: [u8; 22],
}

mod ioctl {
    use super::InterfaceRequest;
    nix::ioctl_write_int_bad!(set_offload, nix::request_code_write!(b'T', 208, 4));
    nix::ioctl_write_ptr_bad!(
        set_interface,
        nix::request_code_write!(b'T', 202, 4),
        InterfaceRequest
    );
    nix::ioctl_write_ptr_bad!(set_little_endian, nix::request_code_write!(b'T', 220, 4), i32);
}

/// Opens the control file of TUN devices, in the namespace of the process.
pub(crate) fn open() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(PATH)
}

/// Makes a TUN device called `name`; it lives until the last copy of the descriptor is closed.
///
/// Packets carry a description in front, as virtio has it, little-endian.
pub(crate) fn create(name: &str) -> io::Result<OwnedFd> {
    let file = open()?;
    let mut request = InterfaceRequest {
        name: [0; 16],
        flags: IFF_TUN | IFF_NO_PI | IFF_VNET_HDR,
        rest: [0; 22],
    };
    if name.len() >= request.name.len() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a device name has 15 letters"));
    }
    request.name[..name.len()].copy_from_slice(name.as_bytes());
    let fd = file.as_raw_fd();
    // SAFETY: the request is a whole `struct ifreq`, initialised, and outlives the call.
    unsafe { ioctl::set_interface(fd, &raw const request)? };
    let yes = 1_i32;
    // SAFETY: the kernel reads one integer through the pointer, which outlives the call.
    unsafe { ioctl::set_little_endian(fd, &raw const yes)? };
    // SAFETY: this call takes its argument by value.
    let with_udp = unsafe { ioctl::set_offload(fd, (OFFLOAD | UDP_OFFLOAD) as i32) };
    if with_udp.is_err() {
        // Kernels before 6.2 know no large UDP segments.
        // SAFETY: this call takes its argument by value.
        unsafe { ioctl::set_offload(fd, OFFLOAD as i32)? };
    }
    Ok(file.into())
}
