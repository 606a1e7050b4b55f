//! Named drops and the account that every node keeps: nothing vanishes without a reason.

use core::fmt;

/// Why a packet was discarded. Each place that can discard has its own name (S0.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DropReason {
    /// The queue before the link was full.
    QueueFull,
    /// The management of the queue before the link dropped it, so that its sender slows down
    /// (RFC 7567).
    Aqm,
    /// The packet waited longer than its owner allows, or could not have arrived in time.
    Expired,
    /// The packet arrived later than its owner allows.
    Late,
    /// The packet is longer than the link carries and may not be cut.
    TooBig,
    /// The medium lost the frame whole: no receiver saw it begin.
    Lost,
    /// Two frames overlapped at the receiver.
    Collision,
    /// The frame was cut short and the rest was useless.
    Truncated,
    /// The link header's check failed, so the frame's receiver is unknown.
    LinkHeader,
    /// The frame check failed and damage was not asked for.
    FrameCheck,
    /// An error-correcting code could not correct the frame.
    Uncorrectable,
    /// The attempts that the link allows were used up.
    RetryLimit,
    /// The packet had been passed up before.
    Duplicate,
    /// The frame is addressed to another station.
    NotForUs,
    /// The bytes are not what the protocol allows.
    Malformed,
    /// The IPv4 header checksum failed (S0.71).
    IpHeaderChecksum,
    /// The hop limit ran out.
    HopLimit,
    /// No route leads to the destination.
    NoRoute,
    /// Fragments of the packet did not all arrive in time.
    Reassembly,
    /// The UDP checksum failed.
    UdpChecksum,
    /// The UDP-Lite checksum failed over the covered bytes.
    UdpLiteChecksum,
    /// The covered bytes are fewer than the receiver asks for, or the coverage is illegal.
    UdpLiteCoverage,
    /// The TCP checksum failed.
    TcpChecksum,
    /// The TCP timestamp is older than one already seen, or missing although negotiated (RFC 7323,
    /// sections 5 and 3.2).
    TcpOldTimestamp,
    /// The TCP segment lies outside the receive window.
    TcpSequence,
    /// The TCP segment acknowledges what was never sent, or nothing at all.
    TcpAcknowledgment,
    /// A TCP reset or SYN that only an outsider would send (RFC 5961).
    TcpBlind,
    /// The listener has as many half-open connections as it allows.
    TcpBacklog,
    /// The TCP header is whole, the data are not: the sender was asked again (S4.8).
    TcpDamaged,
    /// A duplicate TCP acknowledgment that an element on the way has acted on (S2.18).
    TcpSuppressed,
    /// The ICMP checksum failed.
    IcmpChecksum,
    /// No socket listens on the port or the protocol.
    NoListener,
    /// The receiver's buffer was full.
    ReceiveBuffer,
    /// The device refused the packet.
    Device,
    /// The kernel dropped the packet after it was handed over.
    Kernel,
}

impl DropReason {
    /// Every reason, in the order of the layers.
    pub const ALL: [Self; 35] = [
        Self::QueueFull,
        Self::Aqm,
        Self::Expired,
        Self::Late,
        Self::TooBig,
        Self::Lost,
        Self::Collision,
        Self::Truncated,
        Self::LinkHeader,
        Self::FrameCheck,
        Self::Uncorrectable,
        Self::RetryLimit,
        Self::Duplicate,
        Self::NotForUs,
        Self::Malformed,
        Self::IpHeaderChecksum,
        Self::HopLimit,
        Self::NoRoute,
        Self::Reassembly,
        Self::UdpChecksum,
        Self::UdpLiteChecksum,
        Self::UdpLiteCoverage,
        Self::TcpChecksum,
        Self::TcpOldTimestamp,
        Self::TcpSequence,
        Self::TcpAcknowledgment,
        Self::TcpBlind,
        Self::TcpBacklog,
        Self::TcpDamaged,
        Self::TcpSuppressed,
        Self::IcmpChecksum,
        Self::NoListener,
        Self::ReceiveBuffer,
        Self::Device,
        Self::Kernel,
    ];

