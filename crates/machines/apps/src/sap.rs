//! Applications that speak SAP: messages as fast as it takes them or at their times, and a receiver
//! that knows their damage and their age.

mod carrier;
mod contents;
mod send;
mod sink;

pub use send::{SapPace, SapSender, SapSenderConfig};
pub use sink::{SapSink, SapSinkConfig};

#[cfg(test)]
mod tests;
