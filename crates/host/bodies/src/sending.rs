//! Sends a body over SAP.

use core::ops::Range;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use windfall_media::{exact_ranges, join_closest};
use windfall_socket::{Duration, Message, Mode, SapError, SapSocket};

use crate::messages::{
    BodyPlan, Control, EXACT_HEADER, TransferToken, bytes_of_plan, control_stream, exact_header,
    ranges_of_plan,
};

/// The longest approximate message. They are as long as the path's datagrams, so that a lost one
/// keeps no other waiting; the paper's are 1 KB (S0.42).
const PIECE: usize = 32 << 10;
/// The longest time for which a body waits until the size of the path is known.
const SETTLE: Duration = Duration::from_millis(50);
/// The longest end of the approximate bytes that travels in the plan in place of a piece of its
/// own, if there is room: a short datagram keeps a radio busy for about as long.
const SHORT: u32 = 512;
/// The longest precise message; the first one is shorter, since messages are cut for the path when
/// they are queued, and its size is not known then.
const EXACT: usize = 256 << 10;
const FIRST_EXACT: usize = 16 << 10;
/// The time for which a lost piece is sent again: a user waits for the picture. What is missing
/// afterwards counts as damage. While nothing arrives damaged, it is sent again
/// until nothing of the connection arrives for a longer time.
const LATENESS: Duration = Duration::from_secs(2);
/// The time without any progress after which both ends give up what full queues delay.
pub const STALL: Duration = Duration::from_secs(10);
/// Messages that are passed to the socket at once.
const BATCH: usize = 256;

/// Returns this number of zeros.
///
/// # Errors
/// If the system has no memory for them.
pub fn zeros(count: usize) -> io::Result<Vec<u8>> {
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(count)?;
    zeros.resize(count, 0);
    Ok(zeros)
}

/// The bytes of a body, or of a part of it.
#[derive(Debug)]
pub enum Content {
    /// Bytes in memory.
    Memory(Bytes),
    /// A part of a file, of this length and from this position on, which is read as it is sent.
    File(Arc<File>, u64, usize),
}

impl Content {
    /// A range of the bytes of a file, read now or as they are sent.
    ///
    /// # Errors
    /// If it cannot be read, has become shorter, or there is no memory for it.
    pub fn of_file(file: Arc<File>, range: Range<u64>, as_it_is_sent: bool) -> io::Result<Self> {
        let length = (range.end - range.start) as usize;
        if as_it_is_sent {
            return Ok(Self::File(file, range.start, length));
        }
        let mut bytes = zeros(length)?;
        file.read_exact_at(&mut bytes, range.start)?;
        Ok(Self::Memory(bytes.into()))
    }

    /// Returns the number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Memory(bytes) => bytes.len(),
            Self::File(_, _, length) => *length,
        }
    }

    /// Tells whether there is no byte.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads bytes from a position on; a file that has become shorter is an error.
    fn read(&self, at: usize, buffer: &mut [u8]) -> io::Result<()> {
        match self {
            Self::Memory(bytes) => buffer.copy_from_slice(&bytes[at..at + buffer.len()]),
            Self::File(file, start, _) => file.read_exact_at(buffer, start + at as u64)?,
        }
        Ok(())
    }
}

/// The ranges of a body that are exact, joined without a copy of them all.
struct ExactBytes<'a> {
    content: &'a Content,
    /// The position of the first byte of each range among all of them, and the range.
    ranges: Vec<(usize, Range<usize>)>,
    total: usize,
}

impl<'a> ExactBytes<'a> {
    fn new(content: &'a Content, ranges: &[Range<u32>]) -> Self {
        let mut exact = Self { content, ranges: Vec::with_capacity(ranges.len()), total: 0 };
        for range in ranges.iter().map(wide) {
            exact.ranges.push((exact.total, range.clone()));
            exact.total += range.len();
        }
        exact
    }

    /// Reads bytes from a position on; there must be as many.
    fn read(&self, at: usize, buffer: &mut [u8]) -> io::Result<()> {
        let first = self.ranges.partition_point(|(start, range)| start + range.len() <= at);
        let mut done = 0;
        for (start, range) in &self.ranges[first..] {
            let from = range.start + (at + done - start);
            let count = (range.end - from).min(buffer.len() - done);
            self.content.read(from, &mut buffer[done..done + count])?;
            done += count;
            if done == buffer.len() {
                break;
            }
        }
        Ok(())
    }
}

/// A body on its way to a client.
#[derive(Debug)]
pub struct Parcel {
    /// The name that the client knows it by.
    pub token: TransferToken,
    /// In memory unless it is precise.
    pub content: Content,
    /// All of it travels as precise messages.
    pub is_precise: bool,
    /// The exact ranges of a part of a file, whose own bytes do not tell its structure; unset: the
    /// bytes tell.
    pub exact: Option<Vec<Range<usize>>>,
}

