//! Agarwal, *Conserving Energy in TCP for Mobile Ad-Hoc Networks*: what it says of TCP itself.

pub(crate) mod lookup;
pub(crate) mod stretch;
pub(crate) mod trailer;

#[cfg(test)]
mod tests;
