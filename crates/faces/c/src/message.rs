//! Received messages and their ranges.

use std::ffi::{c_int, c_void};
use std::ops::Range;

use windfall_media::exact_ranges;
use windfall_socket::{Integrity, MessageKind, Received};

use crate::failure::set_errno;
use crate::memory::bytes_of;

/// A range of bytes in the layout of `sap.h`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct MessageRange {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// A received message of the C interface.
#[repr(transparent)]
pub struct ArrivedMessage(pub(crate) Received);

impl ArrivedMessage {
    /// Lends a message to a function of C.
    pub(crate) fn lend(message: &Received) -> *const Self {
        std::ptr::from_ref(message).cast()
    }
}

/// The properties of a message in the layout of `sap.h`.
#[derive(Default)]
#[repr(C)]
pub struct Info {
    kind: c_int,
    integrity: c_int,
    number: u32,
    stream: u16,
    exact: usize,
    suspect_start: usize,
    suspect_end: usize,
    missing: usize,
    length: usize,
}

impl Info {
    pub(crate) fn of(message: &Received) -> Self {
        let kind = match message.kind {
            MessageKind::Precise => 0,
            MessageKind::Approximate => 1,
            MessageKind::Repair => 2,
        };
        let integrity = match &message.integrity {
            Integrity::Intact => 0,
            Integrity::Unknown => 1,
            Integrity::Suspect(_) => 2,
        };
        let suspect = suspect(message);
        let suspect_start = suspect.first().map_or(0, |range| range.start);
        let exact = message.exact.first().filter(|range| range.start == 0);
        Self {
            kind,
            integrity,
            number: message.number,
            stream: message.stream,
            exact: exact.map_or(0, |range| range.end),
            suspect_start,
            suspect_end: suspect.last().map_or(suspect_start, |range| range.end),
            missing: message.missing.iter().map(Range::len).sum(),
            length: message.data.len(),
        }
    }
}

fn suspect(message: &Received) -> &[Range<usize>] {
    match &message.integrity {
        Integrity::Suspect(ranges) => ranges,
        Integrity::Intact | Integrity::Unknown => &[],
    }
}

/// Returns the bytes of a message. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_message_data(
    message: *const ArrivedMessage,
    len: *mut usize,
) -> *const c_void {
    let message = socket!(message, std::ptr::null());
    // SAFETY: the pointer is null or leads to a number of the caller that may be written.
    if let Some(len) = unsafe { len.as_mut() } {
        *len = message.0.data.len();
    }
    message.0.data.as_ptr().cast()
}

/// Stores ranges of a message. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_message_ranges(
    message: *const ArrivedMessage,
    which: c_int,
    ranges: *mut MessageRange,
    room: usize,
) -> usize {
    let message = &socket!(message, 0).0;
    let found = match which {
        0 => &message.exact,
        1 => suspect(message),
        2 => &message.missing,
        _ => {
            set_errno(libc::EINVAL);
            return 0;
        }
    };
    // SAFETY: the caller passes room for that many ranges, or null.
    unsafe { store(found, ranges, room) };
    found.len()
}

/// Stores as many ranges as there is room for.
///
/// # Safety
/// `into` is null or leads to `room` ranges that may be written.
unsafe fn store(found: &[Range<usize>], into: *mut MessageRange, room: usize) {
    if into.is_null() {
        return;
    }
    for (index, range) in found.iter().take(room).enumerate() {
        let range = MessageRange { start: range.start, end: range.end };
        // SAFETY: the caller passes room for that many ranges, of which this is one.
        unsafe { into.add(index).write(range) };
    }
}

//= S0.27
/// Stores the ranges of a file that must be exact. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_exact_ranges(
    data: *const c_void,
    len: usize,
    ranges: *mut MessageRange,
    room: usize,
) -> usize {
    // SAFETY: the caller passes `len` bytes that do not change during the call.
    let Ok(bytes) = (unsafe { bytes_of(data, len) }) else { return 0 };
    let found = exact_ranges(bytes, room);
    // SAFETY: the caller passes room for that many ranges, or null.
    unsafe { store(&found, ranges, room) };
    found.len().min(room)
}

/// Frees a message. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_message_free(message: *mut ArrivedMessage) {
    if !message.is_null() {
        // SAFETY: the pointer came from `sap_recv_message`, and no call uses it any more.
        drop(unsafe { Box::from_raw(message) });
    }
}
