//! Sending and receiving.

use std::ffi::{c_int, c_long, c_void};

use windfall_socket::{Message, Received, SapError};

use crate::failure::{CallResult, Failure};
use crate::memory::{bytes_of, fill, hand_out};
use crate::message::{ArrivedMessage, Info};
use crate::socket::Socket;

/// The bytes of one message in the layout of `sap.h`.
#[repr(C)]
pub struct ByteSlice {
    data: *const c_void,
    len: usize,
}

impl Socket {
    /// Copies data into a message in the mode and the stream of the socket.
    fn message(&self, data: &[u8]) -> CallResult<Message> {
        let open = self.connected()?;
        open.check_length(data.len())?;
        Ok(Message { stream: self.settings().stream, ..open.message(data) })
    }

    fn send(&self, message: &Message) -> CallResult<()> {
        let open = self.connected()?;
        let nonblocking = self.settings().nonblocking;
        Ok(if nonblocking { open.try_send(message) } else { open.send_message(message) }?)
    }

    /// Sends messages; returns how many, if not all could be sent without waiting.
    fn send_all(&self, messages: &[Message]) -> CallResult<usize> {
        let open = self.connected()?;
        if !self.settings().nonblocking {
            open.send_messages(messages)?;
            return Ok(messages.len());
        }
        match open.try_send_messages(messages)? {
            0 if !messages.is_empty() => Err(SapError::from(windfall_socket::SapSendError::Full))?,
            sent => Ok(sent),
        }
    }

    /// Receives the next message; `None` at the end.
    fn receive(&self) -> CallResult<Option<Received>> {
        let open = self.connected()?;
        let nonblocking = self.settings().nonblocking;
        let received = if nonblocking { open.try_recv() } else { open.recv() }?;
        if received.is_none() {
            self.settings().finished = true;
        }
        Ok(received)
    }
}

/// Stores the properties of a message.
///
/// # Safety
/// `info` is null or leads to a structure that may be written.
unsafe fn inform(info: *mut Info, message: &Received) {
    // SAFETY: as the caller promises.
    if let Some(info) = unsafe { info.as_mut() } {
        *info = Info::of(message);
    }
}

/// Sends one message. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_send(sock: *mut Socket, data: *const c_void, len: usize) -> c_long {
    let socket = socket!(sock, -1);
    // SAFETY: the caller passes `len` bytes that do not change during the call.
    let data = unsafe { bytes_of(data, len) };
    let sent = data.and_then(|data| socket.send(&socket.message(data)?));
    socket.error.report(sent.map(|()| len as c_long), -1)
}

/// Sends several messages. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_send_messages(
    sock: *mut Socket,
    messages: *const ByteSlice,
    count: usize,
) -> c_long {
    let socket = socket!(sock, -1);
    if messages.is_null() && count > 0 {
        let failure = Failure::new(libc::EFAULT, "there are no messages");
        return socket.error.report(Err(failure), -1);
    }
    let copies = (0..count).map(|index| {
        // SAFETY: the caller passes `count` descriptions, each of bytes that do not change
        // during the call.
        let data = unsafe {
            let ByteSlice { data, len } = messages.add(index).read();
            bytes_of(data, len)
        };
        socket.message(data?)
    });
    let copies: CallResult<Vec<Message>> = copies.collect();
    let sent = copies.and_then(|messages| socket.send_all(&messages));
    socket.error.report(sent.map(|sent| sent as c_long), -1)
}

/// Receives one message. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_recv(
    sock: *mut Socket,
    data: *mut c_void,
    len: usize,
    info: *mut Info,
) -> c_long {
    let socket = socket!(sock, -1);
    let received = socket.receive().map(|received| {
        let Some(message) = received else { return 0 };
        // SAFETY: the caller passes a buffer of `len` bytes and a structure, or null.
        unsafe {
            inform(info, &message);
            fill(&message.data, data, len)
        }
    });
    socket.error.report(received, -1)
}

/// Receives one message without a copy. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_recv_message(
    sock: *mut Socket,
    info: *mut Info,
) -> *mut ArrivedMessage {
    let nothing = std::ptr::null_mut();
    let socket = socket!(sock, nothing);
    let received = socket.receive().map(|received| {
        let Some(message) = received else { return nothing };
        // SAFETY: the caller passes a structure, or null.
        unsafe { inform(info, &message) };
        hand_out(ArrivedMessage(message))
    });
    socket.error.report(received, nothing)
}

/// Returns whether the peer has finished and all is read. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_is_finished(sock: *const Socket) -> c_int {
    let socket = socket!(sock, 1);
    socket.settings().finished.into()
}

/// Waits until everything sent is acknowledged. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_flush(sock: *mut Socket) -> c_int {
    let socket = socket!(sock, -1);
    let flushed = socket.connected().and_then(|open| Ok(open.flush()?));
    socket.error.report(flushed.map(|()| 0), -1)
}

//= S0.56
/// Requests a range of a message again. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_repair(
    sock: *mut Socket,
    number: u32,
    start: usize,
    end: usize,
) -> c_int {
    let socket = socket!(sock, -1);
    let range = start..end;
    let asked = socket.connected().and_then(|open| {
        if start > end {
            let text = format!("a range cannot end at {end} before its start at {start}");
            return Err(Failure::new(libc::EINVAL, text));
        }
        let stream = socket.settings().stream;
        Ok(open.repair_number(stream, number, std::slice::from_ref(&range))?)
    });
    socket.error.report(asked.map(|()| 0), -1)
}
