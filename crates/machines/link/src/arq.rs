//! Order-preserving selective repeat over a full-duplex pipe (S3.10, S3.48).
//!
//! Packets are numbered, and transmissions have numbers of their own, as packet numbers in QUIC. A
//! pipe keeps order, so the ACK's bitmap of transmissions tells the sender the outcome of each
//! copy: a transmission older than the newest reported one has arrived or is lost. A lost packet is
//! therefore retransmitted as soon as a later transmission is reported. Spurious retransmissions
//! happen only if ACKs are lost. If nothing is sent after a packet, the sender sends a probe. It
//! does so at once after a retransmission, and otherwise when the report is overdue by the measured
//! round-trip time.
//!
//! On a path that reorders, overtaken packets seem lost. If one arrives late, the receiver reports
//! it again, and the sender learns how long to wait before it retransmits (`reordering`).
//!
//! The receiver passes packets up in order. Every frame carries the start of the sender's window,
//! so the receiver skips packets that the sender has dropped.
//!
//! Packets whose owner limits their attempts or their lifetime are ordered only within their flow:
//! retransmissions for other flows would delay them too much.

pub(crate) mod flow_order;
pub(crate) mod framer;
pub(crate) mod history;
pub(crate) mod increments;
pub(crate) mod receiver;
pub(crate) mod reordering;
pub(crate) mod round_trip;
pub(crate) mod sender;
