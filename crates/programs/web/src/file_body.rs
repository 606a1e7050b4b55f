//! The bytes of a file as the body of a reply.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use crate::blocking::blocking;
use bytes::{Bytes, BytesMut};
use hyper::body::{Body, Frame, SizeHint};
use rustix::io::{Errno, ReadWriteFlags, preadv2};

/// Bytes that are read at once: few enough to stay in a processor's cache until they are sent.
const CHUNK: u64 = 256 << 10;

/// A range of a file, read as it is sent.
pub(crate) struct FileBody {
    file: Arc<File>,
    at: u64,
    end: u64,
    buffer: BytesMut,
    reading: Option<Pin<Box<dyn Future<Output = io::Result<BytesMut>> + Send + Sync>>>,
}

impl FileBody {
    pub(crate) fn new(file: Arc<File>, range: core::ops::Range<u64>) -> Self {
        Self { file, at: range.start, end: range.end, buffer: BytesMut::new(), reading: None }
    }

    /// Takes what was read; a file that has become shorter ends the body early, and so the
    /// connection.
    fn take(&mut self, chunk: BytesMut) -> io::Result<Frame<Bytes>> {
        if chunk.is_empty() {
            self.at = self.end;
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.at += chunk.len() as u64;
        self.buffer = chunk;
        let len = self.buffer.len();
        Ok(Frame::data(self.buffer.split_to(len).freeze()))
    }
}

/// Reads what is in memory already; other errors than success are left to a read that waits.
fn read_cached(file: &File, at: u64, buffer: &mut BytesMut) -> Option<usize> {
    let into = &mut [IoSliceMut::new(&mut buffer[..])];
    let result = rustix::io::retry_on_intr(|| preadv2(file, into, at, ReadWriteFlags::NOWAIT));
    match result {
        Ok(0) | Err(Errno::AGAIN | _) => None,
        Ok(read) => Some(read),
    }
}

impl Body for FileBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if let Some(reading) = &mut self.reading {
            let chunk = ready!(reading.as_mut().poll(context));
            self.reading = None;
            return Poll::Ready(Some(chunk.and_then(|chunk| self.take(chunk))));
        }
        let length = (self.end - self.at).min(CHUNK) as usize;
        if length == 0 {
            return Poll::Ready(None);
        }
        let mut buffer = core::mem::take(&mut self.buffer);
        // The memory of the chunk before, if it was sent.
        buffer.reserve(length);
        buffer.resize(length, 0);
        if let Some(read) = read_cached(&self.file, self.at, &mut buffer) {
            buffer.truncate(read);
            return Poll::Ready(Some(self.take(buffer)));
        }
        let file = Arc::clone(&self.file);
        let at = self.at;
        self.reading = Some(Box::pin(async move {
            let reading = blocking(move || {
                let read = file.read_at(&mut buffer, at)?;
                buffer.truncate(read);
                Ok(buffer)
            });
            reading.await?
        }));
        self.poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.at == self.end
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.end - self.at)
    }
}
