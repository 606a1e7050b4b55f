//! Order-preserving selective repeat over a full-duplex pipe (S3.10, S3.48).
//!
//! Packets are numbered, and so is each transmission. A pipe keeps order, so the ACK's bitmap over
//! transmissions tells the sender the exact fate of each copy: whatever is older than the newest
//! reported transmission has arrived or never will. A lost packet is therefore retransmitted as
//! soon as anything sent after it is reported, and nothing is retransmitted needlessly while the
//! ACKs get through. When nothing is sent after it, a probe is: at once after a retransmission,
//! else when the measured round-trip time says that the report is overdue.
//!
//! On a path that reorders, overtaken packets seem lost. Their late arrival is reported again, and
//! teaches the sender how long to wait before it retransmits (`reordering`).
//!
//! The receiver passes packets up in the order of their numbers. The start of the window, in every
//! frame, makes it skip packets that the sender has given up.
//!
//! Packets whose owner limits their attempts or their lifetime keep order within their flow alone:
//! they would be late if they waited for the repetitions of others.

pub(crate) mod flow_order;
pub(crate) mod framer;
pub(crate) mod history;
pub(crate) mod increments;
pub(crate) mod receiver;
pub(crate) mod reordering;
pub(crate) mod round_trip;
pub(crate) mod sender;
