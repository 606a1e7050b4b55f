//! Sends a body over SAP.

use core::ops::Range;

use bytes::{Bytes, BytesMut};
use windfall_media::exact_ranges;
use windfall_socket::{Duration, Message, Mode, SapError, SapSocket};

use crate::control::{CONTROL_STREAM, Control, EXACT_HEADER, Plan, TransferToken, ranges_of_plan};

/// The longest approximate message. They are as long as the path's datagrams, so that a lost one
/// keeps no other waiting; the paper's are 1 KB (S0.42).
const PIECE: usize = 32 << 10;
/// The longest time for which a body waits until the size of the path is known.
const SETTLE: Duration = Duration::from_millis(50);
/// The longest precise message; the first one is shorter, since messages are cut for the path when
/// they are queued, and its size is not known then.
const EXACT: usize = 256 << 10;
const FIRST_EXACT: usize = 16 << 10;
/// Messages that are passed to the socket at once.
const BATCH: usize = 256;

/// A body on its way to a client.
pub(crate) struct Parcel {
    pub(crate) token: TransferToken,
    pub(crate) bytes: Bytes,
    pub(crate) is_precise: bool,
}

/// Sends a parcel as the transfer of this number; the socket stays open.
pub(crate) fn send(socket: &SapSocket, transfer: u16, parcel: &Parcel) -> Result<(), SapError> {
    let longest = socket.max_message();
    let length = parcel.bytes.len() as u32;
    let all = Some(0..parcel.bytes.len()).filter(|all| parcel.is_precise && !all.is_empty());
    let exact = match all {
        Some(all) => core::iter::once(all).collect(),
        None => exact_ranges(&parcel.bytes, ranges_of_plan(longest.min(PIECE))),
    };
    let exact: Vec<_> =
        exact.into_iter().map(|range| range.start as u32..range.end as u32).collect();
    if !parcel.is_precise {
        socket.settle_path(SETTLE);
    }
    let piece = socket.max_whole().clamp(1, PIECE) as u32;
    let plan = Plan { token: parcel.token, piece, length, exact };
    let control = |message: &Control| Message {
        stream: CONTROL_STREAM,
        mode: Mode::Precise,
        data: message.encode(transfer),
    };
    socket.send_message(&control(&Control::Plan(plan.clone())))?;
    let mut exact = joined(&parcel.bytes, &plan.exact);
    let first = exact.split_to((longest.min(FIRST_EXACT) - EXACT_HEADER).min(exact.len()));
    if !first.is_empty() {
        socket.send_message(&control(&Control::Exact(first)))?;
    }
    if !exact.is_empty() {
        socket.settle_path(SETTLE);
    }
    for part in cut(&exact, longest.min(EXACT) - EXACT_HEADER) {
        socket.send_message(&control(&Control::Exact(part)))?;
    }
    let approximate = joined(&parcel.bytes, &plan.gaps());
    let mode = Mode::Approximate { protected: 0 };
    let pieces = cut(&approximate, piece as usize);
    let messages: Vec<_> =
        pieces.map(|data| Message { stream: transfer, mode: mode.clone(), data }).collect();
    for batch in messages.chunks(BATCH) {
        socket.send_messages(batch)?;
    }
    socket.send_message(&control(&Control::End))
}

/// Returns the bytes of the ranges, without a copy where there is only one.
fn joined(bytes: &Bytes, ranges: &[Range<u32>]) -> Bytes {
    let wide = |range: &Range<u32>| range.start as usize..range.end as usize;
    match ranges {
        [] => Bytes::new(),
        [one] => bytes.slice(wide(one)),
        several => {
            let mut joined = BytesMut::new();
            several.iter().for_each(|range| joined.extend_from_slice(&bytes[wide(range)]));
            joined.freeze()
        }
    }
}

fn cut(bytes: &Bytes, length: usize) -> impl Iterator<Item = Bytes> + '_ {
    let starts = (0..bytes.len()).step_by(length);
    starts.map(move |start| bytes.slice(start..(start + length).min(bytes.len())))
}
