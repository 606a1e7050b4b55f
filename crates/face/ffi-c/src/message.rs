//! Received messages and their ranges.

use std::ffi::{c_int, c_void};
use std::ops::Range;

use windfall_socket::{Integrity, MessageKind, Received};

use crate::failure::set_errno;

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
    if !ranges.is_null() {
        for (index, range) in found.iter().take(room).enumerate() {
            let range = MessageRange { start: range.start, end: range.end };
            // SAFETY: the caller passes room for that many ranges, of which this is one.
            unsafe { ranges.add(index).write(range) };
        }
    }
    found.len()
}

/// Frees a message. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_message_free(message: *mut ArrivedMessage) {
    if !message.is_null() {
        // SAFETY: the pointer came from `sap_recv_message`, and no call uses it any more.
        drop(unsafe { Box::from_raw(message) });
    }
}
