//! Counts of the processing steps of a connection, from which its energy is computed (S2).

use core::ops::AddAssign;

/// Defines the counters and the operations on all of them, so that none is left out.
macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The number of times that each step of processing was taken.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize))]
        pub struct Operations {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Operations {
            /// Names and counts, in the order of processing.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name)),*].into_iter()
            }

            /// The counts since `earlier`, those of the same connections at a moment before.
            #[must_use]
            pub fn since(&self, earlier: &Self) -> Self {
                Self { $($name: self.$name.saturating_sub(earlier.$name),)* }
            }
        }

        impl AddAssign for Operations {
            fn add_assign(&mut self, other: Self) {
                $(self.$name += other.$name;)*
            }
        }
    };
}

operations! {
    /// Segments taken in.
    segments_received,
    /// Segments given out.
    segments_sent,
    /// Lookups of the connection that a segment is for (S2.14).
    lookups,
    /// Addresses and ports compared in them.
    keys_compared,
    /// Bytes over which a checksum was computed or checked.
    checksum_bytes,
    /// Bytes copied from one place in memory to another.
    copied_bytes,
    /// Timestamps compared to refuse old duplicates (step H1 of S2.8).
    paws_checks,
    /// Data segments taken by header prediction (step H2).
    predicted_data,
    /// Acknowledgments taken by header prediction.
    predicted_acks,
    /// Segments that header prediction passed on to full processing (step H3).
    mispredicted,
    /// Data segments sent by way of the template header (S2.7).
    templates,
    /// Segments whose header was written in full.
    headers,
    /// Timestamps written or read.
    timestamps,
    /// SACK blocks written or read.
    sack_blocks,
    /// SACK blocks that were refused as impossible.
    sack_refused,
    /// Segments sent that carry nothing but an acknowledgment.
    acks_sent,
    /// Segments received that carry nothing but an acknowledgment.
    acks_received,
    /// Data segments sent, retransmissions included.
    data_sent,
    /// Data segments received, retransmissions included.
    data_received,
    /// Data segments retransmitted.
    retransmissions,
    /// Timeouts of the retransmission timer.
    timeouts,
    /// Of these, spurious ones whose reduction was undone (RFC 5682, 3708, 4015).
    spurious_timeouts,
    /// Probes of the tail (RFC 8985).
    tail_probes,
    /// Fast retransmits: losses seen by duplicate acknowledgments or SACK.
    fast_retransmits,
    /// Of these, spurious ones whose reduction was undone (RFC 3708, 4015).
    spurious_recoveries,
    /// Segments that the peer reports as received twice (RFC 2883).
    duplicates_reported,
    /// Corruption detection options written or checked.
    detections,
    /// Damaged segments whose header was usable.
    damaged,
    /// Corruption notifications sent.
    notifications_sent,
    /// Corruption notifications received and followed.
    notifications_received,
    /// Notifications that showed that the peer names segments in another mode than this end's.
    foreign_notifications,
    /// Reductions of the congestion window, for any reason, that were not undone.
    reductions,
    /// Window probes and keepalives sent.
    probes,
}

impl Operations {
    /// Returns the share that header prediction took of the segments that it was tried on; 0 before
    /// the first.
    #[must_use]
    pub fn prediction_rate(&self) -> f64 {
        let hits = self.predicted_data + self.predicted_acks;
        let all = hits + self.mispredicted;
        if all == 0 { 0.0 } else { hits as f64 / all as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_prediction_is_a_share_of_what_it_was_tried_on() {
        assert_eq!(Operations::default().prediction_rate(), 0.0);
        let predicted_data = 5;
        let predicted_acks = 1;
        let mispredicted = 2;
        let some =
            Operations { predicted_data, predicted_acks, mispredicted, ..Operations::default() };
        assert_eq!(some.prediction_rate(), 0.75);
    }
}
