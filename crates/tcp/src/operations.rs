//! Counts of the processing steps of a connection, from which its energy is computed (S2).

/// How often each step of processing was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operations {
    /// Segments taken in.
    pub segments_received: u64,
    /// Segments given out.
    pub segments_sent: u64,
    /// Bytes over which a checksum was computed or checked.
    pub checksum_bytes: u64,
    /// Bytes copied from one place in memory to another.
    pub copied_bytes: u64,
    /// Timestamps compared to refuse old duplicates (step H1 of S2.8).
    pub paws_checks: u64,
    /// Data segments taken by header prediction (step H2).
    pub predicted_data: u64,
    /// Acknowledgments taken by header prediction.
    pub predicted_acks: u64,
    /// Segments that header prediction passed on to full processing (step H3).
    pub mispredicted: u64,
    /// Data segments sent by way of the template header (S2.7).
    pub templates: u64,
    /// Segments whose header was written in full.
    pub headers: u64,
    /// Timestamps written or read.
    pub timestamps: u64,
    /// SACK blocks written or read.
    pub sack_blocks: u64,
    /// SACK blocks that could not be, and were passed over.
    pub sack_refused: u64,
    /// Segments sent that carry nothing but an acknowledgment.
    pub acks_sent: u64,
    /// Segments received that carry nothing but an acknowledgment.
    pub acks_received: u64,
    /// Data segments sent, repeated ones included.
    pub data_sent: u64,
    /// Data segments received, repeated ones included.
    pub data_received: u64,
    /// Data segments sent again.
    pub retransmissions: u64,
    /// Timeouts of the retransmission timer.
    pub timeouts: u64,
    /// Fast retransmits: losses seen by duplicate acknowledgments or SACK.
    pub fast_retransmits: u64,
    /// Segments that the other end reports as received twice (RFC 2883).
    pub duplicates_reported: u64,
    /// Corruption detection options written or checked.
    pub detections: u64,
    /// Damaged segments whose header was usable.
    pub damaged: u64,
    /// Corruption notifications sent.
    pub notifications_sent: u64,
    /// Corruption notifications received and followed.
    pub notifications_received: u64,
    /// Reductions of the congestion window, for whatever reason.
    pub reductions: u64,
    /// Window probes and keepalives sent.
    pub probes: u64,
}

impl Operations {
    /// The share of received segments that header prediction took; 0 before the first.
    #[must_use]
    pub fn prediction_rate(&self) -> f64 {
        let hits = self.predicted_data + self.predicted_acks;
        let all = hits + self.mispredicted;
        if all == 0 { 0.0 } else { hits as f64 / all as f64 }
    }
}