/// A range of a file.
#[derive(Debug)]
pub struct FilePart {
    /// The open file.
    pub file: File,
    /// The offsets of the bytes in it.
    pub range: Range<u64>,
}

/// Sends a range of a file as the transfer of this number and token; the socket stays open. A file
/// that cannot be read is refused. A range that does not begin with the file is precise: its own
/// bytes do not tell what of it must be exact.
///
/// # Errors
/// If the connection ends before all is sent.
pub fn send_file(
    socket: &SapSocket,
    transfer: u16,
    token: TransferToken,
    part: FilePart,
    is_precise: bool,
) -> Result<(), SapError> {
    let FilePart { file, range } = part;
    let is_precise = is_precise || range.start > 0;
    match Content::of_file(Arc::new(file), range, is_precise) {
        Ok(content) => send(socket, transfer, &Parcel { token, content, is_precise, exact: None }),
        Err(_) => refuse(socket, transfer),
    }
}

/// Sends a parcel as the transfer of this number; the socket stays open. An approximate one ends
/// the repair of messages on its connection.
///
/// # Errors
/// If the connection ends before all is sent.
pub fn send(socket: &SapSocket, transfer: u16, parcel: &Parcel) -> Result<(), SapError> {
    let Parcel { content, is_precise, .. } = parcel;
    if !is_precise {
        socket.settle_path(SETTLE);
        socket.set_lateness(LATENESS);
        socket.set_patience_with_queues(STALL);
        // Clients ask for repairs by range. A message that is kept would keep its whole body.
        socket.set_repair_memory(0);
    }
    let datagram = socket.max_whole().clamp(1, PIECE);
    let most = ranges_of_plan(socket.max_message().min(PIECE));
    let (plan, bytes) = plan_of(parcel, datagram, most);
    let exact = ExactBytes::new(content, &plan.exact);
    // What fits into the datagram of the plan needs no other.
    let first = bytes_of_plan(datagram, plan.exact.len()).min(exact.total);
    let mut begin = vec![0; first];
    if exact.read(0, &mut begin).is_err() {
        return refuse(socket, transfer);
    }
    send_control(socket, transfer, &Control::Plan(plan.clone(), begin.into()))?;
    if !send_exact(socket, transfer, &exact, first)? {
        return refuse(socket, transfer);
    }
    let bytes = bytes.unwrap_or_default();
    send_pieces(socket, transfer, pieces(&bytes, &plan.gaps(), plan.piece))
}

/// Returns the description of a body, with at most `most` exact ranges, for a path with datagrams
/// of this length; and its bytes, unless it is exact as a whole.
fn plan_of(parcel: &Parcel, datagram: usize, most: usize) -> (BodyPlan, Option<Bytes>) {
    let token = parcel.token;
    let piece = datagram as u32;
    let length = parcel.content.len() as u32;
    let whole = Vec::from_iter(Some(0..length).filter(|all| !all.is_empty()));
    match &parcel.content {
        Content::Memory(bytes) if !parcel.is_precise => {
            let exact = match &parcel.exact {
                Some(known) => join_closest(known.clone(), most),
                None => exact_ranges(bytes, most),
            };
            let exact =
                exact.into_iter().map(|range| range.start as u32..range.end as u32).collect();
            let mut plan = BodyPlan { token, piece, length, exact };
            shorten(&mut plan, datagram);
            (plan, Some(bytes.clone()))
        }
        _ => (BodyPlan { token, piece, length, exact: whole }, None),
    }
}

/// Makes the end of the approximate bytes exact that would be a short piece, if the datagram of the
/// plan has room for it.
fn shorten(plan: &mut BodyPlan, datagram: usize) {
    let gaps = plan.gaps();
    let Some(last) = gaps.last() else { return };
    let approximate: u32 = gaps.iter().map(|gap| gap.end - gap.start).sum();
    let end = approximate % plan.piece;
    let exact = (plan.length - approximate + end) as usize;
    // There may be a range more than before.
    let room = bytes_of_plan(datagram, plan.exact.len() + 1);
    if end == 0 || end > SHORT.min(last.end - last.start) || exact > room {
        return;
    }
    let more = last.end - end..last.end;
    let at = plan.exact.partition_point(|range| range.start < more.start);
    match plan.exact.get_mut(at).filter(|next| next.start == more.end) {
        Some(next) => next.start = more.start,
        None => plan.exact.insert(at, more.clone()),
    }
    if at > 0 && plan.exact[at - 1].end == more.start {
        plan.exact[at - 1].end = plan.exact.remove(at).end;
    }
}

