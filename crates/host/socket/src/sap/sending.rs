//! Messages from the application to the connection.

use std::sync::PoisonError;

use bytes::Bytes;
use windfall_sap::{Message, SapSendError};

use super::SapSocket;
use crate::error::SapError;
use crate::pool::LONG;

impl SapSocket {
    /// Sends a message in the socket's mode; waits while the send buffer is full.
    ///
    /// # Errors
    /// If the message is too long for the path, or the connection has ended.
    pub fn send(&self, data: &[u8]) -> Result<(), SapError> {
        self.check_length(data.len())?;
        self.send_message(&self.message(data))
    }

    /// Rejects a message that is too long for a datagram and for parts, before it is copied.
    ///
    /// # Errors
    /// If a message of `len` bytes is longer than both permit.
    pub fn check_length(&self, len: usize) -> Result<(), SapError> {
        if len <= LONG {
            return Ok(());
        }
        let most = self.max_message();
        if len <= most { Ok(()) } else { Err(SapSendError::TooLong { len, most }.into()) }
    }

    /// Copies the bytes into a message in the mode of the socket or its tolerance.
    #[must_use]
    pub fn message(&self, data: &[u8]) -> Message {
        self.message_of(self.core.socket.pool().copy(data))
    }

    /// Creates a message as [`message`](Self::message) does, without a copy.
    #[must_use]
    pub fn message_of(&self, data: Bytes) -> Message {
        let tolerance = *self.tolerance.lock().unwrap_or_else(PoisonError::into_inner);
        let mode = tolerance.map_or_else(|| self.mode(), |tolerance| tolerance.mode(data.len()));
        Message::new(mode, data)
    }

    /// Sends a message in its own mode and stream; waits while the send buffer is full.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_message(&self, message: &Message) -> Result<(), SapError> {
        match self.try_send(message) {
            Err(SapError::Send(SapSendError::Full)) => {}
            result => return result,
        }
        let result = self.core.wait(self.awaited(), self.deadline(), |state, _| {
            match state.endpoint.send(self.id, message) {
                Err(SapSendError::Full) => None,
                result => Some(result),
            }
        })?;
        result.map_err(|error| self.explain(error))
    }

    /// Sends messages in their order, each in its own mode and stream; waits while the send buffer
    /// is full.
    ///
    /// Those that the window permits go to the operating system together, and wake the peer once:
    /// that takes less time than one by one.
    ///
    /// # Errors
    /// As [`send`](Self::send); the messages before the one at fault were sent.
    pub fn send_messages(&self, messages: &[Message]) -> Result<(), SapError> {
        let mut rest = messages;
        while let Some(first) = rest.first() {
            let sent = match self.try_send_messages(rest)? {
                0 => self.send_message(first).map(|()| 1)?,
                sent => sent,
            };
            rest = &rest[sent..];
        }
        Ok(())
    }

    /// Sends as many of the messages as there is room for, without waiting; returns their number.
    ///
    /// # Errors
    /// As [`send`](Self::send), if it is the first message that cannot be sent.
    pub fn try_send_messages(&self, messages: &[Message]) -> Result<usize, SapError> {
        let mut state = self.core.lock();
        let mut sent = 0;
        let failure = loop {
            let Some(message) = messages.get(sent) else { break None };
            match state.endpoint.send(self.id, message) {
                Ok(()) => sent += 1,
                Err(error) => break Some(error),
            }
        };
        self.core.flush(&mut state);
        drop(state);
        match failure.filter(|error| sent == 0 && *error != SapSendError::Full) {
            Some(error) => Err(self.explain(error)),
            None => Ok(sent),
        }
    }

    /// Sends a message without waiting.
    ///
    /// # Errors
    /// As [`send`](Self::send), and [`SapSendError::Full`] if the send buffer is full.
    pub fn try_send(&self, message: &Message) -> Result<(), SapError> {
        let mut state = self.core.lock();
        let result = state.endpoint.send(self.id, message);
        self.core.flush(&mut state);
        drop(state);
        result.map_err(|error| self.explain(error))
    }

    /// Replaces "not open" by the reason for which the connection ended.
    fn explain(&self, error: SapSendError) -> SapError {
        let state = self.core.lock();
        let closed = state.connections.get(&self.id).and_then(|status| status.closed);
        match closed.filter(|_| error == SapSendError::NotOpen) {
            Some(reason) => reason.into(),
            None => error.into(),
        }
    }
}
