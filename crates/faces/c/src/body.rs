//! Bodies of HTTP over SAP.

use std::ffi::c_int;
use std::fs::File;
use std::os::fd::BorrowedFd;

use windfall_bodies::{FilePart, send_file};
use windfall_socket::Mode;

use crate::failure::{CallResult, Failure};
use crate::options::mode_of;
use crate::socket::Socket;

/// Duplicates a descriptor of a file.
///
/// # Safety
/// No other thread closes the descriptor meanwhile.
unsafe fn duplicate(fd: c_int) -> CallResult<File> {
    if fd < 0 {
        return Err(Failure::new(libc::EBADF, "there is no file"));
    }
    // SAFETY: the descriptor is not -1, and stays as the caller promises.
    let file = unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned()?;
    Ok(file.into())
}

//= S0.42
/// Sends the first bytes of a file as the body of a reply. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_send_body(
    sock: *mut Socket,
    transfer: u16,
    token: *const [u8; 16],
    fd: c_int,
    len: usize,
    mode: c_int,
) -> c_int {
    // SAFETY: the caller keeps the same promises.
    unsafe { sap_send_part(sock, transfer, token, fd, 0, len, mode) }
}

/// Sends a range of a file as the body of a reply. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_send_part(
    sock: *mut Socket,
    transfer: u16,
    token: *const [u8; 16],
    fd: c_int,
    start: u64,
    len: usize,
    mode: c_int,
) -> c_int {
    let socket = socket!(sock, -1);
    // SAFETY: the caller passes 16 bytes, or null.
    let token = unsafe { token.as_ref() };
    let token = token.ok_or_else(|| Failure::new(libc::EFAULT, "there is no token"));
    let sent = token.and_then(|token| {
        let is_precise = mode_of(mode, 0)? == Mode::Precise;
        if u32::try_from(len).is_err() {
            return Err(Failure::new(libc::EFBIG, "no body has 4 GiB"));
        }
        // SAFETY: the caller passes a descriptor that stays open during the call.
        let file = unsafe { duplicate(fd) }?;
        let end = start.checked_add(len as u64);
        let end = end.ok_or_else(|| Failure::new(libc::EOVERFLOW, "no file has such a range"))?;
        let part = FilePart { file, range: start..end };
        Ok(send_file(socket.connected()?, transfer, *token, part, is_precise)?)
    });
    socket.error.report(sent.map(|()| 0), -1)
}
