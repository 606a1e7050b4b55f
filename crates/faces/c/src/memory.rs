//! Memory that C holds, and memory of C.

use std::alloc::{Layout, alloc};
use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::net::SocketAddr;

use crate::failure::{CallResult, Failure};

/// Moves a value to memory that C holds; null without memory, where a box would abort the program.
pub(crate) fn hand_out<T>(value: T) -> *mut T {
    // SAFETY: the layout of a socket or a message is not of size zero.
    let memory = unsafe { alloc(Layout::new::<T>()) }.cast::<T>();
    if !memory.is_null() {
        // SAFETY: the memory has the layout of a box and is not initialized yet.
        unsafe { memory.write(value) };
    }
    memory
}

/// Formats an address and its port for the system's resolver.
///
/// # Safety
/// `address` is null or a string that ends with a zero.
pub(crate) unsafe fn address_of(address: *const c_char, port: u16) -> CallResult<String> {
    // SAFETY: as the caller promises.
    let text = unsafe { text_of(address) }?.unwrap_or("0.0.0.0");
    Ok(if text.contains(':') { format!("[{text}]:{port}") } else { format!("{text}:{port}") })
}

/// Returns the text at a pointer; `None` if it is null.
///
/// # Safety
/// `text` is null or a string that ends with a zero and outlives the result.
pub(crate) unsafe fn text_of<'a>(text: *const c_char) -> CallResult<Option<&'a str>> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(text) }.to_str();
    text.map(Some).map_err(|_| Failure::new(libc::EINVAL, "the address is no text"))
}

/// Returns the bytes that a caller sends.
///
/// # Safety
/// `data` is null or leads to `len` bytes that do not change as long as the result lives.
pub(crate) unsafe fn bytes_of<'a>(data: *const c_void, len: usize) -> CallResult<&'a [u8]> {
    if data.is_null() && len > 0 {
        return Err(Failure::new(libc::EFAULT, "there are no data"));
    }
    if isize::try_from(len).is_err() {
        let text = format!("{len} bytes are more than any memory holds: send a shorter message");
        return Err(Failure::new(libc::EMSGSIZE, text));
    }
    Ok(match len {
        0 => &[],
        // SAFETY: as the caller promises.
        _ => unsafe { std::slice::from_raw_parts(data.cast(), len) },
    })
}

/// Copies as many of `bytes` as there is room for, and returns their number.
///
/// # Safety
/// `data` is null or leads to `len` bytes that may be written.
pub(crate) unsafe fn fill(bytes: &[u8], data: *mut c_void, len: usize) -> c_long {
    let count = if data.is_null() { 0 } else { bytes.len().min(len) };
    if count > 0 {
        // SAFETY: as the caller promises, and what was received never lies in the caller's memory.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), data.cast(), count) };
    }
    count as c_long
}

/// Writes the length of what was received.
///
/// # Safety
/// `length` is null or to be written.
pub(crate) unsafe fn put_length(length: *mut usize, len: usize) {
    // SAFETY: as the caller promises.
    if let Some(length) = unsafe { length.as_mut() } {
        *length = len;
    }
}

/// Writes an address as text and its port.
///
/// # Safety
/// `text` is null or leads to `len` bytes that may be written, `port` is null or to be written.
pub(crate) unsafe fn put_address(
    address: SocketAddr,
    text: *mut c_char,
    len: usize,
    port: *mut u16,
) -> CallResult<c_int> {
    let scope = match address {
        SocketAddr::V6(v6) if v6.scope_id() != 0 => format!("%{}", v6.scope_id()),
        _ => String::new(),
    };
    let mut bytes = format!("{}{scope}", address.ip()).into_bytes();
    bytes.push(0);
    if !text.is_null() {
        if bytes.len() > len {
            let what = format!("an address of {} bytes does not fit into {len}", bytes.len());
            return Err(Failure::new(libc::ENOBUFS, what));
        }
        // SAFETY: as the caller promises; the bytes fit.
        unsafe { fill(&bytes, text.cast(), len) };
    }
    // SAFETY: as the caller promises.
    if let Some(port) = unsafe { port.as_mut() } {
        *port = address.port();
    }
    Ok(0)
}
