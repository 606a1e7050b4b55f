//! Files in parts of which the front must be exact.

use std::ffi::{c_int, c_void};

use windfall_media::{ProtectError, ProtectedArrival, ProtectedPart, protect};

use crate::failure::{CallResult, Failure, report_without_socket, set_errno};
use crate::memory::{bytes_of, hand_out};

/// The parts of a file.
pub struct ProtectedParts(Vec<ProtectedPart>);

/// Parts that have arrived, and the file that they made last.
pub struct Restorer {
    arrival: ProtectedArrival,
    file: Vec<u8>,
}

/// Stores a number where the caller wants it.
///
/// # Safety
/// `into` is null or leads to a number that may be written.
unsafe fn store(value: usize, into: *mut usize) {
    // SAFETY: as the caller promises.
    if let Some(into) = unsafe { into.as_mut() } {
        *into = value;
    }
}

//= S0.27
//= S1.55
/// Cuts a file into parts. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_protect(
    data: *const c_void,
    len: usize,
    longest: usize,
) -> *mut ProtectedParts {
    // SAFETY: the caller passes `len` bytes that do not change during the call.
    let bytes = unsafe { bytes_of(data, len) };
    let parts = bytes.map_err(no_data).and_then(|bytes| {
        let parts =
            hand_out(ProtectedParts(protect(bytes, longest).map_err(|error| refused(&error))?));
        if parts.is_null() {
            Err(Failure::new(libc::ENOMEM, "there is no memory"))
        } else {
            Ok(parts)
        }
    });
    report_without_socket(parts, std::ptr::null_mut())
}

/// Returns the failure of what cannot be protected or restored.
fn refused(error: &ProtectError) -> Failure {
    Failure::new(libc::EINVAL, error.to_string())
}

/// Returns the number of parts. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_parts_count(parts: *const ProtectedParts) -> usize {
    socket!(parts, 0).0.len()
}

/// Returns the bytes of a part. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_parts_get(
    parts: *const ProtectedParts,
    index: usize,
    len: *mut usize,
    exact: *mut usize,
) -> *const c_void {
    let parts = socket!(parts, std::ptr::null());
    let Some(part) = parts.0.get(index) else {
        set_errno(libc::EINVAL);
        return std::ptr::null();
    };
    // SAFETY: both pointers are null or lead to numbers of the caller.
    unsafe {
        store(part.bytes.len(), len);
        store(part.exact, exact);
    }
    part.bytes.as_ptr().cast()
}

/// Frees parts. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_parts_free(parts: *mut ProtectedParts) {
    if !parts.is_null() {
        // SAFETY: the pointer came from `sap_protect`, and no call uses it any more.
        drop(unsafe { Box::from_raw(parts) });
    }
}

/// Creates a receiver of parts. See `sap.h`.
#[unsafe(no_mangle)]
pub extern "C" fn sap_restorer() -> *mut Restorer {
    hand_out(Restorer { arrival: ProtectedArrival::default(), file: Vec::new() })
}

/// Takes a part. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_restorer_push(
    restorer: *mut Restorer,
    data: *const c_void,
    len: usize,
) -> c_int {
    // SAFETY: the pointer is null or came from `sap_restorer`, and no other call uses it now; the
    // caller passes `len` bytes that do not change during the call.
    let (restorer, part) = unsafe { (restorer.as_mut(), bytes_of(data, len)) };
    let pushed = restorer.ok_or_else(no_restorer).and_then(|restorer| {
        restorer.arrival.push(part.map_err(no_data)?).map_err(|error| refused(&error))?;
        Ok(0)
    });
    report_without_socket(pushed, -1)
}

fn no_data(_: Failure) -> Failure {
    Failure::new(libc::EINVAL, "there are no data")
}

fn no_restorer() -> Failure {
    Failure::new(libc::EINVAL, "there is no receiver of parts")
}

/// Makes the file of the parts that arrived. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_restorer_file(
    restorer: *mut Restorer,
    len: *mut usize,
    missing: *mut usize,
    damaged: *mut usize,
) -> *const c_void {
    // SAFETY: the pointer is null or came from `sap_restorer`, and no other call uses it now.
    let restorer = unsafe { restorer.as_mut() };
    let restored: CallResult<*const c_void> =
        restorer.ok_or_else(no_restorer).and_then(|restorer| {
            let file = restorer.arrival.restore().map_err(|error| refused(&error))?;
            // SAFETY: the pointers are null or lead to numbers of the caller.
            unsafe {
                store(file.bytes.len(), len);
                store(file.missing, missing);
                store(file.damaged, damaged);
            }
            restorer.file = file.bytes;
            Ok(restorer.file.as_ptr().cast())
        });
    report_without_socket(restored, std::ptr::null())
}

/// Frees a receiver of parts. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_restorer_free(restorer: *mut Restorer) {
    if !restorer.is_null() {
        // SAFETY: the pointer came from `sap_restorer`, and no call uses it any more.
        drop(unsafe { Box::from_raw(restorer) });
    }
}
