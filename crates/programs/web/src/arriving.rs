//! A precise body that is read as it arrives over SAP.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::sync::mpsc;

use crate::fetch_error::{BODY, FetchError};
use crate::memory::MemorySpent;

/// The next bytes, or why there are none.
pub(crate) type Chunk = Result<Bytes, MemorySpent>;

/// The rest of a body that broke off, over TCP.
#[derive(Debug)]
struct Rest {
    body: Incoming,
    /// The bytes before the rest, which a server without ranges sends too.
    skipped: usize,
}

/// A precise body that is read as it arrives, so that it is never in memory as a whole.
#[derive(Debug)]
pub struct ArrivingBody {
    length: usize,
    /// The number of bytes that were read.
    taken: usize,
    /// The number of bytes that were asked for once more.
    repaired: u64,
    /// There was no memory for what arrived over SAP.
    lacks_memory: bool,
    chunks: mpsc::UnboundedReceiver<Chunk>,
    /// The rest, which comes over TCP, once the transfer has broken off.
    rest: Option<Rest>,
}

impl ArrivingBody {
    /// Makes a body of this length, and the way for its bytes.
    pub(crate) fn new(length: usize) -> (mpsc::UnboundedSender<Chunk>, Self) {
        let (sender, chunks) = mpsc::unbounded_channel();
        let body = Self { length, taken: 0, repaired: 0, lacks_memory: false, chunks, rest: None };
        (sender, body)
    }

    /// Returns the length of the whole body.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }

    /// Returns the number of bytes that have been read.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.taken
    }

    /// Returns the number of bytes that came over TCP in place of a transfer that broke off.
    #[must_use]
    pub fn repaired(&self) -> u64 {
        self.repaired
    }

    /// Tells whether the transfer broke off because there was no memory for what arrived.
    #[must_use]
    pub fn lacks_memory(&self) -> bool {
        self.lacks_memory
    }

    /// Goes on with what a reply over TCP brings, but for its first `skipped` bytes.
    pub(crate) fn go_on_with(&mut self, body: Incoming, skipped: usize) {
        self.rest = Some(Rest { body, skipped });
    }

    /// Returns the next bytes; `None` at the end.
    ///
    /// # Errors
    /// If the transfer broke off, or what came over TCP in its place.
    pub async fn next(&mut self) -> Result<Option<Bytes>, FetchError> {
        if self.taken == self.length {
            return Ok(None);
        }
        let chunk = match &mut self.rest {
            None => match self.chunks.recv().await {
                Some(Err(_)) => {
                    self.lacks_memory = true;
                    None
                }
                chunk => chunk.transpose()?,
            },
            Some(rest) => {
                let left = self.length - self.taken;
                let chunk = rest.next(left, BODY).await;
                self.repaired += chunk.as_ref().map_or(0, |chunk| chunk.len() as u64);
                chunk
            }
        };
        let chunk = chunk.ok_or(FetchError::BrokeOff)?;
        self.taken += chunk.len();
        Ok(Some(chunk))
    }
}

impl Rest {
    /// Returns the next bytes, at most `left`; `None` if they do not come within this time.
    async fn next(&mut self, left: usize, within: Duration) -> Option<Bytes> {
        loop {
            let frame = tokio::time::timeout(within, self.body.frame()).await.ok()??.ok()?;
            let Ok(mut data) = frame.into_data() else { continue };
            let skipped = self.skipped.min(data.len());
            self.skipped -= skipped;
            let _ = data.split_to(skipped);
            data.truncate(left);
            if !data.is_empty() {
                return Some(data);
            }
        }
    }
}
