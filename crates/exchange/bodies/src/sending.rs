//! Sends a body over SAP.

use core::ops::Range;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use windfall_media::exact_ranges;
use windfall_socket::{Duration, Message, Mode, SapError, SapSocket};

use crate::messages::{
    BodyPlan, Control, EXACT_HEADER, End, TransferToken, control_stream, exact_header,
    ranges_of_plan,
};

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

/// The bytes of a body, or of a part of it.
#[derive(Debug)]
pub enum Content {
    /// Bytes in memory.
    Memory(Bytes),
    /// A file of this length, which is read as it is sent.
    File(Arc<File>, usize),
}

impl Content {
    /// The first bytes of a file, read now or as they are sent.
    ///
    /// # Errors
    /// If it cannot be read, or has become shorter.
    pub fn of_file(file: Arc<File>, length: usize, as_it_is_sent: bool) -> io::Result<Self> {
        if as_it_is_sent {
            return Ok(Self::File(file, length));
        }
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, 0)?;
        Ok(Self::Memory(bytes.into()))
    }

    /// Returns the number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Memory(bytes) => bytes.len(),
            Self::File(_, length) => *length,
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
            Self::File(file, _) => file.read_exact_at(buffer, at as u64)?,
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
}

/// Sends the first bytes of a file as the transfer of this number and token; the socket stays open.
/// A file that cannot be read is refused.
///
/// # Errors
/// If the connection ends before all is sent.
pub fn send_file(
    socket: &SapSocket,
    (transfer, token): (u16, TransferToken),
    (file, length): (File, usize),
    is_precise: bool,
) -> Result<(), SapError> {
    match Content::of_file(Arc::new(file), length, is_precise) {
        Ok(content) => send(socket, transfer, &Parcel { token, content, is_precise }),
        Err(_) => refuse(socket, transfer),
    }
}

/// Sends a parcel as the transfer of this number; the socket stays open.
///
/// # Errors
/// If the connection ends before all is sent.
pub fn send(socket: &SapSocket, transfer: u16, parcel: &Parcel) -> Result<(), SapError> {
    let longest = socket.max_message();
    let Parcel { token, content, is_precise } = parcel;
    let whole = 0..content.len() as u32;
    let (bytes, exact) = match content {
        Content::Memory(bytes) if !is_precise => {
            let exact = exact_ranges(bytes, ranges_of_plan(longest.min(PIECE)));
            let narrow = |range: Range<usize>| range.start as u32..range.end as u32;
            (bytes.clone(), exact.into_iter().map(narrow).collect())
        }
        _ => (Bytes::new(), Vec::from_iter(Some(whole.clone()).filter(|all| !all.is_empty()))),
    };
    if !is_precise {
        socket.settle_path(SETTLE);
    }
    let piece = socket.max_whole().clamp(1, PIECE) as u32;
    let plan = BodyPlan { token: *token, piece, length: whole.end, exact };
    send_control(socket, transfer, &Control::Plan(plan.clone()))?;
    let ranges: &[Range<u32>] = if *is_precise { &[] } else { &plan.exact };
    let gathered = Content::Memory(joined(&bytes, ranges));
    let exact = if *is_precise { content } else { &gathered };
    if !send_exact(socket, transfer, exact, longest)? {
        return refuse(socket, transfer);
    }
    let approximate = if *is_precise { Bytes::new() } else { joined(&bytes, &plan.gaps()) };
    let mode = Mode::Approximate { protected: 0 };
    let pieces = cut(&approximate, piece as usize);
    let messages: Vec<_> =
        pieces.map(|data| Message { stream: transfer, mode: mode.clone(), data }).collect();
    for batch in messages.chunks(BATCH) {
        socket.send_messages(batch)?;
    }
    // The receiver need not wait for what it lacks when the end has come.
    socket.wait_until_sent()?;
    send_control(socket, transfer, &Control::End(End { is_last: true }))
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

/// Sends exact bytes; returns whether all could be read.
fn send_exact(
    socket: &SapSocket,
    transfer: u16,
    exact: &Content,
    longest: usize,
) -> Result<bool, SapError> {
    let (buffers, header) = (Buffers::default(), exact_header(transfer));
    let (mut at, mut room) = (0, longest.min(FIRST_EXACT) - EXACT_HEADER);
    while at < exact.len() {
        let end = (at + room).min(exact.len());
        let mut buffer = buffers.take();
        buffer[..EXACT_HEADER].copy_from_slice(&header);
        let length = EXACT_HEADER + end - at;
        if exact.read(at, &mut buffer[EXACT_HEADER..length]).is_err() {
            return Ok(false);
        }
        send_precise(socket, transfer, buffers.lend(buffer).slice(..length))?;
        if at == 0 && end < exact.len() {
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