/// Sends approximate bytes, cut into pieces, and the end unless all pieces have arrived, which says
/// the same.
fn send_pieces(
    socket: &SapSocket,
    transfer: u16,
    pieces: impl Iterator<Item = Bytes>,
) -> Result<(), SapError> {
    let mode = Mode::Approximate { protected: 0 };
    let mut messages = pieces.map(|data| Message { stream: transfer, mode: mode.clone(), data });
    let mut is_empty = true;
    loop {
        let batch: Vec<_> = messages.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            break;
        }
        socket.send_messages(&batch)?;
        is_empty = false;
    }
    if is_empty {
        return Ok(());
    }
    socket.wait_until_sent()?;
    // Without reports, as in the paper profile, the end follows the last piece at once.
    if socket.is_reported() && socket.wait_until_settled(transfer)? {
        return Ok(());
    }
    // The receiver need not wait for what it lacks when the end has come.
    send_control(socket, transfer, &Control::End)
}

/// Tells the client that there is nothing of a transfer, or nothing more.
///
/// # Errors
/// If the connection has ended.
pub fn refuse(socket: &SapSocket, transfer: u16) -> Result<(), SapError> {
    send_control(socket, transfer, &Control::Unknown)
}

fn send_control(socket: &SapSocket, transfer: u16, message: &Control) -> Result<(), SapError> {
    send_precise(socket, transfer, message.encode(transfer))
}

fn send_precise(socket: &SapSocket, transfer: u16, data: Bytes) -> Result<(), SapError> {
    let stream = control_stream(transfer);
    socket.send_message(&Message { stream, mode: Mode::Precise, data })
}

/// Sends exact bytes from the position `first` on; returns whether all could be read.
fn send_exact(
    socket: &SapSocket,
    transfer: u16,
    exact: &ExactBytes<'_>,
    first: usize,
) -> Result<bool, SapError> {
    let buffers = Buffers::default();
    let header = exact_header(transfer);
    let longest = socket.max_message();
    let mut at = first;
    let mut room = longest.min(FIRST_EXACT) - EXACT_HEADER;
    while at < exact.total {
        let end = (at + room).min(exact.total);
        let mut buffer = buffers.take();
        buffer[..EXACT_HEADER].copy_from_slice(&header);
        let length = EXACT_HEADER + end - at;
        if exact.read(at, &mut buffer[EXACT_HEADER..length]).is_err() {
            return Ok(false);
        }
        send_precise(socket, transfer, buffers.lend(buffer).slice(..length))?;
        if at == first && end < exact.total {
            socket.settle_path(SETTLE);
        }
        // A message that is one long datagram is put together by neither end.
        let whole = Some(socket.max_whole()).filter(|whole| *whole >= PIECE);
        (at, room) = (end, longest.min(whole.unwrap_or(EXACT)).min(EXACT) - EXACT_HEADER);
    }
    Ok(true)
}

/// Buffers for messages, which are used again: fresh pages cost more than copying the bytes.
#[derive(Clone, Default)]
struct Buffers(Arc<Mutex<Vec<Vec<u8>>>>);

impl Buffers {
    fn free(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a buffer with unspecified contents.
    fn take(&self) -> Vec<u8> {
        self.free().pop().unwrap_or_else(|| vec![0; EXACT])
    }

    /// Makes a buffer shared bytes; it returns when they are dropped.
    fn lend(&self, buffer: Vec<u8>) -> Bytes {
        Bytes::from_owner(Loan { buffer, home: self.clone() })
    }
}

/// A buffer in use.
struct Loan {
    buffer: Vec<u8>,
    home: Buffers,
}

impl AsRef<[u8]> for Loan {
    fn as_ref(&self) -> &[u8] {
        &self.buffer
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        self.home.free().push(core::mem::take(&mut self.buffer));
    }
}

/// Returns the bytes of the ranges, without a copy where there is only one.
fn joined(bytes: &Bytes, ranges: &[Range<u32>]) -> Bytes {
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

/// Returns a range of offsets in the width of this machine.
fn wide(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}

/// Cuts the bytes of the ranges, joined, into pieces of this length; only those that lie in several
/// ranges are copied.
fn pieces<'a>(
    bytes: &'a Bytes,
    ranges: &'a [Range<u32>],
    length: u32,
) -> impl Iterator<Item = Bytes> + 'a {
    let mut next = 0;
    let mut at = ranges.first().map_or(0, |range| range.start);
    core::iter::from_fn(move || {
        let mut parts = Vec::new();
        let mut left = length;
        while left > 0
            && let Some(range) = ranges.get(next)
        {
            let end = range.end.min(at.saturating_add(left));
            parts.push(at..end);
            left -= end - at;
            at = end;
            if at == range.end {
                next += 1;
                at = ranges.get(next).map_or(0, |range| range.start);
            }
        }
        Some(joined(bytes, &parts)).filter(|piece| !piece.is_empty())
    })
}

#[cfg(test)]
mod tests;
