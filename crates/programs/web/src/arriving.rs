//! A precise body that is read as it arrives over SAP.

use bytes::Bytes;
use tokio::sync::mpsc;

/// A precise body that is read as it arrives, so that it is never in memory as a whole.
#[derive(Debug)]
pub struct ArrivingBody {
    length: usize,
    /// The number of bytes that were read.
    taken: usize,
    /// The number of bytes that were asked for once more.
    repaired: u64,
    chunks: mpsc::UnboundedReceiver<Bytes>,
}

impl ArrivingBody {
    /// Makes a body of this length, and the way for its bytes.
    pub(crate) fn new(length: usize) -> (mpsc::UnboundedSender<Bytes>, Self) {
        let (sender, chunks) = mpsc::unbounded_channel();
        (sender, Self { length, taken: 0, repaired: 0, chunks })
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

    /// Notes that the last bytes came otherwise.
    pub(crate) fn note_repaired(&mut self, length: usize) {
        self.taken += length;
        self.repaired += length as u64;
    }

    /// Returns the next bytes; `None` at the end, and where the transfer broke off, which
    /// [`taken`](Self::taken) tells apart.
    pub async fn next(&mut self) -> Option<Bytes> {
        let chunk = self.chunks.recv().await?;
        self.taken += chunk.len();
        Some(chunk)
    }
}