    /// The name in logs, ledgers and files; never changes once released.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueFull => "queue-full",
            Self::Aqm => "aqm",
            Self::Expired => "expired",
            Self::Late => "late",
            Self::TooBig => "too-big",
            Self::Lost => "lost",
            Self::Collision => "collision",
            Self::Truncated => "truncated",
            Self::LinkHeader => "link-header",
            Self::FrameCheck => "frame-check",
            Self::Uncorrectable => "uncorrectable",
            Self::RetryLimit => "retry-limit",
            Self::Duplicate => "duplicate",
            Self::NotForUs => "not-for-us",
            Self::Malformed => "malformed",
            Self::IpHeaderChecksum => "ip-header-checksum",
            Self::HopLimit => "hop-limit",
            Self::NoRoute => "no-route",
            Self::Reassembly => "reassembly",
            Self::UdpChecksum => "udp-checksum",
            Self::UdpLiteChecksum => "udplite-checksum",
            Self::UdpLiteCoverage => "udplite-coverage",
            Self::TcpChecksum => "tcp-checksum",
            Self::TcpOldTimestamp => "tcp-old-timestamp",
            Self::TcpSequence => "tcp-sequence",
            Self::TcpAcknowledgment => "tcp-acknowledgment",
            Self::TcpBlind => "tcp-blind",
            Self::TcpBacklog => "tcp-backlog",
            Self::TcpDamaged => "tcp-damaged",
            Self::TcpSuppressed => "tcp-suppressed",
            Self::IcmpChecksum => "icmp-checksum",
            Self::NoListener => "no-listener",
            Self::ReceiveBuffer => "receive-buffer",
            Self::Device => "device",
            Self::Kernel => "kernel",
        }
    }
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The number of packets that were dropped for each reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drops([u64; DropReason::ALL.len()]);

impl Default for Drops {
    /// Returns counts of zero.
    fn default() -> Self {
        Self([0; DropReason::ALL.len()])
    }
}

impl Drops {
    /// Counts one packet dropped for `reason`.
    pub fn count(&mut self, reason: DropReason) {
        self.0[reason as usize] += 1;
    }

    /// Counts `packets` dropped for `reason`.
    pub fn count_many(&mut self, reason: DropReason, packets: u64) {
        self.0[reason as usize] += packets;
    }

    /// Takes back the count of one packet that was not lost after all.
    pub fn uncount(&mut self, reason: DropReason) {
        self.0[reason as usize] = self.0[reason as usize].saturating_sub(1);
    }

    /// Packets dropped for `reason`.
    #[must_use]
    pub fn of(&self, reason: DropReason) -> u64 {
        self.0[reason as usize]
    }

    /// Packets dropped for any reason.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The reasons that occurred, with their counts, in the order of the layers.
    pub fn iter(&self) -> impl Iterator<Item = (DropReason, u64)> + '_ {
        DropReason::ALL.into_iter().map(|reason| (reason, self.of(reason))).filter(|(_, n)| *n > 0)
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Self) {
        for (sum, n) in self.0.iter_mut().zip(other.0) {
            *sum += n;
        }
    }
}

/// The account of one node: *taken = given + Σ named drops + held*.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Packets that came in, from above and from below, and packets born here.
    pub taken: u64,
    /// Packets that went out, or ended here as they should.
    pub given: u64,
    /// Packets that the node still holds.
    pub held: u64,
    /// Packets discarded, by reason.
    pub drops: Drops,
}

impl Ledger {
    /// Returns `true` if every packet is accounted for.
    #[must_use]
    pub fn balances(&self) -> bool {
        self.taken == self.given + self.held + self.drops.total()
    }
}

#[cfg(test)]
mod tests;
