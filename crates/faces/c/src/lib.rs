//! libsap: the functions of `sap.h`, a thin layer over [`windfall_socket`], and over
//! [`windfall_bodies`] for the bodies of HTTP.
//!
//! `sap.h` documents each function. Every pointer argument is one that a function of `sap.h`
//! returned, or memory of the caller with the stated length.
#![expect(unsafe_code, reason = "C hands over pointers")]
#![expect(clippy::missing_safety_doc, reason = "the header states the conditions")]

/// Dereferences a pointer that `sap_socket`, `sap_accept` or `udplite_socket` returned.
macro_rules! socket {
    ($sock:expr, $failed:expr) => {
        // SAFETY: the pointer is null or one that a function of `sap.h` returned and that was not
        // freed.
        match unsafe { $sock.as_ref() } {
            Some(socket) => socket,
            None => {
                $crate::failure::set_errno(libc::EINVAL);
                return $failed;
            }
        }
    };
}

pub mod body;
pub mod connect;
mod failure;
mod memory;
pub mod message;
pub mod options;
pub mod protected;
pub mod rtp;
pub mod socket;
pub mod transfer;
pub mod udplite;
