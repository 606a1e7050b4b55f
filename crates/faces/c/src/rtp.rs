//! Packets of RTP on UDP-Lite sockets, and what a socket has done, for C.

use std::ffi::{c_int, c_long, c_void};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use windfall_rtp::{ReceptionStatistics, RtpHeader, RtpPacket};

use crate::failure::Failure;
use crate::memory::{bytes_of, fill, put_length};
use crate::udplite::LiteSocket;

/// `struct rtp_header` of `sap.h`.
#[repr(C)]
pub struct CRtpHeader {
    number: u16,
    kind: u8,
    marker: u8,
    timestamp: u32,
    source: u32,
}

/// `struct udplite_counts` of `sap.h`.
#[repr(C)]
pub struct CCounts {
    sent: u64,
    sent_bytes: u64,
    received: u64,
    received_bytes: u64,
    refused: u64,
    rtp_lost: u64,
}

/// The greatest payload type: the field has seven bits.
const MOST_KIND: u8 = 0x7f;

//= S1.8
/// Sends a packet of RTP to the peer. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn udplite_send_rtp(
    sock: *mut LiteSocket,
    header: *const CRtpHeader,
    data: *const c_void,
    len: usize,
) -> c_long {
    let socket = socket!(sock, -1);
    // SAFETY: the caller passes a header, or null.
    let header = unsafe { header.as_ref() };
    let missing = || Failure::new(libc::EFAULT, "there is no header");
    let sent = header.ok_or_else(missing).and_then(|it| {
        if it.kind > MOST_KIND {
            let text = format!("a payload type of RTP is 0 to {MOST_KIND}, and not {}", it.kind);
            return Err(Failure::new(libc::EINVAL, text));
        }
        let header = RtpHeader {
            marker: it.marker != 0,
            payload_type: it.kind,
            sequence: it.number,
            timestamp: it.timestamp,
            ssrc: it.source,
        };
        // SAFETY: the caller passes `len` bytes that do not change during the call.
        let payload = unsafe { bytes_of(data, len) }?;
        let packet = RtpPacket { header, payload, ..RtpPacket::default() };
        socket.send(&packet.encode(), socket.connected()?)
    });
    socket.error.report(sent.map(|()| len as c_long), -1)
}

//= S1.8
/// Receives a packet of RTP. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn udplite_recv_rtp(
    sock: *mut LiteSocket,
    header: *mut CRtpHeader,
    data: *mut c_void,
    len: usize,
    length: *mut usize,
) -> c_long {
    let socket = socket!(sock, -1);
    let received = loop {
        let datagram = match socket.receive() {
            Ok(datagram) => datagram,
            Err(failure) => break Err(failure),
        };
        let Ok(packet) = RtpPacket::parse(&datagram.data) else {
            socket.counts.refused.fetch_add(1, Ordering::Relaxed);
            continue;
        };
        let it = &packet.header;
        let mut rtp = socket.rtp.lock().unwrap_or_else(PoisonError::into_inner);
        let first = || (it.ssrc, ReceptionStatistics::trusted(it.sequence));
        let (source, statistics) = rtp.get_or_insert_with(first);
        if *source == it.ssrc {
            statistics.update(it.sequence);
        }
        drop(rtp);
        if !header.is_null() {
            let header_of = CRtpHeader {
                number: it.sequence,
                kind: it.payload_type,
                marker: it.marker.into(),
                timestamp: it.timestamp,
                source: it.ssrc,
            };
            // SAFETY: the caller passes room for a header.
            unsafe { header.write(header_of) };
        }
        // SAFETY: the caller passes room for that many bytes and for a length, or null.
        break Ok(unsafe {
            put_length(length, packet.payload.len());
            fill(packet.payload, data, len)
        });
    };
    socket.error.report(received, -1)
}

//= S1.8
/// Stores what a socket has done. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn udplite_counts(sock: *const LiteSocket, counts: *mut CCounts) -> c_int {
    let socket = socket!(sock, -1);
    if counts.is_null() {
        let failure = Failure::new(libc::EFAULT, "there is no room for the counts");
        return socket.error.report(Err(failure), -1);
    }
    let of = &socket.counts;
    let rtp = socket.rtp.lock().unwrap_or_else(PoisonError::into_inner);
    let lost = rtp.as_ref().map_or(0, |(_, statistics)| statistics.total_missing());
    let found = CCounts {
        sent: of.sent.load(Ordering::Relaxed),
        sent_bytes: of.sent_bytes.load(Ordering::Relaxed),
        received: of.received.load(Ordering::Relaxed),
        received_bytes: of.received_bytes.load(Ordering::Relaxed),
        refused: of.refused.load(Ordering::Relaxed) + socket.refused(),
        rtp_lost: u64::from(lost),
    };
    // SAFETY: the caller passes room for the counts.
    unsafe { counts.write(found) };
    0
}
